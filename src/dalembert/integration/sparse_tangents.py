# SPDX-License-Identifier: BSD-3-Clause
"""Constraints of a large system that only touch at a start, as those of a taut net: see ``tangent_constraints``.

Those that were left out as redundant are violated by every motion that the others allow. They are examined where many
steps of a run are rejected: its steps would become ever shorter.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.common.names import LISTED_NAMES, quoted
from dalembert.integration.method import split_state
from dalembert.integration.sparse_dependencies import Dependencies
from dalembert.integration.sparse_descent import Descent
from dalembert.integration.sparse_start import missed
from dalembert.integration.sparse_steps import SparseSteps
from dalembert.integration.tangent_constraints import (
    NAMED_PART,
    NEARBY_DISTANCE,
    RESIDUAL_GROWTH,
    advice_on_touching,
    predicted,
)
from dalembert.numerics.tolerances import START_TOLERANCE

FACTORS_AHEAD = 2.0 ** np.arange(10, -1, -1)
"""Times ahead at which the constraints that were left out are examined, in units of the time that the run has reached.
The last ones at which projection reaches the other constraints tell most."""

CLEAR_VIOLATION = 1e-2
"""Least violation, in tolerances of a start, which is far above rounding if it grows as a power of time."""

FIRST_STEPS, REJECTED_PART = 20, 1 / 3
"""A run is examined after so many steps, if so many times as many were rejected."""


def only_touching(steps: SparseSteps, y: Floats, t: float, reached: float) -> str:
    """Return a message that names constraints which no motion from a state can keep; empty if there are none."""
    steps.choose_rows(y, t)
    rows = steps.rows
    left_out = np.flatnonzero(~rows & (steps.dynamics.levels == 0))
    if not len(left_out) or not steps.method.drift.projections:
        return ""
    slope = steps.slope(y, t)
    if not np.isfinite(slope).all():
        return ""
    later = np.inf
    for h in (reached - t) * FACTORS_AHEAD:
        residuals = _residuals(steps, rows, predicted(y, slope, h), t + h, left_out)
        # a violation of the motion grows by a power of time from one time to twice that time, rounding does not
        grows = (later >= RESIDUAL_GROWTH[0] * residuals) & (later <= RESIDUAL_GROWTH[1] * residuals)
        violated, later = (residuals > CLEAR_VIOLATION) & grows, residuals
        if not violated.any():
            continue
        touching = _touching(steps, rows, y, t, int(left_out[np.argmax(violated)]))
        if _can_follow(steps, y, predicted(y, slope, h), t + h, touching):
            return ""
        names = quoted(steps.dynamics.constraints[k] for k in touching[:LISTED_NAMES])
        more = f" and {len(touching) - LISTED_NAMES} more" if len(touching) > LISTED_NAMES else ""
        return f"{names}{more} must leave a motion possible; {advice_on_touching(t)}"
    return ""


def _residuals(steps: SparseSteps, rows: NDArray[np.bool_], y: Floats, t: float, left_out: NDArray[np.int64]) -> Floats:
    """Return residuals of the rows left out, in tolerances of a start, on the constraints in use.

    They are zero if projection has not reached the constraints in use: then they mean nothing.
    """
    steps.rows = rows
    q, qd = split_state(steps.projected(y, t))
    code = steps.code
    code.evaluate(q, qd, t, steps.numbers)
    sizes = np.abs(code.residuals.position - code.A @ q) + abs(code.A) @ np.abs(q)
    allowed = np.maximum(START_TOLERANCE * sizes, np.finfo(float).tiny)
    found = np.abs(code.residuals.position / allowed)[left_out]
    return found * (not rows[missed(steps.dynamics, q, qd, 0, START_TOLERANCE)].any())


def _touching(steps: SparseSteps, rows: NDArray[np.bool_], y: Floats, t: float, row: int) -> NDArray[np.int64]:
    """Return a constraint that was left out at a state, and those on which its gradient depends there."""
    steps.rows = rows
    steps.factor_at(y, t)
    dependencies, lengths = Dependencies(steps.code), steps.code.row_lengths
    shares = np.abs(dependencies.combined((dependencies.rows == row).astype(float)) * lengths)
    return np.flatnonzero(shares > NAMED_PART * lengths[row])


def _can_follow(steps: SparseSteps, y: Floats, later: Floats, t: float, touching: NDArray[np.int64]) -> bool:
    """Return whether a state that satisfies all constraints is close to one that is predicted, or was not found.

    Distances are those of the coordinates of the constraints that touch.
    """
    dynamics, (q, qd) = steps.dynamics, split_state(later)
    own = np.unique(steps.code.A[touching].indices)
    # displacements times the roots of their masses, so that units of coordinates do not matter
    unit = np.sqrt(np.abs(steps.code.mass.diagonal))[own]
    descent = Descent(dynamics, q, qd, t, steps.numbers, 0)
    found = descent.on_constraints_from_start()
    dynamics.code.evaluate(found, qd, t, steps.numbers)
    if len(missed(dynamics, found, qd, 0, START_TOLERANCE)):
        return True
    moved = np.linalg.norm(unit * (q - split_state(y)[0])[own])
    return bool(np.linalg.norm(unit * (found - q)[own]) <= NEARBY_DISTANCE * moved)
