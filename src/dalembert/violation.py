# SPDX-License-Identifier: BSD-3-Clause
"""When a state counts as violating a constraint: one measure for starts and for verdicts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

START_TOLERANCE = 1e-8
"""A state may miss a constraint by this fraction of the constraint's own terms there."""

LEAST_DISTANCE = 1e-10
"""And by this distance, in the units of its coordinates, where those terms are as small themselves."""


def own_size(residual: Any, gradient: Any, state: Any) -> NDArray[np.float64]:
    """The size (m,) of the terms that each residual is the sum of.

    To first order a residual is A x + c. What the row does not touch has no part in it, so that neither the units nor
    the size of other coordinates decide.
    """
    miss, A, x = np.asarray(residual), np.asarray(gradient), np.asarray(state)
    return np.abs(miss - A @ x) + np.abs(A) @ np.abs(x)


def violated(residual: Any, gradient: Any, state: Any) -> NDArray[np.bool_]:
    """Which constraints (m,) a state violates.

    Parameters
    ----------
    residual    (m,) values that should be zero
    gradient    (m, n) their derivatives with respect to the state
    state       (n,) coordinates, or velocities
    """
    A = np.asarray(gradient)
    limit = START_TOLERANCE * own_size(residual, A, state) + LEAST_DISTANCE * np.linalg.norm(A, axis=1)
    return np.abs(np.asarray(residual)) > limit
