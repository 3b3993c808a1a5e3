# SPDX-License-Identifier: BSD-3-Clause
"""One program on one problem, in a process of its own: every setting's time and achieved error, a line of JSON each.

A program offers ``runs(problem)``: settings by name, each a function that goes through the motion and gives what is
seen at its end. Time to compile is that of making these functions and of the first call, less a later one's; what one
setting has compiled serves the next, so it is the longest so far.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any, NamedTuple

from benchmarks.peers.problems import CannotError, problem


class Peer(NamedTuple):
    """How a program is called in tables, and where it is."""

    title: str
    module: str
    function: str = "runs"


PEERS = {
    "ours": Peer("`da.simulate`, whole call", "ours"),
    "ours-inside": Peer("the integration inside it", "ours", "inner_runs"),
    "numba": Peer("numba, by hand", "numba_hand"),
    "heyoka": Peer("heyoka", "heyoka_taylor"),
    "scipy": Peer("SciPy with `pinv`", "scipy_pinv"),
}

ENOUGH = 0.4
"""Seconds of repeats per setting."""


def best_time(action: Callable[[], Any], first: float) -> float:
    """The shortest of some repeats: many of a short action, one of a long one."""
    times: list[float] = []
    while len(times) < 1 or (sum(times) + first < ENOUGH and len(times) < 500) or (first < ENOUGH and len(times) < 3):
        began = time.perf_counter()
        action()
        times.append(time.perf_counter() - began)
    return min(times)


def measured(peer: Peer, name: str) -> None:
    """Print what was found, setting by setting, so that nothing is lost if time runs out."""
    module = importlib.import_module(f"benchmarks.peers.{peer.module}")
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
            seconds = best_time(run, first)
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
    measured(PEERS[sys.argv[1]], sys.argv[2])
