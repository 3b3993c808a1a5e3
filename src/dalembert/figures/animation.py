# SPDX-License-Identifier: BSD-3-Clause
"""Animations of a trajectory: points in a plane or in space, links between them, and their traces."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.common.names import name_of, quoted
from dalembert.common.notebook_html import block, embedded, paragraph
from dalembert.errors import InputError
from dalembert.figures.animation_files import PAGE_MARGIN, PLAYER_ROOM, checked_writer, player, quantized
from dalembert.figures.points import Points, Positions, guessed_points, in_picture, is_in_space, positions_along
from dalembert.figures.spring_line import AMPLITUDE, zigzag
from dalembert.figures.style import COLOURS, canvas_figure, plain_axis, pretty
from dalembert.figures.trajectory_figures import is_array

if TYPE_CHECKING:
    from PIL.Image import Image

    from dalembert.integration.motion_data import MotionData


class Line(NamedTuple):
    """A line through points, by their names, with its width in points; a spring is drawn as a zigzag."""

    names: tuple[str, ...]
    width: float
    is_spring: bool = False


Lines = tuple[Line, ...]
LINK_WIDTH = 1.8
"""Width of the lines of links and bodies, in points."""
Show = Callable[[float], None]

MOST_FRAMES = 300
"""Largest number of frames, to limit the size of the file."""
LONG_SIDE, LEAST_ASPECT = 4.6, 0.25
"""Longest side of the picture in inches, and the smallest ratio of its sides."""
MOST_CHOSEN_FRAMES = 3000
"""Largest number of frames at a chosen speed: two minutes at 25 frames per second."""


@dataclass(frozen=True, eq=False, repr=False)
class Animation:
    """Moving points as pictures, which are drawn when they are first needed; a notebook shows them with a player.

    times    of the frames
    delay    milliseconds for which a frame is shown
    """

    run: MotionData
    points: Points
    positions: Positions
    lines: Lines
    times: Floats
    delay: int
    trace: float
    title: str
    bare: frozenset[str] = frozenset()

    @cached_property
    def frames(self) -> list[Image]:
        """The pictures, one for each time."""
        axis = _stage(np.concatenate(list(self.positions.values())), self.points, self.title)
        drawn = _frames(axis, self.run.t, self.positions, self.times, self.lines, self.trace, self.bare)
        return quantized(list(drawn))

    def save(self, path: str | Path) -> Path:
        """Write the animation to a file that ends in ``.gif``, ``.html`` or ``.mp4``, and return its path.

        Raises
        ------
        InputError    if the path has another ending or no folder, or ``ffmpeg`` is missing for ``.mp4``
        """
        target = Path(path)
        writer = checked_writer(target)
        writer(self.frames, target, self.delay)
        return target

    def __repr__(self) -> str:
        names = ", ".join(name for name in self.positions if name not in self.bare)
        seconds = len(self.times) * self.delay / 1000
        return f"<Animation of {names}: {len(self.times)} frames, {seconds:.3g} s; `.save(path)` writes it>"

    def _repr_html_(self) -> str:
        try:
            frames = self.frames
        except ModuleNotFoundError:
            return block(paragraph(repr(self)))
        width, height = frames[0].size
        return embedded(
            player(frames, self.title or "animation", self.delay), width + PAGE_MARGIN, height + PLAYER_ROOM
        )


def animation_of(
    run: MotionData,
    points: Points | None,
    links: Any,
    fps: float,
    trace: float | None,
    bare: frozenset[str] = frozenset(),
    *,
    lines: Lines = (),
    speed: float | None = None,
    title: str = "",
    view: Any = (30.0, 20.0),
) -> Animation:
    """Return an animation; see ``Trajectory.animate``. Points in ``bare`` get no marker; ``lines`` are drawn, too."""
    delay, trace_time = _delay(_number(fps, "fps", above=True)), math.inf if trace is None else _number(trace, "trace")
    if len(run) < 2:
        raise InputError(f"the run must have at least two times to be animated; got {len(run)}.")
    points = guessed_points(run.coordinates) if points is None else points
    positions = positions_along(run, points)
    points = {} if is_in_space(positions) else points  # the axes of the picture are then none of the coordinates
    positions = in_picture(positions, view)
    drawn = (*lines, *(Line(link, LINK_WIDTH) for link in _checked_links(links, positions)))
    times = frame_times(run.t, 1000 / delay, speed)
    heading = ": ".join(part for part in (run.mark, str(title)) if part)
    return Animation(run, points, positions, drawn, times, delay, trace_time, heading, bare)


def _delay(fps: float) -> int:
    """Return the milliseconds per frame: GIF uses units of ten, and browsers slow down frames shorter than 20."""
    return max(20, 10 * round(100 / fps))


def frame_times(t: Floats, fps: float, speed: float | None = None) -> Floats:
    """Return equidistant times over the range of ``t`` for playback at a speed, in units of t per second.

    Without a speed it is real time, unless that takes more than ``MOST_FRAMES``.
    """
    span = float(t[-1] - t[0])
    if speed is None:
        return np.linspace(t[0], t[-1], min(max(2, round(fps * span)), MOST_FRAMES))
    count = max(2, round(fps * span / _number(speed, "speed", above=True)))
    if count > MOST_CHOSEN_FRAMES:
        raise InputError(
            f"`speed` must leave at most {MOST_CHOSEN_FRAMES} frames; {speed:g} needs {count}. Choose a larger one, or "
            f"fewer `fps`."
        )
    return np.linspace(t[0], t[-1], count)


def _checked_links(links: Any, positions: Positions) -> tuple[tuple[str, str], ...]:
    for link in links if isinstance(links, tuple | list) else (links,):
        if not isinstance(link, tuple | list) or len(link) != 2:
            raise InputError(f"`links` must hold pairs of names of points; got {link!r}.")
        for end in link:
            if end not in positions:
                raise InputError(f"`links` must join points ({quoted(positions)}); `{end}` is none of them.")
    return tuple((start, end) for start, end in links)


def _number(value: Any, name: str, above: bool = False) -> float:
    if not isinstance(value, Real) or not math.isfinite(value) or value < 0 or (above and value == 0):
        raise InputError(f"`{name}` must be a {'positive' if above else 'nonnegative'} number; got {value!r}.")
    return float(value)


def _stage(all_positions: Floats, points: Points, title: str) -> Any:
    """Return an empty axis whose limits contain the whole motion, with equal scales and a title.

    Its axes are named after the coordinates of points; a view of space, without points, has no numbers.
    """
    lowest, highest = all_positions.min(axis=0), all_positions.max(axis=0)
    longest = float((highest - lowest).max()) or 1.0
    half = np.maximum(highest - lowest, LEAST_ASPECT * longest) / 2 + 0.08 * longest
    width, height = LONG_SIDE * half / half.max() + (0.7, 0.8)
    axis: Any = canvas_figure(width, height).subplots()
    left, right = (lowest + highest) / 2 - half, (lowest + highest) / 2 + half
    axis.set(xlim=(left[0], right[0]), ylim=(left[1], right[1]), aspect="equal")
    axis.set(xlabel=_axis_name(points, 0), ylabel=_axis_name(points, 1))
    if not points:
        axis.set(xticks=[], yticks=[])
    axis.set_title(title or " ", loc="left", fontsize="medium")  # leaves room for the time
    plain_axis(axis)
    return axis


def _axis_name(points: Points, side: int) -> str:
    """Return the names of the coordinates along an axis, or an empty string if there are more than four."""
    given = [pair[side] for pair in points.values()]
    names = dict.fromkeys(
        pretty(name_of(value)) for value in given if not isinstance(value, Real) and not is_array(value)
    )
    return ", ".join(names) if len(names) <= 4 else ""


def _frames(
    axis: Any, t: Floats, positions: Positions, times: Floats, lines: Lines, trace: float, bare: frozenset[str]
) -> Iterator[Image]:
    """Yield the pictures, one for each of ``times``. Axis and grid are drawn once, since they take most of the time."""
    from PIL.Image import fromarray

    canvas = axis.figure.canvas
    canvas.draw()
    empty = canvas.copy_from_bbox(axis.figure.bbox)
    artists, show = _scene(axis, t, positions, lines, trace, bare)
    digits = max(0, math.ceil(-math.log10(times[1] - times[0])))
    clock = axis.text(1, 1.02, "", ha="right", transform=axis.transAxes)
    for now in times:
        canvas.restore_region(empty)
        show(now)
        clock.set_text(f"t = {now:.{digits}f}")
        for artist in (*artists, clock):
            axis.draw_artist(artist)
        yield fromarray(np.array(canvas.buffer_rgba())[..., :3])


def _scene(
    axis: Any, t: Floats, positions: Positions, lines: Lines, trace: float, bare: frozenset[str]
) -> tuple[list[Any], Show]:
    """Return the moving artists, from back to front, and a function that moves them to their positions at a time."""
    marked = [name for name in positions if name not in bare]
    moving = [name for name in marked if np.ptp(positions[name], axis=0).any()]
    colours = {name: COLOURS[k % len(COLOURS)] for k, name in enumerate(moving)}
    traces = {name: axis.plot([], [], color=colours[name], linewidth=1, alpha=0.5)[0] for name in moving}
    bars = [(line, axis.plot([], [], color="0.35", linewidth=line.width)[0]) for line in lines]
    amplitude = AMPLITUDE * float(np.ptp(axis.get_xlim()))
    marks = {name: axis.plot([], [], **_mark(colours.get(name)))[0] for name in marked}

    def show(now: float) -> None:
        first, last = np.searchsorted(t, (now - trace, now))
        here = {
            name: np.array([np.interp(now, t, column) for column in position.T]) for name, position in positions.items()
        }
        for name, line in traces.items():
            line.set_data(*np.vstack([positions[name][first:last], here[name]]).T)
        for line, bar in bars:
            corners = np.stack([here[name] for name in line.names])
            bar.set_data(*(zigzag(corners, amplitude) if line.is_spring else corners).T)
        for name, mark in marks.items():
            mark.set_data(*here[name][:, None])

    return [*traces.values(), *(bar for _, bar in bars), *marks.values()], show


def _mark(colour: str | None) -> dict[str, Any]:
    """Return the style of a marker: a square for a fixed point, a disc for a moving one."""
    if colour is None:
        return {"color": "black", "marker": "s", "markersize": 5}
    return {"color": colour, "marker": "o", "markersize": 8, "markeredgecolor": "white"}
