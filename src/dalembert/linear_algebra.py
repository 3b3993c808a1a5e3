# SPDX-License-Identifier: BSD-3-Clause
"""Rank, null spaces and independent rows of constraint matrices: the one place where dependence is decided.

Rows are scaled to unit length first, so that the scale in which a constraint was written cannot matter. Columns are
for the caller: in coordinates of very different units no row looks independent. ``orthonormal_basis`` and
``padded_null_space`` take NumPy's arrays or JAX's, the other functions NumPy's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.array_types import Floats
from dalembert.arrays import namespace_of, repeat, svd
from dalembert.tolerances import (
    LEAST_DISTANCE,
    RANK_TOLERANCE,
    SHARE_TOLERANCE,
    SOLVED_CONSISTENCY_TOLERANCE,
    SOLVED_RANK_TOLERANCE,
)

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


def orthonormal_basis(rows: Array, priority: Any = None, tolerance: float = RANK_TOLERANCE) -> Basis:
    """Orthogonalise rows, the one that stands out most first; within ``priority`` classes (low first) if given.

    A row counts as dependent once less than ``tolerance`` of its length is left.
    """
    m, n = rows.shape
    xp = namespace_of(rows)
    length = row_norms(rows)
    unit = rows / xp.where(length > 0, length, 1.0)[:, None]
    classes = xp.zeros(m) if priority is None else xp.asarray(priority, float)
    k = min(m, n)

    def take(step: Array, state: tuple[Array, ...]) -> tuple[Array, ...]:
        left, vectors, keep, smallest = state
        sizes = xp.where(keep, 0.0, row_norms(left))
        # the class comes first, the size decides within it; dependent rows go last of all
        pivot = xp.argmax(xp.where(sizes > tolerance, sizes - 2.0 * classes, -xp.inf))
        counts = sizes[pivot] > tolerance
        # a row that shrank has lost digits of its orthogonality: twice is enough
        row = left[pivot] / xp.where(counts, sizes[pivot], xp.inf)
        row = row - (vectors @ row) @ vectors
        row = row / xp.where(counts, row_norms(row), xp.inf)
        return (
            left - (left @ row)[:, None] * row,
            xp.where((xp.arange(k) == step)[:, None], row, vectors),
            keep | ((xp.arange(m) == pivot) & counts),
            xp.where(counts, xp.minimum(smallest, sizes[pivot]), smallest),
        )

    state = (unit, xp.zeros((k, n)), xp.zeros(m, bool), xp.asarray(xp.inf))
    left, vectors, keep, smallest = repeat(k, take, state) if k else state
    left_over = xp.max(xp.where(keep, 0.0, row_norms(left)), initial=0.0)
    return Basis(vectors, keep, smallest, left_over)


def row_norms(rows: Array) -> Array:
    """Lengths along the last axis, with a derivative that is zero, not NaN, at a zero vector."""
    xp = namespace_of(rows)
    squared = xp.sum(rows**2, axis=-1)
    return xp.where(squared > 0, xp.sqrt(xp.where(squared > 0, squared, 1.0)), 0.0)


def padded_null_space(B: Array, tolerance: float = RANK_TOLERANCE) -> Array:
    """An orthonormal basis of null(B) as n columns, those beyond its dimension zero: of a shape that JAX can trace."""
    xp, n = namespace_of(B), B.shape[1]
    _, values, rows = svd(B, full_matrices=True)
    padded = xp.concatenate([values, xp.zeros(n - len(values))])
    in_null = padded <= tolerance * xp.max(padded, initial=0.0)
    return xp.where(in_null[:, None], rows, 0.0).T


def unit_rows(A: Floats, b: Floats | None = None) -> tuple[Floats, Floats]:
    """A (..., m, n) with rows of unit length, and b scaled with them; rows without a gradient stay as they are."""
    length = np.linalg.norm(A, axis=-1)
    scale = np.where(length > 0, length, 1.0)
    return A / scale[..., None], (np.zeros(A.shape[:-1]) if b is None else b) / scale


def rank(A: Floats, tolerance: float = RANK_TOLERANCE) -> Any:
    """The number of singular values above ``tolerance`` times the largest, of one matrix or of each of a batch."""
    return _count(np.linalg.svd(A, compute_uv=False), tolerance)


def null_space(A: Floats, tolerance: float = RANK_TOLERANCE) -> Floats:
    """An orthonormal basis (k, n) of the vectors that A (m, n) maps to zero."""
    _, values, rows = np.linalg.svd(A)
    return rows[_count(values, tolerance) :]


def row_space(A: Floats, tolerance: float = RANK_TOLERANCE) -> Floats:
    """An orthonormal basis (k, n) of the space that the rows of A span."""
    _, values, rows = np.linalg.svd(A, full_matrices=False)
    return rows[: _count(values, tolerance)]


def dependence_shares(A: Floats, tolerance: float = RANK_TOLERANCE) -> Floats:
    """The part (m,) that each row has in the linear dependencies of the unit rows; zero for a row that is in none.

    The length of the projection of its unit vector onto the null space of Aᵀ.
    """
    return np.linalg.norm(null_space(unit_rows(A)[0].T, tolerance), axis=0)


def sparse_null_space(A: Floats, tolerance: float = SOLVED_RANK_TOLERANCE) -> Floats:
    """A basis (k, n) of the vectors that A maps to zero, with as many zeros as elimination gives it."""
    basis = null_space(A, tolerance)
    for i in range(len(basis)):
        row, pivot = divmod(int(np.argmax(np.abs(basis[i:]))), A.shape[1])
        basis[[i, i + row]] = basis[[i + row, i]]
        basis[i] /= basis[i, pivot]
        others = np.arange(len(basis)) != i
        basis[others] -= np.outer(basis[others, pivot], basis[i])
    return basis


def independent_rows(A: Floats, priority: Any = None, tolerance: float = SOLVED_RANK_TOLERANCE) -> tuple[int, ...]:
    """The numbers of rows that span all of them: the earliest ones, or those of low ``priority`` classes.

    Within one class the rows that stand out most are taken.
    """
    classes = np.arange(len(A)) if priority is None else np.asarray(priority)
    keep: Any = orthonormal_basis(np.asarray(A, float), classes, tolerance).keep  # pyright: ignore[reportArgumentType]
    return tuple(map(int, np.flatnonzero(keep)))


def own_parts(A: Floats) -> Floats:
    """What is left of each row when its components along earlier rows are taken off, to rounding error at least."""
    basis = np.zeros((0, A.shape[1]))
    parts = np.zeros_like(A)
    for i, row in enumerate(A):
        parts[i] = row
        for _ in range(2):  # once more against rounding
            parts[i] -= basis.T @ (basis @ parts[i])
        left, length = np.linalg.norm(parts[i]), np.linalg.norm(row)
        if left > SOLVED_RANK_TOLERANCE * length:
            basis = np.vstack([basis, parts[i] / left])
    return parts


def dependencies(A: Floats) -> dict[int, dict[int, float]]:
    """For every row that depends on earlier ones: with which coefficients it is made up of independent ones.

    Vanishing coefficients are left out.
    """
    unit, lengths = unit_rows(A)[0], np.linalg.norm(A, axis=1)
    kept = independent_rows(A)

    def combination(row: int) -> dict[int, float]:
        earlier = [k for k in kept if k < row]
        coefficients = np.linalg.lstsq(unit[earlier].T, unit[row], rcond=None)[0]
        return {
            k: float(c * lengths[row] / lengths[k])
            for k, c in zip(earlier, coefficients, strict=True)
            if abs(c) > SHARE_TOLERANCE
        }

    return {row: combination(row) for row in range(len(A)) if row not in kept}


def rank_gap(A: Floats) -> float:
    """The smallest singular value of the unit rows that counts over the largest that does not; inf if none is left."""
    values = np.linalg.svd(unit_rows(A)[0], compute_uv=False)
    count = len(independent_rows(A))
    left = values[count] if count < len(values) else 0.0
    return float(values[count - 1] / left) if count and left > 0 else np.inf


def determined(A: Floats) -> tuple[bool, ...]:
    """Which multipliers are unique: those of rows that no other row can take the load of."""
    found = dependencies(A)
    shared = {*found, *(k for parts in found.values() for k in parts)}
    return tuple(i not in shared for i in range(len(A)))


def contradictions(A: Floats, b: Floats, sizes: Floats, units: Floats | float = 1.0) -> tuple[int, ...]:
    """The dependent rows of A x = b whose right side differs from that of the rows they depend on.

    ``sizes`` (m,) are those of the numbers that each entry of b was computed from, ``units`` (n,) those of the
    coordinates.
    """
    length = np.linalg.norm(A, axis=1)

    def contradicts(row: int, parts: dict[int, float]) -> bool:
        off = abs(b[row] - sum(c * b[k] for k, c in parts.items()))
        scale = sizes[row] + sum(abs(c) * sizes[k] for k, c in parts.items())
        return bool(off > SOLVED_CONSISTENCY_TOLERANCE * scale + LEAST_DISTANCE * length[row])

    return tuple(row for row, parts in dependencies(A / units).items() if contradicts(row, parts))


def _count(values: Any, tolerance: float) -> Any:
    return (values > tolerance * values.max(axis=-1, keepdims=True, initial=0.0)).sum(axis=-1)
