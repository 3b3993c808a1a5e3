# SPDX-License-Identifier: BSD-3-Clause
"""Large systems: time to state, to first answer, per acceleration and per simulated second, and memory.

``python -m benchmarks.large`` measures all cases in this library, by hand and in other programs, prints the fitted
slopes, and writes the table and the figure of ``docs/large.md``; with ``net`` it measures one kind again and keeps the
other rows, and ``dalembert net 50`` prints one row.

Every row is measured by a process of its own, with one thread, so that memory and first calls are its own; programs
follow one another for each case. All times are CPU seconds of that process, which depend less on other processes.
"Simulated" is the coarsest run of the first 0.1 s, by its rtol or its number of steps, whose largest error of a
position is below ``ERROR``, run again, short ones repeatedly, and divided by 0.1. Programs that are not installed are
left out.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from datetime import date
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.document_sections import replace_section
from benchmarks.large_peers import MODULES, PROGRAMS, SPAN, can_do
from benchmarks.large_report import DOCS, draw, fitted, report
from benchmarks.large_timing import best, best_in_turns, in_cpu_time

SIZES = {
    "chain": [10, 100, 300, 1000, 10_000, 100_000],
    "net": [5, 20, 50, 100, 224],
    "truss": [10, 100, 1000, 20_000],
    "bodies": [10, 100, 1000, 10_000, 100_000],
}
ERROR = 1e-6
LONG = 1.0
"""CPU seconds of a run that is repeated only once: the clock and other processes hardly change its time."""
LIMIT = 600
"""CPU seconds for one row; what was measured until then is kept."""
DATA = Path(__file__).parent / "large.json"
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}


def measure(program: str, kind: str, size: int, reference: Path) -> None:
    """Print what is known of one case, each line with all before it."""
    prepare(program)
    building, model = in_cpu_time(lambda: PROGRAMS[program](kind, size))
    found: dict[str, Any] = {"program": program, "kind": kind, "size": size, "state": building}
    if model.accelerate is not None:
        first, answer = in_cpu_time(model.accelerate)
        found["first"] = building + first
        if program == "dalembert":
            found |= {"constraints": len(answer.multipliers), "rank": int(answer.rank)}
        # the acceleration of this library must have been computed before the others solve its equations
        again = model.again() if model.again is not None else None
        found |= best_in_turns({"acceleration": again} | model.alone()) if again is not None else {}
    found["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    print(json.dumps(found), flush=True)
    exact = np.load(reference) if reference.exists() else None
    for run in model.runs if exact is not None else ():
        end, violation = run()
        error = float(np.abs(end - exact).max())
        if error <= ERROR:
            seconds = in_cpu_time(run)[0]  # of the second run, which compiles nothing
            seconds = best(run, turns=2) if seconds < LONG else seconds
            found |= {"simulated": seconds / SPAN, "error": error, "violation": violation}
            break
    found["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    print(json.dumps(found), flush=True)


def prepare(program: str) -> None:
    """Import a program, and use it once, so that neither is measured."""
    if program in MODULES:
        import_module(MODULES[program])
    elif program == "by hand":
        import_module("scipy.integrate")
    else:
        import dalembert as da

        da.motion(da.System(da.coordinates("x y"), [[1, 0], [0, 1]], [0, 0]), [0, 0], [0, 0])


def exact_program(kind: str, size: int) -> str:
    """Return the program that computes the reference: one that is not this library, where there is one."""
    names = ["by hand", "pinocchio", "dalembert"]
    return next(n for n in names if can_do(n, kind, size) and find_spec(MODULES.get(n, "dalembert")))


def in_own_process(*arguments: str) -> dict[str, Any]:
    """Return what a process printed last; empty if it printed nothing in time."""
    command = [sys.executable, "-m", "benchmarks.large", *arguments]

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))

    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | ONE_THREAD, preexec_fn=limit
    )
    if done.returncode:
        print(f"{' '.join(arguments)} ended with {done.returncode}: {done.stderr[-500:]}", file=sys.stderr)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    return json.loads(lines[-1]) if lines else {}


def rows_of(kind: str, size: int) -> list[dict[str, Any]]:
    """Measure one case in all programs."""
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/exact.npy"
        in_own_process("reference", kind, str(size), path)
        for program in PROGRAMS:
            if not can_do(program, kind, size) or not find_spec(MODULES.get(program, "dalembert")):
                continue
            found = in_own_process(program, kind, str(size), path)
            found |= {"date": f"{date.today()}", "load": os.getloadavg()[0]}
            print(json.dumps(found), file=sys.stderr, flush=True)
            rows += [found] if "program" in found else []
    return rows


def write(rows: list[dict[str, Any]]) -> None:
    """Keep the measurements, and write the table and the figure of the documentation."""
    order = {(kind, size): i for i, (kind, size) in enumerate((k, s) for k, sizes in SIZES.items() for s in sizes)}
    rows = sorted((r for r in rows if (r["kind"], r["size"]) in order), key=lambda r: order[r["kind"], r["size"]])
    DATA.write_text("[\n" + ",\n".join(json.dumps(r) for r in rows) + "\n]\n", encoding="utf-8")
    replace_section("large", report(rows), DOCS / "large.md")
    draw(rows)


def measure_all(kinds: list[str]) -> None:
    """Measure all cases of some kinds, and write the table after each of them."""
    known = json.loads(DATA.read_text()) if DATA.exists() else []
    began = time.perf_counter()
    for kind in kinds:
        for size in SIZES[kind]:
            known = [r for r in known if (r["kind"], r["size"]) != (kind, size)] + rows_of(kind, size)
            write(known)
            print(f"{kind} {size}: {(time.perf_counter() - began) / 60:.1f} min", file=sys.stderr, flush=True)
    print(fitted(known))


def main() -> None:
    arguments = sys.argv[1:]
    if arguments[:1] == ["reference"]:
        kind, size = arguments[1], int(arguments[2])
        *_, finest = PROGRAMS[exact_program(kind, size)](kind, size).runs
        np.save(arguments[3], finest()[0])
    elif arguments and arguments[0] in PROGRAMS:
        measure(arguments[0], arguments[1], int(arguments[2]), Path(arguments[3] if len(arguments) > 3 else "none"))
    elif set(arguments) <= set(SIZES):
        measure_all(arguments or list(SIZES))
    else:
        sys.exit(f"usage: python -m benchmarks.large [{' | '.join(SIZES)}] ...; got {' '.join(arguments)}")


if __name__ == "__main__":
    main()
