# SPDX-License-Identifier: BSD-3-Clause
"""Ensemble members under dry friction, in rounds: each round is one phase of sticking or sliding of every member.

The members in one mode are integrated together, each from its own time to its next transition; the transitions of all
of them are then decided together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.ensembles.modes_of_many import ModeOfMany
from dalembert.ensembles.phase_integration import PhaseIntegration
from dalembert.ensembles.stick_slip_outputs import OutputPhases
from dalembert.ensembles.stick_slip_transitions import MemberPhases, Transitions, groups, usual_scales
from dalembert.equation.dynamics import native_of
from dalembert.integration.integrate import LEAST_SEGMENT
from dalembert.integration.method import Method
from dalembert.integration.native_steps import in_machine_code
from dalembert.lowering.build import build
from dalembert.model.friction_contacts import Contact
from dalembert.model.system import System
from dalembert.native.guarded_batch import PhaseStarts
from dalembert.native.guarded_members import FIRED
from dalembert.native.step_control import SHORTEST_SPAN
from dalembert.native.stepper import FINISHED
from dalembert.stick_slip.simulation import MAX_SEGMENTS, MAX_STALLED_SEGMENTS, MIN_CHECKS, STALLED_SPAN


def supports_rounds(system: System, contacts: tuple[Contact, ...], method: Method) -> bool:
    """Return whether members can be simulated in rounds: adaptive steps, and contacts that slide along lines."""
    usual = method.step is None and in_machine_code(build(system), method)
    return usual and bool(contacts) and all(len(c.velocity) == 1 for c in contacts) and not system.servos


class BegunPhases(NamedTuple):
    """Phases of N members in one mode at their beginning: numbers (N,), states (N, 2n), times (N,), parameters (N, …).

    The parameters are those of the mode.
    """

    mode: ModeOfMany
    member: NDArray[np.intp]
    y: Floats
    t: Floats
    p: Floats


class StickSlipRounds:
    """Simulates members of one system with dry friction; see ``supports_rounds``.

    every          whether all outputs are kept, or the last one only
    threads        the number of threads; None for all cores
    with_phases    whether the phases of outputs are recorded, for their forces
    """

    def __init__(
        self,
        system: System,
        contacts: tuple[Contact, ...],
        method: Method,
        *,
        every: bool,
        threads: int | None,
        with_phases: bool = False,
    ):
        self.with_phases = with_phases
        self.system, self.contacts, self.method, self.every = system, contacts, method, every
        self.transitions, self.integrate = (
            Transitions(system, contacts, method),
            PhaseIntegration(method.max_steps, threads),
        )

    @property
    def seconds(self) -> float:
        """Seconds in compiled code."""
        return self.integrate.seconds

    def __call__(
        self, y: Floats, p: Floats, times: Floats, max_step: float, begun: list[BegunPhases] | None = None
    ) -> tuple[Floats, NDArray[np.bool_], NDArray[np.bool_], OutputPhases | None]:
        """Return states (N, T, 2n) of members with starts y (2n, N) and parameters (k, N), and the phases of outputs.

        The other results tell which members were completed and which starts satisfy the constraints up to rounding.
        All phases are appended to ``begun``, in the order of time for each member.
        """
        run = _Rounds(self, np.ascontiguousarray(y.T), p, times, max_step)
        run.begun = begun
        with self.integrate.pool():
            run.simulate()
        return run.out, run.done, run.exact, run.phases

    def no_phases(self, members: int, outputs: int) -> OutputPhases:
        """Return the phases of outputs, none of which is known yet."""
        shape = members, outputs, len(self.contacts)
        return OutputPhases(self.transitions, np.zeros(shape[:2], bool), np.zeros(shape, bool), np.zeros(shape))


class _Rounds:
    """Members on their way through the rounds."""

    def __init__(self, owner: StickSlipRounds, y: Floats, p: Floats, times: Floats, max_step: float):
        self.owner, self.times, count = owner, times, len(y)
        self.begin, self.end = float(times[0]), float(times[-1])
        self.out = np.full((count, len(times) if owner.every else 1, y.shape[1]), np.nan)
        if owner.every:
            self.out[:, 0] = y
        started = np.full(count, self.begin)
        dynamics = build(owner.system)
        valid, self.exact, scales = native_of(dynamics).starts_of_many(y, started, p.T)
        contacts = len(owner.contacts)
        self.members = MemberPhases(
            *(y, started, p, np.zeros((count, contacts), bool), np.zeros((count, contacts)), ~valid)
        )
        self.scales = scales
        self.tolerances = usual_scales(owner.method, scales)
        self.settings = np.array(
            [owner.method.rtol, min(owner.method.max_step, max_step), (self.end - self.begin) / MIN_CHECKS]
        )
        self.steps, self.stalled = np.zeros(count), np.zeros(count, int)
        self.segments, self.done = np.zeros(count, int), np.zeros(count, bool)
        self.phases = owner.no_phases(count, self.out.shape[1]) if owner.with_phases else None
        self.begun: list[BegunPhases] | None = None

    def simulate(self) -> None:
        """Go from phase to phase until every member has reached the end or must be simulated by itself."""
        members = self.members
        self._decide(np.flatnonzero(~members.odd), first=True)
        while (active := self._active()).size:
            for inside, sticking in groups(members.sticking[active]):
                self._integrate(active[inside], sticking)
            self._decide(np.flatnonzero(~(self.done | members.odd)), first=False)

    def _active(self) -> NDArray[np.intp]:
        """Return the members under way; those that are nearer to the end than the shortest step have reached it."""
        members = self.members
        near = ~(self.done | members.odd) & (self.end - members.t <= LEAST_SEGMENT * np.spacing(np.abs(members.t)))
        self.out[near, -1] = members.y[near]
        last = np.flatnonzero(near)
        self._record_phases(last, members.subset(last), np.full(len(last), len(self.times) - 1))
        self.done |= near
        return np.flatnonzero(~(self.done | members.odd))

    def _decide(self, selection: NDArray[np.intp], *, first: bool) -> None:
        """Choose the next phases of some members."""
        if not selection.size:
            return
        part = self.members.subset(selection)
        if first:
            self.owner.transitions.first(part, self.scales[selection, part.y.shape[1] // 2 :])
        else:
            self.owner.transitions.following(part)
        self.members.put(selection, part)

    def _record_phases(self, selection: NDArray[np.intp], part: MemberPhases, first: NDArray[np.int64]) -> None:
        """Record the phases of members for their next outputs; later phases replace them for later ones."""
        phases = self.phases
        if phases is None:
            return
        start = np.where(part.t == self.begin, 0, first if self.owner.every else 0)
        later = np.arange(phases.known.shape[1]) >= start[:, None]
        phases.known[selection] |= later
        for whole, own in ((phases.sticking, part.sticking), (phases.directions, part.directions)):
            whole[selection] = np.where(later[..., None], own[:, None], whole[selection])

    def _integrate(self, selection: NDArray[np.intp], sticking: NDArray[np.bool_]) -> None:
        """Integrate members of one mode to the ends of their phases."""
        members, part = self.members, self.members.subset(selection)
        mode = self.owner.transitions.mode(sticking, part)
        if not mode.compiled:
            members.odd[selection] = True
            return
        if self.begun is not None:
            own = mode.parameters(part.p, part.directions)
            self.begun.append(BegunPhases(mode, selection, part.y.copy(), part.t.copy(), own))
        least = np.maximum(LEAST_SEGMENT * np.spacing(np.abs(part.t)), SHORTEST_SPAN * (self.end - part.t))
        first = np.searchsorted(self.times, part.t, side="right")
        starts = PhaseStarts(
            part.y,
            part.t.copy(),
            mode.parameters(part.p, part.directions, of_guards=True).T,
            np.column_stack([least, self.tolerances[selection]]),
            first if self.owner.every else np.full(len(selection), len(self.times) - 1),
            selection.astype(np.int64),
            self.steps[selection],
        )
        endings = self.owner.integrate(mode, starts, self.out, self.times, self.settings)
        self._record_phases(selection, part, first)
        members.y[selection], members.t[selection] = starts.y, starts.t
        self.steps[selection] = starts.steps
        self.segments[selection] += 1
        fired = endings == FIRED
        self.done[selection] = (endings == FINISHED) | (fired & (starts.t >= self.end))
        standing = starts.t - part.t <= STALLED_SPAN * np.maximum(np.abs(starts.t), self.end - self.begin)
        self.stalled[selection] = np.where(standing, self.stalled[selection] + 1, 0)
        lost = (self.stalled[selection] >= MAX_STALLED_SEGMENTS) | (self.segments[selection] >= MAX_SEGMENTS)
        members.odd[selection] |= lost | ~(fired | self.done[selection])
