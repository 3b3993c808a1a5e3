# SPDX-License-Identifier: BSD-3-Clause
"""Ensemble members by the compiled integrator, on all cores or on a GPU."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.ensembles.members import Members
from dalembert.ensembles.stick_slip_outputs import OutputPhases
from dalembert.equation.dynamics import Dynamics, native_of
from dalembert.errors import InputError
from dalembert.integration.default_tolerances import USUAL_ATOL
from dalembert.integration.method import Method
from dalembert.integration.native_steps import cure_of, in_machine_code
from dalembert.integration.row_selection import are_independent_rows, is_refined, rows_for
from dalembert.integration.start_states import terms_of_states
from dalembert.integration.step_check import off_constraints, projects_fixed_steps
from dalembert.integration.time_segments import TimeSegment, segments_of, settled_times
from dalembert.native.batch import MotionBatch
from dalembert.native.gpu import GpuMotionBatch, single_motion_batch
from dalembert.native.member_writer import EXACT_START
from dalembert.native.step_control import LEAST_STEP, settings_of
from dalembert.native.stepper import FINISHED
from dalembert.native.tableau import Tableau

BatchIntegrator = Callable[..., tuple[Floats, NDArray[np.int8]]]
"""Integrates a batch of members: see ``native.batch.MotionBatch``."""

Start = tuple[Floats, Floats]
"""Positions and velocities, each (n, N), at which members start."""

EXAMINED_AT_ONCE = 4096
"""Members whose last states are examined at once, to bound the memory for their mass matrices."""

MAX_GROUPS = 64
"""Largest number of groups of members with the same discontinuities of the explicit functions of time."""


class NativeStates(NamedTuple):
    """States (N, T, 2n) by the compiled integrator, which members it completed (N,), and which starts are exact.

    ``phases`` are those of the outputs under dry friction.
    """

    y: Floats
    done: NDArray[np.bool_]
    exact: NDArray[np.bool_]
    phases: OutputPhases | None = None


class NativeMembers:
    """Integrates ensemble members by the compiled integrator, all at the same times.

    every        whether states are kept at all times, or only at the last one
    reference    the member that selects the constraint rows; by default the first one that can be integrated
    threads      the number of threads; None for all cores
    single       whether to compute in single precision, on a GPU
    """

    def __init__(
        self,
        dynamics: Dynamics,
        method: Method,
        times: Floats,
        *,
        every: bool,
        on_gpu: bool,
        reference: Members | None,
        threads: int | None,
        single: bool = False,
    ):
        self.dynamics, self.method, self.times, self.every, self.on_gpu = dynamics, method, times, every, on_gpu
        self.single = single
        self.reference, self.threads = reference, threads
        self.seconds = 0.0  # in compiled code, without preparation and conversion
        self._integrator: Any = None
        self._rows: tuple[int, ...] = ()

    @property
    def stored_times(self) -> int:
        """The number of times at which states are kept."""
        return len(self.times) if self.every else 1

    def __call__(self, members: Members, finite: Any) -> NativeStates:
        """Return the states of members by the compiled integrator."""
        if not finite.any() or not in_machine_code(self.dynamics, self.method):
            return self._not_done(members)
        first = members.subset(slice(int(np.argmax(finite)), None)) if self.reference is None else self.reference
        integrator = self._compiled(first.state(0), first.p[:, 0].copy())
        whole: NativeStates | None = None
        for selection, times, spans in self.grouped(members):
            given = integrator, (members.q[:, selection], members.qd[:, selection]), members.p[:, selection]
            if len(spans) == 1 and spans[0].start == times[0]:
                found = self._integrate_span(*given, spans[0], times, every=self.every)
            else:
                found = self._integrate_spans(*given, spans, times)
            if len(found.done) == len(members):
                whole = found  # not copied
            else:
                whole = whole or self._not_done(members)
                for all_members, own in zip(whole[:3], found[:3], strict=True):
                    all_members[selection] = own
        whole = whole or self._not_done(members)
        done = whole.done
        done &= finite
        if not self.has_all_rows:  # the rows that are left out depend on the member
            done &= self._use_same_rows(members)
        if projects_fixed_steps(self.dynamics, self.method):
            done &= ~self._off_constraints(members, whole.y[:, -1], done)
        return whole

    def _not_done(self, members: Members) -> NativeStates:
        """Return states of members none of which has been completed."""
        done, exact = (np.zeros(len(members), bool) for _ in range(2))
        return NativeStates(np.empty((len(members), self.stored_times, 2 * len(members.q))), done, exact)

    def _off_constraints(self, members: Members, y: Floats, done: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which members have left the constraints at their last states y (N, 2n), because steps are too long.

        All of them are examined only if one of a sample has: a step that is too long is so for many of them.
        """
        off, left = np.zeros(len(y), bool), np.flatnonzero(done)
        for stride in (max(len(left) // EXAMINED_AT_ONCE, 1), 1):
            for part in np.array_split(left[::stride], max(len(left[::stride]) // EXAMINED_AT_ONCE, 1)):
                at = np.full(len(part), float(self.times[-1]))
                terms = terms_of_states(self.dynamics, y[part], at, np.ascontiguousarray(members.p[:, part].T))
                off[part] = off_constraints(terms, y[part, : y.shape[1] // 2]).any(axis=1)
            if not off.any():
                break
        return off

    def grouped(self, members: Members) -> list[tuple[Any, Floats, list[TimeSegment]]]:
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
        self, integrator: Any, start: Start, p: Floats, span: TimeSegment, times: Floats, *, every: bool
    ) -> NativeStates:
        """Return states of members at times in a span, or at the last one; those that have reached its end are done."""
        settings, room = self._settings(span, 2 * len(start[0])), min(self.method.max_steps, 2**63 - 1)
        began = time.perf_counter()
        found, endings = integrator(start, p, times, settings, room, every=every)
        self.seconds += integrator.seconds if self.on_gpu else time.perf_counter() - began
        exact = endings >= EXACT_START
        # in place, because new memory for a million members takes as long as a tenth of some motions on a GPU
        ways = np.bitwise_and(endings, EXACT_START - 1, out=endings)
        return NativeStates(found, np.equal(ways, FINISHED, out=ways.view(bool)), exact)

    def _integrate_spans(
        self, integrator: Any, start: Start, p: Floats, spans: list[TimeSegment], outputs: Floats
    ) -> NativeStates:
        """Return the same at all outputs, span by span; a member that cannot start a span is not completed."""
        y = first = np.concatenate(start)
        done, exact = np.ones(y.shape[1], bool), None
        states = np.full((y.shape[1], len(outputs), len(y)), np.nan)
        for span in spans:
            inside = (outputs >= span.start) & (outputs <= span.end)
            if span.start == span.end:
                states[:, inside] = y.T[:, None]
                continue
            times = np.unique(np.concatenate([[span.start], outputs[inside], [span.end]]))
            found = self._integrate_span(integrator, (y[: len(y) // 2], y[len(y) // 2 :]), p, span, times, every=True)
            states[:, inside] = found.y[:, np.searchsorted(times, outputs[inside])]
            y, done = np.ascontiguousarray(found.y[:, -1].T), done & found.done
            exact = found.exact if exact is None else exact
        if outputs[0] < spans[0].start:  # a jump at the initial time
            states[:, 0] = first.T
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
        # in single precision no more is known of small components than of large ones
        atol = max(USUAL_ATOL, method.rtol if self.single else 0.0) if scaled else method.atol
        max_step = min(method.max_step, span.max_step)
        found = np.append(settings_of(span.start, span.end, method.rtol, atol, max_step, size), float(scaled))
        if self.single:
            found[LEAST_STEP] = 4 * np.spacing(np.float32(max(abs(span.start), abs(span.end))))
        return found

    @property
    def has_all_rows(self) -> bool:
        """Whether the compiled integrator uses all constraint rows, which are then independent."""
        return len(self._rows) == len(self.dynamics.levels)

    def compile_for(self, member: Members) -> None:
        """Compile the integrator for a member, unless it has been compiled before or cannot be."""
        if in_machine_code(self.dynamics, self.method):
            self._compiled(member.state(0), member.p[:, 0].copy())

    def _compiled(self, y: Floats, p: Floats) -> Any:
        """Return the compiled integrator for the rows that are independent at a member's initial state."""
        if self._integrator is None:
            rows = rows_for(self.dynamics, y, float(self.times[0]), p)
            cure = cure_of(self.method.drift, self.dynamics.levels)
            if self.single and len(rows) < len(self.dynamics.levels):
                raise InputError(
                    "a system with redundant constraints must be simulated in double precision: whether they agree "
                    'cannot be decided in single precision. Use `precision="double"`, or remove the constraints that '
                    "repeat others."
                )
            of_gpu = single_motion_batch if self.single else GpuMotionBatch
            kind = of_gpu if self.on_gpu else MotionBatch
            refined = is_refined(self.dynamics, rows, y, float(self.times[0]), p)
            tableau = self.method.tableau
            assert isinstance(tableau, Tableau)  # an ensemble takes no diffrax solver
            made = native_of(self.dynamics).motions(rows, *cure, kind, tableau, refined)
            self._integrator, self._rows = made if self.on_gpu else _multithreaded(made, self.threads), rows
        return self._integrator

    def _use_same_rows(self, members: Members) -> NDArray[np.bool_]:
        """Return for which members the rows in use are those that a single run would use, or as good."""
        y, p, t0 = np.ascontiguousarray(members.y.T), np.ascontiguousarray(members.p.T), float(self.times[0])
        with np.errstate(all="ignore"):  # members with values that are not finite are not completed anyway
            fit = are_independent_rows(self.dynamics, self._rows, y, t0, p)
            for k in np.flatnonzero(~fit & members.finite):
                fit[k] = rows_for(self.dynamics, y[k], t0, p[k]) == self._rows
        return fit


def _multithreaded(motions: MotionBatch, threads: int | None) -> BatchIntegrator:
    """Integrate members in several threads; the compiled code releases Python's lock."""
    workers, run_part = threads or os.cpu_count() or 1, cast("BatchIntegrator", motions)

    def move(
        start: Start, p: Floats, times: Floats, settings: Floats, most: int, *, every: bool
    ) -> tuple[Floats, NDArray[np.int8]]:
        # more parts than workers, because members take different times
        (q, qd), count = start, p.shape[1]
        cuts = np.linspace(0, count, min(4 * workers, count) + 1).astype(int)
        room = np.array([most])
        with ThreadPoolExecutor(workers) as pool:
            parts = [
                pool.submit(run_part, (q[:, i:j], qd[:, i:j]), p[:, i:j], times, settings, room, every=every)
                for i, j in pairwise(cuts)
            ]
            try:
                states, endings = zip(*(part.result() for part in parts), strict=True)
            except BaseException:  # including Ctrl-C: the pool waits for its threads, which must stop soon
                room[0] = 0
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return np.concatenate(states), np.concatenate(endings)

    return move
