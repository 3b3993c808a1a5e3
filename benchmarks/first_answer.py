# SPDX-License-Identifier: BSD-3-Clause
"""What a newcomer waits for: import, and the first answer in a fresh process."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.timing import best, table

MODEL = """
import dalembert as da
x, y = da.coordinates("x y")
g = da.parameters("g")
pendulum = da.System((x, y), [[1, 0], [0, 1]], (0, -g), da.Constraint(x**2 + y**2 - 1, name="rod"))
"""
PROGRAMS = {
    "`python -c pass`": "pass",
    "`import sympy`": "import sympy",
    "`import dalembert`": "import dalembert",
    "first `da.motion`": MODEL + "da.motion(pendulum, (1, 0), (0, 0), parameters={'g': 9.81})",
    "first `da.simulate`": MODEL + "da.simulate(pendulum, (1, 0), (0, 0), (0, 1, 2), parameters={'g': 9.81})",
}


def report() -> str:
    rows = []
    for name, program in PROGRAMS.items():
        seconds = best(lambda program=program: subprocess.run([sys.executable, "-c", program], check=True), repeats=2)
        rows.append([name, f"{seconds:.2f}"])
    return "## Fresh process\n\n" + table(["program", "seconds"], rows)
