# SPDX-License-Identifier: BSD-3-Clause
"""Figures and animations of a motion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.common.names import name_of
from dalembert.common.start_values import StartValue
from dalembert.integration.motion_data import MotionData

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dalembert.figures.animation import Animation


@dataclass(frozen=True, eq=False, repr=False)
class MotionFigures(MotionData):
    """The figures of a trajectory; they need the extra ``plot``."""

    def plot(self, units: Mapping[Any, str] | None = None, *, of: Any = None, ax: Any = None) -> Figure:
        """Plot the motion against time: coordinates, constraint forces (ideal and nonideal), violations, inputs.

        Inputs of actuators and errors of servo constraints have axes if there are some. The figure is not shown; call
        ``.savefig(path)`` on it or show it with matplotlib.

        Parameters
        ----------
        units    maps names to units for the labels: a coordinate, a constraint (the unit of its violation), an
                 actuator, a servo (the unit of its error), ``"t"``, ``"force"``, or ``"force theta"`` for the force on
                 one coordinate. Each unit has an axis of its own
        of       a name or names, as ``["x", "x'"]``: only these histories, on one axis
        ax       the axis of matplotlib to draw them on, instead of a new figure; without ``of``, the coordinates

        Raises
        ------
        InputError    if ``units`` or ``of`` name something that the run does not have
        """
        from dalembert.figures.trajectory_figures import histories, overview

        if of is None and ax is None:
            return overview(self, units)
        return histories(self, self.coordinates if of is None else of, units, ax)

    def plot_energy(self, units: Mapping[Any, str] | None = None, *, ax: Any = None) -> Figure:
        """Plot the kinetic energy ½ q̇ᵀM q̇ against time and, if a Lagrangian is known, the potential and total energy.

        ``units`` maps ``"t"`` and ``"energy"`` to units; ``ax`` is an axis of matplotlib to draw on. The work of every
        force is in ``run.ledger()``.

        Raises
        ------
        InputError    if ``units`` names something else, or the run was read from a file
        """
        from dalembert.figures.energy_figure import energies

        kinetic = self.require_source("`run.plot_energy`").kinetic_energy(self)
        return energies(self, kinetic, units, ax)

    def plot_phase(self, *names: Any, units: Mapping[Any, str] | None = None) -> Figure:
        """Plot velocity against coordinate, for the named coordinates or all; a circle marks the start.

        Raises
        ------
        InputError    if a name is not a coordinate's, or ``units`` names something that the run does not have
        """
        from dalembert.figures.trajectory_figures import phase

        return phase(self, names, units)

    def plot_path(
        self,
        horizontal: Any,
        vertical: Any,
        third: Any = None,
        *,
        units: Mapping[Any, str] | None = None,
        ax: Any = None,
    ) -> Figure:
        """Plot the path with equal scales, in a plane or, with a ``third`` argument, in space; a circle is the start.

        Each argument is the name of a coordinate or an array (T,), so that polar coordinates are drawn by
        ``run.plot_path(run["r"] * np.cos(run["theta"]), run["r"] * np.sin(run["theta"]))``, and a point of a mechanism
        by ``run.plot_path(*run.evaluate(point.position).T)``. In space, the third axis points upwards. The units of
        arrays are those of ``"horizontal"``, ``"vertical"`` and ``"third"`` in ``units``. ``ax`` is an axis of
        matplotlib to draw on, in space one with ``projection="3d"``.

        Raises
        ------
        InputError    if a name is not a coordinate's, an array has not T values, ``units`` names something else, or
                      ``ax`` has another number of dimensions
        """
        from dalembert.figures.path_figures import path

        return path(self, (horizontal, vertical) if third is None else (horizontal, vertical, third), units, ax)

    def animate(
        self,
        path: str | Path | None = None,
        points: Mapping[str, tuple[Any, ...]] | None = None,
        links: Sequence[tuple[str, str]] = (),
        fps: float = 25,
        trace: float | None = None,
        *,
        speed: float | None = None,
        title: str = "",
        view: tuple[float, float] = (30.0, 20.0),
    ) -> Path | Animation:
        """Write an animation of moving points, and return its path; without a path, return it for a notebook.

        A notebook shows the animation that is returned, with a player; ``.save(path)`` writes it. Frames are at equal
        times, by linear interpolation between the times of the run.

        Parameters
        ----------
        path      ends in ``.gif``, ``.html`` for a page that holds all frames, or ``.mp4``, which needs the program
                  ``ffmpeg``
        points    name to (horizontal, vertical), or to three components in space. Each is a coordinate, an expression
                  of coordinates and parameters, a number, or an array (T,). A column of expressions, such as
                  ``body.at(1, 0).position``, serves as well. Left out: coordinates whose names pair up, as (x, y),
                  (x1, y1), (x[1], y[1]), or (x, z) without y; in space if all of them also have a z
        links     pairs of names of points, joined by lines
        fps       frames per second, at most 50; rounded so that each is shown for a multiple of 10 ms, as a GIF needs
        trace     length of the trace of a moving point, in the unit of t; left out: its whole path
        speed     units of t per second. Left out: real time, t in seconds, but at most 300 frames, so that a longer
                  motion is shown faster
        title     a text above the picture
        view      of points in space: the azimuth and the elevation from which they are seen, in degrees

        Raises
        ------
        InputError    if the path has another ending or no folder, no points can be guessed, a point or a link is
                      wrong, a number is not positive, ``speed`` needs too many frames, there is no ``ffmpeg``, or the
                      run has fewer than two times
        """
        from dalembert.figures.animation import animation_of

        if isinstance(points, Mapping):
            points = {name: self._evaluated(point) for name, point in points.items()}
        found = animation_of(self, points, links, fps, trace, speed=speed, title=title, view=view)
        return found if path is None else found.save(path)

    def _evaluated(self, point: Any) -> Any:
        """Return a point of an animation, with arrays in place of its expressions."""
        if isinstance(point, tuple | list) and not isinstance(point, StartValue):
            return tuple(self._values(part) if self._is_expression(part) else part for part in point)
        if isinstance(point, str | float | int):
            return point
        values = self._values(point)
        return tuple(values.T) if values.ndim == 2 else point

    def _is_expression(self, part: Any) -> bool:
        """Return whether a component must be evaluated, unlike a number, an array, or the symbol of a coordinate."""
        is_plain = isinstance(part, str | Real | list | tuple) or np.ndim(part) > 0
        return not is_plain and name_of(part) not in self.coordinates

    def _values(self, expression: Any) -> Any:
        whole: Any = self  # a trajectory, whose figures these are
        return self.require_source("an animation of expressions").values(whole, expression)

    def page(
        self,
        path: str | Path,
        points: Mapping[str, Sequence[Any]] | None = None,
        links: Sequence[tuple[str, str]] = (),
        *,
        ranges: Mapping[str, tuple[float, float]] | None = None,
        title: str | None = None,
        about: str = "",
        view: tuple[float, float] = (30.0, 20.0),
    ) -> Path:
        """Write a page that computes this motion again in the browser, with sliders for all numbers; see ``da.page``.

        Raises
        ------
        InputError    as for ``da.page``, or if the run was read from a file or obeys another mechanics than
                      d'Alembert's
        """
        return self.require_source("a live page").write_page(path, points, links, title, about, ranges, view)
