# SPDX-License-Identifier: BSD-3-Clause
"""Integration of ensemble members on a GPU."""

from __future__ import annotations

import ctypes
from contextlib import ExitStack
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.common.parallel import in_parallel
from dalembert.native.batch import by_member
from dalembert.native.cuda import GpuStream, gpu_device
from dalembert.native.member_writer import MemberPrograms
from dalembert.native.ptx import ptx_of
from dalembert.native.tableau import Tableau

BLOCK = 128
"""Threads per block."""

LEAST_PER_STREAM, MAX_STREAMS = 2**17, 8
"""Least number of members per stream, of which a GPU runs some at once, and largest number of such streams."""

FIRST = 2**15
"""Members of the first of several streams: they are integrated while the memory of the others is pinned."""

PAGE = 512
"""Doubles per page of memory."""


class _OnGpu(NamedTuple):
    """An array and its place on the GPU."""

    array: Floats
    place: ctypes.c_uint64

    def row(self, k: int) -> ctypes.c_uint64:
        """Return the place of row k."""
        return ctypes.c_uint64(self.place.value + k * prod(self.array.shape[1:]) * self.array.itemsize)


class _Part(NamedTuple):
    """Members from ``first`` up to ``last``, and the stream in which they are integrated.

    The copies for some members run beside the kernel for others.
    """

    stream: GpuStream
    first: int
    last: int

    def put(self, *arrays: _OnGpu) -> None:
        for own in arrays:
            self.stream.put(own.array[self.first : self.last], own.row(self.first))

    def get(self, *arrays: _OnGpu) -> None:
        for own in arrays:
            self.stream.get(own.array[self.first : self.last], own.row(self.first))


class _Batch(NamedTuple):
    """The arrays of a batch; ``own`` is whether members have parameters of their own."""

    q: _OnGpu
    qd: _OnGpu
    p: _OnGpu
    times: _OnGpu
    settings: _OnGpu
    states: _OnGpu
    endings: _OnGpu
    own: bool

    @property
    def of_members(self) -> tuple[_OnGpu, ...]:
        """The arrays from which members start, with a row for each."""
        return (self.q, self.qd, self.p) if self.own else (self.q, self.qd)

    @property
    def shared(self) -> tuple[_OnGpu, ...]:
        """The arrays that all members share."""
        return (self.times, self.settings) if self.own else (self.times, self.settings, self.p)

    def arguments(self, part: _Part, room: int, every: bool) -> list[Any]:
        """Return the arguments of the kernel for a part: see ``ptx.KERNEL``."""
        count, own, outputs = part.last - part.first, int(self.own), len(self.times.array)
        numbers = map(ctypes.c_int64, (count, own, outputs, int(every), room))
        count_, own_, outputs_, every_, room_ = numbers
        start = (self.q.row(part.first), self.qd.row(part.first), self.p.row(part.first * own))
        ends = self.settings.place, room_, self.endings.row(part.first)
        return [count_, *start, own_, self.times.place, outputs_, every_, self.states.row(part.first), *ends]


class GpuMotionBatch:
    """The counterpart of ``batch.MotionBatch`` on a GPU, with one thread per ensemble member."""

    def __init__(self, programs: MemberPrograms, tableau: Tableau, *, single: bool = False):
        self.size = 2 * programs.n
        self.device = gpu_device()
        self.device.use()
        self._kernel = self.device.load_kernel(ptx_of(programs, tableau, single=single), "members")
        self.seconds = 0.0  # run time of the last kernels, without copies

    def __call__(
        self, start: tuple[Floats, Floats], p: Floats, times: Floats, settings: Floats, room: int, *, every: bool
    ) -> tuple[Floats, NDArray[np.int8]]:
        """Return states (N, T, 2n) of members and their endings: see ``batch.MotionBatch``."""
        count, (parameters, own) = p.shape[1], by_member(p)
        given = *(np.ascontiguousarray(part.T) for part in start), parameters, times, settings
        states, endings = np.empty((count, len(times) if every else 1, self.size)), np.empty(count)
        arrays, codes = (*given, states, endings), np.empty(count, np.int8)
        self.device.use()
        # the innermost context is that of the streams: their work ends before arrays are unpinned and memory is freed
        with (
            self.device.memory(*(array.size for array in arrays)) as places,
            ExitStack() as results,
            ExitStack() as inputs,
            ExitStack() as working,
        ):
            batch = _Batch._make([*map(_OnGpu, arrays, places), bool(own)])
            parts = [_Part(working.enter_context(self.device.stream()), *cut) for cut in pairwise(_cuts(count))]
            for each in batch.shared:
                parts[0].stream.put(each.array, each.place)
            parts[0].stream.wait()
            for part in parts:
                part.put(*batch.of_members)
                part.stream.launch(self._kernel, part.last - part.first, BLOCK, batch.arguments(part, room, every))
                for each in batch.of_members if part is parts[0] else ():
                    inputs.enter_context(self.device.pinned(each.array[part.last :]))
            for array in (states, endings):
                # new memory is slow at its first use: it is used once, and pinned, while kernels run
                in_parallel(_touch, array.ravel(), PAGE)
                results.enter_context(self.device.pinned(array))
            for part in parts:
                part.get(batch.states, batch.endings)
            for part in parts:
                part.stream.wait_for_kernel()
            inputs.close()
            for part in parts:
                part.stream.wait()
                codes[part.first : part.last] = endings[part.first : part.last]
            self.seconds = self.device.busy_seconds([part.stream for part in parts])
        return states, codes


def single_motion_batch(programs: MemberPrograms, tableau: Tableau) -> GpuMotionBatch:
    """Return an integrator on a GPU in single precision."""
    return GpuMotionBatch(programs, tableau, single=True)


def _cuts(count: int) -> list[int]:
    """Return where members are divided, from zero up to their number."""
    streams = min(count // LEAST_PER_STREAM, MAX_STREAMS)
    if streams < 2:
        return [0, count]
    return [0, *(FIRST + k * (count - FIRST) // streams for k in range(streams + 1))]


def _touch(numbers: Floats) -> None:
    numbers[::PAGE] = 0.0
