# SPDX-License-Identifier: BSD-3-Clause
"""SymEngine: explicit accelerations, what they share computed once, through its own LLVM, under SciPy's DOP853."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import symengine as se

from benchmarks.peers.problems import Problem
from benchmarks.peers.scipy_pinv import solved
from dalembert.native.elimination import eliminate, sparse_order

PACKAGES = ("symengine", "scipy")
RTOLS = (1e-7, 1e-8, 1e-9, 1e-10)


def runs(problem: Problem) -> dict[str, Callable[[], np.ndarray]]:
    n = len(problem.q)
    accelerate = se.Lambdify([*problem.q, *problem.v], explicit(problem), backend="llvm", cse=True)

    def rates(_: float, y: np.ndarray) -> np.ndarray:
        return np.concatenate([y[n:], accelerate(y)])

    return {f"rtol={rtol:.0e}": lambda rtol=rtol: solved(problem, rates, "DOP853", rtol) for rtol in RTOLS}


def explicit(problem: Problem) -> list[Any]:
    def read(e: Any) -> Any:
        found = se.sympify(e)
        return float(found) if found.is_Number else found

    M, A = ([[read(e) for e in row] for row in part] for part in (problem.mass_matrix, problem.constraint_matrix))
    Q, b = ([read(e) for e in part] for part in (problem.applied_force, problem.constraint_rhs))
    masses, touched = ([{i for i, e in enumerate(row) if e != 0} for row in part] for part in (M, A))
    return eliminate(M, A, sparse_order(masses, touched, [0] * len(A))).solve(Q, b).acceleration
