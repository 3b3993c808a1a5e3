# SPDX-License-Identifier: BSD-3-Clause
"""Two seconds of a ten-link chain at equal achieved error, against SciPy with NumPy's pseudo-inverse."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import diffrax
import numpy as np
from scipy.integrate import solve_ivp

import dalembert as da
from benchmarks.chains import NUMBERS, chain, numpy_acceleration
from benchmarks.timing import best, table
from dalembert.integration.method import Method
from dalembert.integration.run import run
from dalembert.lowering.build import build

LINKS = 10
END = 2.0


def start() -> tuple[np.ndarray, np.ndarray]:
    """The chain stretched out sideways and at rest."""
    q = np.stack([np.arange(1.0, LINKS + 1), np.zeros(LINKS)], axis=1).ravel()
    return q, np.zeros(2 * LINKS)


SYSTEM = chain(LINKS)


def ours(rtol: float) -> tuple[float, np.ndarray]:
    def whole() -> da.Trajectory:
        return da.simulate(SYSTEM, *start(), (0, END), parameters=NUMBERS, rtol=rtol, atol=rtol * 1e-2)

    return best(whole), whole().q[-1]


def scipy(rtol: float) -> tuple[float, np.ndarray]:
    n = 2 * LINKS

    def rates(_: float, y: np.ndarray) -> np.ndarray:
        return np.concatenate([y[n:], numpy_acceleration(y[:n], y[n:])])

    def whole() -> np.ndarray:
        y0 = np.concatenate(start())
        return solve_ivp(rates, (0, END), y0, method="DOP853", rtol=rtol, atol=rtol * 1e-2).y[:n, -1]

    return best(whole, repeats=3), whole()


def report() -> str:
    reference = da.simulate(SYSTEM, *start(), (0, END), parameters=NUMBERS, rtol=1e-13, atol=1e-14).q[-1]

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
    return "\n\n".join([title, table(head, rows), crossing(), building()])


def crossing() -> str:
    """Both styles of program as whole simulations: where the switch should sit."""
    rows = []
    for links in (2, 3, 4, 5, 7):
        q = np.stack([np.arange(1.0, links + 1), np.zeros(links)], axis=1).ravel()
        p = tuple(np.asarray(NUMBERS[name]) for name in da.build(chain(links)).parameters)
        found = {}
        for style in ("straight-line", "array"):
            dynamics = build(chain(links), style)
            method = Method(da.Factored(), da.Projection(), diffrax.Dopri8(), 1e-7, 1e-9, None, 10**6)

            def whole(dynamics=dynamics, method=method, q=q, p=p):
                times = np.array([0.0, END])
                return run(dynamics, method, q, 0 * q, times, p, allow_violation=False, progress=False)

            began = time.perf_counter()
            whole()
            found[style] = (time.perf_counter() - began, best(whole))
        straight, array = found["straight-line"], found["array"]
        rows.append(
            [
                str(links),
                f"{straight[1] * 1e3:.2f}",
                f"{array[1] * 1e3:.2f}",
                f"{straight[1] / array[1]:.2f}",
                f"{straight[0]:.1f}, {array[0]:.1f}",
                da.build(chain(links)).style,
            ]
        )
    head = ["links", "straight-line, ms", "array, ms", "ratio", "first call, s", "chosen"]
    return "### Where the switch sits: a chain over 2 s, rtol 1e-7\n\n" + table(head, rows)


def building() -> str:
    """How long a large system takes to build: symbols, derivatives, shared subexpressions."""
    rows = []
    for links in (2, 20):
        system = chain(links)
        began = time.perf_counter()
        da.build.__wrapped__(system)
        rows.append([str(links), f"{time.perf_counter() - began:.2f}"])
    return "### Building\n\n" + table(["links", "`da.build`, s"], rows)
