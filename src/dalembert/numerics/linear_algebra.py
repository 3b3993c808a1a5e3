# SPDX-License-Identifier: BSD-3-Clause
"""Rank, null spaces and independent rows of constraint matrices.

Rows are scaled to unit length first, so that the scale in which a constraint is written does not matter. Columns must
be scaled by the caller: in coordinates of very different units all rows seem dependent. ``orthonormal_basis``,
``range_basis``, ``padded_null_space``, ``shares_outside`` and ``are_determined`` take NumPy or JAX arrays, the other
functions NumPy arrays.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats, all_true
from dalembert.numerics.arrays import namespace_of, repeat, svd
from dalembert.numerics.tolerances import (
    LEAST_DISTANCE,
    RANK_TOLERANCE,
    SHARE_TOLERANCE,
    SOLVED_CONSISTENCY_TOLERANCE,
    SOLVED_RANK_TOLERANCE,
    UNIQUE_SHARE,
)

if TYPE_CHECKING:
    from jax import Array


class Basis(NamedTuple):
    """An orthonormal basis of the space that some rows span.

    scale (m,), unit (m, n)    lengths of the rows, one for zero rows, and the rows divided by them
    vectors (k, n)    orthonormal rows; zero rows beyond the rank
    keep (m,)         mask of the rows that were selected as independent
    smallest, largest_left    relative size of the smallest selected row and of the largest row left
    """

    scale: Array
    unit: Array
    vectors: Array
    keep: Array
    smallest: Array
    largest_left: Array


def orthonormal_basis(rows: Array, priority: Any = None, tolerance: float = RANK_TOLERANCE) -> Basis:
    """Orthogonalise rows by Gram–Schmidt with pivoting, within ``priority`` classes (low first) if given.

    A row counts as dependent once less than ``tolerance`` of its length is left.
    """
    m, n = rows.shape
    xp = namespace_of(rows)
    length = row_norms(rows)
    scale = xp.where(length > 0, length, 1.0)
    unit = rows / scale[:, None]
    classes = xp.zeros(m) if priority is None else xp.asarray(priority, float)
    if xp is np:
        return Basis(scale, unit, *_basis_by_numpy(unit, classes, tolerance))
    k = min(m, n)
    every_row, every_step = xp.arange(m), xp.arange(k)[:, None]

    def take(step: Array, state: tuple[Array, ...]) -> tuple[Array, ...]:
        left, vectors, keep, smallest = state
        sizes = xp.where(keep, 0.0, row_norms(left))
        # the class has precedence over the size, which is at most one; dependent rows come last
        pivot = xp.argmax(xp.where(sizes > tolerance, sizes - 2.0 * classes, -xp.inf))
        counts = sizes[pivot] > tolerance
        # a row that has become short has lost digits of its orthogonality: orthogonalise it once more
        row = left[pivot] / xp.where(counts, sizes[pivot], xp.inf)
        row = row - (vectors @ row) @ vectors
        row = row / xp.where(counts, row_norms(row), xp.inf)
        return (
            left - (left @ row)[:, None] * row,
            xp.where(every_step == step, row, vectors),
            keep | ((every_row == pivot) & counts),
            xp.where(counts, xp.minimum(smallest, sizes[pivot]), smallest),
        )

    state = (unit, xp.zeros((k, n)), xp.zeros(m, bool), xp.asarray(xp.inf))
    left, vectors, keep, smallest = repeat(k, take, state) if k else state
    left_over = xp.max(xp.where(keep, 0.0, row_norms(left)), initial=0.0)
    return Basis(scale, unit, vectors, keep, smallest, left_over)


def _basis_by_numpy(unit: Any, classes: Floats, tolerance: float) -> Any:
    """Return the other fields of ``orthonormal_basis`` of unit rows; unlike a traced loop it ends at the rank."""
    (m, n), left, sizes = unit.shape, unit.copy(), row_norms(unit)
    vectors, keep, smallest = np.zeros((min(m, n), n)), np.zeros(m, bool), np.inf
    # a state is small, so that the number of calls counts, and most rows have no classes
    by_size = not classes.any() and bool(np.isfinite(sizes).all())
    for step in range(len(vectors)):
        order = sizes if by_size else np.where(sizes > tolerance, sizes - 2.0 * classes, -np.inf)
        pivot = int(order.argmax())
        size = float(sizes[pivot])
        if not size > tolerance:
            break
        smallest = min(smallest, size)
        row = left[pivot] / size
        if step:
            before = vectors[:step]
            row -= (before @ row) @ before
        row /= math.sqrt(row @ row)
        vectors[step], keep[pivot] = row, True
        if step + 1 == m:  # all rows are independent
            return vectors, keep, smallest, 0.0
        left -= (left @ row)[:, None] * row
        sizes = np.sqrt(np.einsum("ij,ij->i", left, left))
        sizes[keep] = 0.0
    return vectors, keep, smallest, sizes.max(initial=0.0)


def row_norms(rows: Array) -> Array:
    """Return the lengths along the last axis, with derivative zero, not NaN, at a zero vector."""
    xp = namespace_of(rows)
    if xp is np:
        return np.sqrt(np.einsum("...i,...i->...", rows, rows))  # pyright: ignore[reportReturnType]
    squared = xp.sum(rows**2, axis=-1)
    return xp.where(squared > 0, xp.sqrt(xp.where(squared > 0, squared, 1.0)), 0.0)


def range_basis(basis: Basis) -> Array:
    """Return an orthonormal basis (k, m) of the range of the unit rows, from their basis; zero rows beyond the rank."""
    # coefficients of the unit rows in the basis: their row space is the range
    return orthonormal_basis(basis.vectors @ basis.unit.T).vectors


def padded_null_space(B: Array, tolerance: float = RANK_TOLERANCE) -> Array:
    """Return an orthonormal basis of null(B) as n columns, zero beyond its dimension: a fixed shape for tracing.

    B (..., m, n) may be a batch of matrices.
    """
    xp, n = namespace_of(B), B.shape[-1]
    _, values, rows = svd(B, full_matrices=True)
    padded = xp.concatenate([values, xp.zeros((*B.shape[:-2], n - values.shape[-1]))], axis=-1)
    in_null = padded <= tolerance * xp.max(padded, axis=-1, keepdims=True, initial=0.0)
    return xp.swapaxes(xp.where(in_null[..., None], rows, 0.0), -1, -2)


def unit_rows(A: Floats, b: Floats | None = None) -> tuple[Floats, Floats]:
    """Return A (..., m, n) with rows of unit length, and b scaled with them; zero rows are unchanged."""
    length = np.linalg.norm(A, axis=-1)
    scale = np.where(length > 0, length, 1.0)
    return A / scale[..., None], (np.zeros(A.shape[:-1]) if b is None else b) / scale


def rank(A: Floats, tolerance: float = RANK_TOLERANCE) -> Any:
    """Return the number of singular values above ``tolerance`` times the largest, for one matrix or a batch."""
    return _count(np.linalg.svd(A, compute_uv=False), tolerance)


def null_space(A: Floats, tolerance: float = RANK_TOLERANCE) -> Floats:
    """Return an orthonormal basis (k, n) of the null space of A (m, n)."""
    _, values, rows = np.linalg.svd(A)
    return rows[_count(values, tolerance) :]


def null_spaces(A: Floats, dimension: int) -> Floats:
    """Return orthonormal bases (k, n, dimension) of the null spaces of k matrices A (k, m, n), all of one dimension."""
    return np.linalg.svd(A)[2][:, A.shape[2] - dimension :].swapaxes(1, 2)


def row_space(A: Floats, tolerance: float = RANK_TOLERANCE) -> Floats:
    """Return an orthonormal basis (k, n) of the row space of A."""
    _, values, rows = np.linalg.svd(A, full_matrices=False)
    return rows[: _count(values, tolerance)]


def dependence_shares(A: Floats, tolerance: float = RANK_TOLERANCE) -> Floats:
    """Return the share (m,) of each row in the linear dependencies of the unit rows; zero if there are none.

    It is the length of the projection of the row's unit vector onto the null space of Aᵀ.
    """
    # as in ``independent_rows``, so that the rank is the same in both
    basis: Any = orthonormal_basis(np.asarray(A, float), np.arange(len(A)), tolerance)  # pyright: ignore
    return np.zeros(len(A)) if all_true(basis.keep) else shares_outside(range_basis(basis))


def shares_outside(vectors: Any) -> Any:
    """Return the length (m,) of the part of each unit vector outside the span of orthonormal rows (k, m)."""
    # not √(1 − Σ vᵢ²), which has half the digits where the part is small
    return row_norms(namespace_of(vectors).eye(vectors.shape[1]) - vectors.T @ vectors)


def are_determined(shares: Any) -> Any:
    """Return which entries of λ the force Aᵀλ determines, from their shares in the dependencies of the unit rows.

    This is the only place where the question is decided. The shares are lengths of projections onto the null space of
    Aᵀ, or entries of null vectors whose largest entry is about one.
    """
    return shares <= UNIQUE_SHARE


def sparse_null_space(A: Floats, tolerance: float = SOLVED_RANK_TOLERANCE) -> Floats:
    """Return a basis (k, n) of the null space of A in reduced echelon form, which has many zeros."""
    basis = null_space(A, tolerance)
    # elimination with complete pivoting, which keeps it accurate
    for i in range(len(basis)):
        row, pivot = divmod(int(np.argmax(np.abs(basis[i:]))), A.shape[1])
        basis[[i, i + row]] = basis[[i + row, i]]
        basis[i] /= basis[i, pivot]
        others = np.arange(len(basis)) != i
        basis[others] -= np.outer(basis[others, pivot], basis[i])
    return basis


def independent_rows(A: Floats, priority: Any = None, tolerance: float = SOLVED_RANK_TOLERANCE) -> tuple[int, ...]:
    """Return the indices of rows that span the row space: the earliest, or those of low ``priority`` classes.

    Within one class rows are selected by pivoting.
    """
    classes = np.arange(len(A)) if priority is None else np.asarray(priority)
    keep: Any = orthonormal_basis(np.asarray(A, float), classes, tolerance).keep  # pyright: ignore[reportArgumentType]
    return tuple(map(int, np.flatnonzero(keep)))


def independent_rows_of_many(A: Floats, priority: Any, tolerance: float = SOLVED_RANK_TOLERANCE) -> NDArray[np.bool_]:
    """Return which rows of k matrices A (k, m, n) ``independent_rows`` selects, as an array (k, m), up to rounding."""
    count, m, n = A.shape
    left = unit_rows(A)[0]
    classes, keep = 2.0 * np.asarray(priority), np.zeros((count, m), bool)
    every = np.arange(count)
    for _ in range(min(m, n)):
        sizes = np.where(keep, 0.0, np.linalg.norm(left, axis=2))
        pivot = np.argmax(np.where(sizes > tolerance, sizes - classes, -np.inf), axis=1)
        counts = sizes[every, pivot] > tolerance
        row = left[every, pivot] / np.where(counts, sizes[every, pivot], np.inf)[:, None]
        left = left - np.einsum("kmn,kn->km", left, row)[:, :, None] * row[:, None]
        keep[every, pivot] |= counts
    return keep


def own_parts(A: Floats) -> Floats:
    """Return each row without its components along earlier rows."""
    basis = np.zeros((0, A.shape[1]))
    parts = np.zeros_like(A)
    for i, row in enumerate(A):
        parts[i] = row
        for _ in range(2):  # twice, against rounding
            parts[i] -= basis.T @ (basis @ parts[i])
        left, length = np.linalg.norm(parts[i]), np.linalg.norm(row)
        if left > SOLVED_RANK_TOLERANCE * length:
            basis = np.vstack([basis, parts[i] / left])
    return parts


def dependencies(A: Floats) -> dict[int, dict[int, float]]:
    """Return, for every dependent row, its coefficients as a combination of earlier independent rows.

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
    """Return the ratio of the last singular value within the rank to the first beyond it; inf if there is none."""
    values = np.linalg.svd(unit_rows(A)[0], compute_uv=False)
    count = len(independent_rows(A))
    left = values[count] if count < len(values) else 0.0
    return float(values[count - 1] / left) if count and left > 0 else np.inf


def determined(A: Floats) -> tuple[bool, ...]:
    """Return whether each multiplier is unique: that of a row outside all linear dependencies."""
    return tuple(are_determined(dependence_shares(A, SOLVED_RANK_TOLERANCE)).tolist())


def contradictions(A: Floats, b: Floats, sizes: Floats, units: Floats | float = 1.0) -> tuple[int, ...]:
    """Return the dependent rows of A x = b whose right side contradicts that of the rows they depend on.

    ``sizes`` (m,) are the magnitudes of the terms of each entry of b, ``units`` (n,) the scales of the coordinates.
    """
    length = np.linalg.norm(A, axis=1)

    def contradicts(row: int, parts: dict[int, float]) -> bool:
        # the allowed difference follows the terms of b, which may cancel
        off = abs(b[row] - sum(c * b[k] for k, c in parts.items()))
        scale = sizes[row] + sum(abs(c) * sizes[k] for k, c in parts.items())
        return bool(off > SOLVED_CONSISTENCY_TOLERANCE * scale + LEAST_DISTANCE * length[row])

    return tuple(row for row, parts in dependencies(A / units).items() if contradicts(row, parts))


def _count(values: Any, tolerance: float) -> Any:
    return (values > tolerance * values.max(axis=-1, keepdims=True, initial=0.0)).sum(axis=-1)
