# SPDX-License-Identifier: BSD-3-Clause
"""The first waiting times of a user: import, and the first answer in a fresh process, the first time and later.

``python -m benchmarks.first_answer`` prints the table, and what is imported for the example of the README.
"""

from __future__ import annotations

import doctest
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.timing import table, timed

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
    "the example of the README": "",
    "first `da.simulate_ensemble`": MODEL
    + "da.simulate_ensemble(pendulum, (1, 0), (0, 0), (0, 1), parameters={'g': [9, 10]})",
    "first `da.motion`": MODEL + "da.motion(pendulum, (1, 0), (0, 0), parameters={'g': 9.81})",
    "Andrews' mechanism, simulated": "import dalembert as da; da.gallery.case('andrews').simulate()",
    "Whipple's bicycle, simulated": "import dalembert as da; da.gallery.case('bicycle').simulate()",
}

AGAIN = 3
"""Times that a program is run after the first one; the shortest counts."""


def readme() -> str:
    """The code of the README's example, as a reader would type it in."""
    text = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    return "".join(example.source for example in doctest.DocTestParser().get_examples(text))


def waiting(program: str) -> tuple[float, float]:
    """Seconds of a fresh process with an empty cache of compiled programs, and with what that has left."""
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"XDG_CACHE_HOME": cache, "LOCALAPPDATA": cache, "JAX_ENABLE_COMPILATION_CACHE": "1"}
        environment.pop("JAX_COMPILATION_CACHE_DIR", None)

        def run() -> None:
            subprocess.run([sys.executable, "-c", program], check=True, env=environment, stdout=subprocess.DEVNULL)

        first = timed(run)[0]
        return first, min(timed(run)[0] for _ in range(AGAIN))


def report() -> str:
    subprocess.run([sys.executable, "-c", "import dalembert.verbs, diffrax"], check=True)  # files read, bytecode there
    rows = []
    for name, program in PROGRAMS.items():
        first, again = waiting(program or readme())
        rows.append([name, f"{first:.2f}", f"{again:.2f}"])
    return "## Fresh process\n\n" + table(["program", "first time, s", "later, s"], rows)


if __name__ == "__main__":
    print(report())
