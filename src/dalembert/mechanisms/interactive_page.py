# SPDX-License-Identifier: BSD-3-Clause
"""A self-contained HTML page on which a mechanism can be played, stopped and rotated; it works offline."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.figures.html_page import player_page
from dalembert.figures.style import COLOURS
from dalembert.integration.trajectory import Trajectory

CANVAS_ELEMENT = """<h1>{title}</h1>
<canvas id="stage" width="1440" height="1080" role="img" aria-label="{title}, moving"></canvas>
<p>{help}</p>"""

CANVAS_STYLE = "canvas {{ width: 100%; border: 1px solid #ddd; touch-action: none; cursor: {cursor} }}"

CANVAS_SCRIPT = """
const scene = {scene};
const stage = document.getElementById("stage");
const pen = stage.getContext("2d");
let [right, up] = scene.view;
function turned(v, axis, angle) {{
  const [c, s] = [Math.cos(angle), Math.sin(angle)], d = axis[0] * v[0] + axis[1] * v[1] + axis[2] * v[2];
  const x = [axis[1] * v[2] - axis[2] * v[1], axis[2] * v[0] - axis[0] * v[2], axis[0] * v[1] - axis[1] * v[0]];
  return v.map((value, i) => value * c + x[i] * s + axis[i] * d * (1 - c));
}}
function place(point) {{
  const p = point.map((value, i) => value - scene.center[i]), k = 0.46 * stage.height / scene.size;
  const along = axis => axis[0] * p[0] + axis[1] * p[1] + axis[2] * p[2];
  return [stage.width / 2 + k * along(right), stage.height / 2 - k * along(up)];
}}
function path(points) {{
  pen.beginPath();
  points.forEach((point, i) => pen[i ? "lineTo" : "moveTo"](...place(point)));
  pen.stroke();
}}
function draw(now) {{
  const frame = scene.frames[now];
  pen.clearRect(0, 0, stage.width, stage.height);
  pen.lineJoin = pen.lineCap = "round";
  pen.lineWidth = 2;
  pen.strokeStyle = "#bbb";
  for (const j of scene.joints) path(scene.frames.slice(0, now + 1).map(f => f[j]));
  pen.lineWidth = 7;
  for (const [colour, line] of scene.lines) {{ pen.strokeStyle = colour; path(line.map(j => frame[j])); }}
  pen.fillStyle = "#222";
  for (const j of scene.joints) {{ pen.beginPath(); pen.arc(...place(frame[j]), 9, 0, 7); pen.fill(); }}
  return "t = " + scene.times[now];
}}
stage.onpointermove = event => {{
  if (!event.buttons || !scene.deep) return;
  const [spin, tilt] = [-event.movementX / 150, -event.movementY / 150];
  right = turned(right, scene.up, spin);
  up = turned(turned(up, scene.up, spin), right, tilt);
  show();
}};
"""


def write_page(mechanism: Any, run: Trajectory, drawing: Any, times: Any, view: Any, path: Path) -> Path:
    """Write the page and return its path."""
    names = list(drawing.points)
    deep = mechanism.dimension == 3
    everywhere = np.stack([drawing.points[name] for name in names], axis=1)  # (T, points, d)
    flat = everywhere if deep else np.concatenate([everywhere, np.zeros((*everywhere.shape[:2], 1))], axis=2)
    frames = np.stack(
        [[np.interp(times, run.t, flat[:, j, i]) for i in range(3)] for j in range(len(names))]
    ).transpose(2, 0, 1)
    lowest, highest = frames.min(axis=(0, 1)), frames.max(axis=(0, 1))
    wide, high, _ = (highest - lowest) / 2
    size = float(np.linalg.norm(highest - lowest)) / 2 if deep else float(max(0.75 * wide, high))
    digits = max(0, 5 - int(np.ceil(np.log10(size or 1.0))))
    colours = {body.name: COLOURS[k % len(COLOURS)] for k, body in enumerate(mechanism.bodies)}
    scene = {
        "frames": frames.round(digits).tolist(),
        "times": [f"{t:.2f}" for t in times],
        "lines": [[colours.get(owner, "#888"), [names.index(n) for n in line]] for owner, line in drawing.lines],
        "joints": [names.index(name) for name in drawing.joints],
        "center": ((lowest + highest) / 2).tolist(),
        "size": size or 1.0,
        "view": np.asarray(view).tolist(),
        "up": np.asarray(mechanism.upwards).tolist(),
        "deep": deep,
    }
    delay = max(20, round(1000 * float(times[-1] - times[0]) / len(times)))
    help_text = "Drag the picture to rotate it." if deep else "Move the slider to any time."
    page = player_page(
        path.stem,
        CANVAS_ELEMENT.format(title=html.escape(path.stem), help=help_text),
        CANVAS_SCRIPT.format(scene=json.dumps(scene, separators=(",", ":"))),
        frames=len(times),
        delay=min(delay, 200),
        style=CANVAS_STYLE.format(cursor="grab" if deep else "default"),
    )
    path.write_text(page, encoding="utf-8")
    return path
