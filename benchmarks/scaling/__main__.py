# SPDX-License-Identifier: BSD-3-Clause
"""``python -m benchmarks.scaling``: measure, write data, figures and the section of ``docs/performance.md``.

Parts can be named, ``python -m benchmarks.scaling members``; ``text`` only draws and writes what has been measured.
With ``--gpu`` only the members are measured, on the accelerator of this machine, and added to the same data.
"""

from __future__ import annotations

import argparse
import os
import time

os.environ["JAX_ENABLE_COMPILATION_CACHE"] = "0"  # before JAX is imported: first calls are to be first calls

from benchmarks.scaling import ensemble_sizes, figures, page, sizes
from benchmarks.scaling.record import keep

PARTS = {
    "acceleration": sizes.accelerations,
    "simulation": sizes.simulations,
    "derivative": sizes.derivatives,
    "members": ensemble_sizes.members_on,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}, text; all when left out")
    parser.add_argument("--gpu", action="store_true", help="members on the accelerator only")
    asked = parser.parse_args()
    if not {*asked.parts} <= {*PARTS, "text"}:
        parser.error(f"parts are {', '.join(PARTS)} and text; got {' '.join(asked.parts)}")
    began = time.perf_counter()
    if asked.gpu:
        keep("members", "gpu", ensemble_sizes.members_on("gpu"))
    else:
        for part in asked.parts or PARTS:
            if part != "text":
                keep(part, "cpu", PARTS[part]())
    figures.draw()
    page.write()
    print(f"{time.perf_counter() - began:.0f} s")


main()
