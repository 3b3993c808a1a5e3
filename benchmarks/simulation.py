# SPDX-License-Identifier: BSD-3-Clause
"""Two seconds of a ten-link chain at equal achieved error, against SciPy with NumPy's pseudo-inverse."""

from __future__ import annotations

import time

import diffrax
import numpy as np
from scipy.integrate import solve_ivp

import dalembert as da
from benchmarks.chains import NUMBERS, chain, numpy_acceleration
from benchmarks.timing import best, table
from dalembert.integration.integrate import Method
from dalembert.integration.run import run
from dalembert.lowering.build import build

LINKS = 10
END = 2.0


def start() -> tuple[np.ndarray, np.ndarray]:
    """The chain stretched out sideways and at rest."""
    q = np.stack([np.arange(1.0, LINKS + 1), np.zeros(LINKS)], axis=1).ravel()
    return q, np.zeros(2 * LINKS)


def ours(rtol: float) -> tuple[float, np.ndarray]:
    def whole() -> da.Trajectory:
        return da.simulate(chain(LINKS), *start(), (0, END), parameters=NUMBERS, rtol=rtol, atol=rtol * 1e-2)

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
    reference = da.simulate(chain(LINKS), *start(), (0, END), parameters=NUMBERS, rtol=1e-13, atol=1e-14).q[-1]
    runs = {name: [(rtol, *f(rtol)) for rtol in (1e-5, 1e-7, 1e-9)] for name, f in (("ours", ours), ("scipy", scipy))}
    errors = {name: [np.abs(q - reference).max() for _, _, q in found] for name, found in runs.items()}
    rows = []
    for k, (rtol, seconds, _) in enumerate(runs["ours"]):
        # the cheapest SciPy run that is at least as accurate; failing that, the most accurate one
        able = [j for j, error in enumerate(errors["scipy"]) if error <= errors["ours"][k]] or [
            len(errors["scipy"]) - 1
        ]
        j = min(able, key=lambda j: runs["scipy"][j][1])
        rows.append(
            [
                f"{rtol:.0e}",
                f"{errors['ours'][k]:.1e}",
                f"{seconds * 1e3:.2f}",
                f"{errors['scipy'][j]:.1e}",
                f"{runs['scipy'][j][1] * 1e3:.0f}",
                f"1/{runs['scipy'][j][1] / seconds:.0f}",
            ]
        )
    head = ["our rtol", "our error", "ours, ms", "SciPy's error", "SciPy `pinv`, ms", "ratio"]
    text = table(head, rows)
    return f"## Ten-link chain, {END:g} s, projection included, whole call of `da.simulate`\n\n{text}\n\n{crossing()}\n\n{building()}"


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
