# SPDX-License-Identifier: BSD-3-Clause
"""One acceleration of a chain: machine code, JAX's straight-line and array code, and NumPy's pseudo-inverse."""

from __future__ import annotations

import ctypes
import time

import jax
import jax.numpy as jnp
import numpy as np
from llvmlite import ir

from benchmarks.chains import NUMBERS, chain, chain_state, numpy_acceleration
from benchmarks.timing import best, table
from dalembert.lowering.build import build
from dalembert.lowering.programs import Programs
from dalembert.native.assembly import POINTER, MachineCode, load, number, store, write_program
from dalembert.native.stepper import Writer

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


def machine_code(links: int) -> tuple[float, float, float]:
    """The same three numbers for machine code, in the same kind of loop."""
    dynamics = build(chain(links))
    n = 2 * links
    began = time.perf_counter()
    module = ir.Module()
    accelerate = write_program(
        module, "accelerate", Programs(dynamics.native.source, range(links), None).acceleration(), hot=True
    )
    w = Writer(module, "loop", (POINTER, POINTER, POINTER))
    y, p, out = w.function.args
    for _ in w.each(REPEATS):
        w.b.call(accelerate, [y, number(0.0), p, out])
        for i in w.each(n):
            change = w.b.fmul(number(1e-12), load(w.b, out, i))
            for place in (i, w.b.add(i, ir.Constant(ir.IntType(64), n))):
                store(w.b, w.b.fadd(load(w.b, y, place), change), y, place)
    w.b.ret_void()
    code = MachineCode(module)
    seconds = time.perf_counter() - began
    loop = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(code.address("loop"))
    q, qd = chain_state(links)
    start, values = np.concatenate([q, qd]), np.array([NUMBERS[name] for name in dynamics.parameters])
    found = np.empty(n + 1)

    def whole() -> None:
        state = start.copy()
        loop(state.ctypes.data, values.ctypes.data, found.ctypes.data)

    shortest = best(whole) / REPEATS
    once = dynamics.native.engine(tuple(range(links)), None, None).slope(start, 0.0, values)[n:-1]
    return shortest, seconds, float(np.abs(once - numpy_acceleration(q, qd)).max())


def report() -> str:
    rows = []
    for links in (2, 5, 10, 14, 20):
        q, qd = chain_state(links)
        reference = best(lambda q=q, qd=qd: [numpy_acceleration(q, qd) for _ in range(100)]) / 100
        (straight, compile_s, error_s), (array, compile_a, error_a) = (
            per_evaluation(links, style) for style in ("straight-line", "array")
        )
        native, compile_n, error_n = machine_code(links)
        rows.append(
            [
                str(links),
                f"{reference * 1e6:.0f}",
                f"{native * 1e6:.2f} (1/{reference / native:.0f})",
                f"{straight * 1e6:.2f} (1/{reference / straight:.0f})",
                f"{array * 1e6:.2f} (1/{reference / array:.0f})",
                f"{straight / array:.2f}",
                f"{compile_n:.1f}, {compile_s:.1f}, {compile_a:.1f}",
                f"{max(error_n, error_s, error_a):.0e}",
                build(chain(links)).style,
            ]
        )
    head = [
        "links",
        "NumPy `pinv`, µs",
        "machine code, µs (of `pinv`)",
        "JAX straight-line, µs (of `pinv`)",
        "JAX array, µs (of `pinv`)",
        "straight-line / array",
        "compile, s",
        "largest difference",
        "JAX code chosen",
    ]
    return "## One acceleration of a planar chain\n\n" + table(head, rows)
