# SPDX-License-Identifier: BSD-3-Clause
"""Cost against size: planar chains of point masses, from one link to a hundred."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from benchmarks import acceleration, chain_simulation
from benchmarks.scaling.record import Row
from benchmarks.timing import Cost

LINKS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 17, 20, 30)
RUN_LINKS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 14, 20, 30)
DERIVATIVE_LINKS = (1, 2, 3, 4, 5, 7, 10, 20, 30)
MORE_LINKS = (60, 100)
"""For machine code alone."""

Measure = Callable[[int], Cost]


def accelerations() -> list[Row]:
    """One acceleration, in a loop that has been compiled."""
    programs: dict[str, tuple[Measure, Sequence[int]]] = {
        "NumPy pinv": (acceleration.by_numpy, LINKS),
        "machine code": (acceleration.by_machine_code, LINKS + MORE_LINKS),
        "JAX": (acceleration.by_jax, LINKS),
    }
    return [row for program, (measure, links) in programs.items() for row in _measured(program, measure, links)]


def simulations() -> list[Row]:
    """Two seconds of motion, from the start to the states asked for, and the first time from the symbols on."""
    for by_jax in (False, True):  # what is imported on the way is not counted
        chain_simulation.whole_run(1, by_jax=by_jax)
    programs: dict[str, tuple[Measure, Sequence[int]]] = {
        "machine code": (chain_simulation.whole_run, RUN_LINKS + MORE_LINKS),
        "JAX": (partial(chain_simulation.whole_run, by_jax=True), RUN_LINKS),
    }
    return [row for program, (measure, links) in programs.items() for row in _measured(program, measure, links)]


def derivatives() -> list[Row]:
    """Return the derivative of the end of that motion by a parameter, backwards, the first time from the symbols on."""
    chain_simulation.whole_derivative(1)
    return _measured("JAX", chain_simulation.whole_derivative, DERIVATIVE_LINKS)


def _measured(program: str, measure: Measure, sizes: Sequence[int]) -> list[Row]:
    rows: list[Row] = []
    for links in sizes:
        cost = measure(links)
        found = {"seconds": cost.seconds, "first_call": cost.first, "error": cost.error}
        rows.append({"program": program, "links": links, "n": 2 * links, **found})
        print(
            f"{program:12s} n = {2 * links:3d}  {cost.seconds:.2e} s, first {cost.first:.2f} s, error {cost.error:.0e}"
        )
    return rows


def once(row: Row) -> float:
    """Seconds of one run."""
    return row["seconds"]
