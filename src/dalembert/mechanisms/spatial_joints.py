# SPDX-License-Identifier: BSD-3-Clause
"""Joints for bodies in space only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dalembert.errors import ModelError
from dalembert.mechanisms.joint import Joint, Rows
from dalembert.mechanisms.joints import aligned, angle_about_axis, on_axis, pair_of_axes, together
from dalembert.mechanisms.vectors import dot


@dataclass(frozen=True, repr=False)
class SpatialJoint(Joint):
    """A joint without a counterpart in the plane."""

    def __post_init__(self) -> None:
        Joint.__post_init__(self)
        if self.dimension != 3:
            raise ModelError([f"joint `{self.name}` must join points of space; in the plane use `da.Revolute`."])


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
        return dot(self.first.body.turn(self.axis[0]), self.second.position - self.first.position)


@dataclass(frozen=True, repr=False)
class Universal(SpatialJoint):
    """A universal joint: two points coincide, and an axis of one body stays perpendicular to an axis of the other.

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
