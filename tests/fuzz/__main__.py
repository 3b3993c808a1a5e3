"""The long run: ``make fuzz`` compares many random problems and writes what came out to docs/fuzz.md."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import defaultdict
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from fuzz.compare import Outcome, faults
from fuzz.tasks import Task, compared

TASKS_PER_PROCESS = 100
"""Problems of one process: a fault that only many systems in one process show still has room to appear."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--motions", type=int, default=1000, help="problems for da.motion (default 1000)")
    parser.add_argument("--simulations", type=int, default=300, help="problems for da.simulate (default 300)")
    parser.add_argument("--general", type=int, default=20, help="of these, how many by diffrax too (default 20)")
    parser.add_argument("--rough", type=int, default=100, help="problems with friction and impacts (default 100)")
    parser.add_argument("--contacts", type=int, default=40, help="problems with contacts and ropes (default 40)")
    parser.add_argument("--first", type=int, default=0, help="first seed (default 0)")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="processes at work (default: all cores)")
    parser.add_argument("-o", "--output", type=Path, help="write the table to this file")
    given = parser.parse_args()
    first, began, outcomes = given.first, time.perf_counter(), list[Outcome]()
    tasks = [
        *(Task(first + k, "general" if k < given.general else "simulation") for k in range(given.simulations)),
        *(Task(first + k, "rough") for k in range(given.rough)),
        *(Task(first + k, "contacts") for k in range(given.contacts)),
        *(Task(first + k, "motion") for k in range(given.motions)),
    ]
    # A process keeps the programs of the systems it has seen; new ones begin with none.
    with get_context("spawn").Pool(given.processes, maxtasksperchild=TASKS_PER_PROCESS) as pool:
        for done, found in enumerate(pool.imap_unordered(compared, tasks), 1):
            outcomes += found
            _show(done, len(tasks), outcomes, found)
    page = table(outcomes, time.perf_counter() - began, first, given.processes)
    print(page)  # noqa: T201
    if given.output:
        given.output.write_text(page)
    return 1 if faults(outcomes) else 0


def _show(done: int, total: int, outcomes: list[Outcome], latest: list[Outcome]) -> None:
    sys.stderr.write(f"\r{done} of {total} problems, {len(faults(outcomes))} faults ")
    for fault in faults(latest):
        sys.stderr.write(f"\n  {fault}\n")
    sys.stderr.flush()


def table(outcomes: list[Outcome], seconds: float, first: int, processes: int) -> str:
    """The page of a run."""
    by_way: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        by_way[outcome.way].append(outcome)
    lines = [
        "# Fuzz tests",
        "",
        "`make fuzz` draws random systems of two to five coordinates and compares their accelerations and motions",
        "with an independent evaluation. The systems have coupled and position-dependent masses, springs, dampers and",
        "time-dependent forces. They have one or several constraints (spheres, driven planes, curves, skates,",
        "prescribed speeds, acceleration-level servo constraints), some of which occur twice at different scales. The",
        "units range from 1e-9 to 1e9 for coordinates and from 1e-6 to 1e6 for time. Each system is also written in",
        "NumPy with derivatives by hand. Accelerations are compared with NumPy's least squares, and motions with",
        "SciPy's DOP853 at a tolerance of 1e-11.",
        "",
        "Two results agree if they differ by less than 1e-12 (accelerations) or 1e-7 (motions) times the square of",
        "the condition number of the constraint rows. For motions, ten times the error that SciPy makes at the",
        "library's tolerance is allowed in addition, because a motion through a nearly singular position magnifies",
        "errors. For fixed steps, twice the difference from a run with half or a quarter of the step is allowed. A",
        "fault is a disagreement without an error, an error for a problem with a condition number below 1e3, or a",
        "result for constraint rows that contradict one another, as dependent rows may at states that violate the",
        "constraints. One kind of error is not a fault: Newton's method in diffrax's implicit solver may need more",
        "than 2000 steps where the units of the coordinates differ by ten decades, because one absolute tolerance,",
        "that of the smallest coordinate, serves all of them.",
        "",
        "Motions with events are compared in the same way with SciPy's events and with the laws of friction and",
        "impact applied by hand: one to three blocks on belts, coupled by springs, which stick and slip; and one to",
        "four particles on a line, which hit one another and two walls. `da.MoreauJean` is of first order: its",
        "positions may differ by ten steps, or by four times their difference from those of a run with half or a",
        "quarter of the step, and they are compared until two events follow one another within ten steps, because",
        "from then on the motion depends on the order of these events.",
        "",
        "Contacts that open and close, ropes and rolling are compared likewise: a ball over a rough inclined floor",
        "beside a wall, which bounces, lands, slides, sticks and lifts off; one or two bobs on ropes, which go slack",
        "and taut; and a wheel under a force and a torque, which rolls and slips. The references have equations of",
        "their own for each phase. They end, and the problem is left out, where impacts are slower than 0.01 or more",
        "than 60 events follow one another, because they may be the beginning of infinitely many.",
        "",
        "| computation | compared | agree | error | disagree | largest difference / allowed difference |",
        "|---|---|---|---|---|---|",
    ]
    for way, mine in sorted(by_way.items()):
        count = {verdict: sum(o.verdict == verdict for o in mine) for verdict in ("agrees", "refused", "disagrees")}
        worst = max((o.error / o.allowed for o in mine if not o.refusal), default=np.nan)
        lines.append(
            f"| {way} | {len(mine)} | {count['agrees']} | {count['refused']} | {count['disagrees']} | {worst:.1e} |"
        )
    lines += [
        "",
        f"Faults: {len(faults(outcomes))}. Seeds from {first} on; {seconds / 60:.0f} minutes, {processes} at a time.",
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
