# SPDX-License-Identifier: BSD-3-Clause
"""The drawing of a mechanism: points fixed in its bodies, lines between them, and joints."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import sympy as sp

from dalembert.figures.view import checked_view
from dalembert.live.scene import Scene
from dalembert.mechanisms.joints import Rod, Rope
from dalembert.mechanisms.rolling import RollingBall, RollingDisc, RollingEllipsoid, RollingOnLine
from dalembert.mechanisms.vectors import across

RIM_POINTS = 24
"""Number of points on the rim of a wheel."""


class BodyPoint(NamedTuple):
    """A point fixed in a body or in the ground; its position there consists of numbers and parameters."""

    body: Any
    point: Any


@dataclass
class Layout:
    """Points by name; lines as lists of names, by the body they belong to; joints as names of points."""

    points: dict[str, BodyPoint] = field(default_factory=dict[str, BodyPoint])
    lines: list[tuple[str, list[str]]] = field(default_factory=list[tuple[str, list[str]]])
    joints: list[str] = field(default_factory=list[str])

    def add(self, name: str, body: Any, point: Any) -> str:
        self.points[name] = BodyPoint(body, point)
        return name


def layout_of(mechanism: Any) -> Layout:
    """Return the points, lines and joints of a mechanism."""
    layout = Layout()
    markers = [m for part in (*mechanism.joints, *mechanism.forces) for m in part.markers]
    for body in mechanism.bodies:
        own = list(dict.fromkeys(m.point for m in markers if m.body == body))
        ends = own if len(own) == 2 else [body.center_of_mass.point, *own]
        names = [layout.add(f"{body.name} {k}", body, point) for k, point in enumerate(ends)]
        if len(own) == 2:
            layout.lines.append((body.name, names))
        layout.lines += [(body.name, [names[0], name]) for name in names[1:]] if len(own) != 2 else []
    for joint in mechanism.joints:
        first, second = joint.markers[:2]
        layout.joints.append(layout.add(f"joint {joint.name}", second.body, second.point))
        if isinstance(joint, (Rod, Rope)):
            end = layout.add(f"end of {joint.name}", first.body, first.point)
            layout.lines.append(("", [layout.joints[-1], end]))
        for rim, (u, v) in enumerate(_rims(joint)):
            _add_rim(layout, joint, rim, u, v)
    for k, force in enumerate(mechanism.forces):
        if len(force.markers) == 2 and not hasattr(force, "joint"):
            ends = [layout.add(f"force {k} {j}", m.body, m.point) for j, m in enumerate(force.markers)]
            layout.lines.append(("", ends))
    return layout


def _rims(joint: Any) -> list[tuple[Any, Any]]:
    """Return the half axes, in body axes, of the ellipses that show a rolling body: a rim, or three of an ellipsoid."""
    if isinstance(joint, RollingEllipsoid):
        sides = [axis * sp.eye(3)[:, k] for k, axis in enumerate(joint.axes)]
        return list(combinations(sides, 2))
    if isinstance(joint, RollingOnLine):
        u, v = sp.Matrix([1, 0]), sp.Matrix([0, 1])
    elif isinstance(joint, (RollingBall, RollingDisc)):
        u, v = across(joint.axle if isinstance(joint, RollingDisc) else joint.normal)
    else:
        return []
    return [(joint.radius * u, joint.radius * v)]


def _add_rim(layout: Layout, joint: Any, rim: int, u: Any, v: Any) -> None:
    """Add an ellipse about the second point, with a spoke that shows the rotation."""
    marker = joint.second
    names: list[str] = []
    for k, angle in enumerate(np.linspace(0, 2 * np.pi, RIM_POINTS + 1)):
        away = float(np.cos(angle)) * u + float(np.sin(angle)) * v
        names.append(layout.add(f"rim {rim} of {joint.name} {k}", marker.body, sp.Matrix(marker.point) + away))
    layout.lines.append((marker.body.name, [f"joint {joint.name}", *names]))


def scene_of_mechanism(mechanism: Any, view: Any) -> Scene:
    """Return the drawing of a mechanism for a live page, with its points as expressions of the coordinates."""
    layout = layout_of(mechanism)
    return Scene(
        {name: tuple(body.place(point)) for name, (body, point) in layout.points.items()},
        tuple((owner, tuple(names)) for owner, names in layout.lines),
        tuple(layout.joints),
        tuple(layout.joints) or tuple(name for name in layout.points if name.endswith(" 0")),
        tuple(map(float, mechanism.upwards)),
        checked_view(view),
    )
