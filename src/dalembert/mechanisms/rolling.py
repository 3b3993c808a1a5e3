# SPDX-License-Identifier: BSD-3-Clause
"""Rolling without slipping, and knife edges: constraints on velocities."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import sympy as sp

from dalembert.mechanisms.joint import Outline, Rows
from dalembert.mechanisms.outlines import rim_about, wheel
from dalembert.mechanisms.spatial_joints import SpatialJoint
from dalembert.mechanisms.vectors import across, dot, positive_number, quarter_turn, unit, vector

MAY_SLIP = (
    "It rolls without slipping. A body that may slip is a `da.PlaneContact`, which rolls while friction holds it."
)
"""The advice where friction is given to a body that rolls."""


@dataclass(frozen=True, repr=False)
class Rolling(SpatialJoint):
    """A round body that rolls on a plane without slipping; the plane may belong to a moving body.

    One equation keeps the body in contact, and two exclude slipping. A point and the normal define the plane.

    Parameters
    ----------
    first     a point of the plane, ``da.ground.at(0, 0, 0)`` or of a body that carries it
    second    the centre of the round body
    normal    out of the plane, in the axes of the first body
    """

    normal: Any = (0, 0, 1)

    def __post_init__(self) -> None:
        SpatialJoint.__post_init__(self)
        object.__setattr__(self, "normal", unit(self.normal, f"normal of joint {self.name}"))
        self._check_shape()

    @abstractmethod
    def _check_shape(self) -> None:
        """Check the arguments that describe the shape."""

    @abstractmethod
    def offset(self, up: Any) -> Any:
        """Return the vector from the centre to the lowest point, in world axes; ``up`` is the normal."""

    @abstractmethod
    def height(self, up: Any) -> Any:
        """Return the height of the centre above the plane."""

    @property
    def contact_point(self) -> Any:
        """The position of the point of contact, in world axes."""
        return self.second.position + self.offset(self.first.body.turn(self.normal))

    def rows(self) -> Rows:
        plane, ball = self.first.body, self.second
        up = plane.turn(self.normal)
        down = self.offset(up)
        touching = ball.velocity + sp.Matrix(ball.body.turning).cross(sp.Matrix(down))
        slip = touching - carried(self.first, ball.position + down)
        away = ball.position - self.first.position
        sides = enumerate(across(self.normal), start=1)
        return [
            ("contact", dot(up, away) - self.height(up)),
            *((f"rolling {k}", dot(plane.turn(side), slip)) for k, side in sides),
        ]

    @property
    def advice(self) -> str:
        return MAY_SLIP


@dataclass(frozen=True, repr=False)
class RollingBall(Rolling):
    """A ball that rolls on a plane without slipping; the plane may belong to a moving body.

    One equation keeps the ball in contact, and two exclude slipping. A point and the normal define the plane.

    Parameters
    ----------
    first     a point of the plane, ``da.ground.at(0, 0, 0)`` or of a body that carries it
    second    the centre of the ball
    normal    out of the plane, in the axes of the first body
    radius    of the ball
    """

    radius: Any = None

    def _check_shape(self) -> None:
        object.__setattr__(self, "radius", positive_number(self.radius, f"radius of joint {self.name}"))

    def offset(self, up: Any) -> Any:
        return -self.radius * up

    def height(self, up: Any) -> Any:
        return self.radius

    @property
    def outlines(self) -> Sequence[Outline]:
        return (rim_about(self.second, self.normal, self.radius),)


@dataclass(frozen=True, repr=False)
class RollingDisc(Rolling):
    """A thin disc that rolls on a plane on its edge without slipping; the plane may belong to a moving body.

    One equation keeps the disc in contact, and two exclude slipping. A point and the normal define the plane. A disc
    that may slip, leave the plane or rebound is a ``da.PlaneContact`` with ``radius``, ``axle`` and ``da.Coulomb(mu)``.

    Parameters
    ----------
    first     a point of the plane, ``da.ground.at(0, 0, 0)`` or of a body that carries it
    second    the centre of the disc
    normal    out of the plane, in the axes of the first body
    radius    of the disc
    axle      the direction of its axle, in the axes of the second body
    """

    radius: Any = None
    axle: Any = (0, 1, 0)

    def _check_shape(self) -> None:
        object.__setattr__(self, "radius", positive_number(self.radius, f"radius of joint {self.name}"))
        object.__setattr__(self, "axle", unit(self.axle, f"axle of joint {self.name}"))

    def offset(self, up: Any) -> Any:
        return disc_support(self.second, self.axle, self.radius, up)[0]

    def height(self, up: Any) -> Any:
        return disc_support(self.second, self.axle, self.radius, up)[1]

    @property
    def outlines(self) -> Sequence[Outline]:
        return (rim_about(self.second, self.axle, self.radius),)


@dataclass(frozen=True, repr=False)
class RollingEllipsoid(Rolling):
    """An ellipsoid that rolls on a plane without slipping; the plane may belong to a moving body.

    One equation keeps the ellipsoid in contact, and two exclude slipping. A point and the normal define the plane.

    Parameters
    ----------
    first     a point of the plane, ``da.ground.at(0, 0, 0)`` or of a body that carries it
    second    the centre of the ellipsoid
    normal    out of the plane, in the axes of the first body
    axes      its three half axes, along the axes of the second body
    """

    axes: Any = None

    def _check_shape(self) -> None:
        argument = f"axes of joint {self.name}"
        axes = vector(self.axes, argument, (3,))
        object.__setattr__(self, "axes", sp.ImmutableMatrix([positive_number(axis, argument) for axis in axes]))

    def offset(self, up: Any) -> Any:
        return ellipsoid_support(self.second, self.axes, up)[0]

    def height(self, up: Any) -> Any:
        return ellipsoid_support(self.second, self.axes, up)[1]

    @property
    def outlines(self) -> Sequence[Outline]:
        return ellipses(self.second, self.axes)


def disc_support(center: Any, axle: Any, radius: Any, up: Any) -> tuple[Any, Any]:
    """Return the vector from the centre of a thin disc to its lowest point, in world axes, and the centre's height."""
    turned = center.body.turn(axle)
    along = dot(up, turned)
    length = sp.sqrt(1 - along**2)
    return -radius * (up - along * turned) / length, radius * length


def ellipsoid_support(center: Any, axes: Any, up: Any) -> tuple[Any, Any]:
    """Return the same of an ellipsoid, or of an ellipse in the plane, from its half axes along those of its body."""
    basis = sp.eye(len(axes))
    own = [dot(center.body.turn(basis[:, k]), up) for k in range(len(axes))]
    scaled = sp.ImmutableMatrix([a**2 * n for a, n in zip(axes, own, strict=True)])
    height = sp.sqrt(dot(scaled, own))
    return -center.body.turn(scaled) / height, height


def ellipses(center: Any, axes: Any) -> tuple[Outline, ...]:
    """Return the sections of an ellipsoid along its half axes; the ellipse itself in the plane."""
    sides = [axis * sp.eye(len(axes))[:, k] for k, axis in enumerate(axes)]
    return tuple(wheel(center, u, v) for u, v in combinations(sides, 2))


def carried(marker: Any, place: Any) -> Any:
    """Return the velocity of a marker's body at a position in world axes."""
    away = place - marker.position
    body = marker.body
    if marker.dimension == 2:
        return marker.velocity + body.turning * quarter_turn(away)
    return marker.velocity + sp.Matrix(body.turning).cross(sp.Matrix(away))
