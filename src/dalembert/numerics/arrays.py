# SPDX-License-Identifier: BSD-3-Clause
"""Linear algebra on NumPy or JAX arrays.

At one state the matrices are small: NumPy solves the equation without importing JAX and without compilation. Inside
``jax.jit``, ``jax.vmap`` and ``jax.grad`` the same formulas are traced. For a singular matrix NumPy raises an error and
JAX returns NaN; these functions return NaN in both cases.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.common.lazy_jax import jax, jnp, jsl, lax
from dalembert.numerics.mass import has_only_masses

if TYPE_CHECKING:
    from jax import Array


def namespace_of(*arrays: Any) -> Any:
    """Return ``numpy`` if all arrays are NumPy arrays or Python numbers, else ``jax.numpy``."""
    for array in arrays:  # a loop, in half the time of ``all``: a motion at one state asks some fifty times
        if type(array) is not np.ndarray and not isinstance(array, NUMPY_TYPES):
            return jnp
    return np


NUMPY_TYPES = (np.ndarray, np.generic, float, int)
"""Types of the values that NumPy computes with."""


def is_traced(array: Any) -> bool:
    """Return whether an array is traced by JAX, so that its values are not known."""
    if namespace_of(array) is np or "jax" not in sys.modules:
        return False
    return isinstance(array, jax.core.Tracer)  # pyright: ignore[reportAttributeAccessIssue]


def cholesky(M: Array) -> Array:
    """Return L with M = LLᵀ; NaN if M is not positive definite."""
    if not _plain(M):
        return jnp.linalg.cholesky(M)
    # of a diagonal matrix, in a third of the time of NumPy's checks
    return np.sqrt(M) if has_only_masses(M) else _or_nan(np.linalg.cholesky, M.shape, M)  # pyright: ignore


def inverse(M: Array) -> Array:
    """Return M⁻¹."""
    return _or_nan(np.linalg.inv, M.shape, M) if _plain(M) else jnp.linalg.inv(M)


def solve_matrix(M: Array, right: Array) -> Array:
    """Return M⁻¹ times a vector or matrix."""
    return _solve(M, right) if _plain(M, right) else jnp.linalg.solve(M, right)


def _solve(M: Any, right: Any) -> Any:
    # of bodies in Cartesian coordinates most matrices are diagonal, and NumPy's checks take longer than a division
    if np.count_nonzero(M) == len(M) == np.count_nonzero(diagonal := M.diagonal()):
        return right / (diagonal if right.ndim == 1 else diagonal[:, None])
    return _or_nan(np.linalg.solve, right.shape, M, right)


def lower_solve(lower: Array, right: Array) -> Array:
    """Return L⁻¹ times a vector or matrix."""
    return _solve(lower, right) if _plain(lower, right) else jsl.solve_triangular(lower, right, lower=True)


def upper_solve(lower: Array, right: Array) -> Array:
    """Return L⁻ᵀ times a vector or matrix."""
    if _plain(lower, right):
        return _solve(lower.T, right)
    return jsl.solve_triangular(lower, right, lower=True, trans=1)


def lu_factor(matrix: Array) -> tuple[Array, ...]:
    """Return the factors of a regular matrix for ``lu_solve``; NumPy keeps the matrix and factors it when solving."""
    return (matrix,) if _plain(matrix) else jsl.lu_factor(matrix)


def lu_solve(factors: tuple[Array, ...], right: Array, *, transposed: bool = False) -> Array:
    """Return the inverse of a factored matrix, or of its transpose, times a vector."""
    if len(factors) == 1:
        return solve_matrix(factors[0].T if transposed else factors[0], right)
    return jsl.lu_solve(factors, right, trans=int(transposed))


def eigh(M: Array) -> tuple[Array, Array]:
    """Return the eigenvalues, ascending, and the eigenvectors, as columns, of a symmetric matrix."""
    if not _plain(M):
        return jnp.linalg.eigh(M)
    if not np.isfinite(M).all():
        return np.full(len(M), np.nan), np.full(M.shape, np.nan)  # pyright: ignore
    return np.linalg.eigh(M)  # pyright: ignore


def svd(B: Array, *, full_matrices: bool) -> tuple[Array, Array, Array]:
    """Return U, the singular values, descending, and Vᵀ."""
    if not _plain(B):
        return tuple(jnp.linalg.svd(B, full_matrices=full_matrices))  # pyright: ignore
    # NumPy raises an error for NaN
    finite = np.isfinite(B).all()
    found = np.linalg.svd(B if finite else np.zeros(B.shape), full_matrices=full_matrices)
    return found if finite else tuple(np.full(part.shape, np.nan) for part in found)  # pyright: ignore


def pinv(B: Array, tolerance: float) -> Array:
    """Return the Moore–Penrose inverse; singular values below ``tolerance`` times the largest count as zero."""
    if not _plain(B):
        return jnp.linalg.pinv(B, rtol=tolerance)
    return _or_nan(np.linalg.pinv, B.shape[::-1], B, tolerance)


def least_squares(B: Array, right: Array) -> Array:
    """Return the vector or matrix y that minimises ‖B y − right‖, for B (m, n) of full column rank.

    The rows are sorted by length, the longest first, so that Householder's method keeps the digits of rows of very
    different weight.
    """
    xp = namespace_of(B, right)
    order = xp.argsort(-xp.sum(B**2, axis=1))
    orthogonal, R = xp.linalg.qr(B[order])
    projected = orthogonal.T @ right[order]
    return solve_matrix(R, projected) if xp is np else jsl.solve_triangular(R, projected)


def norm(*arrays: Any) -> Array:
    """Return the root of the sum of all squared entries."""
    # in a third of the time of ``np.linalg.norm``: the residual of one answer takes a dozen of them
    total = 0.0
    for x in arrays:
        if type(x) is not np.ndarray and not _plain(x):
            return jnp.sqrt(sum(jnp.sum(x**2) for x in arrays))
        total += float(np.vdot(x, x))
    return sqrt(total)  # pyright: ignore[reportReturnType]


def larger(one: Any, other: Any) -> Any:
    """Return the larger of two numbers, NaN if one is."""
    if type(one) is float and type(other) is float:
        return one if one >= other or one != one else other
    return namespace_of(one, other).maximum(one, other)


def where(condition: Any, one: Any, other: Any) -> Any:
    """Return one number where a condition holds, and another elsewhere."""
    if type(condition) is bool:
        return np.asarray(one if condition else other)
    return namespace_of(condition, one, other).where(condition, one, other)


def ratio(part: Array, whole: Array) -> Array:
    """Return part / whole, and the part itself if the whole is zero."""
    if not _plain(part, whole):
        return part / jnp.where(whole > 0, whole, 1.0)
    return part / whole if whole > 0 else part


def constant(x: Array) -> Array:
    """Return an array with derivative zero."""
    return x if _plain(x) else lax.stop_gradient(x)


def repeat(count: int, step: Callable[[Any, Any], Any], state: Any) -> Any:
    """Return the state after ``step(k, state)`` for k from 0 to count − 1."""
    if not _plain(*state):
        return lax.fori_loop(0, count, step, state)
    for k in range(count):
        state = step(k, state)
    return state


def map_rows(function: Callable[[Array], Any], rows: Array) -> Any:
    """Apply a function that returns a named tuple of vectors to every row of a matrix, and stack the results."""
    if not _plain(rows):
        return jax.vmap(function)(rows)
    found = [function(row) for row in rows]
    return type(found[0])(*(np.stack(part) for part in zip(*found, strict=True)))


def _plain(*arrays: Any) -> bool:
    return namespace_of(*arrays) is np


def _or_nan(function: Callable[..., Any], shape: tuple[int, ...], *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except np.linalg.LinAlgError:
        return np.full(shape, np.nan)
