# SPDX-License-Identifier: BSD-3-Clause
"""The reference of every row of the table: the same steps in NumPy, and a converged motion."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import sympy as sp

import dalembert as da
from benchmarks.gpu.gpu_problems import Problem, named
from dalembert.model.standard_form import standard_form


def checked(count: int) -> tuple[int, ...]:
    """Members looked at: the first, the last, one between."""
    return 0, count // 3, count - 1


def terms(problem: Problem) -> Callable[..., tuple[Any, ...]]:
    """M, Q, A, b of one state and the residuals, by SymPy's own printer: nothing of what is measured."""
    form = standard_form(problem.system)
    residuals = (form.position, form.velocity)
    parts = (form.mass_matrix, form.applied_force, form.constraint_matrix, form.constraint_rhs, *residuals)
    matrices = [sp.Matrix(part) for part in parts]
    letters = {symbol for matrix in matrices for symbol in matrix.free_symbols if symbol.name in problem.numbers}
    plain = [matrix.xreplace({symbol: problem.numbers[symbol.name] for symbol in letters}) for matrix in matrices]
    found = sp.lambdify((form.symbols.q, form.symbols.qd), plain, "numpy", cse=True)
    return lambda q, qd: tuple(np.squeeze(part) if part.shape[1] == 1 else part for part in found(q, qd))


def acceleration(problem: Problem) -> Callable[[Any, Any], Any]:
    """q̈ = a + M⁻¹Aᵀ(A M⁻¹Aᵀ)⁺(b − A a)."""
    of = terms(problem)

    def acceleration(q: Any, qd: Any) -> Any:
        M, Q, A, b, *_ = of(q, qd)
        inverse = np.linalg.solve(M, np.column_stack([Q, A.T]))
        a, W = inverse[:, 0], inverse[:, 1:]
        return a + W @ np.linalg.lstsq(A @ W, b - A @ a, rcond=None)[0]

    return acceleration


def runge_kutta(f: Callable[[Any, Any], Any], q: Any, qd: Any, h: float) -> tuple[Any, Any]:
    a1 = f(q, qd)
    v2 = qd + h / 2 * a1
    a2 = f(q + h / 2 * qd, v2)
    v3 = qd + h / 2 * a2
    a3 = f(q + h / 2 * v2, v3)
    v4 = qd + h * a3
    a4 = f(q + h * v3, v4)
    return q + h / 6 * (qd + 2 * v2 + 2 * v3 + v4), qd + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)


def projection(problem: Problem) -> Callable[[Any, Any], tuple[Any, Any]]:
    """The shortest way back, in the mass metric: positions in two Gauss–Newton steps, then velocities in one."""
    of = terms(problem)

    def change(q: Any, qd: Any, residual: int) -> Any:
        found = of(q, qd)
        W = np.linalg.solve(found[0], found[2].T)
        return -W @ np.linalg.lstsq(found[2] @ W, found[residual], rcond=None)[0]

    def project(q: Any, qd: Any) -> tuple[Any, Any]:
        if problem.holonomic:
            q = q + change(q, qd, 4)
            q = q + change(q, qd, 4)
        return q, qd + change(q, qd, 5)

    return project


@cache
def same_steps(name: str, member: int, steps: int, projected: bool) -> np.ndarray:
    """q and qd at the end, (2, n), of the same steps of one member."""
    problem = named(name)
    f, (q, qd), project = acceleration(problem), problem.start(member), projection(problem)
    for _ in range(steps):
        q, qd = runge_kutta(f, q, qd, problem.h)
        if projected:
            q, qd = project(q, qd)
    return np.stack([q, qd])


@cache
def converged(name: str, member: int, steps: int) -> np.ndarray:
    """The same of the motion itself, at a tolerance near rounding."""
    problem = named(name)
    times, start = [0, problem.h * steps], problem.start(member)
    run = da.simulate(problem.system, *start, times, parameters=problem.numbers, rtol=1e-13, atol=1e-14)
    return np.stack([run.q[-1], run.qd[-1]])
