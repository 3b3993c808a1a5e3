# SPDX-License-Identifier: BSD-3-Clause
"""Ensemble members with events, or with contacts that open and close, in rounds: each is one phase of every member.

Members whose mode is the same, the constraints that hold and the contacts that stick, are integrated together, each
from its own time to its next guard; events, impacts and changes of the contacts are then decided for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.ensembles.contact_gaps import ImpactHistories
from dalembert.ensembles.member_events import EventRecord
from dalembert.ensembles.phase_integration import PhaseIntegration
from dalembert.ensembles.stick_slip_transitions import usual_scales
from dalembert.ensembles.switched_outputs import SwitchedPhases
from dalembert.ensembles.switching_decisions import SwitchingDecisions
from dalembert.ensembles.switching_members import (
    ActiveSet,
    Flags,
    Numbers,
    SwitchingMembers,
    SwitchingModel,
    starts_of_members,
)
from dalembert.equation.dynamics import native_of
from dalembert.integration.integrate import LEAST_SEGMENT
from dalembert.integration.method import Method
from dalembert.integration.native_steps import in_machine_code
from dalembert.lowering.build import build
from dalembert.model.abrupt_functions import abrupt_functions_of_time
from dalembert.model.active_system import active_system
from dalembert.model.event import Event
from dalembert.model.friction_contacts import contacts
from dalembert.model.moving_coefficients import moving_coefficients
from dalembert.model.system import System
from dalembert.native.guarded_batch import PhaseStarts
from dalembert.native.guarded_members import FIRED
from dalembert.native.step_control import SHORTEST_SPAN
from dalembert.native.stepper import FINISHED
from dalembert.stick_slip.simulation import MAX_SEGMENTS, MAX_STALLED_SEGMENTS, MIN_CHECKS, STALLED_SPAN


def supports_switching(system: System, events: Sequence[Event], method: Method) -> bool:
    """Return whether members can be simulated in rounds: adaptive steps, friction along lines, and no odd switches."""
    whole = active_system(system)
    dynamics = build(whole)
    if method.step is not None or system.servos or not in_machine_code(dynamics, method):
        return False
    one_sided = {str(c.name) for c in system.constraints if c.one_sided}
    changes = [event.then for event in events if event.then is not None]
    switched = {name for change in changes for name in (*change.on, *change.off)}
    native = native_of(dynamics)
    timed = {dynamics.parameters[k] for k in native.parameters_of_time} if native.time_functions is not None else set()
    changed = {name for change in changes for name, _ in change.values}
    rough = contacts(whole)
    lines = all(len(c.velocity) == 1 for c in rough)
    # jumps of these are not among those of the equations, and the sign of a coefficient is tested along single runs
    timed_guards = abrupt_functions_of_time((*(c.mu_static for c in rough), *(event.expression for event in events)))
    if timed_guards or moving_coefficients(whole) is not None:
        return False
    # a contact that an event switches is an equation from then on, and a jump in time would move with its parameter
    return lines and not (one_sided & switched) and not (timed & changed)


class SwitchedMotions(NamedTuple):
    """Motions of N members.

    y        states (N, T, 2n), NaN after the end of a motion, or the last ones (N, 1, 2n)
    done     (N,) which members were completed
    exact    (N,) which starts satisfy the constraints up to rounding
    end      (N,) the times at which they end: that of an event that stops them, or the last one
    events   the events of each member: time, name and kind
    phases   those of the outputs, if they are needed for forces
    """

    y: Floats
    done: Flags
    exact: Flags
    end: Floats
    events: list[list[tuple[float, str, str]]]
    phases: SwitchedPhases | None = None


class SwitchingRounds:
    """Simulates members of one system; see ``supports_switching``.

    every      whether all outputs are kept, or the last one only
    threads    the number of threads; None for all cores
    """

    def __init__(self, system: System, events: Sequence[Event], method: Method, *, every: bool, threads: int | None):
        self.model, self.method, self.every = SwitchingModel(system, events, method), method, every
        self.integrate = PhaseIntegration(method.max_steps, threads)

    def __call__(
        self, y: Floats, p: Floats, times: Floats, max_step: float, *, with_phases: bool = False
    ) -> SwitchedMotions:
        """Return the motions of members with starts y (2n, N) and parameters (k, N), and the phases of outputs."""
        run = _SwitchedRounds(self, np.ascontiguousarray(y.T), np.ascontiguousarray(p.T), times, max_step)
        if with_phases:
            run.phases = SwitchedPhases.unknown(self.model, run.out.shape[:2])
        with self.integrate.pool():
            run.simulate()
        return SwitchedMotions(run.out, run.done, run.exact, run.ends, run.decisions.record.lists(), run.phases)


class _SwitchedRounds:
    """Members on their way through the rounds."""

    def __init__(self, owner: SwitchingRounds, y: Floats, p: Floats, times: Floats, max_step: float):
        self.owner, self.times, self.model, count = owner, times, owner.model, len(y)
        self.begin, self.end = float(times[0]), float(times[-1])
        self.out = np.full((count, len(times) if owner.every else 1, y.shape[1]), np.nan)
        self.members, self.exact = self._members(y, p)
        self.tolerances = usual_scales(owner.method, self.members.scales)
        longest = min(owner.method.max_step, max_step)
        self.settings = np.array([owner.method.rtol, longest, (self.end - self.begin) / MIN_CHECKS])
        self.steps, self.stalled = np.zeros(count), np.zeros(count, int)
        self.segments, self.done = np.zeros(count, int), np.zeros(count, bool)
        self.ends = np.full(count, self.end)
        self.phases: SwitchedPhases | None = None
        histories = ImpactHistories(count, self.model.count)
        self.decisions = SwitchingDecisions(self.model, self.begin, self.end, histories, EventRecord(count))

    def _members(self, y: Floats, p: Floats) -> tuple[SwitchingMembers, Flags]:
        """Return the members at their starts, and which of these satisfy the constraints up to rounding."""
        model, count, started = self.model, len(y), np.full(len(y), self.begin)
        m, E, f = model.count, len(model.events), len(model.friction)
        holds = np.array([c.active and not c.one_sided for c in model.system.constraints], bool)
        # the equations must hold at the start; scales are those of all constraints, as in a single run
        valid, exact, _ = starts_of_members(model, model.active_set(holds).system, y, started, p)
        scales = starts_of_members(model, model.terms.whole, y, started, p)[2]
        flags = [np.tile(holds, (count, 1)), np.zeros((count, m), bool), np.zeros((count, f), bool)]
        guards: list[Any] = [np.ones((count, E + m)), np.zeros((count, E + m)), np.zeros((count, E), bool)]
        guards += [np.zeros((count, m)), ~valid]
        states: list[Any] = [
            np.arange(count),
            y.copy(),
            started,
            p.copy(),
            scales,
            *flags,
            np.zeros((count, f)),
            *guards,
        ]
        return SwitchingMembers(*states), exact

    def simulate(self) -> None:
        """Go from phase to phase until every member has reached its end or must be simulated by itself."""
        members = self.members
        self.decisions.start(members)
        if self.owner.every:
            self.out[:, 0] = members.y
        while (active := self._active()).size:
            some = members.subset(active)
            fired = np.zeros(len(members), bool)
            for inside, kind in self.model.by_mode(some):
                fired[active[inside]] = self._integrate(active[inside], kind)
            self._decide(np.flatnonzero(fired & ~members.odd))
        # what was recorded of members that are simulated by themselves is not used
        self.done &= ~members.odd

    def _active(self) -> Numbers:
        """Return the members under way; those that are nearer to the end than the shortest step have reached it."""
        members = self.members
        near = ~(self.done | members.odd) & (self.end - members.t <= LEAST_SEGMENT * np.spacing(np.abs(members.t)))
        # an output at the instant of an event is the state before it, and has been stored already
        unset = near & np.isnan(self.out[:, -1, 0])
        self.out[unset, -1] = members.y[unset]
        last = np.flatnonzero(unset)
        self._record_phases(last, members.subset(last), np.full(len(last), len(self.times) - 1))
        self.done |= near
        return np.flatnonzero(~(self.done | members.odd))

    def _decide(self, own: Numbers) -> None:
        """Decide what follows the phases of some members."""
        if not own.size:
            return
        part, decisions = self.members.subset(own), self.decisions
        fired = decisions.fired(part)
        by_guards = fired.any(axis=1) & ~part.odd
        for chosen, guards in ((by_guards, True), (~by_guards & ~part.odd, False)):
            inside = np.flatnonzero(chosen)
            if not inside.size:
                continue
            some = part.subset(inside)
            if guards:
                stops = decisions.follow_guards(some, fired[inside])
                self._stop(own[inside[stops]], some.subset(stops))
            else:
                decisions.follow_friction(some)
            part.put(inside, some)
        self.members.put(own, part)

    def _record_phases(self, own: Numbers, part: SwitchingMembers, first: Numbers) -> None:
        """Record the phases of members for their outputs from ``first`` on."""
        if self.phases is not None:
            started = part.t == self.begin
            self.phases.record(own, part, np.where(started | (not self.owner.every), 0, first))

    def _stop(self, own: Numbers, part: SwitchingMembers) -> None:
        """End the motions of members at an event."""
        self.done[own], self.ends[own] = True, part.t
        if not self.owner.every:
            self.out[own, 0] = part.y

    def _integrate(self, own: Numbers, active: ActiveSet) -> Flags:
        """Integrate members of one mode to the ends of their phases; return which were ended by a guard."""
        members, part = self.members, self.members.subset(own)
        mode = active.mode(part)
        if not mode.compiled:
            members.odd[own] = True
            return np.zeros(len(own), bool)
        least = np.maximum(LEAST_SEGMENT * np.spacing(np.abs(part.t)), SHORTEST_SPAN * (self.end - part.t))
        first = np.searchsorted(self.times, part.t, side="right")
        starts = PhaseStarts(
            part.y,
            part.t.copy(),
            active.parameters(mode, part, of_guards=True).T,
            np.column_stack([least, self.tolerances[own]]),
            first if self.owner.every else np.full(len(own), len(self.times) - 1),
            own.astype(np.int64),
            self.steps[own],
        )
        endings = self.owner.integrate(mode, starts, self.out, self.times, self.settings)
        self._record_phases(own, part, first)
        members.y[own], members.t[own], self.steps[own] = starts.y, starts.t, starts.steps
        fired, finished = endings == FIRED, endings == FINISHED
        self.segments[own] += 1
        self.done[own] = finished
        if finished.any():
            self.decisions.record_last(members.subset(own[finished]))
        standing = starts.t - part.t <= STALLED_SPAN * np.maximum(np.abs(starts.t), self.end - self.begin)
        self.stalled[own] = np.where(standing, self.stalled[own] + 1, 0)
        lost = (self.stalled[own] >= MAX_STALLED_SEGMENTS) | (self.segments[own] >= MAX_SEGMENTS)
        members.odd[own] |= lost | ~(fired | finished)
        return fired
