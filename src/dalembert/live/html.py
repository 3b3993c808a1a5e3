# SPDX-License-Identifier: BSD-3-Clause
"""The HTML file of a live page: one file that needs nothing from the network."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

from dalembert.common.target_path import target_path
from dalembert.errors import InputError
from dalembert.figures.html_page import asset, document
from dalembert.live.description import checked_ranges, description
from dalembert.live.experiment import Experiment
from dalembert.live.scene import Scene, plain_points
from dalembert.live.wasm_system import wasm_system

SCRIPTS = ("library", "rows", "machine", "segments", "motion", "work", "controls", "plots", "ledger", "live")
"""The scripts of a live page, in the order in which they are read; those of all pages come first."""

MOST_BYTES = 1_500_000
"""Largest file: one that opens at once, also on a telephone."""

FOOTER = (
    "The numbers are computed in this page, by the machine code of <code>da.simulate</code> compiled to WebAssembly: "
    "the Dormand–Prince method of order 8 with an error per step of {rtol:g}, adaptive steps{cure}. Nothing is loaded "
    "from the network."
)


def write_live_page(
    experiment: Experiment, scene: Scene, path: str | Path, *, title: str | None, about: str, ranges: Any
) -> Path:
    """Write a live page and return its path."""
    target = target_path(path, (".html",))
    text = live_page(experiment, scene, title=title or target.stem, about=about, ranges=ranges)
    size = len(text.encode())
    if size > MOST_BYTES:
        raise InputError(
            f"a live page must be at most {MOST_BYTES / 1e6:g} MB; this system of {len(experiment.q0)} coordinates "
            f"needs {size / 1e6:.1f} MB. `run.animate` writes a page of the motion alone."
        )
    target.write_text(text, encoding="utf-8")
    return target


def live_page(experiment: Experiment, scene: Scene, *, title: str, about: str, ranges: Any) -> str:
    """Return the text of a live page."""
    model = live_model(experiment, scene, ranges)
    drift = experiment.method.drift
    cure = ", and a projection onto the constraints after each of them" if drift.projections else ""
    texts = {
        "title": escape(title),
        "about": escape(about),
        "turning": "; drag it or press the arrow keys to turn it" if scene.dimension == 3 else "",
        "footer": FOOTER.format(rtol=experiment.method.rtol, cure=cure),
    }
    body = asset("dalembert.live", "live.html")
    for name, text in texts.items():
        body = body.replace("{{" + name + "}}", text)
    # a text in JSON could end the script element, or begin a comment or another script in it
    data = json.dumps(model, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    script = "\n".join([*(asset("dalembert.figures", f"{name}.js") for name in ("player", "stage")), live_scripts()])
    body += f'<script type="application/json" id="model">{data}</script>\n<script>{script}\nrunPage();</script>'
    return document(title, body, asset("dalembert.figures", "page.css"), asset("dalembert.live", "live.css"))


def live_model(experiment: Experiment, scene: Scene, ranges: Any) -> dict[str, Any]:
    """Return what the scripts of a page run: the compiled system and the description of the page."""
    checked = checked_ranges(experiment, ranges)
    compiled = wasm_system(experiment, plain_points(experiment.system, scene))
    return description(experiment, scene, compiled, checked)


def live_scripts() -> str:
    """Return the scripts of a live page."""
    return "\n".join(asset("dalembert.live", f"{name}.js") for name in SCRIPTS)
