# SPDX-License-Identifier: BSD-3-Clause
"""Integration of ensemble members: compiled, on all cores or on a GPU, with hand-over to the general integrator."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from dalembert.array_types import Floats
from dalembert.ensembles.members import Members
from dalembert.ensembles.stick_slip_outputs import OutputPhases
from dalembert.ensembles.stick_slip_rounds import StickSlipRounds, supports_rounds
from dalembert.equation.answer_checks import OR_WEIGH_THEM, PASS_IT
from dalembert.errors import DalembertError, InputError, SimulationError
from dalembert.integration.default_tolerances import USUAL_ATOL, with_tolerances
from dalembert.integration.failure import IMPLICIT, SO_FAR
from dalembert.integration.method import Method
from dalembert.integration.native_steps import cure_of, in_machine_code, is_refined, native_of, rows_for, rows_for_many
from dalembert.integration.run import run
from dalembert.integration.start_states import OR_ALLOW_IT
from dalembert.integration.time_segments import TimeSegment, segments_of, settled_times
from dalembert.integration.trajectory import Trajectory
from dalembert.lowering.build import build
from dalembert.model.coefficients import negative_coefficients
from dalembert.model.expression_values import expression_values
from dalembert.model.friction_contacts import contacts
from dalembert.model.system import System
from dalembert.native.batch import MotionBatch
from dalembert.native.gpu import GpuMotionBatch
from dalembert.native.member_writer import EXACT_START
from dalembert.native.step_control import settings_of
from dalembert.native.stepper import FINISHED
from dalembert.native.tableau import Tableau
from dalembert.stick_slip.simulation import StickSlipSimulation
from dalembert.stick_slip.transitions import contacts_at_rest

BatchIntegrator = Callable[..., tuple[Floats, Floats]]
"""Integrates a batch of members: see ``native.batch.MotionBatch``."""


CHUNK = 4096
"""Number of members between two updates of the progress bar; a summary holds no more than these in memory."""

SLOW = 1e-6
"""Sliding speed, relative to the state, above which a contact is not at rest for certain."""

MAX_GROUPS = 64
"""Largest number of groups of members with the same discontinuities of the explicit functions of time."""

GPU_BATCH_BYTES = 2**30
"""Bytes of states per chunk on a GPU, which is efficient only with many members."""


class EnsembleStates(NamedTuple):
    """States (N, T, 2n) of members, NaN from the time of a failure, and reasons of failure (N,), empty if none.

    ``exact`` (N,) tells which starts are known to satisfy the constraints up to rounding; ``phases`` are those of the
    outputs under dry friction, if they are needed for forces.
    """

    y: Floats
    reasons: NDArray[np.str_]
    exact: NDArray[np.bool_]
    phases: OutputPhases | None = None


class NativeStates(NamedTuple):
    """States (N, T, 2n) by the compiled integrator, which members it completed (N,), and which starts are exact.

    ``phases`` are those of the outputs under dry friction.
    """

    y: Floats
    done: NDArray[np.bool_]
    exact: NDArray[np.bool_]
    phases: OutputPhases | None = None


class EnsembleRunner:
    """Integrates ensemble members of one system by one method, all at the same times.

    reference    the member that selects the constraint rows; by default the first one that can be integrated
    threads      the number of threads; None for all cores
    forces       whether forces are needed, and therefore the phases of outputs under dry friction
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
    ):
        dynamics = build(system)
        self.system, self.contacts = system, contacts(system)
        self.dynamics, self.method, self.times, self.every, self.on_gpu = dynamics, method, times, every, on_gpu
        self.reference, self.threads = reference, threads
        self.seconds = 0.0  # in compiled code, without preparation and conversion
        self.handed_over = 0  # members handed over to the general integrator
        self.rounds = self._rounds_of_friction(forces=forces)
        if forces and self.contacts and self.rounds is None:
            raise InputError(
                '`outputs` of a system whose contacts can stick must be "q", "qd" or expressions of them, unless all '
                "contacts slide along lines, steps are adaptive and the device is a CPU: forces depend on which "
                "contacts stick. Simulate members one by one with `da.simulate` to see them."
            )
        self._last_run: Trajectory | None = None  # of the last member that was simulated by itself
        self._integrator: Any = None
        self._rows: tuple[int, ...] = ()
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
        return max(GPU_BATCH_BYTES // (16 * len(self.dynamics.coordinates) * self._stored_times), 1)

    @property
    def _stored_times(self) -> int:
        return len(self.times) if self.every else 1

    def __call__(self, members: Members) -> EnsembleStates:
        """Return the motions of some members."""
        negative = negative_coefficients(self.system, members.p)
        usable = members.finite_parameters if self.reference is not None else members.finite
        usable[list(negative)] = False
        if self.rounds is None:
            found, done, exact, phases = self._native(members, usable & ~self._at_rest(members))
        else:
            found, done, exact, phases = self._in_rounds(self.rounds, members, usable)
        reasons = np.zeros(len(members), "U1")
        if not done.all():
            found[~done], messages = np.nan, np.full(len(members), "", object)
            # only now: for those that were completed, the compiled integrator has seen to it that they are finite
            finite = members.finite
            usable &= finite
            messages[list(negative)] = list(negative.values())
            messages[~finite] = "its initial state or its parameters are not finite."
            alone = np.flatnonzero(usable & ~done)
            self.handed_over += len(alone)
            for k in alone:
                states, messages[k] = self._general(members.y[:, k], members.p[:, k])
                found[k] = states if self.every else states[-1:]
                if phases is not None and self._last_run is not None:
                    phases.runs[int(k)] = self._last_run
            reasons = messages.astype(str)
        return EnsembleStates(found, reasons, exact, phases)

    def _rounds_of_friction(self, *, forces: bool) -> StickSlipRounds | None:
        """Return the simulation of contacts that stick and slip, by the compiled integrator; None if there is none."""
        if self.on_gpu or not supports_rounds(self.system, self.contacts, self.method):
            return None
        return StickSlipRounds(
            self.system, self.contacts, self.method, every=self.every, threads=self.threads, with_phases=forces
        )

    def _in_rounds(self, rounds: StickSlipRounds, members: Members, usable: Any) -> NativeStates:
        """Return the states of members under dry friction."""
        shape = len(members), self._stored_times, len(members.y)
        phases = None if not rounds.with_phases else rounds.no_phases(*shape[:2])
        done, exact = (np.zeros(len(members), bool) for _ in range(2))
        whole = NativeStates(np.full(shape, np.nan), done, exact, phases)
        for selection, times, spans in self._grouped(members):
            own = np.arange(len(members))[selection]
            own = own[usable[own]]
            # at jumps of explicit functions of time members are simulated by themselves
            if len(spans) != 1 or spans[0].start != times[0] or not own.size:
                continue
            before = rounds.seconds
            found = rounds(members.y[:, own], members.p[:, own], times, spans[0].max_step)
            self.seconds += rounds.seconds - before
            for all_members, part in zip(whole[:3], found[:3], strict=True):
                all_members[own] = part
            if phases is not None:
                phases.put(own, found[3])
        return whole

    def _at_rest(self, members: Members) -> NDArray[np.bool_]:
        """Return which members start with a contact at rest, which friction may hold."""
        slow, names = np.zeros(len(members), bool), self.dynamics.parameters
        for contact in self.contacts:
            begin = np.full(len(members), self.times[0])
            v = expression_values(self.system, contact.velocity)(
                begin, members.y.T, dict(zip(names, members.p, strict=True))
            )
            velocities = members.y[len(self.dynamics.coordinates) :]
            slow |= np.linalg.norm(v, axis=-1) <= SLOW * (1 + np.abs(velocities).max(axis=0))
        for k in np.flatnonzero(slow):
            p = dict(zip(names, map(float, members.p[:, k]), strict=True))
            start = members.y[:, k].copy(), float(self.times[0])
            slow[k] = bool(contacts_at_rest(self.system, self.contacts, *start, p))
        return slow

    def _native(self, members: Members, finite: Any) -> NativeStates:
        """Return the states of members by the compiled integrator."""
        done, exact = (np.zeros(len(members), bool) for _ in range(2))
        whole = NativeStates(np.empty((len(members), self._stored_times, len(members.y))), done, exact)
        if not finite.any() or not in_machine_code(self.dynamics, self.method):
            return whole
        first = members.subset(slice(int(np.argmax(finite)), None)) if self.reference is None else self.reference
        integrator = self._compiled(first.y[:, 0].copy(), first.p[:, 0].copy())
        for selection, times, spans in self._grouped(members):
            given = integrator, members.y[:, selection], members.p[:, selection]
            if len(spans) == 1 and spans[0].start == times[0]:
                found = self._integrate_span(*given, spans[0], times, every=self.every)
            else:
                found = self._integrate_spans(*given, spans, times)
            if len(found.done) == len(members):
                whole = found  # not copied
            else:
                for all_members, own in zip(whole[:3], found[:3], strict=True):
                    all_members[selection] = own
        done = whole.done & finite
        if len(self._rows) < len(self.dynamics.levels):  # the rows that are left out depend on the member
            done &= self._use_same_rows(members)
        return whole._replace(done=done)

    def _grouped(self, members: Members) -> list[tuple[Any, Floats, list[TimeSegment]]]:
        """Return members grouped by the events in time of their parameters, with the times of outputs and the segments.

        Members in too many groups are omitted.
        """
        native = native_of(self.dynamics)
        if native.time_functions is None:
            begin, end = float(self.times[0]), float(self.times[-1])
            return [(slice(None), self.times, segments_of(self.dynamics, members.p[:, 0], begin, end))]
        kinds, kind = np.unique(members.p[native.parameters_of_time], axis=1, return_inverse=True)
        if kinds.shape[1] > MAX_GROUPS:
            return []
        groups = [np.flatnonzero(kind.ravel() == k) for k in range(kinds.shape[1])]
        found: list[tuple[Any, Floats, list[TimeSegment]]] = []
        for selection in groups:
            p = members.p[:, selection[0]]
            times = settled_times(self.dynamics, p, self.times)
            found.append((selection, times, segments_of(self.dynamics, p, float(times[0]), float(times[-1]))))
        return found

    def _integrate_span(
        self, integrator: Any, y: Floats, p: Floats, span: TimeSegment, times: Floats, *, every: bool
    ) -> NativeStates:
        """Return states of members at times in a span, or at the last one; those that have reached its end are done."""
        settings, room = self._settings(span, len(y)), min(self.method.max_steps, 2**63 - 1)
        began = time.perf_counter()
        found, endings = integrator(y, p, times, settings, room, every=every)
        self.seconds += integrator.seconds if self.on_gpu else time.perf_counter() - began
        exact = endings >= EXACT_START
        return NativeStates(found, endings - EXACT_START * exact == FINISHED, exact)

    def _integrate_spans(
        self, integrator: Any, y: Floats, p: Floats, spans: list[TimeSegment], outputs: Floats
    ) -> NativeStates:
        """Return the same at all outputs, span by span; a member that cannot start a span is not completed."""
        start, done, exact = y, np.ones(y.shape[1], bool), None
        states = np.full((y.shape[1], len(outputs), len(y)), np.nan)
        for span in spans:
            inside = (outputs >= span.start) & (outputs <= span.end)
            if span.start == span.end:
                states[:, inside] = y.T[:, None]
                continue
            times = np.unique(np.concatenate([[span.start], outputs[inside], [span.end]]))
            found = self._integrate_span(integrator, y, p, span, times, every=True)
            states[:, inside] = found.y[:, np.searchsorted(times, outputs[inside])]
            y, done = np.ascontiguousarray(found.y[:, -1].T), done & found.done
            exact = found.exact if exact is None else exact
        if outputs[0] < spans[0].start:  # a jump at the initial time
            states[:, 0] = start.T
        done &= np.isfinite(states).all(axis=(1, 2))
        return NativeStates(
            states if self.every else states[:, -1:], done, np.zeros_like(done) if exact is None else exact
        )

    def _settings(self, span: TimeSegment, size: int) -> Floats:
        """Return the settings of the method for the compiled integrator: see ``member_writer.MEMBER``."""
        method = self.method
        if method.step is not None:
            return np.array([method.step])
        scaled = method.atol is None
        atol = USUAL_ATOL if scaled else method.atol
        max_step = min(method.max_step, span.max_step)
        return np.append(settings_of(span.start, span.end, method.rtol, atol, max_step, size), float(scaled))

    def compile_for(self, member: Members) -> None:
        """Compile the integrator for a member, unless it has been compiled before or cannot be."""
        if in_machine_code(self.dynamics, self.method):
            self._compiled(member.y[:, 0].copy(), member.p[:, 0].copy())

    def _compiled(self, y: Floats, p: Floats) -> Any:
        """Return the compiled integrator for the rows that are independent at a member's initial state."""
        if self._integrator is None:
            rows = rows_for(self.dynamics, y, float(self.times[0]), p)
            cure = cure_of(self.method.drift, self.dynamics.levels)
            kind = GpuMotionBatch if self.on_gpu else MotionBatch
            refined = is_refined(self.dynamics, rows, y, float(self.times[0]), p)
            tableau = self.method.tableau
            assert isinstance(tableau, Tableau)  # an ensemble takes no diffrax solver
            made = native_of(self.dynamics).motions(rows, *cure, kind, tableau, refined)
            self._integrator, self._rows = made if self.on_gpu else _multithreaded(made, self.threads), rows
        return self._integrator

    def _use_same_rows(self, members: Members) -> NDArray[np.bool_]:
        """Return for which members the rows in use are those that a single run of the member would use."""
        y, p, t0 = np.ascontiguousarray(members.y.T), np.ascontiguousarray(members.p.T), float(self.times[0])
        own = np.isin(np.arange(len(self.dynamics.levels)), self._rows)
        with np.errstate(all="ignore"):  # members with values that are not finite are not completed anyway
            same = np.asarray((rows_for_many(self.dynamics, y, t0, p) == own).all(axis=1))
            for k in np.flatnonzero(~same):  # rounding may decide between equal rows
                same[k] = rows_for(self.dynamics, y[k], t0, p[k]) == self._rows
        return same

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
            return states, _for_ensemble_member(str(end))
        except DalembertError as error:
            return states, _for_ensemble_member(str(error))
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


def _for_ensemble_member(message: str) -> str:
    """Return a message of a single run without arguments and objects that an ensemble does not have."""
    for advice in (OR_ALLOW_IT, SO_FAR, OR_WEIGH_THEM):
        message = message.replace(advice, "")
    for argument in (IMPLICIT, PASS_IT):
        message = message.replace(argument, f"run this member by `da.simulate` and {argument}")
    return message


def _multithreaded(motions: MotionBatch, threads: int | None) -> BatchIntegrator:
    """Integrate members in several threads; the compiled code releases Python's lock."""
    workers, run_part = threads or os.cpu_count() or 1, cast("BatchIntegrator", motions)

    def move(y: Floats, p: Floats, *rest: Any, every: bool) -> tuple[Floats, Floats]:
        # more parts than workers, because members take different times
        cuts = np.linspace(0, y.shape[1], min(4 * workers, y.shape[1]) + 1).astype(int)
        stop = np.zeros(1)
        with ThreadPoolExecutor(workers) as pool:
            parts = [pool.submit(run_part, y[:, i:j], p[:, i:j], *rest, stop, every=every) for i, j in pairwise(cuts)]
            try:
                states, endings = zip(*(part.result() for part in parts), strict=True)
            except BaseException:  # including Ctrl-C: the pool waits for its threads, which must stop soon
                stop[0] = 1.0
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return np.concatenate(states), np.concatenate(endings)

    return move
