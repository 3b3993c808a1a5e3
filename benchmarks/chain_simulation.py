# SPDX-License-Identifier: BSD-3-Clause
"""Two seconds of a ten-link chain at equal achieved error, against SciPy with NumPy's pseudo-inverse."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import diffrax
import jax
import numpy as np
from scipy.integrate import solve_ivp

import dalembert as da
from benchmarks.chains import NUMBERS, chain, exact_positions, exact_state, numpy_acceleration, stretched
from benchmarks.timing import Cost, best, table, timed
from dalembert.integration.method import Method
from dalembert.integration.run import run
from dalembert.lowering.build import build

LINKS = 10
END = 2.0
RTOL = 1e-7

SYSTEM = chain(LINKS)


def ours(rtol: float) -> tuple[float, np.ndarray]:
    def whole() -> da.Trajectory:
        return da.simulate(SYSTEM, *stretched(LINKS), (0, END), parameters=NUMBERS, rtol=rtol, atol=rtol * 1e-2)

    return best(whole), whole().q[-1]


def scipy(rtol: float) -> tuple[float, np.ndarray]:
    n = 2 * LINKS

    def rates(_: float, y: np.ndarray) -> np.ndarray:
        return np.concatenate([y[n:], numpy_acceleration(y[:n], y[n:])])

    def whole() -> np.ndarray:
        y0 = np.concatenate(stretched(LINKS))
        return solve_ivp(rates, (0, END), y0, method="DOP853", rtol=rtol, atol=rtol * 1e-2).y[:n, -1]

    return best(whole, repeats=3), whole()


def report() -> str:
    reference = exact_positions(*stretched(LINKS), END)

    def measured(run: Callable[[float], tuple[float, np.ndarray]], rtols: Sequence[float]) -> np.ndarray:
        """Rows of (achieved error, seconds)."""
        return np.array([(np.abs(q - reference).max(), seconds) for seconds, q in map(run, rtols)])

    theirs = measured(scipy, (1e-2, 1e-3, 1e-4, 1e-5, 1e-7, 1e-9, 1e-11))
    theirs = theirs[np.argsort(theirs[:, 0])]
    rows = []
    for rtol, (error, seconds) in zip((1e-5, 1e-7, 1e-9), measured(ours, (1e-5, 1e-7, 1e-9)), strict=True):
        # SciPy's time at the very error that we reached, between its runs on logarithmic scales
        same = np.exp(np.interp(np.log(error), *np.log(theirs.T)))
        rows.append(
            [f"{rtol:.0e}", f"{error:.1e}", f"{seconds * 1e3:.1f}", f"{same * 1e3:.0f}", f"1/{same / seconds:.0f}"]
        )
    head = ["our rtol", "achieved error", "ours, ms", "SciPy `pinv` at that error, ms", "ratio"]
    title = f"## Ten-link chain, {END:g} s, projection included, whole call of `da.simulate`"
    return "\n\n".join([title, table(head, rows), building()])


def whole_run(links: int, *, by_jax: bool = False) -> Cost:
    """Two seconds of a chain, by machine code or by JAX.

    The first time counts from the symbols on: it derives, compiles and runs.
    """
    q, qd = stretched(links)
    method = Method(
        da.Factored(), da.Projection(), diffrax.Dopri8() if by_jax else None, RTOL, RTOL * 1e-2, None, 10**6
    )
    times = np.array([0.0, END])

    def simulate(dynamics: Any) -> Any:
        p = tuple(np.asarray(NUMBERS[name]) for name in dynamics.parameters)
        return run(dynamics, method, q, qd, times, p, allow_violation=False, progress=False)

    def first_time() -> Any:
        dynamics = build.__wrapped__(chain(links))
        return dynamics, simulate(dynamics).q[-1]

    first, (dynamics, found) = timed(first_time)
    error = float(np.abs(found - exact_positions(q, qd, END)).max())
    return Cost(best(lambda: simulate(dynamics)), first, error)


def whole_derivative(links: int) -> Cost:
    """Return the derivative of the end of such a motion, as it changes with gravity, backwards through a flow.

    A chain that starts at rest moves as another one does under another gravity, only at another pace: q is a function
    of t √g. So q changes with g as t q̇ / 2g, which the error is against.
    """
    q, qd = stretched(links)

    def first_time() -> Any:
        build.cache_clear()
        motion = da.flow(chain(links), (0, END), rtol=RTOL, atol=RTOL * 1e-2)

        @jax.jit
        @jax.grad
        def derivative(g: Any) -> Any:
            return motion(q, qd, {**NUMBERS, "g": g})[0][-1].sum()

        return derivative, float(derivative(NUMBERS["g"]))

    first, (derivative, found) = timed(first_time)
    exact = exact_state(q, qd, END)[1].sum() * END / (2 * NUMBERS["g"])
    seconds = best(lambda: jax.block_until_ready(derivative(NUMBERS["g"])))
    return Cost(seconds, first, float(np.abs(found - exact)))


def building() -> str:
    """Return the time in which a large system is built: symbols, derivatives, shared subexpressions."""
    rows = []
    for links in (2, 20):
        system = chain(links)
        began = time.perf_counter()
        da.build.__wrapped__(system)
        rows.append([str(links), f"{time.perf_counter() - began:.2f}"])
    return "### Building\n\n" + table(["links", "`da.build`, s"], rows)
