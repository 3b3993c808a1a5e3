# SPDX-License-Identifier: BSD-3-Clause
"""The criterion by which a state violates a constraint, and the scales of coordinates it uses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.numerics.tolerances import LEAST_DISTANCE, ROUNDING, START_TOLERANCE

DRIFT_FACTOR = 10.0
"""Factor by which the violation of a redundant constraint, measured along its gradient, may exceed the drift of the
rows in use."""

REST_RATE = 1e-9
"""Rate, relative to the coordinates, below which a motion counts as rest: such rates may be rounding errors."""

LARGEST_SQUARABLE = 1e150
"""Larger numbers have squares that overflow."""


def own_size(residual: Any, gradient: Any, state: Any, xp: Any = np) -> Any:
    """Return the magnitude (..., m) of the terms of each residual, at one state or many.

    To first order a residual is A x + c. Coordinates that are not in the row do not contribute, so that neither their
    units nor their size matter. ``xp`` is NumPy or ``jax.numpy``.
    """
    miss, A, x = xp.asarray(residual), xp.asarray(gradient), xp.asarray(state)
    return xp.abs(miss - _times(A, x)) + _times(xp.abs(A), xp.abs(x))


def _times(A: Any, x: Any) -> Any:
    return (A @ x[..., None])[..., 0]


def violated(
    residual: Any, gradient: Any, state: Any, coordinates: Any = None, mass_matrix: Any = None, xp: Any = np
) -> Any:
    """Return a mask (..., m) of the constraints that a state violates, or each of many states.

    Parameters
    ----------
    residual       (..., m) values that should be zero
    gradient       (..., m, n) their derivatives with respect to the state
    state          (..., n) coordinates, or velocities
    coordinates    (..., n) if ``state`` are velocities: rounding of large coordinates limits their accuracy
    mass_matrix    (..., n, n) determines the scales of coordinates: see ``scales``; one when left out
    xp             NumPy or ``jax.numpy``
    """
    A, x = xp.asarray(gradient), xp.asarray(state)
    q = x if coordinates is None else xp.asarray(coordinates)
    size = xp.maximum(1.0, xp.abs(q)) if mass_matrix is None else units(mass_matrix, q, x, xp)
    least = LEAST_DISTANCE * _times(xp.abs(A), size)
    return xp.abs(xp.asarray(residual)) > START_TOLERANCE * own_size(residual, A, x, xp) + least


def units(mass_matrix: Any, q: Any, x: Any, xp: Any = np) -> Any:
    """Return the size (..., n) of coordinates, or of velocities x, relative to which residuals are small."""
    return units_of(_root_masses(mass_matrix, xp), q, x, xp)


def units_of(weight: Any, q: Any, x: Any, xp: Any = np) -> Any:
    """Return the same as ``units`` for weights √Mᵢᵢ (..., n), without a matrix."""
    unit = xp.maximum(_scales(weight, q, 1.0, xp), _scales(weight, x, 0.0, xp))
    return xp.maximum(unit, xp.abs(xp.asarray(q)))


def scales(mass_matrix: Any, x: Any, otherwise: float = 1.0, xp: Any = np) -> Any:
    """Return the scale (..., n) of each coordinate or velocity: one, or less if all of x (..., n) is smaller.

    √Mᵢᵢ xᵢ has the same unit for all coordinates, lengths, angles or others, so that the largest of them is a scale for
    all. If x is zero up to rounding, the scale is unknown and ``otherwise`` is returned.
    """
    return _scales(_root_masses(mass_matrix, xp), x, otherwise, xp)


def _root_masses(mass_matrix: Any, xp: Any) -> Any:
    """Return √Mᵢᵢ (..., n) of a mass matrix (..., n, n)."""
    return xp.sqrt(xp.abs(xp.diagonal(xp.asarray(mass_matrix, float), axis1=-2, axis2=-1)))


def _scales(weight: Any, x: Any, otherwise: float, xp: Any) -> Any:
    x = xp.abs(xp.asarray(x, float))
    largest = (weight * x).max(axis=-1, keepdims=True, initial=0.0)
    own = largest / xp.where(weight > 0, weight, xp.inf)
    found = xp.minimum(xp.where(weight > 0, own, 1.0), 1.0)
    return xp.where(x.max(axis=-1, keepdims=True, initial=0.0) > ROUNDING, found, otherwise)


def unresolved(residual: Any, gradient: Any, gradient_at: Callable[[Any], Any], q: Any, xp: Any = np) -> Any:
    """Return a mask (m,) of the constraints whose own lengths are below ``ROUNDING``, where numbers count as zero.

    Coordinates (n,) that are all tiny may be what rounding leaves of zero. Constraints are straight there, except for
    those with a tiny length of their own, such as links of 1e-20: their gradients (m, n), which are a function of the
    coordinates, change within such a distance. They may be sparse.
    """
    x = xp.asarray(q)
    # products with ones: sums of rows of dense and of sparse arrays
    most, length = xp.abs(x).max(initial=0.0), abs(gradient) @ xp.ones(len(x))
    constant = xp.abs(residual - gradient @ x)
    tiny = (most > 0) & (most <= ROUNDING) & (constant > 0) & (constant <= ROUNDING * length)
    if xp is np and not tiny.any():
        return tiny
    # by different amounts: distances do not change when all coordinates change alike
    moved = gradient_at(x + ROUNDING * xp.cos(xp.arange(len(x))))
    return tiny & (abs(moved - gradient) @ xp.ones(len(x)) > length)


def state_scales(mass_matrix: Any, applied_force: Any, q: Any, qd: Any, xp: Any = np) -> Any:
    """Return the scales (..., 2n) of coordinates and velocities of a motion from its start; one if it has no scale.

    √Mᵢᵢ qᵢ has the same unit for all coordinates: its largest value L is the scale of all coordinates, its largest rate
    V that of all velocities. From rest, accelerations a lead to rates of √(aL). Without rates and forces nothing tells
    the scale of time, and V is L per unit of time. No scale exceeds one unless the coordinate itself does, so that a
    heavy body does not set the scale of a light one.
    """
    return state_scales_of(_root_masses(mass_matrix, xp), applied_force, q, qd, xp)


def state_scales_of(weight: Any, applied_force: Any, q: Any, qd: Any, xp: Any = np) -> Any:
    """Return the same as ``state_scales`` for weights √Mᵢᵢ (..., n), without a matrix."""
    q, qd, force = (xp.abs(xp.asarray(x, float)) for x in (q, qd, applied_force))
    safe = xp.where(weight > 0, weight, xp.inf)
    # massless coordinates have no common unit with the others and do not count
    L, rate, pull = (x.max(axis=-1, keepdims=True, initial=0.0) for x in (weight * q, weight * qd, force / safe))
    known = (q.max(axis=-1, keepdims=True, initial=0.0) > ROUNDING) & (L > 0)  # massless coordinates have no scale
    V = xp.maximum(rate, xp.sqrt(L * pull))
    V = xp.where(V > 0, xp.maximum(V, REST_RATE * L), L)
    own_q = xp.maximum(1.0, q)
    own_qd = xp.maximum(xp.maximum(1.0, qd), own_q * V / xp.where(known, L, 1.0))
    found = [xp.where(weight > 0, xp.minimum(S / safe, own), 1.0) for S, own in ((L, own_q), (V, own_qd))]
    return xp.where(known, xp.concatenate(found, axis=-1), 1.0)


def computable(array: Any) -> Any:
    """Return a mask of the entries that are finite and have finite squares."""
    return np.abs(array) < LARGEST_SQUARABLE


def own_scale(x: Any) -> Any:
    """Return the order of magnitude of each number; one if it is zero up to rounding.

    It is a power of ten and not the number itself: random numbers divided by themselves would not be random any more.
    """
    return order_of_magnitude(np.where(np.abs(x) > ROUNDING, np.abs(x), 1.0))


def order_of_magnitude(size: Any) -> Any:
    """Return the nearest power of ten of each positive number."""
    return 10.0 ** np.round(np.log10(size))
