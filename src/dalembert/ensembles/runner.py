# SPDX-License-Identifier: BSD-3-Clause
"""The motions of many members in machine code: on all cores or on a GPU, and alone where that declines."""

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
from dalembert.equation.answer_checks import OR_WEIGH_THEM
from dalembert.errors import DalembertError, InputError, SimulationError
from dalembert.integration.default_tolerances import USUAL_ATOL, with_tolerances
from dalembert.integration.failure import IMPLICIT, SO_FAR
from dalembert.integration.method import Method
from dalembert.integration.native_steps import cure_of, in_machine_code, is_refined, native_of, rows_for
from dalembert.integration.run import run
from dalembert.integration.start_states import OR_ALLOW_IT
from dalembert.integration.time_segments import Segment, segments_of
from dalembert.integration.trajectory import Trajectory
from dalembert.lowering.build import build
from dalembert.model.coefficients import negative_coefficients
from dalembert.model.friction_contacts import contacts
from dalembert.model.numerical_values import expression_values
from dalembert.model.system import System
from dalembert.native.batch import MotionBatch
from dalembert.native.gpu import GpuMotionBatch
from dalembert.native.step_control import settings_of
from dalembert.native.stepper import FINISHED
from dalembert.stick_slip.simulation import StickSlipSimulation
from dalembert.stick_slip.transitions import REST_SPEED

Machine = Callable[..., tuple[Floats, Floats]]
"""Moves members: see ``native.batch.MotionBatch``."""


CHUNK = 4096
"""Members between two looks at the clock; of a summary no more than these are in memory."""

MOST_KINDS = 64
"""Different courses of the explicit functions of time, by parameters, for which members are grouped."""

GPU_BATCH_BYTES = 2**30
"""The same for a GPU, as bytes of states: it is quick only with many members."""


class Moved(NamedTuple):
    """States (N, T, 2n) of members at times, NaN from where a motion failed; what is wrong (N,), empty if nothing."""

    y: Floats
    reasons: NDArray[np.str_]


class EnsembleRunner:
    """Moves members of one system by one method, all at the same times."""

    def __init__(self, system: System, method: Method, times: Floats, *, every: bool, on_gpu: bool):
        dynamics = build(system)
        self.system, self.contacts = system, contacts(system)
        self.dynamics, self.method, self.times, self.every, self.on_gpu = dynamics, method, times, every, on_gpu
        self.seconds = 0.0  # in machine code, without what comes before and after
        self.declined = 0  # members that machine code did not answer for
        self._machine: Any = None
        self._rows: tuple[int, ...] = ()
        if on_gpu and not in_machine_code(dynamics, method):
            raise InputError(
                'with `device="gpu"` a system must have machine code; this one has a law or a function that has none. '
                'Take `device="cpu"`.'
            )

    @property
    def most(self) -> int:
        """Members to be taken at a time."""
        if not self.on_gpu:
            return CHUNK
        return max(GPU_BATCH_BYTES // (16 * len(self.dynamics.coordinates) * self._kept), 1)

    @property
    def _kept(self) -> int:
        return len(self.times) if self.every else 1

    def __call__(self, members: Members) -> Moved:
        """The motions of some members."""
        finite = members.finite
        negative = negative_coefficients(self.system, members.p)
        usable = finite.copy()
        usable[list(negative)] = False
        found, done = self._native(members, usable & ~self._at_rest(members))
        reasons = np.zeros(len(members), "U1")
        if not done.all():
            found[~done], said = np.nan, np.full(len(members), "", object)
            said[list(negative)] = list(negative.values())
            said[~finite] = "its start or its parameters are not finite numbers."
            alone = np.flatnonzero(usable & ~done)
            self.declined += len(alone)
            for k in alone:
                states, said[k] = self._general(members.y[:, k], members.p[:, k])
                found[k] = states if self.every else states[-1:]
            reasons = said.astype(str)
        return Moved(found, reasons)

    def _at_rest(self, members: Members) -> NDArray[np.bool_]:
        """Which members start with a contact at rest: it may be held."""
        found, n = np.zeros(len(members), bool), len(members.y) // 2
        numbers = dict(zip(self.dynamics.parameters, members.p, strict=True))
        for contact in self.contacts:
            begin = np.full(len(members), self.times[0])
            v = expression_values(self.system, contact.velocity)(begin, members.y.T, numbers)
            found |= np.linalg.norm(v, axis=-1) <= REST_SPEED * np.abs(members.y[n:]).max(axis=0)
        return found

    def _native(self, members: Members, finite: Any) -> tuple[Floats, Any]:
        """States of members, and whose the machine code answers for."""
        found, done = np.empty((len(members), self._kept, len(members.y))), np.zeros(len(members), bool)
        if not finite.any() or not in_machine_code(self.dynamics, self.method):
            return found, done
        first = int(np.argmax(finite))
        machine = self._prepared(members.y[:, first], members.p[:, first])
        for mine, spans in self._alike(members):
            if len(spans) == 1 and spans[0].start == self.times[0]:
                given = members.y[:, mine], members.p[:, mine]
                found[mine], done[mine] = self._over(machine, *given, spans[0], self.times, every=self.every)
            else:
                found[mine], done[mine] = self._over_spans(machine, members.y[:, mine], members.p[:, mine], spans)
        done &= finite
        if len(self._rows) < len(self.dynamics.levels):  # which rows are left out depends on the member
            done[done] = [self._suits(members, int(k)) for k in np.flatnonzero(done)]
        return found, done

    def _alike(self, members: Members) -> list[tuple[Any, list[Segment]]]:
        """Members by the segments of time that their parameters make; those of too many kinds are not taken at all."""
        begin, end = float(self.times[0]), float(self.times[-1])
        native = native_of(self.dynamics)
        if native.time_functions is None:
            return [(slice(None), [Segment(begin, end)])]
        kinds, kind = np.unique(members.p[native.parameters_of_time], axis=1, return_inverse=True)
        if kinds.shape[1] > MOST_KINDS:
            return []
        groups = [np.flatnonzero(kind.ravel() == k) for k in range(kinds.shape[1])]
        return [(mine, segments_of(self.dynamics, members.p[:, mine[0]], begin, end)) for mine in groups]

    def _over(
        self, machine: Any, y: Floats, p: Floats, span: Segment, times: Floats, *, every: bool
    ) -> tuple[Floats, Any]:
        """States of members at times within a span, or at the last of them, and who has reached its end."""
        settings, room = self._settings(span, len(y)), min(self.method.max_steps, 2**63 - 1)
        began = time.perf_counter()
        found, endings = machine(y, p, times, settings, room, every=every)
        self.seconds += machine.seconds if self.on_gpu else time.perf_counter() - began
        return found, endings == FINISHED

    def _over_spans(self, machine: Any, y: Floats, p: Floats, spans: list[Segment]) -> tuple[Floats, Any]:
        """The same at all outputs, span by span; a member that cannot begin one of them is not done."""
        start, done = y, np.ones(y.shape[1], bool)
        states = np.full((y.shape[1], len(self.times), len(y)), np.nan)
        for span in spans:
            inside = (self.times >= span.start) & (self.times <= span.end)
            if span.start == span.end:
                states[:, inside] = y.T[:, None]
                continue
            times = np.unique(np.concatenate([[span.start], self.times[inside], [span.end]]))
            found, ended = self._over(machine, y, p, span, times, every=True)
            states[:, inside] = found[:, np.searchsorted(times, self.times[inside])]
            y, done = np.ascontiguousarray(found[:, -1].T), done & ended
        if self.times[0] < spans[0].start:  # a jump at the very start
            states[:, 0] = start.T
        return states if self.every else states[:, -1:], done & np.isfinite(states).all(axis=(1, 2))

    def _settings(self, span: Segment, size: int) -> Floats:
        """Return the settings of the method for machine code: see ``march.MEMBER``."""
        method = self.method
        if method.step is not None:
            return np.array([method.step])
        scaled = method.atol is None
        atol = USUAL_ATOL if scaled else method.atol
        max_step = min(method.max_step, span.max_step)
        return np.append(settings_of(span.start, span.end, method.rtol, atol, max_step, size), float(scaled))

    def _prepared(self, y: Floats, p: Floats) -> Any:
        """Machine code for the rows that are independent where a member starts."""
        if self._machine is None:
            rows = rows_for(self.dynamics, y, float(self.times[0]), p)
            cure = cure_of(self.method.drift, self.dynamics.levels)
            kind = GpuMotionBatch if self.on_gpu else MotionBatch
            refined = is_refined(self.dynamics, rows, y, float(self.times[0]), p)
            tableau = self.method.tableau
            assert tableau is not None  # an ensemble takes no diffrax solver
            made = native_of(self.dynamics).motions(rows, *cure, kind, tableau, refined)
            self._machine, self._rows = made if self.on_gpu else _on_all_cores(made), rows
        return self._machine

    def _suits(self, members: Members, k: int) -> bool:
        """Whether the rows in use are those that a member would use alone."""
        return rows_for(self.dynamics, members.y[:, k], float(self.times[0]), members.p[:, k]) == self._rows

    def _general(self, y: Floats, p: Floats) -> tuple[Floats, str]:
        """States at all times by all means of a single run, which knows what to say where it fails; what it says."""
        n, times, states = len(y) // 2, self.times, np.full((len(self.times), len(y)), np.nan)
        start: dict[str, Any] = {"allow_violation": False, "progress": False}
        try:
            done = self._alone(self.method, y[:n], y[n:], p, start)
        except SimulationError as end:
            reached = end.trajectory
            known = np.searchsorted(reached.t, times[times <= reached.t[-1]])
            states[: len(known)] = np.concatenate([reached.q, reached.qd], axis=1)[known]
            states[-1] = np.nan  # reached or not: if so, it is there that something is wrong
            return states, _for_a_member(str(end))
        except DalembertError as refusal:
            return states, _for_a_member(str(refusal))
        return np.concatenate([done.q, done.qd], axis=1), ""

    def _alone(self, method: Method, q: Floats, qd: Floats, p: Floats, start: dict[str, Any]) -> Trajectory:
        values = tuple(map(np.asarray, p))  # arrays, since every new Python number would be compiled anew
        if not self.contacts:
            return run(self.dynamics, method, q, qd, self.times, values, **start)
        method = with_tolerances(self.dynamics, method, q, qd, self.times[0], values)
        numbers = dict(zip(self.dynamics.parameters, map(float, p), strict=True))
        return StickSlipSimulation(self.system, self.contacts, method, numbers).run(q, qd, self.times, **start)


def _for_a_member(message: str) -> str:
    """A message of a single run without the arguments and objects that an ensemble does not have."""
    for advice in (OR_ALLOW_IT, SO_FAR, OR_WEIGH_THEM):
        message = message.replace(advice, "")
    return message.replace(IMPLICIT, f"run this member by `da.simulate` and {IMPLICIT}")


def _on_all_cores(motions: MotionBatch) -> Machine:
    """Members divided among threads: machine code leaves Python's lock alone."""
    workers, run_part = os.cpu_count() or 1, cast("Machine", motions)

    def move(y: Floats, p: Floats, *rest: Any, every: bool) -> tuple[Floats, Floats]:
        # more parts than workers: members take unequally long
        cuts = np.linspace(0, y.shape[1], min(4 * workers, y.shape[1]) + 1).astype(int)
        stop = np.zeros(1)
        with ThreadPoolExecutor(workers) as pool:
            parts = [pool.submit(run_part, y[:, i:j], p[:, i:j], *rest, stop, every=every) for i, j in pairwise(cuts)]
            try:
                states, endings = zip(*(part.result() for part in parts), strict=True)
            except BaseException:  # Ctrl-C among them: the pool waits for its threads, which must not go on for long
                stop[0] = 1.0
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return np.concatenate(states), np.concatenate(endings)

    return move
