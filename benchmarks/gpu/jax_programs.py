# SPDX-License-Identifier: BSD-3-Clause
"""Programs by JAX: the textbook formula mapped over members, and the straight-line program under XLA and Pallas.

Each function makes ``run(q, qd)`` for one problem, with all its steps: q and qd of shape (n, count), in and out.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.engines.written import text
from benchmarks.gpu.gpu_problems import Problem
from dalembert.lowering.build import build
from dalembert.lowering.programs import Programs
from dalembert.native.tape import Program

Run = Callable[[Any, Any], tuple[Any, Any]]


def runge_kutta(acceleration: Callable[..., Any], h: float, q: Any, qd: Any) -> tuple[Any, Any]:
    """One step; q and qd are trees of arrays."""

    def move(x: Any, v: Any, h: float) -> Any:
        return jax.tree.map(lambda a, b: a + h * b, x, v)

    a1 = acceleration(q, qd)
    q2, qd2 = move(q, qd, h / 2), move(qd, a1, h / 2)
    a2 = acceleration(q2, qd2)
    q3, qd3 = move(q, qd2, h / 2), move(qd, a2, h / 2)
    a3 = acceleration(q3, qd3)
    q4, qd4 = move(q, qd3, h), move(qd, a3, h)
    a4 = acceleration(q4, qd4)
    mean = [
        jax.tree.map(lambda a, b, c, d: (a + 2 * b + 2 * c + d) / 6, *four)
        for four in ((qd, qd2, qd3, qd4), (a1, a2, a3, a4))
    ]
    return move(q, mean[0], h), move(qd, mean[1], h)


def textbook(problem: Problem) -> Run:
    """The papers' formula for one state, mapped over all."""
    dynamics = build(problem.system)
    p = tuple(jnp.asarray(problem.numbers[name]) for name in dynamics.parameters)

    def acceleration(q: Any, qd: Any) -> Any:
        terms = dynamics.terms(q, qd, 0.0, p)
        a = jnp.linalg.solve(terms.M, terms.Q)
        S = terms.A @ jnp.linalg.solve(terms.M, terms.A.T)
        return a + jnp.linalg.solve(terms.M, terms.A.T @ jnp.linalg.solve(S, terms.b - terms.A @ a))

    step = partial(runge_kutta, jax.vmap(acceleration), problem.h)

    @jax.jit
    def run(q: Any, qd: Any) -> tuple[Any, Any]:
        q, qd = jax.lax.fori_loop(0, problem.steps, lambda _, state: step(*state), (q.T, qd.T))
        return q.T, qd.T

    return run


def _column_step(problem: Problem) -> Callable[..., tuple[Any, Any]]:
    """One step of our straight-line program, on tuples with one array per coordinate."""
    dynamics = build(problem.system)
    p = tuple(float(problem.numbers[name]) for name in dynamics.parameters)
    source = dynamics.native.source
    tape, outputs = Programs(source, range(len(source.levels)), None).acceleration()
    lines, names = text(Program(tape, outputs[:-1]), "jnp")
    module: dict[str, Any] = {"jnp": jnp}
    body = [f"    {line}" for line in lines]
    exec("\n".join(["def accelerate(y, t, p):", *body, f"    return {', '.join(names)},"]), module)
    return partial(runge_kutta, lambda q, qd: module["accelerate"]((*q, *qd), 0.0, p), problem.h)


def xla(problem: Problem) -> Run:
    """The straight-line program over a struct of arrays."""
    step = _column_step(problem)

    @jax.jit
    def run(q: Any, qd: Any) -> tuple[Any, Any]:
        state = (tuple(q), tuple(qd))
        q, qd = jax.lax.fori_loop(0, problem.steps, lambda _, state: step(*state), state)
        return jnp.stack(q), jnp.stack(qd)

    return run


def pallas(problem: Problem, block: int = 128, warps: int = 4, *, interpret: bool = False) -> Run:
    """The same program with its whole time loop in one kernel of Pallas, by way of Triton."""
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import triton

    n, step = problem.n, _column_step(problem)

    def kernel(q_ref: Any, qd_ref: Any, q_out: Any, qd_out: Any) -> None:
        state = tuple(tuple(ref[k, :] for k in range(n)) for ref in (q_ref, qd_ref))
        state = jax.lax.fori_loop(0, problem.steps, lambda _, state: step(*state), state)
        for out, columns in zip((q_out, qd_out), state, strict=True):
            for k, column in enumerate(columns):
                out[k, :] = column

    @jax.jit
    def run(q: Any, qd: Any) -> tuple[Any, Any]:
        part = pl.BlockSpec((n, block), lambda i: (0, i))
        whole = jax.ShapeDtypeStruct(q.shape, q.dtype)
        call = pl.pallas_call(
            kernel,
            out_shape=(whole, whole),
            grid=(q.shape[1] // block,),
            in_specs=[part, part],
            out_specs=(part, part),
            compiler_params=triton.CompilerParams(num_warps=warps, num_stages=1),
            interpret=interpret,
        )
        return call(q, qd)

    return run
