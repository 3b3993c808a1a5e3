# SPDX-License-Identifier: BSD-3-Clause
"""Integration of ensemble members on a GPU."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.common.parallel import submit
from dalembert.native.batch import by_member
from dalembert.native.cuda import WORTH_PINNING, GpuStream, gpu_device
from dalembert.native.member_writer import MemberPrograms
from dalembert.native.ptx import ptx_of
from dalembert.native.tableau import Tableau

BLOCK = 128
"""Threads per block."""

LEAST_PER_STREAM, MAX_STREAMS = 2**17, 8
"""Least number of members per stream, of which a GPU runs some at once, and largest number of such streams."""

FIRST = 2**15
"""Members of the first of several streams: they are integrated while the states of the others are copied."""


class _OnGpu(NamedTuple):
    """An array and its place on the GPU."""

    array: NDArray[Any]
    place: ctypes.c_uint64

    def row(self, k: int) -> ctypes.c_uint64:
        """Return the place of row k."""
        return ctypes.c_uint64(self.place.value + k * prod(self.array.shape[1:]) * self.array.itemsize)


class _Part(NamedTuple):
    """Members from ``first`` up to ``last``, and the stream in which they are integrated.

    The copies for some members run beside the kernel for others. ``pinned`` ends when their starts have been copied to
    memory from which the GPU reads fast.
    """

    stream: GpuStream
    first: int
    last: int
    pinned: Future[None]

    def put(self, *arrays: _OnGpu) -> None:
        self.pinned.result()
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
        self.device.use()
        given = *(np.ascontiguousarray(part.T) for part in start), parameters
        pinned = [array if array.nbytes < WORTH_PINNING else self.device.host_array(array.shape) for array in given]
        states = self.device.host_array((count, len(times) if every else 1, self.size))
        arrays = *pinned, times, settings, states, np.empty(count, np.int8)
        # the innermost context is that of the streams: their work ends before memory is used for something else
        with self.device.memory(*(array.nbytes for array in arrays)) as places, ExitStack() as streams:
            batch = _Batch._make([*map(_OnGpu, arrays, places), bool(own)])
            parts = [
                _Part(streams.enter_context(self.device.stream()), i, j, submit(_copy, given, pinned, slice(i, j)))
                for i, j in pairwise(_cuts(count))
            ]
            for each in batch.shared:
                parts[0].stream.put(each.array, each.place)
            # before any other stream reads what all members share
            parts[0].stream.wait()
            for part in parts:
                part.put(*batch.of_members)
                part.stream.launch(self._kernel, part.last - part.first, BLOCK, batch.arguments(part, room, every))
                part.get(batch.states)
            for part in parts:  # these are not pinned: each copy waits for its kernel
                part.get(batch.endings)
            self.seconds = self.device.busy_seconds([part.stream for part in parts])
        return states, batch.endings.array


def _copy(given: Sequence[Floats], pinned: Sequence[Floats], members: slice) -> None:
    """Copy members of those arrays that have others in pinned memory."""
    for array, to in zip(given, pinned, strict=True):
        if to is not array:
            to[members] = array[members]


def single_motion_batch(programs: MemberPrograms, tableau: Tableau) -> GpuMotionBatch:
    """Return an integrator on a GPU in single precision."""
    return GpuMotionBatch(programs, tableau, single=True)


def _cuts(count: int) -> list[int]:
    """Return where members are divided, from zero up to their number."""
    streams = min(count // LEAST_PER_STREAM, MAX_STREAMS)
    if streams < 2:
        return [0, count]
    return [0, *(FIRST + k * (count - FIRST) // streams for k in range(streams + 1))]
