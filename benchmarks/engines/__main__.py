# SPDX-License-Identifier: BSD-3-Clause
"""All engines on all problems: ``python -m benchmarks.engines`` in an environment that ``make peers`` sets up.

Writes ``benchmarks/data/engines.json`` and its section of ``docs/performance.md``. With ``--engines`` or
``--problems`` only some are measured and take the place of what was known of them; ``--tables`` measures nothing.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.document_sections import replace_section
from benchmarks.peers.measure import Peer, machine, measured_by, quickest, summary
from benchmarks.peers.problems import PROBLEMS, problem
from benchmarks.timing import short, table

DATA = Path(__file__).parents[1] / "data" / "engines.json"
TARGET = 1e-8
LIMIT = 90
"""Seconds that an engine has for a problem."""


class Engine(NamedTuple):
    """A candidate, what it cannot do, and what it takes to keep it."""

    peer: Peer
    lacks: str
    upkeep: str


ENGINES = {
    "llvm": Engine(
        Peer("LLVM tapes and loop, behind `simulate`", "peers.ours", "inner_runs"),
        "systems without a straight-line program: functions given as Python code, other solvers",
        "llvmlite alone; some 900 lines of ours, the loop written in LLVM's own language",
    ),
    "numba": Engine(
        Peer("numba: tapes as Python text, general loop", "engines.numba_tape"),
        "the same",
        "numba on top of llvmlite, later than each new Python and NumPy; the loop is plain Python",
    ),
    "xla": Engine(
        Peer("XLA: tapes under a `while_loop`", "engines.xla_loop"),
        "nothing more; derivatives and accelerators come with it",
        "nothing new, JAX is there already; the loop is short",
    ),
    "symengine": Engine(
        Peer("SymEngine's LLVM under SciPy's DOP853", "engines.symengine_llvm"),
        "multiplier laws and projection would be calls of their own; Python between any two stages",
        "a second computer algebra beside SymPy, and conversions between the two",
    ),
    "heyoka": Engine(
        Peer("heyoka: Taylor's method", "peers.heyoka_taylor"),
        "conditions in laws, rows chosen anew on the way, singular mass; no projection",
        "one large dependency, C++; nothing to write but the conversion",
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engines", description=__doc__)
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=list(PROBLEMS))
    parser.add_argument("--tables", action="store_true", help="write the table from what is known")
    chosen = parser.parse_args()
    known: dict[str, Any] = json.loads(DATA.read_text()) if DATA.exists() else {"found": {}}
    if not chosen.tables:
        known["machine"] = machine()
        for name in chosen.problems:
            for engine in chosen.engines:
                began = time.perf_counter()
                found = measured_by(ENGINES[engine].peer, name, LIMIT)
                known["found"].setdefault(name, {})[engine] = found
                print(f"{name:16s} {engine:12s} {time.perf_counter() - began:5.1f} s  {summary(found)}", flush=True)
                DATA.parent.mkdir(exist_ok=True)
                DATA.write_text(json.dumps(known, indent=1) + "\n")
    replace_section("engines", section(known))


def section(known: dict[str, Any]) -> str:
    where = known["machine"]
    head = (
        "Before LLVM was chosen, these candidates were compared on the problems above, for one motion on one "
        "core. Each cell holds the milliseconds of the fastest setting whose final error is below 1e-8, in "
        "brackets that error, and the seconds to the first answer, with derivation and compiling but without "
        "imports. A *tape* is the recorded straight-line program of a system. All but SymEngine and heyoka "
        "project after every step. "
        f"`python -m benchmarks.engines`, {where['date']}, {where['processor']}, {where['cores']} cores, "
        f"{where['load']:.1f} other processes running."
    )
    names = [name for name in PROBLEMS if name in known["found"]]
    rows = [
        [engine.peer.title, *(_cell(known["found"][name].get(key)) for name in names)]
        for key, engine in ENGINES.items()
    ]
    titles = [problem(name).title.rsplit(",", 1)[0] for name in names]
    notes = [[engine.peer.title, engine.lacks, engine.upkeep] for engine in ENGINES.values()]
    return "\n\n".join([head, table(["", *titles], rows), table(["", "cannot do", "upkeep"], notes), VERDICT])


VERDICT = """\
`da.simulate` uses the LLVM engine. A loop compiled by numba from the same program takes the same time on small problems
and two thirds of it on large ones. But it needs seconds to its first answer where LLVM takes a fraction of one, and a
minute for the forty four-bars where LLVM takes some seconds, and numba is one more dependency, which lags behind new
releases of Python. XLA computes shared results repeatedly; it runs where derivatives, batches or another solver are
requested. SymEngine compiles fastest, but a step that returns to Python between its stages costs a hundred times its
arithmetic. heyoka is as fast as any on the double pendulum and reaches the smallest errors; its compile time grows with
the accuracy and the size of the problem, and it does not support laws with conditions. symjit was not measured: it has
no binary package for this platform and needs a Rust compiler."""


def _cell(found: dict[str, Any] | None) -> str:
    if found is None:
        return "not measured"
    best = quickest(found, TARGET)
    if best is None:
        return summary(found)
    return f"{short(best['seconds'] * 1e3)} ({best['error']:.0e}), first {best['compile'] + best['seconds']:.1f} s"


main()
