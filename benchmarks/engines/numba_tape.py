# SPDX-License-Identifier: BSD-3-Clause
"""numba: the straight-line programs as Python text, compiled, under a general loop that is compiled with them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from benchmarks.engines.written import programs, text
from benchmarks.peers.numba_loop import FAST, integrate
from benchmarks.peers.problems import Problem

PACKAGES = ("numba", "llvmlite")
RTOLS = (1e-7, 1e-8, 1e-9, 1e-10)


def runs(problem: Problem) -> dict[str, Callable[[], np.ndarray]]:
    accelerate, project = programs(problem)
    n, y0, work = len(problem.q), problem.y0, np.empty(0)
    velocities = [f"    out[{i}] = y[{n + i}]" for i in range(n)]
    rates, projected = _compiled(accelerate, velocities, n), _compiled(project, [], 0)

    def run(rtol: float) -> np.ndarray:
        return problem.seen(integrate(rates, projected, y0, problem.end, rtol, rtol / 100, work)[:n])

    return {f"rtol={rtol:.0e}": lambda rtol=rtol: run(rtol) for rtol in RTOLS}


def _compiled(program: Any, before: list[str], first: int) -> Any:
    lines, outputs = text(program, "math")
    written = [f"    {line}" for line in lines]
    stored = [f"    out[{first + i}] = {name}" for i, name in enumerate(outputs)]
    module: dict[str, Any] = {"math": math}
    exec("\n".join(["def program(y, t, out, work):", *before, *written, *stored]), module)
    return njit(**FAST)(module["program"])
