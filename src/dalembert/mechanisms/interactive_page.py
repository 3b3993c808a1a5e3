# SPDX-License-Identifier: BSD-3-Clause
"""A self-contained HTML page on which a mechanism can be played, stopped and rotated; it works offline."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.figures.html_page import asset, player_page
from dalembert.integration.trajectory import Trajectory
from dalembert.mechanisms.layout import scene_of_layout

CANVAS_ELEMENT = """<h1>{title}</h1>
<canvas class="stage" id="stage" tabindex="0" role="img" aria-label="{title}, moving"></canvas>
<p>{help}</p>"""

CANVAS_SCRIPT = """
const recorded = {recorded};
const stage = new Stage(document.getElementById("stage"), recorded.scene, () => player.show());
stage.fit(recorded.frames);
function draw(frame) {{
  stage.draw(recorded.frames[frame], recorded.frames.slice(0, frame));
  return "t = " + recorded.times[frame];
}}
addEventListener("resize", () => player.show());
"""


def write_page(mechanism: Any, run: Trajectory, drawing: Any, times: Any, view: Any, path: Path) -> Path:
    """Write the page and return its path; ``view`` is an azimuth and an elevation in degrees."""
    columns = np.concatenate(list(drawing.points.values()), axis=1).T
    frames = np.stack([np.interp(times, run.t, column) for column in columns], axis=1)
    size = float(np.ptp(columns))
    digits = max(0, 5 - int(np.ceil(np.log10(size or 1.0))))
    recorded = {
        "frames": frames.round(digits).tolist(),
        "times": [f"{t:.2f}" for t in times],
        "scene": scene_of_layout(mechanism, drawing.layout, view).described(),
    }
    delay = max(20, round(1000 * float(times[-1] - times[0]) / len(times)))
    in_space = mechanism.dimension == 3
    help_text = (
        "Drag the picture to rotate it, or press the arrow keys." if in_space else "Move the slider to any time."
    )
    page = player_page(
        path.stem,
        CANVAS_ELEMENT.format(title=html.escape(path.stem), help=help_text),
        asset("dalembert.figures", "stage.js")
        + CANVAS_SCRIPT.format(recorded=json.dumps(recorded, separators=(",", ":"))),
        frames=len(times),
        delay=min(delay, 200),
    )
    path.write_text(page, encoding="utf-8")
    return path
