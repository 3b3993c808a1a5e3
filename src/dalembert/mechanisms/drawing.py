# SPDX-License-Identifier: BSD-3-Clause
"""Drawings of a mechanism: moving points and the lines between them, projected onto the plane of the figure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.common.notebook_html import embedded
from dalembert.errors import InputError
from dalembert.figures.animation import LINK_WIDTH, Animation, Line, animation_of, frame_times
from dalembert.figures.animation_files import checked_writer
from dalembert.figures.spring_line import AMPLITUDE, zigzag
from dalembert.figures.style import COLOURS, blank_figure, plain_axis
from dalembert.figures.view import checked_view, picture_axes
from dalembert.integration.trajectory import Trajectory
from dalembert.mechanisms.drawn_frames import MOST_NAMED_BODIES, draw_axes, draw_ground
from dalembert.mechanisms.interactive_page import write_page
from dalembert.mechanisms.layout import Layout, layout_of
from dalembert.mechanisms.reaction_forces import require_trajectory_of
from dalembert.mechanisms.visited_states import VisitedStates

if TYPE_CHECKING:
    from matplotlib.figure import Figure

VISIBLE_MOTION = 1e-6
"""Joints that move by less than this fraction of the figure are drawn as fixed: drift and rounding move them, too."""

GUIDE_WIDTH = 0.8
"""Width in points of the lines of springs, and of curves and surfaces on which bodies move."""


MOST_NAMED_PATHS = 24
"""Paths of joints that the legend names: one of all in a large mechanism would leave no room for the figure."""


@dataclass(frozen=True)
class Drawing:
    """The layout of a mechanism, and the positions (T, d) of its points by their names along a trajectory."""

    layout: Layout
    points: dict[str, Floats]

    @property
    def lines(self) -> list[tuple[str, list[str]]]:
        return self.layout.lines

    @property
    def joints(self) -> list[str]:
        return self.layout.joints

    def width(self, line: int) -> float:
        """Return the width in points of a line, given by its number."""
        return GUIDE_WIDTH if line in (*self.layout.thin, *self.layout.springs) else LINK_WIDTH


def drawing_of(mechanism: Any, run: Trajectory) -> Drawing:
    """Return the points, lines and joints of a mechanism along a trajectory."""
    visited = VisitedStates(run.q, run.t, run.parameters)
    layout = layout_of(mechanism, visited)
    points = {name: visited.positions(mechanism, body, point) for name, (body, point) in layout.points.items()}
    return Drawing(layout, points)


def projected_points(mechanism: Any, drawing: Drawing, view: tuple[float, float]) -> dict[str, Floats]:
    """Return the points in the plane of the figure, (T, 2), seen from an azimuth and an elevation in degrees."""
    if mechanism.dimension == 2:
        return drawing.points
    towards = view_axes(mechanism, view)
    return {name: place @ towards.T for name, place in drawing.points.items()}


def view_axes(mechanism: Any, view: tuple[float, float]) -> Floats:
    """Return the directions (2, 3) of the axes of the figure."""
    if mechanism.dimension == 2:
        return np.eye(2, 3)
    return picture_axes(np.asarray(mechanism.upwards, float), view)


def figure(mechanism: Any, run: Trajectory, count: int, view: tuple[float, float], axes: bool | None = None) -> Figure:
    """Return a figure of some positions of the mechanism, the last one darkest, and of the paths of its joints."""
    require_trajectory_of(mechanism, run)
    if not isinstance(count, int) or count < 1:
        raise InputError(f"`positions` must be a whole number of at least one; got {count!r}.")
    drawing = drawing_of(mechanism, run)
    places = projected_points(mechanism, drawing, checked_view(view))
    picture = blank_figure(6, 5)
    axis: Any = picture.subplots()
    size = np.ptp(np.concatenate(list(places.values())), axis=0).max()
    moving = [name for name in drawing.joints if np.ptp(places[name], axis=0).max() > VISIBLE_MOTION * size]
    for k, name in enumerate(moving):
        label = name.removeprefix("joint ") if k < MOST_NAMED_PATHS else None
        axis.plot(*places[name].T, color=COLOURS[k % len(COLOURS)], linewidth=0.9, alpha=0.7, label=label)
    shown = np.linspace(0, len(run) - 1, count).round().astype(int)
    for rank, k in enumerate(shown, start=1):
        shade = str(0.85 - 0.7 * rank / count)
        for number, (_, names) in enumerate(drawing.lines):
            corners = np.array([places[name][k] for name in names])
            line = zigzag(corners, AMPLITUDE * size) if number in drawing.layout.springs else corners
            axis.plot(*line.T, color=shade, linewidth=drawing.width(number), zorder=2)
    last = np.array([places[name][-1] for name in drawing.joints])
    if len(last):
        axis.plot(*last.T, "o", color="black", markersize=4, zorder=3)
    _draw_frames(axis, mechanism, run, view, size, axes)
    axis.set_aspect("equal", adjustable="datalim")  # a box as narrow as a small motion has no room for its numbers
    if mechanism.dimension == 2:
        axis.set(xlabel="x", ylabel="y")
    else:
        axis.set(xticks=[], yticks=[])
    plain_axis(axis)
    if moving:
        title = "paths of joints"
        title += f", the first {MOST_NAMED_PATHS} of {len(moving)}" if len(moving) > MOST_NAMED_PATHS else ""
        picture.legend(loc="outside lower center", ncols=4, fontsize="small", title=title)
    return picture


def _draw_frames(axis: Any, mechanism: Any, run: Trajectory, view: Any, size: float, axes: bool | None) -> None:
    """Draw the ground and, if asked for or if there are few bodies, their axes in the last position."""
    last = VisitedStates(run.q[-1:], run.t[-1:], run.parameters)
    towards = view_axes(mechanism, view)[:, : mechanism.dimension]
    draw_ground(axis, mechanism, last, towards)
    if len(mechanism.bodies) <= MOST_NAMED_BODIES if axes is None else axes:
        draw_axes(axis, mechanism, last, towards, size)


@dataclass(frozen=True, eq=False, repr=False)
class MechanismAnimation:
    """A mechanism in motion for a notebook, which shows the interactive page."""

    mechanism: Any
    run: Trajectory
    fps: float
    view: tuple[float, float]
    trace: float | None

    def save(self, path: str | Path) -> Path:
        """Write an animation that ends in ``.gif`` or ``.mp4``, or the interactive page, ``.html``."""
        return write_motion(self.mechanism, self.run, Path(path), self.fps, self.view, self.trace)

    def __repr__(self) -> str:
        bodies = ", ".join(body.name for body in self.mechanism.bodies)
        return f"<MechanismAnimation of {bodies} from t = {self.run.t[0]:g} to {self.run.t[-1]:g}>"

    def _repr_html_(self) -> str:
        with TemporaryDirectory() as folder:
            page = self.save(Path(folder) / "mechanism.html").read_text(encoding="utf-8")
        return embedded(page, *PAGE_SIZE)


PAGE_SIZE = 780, 760
"""Width and height in pixels of the interactive page."""


def write_motion(
    mechanism: Any, run: Trajectory, path: Path, fps: float, view: tuple[float, float], trace: float | None
) -> Path:
    """Write an animation, or an interactive page (HTML)."""
    checked_writer(path)
    if path.suffix.lower() != ".html":
        return picture_animation(mechanism, run, fps, view, trace).save(path)
    drawing, view = _drawing_of_motion(mechanism, run, view)
    return write_page(mechanism, run, drawing, frame_times(run.t, fps), view, path)


def picture_animation(
    mechanism: Any,
    run: Trajectory,
    fps: float,
    view: tuple[float, float],
    trace: float | None,
    *,
    speed: float | None = None,
    title: str = "",
) -> Animation:
    """Return an animation of pictures."""
    drawing, view = _drawing_of_motion(mechanism, run, view)
    places = projected_points(mechanism, drawing, view)
    bare = frozenset(places) - frozenset(drawing.joints)
    columns = {name: (place[:, 0], place[:, 1]) for name, place in places.items()}
    springs = drawing.layout.springs
    lines = tuple(Line(tuple(names), drawing.width(k), k in springs) for k, (_, names) in enumerate(drawing.lines))
    return animation_of(run, columns, (), fps, trace, bare, lines=lines, speed=speed, title=title)


def _drawing_of_motion(mechanism: Any, run: Trajectory, view: Any) -> tuple[Drawing, tuple[float, float]]:
    require_trajectory_of(mechanism, run)
    view = checked_view(view)
    if len(run) < 2:
        raise InputError(f"the run must have at least two times to be animated; got {len(run)}.")
    return drawing_of(mechanism, run), view
