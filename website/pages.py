# SPDX-License-Identifier: BSD-3-Clause
"""Generated parts of the site: the pendulum of the home page, live pages and cards of the gallery."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Collection, Sequence
from functools import cache
from html import escape
from pathlib import Path

import sympy as sp

import dalembert as da

PENDULUM = "<!-- pendulum -->"
"""The place of the pendulum on the home page."""

ROW = re.compile(r"^\| `(?P<name>[\w-]+)` \| (?P<title>[^|]*) \| (?P<source>[^|]*) \|$", re.MULTILINE)
TABLE = re.compile(r"^\| case \| description \| source \|\n\|---.*\n(\| `.*\n?)+", re.MULTILINE)


POINTS = {"pivot": (0, 0), "first": ("x1", "y1"), "second": ("x2", "y2")}
LINKS = (("pivot", "first"), ("first", "second"))
NUMBERS = {"m1": 1.0, "m2": 1.0, "l1": 1.0, "l2": 1.0, "g": 9.81}
START = (1, 0, 2, 0), (0, 0, 0, 0)


def double_pendulum() -> da.System:
    """Return two particles on two rods, the system of the home page."""
    x1, y1, x2, y2 = da.coordinates("x1 y1 x2 y2")
    m1, m2, l1, l2, g = da.parameters("m1 m2 l1 l2 g")
    rods = (
        da.Constraint(x1**2 + y1**2 - l1**2, name="upper rod"),
        da.Constraint((x2 - x1) ** 2 + (y2 - y1) ** 2 - l2**2, name="lower rod"),
    )
    return da.System((x1, y1, x2, y2), sp.diag(m1, m1, m2, m2), (0, -m1 * g, 0, -m2 * g), rods)


def write_pendulum(folder: Path) -> Path:
    """Write the live page of the pendulum into a folder, and return its path."""
    options = {"parameters": NUMBERS, "points": POINTS, "links": LINKS, "title": "A double pendulum"}
    return da.page(double_pendulum(), *START, (0, 20), folder / "pendulum.html", **options)


def pendulum_element() -> str:
    """Return the HTML that shows the pendulum."""
    return """<figure class="pendulum">
<iframe src="assets/pendulum.html#compact" title="A double pendulum to play with" scrolling="no"></iframe>
<figcaption>Move the sliders to change masses, lengths and the initial state. The page computes the motion itself, with
the same code as <code>da.simulate</code>, and works offline. <a href="assets/pendulum.html">The whole page</a> also
plots forces and energy.</figcaption>
</figure>
<script>
addEventListener("message", ({data, source}) => {
  const frame = document.querySelector(".pendulum iframe");
  if (data?.dalembertHeight && source === frame?.contentWindow) frame.style.height = `${data.dalembertHeight}px`;
});
</script>"""


@cache
def live_pages() -> dict[str, str]:
    """Return a page that runs in the browser for every case of the gallery that allows one, by the name of the case.

    The environment variable ``LIVE_CASES`` limits them to some cases, for a site that is built in less time.
    """
    names = os.environ.get("LIVE_CASES", "").split() or da.gallery.names()
    with tempfile.TemporaryDirectory() as folder:
        written = {name: _live_page(name, Path(folder)) for name in names}
    return {name: page for name, page in written.items() if page is not None}


def _live_page(name: str, folder: Path) -> str | None:
    try:
        return da.gallery.case(name).page(folder / f"{name}.html").read_text(encoding="utf-8")
    except da.InputError:  # such as a formulation or a controller that pages do not support
        return None


def gallery_cards(markdown: str, names: Sequence[str], live: Collection[str]) -> str:
    """Return the page of the gallery with cards, one for each row of its table, in the place of the table.

    The cards of the cases in ``live`` link to their live pages.
    """
    rows = {row["name"]: _card(**row.groupdict(), live=row["name"] in live) for row in ROW.finditer(markdown)}
    missing = set(names) - rows.keys()
    if missing:
        raise ValueError(f"docs/gallery.md must list every case; it does not list {', '.join(sorted(missing))}.")
    cards = "\n".join(rows[name] for name in rows)
    return TABLE.sub(lambda _: f'<div class="cards">\n{cards}\n</div>\n', markdown)


def _card(name: str, title: str, source: str, *, live: bool) -> str:
    link = f'<p><a href="live/{name}.html">Run it in the browser</a></p>' if live else ""
    return (
        f'<div class="card" id="{name}"><img src="figures/gallery/{name}.png" alt="" loading="lazy">'
        f"<p><strong>{escape(title)}</strong></p><p>{escape(source)}</p>"
        f"<p><code>dalembert run {name}</code></p>{link}</div>"
    )
