# SPDX-License-Identifier: BSD-3-Clause
"""Integration of ensemble members on a GPU."""

from __future__ import annotations

import ctypes
from contextlib import ExitStack
from itertools import pairwise
from math import prod
from typing import NamedTuple

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
        found = np.empty((count, len(times) if every else 1, self.size)), np.empty(count)
        arrays = *given, *found
        self.device.use()
        codes = np.empty(count, np.int8)
        # the innermost context is that of the streams: their work ends before arrays are unpinned and memory is freed
        with (
            self.device.memory(*(x.size for x in arrays)) as places,
            ExitStack() as results,
            ExitStack() as inputs,
            ExitStack() as working,
        ):
            q, qd, p_, times_, settings_, states, endings = map(_OnGpu, arrays, places)
            of_members, shared = ((q, qd, p_), (times_, settings_)) if own else ((q, qd), (times_, settings_, p_))
            parts = [_Part(working.enter_context(self.device.stream()), *cut) for cut in pairwise(_cuts(count))]
            for each in shared:
                parts[0].stream.put(each.array, each.place)
            parts[0].stream.wait()
            outputs, every_, own_, room_ = map(ctypes.c_int64, (len(times), int(every), own, room))
            for part in parts:
                part.put(*of_members)
                length, parameters_ = part.last - part.first, p_.row(part.first * own)
                at = ctypes.c_int64(length), q.row(part.first), qd.row(part.first), parameters_, own_, times_.place
                to = states.row(part.first), settings_.place, room_, endings.row(part.first)
                part.stream.launch(self._kernel, length, BLOCK, [*at, outputs, every_, *to])
                for each in of_members if part is parts[0] else ():
                    inputs.enter_context(self.device.pinned(each.array[part.last :]))
            for each in (states, endings):
                # new memory is slow at its first use: it is used once, and pinned, while kernels run
                in_parallel(_touch, each.array.ravel(), PAGE)
                results.enter_context(self.device.pinned(each.array))
            for part in parts:
                part.get(states, endings)
            for part in parts:
                part.stream.wait_for_kernel()
            inputs.close()
            for part in parts:
                part.stream.wait()
                codes[part.first : part.last] = endings.array[part.first : part.last]
            self.seconds = self.device.busy_seconds([part.stream for part in parts])
        return found[0], codes


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
