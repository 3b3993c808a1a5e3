# SPDX-License-Identifier: BSD-3-Clause
"""Integration of the phases of ensemble members in several threads."""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.ensembles.modes_of_many import ModeOfMany
from dalembert.native.guarded_batch import GuardedBatch, PhaseStarts

LEAST_MEMBERS = 16
"""Members below which a group is not divided among threads."""


class PhaseIntegration:
    """Integrates members of one mode to the ends of their phases, in threads (None for all cores)."""

    def __init__(self, max_steps: int, threads: int | None):
        self.max_steps, self.threads = max_steps, threads or os.cpu_count() or 1
        self.seconds = 0.0  # in compiled code

    @contextmanager
    def pool(self) -> Generator[None]:
        """Keep the threads for the calls inside."""
        with ThreadPoolExecutor(self.threads) as self._pool:
            yield

    def __call__(self, mode: ModeOfMany, starts: PhaseStarts, out: Floats, times: Floats, settings: Floats) -> Floats:
        """Integrate members, store their outputs, and return the endings."""
        integrator, began = mode.integrator, time.perf_counter()  # compiled before the clock and the threads begin
        endings = self._endings(integrator, starts, out, times, settings)
        self.seconds += time.perf_counter() - began
        return endings

    def _endings(
        self, integrator: GuardedBatch, starts: PhaseStarts, out: Floats, times: Floats, settings: Floats
    ) -> Floats:
        count, room = len(starts.t), np.array([float(self.max_steps)])
        # more parts than threads, because members take different times
        parts = max(min(4 * self.threads, count // LEAST_MEMBERS), 1)
        cuts = np.linspace(0, count, parts + 1).astype(int)
        given = [(_part(starts, slice(i, j)), times, out, settings, room) for i, j in pairwise(cuts)]
        found = [self._pool.submit(integrator, *one) for one in given]
        try:
            return np.concatenate([one.result() for one in found])
        except BaseException:  # including Ctrl-C: the pool waits for its threads, which must stop soon
            room[0] = 0.0
            self._pool.shutdown(wait=False, cancel_futures=True)
            raise


def _part(starts: PhaseStarts, own: slice) -> PhaseStarts:
    """Return some of the members; their arrays are views, in which the integrator stores its results."""
    return PhaseStarts(
        starts.y[own],
        starts.t[own],
        starts.p[:, own],
        starts.tolerances[own],
        starts.first[own],
        starts.rows[own],
        starts.steps[own],
    )
