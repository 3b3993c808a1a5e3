# SPDX-License-Identifier: BSD-3-Clause
"""The ground and the axes of bodies in the figure of a mechanism: what is fixed, and the frames of points."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from dalembert.common.array_types import Floats
from dalembert.figures.style import COLOURS
from dalembert.mechanisms.contact_joints import PlaneContact
from dalembert.mechanisms.frames import Ground
from dalembert.mechanisms.particle import Particle
from dalembert.mechanisms.planar_rolling import KnifeEdge, RollingOnLine
from dalembert.mechanisms.rolling import Rolling
from dalembert.mechanisms.spatial_joints import Planar
from dalembert.mechanisms.visited_states import VisitedStates

ON_A_SURFACE = (KnifeEdge, RollingOnLine, Rolling, Planar, PlaneContact)
"""Joints whose first point says where a line or a plane is, and to which nothing is attached."""

AXIS_LENGTH = 0.09
"""Length of the axes of a body relative to the size of the figure."""

MOST_NAMED_BODIES = 8
"""Bodies up to which their axes are drawn unless it is asked for: those of more bodies would hide the mechanism."""


def draw_ground(axis: Any, mechanism: Any, visited: VisitedStates, towards: Floats) -> None:
    """Draw a support at each point of the ground to which a joint, a rod or a spring is attached."""
    parts = [part for part in (*mechanism.joints, *mechanism.forces) if not isinstance(part, ON_A_SURFACE)]
    fixed = dict.fromkeys(m.point for part in parts for m in part.markers if isinstance(m.body, Ground))
    if not fixed:
        return
    # a point that moves as a function of time is shown where it ends
    places = np.array([visited.positions(mechanism, Ground(), point)[-1] for point in fixed]) @ towards.T
    style = {"marker": _support(), "s": 480, "facecolors": "white", "edgecolors": "black", "linewidths": 0.9}
    axis.scatter(*places.T, zorder=2.5, label="_ground", **style)


def _support() -> Any:
    """Return the sign of a fixed support: a triangle on hatched ground, with its tip at the point."""
    from matplotlib.path import Path

    triangle = [(0, 0), (-0.6, -1), (0.6, -1), (0, 0)]
    hatches = [end for x in (-0.6, -0.1, 0.4) for end in ((x + 0.2, -1), (x - 0.1, -1.4))]
    codes = [Path.MOVETO, *[Path.LINETO] * 3, *[Path.MOVETO, Path.LINETO] * 3]
    return Path(triangle + hatches, codes)


def draw_axes(axis: Any, mechanism: Any, visited: VisitedStates, towards: Floats, size: float) -> None:
    """Draw the axes of each body at its reference point in the last position, with its name."""
    for body in mechanism.bodies:
        unit = sp.eye(body.dimension)
        origin = visited.positions(mechanism, body, 0 * unit[:, 0])[-1]
        for k in range(0 if isinstance(body, Particle) else body.dimension):
            away = visited.positions(mechanism, body, unit[:, k])[-1] - origin
            tip = towards @ (origin + AXIS_LENGTH * size * away)
            arrow = {"arrowstyle": "-|>", "color": COLOURS[k], "linewidth": 1.1, "shrinkA": 0, "shrinkB": 0}
            axis.annotate("", tip, towards @ origin, arrowprops=arrow, zorder=4)
        style = {"textcoords": "offset points", "fontsize": "small", "zorder": 4}
        axis.annotate(body.name, towards @ origin, (5, -11), **style)
