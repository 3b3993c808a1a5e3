# SPDX-License-Identifier: BSD-3-Clause
"""Rolling on and in circles, cylinders and spheres."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp

from dalembert.errors import ModelError
from dalembert.mechanisms.joint import Joint, Outline, Rows
from dalembert.mechanisms.outlines import circle_in_plane, circle_in_space, rim_about, wheel
from dalembert.mechanisms.rolling_contact import RollingContact, slip
from dalembert.mechanisms.spatial_joints import SpatialJoint
from dalembert.mechanisms.vectors import across, constant, cross, dot, positive_number, quarter_turn, unit


@dataclass(frozen=True, repr=False)
class RollingOnCircle(RollingContact):
    """A wheel that rolls on a circle, or inside of one, in the plane; the circle may belong to a moving body.

    Parameters
    ----------
    first       the centre of the circle
    second      the centre of the wheel
    radius      of the wheel
    circle      radius of the circle
    inside      whether the wheel rolls inside of the circle
    nonideal    friction such as ``da.Coulomb(mu)``, by which the wheel rolls or slips, as in ``da.RollingOnLine``

    The reaction of the equation ``contact`` is the normal force, positive if the bodies press on each other.
    """

    radius: Any = None
    circle: Any = None
    inside: bool = False

    def __post_init__(self) -> None:
        Joint.__post_init__(self)
        if self.dimension != 2:
            raise ModelError([f"joint `{self.name}` exists in the plane only; in space use `da.RollingOnCylinder`."])
        check_radii(self, "circle")

    @property
    def normal(self) -> Any:
        """The unit vector from the point of contact to the centre of the wheel, in world axes."""
        return contact_normal(self, self.second.position - self.first.position, self.circle)

    @property
    def contact_point(self) -> Any:
        """The position of the point of contact, in world axes."""
        return self.second.position - self.radius * self.normal

    @property
    def contact_rows(self) -> Rows:
        return [("contact", excess_distance(self, self.second.position - self.first.position, self.circle))]

    @property
    def slip_components(self) -> Rows:
        return [("rolling", dot(quarter_turn(self.normal), slip(self, -self.radius * self.normal)))]

    @property
    def outlines(self) -> Sequence[Outline]:
        rim = wheel(self.second, self.radius * sp.Matrix([1, 0]), self.radius * sp.Matrix([0, 1]))
        return circle_in_plane(self.first, self.circle), rim


@dataclass(frozen=True, repr=False)
class RollingOnSphere(SpatialJoint):
    """A ball that rolls on a sphere, or inside of one; the sphere may belong to a moving body.

    No pair of directions is tangent to a whole sphere without a gap, so the sliding velocity vanishes by three
    equations. One of them always depends on the other two and on the contact: ``da.check`` lists it as redundant.

    Parameters
    ----------
    first     the centre of the sphere
    second    the centre of the ball
    radius    of the ball
    sphere    radius of the sphere
    inside    whether the ball rolls inside of the sphere

    The multiplier of the equation ``contact`` includes what the redundant equation could carry; the reaction of the
    joint is unique.
    """

    radius: Any = None
    sphere: Any = None
    inside: bool = False

    def __post_init__(self) -> None:
        SpatialJoint.__post_init__(self)
        check_radii(self, "sphere")

    @property
    def normal(self) -> Any:
        """The unit vector from the point of contact to the centre of the ball, in world axes."""
        return contact_normal(self, self.second.position - self.first.position, self.sphere)

    @property
    def contact_point(self) -> Any:
        """The position of the point of contact, in world axes."""
        return self.second.position - self.radius * self.normal

    def rows(self) -> Rows:
        away = self.second.position - self.first.position
        sliding = slip(self, -self.radius * self.normal)
        return [
            ("contact", excess_distance(self, away, self.sphere)),
            *((f"rolling {axis}", component) for axis, component in zip("xyz", sliding, strict=True)),
        ]

    @property
    def advice(self) -> str:
        return (
            "It rolls without slip. A ball that may slip is a `da.RoundContact` with a `velocity` along two directions "
            "that are tangent where the balls touch."
        )

    @property
    def outlines(self) -> Sequence[Outline]:
        axes = [sp.eye(3)[:, k] for k in range(3)]
        great = [circle_in_space(self.first, axis, self.sphere) for axis in axes]
        return *great, rim_about(self.second, axes[2], self.radius)


@dataclass(frozen=True, repr=False)
class RollingOnCylinder(RollingContact, SpatialJoint):
    """A ball that rolls on a cylinder, or inside of one; the cylinder may belong to a moving body.

    Parameters
    ----------
    first       a point of the axis of the cylinder
    second      the centre of the ball
    radius      of the ball
    cylinder    radius of the cylinder
    axis        direction of the axis of the cylinder, in the axes of the first body
    inside      whether the ball rolls inside of the cylinder
    nonideal    friction such as ``da.Coulomb(mu)``, by which the ball rolls or slips, as in ``da.RollingDisc``

    The reaction of the equation ``contact`` is the normal force, positive if the bodies press on each other.
    """

    radius: Any = None
    cylinder: Any = None
    axis: Any = (0, 0, 1)
    inside: bool = False

    def __post_init__(self) -> None:
        SpatialJoint.__post_init__(self)
        check_radii(self, "cylinder")
        object.__setattr__(self, "axis", unit(self.axis, f"axis of joint {self.name}"))

    @property
    def _across(self) -> Any:
        """The vector from the axis to the centre of the ball."""
        away, axis = self.second.position - self.first.position, self.first.body.turn(self.axis)
        return away - dot(axis, away) * axis

    @property
    def normal(self) -> Any:
        """The unit vector from the point of contact to the centre of the ball, in world axes."""
        return contact_normal(self, self._across, self.cylinder)

    @property
    def contact_point(self) -> Any:
        """The position of the point of contact, in world axes."""
        return self.second.position - self.radius * self.normal

    @property
    def contact_rows(self) -> Rows:
        return [("contact", excess_distance(self, self._across, self.cylinder))]

    @property
    def slip_components(self) -> Rows:
        axis, normal = self.first.body.turn(self.axis), self.normal
        sliding = slip(self, -self.radius * normal)
        return [("rolling along", dot(axis, sliding)), ("rolling around", dot(cross(axis, normal), sliding))]

    @property
    def outlines(self) -> Sequence[Outline]:
        return (
            circle_in_space(self.first, self.axis, self.cylinder),
            rim_about(self.second, across(self.axis)[0], self.radius),
        )


def check_radii(joint: Any, track: str) -> None:
    """Check the radii of a rolling body and of the round surface that it rolls on."""
    for field in ("radius", track):
        argument = f"{field} of joint {joint.name}"
        value = positive_number(getattr(joint, field), argument)
        object.__setattr__(joint, field, constant(value, argument))
    if not isinstance(joint.inside, bool):
        raise ModelError([f"`inside` of joint {joint.name} must be True or False; got {joint.inside!r}."])
    if joint.inside and (getattr(joint, track) - joint.radius).is_positive is False:
        raise ModelError(
            [f"`radius of joint {joint.name}` must be smaller than `{track}` for rolling inside; got {joint.radius}."]
        )


def center_distance(joint: Any, track: Any) -> Any:
    """Return the distance of the centres, or of the centre from the axis."""
    return track - joint.radius if joint.inside else track + joint.radius


def contact_normal(joint: Any, away: Any, track: Any) -> Any:
    """Return the unit vector from the point of contact to the centre of the rolling body."""
    return away / (-center_distance(joint, track) if joint.inside else center_distance(joint, track))


def excess_distance(joint: Any, away: Any, track: Any) -> Any:
    """Return an expression that vanishes at contact, whose gradient is the unit normal."""
    distance = center_distance(joint, track)
    return (-1 if joint.inside else 1) * (dot(away, away) - distance**2) / (2 * distance)
