# SPDX-License-Identifier: BSD-3-Clause
"""Batches of states or motions in one call of compiled code, so that threads run in parallel without Python's lock."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.native.assembly import POINTER, MachineCode, element, load, processor_width
from dalembert.native.lanes import DOUBLE, LaneModule
from dalembert.native.member_kernel import write_member
from dalembert.native.member_writer import BYTE, BYTES, MemberPrograms
from dalembert.native.tableau import Tableau
from dalembert.native.writer import LONG, Writer, whole


class MotionBatch:
    """Integrates many ensemble members, with fixed steps or with adaptive steps of each member's own."""

    def __init__(self, programs: MemberPrograms, tableau: Tableau):
        module = LaneModule(processor_width())
        self.size = 2 * programs.n
        _write_many(
            module, write_member(module, programs, tableau, interruptible=True), programs.n, programs.parameters
        )
        self._code = MachineCode(module)
        a, i = ctypes.c_void_p, ctypes.c_int64
        self._many = ctypes.CFUNCTYPE(None, i, a, a, a, i, a, i, i, a, a, a, a)(self._code.address("many"))

    def __call__(
        self,
        start: tuple[Floats, Floats],
        p: Floats,
        times: Floats,
        settings: Floats,
        room: NDArray[np.int64],
        *,
        every: bool,
    ) -> tuple[Floats, NDArray[np.int8]]:
        """Return states (N, T, 2n) of members, and their endings.

        They start at positions and velocities ``start``, each (n, N), and have parameters p (k, N).

        For ``settings``, ``room`` (1,) and ``every`` see ``member_writer.MEMBER``; without ``every`` T is one. Once
        another thread has set ``room`` to zero, the members end, and no further one is started.
        """
        count = p.shape[1]
        (q, qd), (parameters, own) = (np.ascontiguousarray(part.T) for part in start), by_member(p)
        states, endings = np.empty((count, len(times) if every else 1, self.size)), np.empty(count, np.int8)
        self._many(
            *(count, q.ctypes.data, qd.ctypes.data, parameters.ctypes.data, own),
            *(times.ctypes.data, len(times), int(every)),
            *(states.ctypes.data, settings.ctypes.data, room.ctypes.data, endings.ctypes.data),
        )
        return states, endings


def by_member(p: Floats) -> tuple[Floats, int]:
    """Return parameters (N, k) and one, or (1, k) and zero if all members share them, given an array (k, N)."""
    # an array that was broadcast along the members has the stride zero there
    shared = p.shape[1] > 0 and p.strides[1] == 0
    return np.ascontiguousarray(p[:, :1].T if shared else p.T), int(not shared)


def _write_many(module: LaneModule, member: ir.Function, n: int, parameters: int) -> None:
    """Write many(count, q, qd, p, own, times, outputs, every, out, settings, room, endings) of a batch."""
    P, width = POINTER, whole(module.width)
    w = Writer(module, "many", (LONG, P, P, P, LONG, P, LONG, LONG, P, P, LONG.as_pointer(), BYTES))
    count, q, qd, p, own_parameters, times, outputs, every, out, settings, room, endings = w.function.args
    # without ``every`` each output of a member overwrites the one before, and the last one remains
    kept = w.b.select(w.b.icmp_signed("==", every, whole(0)), whole(1), outputs)
    lengths = whole(n), whole(n), w.b.mul(own_parameters, whole(parameters)), w.b.mul(kept, whole(2 * n))
    groups = w.b.sdiv(w.b.add(count, whole(module.width - 1)), width)
    for i in w.each(groups):
        first = w.b.mul(i, width)
        left = w.b.sub(count, first)
        # the last group may be smaller than the vectors of the processor
        present = w.b.select(w.b.icmp_signed("<", left, width), left, width)
        positions, velocities, own, to = (
            w.b.gep(x, [w.b.mul(first, length)], source_etype=DOUBLE)
            for x, length in zip((q, qd, p, out), lengths, strict=True)
        )
        ended = w.b.gep(endings, [first], source_etype=BYTE)
        # atomic, since another thread writes it during this loop
        stopped = w.b.icmp_signed("<=", w.b.load_atomic(room, "monotonic", 8, typ=LONG), whole(0))
        with w.b.if_then(stopped, likely=False):
            w.b.ret_void()
        at = [positions, velocities, own, own_parameters, present]
        w.b.call(member, [*at, times, outputs, every, to, settings, room, ended])
    w.b.ret_void()


def write_each(module: ir.Module, name: str, program: ir.Function, size: int, length: int) -> None:
    """Write name(count, y, t, p, numbers, out): a program at many states y (count, size), times and parameters."""
    w = Writer(module, name, (LONG, POINTER, POINTER, POINTER, LONG, POINTER))
    count, y, t, p, numbers, out = w.function.args
    for i in w.each(count):
        places: Any = (y, w.b.mul(i, whole(size))), (p, w.b.mul(i, numbers)), (out, w.b.mul(i, whole(length)))
        state, own, found = (element(w.b, array, place) for array, place in places)
        w.b.call(program, [state, load(w.b, t, i), own, found])
    w.b.ret_void()
