# SPDX-License-Identifier: BSD-3-Clause
"""Cost against size: planar chains of point masses, from one link to a hundred."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

import dalembert as da
from benchmarks import acceleration, simulation
from benchmarks.chains import chain
from benchmarks.scaling.record import Row
from benchmarks.timing import Cost
from dalembert.lowering.build import DIFFERENTIATED_LIMIT, STRAIGHT_LINE_LIMIT

LINKS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 17, 20, 30)
RUN_LINKS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 14, 20, 30)
DERIVATIVE_LINKS = (1, 2, 3, 4, 5, 7, 10, 20, 30)
MORE_LINKS = (60, 100)
"""For machine code alone."""

PATIENCE = 20.0
"""Seconds to compile after which no larger size of a straight line is tried under XLA."""

BUILDS = 3
"""How often JAX's programs are built and measured at sizes where the two kinds cost nearly the same, the median being
kept: XLA's times vary by a tenth and more from one build to the next."""

CLOSE = {"simulation": (4, 5, 6), "derivative": (1, 2, 3)}
"""These sizes, by links."""

Measure = Callable[[int], Cost]


def accelerations() -> list[Row]:
    """One acceleration, in a loop that has been compiled."""
    programs: dict[str, tuple[Measure, Sequence[int]]] = {
        "NumPy pinv": (acceleration.by_numpy, LINKS),
        "machine code": (acceleration.by_machine_code, LINKS + MORE_LINKS),
        "JAX straight-line": (partial(acceleration.by_jax, style="straight-line"), LINKS),
        "JAX array": (partial(acceleration.by_jax, style="array"), LINKS),
    }
    return [row for program, (measure, links) in programs.items() for row in _measured(program, measure, links)]


def simulations() -> list[Row]:
    """Two seconds of motion, from the start to the states asked for, and the first time from the symbols on."""
    for style in (None, "straight-line"):  # what is imported on the way is not counted
        simulation.whole_run(1, style)
    programs: dict[str, tuple[Measure, Sequence[int]]] = {
        "machine code": (simulation.whole_run, RUN_LINKS + MORE_LINKS),
        "JAX straight-line": (partial(simulation.whole_run, style="straight-line"), RUN_LINKS),
        "JAX array": (partial(simulation.whole_run, style="array"), RUN_LINKS),
    }
    close = CLOSE["simulation"]
    return [row for program, (measure, links) in programs.items() for row in _measured(program, measure, links, close)]


def derivatives() -> list[Row]:
    """How the end of that motion changes with a parameter, backwards, and the first time from the symbols on."""
    simulation.whole_derivative(1, "array")
    return [
        row
        for style in ("straight-line", "array")
        for row in _measured(
            f"JAX {style}",
            partial(simulation.whole_derivative, style=style),
            DERIVATIVE_LINKS,
            CLOSE["derivative"],
        )
    ]


def _measured(program: str, measure: Measure, sizes: Sequence[int], close: Sequence[int] = ()) -> list[Row]:
    rows: list[Row] = []
    for links in sizes:
        where = {"program": program, "links": links, "n": 2 * links}
        if program == "JAX straight-line" and rows and rows[-1]["first_call"] > PATIENCE:
            skipped = f"not tried: {rows[-1]['links']} links took {rows[-1]['first_call']:.0f} s to compile"
            return [*rows, *({**where, "links": k, "n": 2 * k, "skipped": skipped} for k in sizes if k >= links)]
        costs = [measure(links) for _ in range(BUILDS if links in close and program != "machine code" else 1)]
        cost = sorted(costs, key=lambda cost: cost.first + 999 * cost.seconds)[len(costs) // 2]
        rows.append({**where, "seconds": cost.seconds, "first_call": cost.first, "error": cost.error})
        said = f"{cost.seconds:.2e} s, first {cost.first:.2f} s, error {cost.error:.0e}"
        print(f"{program:18s} n = {2 * links:3d}  {said}")
    return rows


def switch() -> list[Row]:
    """The largest chains that JAX runs as a straight line, as the library chooses."""
    found: list[Row] = []
    for of, differentiated, limit in (
        ("simulation", False, STRAIGHT_LINE_LIMIT),
        ("derivative", True, DIFFERENTIATED_LIMIT),
    ):
        styles = [da.build(chain(k), differentiated=differentiated).style for k in range(1, 16)]
        links = styles.index("array")
        found.append({"of": of, "links": links, "n": 2 * links, "operations": limit})
    return found


def once(row: Row) -> float:
    """Seconds of one run."""
    return row["seconds"]


def thousand(row: Row) -> float:
    """Seconds of a thousand runs, the first one included: what a switch is judged by."""
    return row["first_call"] + 999 * row["seconds"]


def crossing(rows: list[Row], cost: Callable[[Row], float] = once) -> float | None:
    """The n from which on JAX's array code is quicker than its straight line, between sizes on logarithmic scales."""
    found = _ratios(rows, cost)
    sizes, ratios = [*found], np.log([*found.values()])
    behind = np.flatnonzero(ratios <= 0)
    if not len(behind) or behind[-1] + 1 == len(sizes):
        return None
    last = int(behind[-1])  # the last size at which the straight line is quicker
    return float(np.exp(np.interp(0.0, ratios[last : last + 2], np.log(sizes[last : last + 2]))))


def _ratios(rows: list[Row], cost: Callable[[Row], float]) -> dict[int, float]:
    """JAX's straight line over its array code, by n."""
    straight, array = (
        {row["n"]: cost(row) for row in rows if row["program"] == program and "seconds" in row}
        for program in ("JAX straight-line", "JAX array")
    )
    return {n: straight[n] / array[n] for n in sorted(straight.keys() & array.keys())}
