# SPDX-License-Identifier: BSD-3-Clause
"""Constraints that only touch at a state: their gradients are parallel there, and no motion keeps all of them.

At such a state some constraints are left out as redundant, but every motion that the others allow violates these.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.equation.dynamics import Dynamics
from dalembert.integration.native_steps import NativeSteps
from dalembert.integration.start_states import terms_at
from dalembert.numerics.mass import own_units
from dalembert.numerics.violation import START_TOLERANCE, own_size

TIMES_AHEAD = 10.0 ** np.arange(-6, 0)
"""Times ahead at which the constraints that were left out are examined, in units of the time that is left."""

VIOLATION_FACTORS = 1e3, 1.0
"""Residuals, in tolerances of a start, above which a constraint is violated. Where none is by the first one, which the
higher orders of a motion explain less, the second one counts: growth tells it from rounding."""

RESIDUAL_GROWTH = 1.5, 20.0
"""Least and largest ratio of a residual at twice the time to that at once: that of a power of time, from 1 to 4."""

NEARBY_DISTANCE = 0.1
"""Distance to a state that satisfies all constraints, relative to the motion up to there, at which a motion may follow
the constraints: it is of higher order in time."""

MOST_STEPS_TO_CONTACT = 30
"""Gauss–Newton steps towards a state that satisfies all constraints."""

NAMED_PART = 1e-6
"""Part of a gradient, relative to it, for which another constraint is named."""


def only_touching(dynamics: Dynamics, native: NativeSteps, y: Floats, t: float, end: float) -> str:
    """Return a message that names constraints which no motion from a state can keep; empty if there are none."""
    positions = [k for k, level in enumerate(dynamics.levels) if level == "position"]
    native = native.selected_at(y, t)
    left_out = [k for k in positions if k not in native.rows]
    slope = native.engine.slope(y, t, native.p)
    if not left_out or not np.isfinite(slope).all():
        return ""
    # at twice each time as well: a residual of the motion grows by a power of time, and rounding does not
    times = TIMES_AHEAD * (end - t)
    pairs = [
        [_residuals(dynamics, native, predicted(y, slope, h), t + h, left_out) for h in (ahead, 2 * ahead)]
        for ahead in times
    ]
    for limit, (ahead, (once, twice)) in product(VIOLATION_FACTORS, [*zip(times, pairs, strict=True)]):
        violated = np.abs(once) > limit
        grows = (np.abs(twice) >= RESIDUAL_GROWTH[0] * np.abs(once)) & (
            np.abs(twice) <= RESIDUAL_GROWTH[1] * np.abs(once)
        )
        if not violated.any():
            continue
        if not (violated & grows).any() or _can_follow(
            dynamics, native.p, y, predicted(y, slope, ahead), t + ahead, positions
        ):
            return ""
        return _message(dynamics, native, y, t, left_out[int(np.argmax(violated & grows))])
    return ""


def predicted(y: Floats, slope: Floats, h: float) -> Floats:
    """Return the state after a time by a Taylor series."""
    q, qd = np.split(y, 2)
    a = slope[len(q) : 2 * len(q)]
    return np.concatenate([q + h * qd + h**2 / 2 * a, qd + h * a])


def _residuals(dynamics: Dynamics, native: NativeSteps, y: Floats, t: float, rows: list[int]) -> Floats:
    """Return residuals in tolerances of a start, on the constraints in use."""
    # projected: a Taylor series misses the kept constraints, too, by terms of higher order
    q, qd = np.split(native.engine.projected(y, t, native.p), 2)
    terms = terms_at(dynamics, q, qd, t, native.p)
    residual, A = np.asarray(terms.position)[rows], np.asarray(terms.A)[rows]
    return residual / np.maximum(START_TOLERANCE * own_size(residual, A, q), np.finfo(float).tiny)


def _can_follow(dynamics: Dynamics, p: Any, y: Floats, later: Floats, t: float, rows: list[int]) -> bool:
    """Return whether a state that satisfies all constraints is close to one that is predicted."""
    (q0, _), (q, qd) = np.split(y, 2), np.split(later, 2)
    unit = own_units(np.asarray(terms_at(dynamics, q0, qd, t, p).M))
    found = q
    for _ in range(MOST_STEPS_TO_CONTACT):
        terms = terms_at(dynamics, found, qd, t, p)
        # columns in the units of the coordinates: the least solution is the shortest step in these units
        found = found - np.linalg.lstsq(np.asarray(terms.A)[rows] / unit, np.asarray(terms.position)[rows])[0] / unit
        if not np.isfinite(found).all():
            return True  # not decided
    return bool(np.linalg.norm(unit * (found - q)) <= NEARBY_DISTANCE * np.linalg.norm(unit * (q - q0)))


def _message(dynamics: Dynamics, native: NativeSteps, y: Floats, t: float, row: int) -> str:
    q, qd = np.split(y, 2)
    A = np.asarray(terms_at(dynamics, q, qd, t, native.p).A)
    rows = list(native.rows)
    shares = np.linalg.lstsq(A[rows].T, A[row])[0] * np.linalg.norm(A[rows], axis=1)
    others = [rows[k] for k in np.flatnonzero(np.abs(shares) > NAMED_PART * np.linalg.norm(A[row]))]
    names = " and ".join(f"`{dynamics.constraints[k]}`" for k in sorted([*others, row]))
    return f"{names} must leave a motion possible; {advice_on_touching(t)}."


def advice_on_touching(t: float) -> str:
    """Return why constraints leave no motion possible, and what to do."""
    return (
        f"at t = {t:.6g} they only touch: their gradients are dependent there, and motions that some of them allow "
        f"leave the others. Start elsewhere, change one of them, or state what they amount to together"
    )
