# SPDX-License-Identifier: BSD-3-Clause
"""A rank-revealing decomposition of constraint rows, in arrays.

Notation: B (m, n) holds the constraint rows in the metric of the inverse mass matrix; B̂ is B with its rows scaled to
unit length, so that the scale in which a constraint was written cannot matter; B̂ = Uᵀ S E with orthonormal rows in E
(the row space) and U (the range), S small and regular. Only orthogonal vectors are used, never BBᵀ, which would lose
half the digits near a singular configuration.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dalembert.equation.tolerance import RANK_TOLERANCE
from dalembert.later import jnp, jsl, lax

if TYPE_CHECKING:
    from jax import Array


class Basis(NamedTuple):
    """An orthonormal basis of the space that some rows span.

    vectors (k, n)    orthonormal rows; zero rows beyond the rank
    keep (m,)         which of the given rows were taken as independent
    smallest, largest_left    relative size of the last row taken and of the largest one left over
    """

    vectors: Array
    keep: Array
    smallest: Array
    largest_left: Array


def orthonormal_basis(rows: Array, priority: Array | None = None) -> Basis:
    """Orthogonalise rows, the one that stands out most first; within ``priority`` classes (low first) if given.

    A row counts as dependent once less than ``RANK_TOLERANCE`` of its length is left.
    """
    m, n = rows.shape
    length = _norm(rows)
    unit = rows / jnp.where(length > 0, length, 1.0)[:, None]
    classes = jnp.zeros(m) if priority is None else jnp.asarray(priority, float)

    def take(k: Array, state: tuple[Array, ...]) -> tuple[Array, ...]:
        left, vectors, keep, smallest = state
        sizes = jnp.where(keep, 0.0, _norm(left))
        # the class comes first, the size decides within it; dependent rows go last of all
        pivot = jnp.argmax(jnp.where(sizes > RANK_TOLERANCE, sizes - 2.0 * classes, -jnp.inf))
        counts = sizes[pivot] > RANK_TOLERANCE
        # A row that shrank has lost digits of its orthogonality: twice is enough.
        row = left[pivot] / jnp.where(counts, sizes[pivot], jnp.inf)
        row = row - (vectors @ row) @ vectors
        row = row / jnp.where(counts, _norm(row), jnp.inf)
        return (
            left - (left @ row)[:, None] * row,
            vectors.at[k].set(row),
            keep.at[pivot].set(keep[pivot] | counts),
            jnp.where(counts, jnp.minimum(smallest, sizes[pivot]), smallest),
        )

    k = min(m, n)
    state = (unit, jnp.zeros((k, n)), jnp.zeros(m, bool), jnp.array(jnp.inf))
    left, vectors, keep, smallest = lax.fori_loop(0, k, take, state) if k else state
    left_over = jnp.max(jnp.where(keep, 0.0, _norm(left)), initial=0.0)
    return Basis(vectors, keep, smallest, left_over)


class Decomposition(NamedTuple):
    """B̂ = Uᵀ S E and what follows from it.

    scale (m,)        lengths of the given rows
    rows, range       bases E (k, n) and U (k, m)
    core              S (k, k), with ones on the diagonal beyond the rank, factored
    rank, gap         number of independent rows; size of the last one kept over that of the largest one dropped
    """

    scale: Array
    rows: Array
    range: Array
    core: tuple[Array, Array]
    rank: Array
    gap: Array

    def solve(self, e: Array) -> Array:
        """The shortest y with B y = e (least squares in the scaled rows if there is none)."""
        return self.rows.T @ jsl.lu_solve(self.core, self.range @ (e / self.scale))

    def project(self, y: Array) -> Array:
        """The part of y in the row space of B: B⁺B y."""
        return self.rows.T @ (self.rows @ y)

    def outside(self, e: Array) -> Array:
        """What no y can reach: (I − B̂B̂⁺) ê."""
        scaled = e / self.scale
        return scaled - self.range.T @ (self.range @ scaled)

    def multipliers(self, y: Array) -> Array:
        """The shortest λ with Bᵀλ = y, for y in the row space."""
        lam = (self.range.T @ jsl.lu_solve(self.core, self.rows @ y, trans=1)) / self.scale
        # Shortest in the scaled rows is not yet shortest in λ: take off the part that exerts no force at all.
        idle = orthonormal_basis(self._idle_space() / self.scale).vectors
        return jnp.where(self.rank < len(lam), lam - idle.T @ (idle @ lam), lam)

    def _idle_space(self) -> Array:
        """Multipliers of the scaled rows that exert no force, as rows; zero where there are none."""
        outside = jnp.eye(len(self.scale)) - self.range.T @ self.range
        return jnp.where(_norm(outside)[:, None] > jnp.sqrt(RANK_TOLERANCE), outside, 0.0)

    @property
    def unique(self) -> Array:
        """Which multipliers are determined: those with a unit diagonal in the projector onto the range."""
        return jnp.sum(self.range**2, axis=0) > 1 - RANK_TOLERANCE


def decompose(B: Array) -> Decomposition:
    """Decompose constraint rows (m, n) of any rank."""
    length = _norm(B)
    scale = jnp.where(length > 0, length, 1.0)
    unit = B / scale[:, None]
    basis = orthonormal_basis(unit)
    image = basis.vectors @ unit.T
    columns = orthonormal_basis(image).vectors
    core = columns @ image.T
    rank = jnp.sum(basis.keep)
    beyond = jnp.diag(jnp.where(jnp.arange(len(core)) < rank, 0.0, 1.0))
    gap = jnp.where(
        basis.largest_left > 0, basis.smallest / jnp.where(basis.largest_left > 0, basis.largest_left, 1.0), jnp.inf
    )
    return Decomposition(scale, basis.vectors, columns, jsl.lu_factor(core + beyond), rank, gap)


def _norm(rows: Array) -> Array:
    """Lengths along the last axis, with a derivative that is zero, not NaN, at a zero vector."""
    squared = jnp.sum(rows**2, axis=-1)
    return jnp.where(squared > 0, jnp.sqrt(jnp.where(squared > 0, squared, 1.0)), 0.0)
