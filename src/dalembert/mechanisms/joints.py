# SPDX-License-Identifier: BSD-3-Clause
"""Joints for bodies in the plane and in space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy as sp

from dalembert.errors import ModelError
from dalembert.mechanisms.joint import Joint, Rows
from dalembert.mechanisms.joint_geometry import (
    AXES,
    _basis,
    aligned,
    along_axis,
    angle_about_axis,
    direction,
    excess_angle,
    on_axis,
    pair_of_axes,
    rate_about_axis,
    relative_angle,
    same_orientation,
    together,
)
from dalembert.mechanisms.joint_limits import checked_limits, limit_rows
from dalembert.mechanisms.vectors import (
    dot,
    positive_number,
)


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
