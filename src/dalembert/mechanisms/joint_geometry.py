# SPDX-License-Identifier: BSD-3-Clause
"""Conditions on the axes and points of a joint, its angle and its displacement."""

from __future__ import annotations

from typing import Any

import sympy as sp

from dalembert.errors import ModelError
from dalembert.mechanisms.joint import Rows, relative_rotation
from dalembert.mechanisms.vectors import (
    across,
    conjugate,
    dot,
    number,
    product,
    quarter_turn,
    unit,
    vector,
)
from dalembert.model import graph

AXES = "xyz"


def together(joint: Any) -> Rows:
    """Return the second point minus the first, in world axes, so that multipliers are the force on the second body."""
    away = joint.second.position - joint.first.position
    return list(zip(AXES, away, strict=False))


def aligned(joint: Any) -> Rows:
    """Return equations that keep the second body's axis perpendicular to two directions across that of the first."""
    one, other = (marker.body for marker in joint.markers)
    axis = other.turn(joint.axis[1])
    return [(f"axis {k}", dot(one.turn(side), axis)) for k, side in enumerate(across(joint.axis[0]), start=1)]


def on_axis(joint: Any, axis: Any) -> Rows:
    """Return equations that keep the second point on a line through the first, fixed in the first body."""
    away = joint.second.position - joint.first.position
    sides = [quarter_turn(axis)] if joint.dimension == 2 else across(axis)
    turn = joint.first.body.turn
    return [(f"across {k}" if len(sides) > 1 else "across", dot(turn(side), away)) for k, side in enumerate(sides, 1)]


def same_orientation(joint: Any) -> Rows:
    """Return equations that exclude relative rotation."""
    if joint.dimension == 2:
        return [("angle", relative_angle(joint))]
    one, other = (marker.body for marker in joint.markers)
    turned = relative_rotation(*joint.markers).T
    x, y, z = (one.turn(e) for e in _basis(3))
    a, b, c = (other.turn(turned * e) for e in _basis(3))
    return [("turn x", dot(z, b)), ("turn y", dot(x, c)), ("turn z", dot(y, a))]


def relative_angle(joint: Any) -> Any:
    """Return the angle of the second body relative to the first, minus its given value."""
    angles = [marker.body.heading for marker in joint.markers]
    given = [marker.body.orientation for marker in joint.markers]
    return angles[1] - angles[0] - number(given[1] - given[0], "angle")


def angle_about_axis(joint: Any) -> Any:
    """Return the angle of the second body relative to the first about their common axis, within ± half a turn."""
    one, other = (marker.body for marker in joint.markers)
    u, v = across(joint.axis[0])
    side = other.turn(relative_rotation(*joint.markers).T * u)
    return graph.arc_tangent(dot(side, one.turn(v)), dot(side, one.turn(u)))


def excess_angle(joint: Any, angle: Any) -> Any:
    """Return twice the sine of half of what the second body has turned about the axis in excess of an angle.

    A difference of a whole turn vanishes, one of half a turn does not, so that angles may grow over many turns.
    """
    first, second = (marker.body for marker in joint.markers)
    given = product(conjugate(second.orientation), first.orientation)
    cosine, *along = product(
        product(conjugate(first.quaternion), second.quaternion), [number(part, "orientation") for part in given]
    )
    return 2 * (sp.cos(angle / 2) * dot(joint.axis[0], along) - sp.sin(angle / 2) * cosine)


def rate_about_axis(joint: Any) -> Any:
    """Return the angular velocity of the second body relative to the first about their common axis."""
    first, second = joint.first.body, joint.second.body
    if joint.dimension == 2:
        return second.turning - first.turning
    # each in the axes of its own body, where it is bilinear in the quaternion and its rate
    return dot(joint.axis[1], second.own_turning) - dot(joint.axis[0], first.own_turning)


def along_axis(joint: Any, axis: Any) -> Any:
    """Return the displacement of the second point from the first along an axis of the first body."""
    return dot(joint.first.body.turn(axis), joint.second.position - joint.first.position)


def _basis(dimension: int) -> list[Any]:
    return [sp.ImmutableMatrix([int(i == k) for i in range(dimension)]) for k in range(dimension)]


def direction(given: Any, joint: Any) -> Any:
    """Return a unit vector in the plane or in space."""
    argument = f"axis of joint {joint.name}"
    if joint.dimension == 3:
        return unit(given, argument)
    found = unit((*vector(given, argument, (2,)), 0), argument)
    return sp.ImmutableMatrix(found[:2])


def pair_of_axes(given: Any, joint: Any, what: str = "axis") -> Any:
    """Return a direction for each body; none in the plane."""
    if joint.dimension == 2:
        if given is not None:
            raise ModelError([f"joint `{joint.name}` is in the plane and has no `{what}`; got {given!r}."])
        return None
    if given is None:
        raise ModelError([f"joint `{joint.name}` must be given its `{what}`, a direction in the axes of both bodies."])
    paired = hasattr(given, "__len__") and len(given) == 2
    each = given if paired else (given, given)
    return tuple(unit(axis, f"{what} of joint {joint.name}") for axis in each)
