# SPDX-License-Identifier: BSD-3-Clause
"""The program of a reader of the papers: q̈ = a + M^(-1/2) (A M^(-1/2))⁺ (b − A a) by NumPy, integrated by SciPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp
from scipy.integrate import solve_ivp

from benchmarks.peers.problems import Problem

PACKAGES = ("numpy", "scipy", "sympy")
SETTINGS = [*(("DOP853", rtol) for rtol in (1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10)), ("RK45", 1e-5), ("RK45", 1e-7)]


def runs(problem: Problem) -> dict[str, Callable[[], np.ndarray]]:
    terms, n = lambdified(problem), len(problem.q)

    def rates(_: float, y: np.ndarray) -> np.ndarray:
        M, Q, A, b = terms(*y)
        values, vectors = np.linalg.eigh(np.array(M, float))
        root = (vectors / np.sqrt(values)) @ vectors.T  # M^(-1/2)
        A, Q, b = np.array(A, float), np.array(Q, float), np.array(b, float)
        a = root @ (root @ Q)
        return np.concatenate([y[n:], a + root @ (np.linalg.pinv(A @ root) @ (b - A @ a))])

    return {
        f"{method} rtol={rtol:.0e}": lambda method=method, rtol=rtol: solved(problem, rates, method, rtol)
        for method, rtol in SETTINGS
    }


def lambdified(problem: Problem) -> Any:
    """M, Q, A, b of a state as nested lists, what they share computed once."""
    return sp.lambdify(
        (*problem.q, *problem.v),
        [problem.mass_matrix, problem.applied_force, problem.constraint_matrix, problem.constraint_rhs],
        "math",
        cse=True,
    )


def solved(problem: Problem, rates: Any, method: str, rtol: float) -> np.ndarray:
    """Return the measured quantity at the end, by one of SciPy's integrators."""
    found = solve_ivp(rates, (0, problem.end), problem.y0, method=method, rtol=rtol, atol=rtol / 100)
    if not found.success:
        raise RuntimeError(found.message)
    return problem.seen(found.y[: len(problem.q), -1])
