# SPDX-License-Identifier: BSD-3-Clause
"""A mass matrix of small blocks to which rates add inertia, such as rotors on joints: M = M₀ + Rᵀ w R.

The terms Rᵀ w R couple the bodies that a joint connects, so that M has few zeros. It is therefore never assembled:
with τ = w R x the equation M x = f is

    M₀ x + Rᵀτ = f,    R x − τ/w = 0,

and τ is eliminated like a multiplier. A rate is a row beside those of A, with 1/w on the diagonal:

    [A W₀ Aᵀ   A W₀ Rᵀ      ]
    [R W₀ Aᵀ   R W₀ Rᵀ + 1/w]

is as sparse as A W₀ Aᵀ, and its elimination leaves A M⁻¹ Aᵀ. Notation: W₀ = M₀⁻¹, B as in ``block_mass``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.native.block_mass import BlockMass, HalfRows
from dalembert.native.nonideal_terms import fixed_pattern
from dalembert.native.sparse_elimination import SparseElimination
from dalembert.native.term_loops import CopiedTerm


class RateRows(NamedTuple):
    """The pattern of R: row, column and place among the terms of each entry, row by row; the place of each w (r,)."""

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    places: NDArray[np.int64]
    weights: NDArray[np.int64]

    def after(self, m: int) -> tuple[Any, Any, Any]:
        """Return rows, columns and places of R as rows that follow m others."""
        return self.rows + m, self.columns, self.places


def rate_rows(rates: Sequence[CopiedTerm], offsets: Sequence[int]) -> RateRows:
    """Return the pattern of groups of rates, whose outputs begin at some offsets of the terms."""
    parts: list[list[Any]] = [[np.zeros(0, np.int64)] for _ in range(4)]
    count = 0
    for term, offset in zip(rates, offsets, strict=True):
        copies, k = term.coordinates.shape
        starts = offset + np.arange(copies) * term.outputs
        found = (
            np.repeat(count + np.arange(copies), k),
            term.coordinates.ravel().astype(np.int64),
            (starts[:, None] + np.arange(k)).ravel(),
            starts + k,
        )
        for own, more in zip(parts, found, strict=True):
            own.append(more)
        count += copies
    return RateRows(*(np.concatenate(own) for own in parts))


class MassWithRates:
    """The mass matrix M₀ + Rᵀ w R, with the methods of ``BlockMass`` that do not depend on blocks.

    Parameters
    ----------
    blocks    M₀
    rates     the pattern of R and w
    half      the rows of B of m constraints, and then those of the rates
    m         number of constraints
    """

    def __init__(self, blocks: BlockMass, rates: RateRows, half: HalfRows, m: int):
        self.blocks, self.n, self.m, self.r = blocks, blocks.n, m, len(rates.weights)
        self._rates, self._half = rates, half
        self._R, self._R_transposed = fixed_pattern((self.r, self.n), rates.rows, rates.columns)
        self._w = np.ones(self.r)
        own = half.rows >= m
        self._own = self._elimination(half.rows[own] - m, half.columns[own], half.places[own], 0)

    def _elimination(self, rows: Any, columns: Any, places: Any, before: int) -> SparseElimination:
        """Return an elimination of rows of B with 1/w on the diagonal of those after ``before`` others.

        1/w is the weight of a further column, in which the row of the rate has the entry one: the last of the terms.
        """
        each = np.arange(self.r)
        one = np.full(self.r, self._one)
        shape = (before + self.r, self.n + self.r)
        added = [np.concatenate(x) for x in ((rows, before + each), (columns, self.n + each), (places, one))]
        return SparseElimination(shape, *added)

    @property
    def _one(self) -> int:
        """The place of the number one behind the terms."""
        return self._half.start + self._half.size

    def bordered(self) -> BorderedElimination:
        """Return the elimination of the constraints and rates."""
        half = self._half
        return BorderedElimination(self._elimination(half.rows, half.columns, half.places, self.m), self.m, self.r)

    is_diagonal = False

    @property
    def values(self) -> Floats:
        return np.concatenate([self.blocks.values, self._w])

    @property
    def weights(self) -> Floats:
        """The weights (n + r,) of the columns of B, and 1/w."""
        return np.concatenate([self.blocks.weights, 1.0 / self._w])

    @property
    def diagonal(self) -> Floats:
        """The diagonal of M (n,)."""
        # only the diagonal: Rᵀ w R as a whole may have many entries
        squares = self._w[self._rates.rows] * self._R.data**2
        return self.blocks.diagonal + np.bincount(self._rates.columns, squares, self.n)

    def factor(self, terms: Floats) -> None:
        """Take R and w from the present terms, whose blocks have been factored."""
        np.take(terms, self._rates.places, out=self._R.data)
        np.take(terms, self._rates.weights, out=self._w)
        self._own.factor(terms, self.weights)

    def solve(self, force: Floats) -> Floats:
        """Return M⁻¹ times a vector (n,), refined once: a large w makes the two parts nearly cancel."""
        x = self._solve(force)
        return x + self._solve(force - self.times(x))

    def _solve(self, force: Floats) -> Floats:
        # the formula of Woodbury: M⁻¹ = M₀⁻¹ − M₀⁻¹Rᵀ (1/w + R M₀⁻¹Rᵀ)⁻¹ R M₀⁻¹
        x = self.blocks.solve(force)
        return x - self.blocks.solve(self._R_transposed @ self._own.solve(self._R @ x))

    def times(self, v: Floats) -> Floats:
        """Return M times a vector (n,)."""
        return self.blocks.times(v) + self._R_transposed @ (self._w * (self._R @ v))

    def matrix(self) -> Any:
        """Return M as a sparse matrix (n, n) with its present values."""
        from scipy.sparse import csr_array, diags_array

        R = self._R.copy()
        return csr_array(self.blocks.matrix() + R.T @ diags_array(self._w.copy()) @ R)


class BorderedElimination:
    """Solves S x = r for S = A M⁻¹ Aᵀ, by the elimination of m constraints together with r rates."""

    def __init__(self, whole: SparseElimination, m: int, r: int):
        self._whole, self._m, self._r = whole, m, r

    @property
    def used(self) -> NDArray[np.bool_]:
        """Mask (m,) of the constraints that the next factorisation may use."""
        return self._whole.used[: self._m]

    @used.setter
    def used(self, rows: NDArray[np.bool_]) -> None:
        # rates are always in use: 1/w makes their rows independent
        self._whole.used = np.append(rows, np.ones(self._r, bool))

    @property
    def left_out(self) -> NDArray[np.bool_]:
        """Mask (m,) of the constraints that the last factorisation left out."""
        return self._whole.left_out[: self._m]

    @property
    def remaining(self) -> Floats:
        """The part (m,) of each constraint's squared length that was left by the elimination of the rows before it."""
        return self._whole.remaining[: self._m]

    def factor(self, terms: Floats, weights: Floats) -> None:
        """Factor S for the values of the entries of A and R in ``terms``, and weights (n + r,)."""
        self._whole.factor(terms, weights)

    def solve(self, right: Floats) -> Floats:
        """Return x (m,) with S x = r on the constraints in use, and zero on those left out."""
        # the rows of the rates have no right side: eliminating them adds their inertia to S
        return self._whole.solve(np.append(right, np.zeros(self._r)))[: self._m]
