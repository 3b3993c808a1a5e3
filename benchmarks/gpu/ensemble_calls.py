# SPDX-License-Identifier: BSD-3-Clause
"""Our own rows: ``da.simulate_ensemble`` on the GPU, the whole call, and its kernel alone."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import dalembert as da
from benchmarks.gpu.gpu_problems import Problem

FIRST = 256
"""Members that show whether the kernel answers for them."""


def ours(problem: Problem, q: np.ndarray, qd: np.ndarray, *, projected: bool = False, **settings: Any) -> dict:
    """q and qd at the end, each (n, count), and the times in seconds of a whole call and of its kernel.

    ``settings`` replace the fixed step, ``rtol=1e-8`` for an adaptive run.
    """
    drift = da.Projection() if projected else None
    asked = {"parameters": problem.numbers, "drift": drift, "keep": "end", "device": "gpu"}
    asked |= settings or {"step": problem.h}
    times = [0, problem.end]
    starts = np.ascontiguousarray(q.T), np.ascontiguousarray(qd.T)
    some = da.simulate_ensemble(problem.system, *(x[:FIRST] for x in starts), times, **asked)  # compiles
    if some.attrs["handed_over"]:  # a kernel that leaves members to others is quick
        raise RuntimeError(f"the kernel handed over {some.attrs['handed_over']} of {FIRST} members")
    whole, kernel = [], []
    for _ in range(3):
        began = time.perf_counter()
        found = da.simulate_ensemble(problem.system, *starts, times, **asked)
        whole.append(time.perf_counter() - began)
        kernel.append(found.attrs["seconds"])
    end = [found[name].values[:, -1].T for name in ("q", "qd")]
    return {"q": end[0], "qd": end[1], "seconds": min(whole), "kernel": min(kernel)}
