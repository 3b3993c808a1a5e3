# SPDX-License-Identifier: BSD-3-Clause
"""SUNDIALS IDA through scikit-sundae, residuals compiled by numba: index 1, and index 2 stabilised after Gear."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp
from numba import njit
from sksundae.ida import IDA

from benchmarks.peers.problems import Problem
from benchmarks.peers.scipy_pinv import lambdified

PACKAGES = ("scikit-sundae", "numba")
RTOLS = (1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11)
IGNORED = 1e6
"""Absolute tolerance of multipliers: nobody asks for them, and no error test should."""


def runs(problem: Problem) -> dict[str, Callable[[], np.ndarray]]:
    n, m = len(problem.q), len(problem.constraint_matrix)
    acceleration, multipliers = _start(problem)
    q, v = problem.y0[:n], problem.y0[n:]
    # Gear, Gupta and Leimkuhler need a second set of multipliers, and constraints on positions
    forms = {"index 1": 0} | ({"stabilised": m} if problem.position else {})
    ready = {}
    for form, extra in forms.items():
        y0 = np.concatenate([q, v, multipliers, np.zeros(extra)])
        yp0 = np.concatenate([v, acceleration, np.zeros(m + extra)])
        ready[form] = _residual(problem, bool(extra)), y0, yp0, list(range(2 * n, len(y0)))

    def run(form: str, rtol: float) -> np.ndarray:
        residual, y0, yp0, algebraic = ready[form]
        atol = np.full(len(y0), rtol / 100)
        atol[algebraic] = IGNORED
        solver = IDA(residual, rtol=rtol, atol=atol, algebraic_idx=algebraic, max_num_steps=200_000)
        found = solver.solve(np.array([0.0, problem.end]), y0, yp0)
        if not found.success:
            raise RuntimeError(found.message)
        return problem.seen(found.y[-1, :n])

    return {f"{form} rtol={rtol:.0e}": lambda f=form, r=rtol: run(f, r) for form in forms for rtol in RTOLS}


def _start(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """q̈ and λ where the motion begins."""
    M, Q, A, b = (np.array(part, float) for part in lambdified(problem)(*problem.y0))
    n, m = len(Q), len(b)
    whole = np.block([[M, -A.T], [A, np.zeros((m, m))]])
    found = np.linalg.solve(whole, np.concatenate([Q, b]))
    return found[:n], found[n:]


def _residual(problem: Problem, stabilised: bool) -> Any:
    """F(t, y, ẏ), written out: M v̇ − Q − Aᵀλ with q̇ − v − Aᵀμ, and A v̇ − b or φ and φ̇."""
    n, m = len(problem.q), len(problem.constraint_matrix)
    rates = sp.symbols(f"r:{2 * n}")
    lam, mu = sp.symbols(f"lam:{m}"), sp.symbols(f"mu:{m if stabilised else 0}")
    M, A = problem.mass_matrix, problem.constraint_matrix

    def push(factors: Any, i: int) -> Any:
        return sum(A[k][i] * factor for k, factor in enumerate(factors))

    def along(row: Any, x: Any) -> Any:
        return sum(e * s for e, s in zip(row, x, strict=True) if e != 0)

    rows = [rates[i] - problem.v[i] - push(mu, i) for i in range(n)]
    rows += [along(M[i], rates[n:]) - problem.applied_force[i] - push(lam, i) for i in range(n)]
    if stabilised:
        rows += [*problem.position, *(along(row, problem.v) for row in A)]
    else:
        rows += [along(row, rates[n:]) - b for row, b in zip(A, problem.constraint_rhs, strict=True)]
    shared, found = sp.cse(rows, order="none")
    state = (*problem.q, *problem.v, *lam, *mu)
    lines = ["def residual(time, state, rates, out):"]
    lines += [f"    {s} = state[{i}]" for i, s in enumerate(state)]
    lines += [f"    {s} = rates[{i}]" for i, s in enumerate(rates)]
    lines += [f"    {s} = {sp.pycode(e)}" for s, e in shared]
    lines += [f"    out[{i}] = {sp.pycode(e)}" for i, e in enumerate(found)]
    module: dict[str, Any] = {"math": math}
    exec("\n".join(lines), module)
    compiled = njit(module["residual"])
    return lambda t, y, yp, res: compiled(t, y, yp, res)
