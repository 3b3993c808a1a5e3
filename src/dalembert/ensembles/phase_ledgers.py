# SPDX-License-Identifier: BSD-3-Clause
"""Ledgers of many ensemble members that stick and slip: phase by phase, at quadrature nodes within each.

The members go through their rounds once more, with states at the ends of intervals that all of them share. Each phase
divides these intervals further where it begins and ends; a node is reached by one step from the begin of its interval.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dalembert.analysis.energy_terms import compiled_ledger_terms, rows_of_ledger
from dalembert.analysis.ledger_entries import entries_of
from dalembert.analysis.quadrature import INTERVALS_AT_ONCE, PLACES, divided
from dalembert.analysis.run_ledger import ledger_notes
from dalembert.common.array_types import Floats
from dalembert.ensembles.compiled_ledgers import AppliedEntries
from dalembert.ensembles.ledger_integrals import Intervals, MemberPowers, MemberWork, least_atol, member_work
from dalembert.ensembles.members import Members
from dalembert.ensembles.modes_of_many import ModeOfMany
from dalembert.ensembles.native_members import NativeMembers
from dalembert.ensembles.stick_slip_rounds import BegunPhases, StickSlipRounds, supports_rounds
from dalembert.ensembles.stick_slip_transitions import usual_scales
from dalembert.equation.dynamics import Dynamics, native_of
from dalembert.integration.method import Method
from dalembert.model.abrupt_functions import abrupt_functions_of_time
from dalembert.model.friction_contacts import contacts
from dalembert.model.system import System
from dalembert.stick_slip.joined_trajectory import ledger_entries


class PhaseOfMember(NamedTuple):
    """A phase of one member from a state y (2n,) at ``start``, with the parameters p of its mode."""

    mode: ModeOfMany
    member: int
    start: float
    end: float
    y: Floats
    p: Floats


def supports_phase_ledgers(system: System, method: Method) -> bool:
    """Return whether ledgers of members under dry friction are computed for many of them at once."""
    touching = contacts(system)
    timed = abrupt_functions_of_time(c.mu_static for c in touching)
    return supports_rounds(system, touching, method) and not timed


class PhaseLedgers:
    """Computes ledgers of members under dry friction; see ``supports_phase_ledgers`` and ``CompiledLedgers``."""

    def __init__(
        self,
        system: System,
        dynamics: Dynamics,
        method: Method,
        times: Floats,
        reference: Members,
        threads: int | None,
        finer: int,
    ):
        self.system, self.dynamics, self.method, self.times = system, dynamics, method, times
        begin, end = divided(times, float(times[-1] - times[0]) / finer)
        self.grid = np.append(begin, end[-1])
        self.rounds = StickSlipRounds(system, contacts(system), method, every=True, threads=threads)
        given: dict[str, Any] = {"every": True, "on_gpu": False, "reference": reference, "threads": threads}
        self._spans = NativeMembers(dynamics, method, self.grid, **given)
        self.entries = AppliedEntries(system)
        self.entries_of_whole = entries_of(dynamics.constraints, dynamics.laws, dynamics.actuators)

    @property
    def members_at_once(self) -> int:
        """The number of members whose nodes are evaluated together, to bound the memory for their forces."""
        return max(INTERVALS_AT_ONCE // len(self.grid), 1)

    def __call__(self, members: Members) -> list[tuple[NDArray[np.intp], MemberWork]]:
        """Return the ledgers of members that went through rounds, and which these are."""
        found: list[tuple[NDArray[np.intp], MemberWork]] = []
        for selection, times, spans in self._spans.grouped(members):
            own = np.arange(len(members))[selection]
            if len(spans) != 1 or not (times == self.grid).all():
                continue
            part, begun = members.subset(own), list[BegunPhases]()
            y, done, _, _ = self.rounds(part.y, part.p, self.grid, spans[0].max_step, begun)
            work = self._work(part.subset(done), y[done], _phases(begun, done, float(self.grid[-1])))
            if work is not None:
                found.append((own[done], work))
        return found

    def _work(self, members: Members, y: Floats, phases: list[PhaseOfMember]) -> MemberWork | None:
        """Return the ledgers of members at states y (N, grid, 2n); None if there are none, or rows are dependent."""
        if not len(members):
            return None
        N, T, begin, span = len(members), len(self.times), float(self.times[0]), float(self.times[-1] - self.times[0])
        p = np.ascontiguousarray(members.p.T)
        scales = native_of(self.dynamics).starts_of_many(np.ascontiguousarray(y[:, 0]), np.full(N, begin), p)[2]
        nodes = self._nodes(phases, y, usual_scales(self.method, scales))
        between = self._powers(members, phases, nodes.counts, nodes.t.ravel(), nodes.y)
        at = [self._outputs_in(phase) for phase in phases]
        places = np.concatenate([phase.member * T + own for phase, own in zip(phases, at, strict=True)])
        states = y[:, np.searchsorted(self.grid, self.times)].reshape(N * T, -1)[places]
        counts = np.array([len(own) for own in at])
        outputs = self._powers(members, phases, counts, self.times[np.concatenate(at)], states)
        if between is None or outputs is None:
            return None
        (of_nodes, _), (of_outputs, unique) = between, outputs
        # phases are in the order of members and of time, and so are their outputs
        whole = Intervals(nodes.member, nodes.output, nodes.half, of_nodes.reshaped(len(nodes.half), len(PLACES)))
        atol = least_atol(self.dynamics, self.method, begin, y[:, 0], p)
        notes = ledger_notes(self.dynamics, self.method, unique)
        found = member_work(whole, of_outputs.reshaped(N, T), self.method, atol, span, notes)
        return found._replace(accurate=found.accurate & nodes.accurate)

    def _outputs_in(self, phase: PhaseOfMember) -> NDArray[np.intp]:
        """Return the indices of the outputs of a phase; one at its begin belongs to the phase before."""
        first = np.searchsorted(self.times, phase.start, side="left" if phase.start == self.times[0] else "right")
        return np.arange(first, np.searchsorted(self.times, phase.end, side="right"))

    def _nodes(self, phases: list[PhaseOfMember], y: Floats, atol: Floats) -> PhaseNodes:
        """Return the nodes in the phases of members, from their states y (N, grid, 2n)."""
        parts: list[tuple[Any, ...]] = []
        accurate, last = np.ones(len(y), bool), len(PLACES)
        for phase in phases:
            inside = slice(*np.searchsorted(self.grid, [phase.start, phase.end], side="right"))
            own = self.grid[inside][self.grid[inside] < phase.end]
            begin, end = np.append(phase.start, own), np.append(own, phase.end)
            states = np.concatenate([phase.y[None], y[phase.member, inside][: len(own)]])
            half = (end - begin) / 2
            t = ((begin + end) / 2)[:, None] + half[:, None] * PLACES
            start = np.repeat(begin, last), np.repeat(states, last, axis=0)
            found, good = phase.mode.sampled(*start, t.ravel(), phase.p, atol[phase.member])
            accurate[phase.member] &= bool(good.all())
            parts.append((np.full(len(half), phase.member), np.searchsorted(self.times, end), half, t, found))
        counts = np.array([part[3].size for part in parts])
        member, output, half, t, states = (np.concatenate(own) for own in zip(*parts, strict=True))
        return PhaseNodes(member, output, half, t, states, counts, accurate)

    def _powers(
        self, members: Members, phases: list[PhaseOfMember], counts: NDArray[np.int64], t: Floats, y: Floats
    ) -> tuple[MemberPowers, NDArray[np.bool_]] | None:
        """Return the powers at states of the phases, ``counts`` of each, and which multipliers are determined.

        The result is None if the rows that are independent at the first state of a mode do not stay so.
        """
        m, e = len(self.dynamics.constraints), len(self.entries_of_whole)
        of_phase = np.repeat(np.arange(len(phases)), counts)
        member = np.array([phase.member for phase in phases])[of_phase]
        actual, split = np.zeros((len(t), e)), np.zeros((len(t), e))
        numbers, unique = np.zeros((3, len(t))), np.ones((len(t), m), bool)
        for mode in dict.fromkeys(phase.mode for phase in phases):
            own = np.flatnonzero(np.array([phase.mode is mode for phase in phases])[of_phase])
            if not own.size:
                continue
            p = np.stack([phase.p for phase in phases if phase.mode is mode])
            p = np.repeat(p, counts[[phase.mode is mode for phase in phases]], axis=0)
            rows = rows_of_ledger(mode.dynamics, y[own[0]], t[own[0]], p[0])
            terms = compiled_ledger_terms(mode.dynamics, self.method, rows, y[own], t[own], p)
            if terms is None:
                return None
            places = ledger_entries(mode.mode, self.system)
            for k, place in enumerate(places):
                actual[own, place] += terms.powers[:, k]
                split[own, place] += terms.split[:, k]
            for k, place in enumerate(places[1 : 1 + terms.unique.shape[1]]):
                if place <= m:  # others are those that hold a sticking contact
                    unique[own, place - 1] = terms.unique[:, k]
            numbers[:, own] = terms.kinetic, terms.energy, np.abs(terms.forces).sum(axis=(1, 2))
        named = dict(zip(self.system.parameter_names, members.p[:, member], strict=True))
        actual, split = (self.entries.split(values, t, y, named) for values in (actual, split))
        return MemberPowers(actual, split, *numbers), unique


class PhaseNodes(NamedTuple):
    """Quadrature nodes in I intervals of phases: those of ``Intervals``, the nodes t (I, 15), and states y (15 I, 2n).

    counts      of nodes, by phase
    accurate    (N,) the members in which a step reaches every node
    """

    member: NDArray[np.int64]
    output: NDArray[np.int64]
    half: Floats
    t: Floats
    y: Floats
    counts: NDArray[np.int64]
    accurate: NDArray[np.bool_]


def _phases(begun: list[BegunPhases], done: NDArray[np.bool_], end: float) -> list[PhaseOfMember]:
    """Return the phases of the members that are done, which are numbered anew, in the order of members and of time."""
    numbers = np.cumsum(done) - 1
    own: dict[int, list[PhaseOfMember]] = {int(k): [] for k in numbers[done]}
    for part in begun:
        for k in np.flatnonzero(done[part.member]):
            member = int(numbers[part.member[k]])
            own[member].append(PhaseOfMember(part.mode, member, float(part.t[k]), end, part.y[k], part.p[k]))
    found: list[PhaseOfMember] = []
    for phases in own.values():
        ends = [*(phase.start for phase in phases[1:]), end]
        found += [phase._replace(end=e) for phase, e in zip(phases, ends, strict=True) if e > phase.start]
    return found
