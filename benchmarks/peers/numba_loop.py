# SPDX-License-Identifier: BSD-3-Clause
"""Dormand and Prince's method of order 8 as a loop for numba, around any compiled right side."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from dalembert.native.dormand_prince import DORMAND_PRINCE

NODES, FROM_EARLIER, RESULT = DORMAND_PRINCE.nodes, DORMAND_PRINCE.stages, DORMAND_PRINCE.result
ERROR_5, ERROR_3 = DORMAND_PRINCE.errors

FAST: dict[str, Any] = {"error_model": "numpy", "fastmath": {"contract", "nsz", "arcp", "reassoc"}}
STAGES = len(NODES)


def _sum(factors: dict[int, float]) -> str:
    return " + ".join(f"{factor!r} * k[{stage}, i]" for stage, factor in factors.items())


def _written_step() -> Any:
    """One step with every coefficient written out, those that are zero left out."""
    lines = ["def step(rates, y, t, h, k, stage, y1, work):", "    n = len(y)"]
    for s in range(1, STAGES):
        lines += ["    for i in range(n):", f"        stage[i] = y[i] + h * ({_sum(FROM_EARLIER[s])})"]
        lines += [f"    rates(stage, t + {NODES[s]!r} * h, k[{s}], work)"]
    lines += ["    for i in range(n):", f"        y1[i] = y[i] + h * ({_sum(RESULT)})"]
    lines += ["def errors(k, i):", f"    return {_sum(ERROR_5)}, {_sum(ERROR_3)}"]
    found: dict[str, Any] = {}
    exec("\n".join(lines), found)
    return njit(**FAST)(found["step"]), njit(**FAST)(found["errors"])


step, errors = _written_step()


@njit(**FAST)
def _size(x, y, rtol, atol):
    total = 0.0
    for i in range(len(y)):
        total += (x[i] / (atol + rtol * abs(y[i]))) ** 2
    return np.sqrt(total / len(y))


@njit(**FAST)
def _first_step(rates, y, end, rtol, atol, k, stage, work):
    """After Hairer, Nørsett and Wanner."""
    rates(y, 0.0, k[0], work)
    size, speed = _size(y, y, rtol, atol), _size(k[0], y, rtol, atol)
    trial = 1e-6 if min(size, speed) < 1e-5 else 0.01 * size / speed
    trial = min(trial, end)
    for i in range(len(y)):
        stage[i] = y[i] + trial * k[0, i]
    rates(stage, trial, k[1], work)
    for i in range(len(y)):
        k[2, i] = k[1, i] - k[0, i]
    steepest = max(speed, _size(k[2], y, rtol, atol) / trial)
    return min(100 * trial, (0.01 / steepest) ** 0.125, end)


@njit(**FAST)
def left_alone(y, t, out, work):
    """No projection; a loop, because a slice costs more than all of it."""
    for i in range(len(y)):
        out[i] = y[i]


@njit(**FAST)
def integrate(rates, project, y0, end, rtol, atol, work):
    """The state at the end; ``rates(y, t, out, work)`` writes ẏ, ``project`` the state to go on from after a step."""
    n = len(y0)
    y, y1, stage, k = y0.copy(), np.empty(n), np.empty(n), np.empty((STAGES, n))
    t, h, most = 0.0, _first_step(rates, y, end, rtol, atol, k, stage, work), 10.0
    while t < end:
        last = h * (1 + 1e-9) >= end - t
        size = end - t if last else h
        step(rates, y, t, size, k, stage, y1, work)
        fifth, third = 0.0, 0.0
        for i in range(n):
            allowed = atol + rtol * max(abs(y[i]), abs(y1[i]))
            e5, e3 = errors(k, i)
            fifth += (e5 / allowed) ** 2
            third += (e3 / allowed) ** 2
        error = 0.0 if fifth == 0 else size * fifth / np.sqrt((fifth + 0.01 * third) * n)
        wanted = 10.0 if error == 0 else 0.9 / np.sqrt(np.sqrt(np.sqrt(error)))
        if error < 1:
            t = end if last else t + size
            h, most = size * min(wanted, most), 10.0
            project(y1, t, y, work)
            rates(y, t, k[0], work)
        else:
            h, most = size * max(wanted, 0.2), 1.0
            if not h > 1e-15 * end:
                raise ValueError("steps shrank to nothing")
    return y
