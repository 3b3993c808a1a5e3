# SPDX-License-Identifier: BSD-3-Clause
"""Time per ensemble member on one core: members side by side, beside a single run and heyoka's batch mode.

Run with heyoka installed: ``python -m benchmarks.ensembles``. Half a second of planar chains that start stretched out
at angles of their own. All times are those of the processor for one thread, so that other processes disturb them
little.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import dalembert as da
from benchmarks.chains import NUMBERS, chain, exact_positions
from benchmarks.scaling.ensemble_sizes import starts
from dalembert.native.batch import MotionBatch
from dalembert.native.engine import NativeEngine

END, REPEATS, ALONE = 0.5, 5, 100
SIZES = {2: 16384, 5: 8192, 20: 1024}
"""Members by the number of links."""
TOLERANCES = (1e-7, 1e-8, 1e-9, 1e-10, 1e-11)


@contextmanager
def timed(owner: type, *names: str) -> Iterator[list[float]]:
    """Add up the processor time of some methods."""
    total, originals = [0.0], {name: getattr(owner, name) for name in names}

    def wrapped(original: Callable[..., Any]) -> Callable[..., Any]:
        def method(*given: Any, **named: Any) -> Any:
            began = time.thread_time()
            found = original(*given, **named)
            total[0] += time.thread_time() - began
            return found

        return method

    for name, original in originals.items():
        setattr(owner, name, wrapped(original))
    yield total
    for name, original in originals.items():
        setattr(owner, name, original)


def error(ends: np.ndarray, q: np.ndarray, qd: np.ndarray) -> float:
    """The largest error of the last positions of five members."""
    some = np.linspace(0, len(q) - 1, 5).astype(int)
    return max(float(np.abs(ends[k] - exact_positions(q[k], qd[k], END)).max()) for k in some)


def redundant_chain(links: int) -> da.System:
    """The chain with two more constraints that follow from the others."""
    system = chain(links)
    first, last = (system.constraints[k].expression for k in (0, -1))
    return system.constrain(da.Constraint(2 * first, name="again"), da.Constraint(3 * last + first, name="mixed"))


def ours(links: int, count: int, *, redundant: bool = False) -> dict[str, float]:
    """Microseconds per member in compiled code and in the whole call, and those of the steps of single runs."""
    system, (q, qd) = redundant_chain(links) if redundant else chain(links), starts(links, count)
    given: dict[str, Any] = {"parameters": NUMBERS, "progress": False}
    best = {"compiled": np.inf, "whole": np.inf, "alone": np.inf}
    da.simulate_ensemble(system, q[:8], qd[:8], [0, END], keep="end", **given)
    da.simulate(system, q[0], qd[0], [0, END], **given)
    for _ in range(REPEATS):
        with timed(MotionBatch, "__call__") as total:
            began = time.process_time()
            many = da.simulate_ensemble(system, q, qd, [0, END], keep="end", **given)
            whole = time.process_time() - began
        with timed(NativeEngine, "step_batch") as steps:
            for k in range(ALONE):
                da.simulate(system, q[k], qd[k], [0, END], **given)
        for name, own in (("compiled", total[0] / count), ("whole", whole / count), ("alone", steps[0] / ALONE)):
            best[name] = min(best[name], 1e6 * own)
    return {**best, "error": error(many["q"].values[:, -1], q, qd)}


def heyoka(links: int, count: int, wanted: float) -> dict[str, float]:
    """The same for Taylor's method in batches, at the largest tolerance with an error of at most ``wanted``."""
    import heyoka as hy

    q, qd = starts(links, count)
    width = hy.recommended_simd_size()
    for tolerance in TOLERANCES:
        state = np.zeros((4 * links, width))
        ta = hy.taylor_adaptive_batch(_rates(hy, links), state + 1.0, tol=tolerance, compact_mode=links > 10)
        best = np.inf
        for _ in range(REPEATS):
            ends, total = np.empty_like(q), 0.0
            for first in range(0, count, width):
                own = slice(first, first + width)
                ta.set_time(0.0)
                ta.state[: 2 * links], ta.state[2 * links :] = q[own].T, 0.0
                began = time.thread_time()
                ta.propagate_until(END)
                total += time.thread_time() - began
                ends[own] = ta.state[: 2 * links].T
            best = min(best, 1e6 * total / count)
        off = error(ends, q, qd)
        if off <= wanted:
            break
    return {"compiled": best, "error": off, "tolerance": tolerance}


def _rates(hy: Any, links: int) -> list[tuple[Any, Any]]:
    """The equations of the chain with the tensions of the rods eliminated: see ``chains``."""
    names = [[f"{letter}{k}{axis}" for k in range(links) for axis in "xy"] for letter in "qv"]
    q, v = (np.array(hy.make_vars(*own), object).reshape(links, 2) for own in names)
    d, w = (np.array([x[k] - (x[k - 1] if k else 0.0) for k in range(links)], object) for x in (q, v))
    diagonal = [(1.0 if k == 0 else 2.0) * (d[k] @ d[k]) for k in range(links)]
    beside = [-(d[k] @ d[k - 1]) for k in range(1, links)]
    right = [w[k] @ w[k] for k in range(links)]
    right[0] = right[0] - d[0, 1] * NUMBERS["g"]
    for k in range(1, links):
        factor = beside[k - 1] / diagonal[k - 1]
        diagonal[k], right[k] = diagonal[k] - factor * beside[k - 1], right[k] - factor * right[k - 1]
    tension: list[Any] = [None] * links
    for k in reversed(range(links)):
        rest = right[k] - beside[k] * tension[k + 1] if k + 1 < links else right[k]
        tension[k] = rest / diagonal[k]
    equations = [(a, b) for a, b in zip(q.ravel(), v.ravel(), strict=True)]
    for k in range(links):
        pull = -tension[k] * d[k] + (tension[k + 1] * d[k + 1] if k + 1 < links else 0.0)
        equations += [(v[k, 0], pull[0]), (v[k, 1], pull[1] - NUMBERS["g"])]
    return equations


def main() -> None:
    print("| n | members | compiled, µs | whole call, µs | one run, µs | error | heyoka, µs | error |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for links, count in SIZES.items():
        own = ours(links, count)
        other = heyoka(links, count if links < 20 else 256, own["error"])
        times = " | ".join(f"{own[name]:.3g}" for name in ("compiled", "whole", "alone"))
        there = f"{other['compiled']:.3g} | {other['error']:.0e}"
        print(f"| {2 * links} | {count} | {times} | {own['error']:.0e} | {there} |", flush=True)
    print("\nWith two redundant constraints:\n\n| n | members | compiled, µs | whole call, µs | one run, µs |")
    print("| --- | --- | --- | --- | --- |")
    for links, count in SIZES.items():
        own = ours(links, count, redundant=True)
        times = " | ".join(f"{own[name]:.3g}" for name in ("compiled", "whole", "alone"))
        print(f"| {2 * links} | {count} | {times} |", flush=True)


if __name__ == "__main__":
    main()
