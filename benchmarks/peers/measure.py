# SPDX-License-Identifier: BSD-3-Clause
"""One program on one problem, in a process of its own: every setting's time and achieved error, a line of JSON each.

A program offers ``runs(problem)``: settings by name, each a function that goes through the motion and gives what is
seen at its end. Time to compile is that of making these functions and of the first call, less a later one's; what one
setting has compiled serves the next, so it is the longest so far.
"""

from __future__ import annotations

import importlib
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.peers.problems import CannotError, problem


class Peer(NamedTuple):
    """The name of a program in tables, and its module."""

    title: str
    module: str
    function: str = "runs"


ROOT = Path(__file__).parents[2]

ENOUGH = 0.3
"""Seconds of repeats per setting."""


def measured_by(peer: Peer, name: str, limit: float) -> dict[str, Any]:
    """Return the results of one program for one problem, in a process of its own, until its time is up."""
    command = [sys.executable, "-m", "benchmarks.peers.measure", peer.module, peer.function, name]
    paths = os.pathsep.join(filter(None, (str(ROOT / "src"), os.environ.get("PYTHONPATH"))))
    single = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    began = time.perf_counter()
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=os.environ | single | {"PYTHONPATH": paths}, timeout=limit, capture_output=True
        )
        said, ending = done.stdout, "" if done.returncode == 0 else _last_line(done.stderr)
    except subprocess.TimeoutExpired as late:
        said, ending = late.stdout or b"", f"stopped after {limit} s"
    lines = [json.loads(line) for line in said.decode().splitlines() if line.startswith("{")]
    found: dict[str, Any] = {"settings": [line for line in lines if "setting" in line]}
    for line in lines:
        found |= {key: line[key] for key in ("versions", "cannot") if key in line}
    return found | {"ending": ending, "took": round(time.perf_counter() - began, 1)}


def summary(found: dict[str, Any]) -> str:
    """The measurements in one line."""
    if "cannot" in found:
        return found["cannot"]
    fine = [s for s in found["settings"] if "error" in s]
    failed = [s["failed"] for s in found["settings"] if "failed" in s]
    best = f"{len(fine)} settings, best error {min(s['error'] for s in fine):.0e}" if fine else "nothing"
    return "; ".join(filter(None, [best, *failed[:1], found["ending"]]))


def quickest(found: dict[str, Any], target: float) -> dict[str, Any] | None:
    """The setting that reaches an error in the shortest time."""
    good = [s for s in found.get("settings", ()) if s.get("error", 1.0) <= target]
    return min(good, key=lambda s: s["seconds"]) if good else None


def machine() -> dict[str, Any]:
    """Return the machine and the date of the measurement."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
    }


def _last_line(said: bytes) -> str:
    lines = said.decode(errors="replace").strip().splitlines()
    return lines[-1][:200] if lines else "ended without a word"


def best_time(action: Callable[[], Any]) -> float:
    """The shortest of some repeats: many of a short action, few of a long one."""
    times: list[float] = []
    while not times or (sum(times) < ENOUGH and len(times) < 500) or (sum(times) < 3 * ENOUGH and len(times) < 3):
        began = time.perf_counter()
        action()
        times.append(time.perf_counter() - began)
    return min(times)


def measured(peer: Peer, name: str) -> None:
    """Print what was found, setting by setting, so that nothing is lost if time runs out."""
    module = importlib.import_module(f"benchmarks.{peer.module}")
    task = problem(name)
    _ = task.mass_matrix, task.applied_force, task.constraint_matrix, task.constraint_rhs  # the problem as it is given
    _tell({"versions": {package: version(package) for package in module.PACKAGES}})
    began = time.perf_counter()
    try:
        runs = getattr(module, peer.function)(task)
    except CannotError as reason:
        _tell({"cannot": str(reason)})
        return
    shared, compiling = time.perf_counter() - began, 0.0
    for setting, run in runs.items():
        began = time.perf_counter()
        try:
            error = task.error(run())
            first = time.perf_counter() - began
            seconds = best_time(run)
        except Exception as failure:
            _tell({"setting": setting, "failed": f"{type(failure).__name__}: {failure}"[:200]})
            continue
        compiling = max(compiling, first - seconds)
        if error == error:
            _tell({"setting": setting, "seconds": seconds, "compile": shared + compiling, "error": error})
        else:
            _tell({"setting": setting, "failed": "not a number"})


def _tell(found: dict[str, Any]) -> None:
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    measured(Peer("", *sys.argv[1:3]), sys.argv[3])
