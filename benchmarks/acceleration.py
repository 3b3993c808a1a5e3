# SPDX-License-Identifier: BSD-3-Clause
"""One acceleration of a chain: machine code, JAX, and NumPy's pseudo-inverse."""

from __future__ import annotations

import ctypes
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from llvmlite import ir

from benchmarks.chains import NUMBERS, chain, chain_state, exact_acceleration, numpy_acceleration
from benchmarks.timing import Cost, best, table, timed
from dalembert.lowering.build import build
from dalembert.lowering.programs import Programs
from dalembert.native.assembly import POINTER, MachineCode, load, number, store, write_program
from dalembert.native.stepper import Writer

REPEATS = 20_000


def by_numpy(links: int) -> Cost:
    """The papers' formula, one call after another."""
    q, qd = chain_state(links)
    seconds = best(lambda: [numpy_acceleration(q, qd) for _ in range(100)]) / 100
    return Cost(seconds, 0.0, _error(numpy_acceleration(q, qd), q, qd))


def by_jax(links: int) -> Cost:
    """Inside a compiled loop."""
    dynamics = build(chain(links))
    start = chain_state(links)
    q, qd = map(jnp.asarray, start)
    p = tuple(jnp.asarray(NUMBERS[name]) for name in dynamics.parameters)
    rows = dynamics.engine.select_rows(q, qd, 0.0, p).rows

    @jax.jit
    def loop(q, qd):
        # Each acceleration changes both q and qd. With q left alone XLA moves everything that depends on it, the
        # factorisation included, out of the loop, and the time is that of what remains.
        def body(_, state):
            q, qd = state
            qdd = dynamics.engine.acceleration(q, qd, 0.0, p, rows, None)
            return q + 1e-12 * qdd, qd + 1e-12 * qdd

        return jax.lax.fori_loop(0, REPEATS, body, (q, qd))

    first, compiled = timed(lambda: loop.lower(q, qd).compile())
    got = np.asarray(dynamics.engine.acceleration(q, qd, 0.0, p, rows, None))
    return Cost(best(lambda: jax.block_until_ready(compiled(q, qd))) / REPEATS, first, _error(got, *start))


def by_machine_code(links: int) -> Cost:
    """In the same kind of loop."""
    dynamics = build(chain(links))
    n = 2 * links
    first, code = timed(lambda: _compiled_loop(dynamics.native.source, links))
    loop = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(code.address("loop"))
    q, qd = chain_state(links)
    start, values = np.concatenate([q, qd]), np.array([NUMBERS[name] for name in dynamics.parameters])
    found = np.empty(n + 1)

    def whole() -> None:
        state = start.copy()
        loop(state.ctypes.data, values.ctypes.data, found.ctypes.data)

    once = dynamics.native.engine(tuple(range(links)), None, None).slope(start, 0.0, values)[n:-1]
    return Cost(best(whole) / REPEATS, first, _error(once, q, qd))


def _compiled_loop(source: Any, links: int) -> MachineCode:
    module = ir.Module()
    program = Programs(source, range(links), None).acceleration()
    accelerate = write_program(module, "accelerate", program, hot=True)
    w = Writer(module, "loop", (POINTER, POINTER, POINTER))
    y, p, out = w.function.args
    for _ in w.each(REPEATS):
        w.b.call(accelerate, [y, number(0.0), p, out])
        for i in w.each(2 * links):
            change = w.b.fmul(number(1e-12), load(w.b, out, i))
            for place in (i, w.b.add(i, ir.Constant(ir.IntType(64), 2 * links))):
                store(w.b, w.b.fadd(load(w.b, y, place), change), y, place)
    w.b.ret_void()
    return MachineCode(module)


def _error(found: np.ndarray, q: np.ndarray, qd: np.ndarray) -> float:
    """The largest error, as a fraction of the largest acceleration."""
    exact = exact_acceleration(q, qd)
    return float(np.abs(found - exact).max() / np.abs(exact).max())


def report() -> str:
    rows = []
    for links in (2, 5, 10, 14, 20):
        reference, native = by_numpy(links), by_machine_code(links)
        traced = by_jax(links)
        rows.append(
            [
                str(links),
                f"{reference.seconds * 1e6:.0f}",
                *(f"{cost.seconds * 1e6:.2f} (1/{reference.seconds / cost.seconds:.0f})" for cost in (native, traced)),
                f"{native.first:.1f}, {traced.first:.1f}",
                f"{max(cost.error for cost in (native, traced)):.0e}",
            ]
        )
    head = [
        "links",
        "NumPy `pinv`, µs",
        "machine code, µs (of `pinv`)",
        "JAX, µs (of `pinv`)",
        "compile, s",
        "largest relative error",
    ]
    return "## One acceleration of a planar chain\n\n" + table(head, rows)
