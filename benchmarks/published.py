# SPDX-License-Identifier: BSD-3-Clause
"""Every published number that we compare with, what was reached, and how long it takes.

``python -m benchmarks.published`` prints the tables and writes ``docs/published.md``.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import brentq

import dalembert as da
from benchmarks.timing import table
from dalembert.gallery import bicycle, iftomm, rolling_bodies
from dalembert.gallery.bodies import start_of

CASES = (
    *("andrews", "car-axis", "iftomm-pendulum", "four-bars", "bricard", "flyball", "rolling-disc", "tumbling-coin"),
    *("rolling-coin", "disc-on-incline", "turntable", "sleigh", "appell-hamel", "heavy-top", "bar-linkage"),
    *("snakeboard", "rattleback", "ball-in-cylinder", "bicycle"),
)

FIRST_ANSWERS = {
    "Andrews' mechanism: simulate": "da.gallery.case('andrews').simulate()",
    "Bricard's mechanism: simulate": "da.gallery.case('bricard').simulate()",
    "Bricard's mechanism: simulate, then its ledger": "da.gallery.case('bricard').simulate().ledger()",
    "bicycle: simulate": "da.gallery.case('bicycle').simulate()",
    "bicycle: linearize": (
        "from dalembert.gallery import bicycle as b; from dalembert.gallery.bodies import start_of\n"
        "m = b.bicycle_mechanism(5.0); da.linearize(m.system, *start_of(m), outputs=b.roll_and_steer(m))"
    ),
    "flyball governor: simulate": "da.gallery.case('flyball').simulate()",
}


def main() -> None:
    head = (
        "# Published results\n\nOther people's numbers are the best test of a program. This page compares motions of "
        "the gallery with values from the literature, with closed forms and with values computed by other methods. It "
        "is written by `python -m benchmarks.published`. Values printed in a source "
        "are marked as published, and closed forms are evaluated. All other reference values were computed by other "
        "methods, to more digits than are printed. Measured on "
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}."
    )
    sections = [head, _cases(), _single_states(), _windows(), _bicycle(), _first_answers()]
    text = "\n\n".join(sections) + "\n"
    print(text)
    (Path(__file__).parents[1] / "docs" / "published.md").write_text(text, encoding="utf-8")


def _cases() -> str:
    rows = []
    for name in CASES:
        case = da.gallery.case(name)
        began = time.perf_counter()
        run = case.simulate(progress=False)
        ready = time.perf_counter()
        case.simulate(progress=False)
        again = time.perf_counter() - ready
        for k, outcome in enumerate(case.verify(run)):
            check = outcome.check
            spent = [f"{ready - began:.1f}", f"{1000 * again:.0f}"] if k == 0 else ["", ""]
            label = f"`{name}`" if k == 0 else ""
            reached = f"{outcome.off:.0e}" + ("" if outcome.passed else " (missed)")
            rows.append([label, check.what, check.source, f"{check.tolerance:.0e}", reached, *spent])
    columns = ["case", "quantity", "reference", "tolerance", "reached", "first run, s", "again, ms"]
    return "## Cases of the gallery\n\n" + table(columns, rows)


def _single_states() -> str:
    rows = []
    for k, (angles, spin) in enumerate(rolling_bodies.DISC_STATES):
        mechanism = rolling_bodies.disc_mechanism(angles, spin)
        run = da.simulate(mechanism.system, *start_of(mechanism), [0, 1e-9], progress=False)
        off = np.abs(rolling_bodies.kane_rates(run, angles) - rolling_bodies.DISC_PUBLISHED[k]).max()
        rows.append([f"SymPy's rolling disc, state {k + 1}", rolling_bodies.KANE, f"{off:.0e}"])
    return "## Accelerations at single states\n\n" + table(["quantity", "reference", "largest error"], rows)


def _windows() -> str:
    rows = []
    for loops in (1, 2, 40):
        case = iftomm.four_bars("", "", loops)
        began = time.perf_counter()
        run = da.simulate(case.system, case.q0, case.qd0, [0, 10], progress=False)
        spent = time.perf_counter() - began
        off = np.abs(run.q[-1, :2] - iftomm._one_angle(loops, run.t)[-1]).max()
        rows.append([str(loops), f"{off:.0e}", f"{spent:.1f}"])
    return "## Four-bar windows over 10 s at default settings, against one angle's motion\n\n" + table(
        ["N", "error of the first joint's place", "first run, s"], rows
    )


def _bicycle() -> str:
    mechanism = bicycle.bicycle_mechanism()
    q, qd = start_of(mechanism)
    outputs = bicycle.roll_and_steer(mechanism)

    def matrix(speed: float) -> Any:
        return da.linearize(mechanism.system, q, speed * np.array(qd), outputs=outputs).matrix

    matrices = [matrix(float(speed)) for speed in range(11)]
    rows = [
        [
            "matrix, 0 to 10 m/s",
            "published M, C₁, K₀, K₂",
            _largest(A - bicycle.published_matrix(v) for v, A in enumerate(matrices)),
        ],
        [
            "matrix, 0 to 10 m/s",
            "published: SymPy's test_kane3",
            _largest(A[2:] - bicycle.sympy_rows(v) for v, A in enumerate(matrices)),
        ],
        [
            "eigenvalues, 0 to 10 m/s",
            f"published: {bicycle.SOURCE}, table 2",
            _largest(
                bicycle.both_of_each_pair(np.linalg.eigvals(A)) - bicycle.both_of_each_pair(values)
                for A, values in zip(matrices, bicycle.EIGENVALUES, strict=True)
            ),
        ],
    ]
    for what, speed, published in (
        ("weave speed", brentq(lambda v: bicycle.weave(matrix(v)).real, 4, 4.5, xtol=1e-13), bicycle.WEAVE_SPEED),
        ("capsize speed", brentq(lambda v: np.linalg.det(matrix(v)), 5.9, 6.1, xtol=1e-13), bicycle.CAPSIZE_SPEED),
        (
            "speed of the double eigenvalue",
            brentq(lambda v: bicycle.meeting(matrix(v))[0], 0.65, 0.72, xtol=1e-13),
            bicycle.BIFURCATION_SPEED,
        ),
    ):
        rows.append([what, f"published: {bicycle.SOURCE}", f"{abs(speed - published):.0e}"])
    return "## Whipple's bicycle by `da.linearize`\n\n" + table(["quantity", "reference", "largest error"], rows)


def _largest(differences: Any) -> str:
    return f"{max(np.abs(difference).max() for difference in differences):.0e}"


def _first_answers() -> str:
    rows = []
    for what, program in FIRST_ANSWERS.items():
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", f"import dalembert as da\n{program}"], check=True)
        rows.append([what, f"{time.perf_counter() - began:.1f}"])
    return "## From a fresh process to the first answer\n\n" + table(["what", "seconds"], rows)


if __name__ == "__main__":
    main()
