# SPDX-License-Identifier: BSD-3-Clause
"""heyoka: Taylor's method on explicit equations, the elimination of the multipliers written out."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import heyoka as hy
import numpy as np
import sympy as sp

from benchmarks.peers.problems import Problem
from dalembert.native.elimination import eliminate, sparse_order

hy.llvm_state.set_diskcache_enabled(False)  # or the second measurement would find what the first one compiled
PACKAGES = ("heyoka",)
TOLERANCES = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-10, 1e-12)
LARGE = 20
"""Coordinates from which a loop over Taylor's coefficients compiles in reasonable time, where writing out does not."""


def runs(problem: Problem) -> dict[str, Callable[[], np.ndarray]]:
    rates, n = explicit(problem), len(problem.q)
    large = n > LARGE
    # a tolerance is compiled in, and a large problem takes half a minute each
    tolerances = (1e-6, 1e-9) if large else TOLERANCES

    @lru_cache(maxsize=1)
    def integrator(tolerance: float) -> Any:
        return hy.taylor_adaptive(rates, problem.y0.tolist(), tol=tolerance, compact_mode=large)

    def run(tolerance: float) -> np.ndarray:
        ta = integrator(tolerance)
        ta.time, ta.state[:] = 0.0, problem.y0
        outcome = ta.propagate_until(problem.end)[0]
        if outcome != hy.taylor_outcome.time_limit:
            raise RuntimeError(str(outcome))
        return problem.seen(ta.state[:n].copy())

    return {f"tol={tolerance:.0e}": lambda tolerance=tolerance: run(tolerance) for tolerance in tolerances}


def explicit(problem: Problem) -> list[tuple[Any, Any]]:
    """q̇ = v and v̇ from L D Lᵀ of (M −Aᵀ; −A 0), in an order that creates few new entries."""
    names = {s: hy.make_vars(str(s)) for s in (*problem.q, *problem.v)}

    def read(e: Any) -> Any:
        e = sp.sympify(e)
        return float(e) if e.is_number else hy.from_sympy(e, names)

    M, A = ([[read(e) for e in row] for row in part] for part in (problem.mass_matrix, problem.constraint_matrix))
    Q, b = ([read(e) for e in part] for part in (problem.applied_force, problem.constraint_rhs))
    masses = [{i for i, e in enumerate(row) if e != 0} for row in problem.mass_matrix]
    touched = [{i for i, e in enumerate(row) if e != 0} for row in problem.constraint_matrix]
    found = eliminate(M, A, sparse_order(masses, touched, [0] * len(A))).solve(Q, b)
    return [(names[q], names[v]) for q, v in zip(problem.q, problem.v, strict=True)] + [
        (names[v], a) for v, a in zip(problem.v, found.acceleration, strict=True)
    ]
