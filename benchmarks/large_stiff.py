# SPDX-License-Identifier: BSD-3-Clause
"""A stiff net by explicit and by implicit steps: ``python -m benchmarks.large_stiff`` writes a table of docs/large.md.

All times are CPU seconds of a second run, without compilation.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import dalembert as da
from benchmarks.document_sections import replace_section
from benchmarks.large import DOCS
from benchmarks.large_systems import stiff_net
from benchmarks.timing import short, table

CASES = [(10, 1e3), (10, 1e5), (20, 1e3), (20, 1e5), (20, 1e6), (40, 1e5)]
"""Particles along a side, and stiffness of the springs."""
SPAN, RTOL, SMALL_RTOL = 0.1, 1e-6, 1e-9


def simulated(side: int, stiffness: float, solver: Any, rtol: float) -> tuple[float, Any]:
    """Return the CPU seconds of a run, and the run."""
    case = stiff_net(side, stiffness)
    da.simulate(*case, [0, SPAN / 1e4], solver=solver, rtol=rtol)
    began = time.process_time()
    run = da.simulate(*case, [0, SPAN], solver=solver, rtol=rtol)
    return time.process_time() - began, run


def row(side: int, stiffness: float) -> list[str]:
    """Return one row of the table."""
    found = [f"{side}²", f"{stiffness:.0e}"]
    reference = simulated(side, stiffness, None, SMALL_RTOL)[1].q[-1]
    for solver in (None, da.Implicit()):
        seconds, run = simulated(side, stiffness, solver, RTOL)
        error = np.abs(run.q[-1] - reference).max()
        found += [f"{run.statistics['steps']}", f"{short(seconds)} s", f"{error:.0e}"]
    return found


def main() -> None:
    """Measure all cases and write the table."""
    head = ["particles", "stiffness", "explicit: steps", "time", "error", "implicit: steps", "time", "error"]
    replace_section("stiff", table(head, [row(*case) for case in CASES]), DOCS / "large.md")


if __name__ == "__main__":
    main()
