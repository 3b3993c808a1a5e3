# SPDX-License-Identifier: BSD-3-Clause
"""Many motions on a GPU."""

from __future__ import annotations

import ctypes
import time

import numpy as np

from dalembert.array_types import Floats
from dalembert.native.cuda import gpu_device
from dalembert.native.member_kernel import Moving
from dalembert.native.ptx import ptx_of
from dalembert.native.tableau import Tableau

BLOCK = 128
"""Threads that are started together."""


class GpuMotionBatch:
    """As ``many.MotionBatch``, with a thread for each member."""

    def __init__(self, moving: Moving, tableau: Tableau):
        self.size = 2 * moving.n
        self.device = gpu_device()
        self.device.use()
        self._kernel = self.device.loaded(ptx_of(moving, tableau), "members")
        self.seconds = 0.0  # of the last kernel alone

    def __call__(
        self, y: Floats, p: Floats, times: Floats, settings: Floats, room: int, *, every: bool
    ) -> tuple[Floats, Floats]:
        """States (N, T, 2n) of members with states y (2n, N) and parameters p (k, N), and how each motion ended."""
        kept, count = len(times) if every else 1, y.shape[1]
        given = (np.ascontiguousarray(y), np.ascontiguousarray(p), times, settings)
        states, endings = np.empty((kept, self.size, count)), np.empty(count)
        self.device.use()
        with self.device.memory(*(array.size for array in (*given, states, endings))) as places:
            for array, place in zip(given, places, strict=False):
                self.device.put(array, place)
            start, own, moments, numbers, out, ended = places
            whole = [ctypes.c_int64(x) for x in (count, len(times), int(every), room)]
            arguments = [whole[0], start, own, moments, whole[1], whole[2], out, numbers, whole[3], ended]
            began = time.perf_counter()
            self.device.launch(self._kernel, count, BLOCK, arguments)
            self.seconds = time.perf_counter() - began
            self.device.get(states, out)
            self.device.get(endings, ended)
        return np.moveaxis(states, 2, 0), endings
