# SPDX-License-Identifier: BSD-3-Clause
"""Integration of ensemble members with events, or with contacts that open and close: in rounds, else one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.ensembles.design_members import members_with
from dalembert.ensembles.member_events import EventTable, events_of_run
from dalembert.ensembles.members import Members
from dalembert.ensembles.native_members import NativeMembers
from dalembert.ensembles.repeated_notes import notes_to_repeat
from dalembert.ensembles.runner import CHUNK, EnsembleStates, for_ensemble_member
from dalembert.ensembles.switched_outputs import SwitchedPhases
from dalembert.ensembles.switching_rounds import SwitchingRounds, supports_switching
from dalembert.errors import DalembertError, SimulationError
from dalembert.integration.method import Method
from dalembert.integration.trajectory import Trajectory
from dalembert.lowering.build import build
from dalembert.model.active_system import active_system
from dalembert.model.coefficients import negative_coefficients
from dalembert.model.event import Event, further_parameters
from dalembert.model.friction_contacts import contacts
from dalembert.model.system import System
from dalembert.runs.event_run import simulate_with_events


class SwitchingRunner:
    """Integrates ensemble members of one system with events or contacts by one method, all at the same times.

    every      whether states are kept at all times, or only at the end
    threads    the number of threads; None for all cores
    forces     whether forces are needed, and therefore the phases of outputs
    """

    def __init__(
        self,
        system: System,
        events: Sequence[Event],
        method: Method,
        times: Floats,
        *,
        every: bool,
        threads: int | None,
        forces: bool,
    ):
        whole = active_system(system)
        self.system, self.events, self.method, self.times, self.every = system, events, method, times, every
        self.names = (*system.parameter_names, *further_parameters(system, events))
        self.contacts, self.dynamics = contacts(whole), build(whole)
        self.handed_over: tuple[int, ...] = ()
        self.member_notes: dict[int, tuple[str, ...]] = {}
        self._native = NativeMembers(
            self.dynamics, method, times, every=every, on_gpu=False, reference=None, threads=threads
        )
        self.with_phases = forces or any(event.then is not None for event in events)
        self.rounds = SwitchingRounds(system, events, method, every=every, threads=threads)
        self.possible = supports_switching(system, events, method)

    @property
    def chunk_size(self) -> int:
        """The number of members per chunk."""
        return CHUNK

    @property
    def seconds(self) -> float:
        """Seconds in compiled code, without preparation, decisions and conversion."""
        return self.rounds.integrate.seconds

    def compile_for(self, member: Members) -> None:
        """Compile nothing: the modes that members take are known when they do."""

    def __call__(self, members: Members) -> EnsembleStates:
        """Return the motions of some members."""
        count, width = len(members), 2 * len(members.q)
        negative = negative_coefficients(self.system, members.p[: len(self.system.parameter_names)])
        usable = members.finite
        usable[list(negative)] = False
        found = np.full((count, len(self.times) if self.every else 1, width), np.nan)
        done, exact, end = np.zeros(count, bool), np.zeros(count, bool), np.full(count, float(self.times[-1]))
        listed: list[list[tuple[float, str, str]]] = [[] for _ in range(count)]
        phases = SwitchedPhases.unknown(self.rounds.model, found.shape[:2]) if self.with_phases else None
        for own, times, max_step in self._groups(members, usable):
            part = self.rounds(members.subset(own).y, members.p[:, own], times, max_step, with_phases=self.with_phases)
            found[own], done[own], exact[own], end[own] = part.y, part.done, part.exact, part.end
            for k, events in zip(own, part.events, strict=True):
                listed[k] = events
            if phases is not None:
                phases.put(own, part.phases)
        messages = np.full(count, "", object)
        messages[list(negative)] = list(negative.values())
        messages[~members.finite] = "its initial state or its parameters are not finite."
        alone, self.member_notes = np.flatnonzero(usable & ~done), {}
        self.handed_over = tuple(map(int, alone))
        found[~done] = np.nan
        for k in alone:
            run, messages[k] = self._single_run(members.state(k), members.p[:, k])
            found[k], listed[k], end[k] = self._states(run, messages[k])
            if run is not None and phases is not None:
                phases.runs[int(k)] = run
            if run is not None and (found_notes := notes_to_repeat(run.notes)):
                self.member_notes[int(k)] = found_notes
        reasons = messages.astype(str) if (~done).any() else np.zeros(count, "U1")
        failed = reasons != ""
        end[failed & ~np.isin(np.arange(count), alone)] = np.nan
        return EnsembleStates(found, reasons, failed, exact, phases, EventTable.of(listed, end))

    def _groups(self, members: Members, usable: NDArray[np.bool_]) -> list[tuple[NDArray[np.intp], Floats, float]]:
        """Return the members that are simulated in rounds, by the discontinuities of functions of time."""
        if not self.possible:
            return []
        found: list[tuple[NDArray[np.intp], Floats, float]] = []
        for selection, times, spans in self._native.grouped(
            members_with(members, self.names, self.dynamics.parameters)
        ):
            own = np.arange(len(members))[selection]
            own = own[usable[own]]
            # at jumps of explicit functions of time members are simulated by themselves
            if len(spans) == 1 and spans[0].start == times[0] and own.size:
                found.append((own, times, spans[0].max_step))
        return found

    def _single_run(self, y: Floats, p: Floats) -> tuple[Trajectory | None, str]:
        """Return a single run of a member, as far as it goes, and its error message."""
        n, values = len(y) // 2, dict(zip(self.names, map(float, p), strict=True))
        given: dict[str, Any] = {"control": None, "allow_violation": False, "progress": False}
        try:
            return simulate_with_events(
                self.system, y[:n], y[n:], self.times, values, self.method, events=list(self.events), **given
            ), ""
        except SimulationError as end:
            return end.trajectory, for_ensemble_member(str(end))
        except DalembertError as error:
            return None, for_ensemble_member(str(error))

    def _states(self, run: Trajectory | None, message: str) -> tuple[Floats, list[tuple[float, str, str]], float]:
        """Return the states of a single run at the times of outputs, its events and its end."""
        width = 2 * len(self.dynamics.coordinates)
        states = np.full((len(self.times), width), np.nan)
        if run is None:
            return states if self.every else states[-1:], [], np.nan
        own = np.concatenate([run.q, run.qd], axis=1)
        reached = self.times <= run.t[-1]
        states[reached] = own[np.searchsorted(run.t, self.times[reached])]
        if message:
            states[-1] = np.nan  # even if reached: the failure is at this time
        last = states[-1:] if message else own[-1:]
        return states if self.every else last, events_of_run(run.events), float(run.t[-1])
