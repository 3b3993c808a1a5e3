# SPDX-License-Identifier: BSD-3-Clause
"""All programs on all problems: ``python -m benchmarks.peers`` in an environment that ``make peers`` sets up.

Writes ``benchmarks/data/peers.json`` and its section of ``docs/performance.md``. With ``--peers`` or ``--problems``
only some are measured and take the place of what was known of them; ``--tables`` measures nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.document import replace_section
from benchmarks.peers.measure import PEERS
from benchmarks.peers.problems import PROBLEMS
from benchmarks.peers.tables import section

DATA = Path(__file__).parents[1] / "data" / "peers.json"
ROOT = Path(__file__).parents[2]
LIMIT = 45
"""Seconds that a program has for a problem, its imports included; what it has told by then counts."""

SLOW = {("heyoka", "forty-four-bars"): 90}
"""Who needs longer to have anything to tell."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS))
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=list(PROBLEMS))
    parser.add_argument("--tables", action="store_true", help="write the tables from what is known")
    chosen = parser.parse_args()
    known: dict[str, Any] = json.loads(DATA.read_text()) if DATA.exists() else {"found": {}}
    if not chosen.tables:
        known["machine"] = _machine()
        for name in chosen.problems:
            for peer in chosen.peers:
                began = time.perf_counter()
                found = _measured(peer, name)
                known["found"].setdefault(name, {})[peer] = found
                print(f"{name:16s} {peer:12s} {time.perf_counter() - began:5.1f} s  {_summary(found)}", flush=True)
                DATA.parent.mkdir(exist_ok=True)
                DATA.write_text(json.dumps(known, indent=1) + "\n")
    replace_section("peers", section(known))


def _measured(peer: str, name: str) -> dict[str, Any]:
    """What one program tells of one problem, until its time is up."""
    command = [sys.executable, "-m", "benchmarks.peers.measure", peer, name]
    paths = os.pathsep.join(filter(None, (str(ROOT / "src"), os.environ.get("PYTHONPATH"))))
    single = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    limit = SLOW.get((peer, name), LIMIT)
    began = time.perf_counter()
    try:
        done = subprocess.run(
            *(command,), cwd=ROOT, env=os.environ | single | {"PYTHONPATH": paths}, timeout=limit, capture_output=True
        )
        said, ending = done.stdout, "" if done.returncode == 0 else _last_line(done.stderr)
    except subprocess.TimeoutExpired as late:
        said, ending = late.stdout or b"", f"stopped after {limit} s"
    told = [json.loads(line) for line in said.decode().splitlines() if line.startswith("{")]
    found: dict[str, Any] = {"settings": [line for line in told if "setting" in line]}
    for line in told:
        found |= {key: line[key] for key in ("versions", "cannot") if key in line}
    return found | {"ending": ending, "took": round(time.perf_counter() - began, 1)}


def _last_line(said: bytes) -> str:
    lines = said.decode(errors="replace").strip().splitlines()
    return lines[-1][:200] if lines else "ended without a word"


def _summary(found: dict[str, Any]) -> str:
    if "cannot" in found:
        return found["cannot"]
    fine = [s for s in found["settings"] if "error" in s]
    failed = [s["failed"] for s in found["settings"] if "failed" in s]
    best = f"{len(fine)} settings, best error {min(s['error'] for s in fine):.0e}" if fine else "nothing"
    return "; ".join(filter(None, [best, *failed[:1], found["ending"]]))


def _machine() -> dict[str, Any]:
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
    }


main()
