# SPDX-License-Identifier: BSD-3-Clause
"""Joints for bodies in space only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import sympy as sp

from dalembert.errors import ModelError
from dalembert.mechanisms.joint import Joint, Rows
from dalembert.mechanisms.joint_geometry import (
    aligned,
    along_axis,
    angle_about_axis,
    excess_angle,
    on_axis,
    pair_of_axes,
    rate_about_axis,
    together,
)
from dalembert.mechanisms.vectors import constant, dot, number


@dataclass(frozen=True, repr=False)
class SpatialJoint(Joint):
    """A joint for bodies in space only, with the joint to use in the plane."""

    in_the_plane: ClassVar[str] = "da.Revolute"

    def __post_init__(self) -> None:
        Joint.__post_init__(self)
        if self.dimension != 3:
            raise ModelError(
                [f"joint `{self.name}` must join points of space; in the plane use `{self.in_the_plane}`."]
            )


@dataclass(frozen=True, repr=False)
class Spherical(SpatialJoint):
    """A ball joint: the two points coincide."""

    def rows(self) -> Rows:
        return together(self)


@dataclass(frozen=True, repr=False)
class Cylindrical(SpatialJoint):
    """A cylindrical joint: the second body moves along an axis and rotates about it.

    Parameters
    ----------
    axis    a direction in the axes of both bodies, or a pair of directions, one for each
    """

    axis: Any = None

    def __post_init__(self) -> None:
        SpatialJoint.__post_init__(self)
        object.__setattr__(self, "axis", pair_of_axes(self.axis, self))

    def rows(self) -> Rows:
        return [*on_axis(self, self.axis[0]), *aligned(self)]

    @property
    def angle(self) -> Any:
        """The angle of the second body relative to the first, counted from the given poses, within ± half a turn."""
        return angle_about_axis(self)

    @property
    def displacement(self) -> Any:
        """The displacement of the second point from the first along the axis."""
        return along_axis(self, self.axis[0])


@dataclass(frozen=True, repr=False)
class Universal(SpatialJoint):
    """A universal joint: two points coincide, and an axis of one body stays perpendicular to an axis of the other.

    The two axes are the arms of the cross that joins two shafts. Each arm is perpendicular to its own shaft; in the
    given poses the arms are perpendicular to one another.

    Parameters
    ----------
    axis    a pair of directions: one in the axes of the first body, one in those of the second
    """

    axis: Any = None

    def __post_init__(self) -> None:
        SpatialJoint.__post_init__(self)
        if self.axis is not None and (not hasattr(self.axis, "__len__") or len(self.axis) != 2):
            raise ModelError([f"`axis` of joint {self.name} must be a pair of directions; got {self.axis!r}."])
        object.__setattr__(self, "axis", pair_of_axes(self.axis, self))

    def rows(self) -> Rows:
        one, other = (marker.body.turn(axis) for marker, axis in zip(self.markers, self.axis, strict=True))
        return [*together(self), ("square", dot(one, other))]


@dataclass(frozen=True, repr=False)
class Planar(SpatialJoint):
    """A planar joint: the second body slides on a plane of the first and turns about the normal of the plane.

    Parameters
    ----------
    first     a point of the plane
    second    the point that stays in the plane
    normal    out of the plane: a direction in the axes of both bodies, or a pair of directions, one for each
    """

    normal: Any = (0, 0, 1)

    def __post_init__(self) -> None:
        SpatialJoint.__post_init__(self)
        object.__setattr__(self, "normal", pair_of_axes(self.normal, self, "normal"))

    @property
    def axis(self) -> Any:
        """The normal in the axes of each body, about which the second body turns."""
        return self.normal

    def rows(self) -> Rows:
        return [("plane", along_axis(self, self.normal[0])), *aligned(self)]

    @property
    def angle(self) -> Any:
        """The angle of the second body relative to the first, counted from the given poses, within ± half a turn."""
        return angle_about_axis(self)


@dataclass(frozen=True, repr=False)
class Screw(SpatialJoint):
    """A screw: the second body moves along an axis in proportion to its rotation about it.

    The displacement of the second point from the first, along the axis, is ``pitch`` times the number of turns from
    the given relative orientation of the bodies.

    Parameters
    ----------
    axis        a direction in the axes of both bodies, or a pair of directions, one for each
    pitch       displacement per turn; positive for a right-handed thread
    nonideal    laws of the joint: ``da.Viscous(c)`` applies the torque −c times the relative rate
    """

    axis: Any = None
    pitch: Any = None

    def __post_init__(self) -> None:
        SpatialJoint.__post_init__(self)
        object.__setattr__(self, "axis", pair_of_axes(self.axis, self))
        argument = f"pitch of joint {self.name}"
        if self.pitch is None:
            raise ModelError([f"`{argument}` must be given: the displacement per turn."])
        object.__setattr__(self, "pitch", constant(number(self.pitch, argument), argument))
        if self.pitch == 0:
            raise ModelError([f"`{argument}` must not be zero; a joint without displacement is a `da.Revolute`."])

    def rows(self) -> Rows:
        return [
            *on_axis(self, self.axis[0]),
            *aligned(self),
            # its multiplier is the torque about the axis
            ("thread", excess_angle(self, 2 * sp.pi * self.displacement / self.pitch)),
        ]

    @property
    def rate(self) -> Any:
        return rate_about_axis(self)

    @property
    def motion_rate(self) -> Any:
        return self.rate

    @property
    def angle(self) -> Any:
        """The angle of the second body relative to the first: 2π times the displacement by the pitch."""
        return 2 * sp.pi * self.displacement / self.pitch

    @property
    def displacement(self) -> Any:
        """The displacement of the second point from the first along the axis."""
        return along_axis(self, self.axis[0])

    def driven(self, motion: Any) -> Rows:
        return [("angle", self.angle - motion)]
