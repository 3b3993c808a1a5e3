# SPDX-License-Identifier: BSD-3-Clause
"""Joints for bodies in the plane and in space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy as sp

from dalembert.errors import ModelError
from dalembert.mechanisms.joint import Joint, Rows, relative_rotation
from dalembert.mechanisms.joint_limits import checked_limits, limit_rows
from dalembert.mechanisms.vectors import (
    across,
    conjugate,
    dot,
    number,
    positive_number,
    product,
    quarter_turn,
    unit,
    vector,
)
from dalembert.model import graph

AXES = "xyz"


@dataclass(frozen=True, repr=False)
class Revolute(Joint):
    """A hinge: the two points coincide and, in space, an axis is common to both bodies.

    Parameters
    ----------
    name             of the joint
    first, second    points such as ``body.at(0.5, 0)`` or ``da.ground.at(0, 0)``
    axis             in space: a direction in the axes of both bodies, or a pair of directions, one for each
    radius           of the pin, for friction: it slides at the radius times the relative rate
    limits           least and greatest ``angle``, None for one that does not exist: contacts, which ``da.simulate``
                     follows. In space they are within ± half a turn
    restitution      of the limits, from 0 for no rebound to 1 for no loss of energy
    nonideal         laws of the joint: ``da.Viscous(c)`` applies the torque −c times the relative rate,
                     ``da.Coulomb(mu)`` applies μ times the force on the pin, at its radius
    """

    axis: Any = None
    radius: Any = None
    limits: Any = None
    restitution: Any = None

    def __post_init__(self) -> None:
        Joint.__post_init__(self)
        object.__setattr__(self, "axis", pair_of_axes(self.axis, self))
        if self.radius is not None:
            object.__setattr__(self, "radius", positive_number(self.radius, f"radius of joint {self.name}"))
        object.__setattr__(self, "limits", checked_limits(self))
        if self.dimension == 3 and any(limit is not None and abs(limit) >= sp.pi for limit in self.limits or ()):
            raise ModelError(
                [f"`limits of joint {self.name}` must be within ± π in space, where its angle is; got {self.limits}."]
            )

    def rows(self) -> Rows:
        hinge = aligned(self) if self.dimension == 3 else []
        return [*together(self), *hinge, *limit_rows(self, self.angle)]

    @property
    def contact(self) -> dict[str, Any]:
        return {"restitution": self.restitution} if self.limits else {}

    @property
    def rate(self) -> Any:
        return rate_about_axis(self)

    @property
    def motion_rate(self) -> Any:
        return self.rate

    @property
    def sliding(self) -> Any:
        return None if self.radius is None else self.radius * self.rate

    @property
    def normal_force(self) -> Any:
        return self.force_of(*AXES[: self.dimension])

    @property
    def advice(self) -> str:
        return "Give the joint the `radius` of its pin."

    @property
    def angle(self) -> Any:
        """The angle of the second body relative to the first, counted from the given poses.

        In space it is determined within ± half a turn; ``run.evaluate(joint.angle, unwrap=True)`` counts the turns.
        """
        return relative_angle(self) if self.dimension == 2 else angle_about_axis(self)

    def driven(self, motion: Any) -> Rows:
        if self.dimension == 2:
            return [("angle", self.angle - motion)]
        return [("angle", excess_angle(self, motion))]


@dataclass(frozen=True, repr=False)
class Prismatic(Joint):
    """A slider: the second body moves along an axis of the first and does not rotate relative to it.

    Parameters
    ----------
    axis           the direction in the axes of the first body; by default (1, 0), in space (1, 0, 0)
    limits         least and greatest ``displacement``, None for one that does not exist: contacts, which
                   ``da.simulate`` follows
    restitution    of the limits, from 0 for no rebound to 1 for no loss of energy
    nonideal       laws of the joint: the velocity is along the axis; the normal force is across it, without the
                   contribution of a moment between the bodies

    The bodies keep their given relative angle, in space their given relative orientation.
    """

    axis: Any = None
    limits: Any = None
    restitution: Any = None

    def __post_init__(self) -> None:
        Joint.__post_init__(self)
        given = (1, 0, 0)[: self.dimension] if self.axis is None else self.axis
        object.__setattr__(self, "axis", direction(given, self))
        object.__setattr__(self, "limits", checked_limits(self))

    def rows(self) -> Rows:
        return [*on_axis(self, self.axis), *same_orientation(self), *limit_rows(self, self.displacement)]

    @property
    def contact(self) -> dict[str, Any]:
        return {"restitution": self.restitution} if self.limits else {}

    @property
    def rate(self) -> Any:
        relative = self.second.velocity - self.first.body.velocity_of(self._met)
        return dot(self.first.body.turn(self.axis), relative)

    @property
    def motion_rate(self) -> Any:
        return self.rate

    @property
    def _met(self) -> Any:
        """The point of the first body that coincides with the second's point, in the first body's axes."""
        away = self.second.position - self.first.position
        return self.first.point + sp.ImmutableMatrix(
            [dot(self.first.body.turn(e), away) for e in _basis(self.dimension)]
        )

    @property
    def normal_force(self) -> Any:
        return self.force_of(*(about for about, _ in on_axis(self, self.axis)))

    @property
    def displacement(self) -> Any:
        """The displacement of the second point from the first along the axis."""
        return along_axis(self, self.axis)

    def driven(self, motion: Any) -> Rows:
        return [("displacement", self.displacement - motion)]


@dataclass(frozen=True, repr=False)
class Weld(Joint):
    """A rigid connection of two bodies: the points coincide and there is no relative rotation.

    The bodies keep their given relative angle, in space their given relative orientation.
    """

    def rows(self) -> Rows:
        return [*together(self), *same_orientation(self)]


@dataclass(frozen=True, repr=False)
class Rod(Joint):
    """A massless rod between two points.

    Parameters
    ----------
    length    a positive number, a parameter, or an expression of ``da.t``
    """

    length: Any = None

    def __post_init__(self) -> None:
        Joint.__post_init__(self)
        object.__setattr__(self, "length", positive_number(self.length, f"length of rod {self.name}"))

    def rows(self) -> Rows:
        away = self.second.position - self.first.position
        # scaled so that the multiplier is the force in the rod, positive in compression
        return [("length", (dot(away, away) - self.length**2) / (2 * self.length))]


@dataclass(frozen=True, repr=False)
class Rope(Joint):
    """A massless rope between two points, which pulls when it is taut and goes slack.

    It is a one-sided constraint, which ``da.simulate`` follows; its multiplier is the tension.

    Parameters
    ----------
    length         a positive number, a parameter, or an expression of ``da.t``
    restitution    of the jerk with which it becomes taut, from 0 for no rebound to 1

    Raises
    ------
    ModelError    if the length is not positive, or the restitution is missing or not between 0 and 1
    """

    length: Any = None
    restitution: Any = None

    def __post_init__(self) -> None:
        Joint.__post_init__(self)
        object.__setattr__(self, "length", positive_number(self.length, f"length of rope {self.name}"))

    def rows(self) -> Rows:
        away = self.second.position - self.first.position
        return [("length", sp.Ge((self.length**2 - dot(away, away)) / (2 * self.length), 0))]

    @property
    def contact(self) -> dict[str, Any]:
        return {"restitution": self.restitution}


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
