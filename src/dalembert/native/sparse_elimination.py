# SPDX-License-Identifier: BSD-3-Clause
"""Sparse elimination with a fixed pattern: S = A W Aᵀ is ordered and analysed once, and factored at every state."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.errors import ModelError
from dalembert.native.elimination_order import minimum_degree, postorder
from dalembert.native.factor_pattern import address, as_index_array, elimination_tree, factor_pattern, starts_of
from dalembert.native.sparse_loops import sparse_loops
from dalembert.numerics.tolerances import DEPENDENT_SPARSE_PIVOT

MOST_PRODUCTS = 10**8
"""Most products of entries of A in S, whose lists take some GB; a net of 1400² particles in space has as many."""

CROWDED = 30
"""A coordinate in this many times as many constraints as usual makes S dense; otherwise there are just many of them."""


class SparseElimination:
    """Solves S x = r for S = A W Aᵀ, W diagonal, with a fixed pattern of A.

    Rows that depend on others are left out: their unknown is zero, and ``left_out`` is a mask (m,) of them.

    Parameters
    ----------
    shape         (m, n) of A
    rows, columns, places    of each entry of A; ``places`` are the indices of their values in an array of terms
    """

    def __init__(self, shape: tuple[int, int], rows: Any, columns: Any, places: Any):
        self.m, self.n = shape
        first, second = _pairs(columns, self.n)
        self.order = minimum_degree(self.m, rows[first], rows[second])
        # the tree of the elimination is known only with the pattern in that order, and the pattern is made again
        entries = self._pattern(rows, first, second)[0]
        parents, _ = elimination_tree(starts_of(entries // self.m, self.m), as_index_array(entries % self.m))
        self.order = self.order[postorder(parents.tolist())]
        entries, starts, first, second = self._pattern(rows, first, second)
        products = [
            as_index_array(np.append(starts, len(first))),
            *(as_index_array(x) for x in (places[first], places[second], columns[first])),
        ]
        matrix = (starts_of(entries // self.m, self.m), as_index_array(entries % self.m))
        pattern = factor_pattern(*matrix)
        self.pivots = np.ones(self.m)
        self._inverse, work = np.zeros(self.m), np.zeros(self.m)
        self._used = np.ones(self.m, np.int32)
        self._found, left = np.empty(self.m), np.empty(self.m)
        S, self._L = np.empty(len(entries)), np.zeros(len(pattern.rows))
        # the addresses are asked for once: all of them take longer than the elimination of a thousand rows
        self._arrays = (*products, *matrix, *pattern, S, work, left)  # kept: they own the memory
        by_columns, by_rows = pattern[:2], pattern[2:]
        self._assembling = len(S), *map(address, products), address(S)
        factors = (*matrix, S, *by_rows, *by_columns, self._L, self._inverse, work)
        self._factoring = self.m, *map(address, factors)
        self._row_state = address(self._used), address(self.pivots)
        self._solving = self.m, *map(address, (*by_columns, self._L, self._inverse, self._found, left))

    def _pattern(self, rows: Any, first: Any, second: Any) -> tuple[Any, Any, Any, Any]:
        """Return the entries of S up to the diagonal in the order of elimination, each with its pairs of entries of A.

        They are m·column + row of each entry, the start of its pairs, and the pairs.
        """
        rank = np.empty(self.m, np.int64)
        rank[self.order] = np.arange(self.m)
        later, earlier = rank[rows[first]], rank[rows[second]]
        below = earlier <= later
        key = (later * self.m + earlier)[below]
        by_entry = np.argsort(key, kind="stable")
        entries, starts = np.unique(key[by_entry], return_index=True)
        return entries, starts, first[below][by_entry], second[below][by_entry]

    @property
    def entries(self) -> int:
        """The number of entries of L."""
        return len(self._L)

    @property
    def used(self) -> NDArray[np.bool_]:
        """Mask (m,) of the rows that the next factorisation may use."""
        return self._in_order(self._used != 0)

    @used.setter
    def used(self, rows: NDArray[np.bool_]) -> None:
        self._used[:] = rows[self.order]

    @property
    def left_out(self) -> NDArray[np.bool_]:
        """Mask (m,) of the rows that the last factorisation left out."""
        # the reciprocal zero stands for the pivot of such a row, and makes its unknown zero
        return self._in_order(self._inverse == 0)

    @property
    def remaining(self) -> Floats:
        """The part (m,) of each row's squared length that was left after the elimination of the rows before it."""
        return self._in_order(self.pivots)

    def _in_order(self, values: Any) -> Any:
        found = np.empty_like(values)
        found[self.order] = values
        return found

    def factor(self, terms: Floats, weights: Floats) -> None:
        """Factor S for the values of the entries of A in ``terms``, and weights (n,)."""
        loops = sparse_loops()
        *products, S = self._assembling
        loops.assemble(*products, address(terms), address(weights), S)
        loops.factor(*self._factoring, DEPENDENT_SPARSE_PIVOT, *self._row_state)

    def solve(self, right: Floats) -> Floats:
        """Return x (m,) with S x = r on the rows in use, and zero on those left out."""
        np.take(right, self.order, out=self._found)
        sparse_loops().solve(*self._solving)
        return self._in_order(self._found)


def _too_many(sizes: Any, total: int) -> str:
    """Return the message for too many products, of which a coordinate in s rows makes s²: shared ones, or size."""
    entries, largest = int(sizes.sum()), int(sizes.max())
    if largest > CROWDED * np.median(sizes[sizes > 0]):
        return (
            f"the constraints must be sparse: few of them may share a coordinate; one coordinate is in {largest} of "
            f"them. Give parts of the system coordinates of their own, joined by constraints."
        )
    return (
        f"the system must not be too large: its matrix A M⁻¹ Aᵀ may be a sum of at most {MOST_PRODUCTS:.0e} products "
        f"of entries of constraints; those of the {entries} entries here make {total:.1e}. State a system of at most "
        f"{MOST_PRODUCTS / total:.0%} of this size, with fewer and longer parts."
    )


def _pairs(columns: Any, n: int) -> tuple[Any, Any]:
    """Return all ordered pairs of entries in the same column."""
    by_column = np.argsort(columns, kind="stable")
    sizes = np.bincount(columns, minlength=n)
    total = int((sizes.astype(np.int64) ** 2).sum())
    if total > MOST_PRODUCTS:
        raise ModelError([_too_many(sizes, total)])
    own = sizes[columns[by_column]]  # the size of the column of each entry
    starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
    first = np.repeat(np.arange(len(columns)), own)
    within = np.arange(total) - np.repeat(np.cumsum(own) - own, own)
    second = starts[first] + within
    return by_column[first], by_column[second]
