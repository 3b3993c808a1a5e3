# SPDX-License-Identifier: BSD-3-Clause
"""Detection of bifurcations inside steps: configurations where the constraints lose rank between two steps.

A step that crosses such a configuration may be regular at both ends. But the rows change their orientation:
det(A(t) A(t')ᵀ) is positive for neighbouring states, and negative across a loss of rank, however close the two states
are. Rows that merely rotate by more than a right angle during a step are distinguished by refining the interval.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.equation.dynamics import Dynamics, native_of
from dalembert.integration.drift import Projection
from dalembert.integration.method import Method
from dalembert.integration.native_steps import NativeSteps
from dalembert.integration.path import Path
from dalembert.integration.start_states import terms_at
from dalembert.integration.step_monitor import DoubtfulStep, orientation_changes

ORIENTATION_SAMPLES = 33
"""Samples of the orientation within a step, and within each interval in which it changes."""

REFINEMENTS = 4
"""Levels of that subdivision, which locate a bifurcation to a millionth of a step."""

MOST_CHANGES = 8
"""Changes of orientation in one step that are followed; every one of them takes as many samples as the step."""

MOST_TIMES = 5
"""Largest number of bifurcations or singular positions whose times are listed in a note."""


SINGULAR_VALUE_RATIO = 1e-5
"""Smallest singular value of the rows, relative to its largest along a motion, below which they have lost rank."""

PATH_STATES = 64
"""States of a path with which its end is compared."""


def singular_end(dynamics: Dynamics, ts: Floats, ys: Floats, p: Any) -> str:
    """Return a message if a path (k,), (k, 2n) ends exactly where its constraints lose rank; empty if it does not."""
    if not dynamics.constraints or not np.isfinite(ys[-1]).all():
        return ""
    chosen = np.unique(np.linspace(0, len(ts) - 1, PATH_STATES).astype(int))
    states = [np.split(ys[k], 2) for k in chosen]
    rows = np.stack([terms_at(dynamics, q, qd, t, p).A for (q, qd), t in zip(states, ts[chosen], strict=True)])
    # by the largest length along the path: a row that vanishes at its end is a loss of rank as well
    lengths = np.linalg.norm(rows, axis=2).max(axis=0)
    smallest = np.linalg.svd(rows / np.where(lengths > 0, lengths, 1.0)[:, None], compute_uv=False)[:, -1]
    # redundant rows have a singular value of zero everywhere
    if smallest.max() <= SINGULAR_VALUE_RATIO or smallest[-1] > SINGULAR_VALUE_RATIO * smallest.max():
        return ""
    return (
        "the constraints lose rank there, and no step can begin or end at such a place. If the motion goes on "
        "smoothly, as at a bifurcation, a step across it can: choose another last time, other `times` or another "
        "`step`. At a cusp the motion ends."
    )


def crossing_notes(dynamics: Dynamics, method: Method, path: Path, p: Any) -> list[str]:
    """Return a note if the motion crossed bifurcations of the constraints."""
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
    """Return the times at which the constraints lose rank within the doubtful steps of a path."""
    if path.monitor is None or not path.monitor.doubtful:
        return []
    # crossings of singular positions have notes of their own
    covered = [(crossing.start, crossing.end) for crossing in path.crossings]
    steps = path.native or _native_steps(dynamics, method, path.monitor.p)
    return [
        time
        for step in path.monitor.doubtful
        if not any(step.end > start and step.start < end for start, end in covered)
        for time in _within_step(steps, step)
    ]


def _native_steps(dynamics: Dynamics, method: Method, p: Floats) -> NativeSteps:
    """Return a compiled integrator that repeats the steps of another one."""
    # a correction that is a Python function cannot be compiled; Projection stands for it
    drift = method.drift if method.drift.in_machine_code else Projection()
    return NativeSteps(dynamics, drift, p, method.rtol, method.atol)


def _within_step(steps: NativeSteps, step: DoubtfulStep) -> list[float]:
    """Return the times at which rank is lost within a step; there are none if the rows merely rotate."""
    steps.begin(step.y, step.start)
    settings = steps.settings(step.start, step.end, len(step.y))

    def changes(first: float, last: float) -> list[tuple[float, float]]:
        """Return the intervals in which the orientation changes."""
        times = np.linspace(first, last, ORIENTATION_SAMPLES)
        states, *_ = steps.engine.sample(
            np.full(ORIENTATION_SAMPLES, step.start),
            np.tile(step.y, (ORIENTATION_SAMPLES, 1)),
            times,
            steps.p,
            settings,
        )
        if not np.isfinite(states).all():
            return [(first, last)]  # the equations break down inside: the whole interval counts
        found = np.flatnonzero(
            orientation_changes(native_of(steps.dynamics).rows_of_many(states, times, steps.p)[:, step.rows])
        )
        return [(float(times[k]), float(times[k + 1])) for k in found]

    return _refined(changes, step.start, step.end)


def _refined(changes: Callable[[float, float], list[tuple[float, float]]], begin: float, end: float) -> list[float]:
    """Return the midpoints of the intervals with a change, after all refinements.

    There are none if the orientation changes all the time, which is rounding: the rows are then dependent throughout.
    """
    spans = changes(begin, end)
    for _ in range(REFINEMENTS - 1):
        if len(spans) > MOST_CHANGES:
            return []
        spans = [finer for span in spans for finer in changes(*span)]
    return [(first + last) / 2 for first, last in spans] if len(spans) <= MOST_CHANGES else []
