# SPDX-License-Identifier: BSD-3-Clause
"""All benchmarks in one run, as ratios; ``make bench`` prints them and writes ``benchmarks/results.md``."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from benchmarks import acceleration, chain_simulation, first_answer


def main() -> None:
    sections = [acceleration.report(), chain_simulation.report(), first_answer.report()]
    cores = os.cpu_count()
    head = (
        "# Measured\n\nWritten by `make bench`, everything side by side in one run; trust the ratios, not the times. "
        f"{platform.machine()}, {cores} cores, Python {platform.python_version()}."
    )
    text = "\n\n".join([head, *sections]) + "\n"
    print(text)
    (Path(__file__).parent / "results.md").write_text(text)


main()
