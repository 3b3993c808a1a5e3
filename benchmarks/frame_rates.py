# SPDX-License-Identifier: BSD-3-Clause
"""Live pages while they play: processor time of a frame, and frames per second, in headless Chromium.

``PYTHONPATH=tests python -m benchmarks.frame_rates`` prints a table. The processor time is that of the page's main
thread, which computes the state of each frame and draws it, and does not depend on other processes; the frames per
second do. At 60 frames per second, a frame has 16.7 ms.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import dalembert as da
from benchmarks.chains import NUMBERS, chain, stretched
from benchmarks.timing import table
from live.browser_numbers import played


class Played(NamedTuple):
    """A page: its name, coordinates n and size; processor time of a frame in ms, and frames per second."""

    name: str
    n: int
    kilobytes: float
    work: float
    rate: float


def pages(folder: Path) -> list[tuple[str, int, Path]]:
    """Return pages of two gallery cases in space and of chains up to 40 coordinates."""
    found: list[tuple[str, int, Path]] = []
    for name in ("bicycle", "bricard"):
        case = da.gallery.case(name)
        found.append((name, len(case.system.coordinates), case.page(folder / f"{name}.html")))
    for links in (1, 20):
        points = {f"p{k}": (f"x{k}", f"y{k}") for k in range(links)}
        lines = [(f"p{k}", f"p{k + 1}") for k in range(links - 1)]
        options: dict[str, Any] = {"parameters": NUMBERS, "points": points, "links": lines}
        path = da.page(chain(links), *stretched(links), (0, 3), folder / f"chain{links}.html", **options)
        found.append((f"chain of {links}", 2 * links, path))
    return found


def measured(given: list[tuple[str, int, Path]], folder: Path) -> list[Played]:
    """Play pages, and return what was measured."""
    found = played([path for _, _, path in given], folder)
    return [
        Played(name, n, path.stat().st_size / 1e3, work, rate)
        for (name, n, path), (work, rate) in zip(given, found, strict=True)
    ]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        rows = measured(pages(Path(folder)), Path(folder))
    head = ("page", "n", "kB", "ms of processor time per frame", "frames per second")
    print(table(head, [(p.name, f"{p.n}", f"{p.kilobytes:.0f}", f"{p.work:.2f}", f"{p.rate:.0f}") for p in rows]))


if __name__ == "__main__":
    main()
