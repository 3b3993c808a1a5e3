# SPDX-License-Identifier: BSD-3-Clause
"""JAX and diffrax by hand: dense arrays, Cholesky of M and of A M⁻¹ Aᵀ, diffrax's explicit solvers, compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import sympy as sp
from jax.scipy.linalg import cho_factor, cho_solve

from benchmarks.peers.problems import Problem

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_enable_compilation_cache", False)
PACKAGES = ("jax", "diffrax")
SETTINGS = [*(("Dopri8", rtol) for rtol in (1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10)), ("Tsit5", 1e-5), ("Tsit5", 1e-7)]


def runs(problem: Problem) -> dict[str, Callable[[], np.ndarray]]:
    n, y0 = len(problem.q), jnp.asarray(problem.y0)
    M, A = _array(problem, problem.mass_matrix), _array(problem, problem.constraint_matrix)
    Q, b = _array(problem, [problem.applied_force]), _array(problem, [problem.constraint_rhs])

    def rates(t: Any, y: Any, _: Any) -> Any:
        mass, rows, force, right = M(y), A(y), Q(y)[0], b(y)[0]
        factor = cho_factor(mass)
        free = cho_solve(factor, force)
        flexible = cho_solve(factor, rows.T)
        multipliers = cho_solve(cho_factor(rows @ flexible), right - rows @ free)
        return jnp.concatenate([y[n:], free + flexible @ multipliers])

    def solve(y0: Any, rtol: Any, solver: str) -> Any:
        return diffrax.diffeqsolve(
            diffrax.ODETerm(rates),
            getattr(diffrax, solver)(),
            *(0.0, problem.end, None, y0),
            stepsize_controller=diffrax.PIDController(rtol=rtol, atol=rtol / 100),
            saveat=diffrax.SaveAt(t1=True),
            max_steps=100_000,
        ).ys[0]

    compiled = {solver: jax.jit(lambda y, rtol, s=solver: solve(y, rtol, s)) for solver, _ in SETTINGS}
    return {
        f"{solver} rtol={rtol:.0e}": lambda solver=solver, rtol=rtol: problem.seen(
            np.asarray(compiled[solver](y0, rtol))[:n]
        )
        for solver, rtol in SETTINGS
    }


def _array(problem: Problem, entries: list[list[Any]]) -> Callable[[Any], Any]:
    """A matrix of expressions as a function of the state: constants as they are, the others put in."""
    places = [(i, j) for i, row in enumerate(entries) for j, e in enumerate(row) if not sp.sympify(e).is_number]
    varying = set(places)
    rows = enumerate(entries)
    constant = np.array([[0.0 if (i, j) in varying else float(e) for j, e in enumerate(row)] for i, row in rows])
    if not places:
        return lambda y: jnp.asarray(constant)
    at = tuple(np.array(places).T)
    values = sp.lambdify([(*problem.q, *problem.v)], [entries[i][j] for i, j in places], "jax", cse=True)
    return lambda y: jnp.asarray(constant).at[at].set(jnp.stack(values(tuple(y))))
