# SPDX-License-Identifier: BSD-3-Clause
"""XLA: the straight-line programs traced by JAX, under a lean adaptive loop of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.engines.written import programs, text
from benchmarks.peers.problems import Problem
from dalembert.native.dormand_prince import DORMAND_PRINCE

NODES, FROM_EARLIER, RESULT = DORMAND_PRINCE.nodes, DORMAND_PRINCE.stages, DORMAND_PRINCE.result
ERROR_5, ERROR_3 = DORMAND_PRINCE.errors

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_enable_compilation_cache", False)
PACKAGES = ("jax", "jaxlib")
RTOLS = (1e-7, 1e-8, 1e-9, 1e-10)


def runs(problem: Problem) -> dict[str, Callable[[], np.ndarray]]:
    accelerate, project = (_traced(program) for program in programs(problem))
    n, y0 = len(problem.q), jnp.asarray(problem.y0)

    def rates(y: Any, t: Any) -> Any:
        return jnp.concatenate([y[n:], accelerate(y, t)])

    loop = jax.jit(lambda y0, rtol: integrate(rates, project, y0, problem.end, rtol, rtol / 100))
    return {f"rtol={rtol:.0e}": lambda rtol=rtol: problem.seen(np.asarray(loop(y0, rtol))[:n]) for rtol in RTOLS}


def _traced(program: Any) -> Callable[[Any, Any], Any]:
    lines, outputs = text(program, "jnp")
    module: dict[str, Any] = {"jnp": jnp}
    body = [f"    {line}" for line in lines]
    exec("\n".join(["def program(y, t):", *body, f"    return jnp.stack([{', '.join(outputs)}])"]), module)
    return module["program"]


def _blend(k: list[Any], factors: dict[int, float]) -> Any:
    return sum(factor * k[stage] for stage, factor in factors.items())


def integrate(rates: Any, project: Any, y0: Any, end: float, rtol: Any, atol: Any) -> Any:
    """DOP853 in ``while_loop``; the first step is short and grows."""

    def step(carry: Any) -> Any:
        y, k0, t, h = carry
        size = jnp.minimum(h, end - t)
        k = [k0]
        for s in range(1, len(NODES)):
            k.append(rates(y + size * _blend(k, FROM_EARLIER[s]), t + NODES[s] * size))
        y1 = y + size * _blend(k, RESULT)
        allowed = atol + rtol * jnp.maximum(jnp.abs(y), jnp.abs(y1))
        fifth, third = (jnp.sum((_blend(k, e) / allowed) ** 2) for e in (ERROR_5, ERROR_3))
        error = size * fifth / jnp.sqrt((fifth + 0.01 * third + 1e-300) * len(y))
        good = error < 1
        ratio = jnp.clip(0.9 * (error + 1e-30) ** (-1 / 8), 0.2, 10.0)

        def accepted(_: Any) -> Any:
            arrived = project(y1, t + size)
            return arrived, rates(arrived, t + size), t + size

        y, k0, t = jax.lax.cond(good, accepted, lambda _: (y, k0, t), None)
        return y, k0, t, size * ratio

    start = y0, rates(y0, 0.0), jnp.array(0.0), jnp.array(1e-4 * end)
    return jax.lax.while_loop(lambda carry: carry[2] < end * (1 - 1e-15), step, start)[0]
