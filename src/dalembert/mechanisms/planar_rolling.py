# SPDX-License-Identifier: BSD-3-Clause
"""Joints in the plane: a wheel that rolls on a line, and a knife edge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp

from dalembert.errors import ModelError
from dalembert.mechanisms.implicit_shapes import Region
from dalembert.mechanisms.joint import Joint, Outline, Rows
from dalembert.mechanisms.joint_geometry import direction
from dalembert.mechanisms.outlines import straight_guide, wheel
from dalembert.mechanisms.rolling import MAY_SLIP, carried
from dalembert.mechanisms.vectors import dot, positive_number, quarter_turn


@dataclass(frozen=True, repr=False)
class RollingOnLine(Joint):
    """A wheel that rolls on a line, in the plane.

    Parameters
    ----------
    first      a point of the line, ``da.ground.at(0, 0)`` or of a body that carries it
    second     the centre of the wheel
    radius     of the wheel
    along      the direction of the line in the axes of the first body; the wheel is on its left
    """

    radius: Any = None
    along: Any = (1, 0)

    def __post_init__(self) -> None:
        Joint.__post_init__(self)
        object.__setattr__(self, "radius", positive_number(self.radius, f"radius of joint {self.name}"))
        if self.dimension != 2:
            raise ModelError([f"joint `{self.name}` exists in the plane only; in space use `da.RollingDisc`."])
        object.__setattr__(self, "along", direction(self.along, self))

    @property
    def contact_point(self) -> Any:
        """The position of the point of contact, in world axes."""
        return self.second.position - self.radius * self.first.body.turn(quarter_turn(self.along))

    def rows(self) -> Rows:
        line, wheel = self.first.body, self.second
        up = line.turn(quarter_turn(self.along))
        away = wheel.position - self.first.position
        touching = wheel.velocity - self.radius * wheel.body.turning * quarter_turn(up)
        below = line.velocity_of(self.first.point) + line.turning * quarter_turn(away - self.radius * up)
        return [("contact", dot(up, away) - self.radius), ("rolling", dot(line.turn(self.along), touching - below))]

    @property
    def advice(self) -> str:
        return MAY_SLIP

    def guides(self, region: Region) -> Sequence[Outline]:
        return (straight_guide(self.first, self.along, region),)

    @property
    def outlines(self) -> Sequence[Outline]:
        return (wheel(self.second, self.radius * sp.Matrix([1, 0]), self.radius * sp.Matrix([0, 1])),)


@dataclass(frozen=True, repr=False)
class KnifeEdge(Joint):
    """A blade, a skate or a wheel: a point of the second body does not move sideways relative to the first.

    Parameters
    ----------
    first       the ground or the body it moves over, such as ``da.ground.at(0, 0)``
    second      the point of the blade
    sideways    the direction across the blade, in the axes of the second body; by default (0, 1), in space (0, 1, 0)
    """

    sideways: Any = None

    def __post_init__(self) -> None:
        Joint.__post_init__(self)
        given = (0, 1, 0)[: self.dimension] if self.sideways is None else self.sideways
        object.__setattr__(self, "sideways", direction(given, self))

    def rows(self) -> Rows:
        return [("sideways", dot(self.second.body.turn(self.sideways), self._relative))]

    @property
    def _relative(self) -> Any:
        return self.second.velocity - self._below(self.second.position)

    def _below(self, place: Any) -> Any:
        """Return the velocity of the first body at a position in world axes."""
        return carried(self.first, place)

    @property
    def rate(self) -> Any:
        if self.dimension == 2:
            return dot(self.second.body.turn(-quarter_turn(self.sideways)), self._relative)
        return None

    @property
    def normal_force(self) -> Any:
        return self.force_of("sideways")

    def blade(self, length: float) -> Outline | None:
        """Return a line of some length along the blade, for a drawing in the plane."""
        if self.dimension != 2:
            return None
        half = -quarter_turn(self.sideways) * length / 2
        return Outline(self.second, [sp.Matrix(self.second.point) + sign * half for sign in (-1, 1)])
