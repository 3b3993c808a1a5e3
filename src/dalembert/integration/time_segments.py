# SPDX-License-Identifier: BSD-3-Clause
"""Events of explicit functions of time, found before integrating: where they jump, and where they wake up.

An integrator sees a function of time only at the nodes of its steps. While nothing happens the steps grow, and may
pass over a short pulse; a jump is passed over in any case, since the states on both sides are smooth. So the functions
are sampled over the whole span, and integration is divided into segments: it ends at each jump, and takes short steps
where a function changes after having been quiet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dalembert.array_types import Floats
from dalembert.equation.dynamics import Dynamics

CELLS = 16384
"""Intervals between samples: what takes less than two of them can go by unseen, and needs ``max_step``."""

JUMP = 1e-4
"""A change between neighbouring samples, relative to the range of the function, that may be a jump."""

STEEP = 8.0
"""And relative to the change on one side of it."""

KEPT = 1e-2
"""The part of that change which a jump still has over the smallest interval there is."""

LEAST_TIME = 1e-290
"""The first time after zero: smaller numbers are zero to JAX."""

QUIET = 1e-8
"""Second differences, relative to the range, of a function at rest: constant, or linear in time."""

QUIET_CELLS = 8
"""Intervals for which a function must have been quiet for its waking up to be an event."""

AWAKE_CELLS, AWAKE_STEP = 64, 4
"""Intervals after waking up over which steps are no longer than some intervals."""

MOST_EVENTS = 1000
"""Events beyond which the functions count as busy everywhere: then the steps see them by themselves."""


class Segment(NamedTuple):
    """A span to integrate over, with a bound for the steps.

    The start of a segment is the end of the one before it, or the next number after it, where something jumps.
    """

    start: float
    end: float
    max_step: float = np.inf


def segments_of(dynamics: Dynamics, p: Any, t0: float, t1: float) -> list[Segment]:
    """The segments of a span by the events of the explicit functions of time of a system."""
    native = dynamics.machine_code
    functions = None if native is None else native.time_functions
    return segments(None if functions is None else lambda t: functions(t, p), t0, t1)


def with_stops(found: list[Segment], stops: Sequence[float]) -> list[Segment]:
    """Segments that end at further times."""
    for stop in stops:
        k = next((k for k, segment in enumerate(found) if segment.start < stop < segment.end), None)
        if k is not None:
            found[k : k + 1] = [found[k]._replace(end=stop), found[k]._replace(start=stop)]
    return found


def segments(functions: Callable[[Floats], Floats] | None, t0: float, t1: float) -> list[Segment]:
    """The segments of a span for functions of time, which give values (k, f) at times (k,)."""
    if functions is None:
        return [Segment(t0, t1)]
    t = np.linspace(t0, t1, CELLS + 1)
    values = np.nan_to_num(functions(t), posinf=0.0, neginf=0.0)
    spread = np.ptp(values, axis=0)
    changing = spread > 0
    scaled = values[:, changing] / spread[changing]
    jumps = _jumps(lambda at: functions(at)[:, changing] / spread[changing], t, scaled)
    near = 3 * (t1 - t0) / CELLS  # where a function jumps, it need not wake up as well
    awakenings = [at for at in _awakenings(t, scaled) if not any(abs(at - jump) <= near for jump, _ in jumps)]
    return _divided(t0, t1, jumps, awakenings)


def _jumps(functions: Callable[[Floats], Floats], t: Floats, values: Floats) -> list[tuple[float, float]]:
    """Pairs of neighbouring numbers between which a function jumps, in order."""
    change = np.abs(np.diff(values, axis=0, prepend=values[:1], append=values[-1:]))
    beside = np.minimum(change[:-2], change[2:])
    cells, columns = np.nonzero(change[1:-1] > np.maximum(JUMP, STEEP * beside))
    if not 0 < len(cells) <= MOST_EVENTS:
        return []
    each = np.arange(len(cells))
    left, right = t[cells], t[cells + 1]
    low, high = values[cells, columns], values[cells + 1, columns]
    while True:
        middle = left + (right - left) / 2
        inside = (middle > left) & (middle < right)
        if not inside.any():
            break
        found = np.nan_to_num(functions(middle))[each, columns]
        later = np.abs(high - found) > np.abs(found - low)
        left, low = np.where(inside & later, middle, left), np.where(inside & later, found, low)
        right, high = np.where(inside & ~later, middle, right), np.where(inside & ~later, found, high)
    right = np.where((left == 0) & (right < LEAST_TIME), LEAST_TIME, right)
    sudden = np.abs(high - low) > KEPT * change[cells + 1, columns]
    return sorted({(float(a), float(b)) for a, b in zip(left[sudden], right[sudden], strict=True)})


def _awakenings(t: Floats, values: Floats) -> list[float]:
    """Times at which a function begins to change after having been quiet."""
    bend = np.abs(np.diff(values, n=2, axis=0)) > QUIET
    times: set[float] = set()
    for column in bend.T:
        busy = np.flatnonzero(column)
        gaps = np.diff(busy, prepend=-1)
        times |= {float(t[k]) for k in busy[gaps > QUIET_CELLS]}
    return sorted(times) if len(times) <= MOST_EVENTS else []


def _divided(t0: float, t1: float, jumps: list[tuple[float, float]], awakenings: list[float]) -> list[Segment]:
    cell = (t1 - t0) / CELLS
    short = [(start, min(start + AWAKE_CELLS * cell, t1)) for start in awakenings]
    ends = {t0: t0} | {x: x for span in short for x in span} | dict(jumps)
    ends = {a: b for a, b in ends.items() if t0 <= a < t1}
    starts = sorted(ends)
    found: list[Segment] = []
    for here, end in zip(starts, [*starts[1:], t1], strict=True):
        start = ends[here]
        if start < end or start == end == t1:  # a jump at the last time is crossed as well
            awake = any(a <= start < b for a, b in short)
            found.append(Segment(start, end, AWAKE_STEP * cell if awake else np.inf))
    return found
