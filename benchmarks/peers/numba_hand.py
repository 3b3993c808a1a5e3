# SPDX-License-Identifier: BSD-3-Clause
"""numba, as an expert writes it: the equations by hand for each problem, solved in place, in a compiled DOP853.

Nothing is general here and nothing is checked, the drift from the constraints included: this is the limit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp
from numba import njit

from benchmarks.peers.numba_loop import FAST, integrate, left_alone
from benchmarks.peers.problems import G, Problem

PACKAGES = ("numba", "llvmlite")
RTOLS = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12)


def runs(problem: Problem) -> dict[str, Callable[[], np.ndarray]]:
    rates, work = _rates(problem)
    n, y0 = len(problem.q), problem.y0

    def run(rtol: float) -> np.ndarray:
        return problem.seen(integrate(rates, left_alone, y0, problem.end, rtol, rtol / 100, work)[:n])

    return {f"rtol={rtol:.0e}": lambda rtol=rtol: run(rtol) for rtol in RTOLS}


def _rates(problem: Problem) -> tuple[Any, Any]:
    if problem.name == "double pendulum":
        return _double_pendulum, np.empty(0)
    if len(problem.q) > LONG:
        size = len(problem.q) + len(problem.constraint_matrix)
        return _four_bars, (np.zeros((size, BAND + 1)), np.empty(size))
    return _written(problem), np.empty(0)


@njit(**FAST)
def _double_pendulum(y, t, out, work):
    """M is one: A Aᵀ λ = b − A Q is two by two."""
    x1, y1, vx1, vy1 = y[0], y[1], y[4], y[5]
    dx, dy, dvx, dvy = y[2] - x1, y[3] - y1, y[6] - vx1, y[7] - vy1
    s11, s12, s22 = x1 * x1 + y1 * y1, -(x1 * dx + y1 * dy), 2 * (dx * dx + dy * dy)
    b1, b2 = y1 * G - vx1 * vx1 - vy1 * vy1, -dvx * dvx - dvy * dvy
    whole = 1 / (s11 * s22 - s12 * s12)
    l1, l2 = (s22 * b1 - s12 * b2) * whole, (s11 * b2 - s12 * b1) * whole
    for i in range(4):
        out[i] = y[4 + i]
    out[4] = x1 * l1 - dx * l2
    out[5] = y1 * l1 - dy * l2 - G
    out[6] = dx * l2
    out[7] = dy * l2 - G


LONG = 20
"""Coordinates of a problem that is better left in loops."""

BAND = 7
"""Unknowns joint by joint, x y λ(upright) λ(coupler to the left): no entry is farther from the diagonal."""


@njit(**FAST)
def _four_bars(y, t, out, work):
    K, r = work
    joints = len(y) // 4
    n = 2 * joints
    K[:] = 0.0
    for i in range(joints):
        at = max(4 * i - 1, 0)
        x, z, vx, vz = y[2 * i] - i, y[2 * i + 1], y[n + 2 * i], y[n + 2 * i + 1]
        couplers = (i > 0) + (i < joints - 1)
        K[at, 0] = K[at + 1, 0] = (1 + couplers) / 3
        r[at], r[at + 1] = 0.0, -G * (1 + couplers) / 2
        K[at + 2, 2], K[at + 2, 1] = -x, -z
        r[at + 2] = vx * vx + vz * vz
        if i > 0:
            before = max(4 * i - 5, 0)
            dx, dz = x + 1 - y[2 * i - 2] + i - 1, z - y[2 * i - 1]
            dvx, dvz = vx - y[n + 2 * i - 2], vz - y[n + 2 * i - 1]
            K[at, at - before] = K[at + 1, at - before] = 1 / 6
            K[at + 3, 3], K[at + 3, 2] = -dx, -dz
            K[at + 3, at + 3 - before], K[at + 3, at + 2 - before] = dx, dz
            r[at + 3] = dvx * dvx + dvz * dvz
    _solve_band(K, r)
    for i in range(joints):
        at = max(4 * i - 1, 0)
        for k in range(2):
            out[2 * i + k] = y[n + 2 * i + k]
            out[n + 2 * i + k] = r[at + k]


@njit(**FAST)
def _solve_band(K, r):
    """L D Lᵀ in place: K[i, k] holds entry (i, i − k); r becomes the solution."""
    size, width = len(r), K.shape[1]
    for j in range(size):
        pivot = 1 / K[j, 0]
        last = min(j + width, size)
        for i in range(j + 1, last):
            entry = K[i, i - j]
            if entry != 0:
                factor = entry * pivot
                for k in range(i, last):
                    K[k, k - i] -= factor * K[k, k - j]
                r[i] -= factor * r[j]
    for j in range(size - 1, -1, -1):
        total = r[j]
        for i in range(j + 1, min(j + width, size)):
            total -= K[i, i - j] * r[i]
        r[j] = total / K[j, 0]


def _written(problem: Problem) -> Any:
    """M, A and the right sides with what they share computed once, then L D Lᵀ, every multiplication written out."""
    n, m = len(problem.q), len(problem.constraint_matrix)
    entries = {(i, j): problem.mass_matrix[i][j] for i in range(n) for j in range(i + 1)}
    entries |= {(n + k, j): -problem.constraint_matrix[k][j] for k in range(m) for j in range(n)}
    entries = {place: e for place, e in entries.items() if e != 0}
    right = [*problem.applied_force, *(-e for e in problem.constraint_rhs)]
    shared, found = sp.cse([*entries.values(), *right], order="none")
    code = sp.pycode
    lines = ["def rates(state, t, out, work):"]
    lines += [f"    {s} = state[{i}]" for i, s in enumerate((*problem.q, *problem.v))]
    lines += [f"    {s} = {code(e)}" for s, e in shared]
    lines += [f"    K_{i}_{j} = {code(e)}" for (i, j), e in zip(entries, found, strict=False)]
    lines += [f"    r_{i} = {code(e)}" for i, e in enumerate(found[len(entries) :])]
    lines += [f"    {line}" for line in _elimination(set(entries), n + m)]
    lines += [f"    out[{i}], out[{n + i}] = {v}, r_{i}" for i, v in enumerate(problem.v)]
    module: dict[str, Any] = {"math": math}
    exec("\n".join(lines), module)
    return njit(**FAST)(module["rates"])


def _elimination(known: set[tuple[int, int]], size: int) -> list[str]:
    """The lines that turn r into the solution of K x = r, zeros left out; multipliers come after coordinates."""
    lines: list[str] = []
    for j in range(size):
        below = [i for i in range(j + 1, size) if (i, j) in known]
        lines += [f"d_{j} = 1 / K_{j}_{j}"]
        for i in below:
            lines += [f"L_{i}_{j} = K_{i}_{j} * d_{j}", f"r_{i} -= L_{i}_{j} * r_{j}"]
            for k in (k for k in below if k >= i):
                before = f"K_{k}_{i} " if (k, i) in known else ""
                lines += [f"K_{k}_{i} = {before}- L_{i}_{j} * K_{k}_{j}"]
                known.add((k, i))
    for j in reversed(range(size)):
        later = "".join(f" - L_{i}_{j} * r_{i}" for i in range(j + 1, size) if (i, j) in known)
        lines += [f"r_{j} = r_{j} * d_{j}{later}"]
    return lines
