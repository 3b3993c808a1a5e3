# SPDX-License-Identifier: BSD-3-Clause
"""When a state counts as violating a constraint: one measure for starts and for verdicts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

START_TOLERANCE = 1e-8
"""A state may miss a constraint by this fraction of the constraint's own terms there."""

LEAST_DISTANCE = 1e-10
"""And by this distance along each of its coordinates, in their units or sizes, where its terms are small themselves."""


def own_size(residual: Any, gradient: Any, state: Any) -> NDArray[np.float64]:
    """The size (..., m) of the terms that each residual is the sum of, at one state or many.

    To first order a residual is A x + c. What the row does not touch has no part in it, so that neither the units nor
    the size of other coordinates decide.
    """
    miss, A, x = np.asarray(residual), np.asarray(gradient), np.asarray(state)
    return np.abs(miss - _times(A, x)) + _times(np.abs(A), np.abs(x))


def _times(A: Any, x: Any) -> Any:
    return (A @ x[..., None])[..., 0]


def violated(residual: Any, gradient: Any, state: Any, coordinates: Any = None) -> NDArray[np.bool_]:
    """Which constraints (..., m) a state violates, or each of many states.

    Parameters
    ----------
    residual       (..., m) values that should be zero
    gradient       (..., m, n) their derivatives with respect to the state
    state          (..., n) coordinates, or velocities
    coordinates    (..., n) with velocities: those of a coordinate of size 1e6 are no better known than it is
    """
    A, q = np.asarray(gradient), np.asarray(state if coordinates is None else coordinates)
    least = LEAST_DISTANCE * _times(np.abs(A), np.maximum(1.0, np.abs(q)))
    return np.abs(np.asarray(residual)) > START_TOLERANCE * own_size(residual, A, state) + least
