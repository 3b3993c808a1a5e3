# SPDX-License-Identifier: BSD-3-Clause
"""A mass matrix of small blocks: its factors, and the rows of A in the metric of its inverse.

Notation: M = L Lᵀ by blocks, W = M⁻¹, B = A L⁻ᵀ, so that A W Aᵀ = B Bᵀ. A block of one coordinate is not factored: its
columns of B are those of A, and have the weight 1/m. The columns of B in larger blocks have the weight one.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.errors import ModelError
from dalembert.native.block_loops import LARGEST_MASS_BLOCK, block_loops
from dalembert.numerics.tolerances import SINGULAR_MASS

CERTAINLY_DEFINITE = 1e-9
"""A block is positive definite, in the sense of ``SINGULAR_MASS``, if the product of its pivots exceeds this: scaled to
a unit diagonal, its smallest eigenvalue is at least a third of that product."""


class BlockMass:
    """The mass matrix of a large system, of blocks of coupled coordinates.

    values     the lower triangles of all blocks, which are square arrays one after the other
    added      inertia (n,) on the diagonal that the factors contain, and M does not: see ``added_inertia``
    weights    1/m of coordinates in blocks of their own, one for the others
    pivots     the part of each diagonal entry that elimination leaves; M is positive definite if all are positive

    Parameters
    ----------
    n                number of coordinates
    rows, columns    of the entries beside the diagonal that may differ from zero
    """

    def __init__(self, n: int, rows: Any = (), columns: Any = ()):
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        rows, columns = np.asarray(rows, np.int64), np.asarray(columns, np.int64)
        links: Any = coo_array((np.ones(len(rows), np.int8), (rows, columns)), shape=(n, n))
        self.n, (count, labels) = n, connected_components(links, directed=False)
        self.owner = labels.astype(np.int64)
        self.sizes = np.bincount(self.owner, minlength=count)
        if self.sizes.max(initial=0) > LARGEST_MASS_BLOCK:
            raise ModelError(
                [
                    f"the mass matrix of a large system must consist of blocks of at most {LARGEST_MASS_BLOCK} "
                    f"coordinates; one block has {self.sizes.max()}. Use coordinates of single bodies, joined "
                    f"by constraints."
                ]
            )
        # stable, so that coordinates keep their order within a block
        self.members = np.argsort(self.owner, kind="stable").astype(np.int32)
        self.firsts = np.cumsum(self.sizes) - self.sizes
        # whole squares, of which half is not used: places then need no index of a triangle
        self.offsets = np.cumsum(self.sizes**2) - self.sizes**2
        self.local = np.empty(n, np.int64)
        self.local[self.members] = np.arange(n) - np.repeat(self.firsts, self.sizes)
        self.values = np.zeros(int((self.sizes**2).sum()))
        self.diagonal_places = self.place(np.arange(n), np.arange(n))
        self.weights, self.pivots, self.added = np.ones(n), np.ones(n), np.zeros(n)
        self.alone = self.sizes[self.owner] == 1
        self._factors = np.zeros_like(self.values)
        coupled = np.flatnonzero(self.sizes > 1)
        self._blocks = [_indices(x[coupled]) for x in (self.sizes, self.offsets, self.firsts)]
        self._addresses = [x.ctypes.data for x in (*self._blocks, self.members)]

    @property
    def is_diagonal(self) -> bool:
        return not len(self._blocks[0])

    def place(self, rows: Any, columns: Any) -> NDArray[np.int64]:
        """Return the places among ``values`` of entries within blocks; both triangles have that of the lower one."""
        i, j = self.local[rows], self.local[columns]
        owner = self.owner[rows]
        return self.offsets[owner] + np.maximum(i, j) * self.sizes[owner] + np.minimum(i, j)

    @property
    def diagonal(self) -> Floats:
        """The diagonal of M (n,)."""
        return self.values[self.diagonal_places]

    @property
    def coupled(self) -> NDArray[np.int64]:
        """The numbers of the blocks of several coordinates."""
        return np.flatnonzero(self.sizes > 1)

    def block(self, i: int) -> Floats:
        """Return one block of M as a symmetric array."""
        size, offset = int(self.sizes[i]), int(self.offsets[i])
        lower = np.tril(self.values[offset : offset + size**2].reshape(size, size))
        return lower + np.tril(lower, -1).T

    def factor(self) -> None:
        """Factor the blocks of the present values, with the inertia that is ``added``."""
        values = self.values
        if self.added.any():
            values = values.copy()
            values[self.diagonal_places] += self.added
        if self.is_diagonal:
            with np.errstate(divide="ignore"):
                np.divide(1.0, values, out=self.weights)
            # relative to the diagonal entry, hence the sign: a negative mass has a negative pivot
            self.pivots[:] = np.sign(values)
            return
        own = values[self.diagonal_places[self.alone]]
        with np.errstate(divide="ignore"):
            self.weights[self.alone] = 1.0 / own
        self.pivots[self.alone] = np.sign(own)
        given = (values.ctypes.data, self._factors.ctypes.data, self.pivots.ctypes.data)
        block_loops().factor(len(self._blocks[0]), *self._addresses, *given)

    def not_definite(self) -> NDArray[np.bool_]:
        """Return a mask (n,) of the coordinates in blocks that are not positive definite, by the last factors."""
        # negated, so that NaN counts as singular; pivots are relative to the diagonal, whose sign they do not show
        off = ~((self.pivots > SINGULAR_MASS) & (self.diagonal + self.added > 0))
        found = np.bincount(self.owner[off], minlength=len(self.sizes)) > 0
        # after a small pivot the last one of a singular block may be rounding that seems to be positive
        logs = np.bincount(self.owner, np.log(np.where(off, 1.0, self.pivots)), len(self.sizes))
        for i in np.flatnonzero(~found & (self.sizes > 1) & (logs < np.log(CERTAINLY_DEFINITE))).tolist():
            values = np.linalg.eigvalsh(self._in_own_units(i))
            found[i] = not values[0] > SINGULAR_MASS * values[-1]
        return found[self.owner]

    def _in_own_units(self, i: int) -> Floats:
        """Return one block with the inertia that is ``added``, scaled to a unit diagonal."""
        members = self.members[self.firsts[i] : self.firsts[i] + self.sizes[i]]
        own = self.block(i) + np.diag(self.added[members])
        units = np.sqrt(own.diagonal())
        return own / np.outer(units, units)

    def solve(self, force: Floats) -> Floats:
        """Return the product (n,) of a vector and the inverse of M, with the inertia that is ``added``."""
        x = self.weights * force
        if not self.is_diagonal:
            block_loops().solve(len(self._blocks[0]), *self._addresses, self._factors.ctypes.data, x.ctypes.data)
        return x

    def times(self, v: Floats) -> Floats:
        """Return M times a vector (n,)."""
        return self.times_with(self.values, v)

    def times_with(self, values: Floats, v: Floats) -> Floats:
        """Return a matrix with the pattern of M and other values, times a vector (n,)."""
        if self.is_diagonal:
            return values * v
        rows, columns, places = self._pattern
        return np.bincount(rows, values[places] * v[columns], self.n).astype(float)

    @cached_property
    def _pattern(self) -> tuple[Any, Any, Any]:
        """Row, column and place of all entries of the blocks."""
        own = self.sizes[self.owner[self.members]]  # entries in the row of each coordinate
        rows = np.repeat(self.members, own)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(own) - own, own)
        columns = self.members[np.repeat(self.firsts[self.owner[self.members]], own) + within]
        return rows, columns, self.place(rows, columns)

    def matrix(self) -> Any:
        """Return M as a sparse matrix (n, n) with its present values."""
        from scipy.sparse import csr_array, diags_array

        if self.is_diagonal:
            return diags_array(self.values.copy())
        rows, columns, places = self._pattern
        found: Any = csr_array((self.values[places], (rows, columns)), shape=(self.n, self.n))
        found.eliminate_zeros()
        return found


class HalfRows(NamedTuple):
    """The entries of B, row by row, and the lists by which those in coupled blocks are computed.

    rows, columns, places    of all entries of B; places among the terms, of which B's own begin at ``start``
    size                     number of B's own entries
    lists                    for each part of a row in one block: start of its entries of A, size and offset of the
                             block; then, for each entry of A, its place among the terms, and its place within the block
    """

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    places: NDArray[np.int64]
    start: int
    size: int
    lists: list[Any]

    def compute(self, mass: BlockMass, terms: Floats) -> None:
        """Compute the entries of B in coupled blocks from those of A and the factors of M."""
        if self.size:
            addresses = [x.ctypes.data for x in (*self.lists, terms, mass._factors)]
            block_loops().half(len(self.lists[1]), *addresses, terms.ctypes.data + 8 * self.start)


def half_rows(mass: BlockMass, rows: Any, columns: Any, places: Any, start: int) -> HalfRows:
    """Return the pattern of B from that of A; B's own entries follow the terms from ``start`` on."""
    alone = mass.alone[columns]
    inside = np.flatnonzero(~alone)
    # one part for each pair of a row and a block: L⁻¹ fills the part, but nothing beyond the block
    key = rows[inside] * len(mass.sizes) + mass.owner[columns[inside]]
    by_part = np.argsort(key, kind="stable")
    parts, firsts = np.unique(key[by_part], return_index=True)
    row, block = parts // len(mass.sizes), parts % len(mass.sizes)
    sizes = mass.sizes[block]
    entries = inside[by_part]
    lists = [
        _indices(np.append(firsts, len(entries))),
        _indices(sizes),
        _indices(mass.offsets[block]),
        _indices(places[entries]),
        _indices(mass.local[columns[entries]]),
    ]
    size = int(sizes.sum())
    within = np.arange(size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    own_columns = mass.members[np.repeat(mass.firsts[block], sizes) + within].astype(np.int64)
    found = [
        np.concatenate(pair)
        for pair in (
            (rows[alone], np.repeat(row, sizes)),
            (columns[alone], own_columns),
            (places[alone], start + np.arange(size)),
        )
    ]
    # row by row, the order in which the products of A W Aᵀ are listed
    order = np.lexsort((found[1], found[0]))
    rows, columns, places = (x[order] for x in found)
    return HalfRows(rows, columns, places, start, size, lists)


def _indices(values: Any) -> NDArray[np.int32]:
    return np.ascontiguousarray(values, np.int32)
