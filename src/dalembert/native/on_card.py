# SPDX-License-Identifier: BSD-3-Clause
"""Many motions on a graphics card."""

from __future__ import annotations

import ctypes
import time

import numpy as np
from numpy.typing import NDArray

from dalembert.native.cuda import card
from dalembert.native.march import Moving
from dalembert.native.ptx import ptx_of

Floats = NDArray[np.float64]

BLOCK = 128
"""Threads that are started together."""


class MotionsOnCard:
    """As ``many.Motions``, with a thread for each member."""

    def __init__(self, moving: Moving, *, fixed: bool):
        self.size = 2 * moving.n
        self.card = card()
        self.card.use()
        self._kernel = self.card.loaded(ptx_of(moving, fixed=fixed), "members")
        self.seconds = 0.0  # of the last kernel alone

    def __call__(
        self, y: Floats, p: Floats, times: Floats, settings: Floats, room: int, *, every: bool
    ) -> tuple[Floats, Floats]:
        """States (N, T, 2n) of members with states y (2n, N) and parameters p (k, N), and how each motion ended."""
        kept, count = len(times) if every else 1, y.shape[1]
        given = (np.ascontiguousarray(y), np.ascontiguousarray(p), times, settings)
        states, endings = np.empty((kept, self.size, count)), np.empty(count)
        self.card.use()
        with self.card.memory(*(array.size for array in (*given, states, endings))) as places:
            for array, place in zip(given, places, strict=False):
                self.card.put(array, place)
            start, own, moments, numbers, out, ended = places
            whole = [ctypes.c_int64(x) for x in (count, len(times), int(every), room)]
            arguments = [whole[0], start, own, moments, whole[1], whole[2], out, numbers, whole[3], ended]
            began = time.perf_counter()
            self.card.launch(self._kernel, count, BLOCK, arguments)
            self.seconds = time.perf_counter() - began
            self.card.get(states, out)
            self.card.get(endings, ended)
        return np.moveaxis(states, 2, 0), endings
