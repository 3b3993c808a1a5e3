# SPDX-License-Identifier: BSD-3-Clause
"""HTML documents that need nothing from the network, and a player for those that show a motion."""

from __future__ import annotations

from functools import cache
from html import escape
from importlib.resources import files

PLAYER_STYLE = """
body { font-family: sans-serif; max-width: 720px; margin: 1em auto; padding: 0 1em }
.player { display: flex; gap: 1em; align-items: center } .player input { flex: 1 }
"""

# The script of a page defines draw(frame), which draws a frame and returns the text beside the slider.
PLAYER = """<div class="player"><button id="play">Pause</button><input id="frame" type="range" min="0" max="{last}"
value="0" aria-label="time"><span id="clock"></span></div>"""

PLAYER_SCRIPT = """
const [play, slider, clock] = ["play", "frame", "clock"].map(id => document.getElementById(id));
let timer = null;
function show() {{ clock.textContent = draw(Number(slider.value)); }}
function step() {{ slider.value = (Number(slider.value) + 1) % {frames}; show(); }}
function stop() {{ clearInterval(timer); timer = null; play.textContent = "Play"; }}
function start() {{ timer = setInterval(step, {delay}); play.textContent = "Pause"; }}
play.onclick = () => timer ? stop() : start();
slider.oninput = () => {{ stop(); show(); }};
show();
start();
"""


@cache
def asset(package: str, name: str) -> str:
    """Return the text of a style sheet, a script or a part of a page in the folder ``assets`` of a package."""
    return (files(package) / "assets" / name).read_text(encoding="utf-8")


def document(title: str, body: str, *styles: str) -> str:
    """Return a whole HTML document around a body, with style sheets of its own."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{''.join(styles)}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def player_page(title: str, stage: str, script: str, *, frames: int, delay: int, style: str = "") -> str:
    """Return a page that plays a number of frames in a loop, with a button to stop and a slider.

    Parameters
    ----------
    stage     HTML of what is drawn on, above the controls
    script    JavaScript that defines ``draw(frame)``: it draws a frame by its number, from 0, and returns the text
              beside the slider. It may call ``show()`` to have the current frame drawn again
    delay     milliseconds for which a frame is shown
    """
    player = PLAYER_SCRIPT.format(frames=frames, delay=delay)
    body = f"{stage}\n{PLAYER.format(last=frames - 1)}\n<script>{script}{player}</script>"
    return document(title, body, PLAYER_STYLE, style)
