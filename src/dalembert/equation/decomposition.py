# SPDX-License-Identifier: BSD-3-Clause
"""A rank-revealing decomposition of constraint rows.

Notation: B (m, n) holds the constraint rows in the metric of the inverse mass matrix; B̂ is B with its rows scaled to
unit length, so that the scale in which a constraint is written does not matter; B̂ = Uᵀ S E with orthonormal rows in E
(the row space) and U (the range), S small and regular. Only orthogonal vectors are used, never BBᵀ, which would lose
half the digits near a singular configuration.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.numerics.arrays import is_traced, lu_factor, lu_solve, namespace_of
from dalembert.numerics.linear_algebra import are_determined, orthonormal_basis, range_basis, row_norms, shares_outside
from dalembert.numerics.tolerances import RANK_TOLERANCE

if TYPE_CHECKING:
    from jax import Array


class Decomposition(NamedTuple):
    """The decomposition B̂ = Uᵀ S E.

    scale (m,)        lengths of the given rows
    unit (m, n)       B̂
    rows, range       bases E (k, n) and U (k, m)
    core              S (k, k), with ones on the diagonal beyond the rank, factored
    rank, gap         number of independent rows; size of the last one kept over that of the largest one dropped
    """

    scale: Array
    unit: Array
    rows: Array
    range: Array
    core: tuple[Array, ...]
    rank: Array
    gap: Array

    def solve(self, e: Array) -> Array:
        """Return the shortest y with B y = e (least squares in the scaled rows if there is none)."""
        return self.rows.T @ lu_solve(self.core, self.range @ (e / self.scale))

    def project(self, y: Array) -> Array:
        """Return the part of y in the row space of B: B⁺B y."""
        return self.rows.T @ (self.rows @ y)

    def reachable(self, e: Array) -> Array:
        """Return the part of ê in the range of the scaled rows: B̂B̂⁺ ê."""
        return self.range.T @ (self.range @ (e / self.scale))

    def outside(self, e: Array) -> Array:
        """Return the part of ê outside the range of the scaled rows: (I − B̂B̂⁺) ê."""
        return e / self.scale - self.reachable(e)

    def multipliers(self, y: Array) -> Array:
        """Return the shortest λ with Bᵀλ = y, for y in the row space."""
        lam = (self.range.T @ lu_solve(self.core, self.rows @ y, transposed=True)) / self.scale
        if not is_traced(self.rank) and self.rank == len(lam):
            return lam
        # the shortest solution for scaled rows is not the shortest λ: remove the part that exerts no force
        # of determined multipliers it has rounding errors, which the scale of a short row would make large
        xp = namespace_of(lam)
        null = orthonormal_basis(xp.where(self.unique, 0.0, self._left_null_space()) / self.scale).vectors
        shortest = lam
        for _ in range(2):  # the first time leaves rounding of a short row's λ, large beside those of long rows
            shortest = shortest - null.T @ (null @ shortest)
        return xp.where(self.rank < len(lam), shortest, lam)

    def _left_null_space(self) -> Array:
        """Return multipliers of the scaled rows that exert no force, as rows; zero if there are none."""
        xp = namespace_of(self.range)
        outside = xp.eye(len(self.scale)) - self.range.T @ self.range
        # A shorter row is too close to rounding to be scaled to unit length. The longer ones span the null space, since
        # the squares of all lengths add up to its dimension.
        return xp.where(row_norms(outside)[:, None] > RANK_TOLERANCE**0.5, outside, 0.0)

    @property
    def unique(self) -> Array:
        """Mask of the multipliers that are determined: those whose unit vectors are in the range."""
        if not is_traced(self.rank) and self.rank == len(self.scale):
            return namespace_of(self.range).ones(len(self.scale), bool)
        return are_determined(shares_outside(self.range))


def decompose(B: Array) -> Decomposition:
    """Decompose constraint rows (m, n) of any rank."""
    xp = namespace_of(B)
    basis = orthonormal_basis(B)
    scale, unit = basis.scale, basis.unit
    rank: Any = np.int64(np.count_nonzero(basis.keep)) if xp is np else basis.keep.sum()
    if xp is np and rank == len(B):  # all vectors are in the range of independent rows
        return Decomposition(
            scale, unit, basis.vectors, xp.eye(len(B)), (unit @ basis.vectors.T,), rank, xp.asarray(xp.inf)
        )
    columns = range_basis(basis)
    core = columns @ unit @ basis.vectors.T
    # ones on the diagonal beyond the rank keep the core regular at a fixed shape, which tracing needs
    beyond = xp.diag(xp.where(xp.arange(len(core)) < rank, 0.0, 1.0))
    gap = xp.where(
        basis.largest_left > 0, basis.smallest / xp.where(basis.largest_left > 0, basis.largest_left, 1.0), xp.inf
    )
    return Decomposition(scale, unit, basis.vectors, columns, lu_factor(core + beyond), rank, gap)
