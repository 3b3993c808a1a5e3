# SPDX-License-Identifier: BSD-3-Clause
"""Our own rows: ``da.simulate_ensemble`` on the GPU, the whole call, and its kernel alone."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import dalembert as da
from benchmarks.gpu.problems import Problem


def ours(problem: Problem, q: np.ndarray, qd: np.ndarray, *, projected: bool = False, **settings: Any) -> dict:
    """q and qd at the end, each (n, count), and the times in seconds of a whole call and of its kernel.

    ``settings`` replace the fixed step, ``rtol=1e-8`` for an adaptive run.
    """
    drift = da.Projection() if projected else None
    asked = {"parameters": problem.numbers, "drift": drift, "keep": "end", "device": "gpu"}
    asked |= settings or {"step": problem.h}
    times = [0, problem.end]
    starts = np.ascontiguousarray(q.T), np.ascontiguousarray(qd.T)
    da.simulate_ensemble(problem.system, *starts, times, **asked)  # compiles
    began = time.perf_counter()
    found = da.simulate_ensemble(problem.system, *starts, times, **asked)
    whole = time.perf_counter() - began
    end = [found[name].values[:, -1].T for name in ("q", "qd")]
    return {"q": end[0], "qd": end[1], "seconds": whole, "kernel": kernel_seconds(found)}


def kernel_seconds(found: Any) -> float:
    """The time that the GPU itself was at work."""
    return found.attrs["seconds"]
