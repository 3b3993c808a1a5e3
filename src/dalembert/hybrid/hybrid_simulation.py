# SPDX-License-Identifier: BSD-3-Clause
"""Simulation of motion with events, contacts that open and close, and constraints that are switched."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.errors import ConstraintError, InputError, SimulationError, StateError
from dalembert.hybrid.accumulation import ImpactHistory, Rest
from dalembert.hybrid.event_changes import Situation, changed, energy_at
from dalembert.hybrid.event_guards import coinciding, guards_of
from dalembert.hybrid.gaps import Gaps
from dalembert.hybrid.phase_choice import Choice, Question, choose
from dalembert.hybrid.surface_jumps import jumped_velocities, pulling
from dalembert.impacts.contact_terms import ContactTerms
from dalembert.impacts.impact import impact
from dalembert.integration.method import Method
from dalembert.integration.progress import Progress
from dalembert.integration.run import accepted_start
from dalembert.integration.run_events import run_event
from dalembert.integration.trajectory import Trajectory
from dalembert.lowering.build import build
from dalembert.model.active_system import active_system
from dalembert.model.event import Event
from dalembert.model.friction_contacts import Contact
from dalembert.model.ordering import quoted
from dalembert.model.system import System
from dalembert.stick_slip.guards import Guard
from dalembert.stick_slip.phases import Phase
from dalembert.stick_slip.segment import Segment
from dalembert.stick_slip.simulation import MAX_SEGMENTS, ImpulseWork, StickSlipSimulation, check_coefficients

MOST_IMPACTS = 100
"""Impacts at one instant after which they are abandoned."""

ACCUMULATED = 10.0
"""Ratio of the velocity of another contact that touches to that of one whose impacts accumulate, up to which both come
to rest together."""

RELEASE_FORCE = 1e-10
"""Force of a constraint, relative to the applied ones, that has no sign."""


@dataclass
class HybridSimulation:
    """A motion whose constraints and parameters change at events.

    system      as it was stated
    scales      (2n,) of coordinates and velocities, from the start
    record      the segments of the motion, its events, impulses and notes
    active      names of the equations that hold now; those of closed contacts are in ``closed``
    releases    the signs of the forces of constraints that are released when these change
    """

    system: System
    events: Sequence[Event]
    method: Method
    p: dict[str, float]
    scales: Floats
    record: StickSlipSimulation = field(init=False)
    model: ContactTerms = field(init=False)
    active: frozenset[str] = field(init=False)
    closed: frozenset[str] = frozenset()
    releases: dict[str, int] = field(default_factory=dict[str, int])
    history: ImpactHistory = field(default_factory=ImpactHistory)
    span: float = 1.0
    end: float = 1.0

    def __post_init__(self) -> None:
        changing = tuple(str(event.name) for event in self.events if event.then is not None)
        watched = tuple(event.expression for event in self.events)
        self.record = StickSlipSimulation(self.system, (), self.method, self.p, changing, watched)
        self.model = ContactTerms(self.system, self.p, self.scales)
        self.active = frozenset(str(c.name) for c in self.system.constraints if c.active and not c.one_sided)

    def run(
        self, q0: Floats, qd0: Floats, times: Floats, *, allow_violation: bool, progress: bool | None
    ) -> Trajectory:
        """Simulate from a start at ``times[0]``; return the motion at all times, or up to an event that stops it."""
        t, t1 = float(times[0]), float(times[-1])
        self.span, self.end = t1 - t, t1
        y = self._accepted(q0, qd0, t, allow_violation=allow_violation)
        with Progress(t, t1, progress) as bar:
            # the start is treated like the end of a segment: contacts may touch there, or be about to collide
            choice = self._next(y, t)
            if self.record.impulses:
                hit = dict.fromkeys(event.name for event in self.record.events)
                self.record.notes.append(
                    f"The motion starts with an impact at {quoted(hit)}: its initial velocities are those after it."
                )
            while True:
                y = self.record.advance(choice.phase, choice.y, t, t1, times, bar)
                segment = self.record.segments[-1]
                if segment.path.finished:
                    self._record_last(segment, y)
                    return self.record.trajectory(times)
                t = segment.end if segment.path.resumes is None else segment.path.resumes
                try:
                    following = self._following(segment, y, t)
                except (ConstraintError, StateError) as error:
                    raise SimulationError(str(error), t, self.record.partial_trajectory(times)) from None
                if following is None:
                    return self.record.partial_trajectory(times)
                choice = following

    def _following(self, segment: Segment, y: Floats, t: float) -> Choice | None:
        """Return the phase after a segment that ends at t, None if the motion stops there."""
        if segment.path.resumes is not None:
            return self._across_jump(segment, y, t)
        fired = (*segment.fired, *coinciding(segment, y, self.span))
        after = self._react([guard for guard in fired if guard not in segment.poles], y, t)
        if after is None:
            return None
        # contacts that share their load change together: all of them are decided again
        ended = (segment.stopped(), set[Contact]() if segment.fired else segment.released())
        if not segment.redistributes:
            ended = (set[Contact](), set[Contact]())
        return self._next(after, t, segment.phase, fired, ended)

    def _record_last(self, segment: Segment, y: Floats) -> None:
        """Record the events at the last time of the run; the last output is the state before their changes."""
        passed = {guard.name for guard in coinciding(segment, y, self.span) if guard not in segment.poles}
        events = [event for event in self.events if event.name in passed]
        after = changed(self.system, events, Situation(y, self.p, self.active), segment.end)
        self._record_events(events, y, after.y, segment.end)

    def _record_events(self, events: Sequence[Event], y: Floats, after: Floats, t: float) -> bool:
        """Record events with the states before and after them; return whether one of them stops the motion."""
        for event in events:
            self.record.events.append(run_event(t, str(event.name), "event", y, after))
        stops = [str(event.name) for event in events if event.stop]
        if stops:
            self.record.notes.append(f"The motion ends at t = {t:.6g} by the event {quoted(stops)}.")
        return bool(stops)

    def _across_jump(self, segment: Segment, y: Floats, t: float) -> Choice | None:
        """Return the phase after a jump in time at t, None if the motion stops there.

        The sides of the jump are evaluated at a margin from it. What happens at it has its own time, and is after the
        outputs of the segment before.
        """
        record, beyond = self.record, t + self.record.margin
        k, first, latest = len(record.segments) - 1, len(record.impulses), len(record.events)
        choice, fired = self._after_jump(segment, y, beyond)
        if fired:
            after = self._react(fired, choice.y, beyond)
            choice = None if after is None else self._next(after, beyond, choice.phase, fired)
        # the time of a jump is given: it does not change with the state
        if k in record.resets:
            record.resets[k] = tuple(lambda y, _, own=own: own(y, beyond) for own in record.resets[k])
        record.impulses[first:] = [own._replace(t=record.jump_time(segment)) for own in record.impulses[first:]]
        record.events[latest:] = [own._replace(t=t) if own.t == beyond else own for own in record.events[latest:]]
        return choice

    def _accepted(self, q0: Floats, qd0: Floats, t: float, *, allow_violation: bool) -> Floats:
        """Return the start, or raise an error if it is not possible."""
        dynamics = build(active_system(self.system, self.active))
        values = tuple(self.p[name] for name in dynamics.parameters)
        start = accepted_start(dynamics, self.method, q0, qd0, t, values, allow_violation=allow_violation)
        y, self.record.notes = start
        check_coefficients(self.model.whole, tuple(self.model.friction.values()), self.p, y, t)
        if self.model.one_sided:
            self.model.inverse_mass(self.model.at(y, t), t)  # raises an error if M is singular
        for name in self.model.one_sided:
            self.model.restitution(name, t, y)
        Gaps.at(self.model, y, t, self.active).refuse_penetration()
        return y

    def _after_jump(self, segment: Segment, y: Floats, t: float) -> tuple[Choice, tuple[Guard, ...]]:
        """Return the phase just after a jump, at t, and the guards of events that it has passed.

        Contacts that are closed are free to open; those whose surface moves towards a body hit it.
        """
        jumped = jumped_velocities(self.model, y, (float(segment.path.t[-1]), t), self.active, self.closed)
        for name in sorted(pulling(self.model, y, t, self.active, self.releases) if jumped else ()):
            self._release(name, y, t)
        if not Gaps.at(self.model, y, t, self.active).follow():
            y = self._after_impact(y, t, Gaps.at(self.model, y, t, self.active).touching(self.closed), ())[0]
            names = ", ".join(f"`{name}` by {size:.3g}" for name, size in jumped.items() if name in self.active)
            self.record.notes.append(
                f"At t = {t:.6g} a prescribed velocity jumps ({names}); the velocities follow by an impulse."
            )
        choice = self._next(y, t, segment.phase)
        while name := self._reversed(choice, t):
            self._release(name, y, t)
            choice = self._next(choice.y, t, choice.phase)
        sides = {guard.name: guard.sign for guard in choice.phase.guards if guard.kind in ("event", "armed")}
        watched = [guard for guard in segment.phase.guards if guard.kind == "event"]
        passed = [guard for guard in watched if sides[guard.name] == -guard.sign]
        return choice, tuple(guard for guard in passed if guard not in segment.poles)

    def _reversed(self, choice: Choice, t: float) -> str:
        """Return a constraint that is released because its force has the opposite sign, the most loaded one."""
        if not self.releases:
            return ""
        values = choice.phase.guard_values(t, choice.y, choice.reactions)
        pulled = {
            guard.name: float(value)
            for guard, value in zip(choice.phase.guards, values, strict=True)
            if guard.kind == "force" and guard.name in self.releases and value < 0
        }
        return min(pulled, key=lambda name: pulled[name], default="")

    def _release(self, name: str, y: Floats, t: float) -> None:
        """Release a constraint."""
        self.active -= {name}
        self.releases.pop(name)
        self.record.events.append(run_event(t, name, "releases", y, y))

    def _react(self, guards: Sequence[Guard], y: Floats, t: float) -> Floats | None:
        """Return the state after the events of guards that have fired; None if the motion stops there."""
        for guard in guards:
            if guard.kind == "force" and guard.name in self.releases:
                self._release(guard.name, y, t)
        fired = [guard.name for guard in guards if guard.kind == "event"]
        events = [event for event in self.events if event.name in fired]
        before = Situation(y, self.p, self.active)
        after = changed(self.system, events, before, t)
        if any(event.then is not None for event in events):
            self.record.record_reset(lambda y, t: changed(self.system, events, before._replace(y=y), t).y)
        if self._record_events(events, y, after.y, t):
            return None
        changing = [str(event.name) for event in events if event.then is not None]
        return self._changed(changing, before, after, t) if changing else y

    def _changed(self, events: Sequence[str], before: Situation, after: Situation, t: float) -> Floats:
        """Return the state after changes by events, with the impulses by which velocities follow the equations."""
        own = energy_at(self.system, after, t) - energy_at(self.system, before, t)
        # events at one instant share an entry, that of the first
        self.record.impulses.append(ImpulseWork(t, None, events[0], own))
        for kind, names in (("off", before.active - after.active), ("on", after.active - before.active)):
            for name in sorted(names):
                self.record.events.append(run_event(t, name, kind, before.y, after.y))
        new = {name: value for name, value in after.p.items() if value != before.p[name]}
        if new:
            listed = ", ".join(f"`{name}` to {value:.6g}" for name, value in new.items())
            self.record.notes.append(f"At t = {t:.6g} the event {quoted(events)} changes {listed}.")
            self.record.changed |= set(new)
        self.p, self.active, self.model = after.p, after.active, ContactTerms(self.system, after.p, self.scales)
        self.record.p = after.p
        # a constraint that an event has switched off has no force whose sign could change
        self.releases = {name: sign for name, sign in self.releases.items() if name in self.active}
        gaps = Gaps.at(self.model, after.y, t, self.active)
        gaps.refuse_penetration()
        gaps.refuse_positions()
        if gaps.follow():
            return after.y
        return self._after_impact(after.y, t, gaps.touching(self.closed), ())[0]

    def _next(
        self,
        y: Floats,
        t: float,
        before: Phase | None = None,
        fired: Sequence[Guard] = (),
        ended: tuple[Collection[Contact], Collection[Contact]] = ((), ()),
    ) -> Choice:
        """Return the next phase: after impacts, with the contacts that stay closed, and its guards.

        ``ended`` are contacts that have come to rest, and such that friction cannot hold any more.
        """
        y, speeds, still = self._after_impacts(y, t, {guard.name for guard in fired if guard.kind == "gap"})
        gaps = Gaps.at(self.model, y, t, self.active, speeds)
        # a contact that moves apart opens by itself; only the others need a decision
        candidates = gaps.together(gaps.touching(self.closed))
        pulled = {guard.name for guard in fired if guard.kind == "force"}
        held = frozenset(c.name for c in before.mode.sticking) if before is not None else frozenset[str]()
        stopped, released = (frozenset(c.name for c in some) for some in ended)
        if stopped and before is not None and before.sharing is not None:
            stopped |= {*before.sharing.shared}  # those that the equations of motion leave out stop as well
        question = Question(self.model, self.method, y, t, self.active, held | still | stopped, released)
        choice = choose(question, candidates, [name for name in candidates if name not in pulled])
        if before is not None:
            for kind, names in (("opens", self.closed - choice.closed), ("closes", choice.closed - self.closed)):
                self.record.events += [run_event(t, name, kind, y, choice.y) for name in sorted(names)]
            self.record.record_friction(before, choice.phase, choice.y, t)
        self.closed = choice.closed
        return self._guarded(choice, t, [guard.name for guard in fired if guard.kind != "gap"])

    def _after_impacts(self, y: Floats, t: float, arrived: Collection[str]) -> tuple[Floats, Floats, frozenset[str]]:
        """Return the state after all impacts of one instant, the largest speeds, and what friction has stopped."""
        speeds, stuck = np.abs(np.split(y, 2)[1]), frozenset[str]()
        if arrived:
            # the instant of a collision is located to rounding, and the gap must not count as penetrated
            y = Gaps.at(self.model, y, t, self.active).closed_up(arrived)
        for _ in range(MOST_IMPACTS):
            # one impact may cause the next at the same instant, as in a row of balls that touch
            gaps = Gaps.at(self.model, y, t, self.active, speeds)
            touching = sorted({*gaps.touching(self.closed), *arrived})
            hit = gaps.approaching(touching)
            if not hit:
                return y, speeds, stuck
            ends = self._series_ends(gaps, hit)
            slowest = max((end.speed for end in ends.values()), default=0.0)
            rest = sorted({*ends, *gaps.together(touching, ACCUMULATED * slowest)}) if ends else []
            self._refuse_endless(t, hit)
            after, stuck = self._after_impact(y, t, touching, rest)
            self.record.events += [run_event(t, name, "impact", y, after) for name in hit]
            # the contact is closed from here on, in the state in which it rests
            self.record.events += [run_event(end.time, name, "rests", after, after) for name, end in ends.items()]
            # rounding of small velocities is judged by the largest ones that the instant has seen
            y, speeds = after, np.maximum(speeds, np.abs(np.split(after, 2)[1]))
        raise ConstraintError(
            f"impacts at one instant must come to an end; at t = {t:.6g} those of {quoted(sorted(arrived))} do not. "
            f"Start from a state in which fewer contacts touch."
        )

    def _refuse_endless(self, t: float, hit: dict[str, float]) -> None:
        """Raise an error if impacts follow one another ever faster, as between walls that close in."""
        self.history.impacts.append((t, max(hit.values())))
        if self.history.is_endless(self.end, MAX_SEGMENTS):
            raise ConstraintError(
                f"impacts must not follow one another without end; by t = {t:.6g} there are "
                f"{len(self.history.impacts)}, the last ones at {quoted(sorted(hit))}, which do not slow down, and "
                f"more than {MAX_SEGMENTS} would follow. Impacts that do not accumulate towards rest cannot be "
                f"followed: end the motion before."
            )

    def _series_ends(self, gaps: Gaps, hit: dict[str, float]) -> dict[str, Rest]:
        """Return the contacts whose series of impacts end here, with the times at which they come to rest."""
        ends: dict[str, Rest] = {}
        for name, speed in hit.items():
            self.history.record(name, gaps.t)
            e = self.model.restitution(name, gaps.t, gaps.y)
            rest = self.history.rest(name, speed, gaps.resolution(name), e, gaps.rounding(name))
            if rest is not None:
                ends[name] = rest
        return ends

    def _after_impact(
        self, y: Floats, t: float, touching: Collection[str], rest: Collection[str]
    ) -> tuple[Floats, frozenset[str]]:
        model, active = self.model, self.active
        found = impact(model, y, t, active, touching, rest)
        # as a function of the state: derivatives of the motion pass through the impact by it
        self.record.record_reset(
            lambda y, t: np.concatenate([np.split(y, 2)[0], impact(model, y, t, active, touching, rest).qd])
        )
        self.record.impulses.append(ImpulseWork(t, found.work))
        return np.concatenate([np.split(y, 2)[0], found.qd]), frozenset(found.sticking)

    def _guarded(self, choice: Choice, t: float, fired: Collection[str]) -> Choice:
        """Return the choice with the guards of its phase."""
        terms = self.model.at(choice.y, t)
        largest = np.abs(terms.A).max(axis=1, initial=np.finfo(float).tiny)
        # a reaction is a force over the largest entry of its row: in these units its rounding is known
        scales = np.abs(terms.Q).max(initial=0.0) / largest
        scale = dict(zip(self.system.constraint_names, map(float, scales), strict=True))
        self._find_releases(choice, scale)
        open_contacts = [name for name in self.model.one_sided if name not in choice.closed]
        gaps = Gaps.at(self.model, choice.y, t, self.active).offsets(open_contacts)
        signs: Any = {"gaps": gaps, "releases": self.releases, "force_scale": scale, "fired": fired}
        guards = guards_of(self.system, self.events, choice, t, self.span, **signs)
        return choice._replace(phase=replace(choice.phase, guards=guards))

    def _find_releases(self, choice: Choice, scale: dict[str, float]) -> None:
        """Find the signs of the forces of constraints that are released when these change."""
        names = choice.phase.mode.system.constraint_names
        for name in (str(constraint.name) for constraint in self.system.constraints if constraint.releases):
            if name not in self.active or name in self.releases:
                continue
            force = float(choice.reactions[names.index(name)])
            if abs(force) <= RELEASE_FORCE * scale[name]:
                raise InputError(
                    f"constraint `{name}` must have a force at the initial state, whose sign decides when it "
                    f"releases; it is zero. Write an inequality, `sympy.Ge(expression, 0)`, with a `restitution`."
                )
            self.releases[name] = 1 if force > 0 else -1
