# SPDX-License-Identifier: BSD-3-Clause
"""Files of animations: GIF, a page with a player, and MP4."""

from __future__ import annotations

import base64
import html
import io
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dalembert.common.target_path import target_path
from dalembert.errors import InputError
from dalembert.figures.html_page import player_page

if TYPE_CHECKING:
    from PIL.Image import Image

Writer = Callable[[list["Image"], Path, int], None]
"""A function of frames, a path, and the milliseconds per frame."""

PAGE_MARGIN, PLAYER_ROOM = 60, 90
"""Pixels beside a picture and below it, for the margins of a page and the controls of its player."""

IMAGE_ELEMENT = '<img id="picture" alt="{title}" width="{width}" height="{height}">'
IMAGE_SCRIPT = """
const frames = {frames};
const picture = document.getElementById("picture");
function draw(frame) {{ picture.src = "data:image/png;base64," + frames[frame]; return ""; }}
"""


def checked_writer(path: Path) -> Writer:
    """Return the function that writes the format of a file; raise if there is none, no folder, or no encoder."""
    writer = WRITERS[target_path(path, tuple(WRITERS)).suffix.lower()]
    if path.suffix.lower() == ".mp4" and shutil.which("ffmpeg") is None:
        raise InputError(
            "a file `.mp4` is encoded by the program `ffmpeg`, which must be on the PATH; it is not. Install it, or "
            "write `.gif` or `.html`."
        )
    return writer


def quantized(frames: list[Image]) -> list[Image]:
    """Quantize the pictures to one common palette, computed from four of them, to keep files small."""
    from PIL.Image import Dither, fromarray

    some = [np.asarray(frames[k]) for k in np.linspace(0, len(frames) - 1, 4).astype(int)]
    palette = fromarray(np.concatenate(some)).quantize(128)
    colours = np.array(palette.getpalette()).reshape(-1, 3)
    colours[colours.min(axis=1) > 240] = 255  # keep the background pure white
    palette.putpalette(colours.ravel().tolist())
    return [frame.quantize(palette=palette, dither=Dither.NONE) for frame in frames]


def _write_gif(frames: list[Image], path: Path, delay: int) -> None:
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=delay, loop=0)


def _write_page(frames: list[Image], path: Path, delay: int) -> None:
    """Write a page with all frames inside."""
    path.write_text(player(frames, path.stem, delay), encoding="utf-8")


def _write_video(frames: list[Image], path: Path, delay: int) -> None:
    """Write the frames to ffmpeg, as raw pictures one after the other."""
    width, height = frames[0].size
    # the usual colour format halves the resolution, and needs even sides
    even = f"crop={width - width % 2}:{height - height % 2}:0:0"
    source = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", f"1000/{delay}", "-i", "-"]
    command = ["ffmpeg", "-y", "-loglevel", "error", *source, "-vf", even, "-pix_fmt", "yuv420p", str(path)]
    pictures = b"".join(np.asarray(frame.convert("RGB")).tobytes() for frame in frames)
    done = subprocess.run(command, input=pictures, capture_output=True, check=False)
    if done.returncode:
        raise InputError(
            f"`ffmpeg` must be able to write {path}; it failed: {done.stderr.decode(errors='replace').strip()}. Write "
            f"`.gif` or `.html` instead."
        )


def player(frames: list[Image], title: str, delay: int) -> str:
    """Return a page with all frames inside."""
    width, height = frames[0].size
    stage = IMAGE_ELEMENT.format(title=html.escape(title), width=width, height=height)
    script = IMAGE_SCRIPT.format(frames=json.dumps([_png(frame) for frame in frames]))
    return player_page(title, stage, script, frames=len(frames), delay=delay)


def _png(frame: Image) -> str:
    packed = io.BytesIO()
    frame.save(packed, "PNG")
    return base64.b64encode(packed.getvalue()).decode()


WRITERS: dict[str, Writer] = {".gif": _write_gif, ".html": _write_page, ".mp4": _write_video}
