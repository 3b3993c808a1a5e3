# SPDX-License-Identifier: BSD-3-Clause
"""The drawing of a mechanism: points fixed in its bodies, lines between them, and joints."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dalembert.figures.view import checked_view
from dalembert.live.scene import Scene
from dalembert.mechanisms.frames import Ground
from dalembert.mechanisms.joint import Joint, Outline
from dalembert.mechanisms.joints import Revolute, Rod, Rope, Weld
from dalembert.mechanisms.planar_rolling import KnifeEdge
from dalembert.mechanisms.spatial_joints import Spherical, Universal
from dalembert.mechanisms.springs import Spring
from dalembert.mechanisms.visited_states import VisitedStates

PINS = (Revolute, Spherical, Universal, Weld)
"""Joints whose two points coincide."""

BLADE_LENGTH = 0.4
"""Length of the line that shows a knife edge, relative to the size of the bodies, or of one unit for a single
point."""


class BodyPoint(NamedTuple):
    """A point fixed in a body or in the ground; its position there consists of numbers and parameters."""

    body: Any
    point: Any


@dataclass
class Layout:
    """Points by name; lines as lists of names, by the body they belong to; joints as names of points.

    thin       numbers of the lines that show what a body moves on
    springs    numbers of the lines that show springs
    """

    points: dict[str, BodyPoint] = field(default_factory=dict[str, BodyPoint])
    lines: list[tuple[str, list[str]]] = field(default_factory=list[tuple[str, list[str]]])
    joints: list[str] = field(default_factory=list[str])
    thin: list[int] = field(default_factory=list[int])
    springs: list[int] = field(default_factory=list[int])

    def add(self, name: str, body: Any, point: Any) -> str:
        self.points[name] = BodyPoint(body, point)
        return name


def layout_of(mechanism: Any, visited: VisitedStates) -> Layout:
    """Return the points, lines and joints of a mechanism, whose curves and surfaces are shown where states are."""
    layout = Layout()
    used: dict[str, dict[Any, None]] = {body.name: {} for body in mechanism.bodies}
    for marker in (m for part in (*mechanism.joints, *mechanism.forces) for m in part.markers):
        if not isinstance(marker.body, Ground):
            used[marker.body.name][marker.point] = None
    for body in mechanism.bodies:
        own = list(used[body.name])
        ends = own if len(own) == 2 else [body.center_of_mass.point, *own]
        names = [layout.add(f"{body.name} {k}", body, point) for k, point in enumerate(ends)]
        if len(own) == 2:
            layout.lines.append((body.name, names))
        layout.lines += [(body.name, [names[0], name]) for name in names[1:]] if len(own) != 2 else []
    for joint in mechanism.joints:
        if not isinstance(joint, Joint):
            continue  # a drive is at its joint
        first, second = joint.markers[:2]
        shown = first if isinstance(first.body, Ground) and isinstance(joint, PINS) else second  # a pin does not move
        layout.joints.append(layout.add(f"joint {joint.name}", shown.body, shown.point))
        if isinstance(joint, (Rod, Rope)):
            end = layout.add(f"end of {joint.name}", first.body, first.point)
            layout.lines.append(("", [layout.joints[-1], end]))
        guides = joint.guides(visited.region_of(mechanism, joint)) if joint.has_guides else ()
        layout.thin += range(len(layout.lines), len(layout.lines) + len(guides))
        for k, outline in enumerate((*guides, *joint.outlines, *_blades(joint, mechanism, visited))):
            _add_outline(layout, joint.name, k, outline)
    for k, force in enumerate(mechanism.forces):
        if len(force.markers) == 2 and not hasattr(force, "joint"):
            ends = [layout.add(f"force {k} {j}", m.body, m.point) for j, m in enumerate(force.markers)]
            layout.springs += [len(layout.lines)] if isinstance(force, Spring) else []
            layout.lines.append(("", ends))
    return layout


def _blades(joint: Joint, mechanism: Any, visited: VisitedStates) -> tuple[Outline, ...]:
    """Return the line that shows a knife edge in the plane; other joints have none."""
    if not isinstance(joint, KnifeEdge):
        return ()
    blade = joint.blade(BLADE_LENGTH * (visited.extent(mechanism) or 1.0))
    return () if blade is None else (blade,)


def _add_outline(layout: Layout, joint: str, number: int, outline: Outline) -> None:
    """Add a line that shows a joint."""
    body = outline.marker.body
    names = [layout.add(f"line {number} of {joint} {k}", body, point) for k, point in enumerate(outline.points)]
    owner = "" if isinstance(body, Ground) else body.name
    layout.lines.append((owner, [f"joint {joint}", *names] if outline.spoke else names))


def scene_of_layout(mechanism: Any, layout: Layout, view: Any) -> Scene:
    """Return the drawing of a mechanism for a live page, with its points as expressions of the coordinates."""
    return Scene(
        {name: tuple(body.place(point)) for name, (body, point) in layout.points.items()},
        tuple((owner, tuple(names)) for owner, names in layout.lines),
        tuple(layout.joints),
        tuple(layout.joints) or tuple(name for name in layout.points if name.endswith(" 0")),
        tuple(map(float, mechanism.upwards)),
        checked_view(view),
        tuple(layout.thin),
        tuple(layout.springs),
    )
