# SPDX-License-Identifier: BSD-3-Clause
"""The acceleration of a large system, and the factors and solution of its A M⁻¹ Aᵀ by other programs."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.large_systems import Case
from dalembert.integration.sparse_motion import acceleration
from dalembert.lowering.large_system import compiled

REGULARISATION = 1e-6
"""Added to the diagonal for QDLDL, which refuses the singular matrix of redundant constraints."""


def evaluation(case: Case) -> Callable[[], None] | None:
    """Return a function that computes the acceleration at one state; None for systems in straight-line code."""
    templates = case.system.templates
    if templates is None:
        return None
    dynamics = compiled(templates)
    code, numbers = dynamics.code, dynamics.numbers(templates.values(None))

    # off the start: there many entries of S are zero by symmetry, and QDLDL would not see them
    q = case.q + 0.1 * np.random.default_rng(0).normal(size=len(case.q))

    def accelerate() -> None:
        code.evaluate(q, case.qd, 0.0, numbers)
        code.factor()
        acceleration(dynamics, None)

    accelerate()
    return accelerate


def alone(case: Case, *, is_chain: bool) -> dict[str, Callable[[], Any]]:
    """Return the solution of the linear equations of the last evaluation by QDLDL and, for a chain, by Thomas."""
    if case.system.templates is None:
        return {}
    code, found = compiled(case.system.templates).code, dict[str, Callable[[], Any]]()
    if find_spec("qdldl"):
        found["QDLDL alone"] = _qdldl(code)
    if is_chain:
        found["Thomas alone"] = _thomas(code)
    return found


def _qdldl(code: Any) -> Callable[[], Any]:
    import qdldl
    from scipy.sparse import csc_matrix

    half = code.half
    values = code.terms[half.places] * np.sqrt(code.mass.weights[half.columns])
    B = csc_matrix((values, (half.rows, half.columns)), shape=(code.m, code.n))
    S = csc_matrix(B @ B.T)
    if code.elimination.left_out.any():
        S.setdiag(S.diagonal() * (1 + REGULARISATION))
    right = code.rhs
    solver = qdldl.Solver(S)

    def solve() -> None:
        solver.update(S)
        solver.solve(right)

    return solve


def _thomas(code: Any) -> Callable[[], Any]:
    from scipy.linalg.lapack import dptsv

    S = (code.A.multiply(code.mass.weights) @ code.A.T).tocsr()
    diagonal, beside, right = S.diagonal(), S.diagonal(1), code.rhs
    return lambda: dptsv(diagonal, beside, right)
