# SPDX-License-Identifier: BSD-3-Clause
"""Phases of many ensemble members in one call of compiled code; threads run in parallel without Python's lock."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.native.assembly import POINTER, MachineCode, number, processor_width
from dalembert.native.batch import by_member
from dalembert.native.guarded_members import I64, GuardedPrograms, write_guarded
from dalembert.native.lanes import DOUBLE, LaneModule
from dalembert.native.tableau import Tableau
from dalembert.native.writer import LONG, Writer, whole


@dataclass
class PhaseStarts:
    """N members at the beginning of a phase; the integration replaces y, t and steps by those at its end.

    y, t          states (N, 2n) and times (N,)
    p             parameters (k, N)
    tolerances    (N, 1 + 2n), the shortest step and the absolute tolerances
    first         (N,) index of the first output
    rows          (N,) numbers of the members among the outputs
    steps         (N,) steps taken so far
    """

    y: Floats
    t: Floats
    p: Floats
    tolerances: Floats
    first: NDArray[np.int64]
    rows: NDArray[np.int64]
    steps: Floats


class GuardedBatch:
    """Integrates many ensemble members, each up to the end of a phase."""

    def __init__(self, programs: GuardedPrograms, tableau: Tableau):
        module = LaneModule(processor_width())
        _write_phases(module, write_guarded(module, programs, tableau), 2 * programs.n, programs.parameters)
        self._code = MachineCode(module)
        a, i = ctypes.c_void_p, ctypes.c_int64
        self._phases = ctypes.CFUNCTYPE(None, i, a, a, a, i, *[a] * 4, i, i, *[a] * 5)(self._code.address("phases"))

    def __call__(self, starts: PhaseStarts, times: Floats, out: Floats, settings: Floats, room: Floats) -> Floats:
        """Integrate members up to the end of their phases, store the outputs (all members, T, 2n), return the endings.

        If T is one, only the last output is stored. For ``settings`` and ``room`` (1,) see
        ``guarded_members.GUARDED``. Once another thread has set ``room`` to zero, the members end, and no further one
        is started.
        """
        # NaN remains for members that are not started
        endings, (parameters, own) = np.full(len(starts.t), np.nan), by_member(starts.p)
        self._phases(
            *(len(starts.t), starts.y.ctypes.data, starts.t.ctypes.data, parameters.ctypes.data, own),
            *(starts.tolerances.ctypes.data, starts.first.ctypes.data, starts.rows.ctypes.data, times.ctypes.data),
            *(len(times), int(out.shape[1] > 1), out.ctypes.data, settings.ctypes.data, starts.steps.ctypes.data),
            *(room.ctypes.data, endings.ctypes.data),
        )
        return endings


def _write_phases(module: LaneModule, guarded: ir.Function, size: int, parameters: int) -> None:
    """Write phases(count, …), which calls ``guarded`` for some members at a time."""
    P, width = POINTER, whole(module.width)
    kinds = LONG, P, P, P, LONG, P, I64, I64, P, LONG, LONG, *[P] * 5
    w = Writer(module, "phases", kinds)
    count, y, t, p, own, tolerances, first, rows, times, outputs, every, out, *rest = w.function.args
    settings, steps, room, endings = rest
    apart = w.b.mul(own, whole(parameters))
    for i in w.each(w.b.sdiv(w.b.add(count, whole(module.width - 1)), width)):
        begin = w.b.mul(i, width)
        left = w.b.sub(count, begin)
        # the last group may be smaller than the vectors of the processor
        present = w.b.select(w.b.icmp_signed("<", left, width), left, width)

        def at(array: ir.Value, length: ir.Value, kind: ir.Type = DOUBLE, begin: ir.Value = begin) -> ir.Value:
            return w.b.gep(array, [w.b.mul(begin, length)], source_etype=kind)

        one = whole(1)
        # atomic, since another thread writes it during this loop
        stopped = w.b.fcmp_ordered("<=", w.b.load_atomic(room, "monotonic", 8, typ=DOUBLE), number(0.0))
        with w.b.if_then(stopped, likely=False):
            w.b.ret_void()
        starts = at(y, whole(size)), at(t, one), at(p, apart), own, at(tolerances, whole(1 + size))
        numbers = at(first, one, LONG), at(rows, one, LONG), present
        w.b.call(
            guarded,
            [*starts, *numbers, times, outputs, every, out, settings, at(steps, one), room, at(endings, one)],
        )
    w.b.ret_void()
