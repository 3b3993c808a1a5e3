# SPDX-License-Identifier: BSD-3-Clause
"""Simulation of stick-slip motion: segments of smooth motion, with a transition of contacts between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import sympy as sp

from dalembert.common.array_types import Floats
from dalembert.errors import ConstraintError, InputError, SimulationError
from dalembert.integration.failure import failure_reason
from dalembert.integration.method import Method
from dalembert.integration.progress import Progress
from dalembert.integration.run import accepted_start, path_saturation
from dalembert.integration.run_events import RunEvent, run_event
from dalembert.integration.saturation import Saturation, joined, saturation_notes
from dalembert.integration.time_segments import events_of, jumps_between, jumps_of, segments
from dalembert.integration.trajectory import Trajectory
from dalembert.lowering.build import build
from dalembert.lowering.expressions_in_time import expressions_in_time
from dalembert.model.active_system import active_system, all_permanent
from dalembert.model.friction_contacts import Contact, contacts
from dalembert.model.ordering import quoted
from dalembert.model.system import System
from dalembert.stick_slip.joined_trajectory import join_segments
from dalembert.stick_slip.modes import LOAD_ROUNDING, cached_mode, expression_values
from dalembert.stick_slip.phases import Phase
from dalembert.stick_slip.segment import Segment, integrate_segment
from dalembert.stick_slip.transitions import contacts_at_rest, is_at_rest, next_phase
from dalembert.stick_slip.velocity_jumps import follow_jump, jump_margin, still_at_rest

MIN_CHECKS = 1000
"""Least number of checks for a transition in a run: steps alone may be too long."""

MAX_SEGMENTS = 100_000
"""Number of segments after which a run is abandoned."""

MAX_STALLED_SEGMENTS = 50
"""Number of consecutive segments without progress in time after which a run is abandoned."""

STALLED_SPAN = 1e-13
"""Time, relative to that of the run, within which these segments end if there is no progress: each end is located to
the last digit of time, and fifty of them may add up."""


class ImpulseWork(NamedTuple):
    """The work at time t of impulses, by the entries of a ledger and by its split (2, 1 + m + l), and of an event."""

    t: float
    work: Floats | None
    event: str = ""
    event_work: float = 0.0


Reset = Callable[[Floats, float], Floats]
"""A jump of the state (2n,) at a time."""


@dataclass
class StickSlipSimulation:
    """The segments of a run and the events between them; p has the values of all parameters by name.

    The phases of one run may have some of the constraints of ``system`` only: see ``hybrid``, which also fills in:

    changing_events    names of events that change the motion
    watched            expressions of events
    impulses           the work of impulses between segments
    changed            names of parameters that events have changed
    resets             the jumps of the state after a segment, in order, by its number

    ``margin`` is the distance from a jump in time at which its sides are evaluated.
    """

    system: System
    contacts: tuple[Contact, ...]
    method: Method
    p: dict[str, float]
    changing_events: tuple[str, ...] = ()
    watched: tuple[Any, ...] = ()
    segments: list[Segment] = field(default_factory=list[Segment])
    events: list[RunEvent] = field(default_factory=list[RunEvent])
    notes: list[str] = field(default_factory=list[str])
    impulses: list[ImpulseWork] = field(default_factory=list[ImpulseWork])
    changed: set[str] = field(default_factory=set[str])
    resets: dict[int, tuple[Reset, ...]] = field(default_factory=dict[int, tuple[Reset, ...]])
    margin: float = 0.0
    _steps: int = 0
    _jumps: dict[tuple[float, ...], list[tuple[float, float]]] = field(
        default_factory=dict[tuple[float, ...], list[tuple[float, float]]]
    )

    def __post_init__(self) -> None:
        if not self.method.formulation.positive_mass:
            raise InputError(
                f"`formulation` must be one for positive definite mass matrices where a motion has phases: with "
                f"events, contacts that open and close, or dry friction, which may stick; got "
                f"`da.{type(self.method.formulation).__name__}()`. Give every coordinate a mass, or give friction a "
                f"`smoothing`."
            )

    def run(
        self, q0: Floats, qd0: Floats, times: Floats, *, allow_violation: bool, progress: bool | None
    ) -> Trajectory:
        """Simulate from an initial state at ``times[0]`` and return the motion at all times."""
        t, t1 = float(times[0]), float(times[-1])
        dynamics = build(self.system)
        values = tuple(self.p[name] for name in dynamics.parameters)
        y, self.notes = accepted_start(dynamics, self.method, q0, qd0, t, values, allow_violation=allow_violation)
        with Progress(t, t1, progress) as bar:
            self.follow(*self.started(y, t), t, t1, times, bar)
        return self.trajectory(times)

    def follow(self, phase: Phase, y: Floats, t: float, end: float, times: Floats, bar: Progress) -> Floats:
        """Append the segments from (t, y) to a time, across jumps of prescribed velocities; return the state there."""
        while True:
            y = self.advance(phase, y, t, end, times, bar)
            after = self.segments[-1].path.resumes
            if after is None:
                return y
            t = after
            phase, y = self._after_jump(self.segments[-1], t, times)

    def _after_jump(self, segment: Segment, after: float, times: Floats) -> tuple[Phase, Floats]:
        """Return the phase after a jump at the end of a segment, and its state."""
        y, t, beyond = segment.path.y[-1], float(segment.path.t[-1]), after + self.margin
        system, contacts = segment.phase.mode.system, segment.phase.mode.contacts
        found = follow_jump(system, contacts, self.p, y, t, beyond)
        if found.refusal:
            segment.path.refusal = found.refusal
            self._raise_failure(times, float(times[-1]))
        if found.work is not None:
            self.impulses.append(ImpulseWork(self.jump_time(segment), found.work))
        self.notes += found.notes
        resting = still_at_rest(segment.phase, (y, t), (found.y, beyond))
        resting += [c for c in contacts if c.name in found.stopped]
        free = Phase(cached_mode(system, contacts, ()), self.method, self.p, {}, {})
        decided = self._decided(free, found.y, beyond, times, stopped=resting, peak_speeds=segment.peak_speeds)
        self.record_friction(segment.phase, *decided, after)
        return decided

    def jump_time(self, segment: Segment) -> float:
        """Return the time of an impulse at a jump after a segment: outputs at its end are before it."""
        started = segment.end == float(self.segments[0].path.t[0])
        # the output at the start would be the state after an impact
        return float(np.nextafter(segment.end, np.inf)) if started else segment.end

    def started(self, y: Floats, t: float) -> tuple[Phase, Floats]:
        """Return the first phase and the state to start from."""
        check_coefficients(self.system, self.contacts, self.p, y, t)
        # contacts at rest are found by `next_phase`, which starts from a phase in which all of them slide
        free = Phase(cached_mode(self.system, self.contacts, ()), self.method, self.p, {}, {})
        return next_phase(free, y, t, stopped=contacts_at_rest(self.system, self.contacts, y, t, self.p))

    def resumed(self, y: Floats, t: float, times: Floats) -> tuple[Phase, Floats]:
        """Return the phase after the last one and its state, where the values of parameters have changed."""
        last = self.segments[-1]
        phase = replace(last.phase, p=self.p, peak_speeds=last.peak_speeds)
        rough = [c for c in phase.directions if c not in phase.frictionless]
        if (
            not phase.mode.sticking
            and rough == [*phase.directions]
            and not any(is_at_rest(phase.velocity(c, t, y), y) for c in rough)
        ):
            return phase, y  # a contact that slides goes on, whatever the parameters
        return self._next(phase, y, t, times, peak_speeds=last.peak_speeds)

    def advance(self, phase: Phase, y: Floats, t: float, end: float, times: Floats, bar: Progress) -> Floats:
        """Append the segments from (t, y) to a time, to a jump or to where a guard fires; return the state there.

        ``times`` are those of the run.
        """
        interval = (times[-1] - times[0]) / MIN_CHECKS
        jumps = self._known_jumps(float(times[0]), float(times[-1]))
        self.margin = jump_margin(float(times[0]), float(times[-1]))
        while True:
            # the limit on steps is one of the whole run
            left = self.method.max_steps - self._steps
            segment = integrate_segment(phase, y, t, end, interval, left, bar, jumps, self.margin)
            self.segments.append(segment)
            self._steps += segment.path.steps
            if segment.path.finished or (segment.path.resumes is not None and not self._is_stalled()):
                return segment.path.y[-1]
            if not segment.path.stopped or segment.undefined or self._is_stalled():
                self._raise_failure(times, float(times[-1]))
            t = segment.end
            if segment.fired or segment.redistributes:
                return segment.final[0]
            ended = {"stopped": segment.stopped(), "released": segment.released(), "peak_speeds": segment.peak_speeds}
            phase, y = self._next(segment.phase, segment.final[0], t, times, **ended)

    def _known_jumps(self, t0: float, t1: float) -> list[tuple[float, float]]:
        """Return the jumps of functions of time of the whole system and of events, which a phase may not show.

        While a contact sticks or a constraint holds, a force does not change the motion, but it may end the phase.
        """
        given = (t0, t1, *self.p.values())
        if given not in self._jumps:
            whole = self.system if all_permanent(self.system) else active_system(self.system)
            dynamics, names = build(whole), tuple(self.p)
            found = jumps_of(dynamics, tuple(self.p[name] for name in dynamics.parameters), t0, t1)
            # limits of friction and events are no part of the equations of motion
            limits = (c.mu_static * c.normal_size for c in contacts(whole))
            functions, signals, decisions = expressions_in_time(whole, (*limits, *self.watched), names)
            values = np.array([*self.p.values()], float)
            sampled = None if functions is None else lambda t: functions(t, values)
            parts = segments(sampled, t0, t1, events_of(signals, t0, t1), decisions=decisions)
            found += jumps_between(parts, t0)
            self._jumps = {given: sorted({*found})}
        return self._jumps[given]

    def _next(self, before: Phase, y: Floats, t: float, times: Floats, **ended: Any) -> tuple[Phase, Floats]:
        phase, y = self._decided(before, y, t, times, **ended)
        self.record_friction(before, phase, y, t)
        return phase, y

    def _decided(self, before: Phase, y: Floats, t: float, times: Floats, **ended: Any) -> tuple[Phase, Floats]:
        try:
            return next_phase(before, y, t, **ended)
        # the motion up to the transition is valid, and is returned with the error
        except ConstraintError as error:
            raise SimulationError(str(error), t, self.partial_trajectory(times)) from None

    def record_reset(self, reset: Reset) -> None:
        """Record a jump of the state after the last segment; one at the start belongs to no segment."""
        k = len(self.segments) - 1
        self.resets[k] = (*self.resets.get(k, ()), reset)

    def record_friction(self, before: Phase, after: Phase, y: Floats, t: float) -> None:
        """Record the contacts that stick or slip after a transition."""
        # by name, because phases with other constraints number their laws otherwise
        stuck, held = ({(c.name, c.velocity) for c in phase.mode.sticking} for phase in (before, after))
        known = after.mode.contacts if after.sharing is None else contacts(after.sharing.whole)
        for contact in known:
            was, is_ = ((contact.name, contact.velocity) in names for names in (stuck, held))
            if was != is_:
                self.events.append(run_event(t, contact.name, "sticks" if is_ else "slips", y, y))

    def _is_stalled(self) -> bool:
        latest = [segment.end for segment in self.segments[-MAX_STALLED_SEGMENTS:]]
        standing = len(latest) == MAX_STALLED_SEGMENTS and np.ptp(latest) <= STALLED_SPAN * max(
            abs(latest[-1]), self._span()
        )
        return standing or len(self.segments) >= MAX_SEGMENTS

    def _span(self) -> float:
        return self.segments[-1].end - float(self.segments[0].path.t[0])

    def _raise_failure(self, times: Floats, t1: float) -> None:
        segment = self.segments[-1]
        if segment.undefined:
            names = quoted(dict.fromkeys(guard.name for guard in segment.undefined))
            message = (
                f"expressions of events and gaps must be numbers along the motion; at t = {segment.end:.6g} that of "
                f"{names} is not. Look for a division by zero, or a root or logarithm of a negative number. The motion "
                f"so far is in `error.trajectory`."
            )
        elif segment.fired:
            message = (
                f"events must not follow one another without end; by t = {segment.end:.6g} there are "
                f"{len(self.segments)} phases, the last {MAX_STALLED_SEGMENTS} of which end within "
                f"{segment.end - self.segments[-MAX_STALLED_SEGMENTS].end:.1e}, the last one by "
                f"{quoted(dict.fromkeys(guard.name for guard in segment.fired))}. Impacts that do not accumulate "
                f"towards rest, or events that cause one another, cannot be followed: end the motion before."
            )
        elif segment.path.stopped or (segment.path.resumes is not None and not segment.path.refusal):
            message = (
                f"sticking and sliding must not alternate without end; by t = {segment.end:.6g} the motion has "
                f"{len(self.segments)} phases, the last {MAX_STALLED_SEGMENTS} of which end within "
                f"{segment.end - self.segments[-MAX_STALLED_SEGMENTS].end:.1e}. Friction of "
                f"{quoted(dict.fromkeys(c.name for c in segment.phase.mode.contacts))} can neither hold nor slip "
                f"there; check its normal force and its coefficients."
            )
        elif self._steps >= self.method.max_steps:
            message = (
                f"the motion must be continued to t = {t1:.6g}; it ended at t = {segment.end:.6g}: the limit of "
                f"{self.method.max_steps} steps was reached. Raise `max_steps` or loosen `rtol` and `atol`. The motion "
                f"so far is in `error.trajectory`."
            )
        else:
            message = failure_reason(segment.phase.mode.dynamics, self.method, segment.path, segment.phase.values, t1)
        raise SimulationError(message, segment.end, self.partial_trajectory(times))

    def partial_trajectory(self, times: Floats) -> Trajectory:
        """Return the motion up to the end of the last segment."""
        end = self.segments[-1].end
        return self.trajectory(np.unique(np.append(times[times <= end], end)))

    def parameters_at(self, times: Floats) -> list[dict[str, float]]:
        """Return the parameters at times, by name; an output at an event has those before it."""
        ends = [segment.end for segment in self.segments]
        places = np.searchsorted(ends, times).clip(max=len(ends) - 1)
        return [self.segments[k].phase.p for k in places]

    @property
    def step_times(self) -> Floats:
        """The times of all integration steps so far; those beyond the end of a segment were discarded."""
        return np.concatenate([np.append(own.path.t[own.path.t < own.end], own.end) for own in self.segments])

    def trajectory(self, times: Floats) -> Trajectory:
        """Return the motion at times, from the segments so far."""
        found = join_segments(self.segments, times, tuple(sorted(self.events, key=lambda event: event.t)), self.system)
        limited = self._saturation()
        notes = (*self.notes, *found.notes, *saturation_notes(limited))
        return replace(found, notes=notes, saturation=tuple(limited))

    def _saturation(self) -> list[Saturation]:
        """Return the intervals in which inputs of actuators were at their limits."""
        found: list[Saturation] = []
        for segment in self.segments:
            phase = segment.phase
            found += path_saturation(phase.mode.dynamics, self.method, segment.path, phase.values, segment.end)
        return joined(found)


def check_coefficients(system: System, contacts: tuple[Contact, ...], p: dict[str, float], y: Floats, t: float) -> None:
    """Raise if static friction is less than kinetic friction: then a contact could neither slide nor stick."""
    for contact in contacts:
        law = system.laws[contact.number].law
        # at zero speed, where sliding begins: a Stribeck law falls from there
        kinetic = law.friction_coefficient(sp.S.Zero)
        at_rest, moving = expression_values(system, (contact.mu_static, kinetic))(t, y, p)
        if not at_rest >= moving * (1 - LOAD_ROUNDING) or moving < 0:
            raise InputError(
                f"the static coefficient of `{contact.name}` must not be less than the kinetic one, and neither "
                f"may be negative; got {at_rest:g} and {moving:g}."
            )
