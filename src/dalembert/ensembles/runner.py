# SPDX-License-Identifier: BSD-3-Clause
"""Integration of ensemble members: by compiled code where it can, else one by one."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.ensembles.member_events import EventTable
from dalembert.ensembles.members import Members
from dalembert.ensembles.native_members import NativeMembers, NativeStates
from dalembert.ensembles.repeated_notes import notes_to_repeat
from dalembert.ensembles.stick_slip_outputs import OutputPhases
from dalembert.ensembles.stick_slip_rounds import StickSlipRounds, supports_rounds
from dalembert.ensembles.switched_outputs import SwitchedPhases
from dalembert.equation.answer_checks import OR_WEIGH_THEM, PASS_IT
from dalembert.errors import DalembertError, InputError, SimulationError
from dalembert.integration.default_tolerances import with_tolerances
from dalembert.integration.failure import SO_FAR, USE_IMPLICIT
from dalembert.integration.method import Method
from dalembert.integration.native_steps import in_machine_code
from dalembert.integration.run import run
from dalembert.integration.start_states import OR_ALLOW_IT
from dalembert.integration.time_segments import settled_times
from dalembert.integration.trajectory import Trajectory
from dalembert.lowering.build import build
from dalembert.model.abrupt_functions import abrupt_functions_of_time
from dalembert.model.coefficients import negative_coefficients
from dalembert.model.expression_values import expression_values
from dalembert.model.friction_contacts import contacts
from dalembert.model.moving_coefficients import MovingCoefficients, moving_coefficients
from dalembert.model.system import System
from dalembert.stick_slip.simulation import StickSlipSimulation
from dalembert.stick_slip.transitions import contacts_at_rest

CHUNK = 4096
"""Number of members between two updates of the progress bar; a summary holds no more than these in memory."""

LEAST_SLIDING_SPEED = 1e-6
"""Sliding speed, relative to the state, above which a contact is not at rest for certain."""

TIMES_OF_COEFFICIENTS = 129
"""Times at which coefficients of laws that depend on time are evaluated for members whose states are not stored."""

GPU_BATCH_BYTES = 2**30
"""Bytes of states per chunk on a GPU, which is efficient only with many members."""


class EnsembleStates(NamedTuple):
    """States (N, T, 2n) of members, NaN from the time of a failure, and reasons of failure (N,), empty if none.

    ``failed`` (N,) says which members have a reason, ``exact`` (N,) which starts are known to satisfy the constraints
    up to rounding; ``phases`` are those of the outputs under dry friction or with contacts, if they are needed for
    forces; ``events`` are those of members.
    """

    y: Floats
    reasons: NDArray[np.str_]
    failed: NDArray[np.bool_]
    exact: NDArray[np.bool_]
    phases: OutputPhases | SwitchedPhases | None = None
    events: EventTable | None = None


class EnsembleRunner:
    """Integrates ensemble members of one system by one method, all at the same times.

    reference    the member that selects the constraint rows; by default the first one that can be integrated
    threads      the number of threads; None for all cores
    forces       whether forces are needed, and therefore the phases of outputs under dry friction
    single       whether to compute in single precision, on a GPU
    """

    def __init__(
        self,
        system: System,
        method: Method,
        times: Floats,
        *,
        every: bool,
        on_gpu: bool,
        reference: Members | None = None,
        threads: int | None = None,
        forces: bool = False,
        single: bool = False,
    ):
        dynamics = build(system)
        self.system, self.contacts = system, contacts(system)
        self.dynamics, self.method, self.times, self.every, self.on_gpu = dynamics, method, times, every, on_gpu
        self.reference, self.threads = reference, threads
        self.native = NativeMembers(
            dynamics, method, times, every=every, on_gpu=on_gpu, reference=reference, threads=threads, single=single
        )
        self.handed_over: tuple[int, ...] = ()  # members of the last call, handed over to the general integrator
        self.rounds = self._rounds_of_friction(forces=forces)
        if forces and self.contacts and self.rounds is None:
            raise InputError(
                '`outputs` of a system whose contacts can stick must be "q", "qd" or expressions of them, unless all '
                "contacts slide along lines, steps are adaptive and the device is a CPU: forces depend on which "
                "contacts stick. Simulate members one by one with `da.simulate` to see them."
            )
        self.member_notes: dict[int, tuple[str, ...]] = {}  # notes on members of the last call, by their index
        self._last_run: Trajectory | None = None  # of the last member that was simulated by itself
        if on_gpu and not in_machine_code(dynamics, method):
            raise InputError(
                'with `device="gpu"` the system must be compiled; it contains a law or a function that cannot be. '
                'Use `device="cpu"`.'
            )

    @property
    def chunk_size(self) -> int:
        """The number of members per chunk."""
        if not self.on_gpu:
            return CHUNK
        return max(GPU_BATCH_BYTES // (16 * len(self.dynamics.coordinates) * self.native.stored_times), 1)

    @property
    def seconds(self) -> float:
        """Seconds in compiled code, without preparation and conversion."""
        return self.native.seconds + (0.0 if self.rounds is None else self.rounds.seconds)

    def compile_for(self, member: Members) -> None:
        """Compile the integrator for a member, unless it has been compiled before or cannot be."""
        self.native.compile_for(member)

    def __call__(self, members: Members) -> EnsembleStates:
        """Return the motions of some members."""
        negative = negative_coefficients(self.system, members.p)
        usable = members.finite_parameters if self.reference is not None else members.finite
        usable[list(negative)] = False
        if self.rounds is None:
            moving = usable & ~self._at_rest(members) if self.contacts else usable
            found, done, exact, phases = self.native(members, moving)
        else:
            found, done, exact, phases = self._in_rounds(self.rounds, members, usable)
        if (coefficients := moving_coefficients(self.system)) is not None:
            # simulated by itself, such a member ends with the reason
            done &= ~self._negative(coefficients, members, found)
        reasons, failed, self.handed_over = np.broadcast_to(np.array("", "U1"), len(members)), ~done, ()
        self.member_notes = {}
        if not done.all():
            found[~done], messages = np.nan, np.full(len(members), "", object)
            # only now: for those that were completed, the compiled integrator has seen to it that they are finite
            finite = members.finite
            usable &= finite
            messages[list(negative)] = list(negative.values())
            messages[~finite] = "its initial state or its parameters are not finite."
            alone = np.flatnonzero(usable & ~done)
            self.handed_over = tuple(map(int, alone))
            for k in alone:
                states, messages[k] = self._general(members.state(k), members.p[:, k])
                found[k] = states if self.every else states[-1:]
                if self._last_run is not None and (found_notes := notes_to_repeat(self._last_run.notes)):
                    self.member_notes[int(k)] = found_notes
                if phases is not None and self._last_run is not None:
                    phases.runs[int(k)] = self._last_run
            reasons = messages.astype(str)
            failed = reasons != ""
        return EnsembleStates(found, reasons, failed, exact, phases)

    def _negative(self, moving: MovingCoefficients, members: Members, found: Floats) -> NDArray[np.bool_]:
        """Return the members of which a coefficient that changes with time or state is negative, or may have been."""
        none = np.zeros(len(members), bool)
        if moving.of_state and not self.every:
            return ~none  # the states between are not known
        times = self.times if self.every else np.linspace(self.times[0], self.times[-1], TIMES_OF_COEFFICIENTS)
        y = found if moving.of_state else np.zeros((len(members), 1, 2 * len(members.q)))
        for k, t in enumerate(times):
            state = y[:, k] if moving.of_state else y[:, 0]
            none |= (moving.values(np.full(len(members), t), state, members.p) < 0).any(axis=1)
        return none

    def _rounds_of_friction(self, *, forces: bool) -> StickSlipRounds | None:
        """Return the simulation of contacts that stick and slip, by the compiled integrator; None if there is none."""
        if self.on_gpu or not supports_rounds(self.system, self.contacts, self.method):
            return None
        # their jumps are not among those of the equations, at which members are simulated by themselves
        if abrupt_functions_of_time(c.mu_static for c in self.contacts):
            return None
        return StickSlipRounds(
            self.system, self.contacts, self.method, every=self.every, threads=self.threads, with_phases=forces
        )

    def _in_rounds(self, rounds: StickSlipRounds, members: Members, usable: Any) -> NativeStates:
        """Return the states of members under dry friction."""
        shape = len(members), self.native.stored_times, 2 * len(members.q)
        phases = None if not rounds.with_phases else rounds.no_phases(*shape[:2])
        done, exact = (np.zeros(len(members), bool) for _ in range(2))
        whole = NativeStates(np.full(shape, np.nan), done, exact, phases)
        for selection, times, spans in self.native.grouped(members):
            own = np.arange(len(members))[selection]
            own = own[usable[own]]
            # at jumps of explicit functions of time members are simulated by themselves
            if len(spans) != 1 or spans[0].start != times[0] or not own.size:
                continue
            found = rounds(members.subset(own).y, members.p[:, own], times, spans[0].max_step)
            for all_members, part in zip(whole[:3], found[:3], strict=True):
                all_members[own] = part
            if phases is not None:
                phases.put(own, found[3])
        return whole

    def _at_rest(self, members: Members) -> NDArray[np.bool_]:
        """Return which members start with a contact at rest, which friction may hold."""
        slow, names = np.zeros(len(members), bool), self.dynamics.parameters
        for contact in self.contacts:
            begin, values = np.full(len(members), self.times[0]), dict(zip(names, members.p, strict=True))
            v = expression_values(self.system, contact.velocity)(begin, members.y.T, values)
            slow |= np.linalg.norm(v, axis=-1) <= LEAST_SLIDING_SPEED * (1 + np.abs(members.qd).max(axis=0))
        for k in np.flatnonzero(slow):
            p = dict(zip(names, map(float, members.p[:, k]), strict=True))
            start = members.state(k), float(self.times[0])
            slow[k] = bool(contacts_at_rest(self.system, self.contacts, *start, p))
        return slow

    def _general(self, y: Floats, p: Floats) -> tuple[Floats, str]:
        """Return states at all times by a single run of the general integrator, and its error message."""
        n, states = len(y) // 2, np.full((len(self.times), len(y)), np.nan)
        times = settled_times(self.dynamics, p, self.times)
        start: dict[str, Any] = {"allow_violation": False, "progress": False}
        self._last_run = None
        try:
            done = self._single_run(self.method, y[:n], y[n:], p, times, start)
        except SimulationError as end:
            self._last_run = reached = end.trajectory
            known = np.searchsorted(reached.t, times[times <= reached.t[-1]])
            states[: len(known)] = np.concatenate([reached.q, reached.qd], axis=1)[known]
            states[-1] = np.nan  # even if reached: the failure is at this time
            return states, for_ensemble_member(str(end))
        except DalembertError as error:
            return states, for_ensemble_member(str(error))
        self._last_run = done
        return np.concatenate([done.q, done.qd], axis=1), ""

    def _single_run(
        self, method: Method, q: Floats, qd: Floats, p: Floats, times: Floats, start: dict[str, Any]
    ) -> Trajectory:
        values = tuple(map(np.asarray, p))  # arrays, because every new Python number would be compiled again
        if not self.contacts:
            return run(self.dynamics, method, q, qd, times, values, **start)
        method = with_tolerances(self.dynamics, method, q, qd, times[0], values)
        numbers = dict(zip(self.dynamics.parameters, map(float, p), strict=True))
        return StickSlipSimulation(self.system, self.contacts, method, numbers).run(q, qd, times, **start)


def for_ensemble_member(message: str) -> str:
    """Return a message of a single run without arguments and objects that an ensemble does not have."""
    for advice in (OR_ALLOW_IT, SO_FAR, OR_WEIGH_THEM):
        message = message.replace(advice, "")
    for argument in (USE_IMPLICIT, PASS_IT):
        message = message.replace(argument, f"run this member by `da.simulate` and {argument}")
    return message
