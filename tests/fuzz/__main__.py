"""The long run: ``make fuzz`` compares many random problems and writes what came out to docs/fuzz.md."""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from pathlib import Path

import diffrax
import numpy as np

from fuzz.compare import FORMULATIONS, IMPLICIT, Outcome, faults, motions, simulations

WAYS = {
    "projection": {},
    "no drift cure": {"drift": None},
    "Baumgarte": {"drift": "rates"},
    "fixed step": {"step": 0.0005},
}
GENERAL = {
    "diffrax, Dopri8": {"solver": diffrax.Dopri8()},
    IMPLICIT: {"solver": diffrax.Kvaerno5(), "max_steps": 2000},
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--motions", type=int, default=1000, help="problems for da.motion (default 1000)")
    parser.add_argument("--simulations", type=int, default=300, help="problems for da.simulate (default 300)")
    parser.add_argument("--general", type=int, default=20, help="of these, how many by diffrax too (default 20)")
    parser.add_argument("--first", type=int, default=0, help="first seed (default 0)")
    parser.add_argument("-o", "--output", type=Path, help="write the table to this file")
    given = parser.parse_args()
    began, outcomes = time.perf_counter(), list[Outcome]()
    for seed in range(given.first, given.first + given.motions):
        outcomes += motions(seed, FORMULATIONS)
        _show(seed, given.first + given.motions, "motions", outcomes)
    for seed in range(given.first, given.first + given.simulations):
        outcomes += simulations(seed, WAYS | (GENERAL if seed < given.first + given.general else {}))
        _show(seed, given.first + given.simulations, "simulations", outcomes)
    page = table(outcomes, time.perf_counter() - began, given.first)
    print(page)  # noqa: T201
    if given.output:
        given.output.write_text(page)
    return 1 if faults(outcomes) else 0


def _show(seed: int, end: int, what: str, outcomes: list[Outcome]) -> None:
    sys.stderr.write(f"\r{what} {seed + 1} of {end}, {len(faults(outcomes))} faults ")
    for fault in faults(outcomes[-20:]):
        sys.stderr.write(f"\n  {fault}\n")


def table(outcomes: list[Outcome], seconds: float, first: int) -> str:
    """The page of a run."""
    by_way: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        by_way[outcome.way].append(outcome)
    lines = [
        "# Random problems compared with an independent evaluation",
        "",
        "`make fuzz` draws random systems of two to five coordinates and compares their accelerations and motions with",
        "an independent evaluation. The systems have coupled and position-dependent masses, springs, dampers and",
        "time-dependent forces. They have one or several constraints (spheres, driven planes, curves, skates,",
        "prescribed speeds, acceleration-level servo constraints), some of which are stated twice at different scales.",
        "The units range from 1e-9 to 1e9 for coordinates and from 1e-6 to 1e6 for time. Each system is also written",
        "in NumPy with derivatives by hand. Accelerations are compared with NumPy's least squares, and motions with",
        "SciPy's DOP853 at a tolerance of 1e-11.",
        "",
        "Two results agree if they differ by less than 1e-12 (accelerations) or 1e-7 (motions) times the square of the",
        "condition number of the constraint rows. A fault is a disagreement without an error, or an error for a",
        "problem with a condition number below 1e3. One kind of error is not a fault: Newton's method in diffrax's",
        "implicit solver may need more than 2000 steps where the units of the coordinates differ by ten decades,",
        "because one absolute tolerance, that of the smallest coordinate, serves all of them.",
        "",
        "| computation | compared | agree | error | disagree | largest difference / allowed difference |",
        "|---|---|---|---|---|---|",
    ]
    for way, mine in by_way.items():
        count = {verdict: sum(o.verdict == verdict for o in mine) for verdict in ("agrees", "refused", "disagrees")}
        worst = max((o.error / o.allowed for o in mine if not o.refusal), default=np.nan)
        lines.append(
            f"| {way} | {len(mine)} | {count['agrees']} | {count['refused']} | {count['disagrees']} | {worst:.1e} |"
        )
    lines += [
        "",
        f"Faults: {len(faults(outcomes))}. Seeds from {first} on; {seconds / 60:.0f} minutes on two cores.",
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
