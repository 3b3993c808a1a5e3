# SPDX-License-Identifier: BSD-3-Clause
"""All programs on all problems: ``python -m benchmarks.peers`` in an environment that ``make peers`` sets up.

Writes ``benchmarks/data/peers.json`` and its section of ``docs/performance.md``. With ``--peers`` or ``--problems``
only some are measured and take the place of what was known of them; ``--tables`` measures nothing.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from benchmarks.document_sections import replace_section
from benchmarks.peers.measure import machine, measured_by, summary
from benchmarks.peers.problems import PROBLEMS
from benchmarks.peers.tables import PEERS, section

DATA = Path(__file__).parents[1] / "data" / "peers.json"
LIMIT = 45
"""Seconds that a program has for a problem, its imports included; what it has reported by then counts."""

SLOW = {("heyoka", "forty-four-bars"): 80, ("sympy", "forty-four-bars"): 80}
"""Limits of programs that report nothing within the usual one."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS))
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=list(PROBLEMS))
    parser.add_argument("--tables", action="store_true", help="write the tables from what is known")
    chosen = parser.parse_args()
    known: dict[str, Any] = json.loads(DATA.read_text()) if DATA.exists() else {"found": {}}
    if not chosen.tables:
        known["machine"] = machine()
        for name in chosen.problems:
            for peer in chosen.peers:
                began = time.perf_counter()
                found = measured_by(PEERS[peer], name, SLOW.get((peer, name), LIMIT))
                known["found"].setdefault(name, {})[peer] = found
                print(f"{name:16s} {peer:12s} {time.perf_counter() - began:5.1f} s  {summary(found)}", flush=True)
                DATA.parent.mkdir(exist_ok=True)
                DATA.write_text(json.dumps(known, indent=1) + "\n")
    replace_section("peers", section(known))


main()
