# SPDX-License-Identifier: BSD-3-Clause
"""Decisions at the ends of phases of many ensemble members: events, impacts, contacts that open and close.

The rules are those of ``hybrid.HybridSimulation``. Members that need more than these are marked as odd.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.ensembles.contact_choice import choose_of_many
from dalembert.ensembles.contact_gaps import GapsOfMany, ImpactHistories
from dalembert.ensembles.event_sides import coinciding, set_guards
from dalembert.ensembles.member_events import EventRecord
from dalembert.ensembles.stick_slip_transitions import groups
from dalembert.ensembles.switching_members import Flags, Numbers, SwitchingMembers, SwitchingModel
from dalembert.hybrid.hybrid_simulation import ACCUMULATED, MOST_IMPACTS
from dalembert.impacts.contact_terms import least_mass
from dalembert.impacts.impacts_of_many import impacts_of_many
from dalembert.model.coefficients import negative_coefficients
from dalembert.model.event import Change
from dalembert.numerics.tolerances import SINGULAR_MASS
from dalembert.numerics.violation import violated
from dalembert.stick_slip.simulation import MAX_SEGMENTS


@dataclass
class SwitchingDecisions:
    """Decides what follows the phases of members of one system, in a run from ``begin`` to ``end``."""

    model: SwitchingModel
    begin: float
    end: float
    histories: ImpactHistories
    record: EventRecord

    def fired(self, part: SwitchingMembers) -> Flags:
        """Return the guards (N, E + m) that have ended the phases of members, and those that coincide with them.

        There are none if friction alone has ended a phase.
        """
        found = np.zeros(part.signs.shape, bool)
        for own, active in self.model.by_mode(part):
            some, numbers = part.subset(own), list(active.guards)
            acceleration, reactions, valid = active.motion(some)
            values = active.values(tuple(active.guards.values()), *some.at, reactions)
            values = some.signs[:, numbers] * values + some.offsets[:, numbers]
            part.odd[own] |= ~valid.astype(bool) | np.isnan(values).any(axis=1)
            negative = values < 0
            if numbers and not active.contacts:
                # compiled code and NumPy may round differently, and nothing else ends a phase without friction
                hidden = np.flatnonzero(~negative.any(axis=1))
                negative[hidden, np.argmin(values[hidden], axis=1)] = True
            found[own[:, None], numbers] = negative
            ended = np.asarray(found[own].any(axis=1))
            found[own] |= coinciding(active, some, acceleration, reactions, self.end - self.begin, found[own], ended)
        return found

    def start(self, part: SwitchingMembers) -> None:
        """Choose the first phases: contacts may touch at the start, or be about to collide."""
        gaps = GapsOfMany.at(self.model, part)
        part.odd |= gaps.penetrated() | ~self._restitutions(part)[1] | ~(least_mass(gaps.terms.M)[0] > SINGULAR_MASS)
        own = np.flatnonzero(~part.odd)
        some = part.subset(own)
        self._choose_phases(some, np.zeros(some.signs.shape, bool), started=False)
        part.put(own, some)

    def follow_friction(self, part: SwitchingMembers) -> None:
        """Choose the next phases of members whose contacts begin to stick or to slip."""
        for own, active in self.model.by_set(part):
            some = part.subset(own)
            phases, before = active.phases(some), some.sticking
            if active.contacts:
                active.transitions.following(phases, retry=True)
            active.put_phases(part, own, phases)
            self._record_friction(part.subset(own), before)

    def follow_guards(self, part: SwitchingMembers, fired: Flags) -> Flags:
        """Choose the next phases of members whose guards have fired; return which of them stop there."""
        stops = self._react(part, fired)
        own = np.flatnonzero(~(stops | part.odd))
        if own.size:
            some = part.subset(own)
            self._choose_phases(some, fired[own], started=True)
            part.put(own, some)
        return stops

    def record_last(self, part: SwitchingMembers) -> None:
        """Record the events at the last time of the run, where nothing follows from them."""
        if not self.model.events:
            return
        none, occurs = np.zeros(part.signs.shape, bool), np.zeros(part.watched.shape, bool)
        for own, active in self.model.by_mode(part):
            some, span = part.subset(own), self.end - self.begin
            acceleration, reactions, _ = active.motion(some)
            everywhere = np.ones(len(own), bool)
            found = coinciding(active, some, acceleration, reactions, span, none[own], everywhere)
            occurs[own] = found[:, : len(self.model.events)]
        self._record_events(part, occurs)

    def _record_events(self, part: SwitchingMembers, occurs: Flags) -> None:
        for k, event in enumerate(self.model.events):
            self.record.add(part.number[occurs[:, k]], part.t[occurs[:, k]], str(event.name), "event")

    def _react(self, part: SwitchingMembers, fired: Flags) -> Flags:
        """Release constraints, and apply the changes of events; return which members stop."""
        model, E = self.model, len(self.model.events)
        released = fired[:, E:] & (part.releases != 0)
        self._record_constraints(part, released, "releases")
        part.active &= ~released
        part.releases = np.where(released, 0.0, part.releases)
        occurs = fired[:, :E] & part.watched
        self._record_events(part, occurs)
        stops = (occurs & np.array([event.stop for event in model.events], bool)).any(axis=1)
        changing = occurs & np.array([event.then is not None for event in model.events], bool)
        own = np.flatnonzero(changing.any(axis=1) & ~stops)
        if own.size:
            some = part.subset(own)
            self._change(some, changing[own])
            part.put(own, some)
        return np.asarray(stops)

    def _change(self, part: SwitchingMembers, changing: Flags) -> None:
        """Apply the changes of events (N, E), in their order, and the impulses by which velocities follow them."""
        model, before = self.model, part.active.copy()
        for k, event in enumerate(model.events):
            own = np.flatnonzero(changing[:, k])
            if event.then is not None and own.size:
                some = part.subset(own)
                self._apply(some, event.then)
                part.put(own, some)
        self._record_constraints(part, before & ~part.active, "off")
        self._record_constraints(part, part.active & ~before, "on")
        stated = part.p[:, model.terms.columns(model.system.parameter_names)]
        part.odd[list(negative_coefficients(model.system, stated.T))] = True
        # a constraint that an event has switched off has no force whose sign could change
        part.releases = np.where(part.active, part.releases, 0.0)
        gaps, (q, qd) = GapsOfMany.at(model, part), np.split(part.y, 2, axis=1)
        terms = gaps.terms
        part.odd |= gaps.penetrated() | ~np.isfinite(part.y).all(axis=1)
        part.odd |= (part.active & violated(terms.position, terms.A, q, mass_matrix=terms.M)).any(axis=1)
        missed = (part.active & violated(terms.velocity, terms.A, qd, q, terms.M)).any(axis=1)
        own = np.flatnonzero(missed & ~part.odd)
        touching = gaps.touching(part.closed)
        self._impact(part, own, touching[own], np.zeros_like(touching[own]))

    def _apply(self, part: SwitchingMembers, change: Change) -> None:
        """Change values and constraints of members."""
        terms, names = self.model.terms, self.model.system.coordinate_names
        if change.values:
            # all new values are computed from the old state first, so that their order does not matter
            values = terms.values(tuple(value for _, value in change.values), *part.at)
            places = (*names, *(f"{name}'" for name in names))
            for (name, _), new in zip(change.values, values.T, strict=True):
                if name in places:
                    part.y[:, places.index(name)] = new
                else:
                    part.p[:, terms.names.index(name)] = new
        constraints = self.model.system.constraint_names
        part.active[:, [constraints.index(name) for name in change.on]] = True
        part.active[:, [constraints.index(name) for name in change.off]] = False

    def _choose_phases(self, part: SwitchingMembers, fired: Flags, *, started: bool) -> None:
        """Choose the next phases: after impacts, with the contacts that stay closed, and their guards."""
        E, closed, sticking = len(self.model.events), part.closed.copy(), part.sticking.copy()
        arrived = fired[:, E:] & self.model.terms.one_sided & ~closed
        speeds, stuck = self._after_impacts(part, arrived)
        gaps = GapsOfMany.at(self.model, part, speeds)
        # a contact that moves apart opens by itself; only the others need a decision
        candidates = gaps.together(gaps.touching(closed))
        still = sticking | stuck[:, [self._row_of(c.name) for c in self.model.friction]]
        choice = choose_of_many(self.model, part, candidates, candidates & ~(fired[:, E:] & closed), still)
        if started:
            good = ~part.odd[:, None]
            self._record_constraints(part, closed & ~part.closed & good, "opens")
            self._record_constraints(part, part.closed & ~closed & good, "closes")
            self._record_friction(part, sticking)
        set_guards(self.model, part, choice, self.end - self.begin, fired[:, :E])

    def _row_of(self, name: str) -> int:
        names = self.model.system.constraint_names
        return names.index(name) if name in names else -1

    def _after_impacts(self, part: SwitchingMembers, arrived: Flags) -> tuple[Floats, Flags]:
        """Apply all impacts of an instant; return the largest speeds (N, n), and contacts that friction has stopped.

        The contacts (N, m + 1) are those of constraints; the last column is for friction without a constraint.
        """
        n, m = part.y.shape[1] // 2, self.model.count
        speeds, stuck = np.abs(part.y[:, n:]), np.zeros((len(part), m + 1), bool)
        if arrived.any():
            # the instant of a collision is located to rounding, and the gap must not count as penetrated
            GapsOfMany.at(self.model, part).close_up(part, arrived)
        own = np.flatnonzero(~part.odd)
        for _ in range(MOST_IMPACTS):
            # one impact may cause the next at the same instant, as in a row of balls that touch
            some = part.subset(own)
            gaps = GapsOfMany.at(self.model, some, speeds[own])
            touching = gaps.touching(some.closed) | arrived[own]
            hit = gaps.approaching(touching)
            struck = hit.any(axis=1)
            if not struck.any():
                return speeds, stuck
            rest = self._resting(some, gaps, touching, hit)
            own, some, touching, rest, hit = (
                own[struck],
                some.subset(struck),
                touching[struck],
                rest[struck],
                hit[struck],
            )
            part.odd[own] |= some.odd
            stuck[own, :m] = self._impact(part, own, touching, rest)
            speeds[own] = np.maximum(speeds[own], np.abs(part.y[own, n:]))
            own = own[~part.odd[own]]
        part.odd[own] = True
        return speeds, stuck

    def _resting(self, some: SwitchingMembers, gaps: GapsOfMany, touching: Flags, hit: Flags) -> Flags:
        """Record impacts, and return the contacts (N, m) that come to rest, because their impacts accumulate."""
        struck = np.flatnonzero(hit.any(axis=1))
        numbers, speeds = some.number[struck], -gaps.rate[struck]
        self.histories.record(numbers, some.t[struck], hit[struck], speeds)
        some.odd[struck] |= self.histories.are_endless(numbers, self.end, MAX_SEGMENTS)
        restitution, valid = self._restitutions(some)
        some.odd |= ~valid
        found = self.histories.series_ends(some.number, gaps, hit, restitution)
        slowest = np.where(found.ends, found.speeds, 0.0).max(axis=1, initial=0.0)[:, None]
        ends = found.ends.any(axis=1, keepdims=True)
        self._record_constraints(some, hit, "impact")
        for i in self._sorted_rows():
            own = np.flatnonzero(found.ends[:, i])
            # the contact is closed from here on, in the state in which it rests
            name = self.model.system.constraint_names[i]
            self.record.add(some.number[own], found.times[own, i], name, "rests")
        return found.ends | (ends & gaps.together(touching, ACCUMULATED * slowest))

    def _restitutions(self, part: SwitchingMembers) -> tuple[Floats, Flags]:
        """Return the coefficients (N, m) of one-sided constraints, and in which members all are between 0 and 1."""
        found, rows = np.zeros((len(part), self.model.count)), np.flatnonzero(self.model.terms.one_sided)
        stated = tuple(self.model.system.constraints[i].restitution for i in rows)
        found[:, rows] = self.model.terms.values(stated, *part.at)
        return found, np.asarray(((found >= 0) & (found <= 1)).all(axis=1))

    def _impact(self, part: SwitchingMembers, own: Numbers, touching: Flags, rest: Flags) -> Flags:
        """Apply one impact to some members; return the contacts (N, m) whose slip friction has stopped."""
        n, m = part.y.shape[1] // 2, self.model.count
        stuck = np.zeros((len(own), m), bool)
        for inside, kind in groups(np.hstack([part.active[own], touching, rest])):
            numbers, (active, touch, at_rest) = own[inside], np.split(kind, 3)
            some = part.subset(numbers)
            found = impacts_of_many(self.model.terms, some.at, active, touch, at_rest)
            part.y[numbers, n:] = np.where(found.valid[:, None], found.qd, some.y[:, n:])
            part.odd[numbers] |= ~found.valid
            stuck[inside] = found.sticking
        return stuck

    def _sorted_rows(self) -> Iterable[int]:
        names = self.model.system.constraint_names
        return sorted(range(len(names)), key=lambda i: names[i])

    def _record_constraints(self, part: SwitchingMembers, changed: Flags, kind: str) -> None:
        """Record what happens to constraints (N, m)."""
        for i in self._sorted_rows() if changed.any() else ():
            own = changed[:, i]
            self.record.add(part.number[own], part.t[own], self.model.system.constraint_names[i], kind)

    def _record_friction(self, part: SwitchingMembers, before: Flags) -> None:
        """Record the contacts that stick or slip after a transition."""
        if not self.model.friction:
            return
        for own, active in self.model.by_set(part):
            for k in active.places:
                for kind, changed in (("sticks", part.sticking & ~before), ("slips", before & ~part.sticking)):
                    some = own[changed[own, k] & ~part.odd[own]]
                    self.record.add(part.number[some], part.t[some], self.model.friction[k].name, kind)
