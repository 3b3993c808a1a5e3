# SPDX-License-Identifier: BSD-3-Clause
"""Generated parts of the site: the pendulum of the home page, the cards of the gallery."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from pathlib import Path

import numpy as np

import dalembert as da

PENDULUM = "<!-- pendulum -->"
"""The place of the pendulum on the home page."""

ROW = re.compile(r"^\| `(?P<name>[\w-]+)` \| (?P<title>[^|]*) \| (?P<source>[^|]*) \|$", re.MULTILINE)
TABLE = re.compile(r"^\| case \| description \| source \|\n\|---.*\n(\| `.*\n?)+", re.MULTILINE)


def double_pendulum() -> da.System:
    """Return two particles on two rods, the system of the home page."""
    x1, y1, x2, y2 = da.coordinates("x1 y1 x2 y2")
    rods = (
        da.Constraint(x1**2 + y1**2 - 1, name="upper rod"),
        da.Constraint((x2 - x1) ** 2 + (y2 - y1) ** 2 - 1, name="lower rod"),
    )
    return da.System((x1, y1, x2, y2), np.eye(4).tolist(), (0, -9.81, 0, -9.81), rods)


def write_pendulum(folder: Path) -> Path:
    """Write the animation of the home page into a folder, and return its path."""
    run = da.simulate(double_pendulum(), (1, 0, 2, 0), (0, 0, 0, 0), np.linspace(0, 10, 1001))
    points = {"O": (0, 0), "first": ("x1", "y1"), "second": ("x2", "y2")}
    links = [("O", "first"), ("first", "second")]
    return run.animate(folder / "pendulum.gif", points, links, fps=25, trace=1.5)


def pendulum_element() -> str:
    """Return the HTML that shows the animation."""
    return '<img class="pendulum" src="assets/pendulum.gif" alt="A double pendulum that swings" width="320">'


def gallery_cards(markdown: str, names: Sequence[str]) -> str:
    """Return the page of the gallery with cards, one for each row of its table, in the place of the table."""
    rows = {row["name"]: _card(**row.groupdict()) for row in ROW.finditer(markdown)}
    missing = set(names) - rows.keys()
    if missing:
        raise ValueError(f"docs/gallery.md must list every case; it does not list {', '.join(sorted(missing))}.")
    cards = "\n".join(rows[name] for name in rows)
    return TABLE.sub(lambda _: f'<div class="cards">\n{cards}\n</div>\n', markdown)


def _card(name: str, title: str, source: str) -> str:
    return (
        f'<div class="card" id="{name}"><img src="figures/gallery/{name}.png" alt="" loading="lazy">'
        f"<p><strong>{escape(title)}</strong></p><p>{escape(source)}</p>"
        f"<p><code>dalembert run {name}</code></p></div>"
    )
