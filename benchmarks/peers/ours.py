# SPDX-License-Identifier: BSD-3-Clause
"""``dalembert``: a whole call as a user makes it, and the integration inside it by itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import sympy as sp

import dalembert as da
import dalembert.verbs  # else the first call would import JAX
from benchmarks.peers.problems import Problem
from dalembert.native.step_control import settings_of
from dalembert.native.stepper import FINISHED

PACKAGES = ("dalembert", "llvmlite")
RTOLS = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12)
ROOM = 100_000


def system_of(problem: Problem) -> da.System:
    """The problem as a user writes it: masses, forces and constraints; the library differentiates."""
    q = da.coordinates(" ".join(map(str, problem.q)))
    put = dict(zip(problem.q, q, strict=True)) | {v: c.diff(da.t) for v, c in zip(problem.v, q, strict=True)}
    mass = [[sp.sympify(e).xreplace(put) for e in row] for row in problem.mass_matrix]
    force = [sp.sympify(e).xreplace(put) for e in problem.applied_force]
    rows = [da.Constraint(row.xreplace(put)) for row in (*problem.position, *problem.velocity)]
    return da.System(q, mass, force, rows)


def runs(problem: Problem) -> dict[str, Callable[[], np.ndarray]]:
    """Outputs, forces and violations at both ends, checks included."""
    system, times = system_of(problem), (0.0, problem.end)

    def whole(rtol: float) -> np.ndarray:
        run = da.simulate(system, problem.q0, problem.qd0, times, rtol=rtol, atol=rtol / 100, progress=False)
        return problem.seen(run.q[-1])

    return {f"rtol={rtol:.0e}": lambda rtol=rtol: whole(rtol) for rtol in RTOLS}


def inner_runs(problem: Problem) -> dict[str, Callable[[], np.ndarray]]:
    """The loop of steps, from a start that is known to be valid, without checks at its end."""
    system, y0 = system_of(problem), problem.y0

    @lru_cache
    def engine():
        return da.build(system).native.engine(
            tuple(range(len(problem.constraint_matrix))), da.Projection().iterations, None
        )

    def loop(rtol: float) -> np.ndarray:
        ready, p = engine(), np.empty(0)
        settings = settings_of(0.0, problem.end, rtol, rtol / 100, np.inf, len(y0))
        found, _ = ready.step_batch(y0, 0.0, problem.end, 0.0, p, settings, ROOM)
        if found.ending != FINISHED:
            raise RuntimeError("did not reach the end")
        return problem.seen(found.y[-1][: len(problem.q)])

    return {f"rtol={rtol:.0e}": lambda rtol=rtol: loop(rtol) for rtol in RTOLS}
