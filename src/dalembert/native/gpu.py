# SPDX-License-Identifier: BSD-3-Clause
"""Integration of ensemble members on a GPU."""

from __future__ import annotations

import ctypes
from contextlib import ExitStack

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.common.parallel import in_parallel
from dalembert.native.batch import by_member
from dalembert.native.cuda import gpu_device
from dalembert.native.member_writer import MemberPrograms
from dalembert.native.ptx import ptx_of
from dalembert.native.tableau import Tableau

BLOCK = 128
"""Threads per block."""


PAGE = 512
"""Doubles per page of memory."""


def _touch(numbers: Floats) -> None:
    numbers[::PAGE] = 0.0


class GpuMotionBatch:
    """The counterpart of ``batch.MotionBatch`` on a GPU, with one thread per ensemble member."""

    def __init__(self, programs: MemberPrograms, tableau: Tableau):
        self.size = 2 * programs.n
        self.device = gpu_device()
        self.device.use()
        self._kernel = self.device.load_kernel(ptx_of(programs, tableau), "members")
        self.seconds = 0.0  # run time of the last kernel, without copies

    def __call__(
        self, start: tuple[Floats, Floats], p: Floats, times: Floats, settings: Floats, room: int, *, every: bool
    ) -> tuple[Floats, Floats]:
        """Return states (N, T, 2n) of members and their endings: see ``batch.MotionBatch``."""
        kept, count = len(times) if every else 1, p.shape[1]
        parameters, own = by_member(p)
        inputs = (*(np.ascontiguousarray(part.T) for part in start), parameters, times, settings)
        states, endings = np.empty((count, kept, self.size)), np.empty(count)
        self.device.use()
        with self.device.memory(*(array.size for array in (*inputs, states, endings))) as places, ExitStack() as pinned:
            for array, place in zip(inputs, places, strict=False):
                with self.device.pinned(array):
                    self.device.put(array, place)
            q, qd, values, moments, numbers, out, ended = places
            count_, own_, outputs, every_, room_ = map(ctypes.c_int64, (count, own, len(times), int(every), room))
            arguments = [count_, q, qd, values, own_, moments, outputs, every_, out, numbers, room_, ended]

            def prepare_results() -> None:
                # new memory is slow at its first use: it is used once, and pinned, while the kernel runs
                in_parallel(_touch, states.ravel(), PAGE)
                pinned.enter_context(self.device.pinned(states))

            self.seconds = self.device.launch(self._kernel, count, BLOCK, arguments, prepare_results)
            self.device.get(states, out)
            self.device.get(endings, ended)
        return states, endings
