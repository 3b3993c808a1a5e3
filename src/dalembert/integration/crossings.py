# SPDX-License-Identifier: BSD-3-Clause
"""Bifurcations that a run has stepped across: places where the constraints lose rank between two steps.

Where steps are long enough to lie on both sides, nothing shows at either end. But the rows change their orientation:
det(A(t) A(t')ᵀ) is positive for states close to one another, and negative across a place where rank is lost, however
close to it they are. Rows that only turn, by more than a right angle during a step, do not pass that test.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.equation.dynamics import Dynamics
from dalembert.integration.integrate import Path
from dalembert.integration.native_steps import NativeSteps

Floats = NDArray[np.float64]

PARTS = 33
"""Times looked at within a step, and again between the two of them where the orientation changes."""

REFINEMENTS = 4
"""How often: the place is then known to a millionth of a step."""

LONG = 3.0
"""Ratio of a step to the median of all above which it is looked at too."""

MOST_ENTRIES = 2_000_000
"""Entries of A at all steps, above which a run is too long, or a system too large, to be looked at."""

MOST_TIMES = 5
"""Bifurcations that are named one by one."""


def crossing_notes(dynamics: Dynamics, path: Path, p: Any) -> list[str]:
    """That the motion went through bifurcations of the constraints, if it did."""
    times = crossings(dynamics, path, p)
    if not times:
        return []
    shown = ", ".join(f"{t:.6g}" for t in times[:MOST_TIMES])
    more = f" and {len(times) - MOST_TIMES} more" * (len(times) > MOST_TIMES)
    return [
        f"The constraints lose rank at t = {shown}{more}; another motion may branch off there, the one given goes on "
        f"smoothly."
    ]


def crossings(dynamics: Dynamics, path: Path, p: Any) -> list[float]:
    """The times at which the constraints lose rank between two steps of the compiled integrator."""
    native: Any = dynamics.native
    if path.native is None or not dynamics.constraints or len(path.t) < 2 or path.forgotten:
        return []
    if len(path.t) * len(dynamics.constraints) * len(dynamics.coordinates) > MOST_ENTRIES:
        return []
    p = np.array([float(value) for value in p])
    kept = list(path.native.rows)
    steps = path.t[1:] - path.t[:-1]
    doubtful = _turned(native.rows_of_many(path.y, path.t, p)[:, kept])
    if steps.max() > LONG * (path.t[-1] - path.t[0]) / len(steps):
        # two changes of orientation in one step leave no trace at its ends: long ones are looked at in any case
        doubtful |= steps > LONG * np.median(steps)
    if not doubtful.any():
        return []
    covered = [(leap.start, leap.end) for leap in path.leaps]
    return [
        time
        for k in map(int, np.flatnonzero(doubtful))
        if not any(path.t[k + 1] > start and path.t[k] < end for start, end in covered)
        for time in _within_step(native, path.native, path.t[k : k + 2], path.y[k], p, kept)
    ]


def _turned(rows: Floats) -> NDArray[np.bool_]:
    """Between which of k states and the next (k − 1,) the rows (k, r, n) change their orientation: det(A A'ᵀ) < 0."""
    if rows.shape[1] == 1:
        return np.einsum("kij,kij->k", rows[:-1], rows[1:]) < 0
    # the length of a row has no part in the sign, but in whether the product of many can be computed
    length = np.sqrt(np.einsum("kij,kij->ki", rows, rows))[:, :, None]
    unit = rows / np.where(length > 0, length, 1.0)
    determinants: Any = np.linalg.det(unit[:-1] @ unit[1:].transpose(0, 2, 1))
    return determinants < 0


def _within_step(native: Any, steps: NativeSteps, t: Floats, y: Floats, p: Floats, kept: list[int]) -> list[float]:
    """When rank is lost within a step from a state y; never if the rows only turn."""
    begin, end = map(float, t)
    settings = steps.settings(begin, end, len(y))

    def changes(first: float, last: float) -> list[tuple[float, float]]:
        """Between which times the orientation changes."""
        times = np.linspace(first, last, PARTS)
        states, *_ = steps.engine.sample(np.full(PARTS, begin), np.tile(y, (PARTS, 1)), times, p, settings)
        if not np.isfinite(states).all():
            return [(first, last)]
        turned = np.flatnonzero(_turned(native.rows_of_many(states, times, p)[:, kept]))
        return [(float(times[k]), float(times[k + 1])) for k in turned]

    spans = changes(begin, end)
    for _ in range(REFINEMENTS - 1):
        spans = [finer for span in spans for finer in changes(*span)]
    return [(first + last) / 2 for first, last in spans]
