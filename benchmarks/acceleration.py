# SPDX-License-Identifier: BSD-3-Clause
"""One acceleration of a chain: straight-line program, array code, and NumPy's pseudo-inverse."""

from __future__ import annotations

import time

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.chains import NUMBERS, chain, chain_state, numpy_acceleration
from benchmarks.timing import best, table
from dalembert.lowering.build import build

REPEATS = 20_000


def per_evaluation(links: int, style: str) -> tuple[float, float, float]:
    """Seconds per acceleration inside a compiled loop, seconds to compile it, largest error against NumPy."""
    dynamics = build(chain(links), style)
    q, qd = map(jnp.asarray, chain_state(links))
    p = tuple(jnp.asarray(NUMBERS[name]) for name in dynamics.parameters)
    rows = dynamics.engine.watch(q, qd, 0.0, p).rows

    @jax.jit
    def loop(q, qd):
        # Each acceleration changes both q and qd. With q left alone XLA moves everything that depends on it, the
        # factorisation included, out of the loop, and the time is that of what remains.
        def body(_, state):
            q, qd = state
            qdd = dynamics.engine.acceleration(q, qd, 0.0, p, rows, None)
            return q + 1e-12 * qdd, qd + 1e-12 * qdd

        return jax.lax.fori_loop(0, REPEATS, body, (q, qd))

    began = time.perf_counter()
    compiled = loop.lower(q, qd).compile()
    seconds = time.perf_counter() - began
    got = dynamics.engine.acceleration(q, qd, 0.0, p, rows, None)
    error = float(np.abs(np.asarray(got) - numpy_acceleration(np.asarray(q), np.asarray(qd))).max())
    return best(lambda: jax.block_until_ready(compiled(q, qd))) / REPEATS, seconds, error


def report() -> str:
    rows = []
    for links in (2, 5, 10, 14, 20):
        q, qd = chain_state(links)
        reference = best(lambda q=q, qd=qd: [numpy_acceleration(q, qd) for _ in range(100)]) / 100
        (straight, compile_s, error_s), (array, compile_a, error_a) = (
            per_evaluation(links, style) for style in ("straight-line", "array")
        )
        rows.append(
            [
                str(links),
                f"{reference * 1e6:.0f}",
                f"{straight * 1e6:.2f} (1/{reference / straight:.0f})",
                f"{array * 1e6:.2f} (1/{reference / array:.0f})",
                f"{straight / array:.2f}",
                f"{compile_s:.1f}, {compile_a:.1f}",
                f"{max(error_s, error_a):.0e}",
                build(chain(links)).style,
            ]
        )
    head = [
        "links",
        "NumPy `pinv`, µs",
        "straight-line, µs (of `pinv`)",
        "array, µs (of `pinv`)",
        "straight-line / array",
        "compile, s",
        "largest difference",
        "chosen",
    ]
    return "## One acceleration of a planar chain\n\n" + table(head, rows)
