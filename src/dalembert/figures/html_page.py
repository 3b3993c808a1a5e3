# SPDX-License-Identifier: BSD-3-Clause
"""HTML documents that need nothing from the network, and a player for those that show a motion."""

from __future__ import annotations

from functools import cache
from html import escape
from importlib.resources import files

PLAYER = """<div class="player"><button id="play" type="button">Play</button>
<input id="time" type="range" aria-label="time"><span id="clock"></span></div>"""

FRAMES_SCRIPT = """
const player = new Player(value => draw(Math.min(Math.floor(value), {last})), {{from: 0, to: {last}, step: 1,
  rate: {rate}, hold: 1}});
player.show();
player.start();
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


def player_page(title: str, stage: str, script: str, *, frames: int, delay: int) -> str:
    """Return a page that plays a number of frames in a loop, with a button to stop and a slider.

    Parameters
    ----------
    stage     HTML of what is drawn on, above the controls
    script    JavaScript that defines ``draw(frame)``: it draws a frame by its number, from 0, and returns the text
              beside the slider. It may call ``player.show()`` to have the current frame drawn again
    delay     milliseconds for which a frame is shown
    """
    player = asset("dalembert.figures", "player.js") + FRAMES_SCRIPT.format(last=frames - 1, rate=1000 / delay)
    body = f'<main class="frames">\n{stage}\n{PLAYER}\n</main>\n<script>{script}{player}</script>'
    return document(title, body, asset("dalembert.figures", "page.css"))
