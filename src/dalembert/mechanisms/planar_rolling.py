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
from dalembert.mechanisms.rolling_contact import RollingContact, carried, slip
from dalembert.mechanisms.vectors import dot, positive_number, quarter_turn


@dataclass(frozen=True, repr=False)
class RollingOnLine(RollingContact):
    """A wheel that rolls on a line, in the plane.

    Parameters
    ----------
    first       a point of the line, ``da.ground.at(0, 0)`` or of a body that carries it
    second      the centre of the wheel
    radius      of the wheel
    along       the direction of the line in the axes of the first body; the wheel is on its left
    nonideal    friction such as ``da.Coulomb(mu)``, by which the wheel rolls or slips. It takes the place of the
                equation that excludes slipping, unless it has a ``velocity`` of its own, as rolling resistance does

    Examples
    --------
    >>> import dalembert as da
    >>> wheel = da.PlanarBody("wheel", mass=1, inertia=1 / 2, position=(0, 1), velocity=(6, 0))
    >>> track = da.RollingOnLine("track", da.ground, wheel, radius=1, nonideal=da.Coulomb(0.2))
    >>> thrown = da.Mechanism(wheel, track, da.Gravity((0, -10)))
    >>> run = da.simulate(thrown.system, *thrown.assemble(), [0, 2])
    >>> print([(event.kind, round(event.t, 9)) for event in run.events], run.qd[-1].round(9))
    [('sticks', 1.0)] [ 4.  0. -4.]
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
        return self.second.position - self.radius * self._up

    @property
    def _up(self) -> Any:
        """The normal of the line, in world axes."""
        return self.first.body.turn(quarter_turn(self.along))

    @property
    def contact_rows(self) -> Rows:
        return [("contact", dot(self._up, self.second.position - self.first.position) - self.radius)]

    @property
    def slip_components(self) -> Rows:
        return [("rolling", dot(self.first.body.turn(self.along), slip(self, -self.radius * self._up)))]

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
