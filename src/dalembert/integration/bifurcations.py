# SPDX-License-Identifier: BSD-3-Clause
"""Bifurcations that a run has stepped across: places where the constraints lose rank between two steps.

Where steps are long enough to lie on both sides, nothing shows at either end. But the rows change their orientation:
det(A(t) A(t')ᵀ) is positive for states close to one another, and negative across a place where rank is lost, however
close to it they are. Rows that only turn, by more than a right angle during a step, do not pass that test.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.array_types import Floats
from dalembert.equation.dynamics import Dynamics
from dalembert.integration.drift import Projection
from dalembert.integration.integrate import Path
from dalembert.integration.method import Method
from dalembert.integration.native_steps import NativeSteps, native_of
from dalembert.integration.step_monitor import DoubtfulStep, turned

PARTS = 33
"""Times looked at within a step, and again between the two of them where the orientation changes."""

REFINEMENTS = 4
"""How often: the place is then known to a millionth of a step."""

MOST_TIMES = 5
"""Bifurcations that are named one by one."""


def crossing_notes(dynamics: Dynamics, method: Method, path: Path, p: Any) -> list[str]:
    """That the motion went through bifurcations of the constraints, if it did."""
    times = crossings(dynamics, method, path, p)
    if not times:
        return []
    shown = ", ".join(f"{t:.6g}" for t in times[:MOST_TIMES])
    more = f" and {len(times) - MOST_TIMES} more" * (len(times) > MOST_TIMES)
    return [
        f"The constraints lose rank at t = {shown}{more}; another motion may branch off there, the one given goes on "
        f"smoothly."
    ]


def crossings(dynamics: Dynamics, method: Method, path: Path, p: Any) -> list[float]:
    """The times at which the constraints lose rank within the doubtful steps of a path."""
    if path.monitor is None or not path.monitor.doubtful:
        return []
    covered = [(crossing.start, crossing.end) for crossing in path.crossings]
    steps = path.native or _native_steps(dynamics, method, path.monitor.p)
    return [
        time
        for step in path.monitor.doubtful
        if not any(step.end > start and step.start < end for start, end in covered)
        for time in _within_step(steps, step)
    ]


def _native_steps(dynamics: Dynamics, method: Method, p: Floats) -> NativeSteps:
    """Compiled steps that retrace those of another integrator between their ends."""
    drift = method.drift if method.drift.in_machine_code else Projection()
    return NativeSteps(dynamics, drift, p, method.rtol, method.atol)


def _within_step(steps: NativeSteps, step: DoubtfulStep) -> list[float]:
    """When rank is lost within a step; never if the rows only turn."""
    steps.begin(step.y, step.start)
    settings = steps.settings(step.start, step.end, len(step.y))

    def changes(first: float, last: float) -> list[tuple[float, float]]:
        """Between which times the orientation changes."""
        times = np.linspace(first, last, PARTS)
        states, *_ = steps.engine.sample(
            np.full(PARTS, step.start), np.tile(step.y, (PARTS, 1)), times, steps.p, settings
        )
        if not np.isfinite(states).all():
            return [(first, last)]
        found = np.flatnonzero(turned(native_of(steps.dynamics).rows_of_many(states, times, steps.p)[:, step.rows]))
        return [(float(times[k]), float(times[k + 1])) for k in found]

    return _refined(changes, step.start, step.end)


def _refined(changes: Callable[[float, float], list[tuple[float, float]]], begin: float, end: float) -> list[float]:
    """The middles of the shortest spans in which something changes."""
    spans = changes(begin, end)
    for _ in range(REFINEMENTS - 1):
        spans = [finer for span in spans for finer in changes(*span)]
    return [(first + last) / 2 for first, last in spans]
