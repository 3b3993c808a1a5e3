# SPDX-License-Identifier: BSD-3-Clause
"""Division of the time span at the jumps and onsets of explicit functions of time, before integration.

An integrator evaluates a function of time only at the nodes of its steps. While nothing changes, the steps grow and may
miss a short pulse; a jump at the end of a step is missed in any case, since the states on both sides are smooth. The
functions are therefore sampled over the whole span, and the span is divided into segments: integration ends at each
jump, and takes short steps where a function begins to change after having been constant. For an implicit method, steps
are also no longer than the functions take to change.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.equation.dynamics import Dynamics
from dalembert.integration.function_scales import step_bounds
from dalembert.integration.jump_location import (
    MOST_EVENTS,
    located_jumps,
    merged_jumps,
    onsets_of,
    settled,
    without_jumps,
)
from dalembert.integration.start_states import terms_at, violated_rows
from dalembert.numerics.piecewise_polynomial import PiecewisePolynomial

CELLS = 16384
"""Intervals between samples: a pulse shorter than two of them may be missed, and needs ``max_step``."""

FLOW_JUMP = 4
"""Length of the step of a flow across a jump, in units in the last place of time."""

ONSET_CELLS, ONSET_STEP = 64, 4
"""Intervals after an onset in which the step is bounded, and that bound, in intervals."""


class TimeSegment(NamedTuple):
    """A span to integrate over, with a bound for the steps.

    The start of a segment is the end of the one before it, or one of the next numbers after it, where something jumps.
    """

    start: float
    end: float
    max_step: float = np.inf


def segments_of(
    dynamics: Dynamics,
    p: Any,
    t0: float,
    t1: float,
    known: Sequence[tuple[float, float]] = (),
    *,
    is_implicit: bool = False,
) -> list[TimeSegment]:
    """Return the segments of a span for the explicit functions of time of a system, and for known jumps."""
    functions = dynamics.time_functions
    if functions is None and not known and not dynamics.signals:
        return [TimeSegment(t0, t1)]
    sampled = None if functions is None else lambda t: functions(t, p)
    decisions = 0 if functions is None else dynamics.time_decisions
    events = [*signal_events(dynamics, t0, t1), *known]
    return segments(sampled, t0, t1, events, decisions=decisions, is_implicit=is_implicit)


def jumps_of(dynamics: Dynamics, p: Any, t0: float, t1: float) -> list[tuple[float, float]]:
    """Return pairs of neighbouring times between which an explicit function of time of a system jumps."""
    return jumps_between(segments_of(dynamics, p, t0, t1), t0)


def signal_events(dynamics: Dynamics, t0: float, t1: float) -> list[tuple[float, float]]:
    """Return pairs of neighbouring times between which a signal jumps, and twice the times of other breakpoints.

    Signals of more than ``MOST_EVENTS`` breakpoints without jumps have none: their steps are short anyway.
    """
    return events_of(dynamics.signals, t0, t1)


def events_of(signals: Sequence[PiecewisePolynomial], t0: float, t1: float) -> list[tuple[float, float]]:
    """Return the events of signals, as ``signal_events`` does."""
    found: set[tuple[float, float]] = set()
    for own in signals:
        pairs = own.changes_between(t0, t1)
        if own.smoothness < 0 or len(pairs) <= MOST_EVENTS:
            found.update(pairs)
    # at the breakpoint of one signal another one may jump: that is one event, the jump
    jumps = {after for before, after in found if before < after}
    return sorted(pair for pair in found if pair[0] < pair[1] or pair[1] not in jumps)


class FixedEvents(NamedTuple):
    """The events in time that no parameter moves.

    times    of outputs, settled
    stops    times at which steps must end: those of outputs, and events
    jumps    times (k,) just after jumps
    """

    times: Floats
    stops: Floats
    jumps: Floats


def fixed_events(dynamics: Dynamics, times: Floats) -> FixedEvents:
    """Return the events of the functions of time, none if they depend on parameters."""
    begin, end = float(times[0]), float(times[-1])
    if dynamics.parameters_of_time:
        found = segments(None, begin, end, signal_events(dynamics, begin, end))
    else:
        p = np.zeros(len(dynamics.parameters))
        times = settled_times(dynamics, p, times)
        found = segments_of(dynamics, p, begin, end)
    jumps = jump_times(found, begin)
    # diffrax takes no step to the very next number, and grows its steps from the last one
    after = np.minimum(jumps + FLOW_JUMP * np.maximum(np.spacing(np.abs(jumps)), np.spacing(end - begin)), end)
    for jump, beyond in zip(jumps, after, strict=True):
        times = np.where((times >= jump) & (times < beyond), beyond, times)
    short = [np.arange(part.start, part.end, part.max_step) for part in found if np.isfinite(part.max_step)]
    stops = np.concatenate([times, [part.end for part in found], after, *short])
    return FixedEvents(times, np.unique(stops), after)


def jump_times(found: list[TimeSegment], t0: float) -> Floats:
    """Return the times just after jumps: segments that do not begin where the one before them ends."""
    return np.array([after for _, after in jumps_between(found, t0)])


def jumps_between(found: list[TimeSegment], t0: float) -> list[tuple[float, float]]:
    """Return pairs of neighbouring times between segments, at which something jumps."""
    ends = [t0, *(part.end for part in found[:-1])]
    return [(end, part.start) for part, end in zip(found, ends, strict=True) if part.start > end]


def settled_times(dynamics: Dynamics, p: Any, t: Any) -> Floats:
    """Return one time or many; where a function of time has a value of neither side of its jump, a time just before."""
    functions = dynamics.time_functions
    if functions is None:
        return t
    return settled(lambda at: functions(at, p), np.ravel(t), -1).reshape(np.shape(t))


def settled_run(
    dynamics: Dynamics, p: Any, times: Floats, q0: Any, qd0: Any, equations: Collection[str] | None = None
) -> Floats:
    """Return the times of a run, settled; the first one is just after a jump there if the start belongs to that side.

    Nothing was before the start. If its velocities are those before the jump, the motion begins with the jump.
    ``equations`` are the constraints that hold at the start, if not all of them do.
    """
    found = settled_times(dynamics, p, times)
    if found is times or found[0] == times[0]:
        return found
    native, later = dynamics.machine_code, found.copy()
    assert native is not None
    functions = native.time_functions
    assert functions is not None
    later[:1] = settled(lambda at: functions(at, p), times[:1], 1)
    terms = terms_at(dynamics, np.asarray(q0), np.asarray(qd0), later[0], p)
    off = violated_rows(terms, np.asarray(q0), np.asarray(qd0))
    holds = np.array([equations is None or name in equations for name in dynamics.constraints], bool)
    return found if any(rows[holds].any() for rows in off.values()) else later


def with_stops(found: list[TimeSegment], stops: Sequence[float]) -> list[TimeSegment]:
    """Return the segments, divided at further times."""
    for stop in stops:
        k = next((k for k, segment in enumerate(found) if segment.start < stop < segment.end), None)
        if k is not None:
            found[k : k + 1] = [found[k]._replace(end=stop), found[k]._replace(start=stop)]
    return found


def segments(
    functions: Callable[[Floats], Floats] | None,
    t0: float,
    t1: float,
    known: Sequence[tuple[float, float]] = (),
    *,
    decisions: int = 0,
    is_implicit: bool = False,
) -> list[TimeSegment]:
    """Return the segments of a span for functions of time with values (k, f) at times (k,), and for known events.

    The last functions, ``decisions`` of them, are zero or one: they decide between branches of the others.
    A known event is a pair as ``located_jumps`` returns them, or twice a time at which only a derivative changes. The
    steps of an implicit method are bounded wherever the functions change.
    """
    if functions is None:
        return _divide(t0, t1, [*known], [])
    t = np.linspace(t0, t1, CELLS + 1)
    values = np.nan_to_num(functions(t), posinf=0.0, neginf=0.0)
    spread = np.ptp(values, axis=0)
    changing = spread > 0
    # decisions that never change are left out together with other constant functions
    decisions = int(changing[len(spread) - decisions :].sum())
    scaled = values[:, changing] / spread[changing]

    def in_ranges(at: Floats) -> Floats:
        return functions(at)[:, changing] / spread[changing]

    jumps, cell = located_jumps(in_ranges, t, scaled, decisions), (t1 - t0) / CELLS
    known_at, near = np.array([jump for jump, _ in jumps]), 3 * cell  # a jump is an event already, no onset as well
    onsets = [at for at in onsets_of(t, scaled) if not (np.abs(known_at - at) <= near).any()]
    bounded = [TimeSegment(at, min(at + ONSET_CELLS * cell, t1), ONSET_STEP * cell) for at in onsets]
    if is_implicit and changing.any():
        bounds = step_bounds(without_jumps(in_ranges, t, scaled, jumps))
        bounded += [TimeSegment(float(t[first]), float(t[last]), most * cell) for first, last, most in bounds]
    return _divide(t0, t1, [*known, *jumps], bounded)


def _divide(
    t0: float, t1: float, jumps: list[tuple[float, float]], bounded: Sequence[TimeSegment]
) -> list[TimeSegment]:
    """Divide a span at jumps and at the ends of segments with bounded steps, which may overlap."""
    # jumps last: where other ends coincide with one, the next segment begins after it
    ends = {t0: t0} | {x: x for part in bounded for x in part[:2]} | {a: b for a, b in merged_jumps(jumps) if b <= t1}
    ends = {a: b for a, b in ends.items() if t0 <= a < t1}
    starts = sorted(ends)
    found: list[TimeSegment] = []
    for here, end in zip(starts, [*starts[1:], t1], strict=True):
        start = ends[here]
        if start < end or start == end == t1:  # a jump at the last time is crossed as well
            bounds = [part.max_step for part in bounded if part.start <= start < part.end]
            found.append(TimeSegment(start, end, min(bounds, default=np.inf)))
    return found
