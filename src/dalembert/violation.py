# SPDX-License-Identifier: BSD-3-Clause
"""When a state counts as violating a constraint: one measure for starts and for verdicts."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.tolerances import LEAST_DISTANCE, ROUNDING, START_TOLERANCE

DRIFTED = 10.0
"""A redundant constraint may be farther off than the others, each measured along its gradient, by this factor."""


def own_size(residual: Any, gradient: Any, state: Any, xp: Any = np) -> Any:
    """The size (..., m) of the terms that each residual is the sum of, at one state or many.

    To first order a residual is A x + c. What the row does not touch has no part in it, so that neither the units nor
    the size of other coordinates decide. ``xp`` is NumPy or, within JAX, its counterpart.
    """
    miss, A, x = xp.asarray(residual), xp.asarray(gradient), xp.asarray(state)
    return xp.abs(miss - _times(A, x)) + _times(xp.abs(A), xp.abs(x))


def _times(A: Any, x: Any) -> Any:
    return (A @ x[..., None])[..., 0]


def violated(
    residual: Any, gradient: Any, state: Any, coordinates: Any = None, mass_matrix: Any = None, xp: Any = np
) -> Any:
    """Which constraints (..., m) a state violates, or each of many states.

    Parameters
    ----------
    residual       (..., m) values that should be zero
    gradient       (..., m, n) their derivatives with respect to the state
    state          (..., n) coordinates, or velocities
    coordinates    (..., n) with velocities: those of a coordinate of size 1e6 are no better known than it is
    mass_matrix    (..., n, n) gives coordinates their scales: see ``scales``; one when left out
    xp             NumPy or, within JAX, its counterpart
    """
    A, x = xp.asarray(gradient), xp.asarray(state)
    q = x if coordinates is None else xp.asarray(coordinates)
    size = xp.maximum(1.0, xp.abs(q)) if mass_matrix is None else units(mass_matrix, q, x, xp)
    least = LEAST_DISTANCE * _times(xp.abs(A), size)
    return xp.abs(xp.asarray(residual)) > START_TOLERANCE * own_size(residual, A, x, xp) + least


def units(mass_matrix: Any, q: Any, x: Any, xp: Any = np) -> Any:
    """The size (..., n) of coordinates, or of velocities x, by which small residuals are judged: see ``scales``."""
    unit = xp.maximum(scales(mass_matrix, q, xp=xp), scales(mass_matrix, x, otherwise=0.0, xp=xp))
    return xp.maximum(unit, xp.abs(xp.asarray(q)))


def scales(mass_matrix: Any, x: Any, otherwise: float = 1.0, xp: Any = np) -> Any:
    """The scale (..., n) of each coordinate or velocity: one, or less where all of x (..., n) is smaller.

    √Mᵢᵢ xᵢ has the same unit for all coordinates, lengths, angles or others, so that the largest of them is a measure
    for all. Where x is zero but for rounding, its scale is not known, and is ``otherwise``.
    """
    x = xp.abs(xp.asarray(x, float))
    weight = xp.sqrt(xp.abs(xp.diagonal(xp.asarray(mass_matrix, float), axis1=-2, axis2=-1)))
    largest = (weight * x).max(axis=-1, keepdims=True, initial=0.0)
    own = largest / xp.where(weight > 0, weight, xp.inf)
    found = xp.minimum(xp.where(weight > 0, own, 1.0), 1.0)
    return xp.where(x.max(axis=-1, keepdims=True, initial=0.0) > ROUNDING, found, otherwise)


def state_scales(mass_matrix: Any, applied_force: Any, q: Any, qd: Any, xp: Any = np) -> Any:
    """The scales (..., 2n) of coordinates and velocities of a motion, from its start; one where that does not tell.

    √Mᵢᵢ qᵢ has one unit for all coordinates: its largest value L is the scale of all, its rate V that of velocities. A
    start at rest moves at rates of √(aL) under accelerations a, and in any case at rates like L in a unit of time. No
    scale is larger than one, unless the coordinate itself is: a heavy body must not decide about a light one.
    """
    q, qd, force = (xp.abs(xp.asarray(x, float)) for x in (q, qd, applied_force))
    weight = xp.sqrt(xp.abs(xp.diagonal(xp.asarray(mass_matrix, float), axis1=-2, axis2=-1)))
    safe = xp.where(weight > 0, weight, xp.inf)
    L, rate, pull = (x.max(axis=-1, keepdims=True, initial=0.0) for x in (weight * q, weight * qd, force / safe))
    known = (q.max(axis=-1, keepdims=True, initial=0.0) > ROUNDING) & (L > 0)  # what has no mass tells nothing
    V = xp.maximum(rate, xp.maximum(xp.sqrt(L * pull), L))
    own_q = xp.maximum(1.0, q)
    own_qd = xp.maximum(xp.maximum(1.0, qd), own_q * V / xp.where(known, L, 1.0))
    found = [xp.where(weight > 0, xp.minimum(S / safe, own), 1.0) for S, own in ((L, own_q), (V, own_qd))]
    return xp.where(known, xp.concatenate(found, axis=-1), 1.0)


def computable(array: Any) -> Any:
    """Which entries are numbers, and such that their squares are numbers, too."""
    return np.abs(array) < 1e150


def own_scale(x: Any) -> Any:
    """The order of magnitude of each number, one where it is zero but for rounding.

    A power of ten and not the number itself: numbers measured by themselves are all alike, and random ones random no
    more.
    """
    return order_of_magnitude(np.where(np.abs(x) > ROUNDING, np.abs(x), 1.0))


def order_of_magnitude(size: Any) -> Any:
    """The nearest power of ten of each positive number."""
    return 10.0 ** np.round(np.log10(size))
