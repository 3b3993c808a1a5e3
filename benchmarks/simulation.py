# SPDX-License-Identifier: BSD-3-Clause
"""Two seconds of a ten-link chain at equal achieved error, against SciPy with NumPy's pseudo-inverse."""

from __future__ import annotations

import time

import numpy as np
from scipy.integrate import solve_ivp

import dalembert as da
from benchmarks.chains import NUMBERS, chain, numpy_acceleration
from benchmarks.timing import best, table

LINKS = 10
END = 2.0


def start() -> tuple[np.ndarray, np.ndarray]:
    """The chain stretched out sideways and at rest."""
    q = np.stack([np.arange(1.0, LINKS + 1), np.zeros(LINKS)], axis=1).ravel()
    return q, np.zeros(2 * LINKS)


def ours(rtol: float) -> tuple[float, np.ndarray]:
    def run() -> da.Trajectory:
        return da.simulate(chain(LINKS), *start(), (0, END), parameters=NUMBERS, rtol=rtol, atol=rtol * 1e-2)

    return best(run), run().q[-1]


def scipy(rtol: float) -> tuple[float, np.ndarray]:
    n = 2 * LINKS

    def rates(_: float, y: np.ndarray) -> np.ndarray:
        return np.concatenate([y[n:], numpy_acceleration(y[:n], y[n:])])

    def run() -> np.ndarray:
        y0 = np.concatenate(start())
        return solve_ivp(rates, (0, END), y0, method="DOP853", rtol=rtol, atol=rtol * 1e-2).y[:n, -1]

    return best(run, repeats=3), run()


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
    return f"## Ten-link chain, {END:g} s, projection included, whole call of `da.simulate`\n\n{text}\n\n{building()}"


def building() -> str:
    """How long a large system takes to build: symbols, derivatives, shared subexpressions."""
    rows = []
    for links in (2, 20):
        system = chain(links)
        began = time.perf_counter()
        da.build.__wrapped__(system)
        rows.append([str(links), f"{time.perf_counter() - began:.2f}"])
    return "### Building\n\n" + table(["links", "`da.build`, s"], rows)
