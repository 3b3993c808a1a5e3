# SPDX-License-Identifier: BSD-3-Clause
"""Gears, guides and drives: joints that relate motions to one another or to time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy as sp

from dalembert.errors import ModelError
from dalembert.mechanisms.frames import Marker
from dalembert.mechanisms.joint import Joint, Rows, as_marker
from dalembert.mechanisms.joints import pair_of_axes
from dalembert.mechanisms.vectors import dot, number
from dalembert.model.constraint import Constraint
from dalembert.model.representation import short


@dataclass(frozen=True, repr=False)
class Gear(Joint):
    """Two meshing wheels: ratio × (rate of the first) + (rate of the second) = 0, both relative to a carrier.

    Parameters
    ----------
    first, second    the wheels
    ratio            turns of the second per turn of the first; positive for wheels that turn opposite ways
    carrier          the body that carries both; by default the ground
    axis             in space: the axle in the axes of both wheels, or a pair of directions, one for each
    """

    ratio: Any = 1
    carrier: Any = None
    axis: Any = None

    def __post_init__(self) -> None:
        Joint.__post_init__(self)
        object.__setattr__(self, "ratio", number(self.ratio, f"ratio of gear {self.name}"))
        if self.ratio == 0:
            raise ModelError([f"`ratio of gear {self.name}` must not be zero, which would hold the second wheel."])
        object.__setattr__(self, "axis", pair_of_axes(self.axis, self))

    @property
    def markers(self) -> tuple[Marker, ...]:
        borne = () if self.carrier is None else (as_marker(self.carrier, self.name, beside=self.first),)
        return (self.first, self.second, *borne)

    def rows(self) -> Rows:
        bodies = [marker.body for marker in self.markers]
        borne = bodies[2].turning if len(bodies) > 2 else (sp.S.Zero if self.dimension == 2 else sp.zeros(3, 1))
        rates = [body.turning - borne for body in bodies[:2]]
        if self.dimension == 3:
            axles = [body.turn(axis) for body, axis in zip(bodies, self.axis, strict=False)]
            rates = [dot(rate, axle) for rate, axle in zip(rates, axles, strict=True)]
        return [("mesh", self.ratio * rates[0] + rates[1])]


@dataclass(frozen=True, repr=False)
class PointOnCurve(Joint):
    """A point of the second body that stays on a curve fixed in the first body.

    Parameters
    ----------
    curve    a function of the point's coordinates in the first body's axes, counted from the first point, that
             vanishes on the curve: ``lambda x, y: y - x**2``. In space it returns two expressions, which both vanish
             on the curve: ``lambda x, y, z: (x**2 + y**2 - 1, z - x / 2)``; one expression is that of a surface, as
             for ``da.PointOnSurface``
    """

    curve: Any = None

    def __post_init__(self) -> None:
        Joint.__post_init__(self)
        if not callable(self.curve):
            raise ModelError(
                [f"joint `{self.name}` must be given its `curve`, such as `lambda x, y: y - x**2`; got {self.curve!r}."]
            )

    def rows(self) -> Rows:
        found = _at_second_point(self, self.curve, "curve")
        if not isinstance(found, (tuple, list)):
            return [("on the curve", number(found, f"curve of joint {self.name}"))]
        if len(found) != self.dimension - 1:
            wanted = "one expression in the plane, one or two in space"
            raise ModelError([f"`curve of joint {self.name}` must return {wanted}; got {len(found)}."])
        labels = ["on the curve"] if self.dimension == 2 else ["on the curve 1", "on the curve 2"]
        return [(label, number(e, f"curve of joint {self.name}")) for label, e in zip(labels, found, strict=True)]


@dataclass(frozen=True, repr=False)
class PointOnSurface(Joint):
    """A point of the second body that stays on a surface fixed in the first body, in space.

    Parameters
    ----------
    surface    a function of the point's coordinates in the first body's axes, counted from the first point, that
               vanishes on the surface: ``lambda x, y, z: z - x * y``
    """

    surface: Any = None

    def __post_init__(self) -> None:
        Joint.__post_init__(self)
        if self.dimension != 3:
            raise ModelError([f"joint `{self.name}` is of space; in the plane use `da.PointOnCurve`."])
        if not callable(self.surface):
            raise ModelError(
                [
                    f"joint `{self.name}` must be given its `surface`, such as `lambda x, y, z: z - x * y`; got "
                    f"{self.surface!r}."
                ]
            )

    def rows(self) -> Rows:
        found = _at_second_point(self, self.surface, "surface")
        return [("on the surface", number(found, f"surface of joint {self.name}"))]


def _at_second_point(joint: Any, function: Any, what: str) -> Any:
    """Return the value of a function of the second point's coordinates in the first body's axes."""
    away = joint.second.position - joint.first.position
    axes = sp.eye(joint.dimension)
    own = [dot(joint.first.body.turn(axes[:, k]), away) for k in range(joint.dimension)]
    try:
        return function(*own)
    except TypeError as error:
        raise ModelError(
            [
                f"`{what} of joint {joint.name}` must be a function of {joint.dimension} coordinates that returns an "
                f"expression, with SymPy's functions; it fails: {error}."
            ]
        ) from error


@dataclass(frozen=True, repr=False)
class Drive:
    """A motor: the motion of a revolute, prismatic or screw joint is a given function of time.

    Parameters
    ----------
    name      of the drive
    joint     the joint that it drives
    motion    an expression of ``da.t``: the angle or displacement of the second body relative to the first, counted
              from the given poses (an angle) or from the first point (a displacement)
    """

    name: str
    joint: Any
    motion: Any

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ModelError([f"a drive's name must be a text that is not empty; got {self.name!r}."])
        if not isinstance(self.joint, Joint):
            raise ModelError([f"drive `{self.name}` must be given the joint that it drives; got {self.joint!r}."])
        object.__setattr__(self, "motion", number(self.motion, f"motion of drive {self.name}"))

    def __repr__(self) -> str:
        return f"Drive({self.name!r}, {self.joint.name!r}, {short(self.motion)})"

    @property
    def markers(self) -> tuple[Marker, ...]:
        return self.joint.markers

    @property
    def contact_parameter(self) -> None:
        """None: the coordinate of a contact belongs to the joint."""
        return None

    @property
    def outlines(self) -> tuple[()]:
        """Nothing: drawings show the joint."""
        return ()

    @property
    def dimension(self) -> int:
        return self.joint.dimension

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        return tuple(Constraint(row, name=f"{self.name}: {about}") for about, row in self.joint.driven(self.motion))
