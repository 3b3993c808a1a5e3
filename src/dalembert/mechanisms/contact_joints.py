# SPDX-License-Identifier: BSD-3-Clause
"""Contacts of bodies that open and close: corners and round bodies on planes, round bodies on one another, limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp

from dalembert.errors import ModelError
from dalembert.mechanisms.joint import Joint, Outline, Rows
from dalembert.mechanisms.joint_geometry import direction
from dalembert.mechanisms.outlines import circle_in_plane, circle_in_space, rim_about, wheel
from dalembert.mechanisms.rolling import disc_support, ellipses, ellipsoid_support
from dalembert.mechanisms.rolling_contact import slip
from dalembert.mechanisms.rolling_on_round import check_radii, contact_normal, excess_distance
from dalembert.mechanisms.vectors import across, dot, number, positive_number, quarter_turn, unit, vector


@dataclass(frozen=True, repr=False)
class PlaneContact(Joint):
    """A corner, a disc, a ball or an ellipsoid that touches a plane and leaves it; the plane may belong to a body.

    It is a one-sided constraint, which ``da.simulate`` follows. In the plane, the plane is a straight line.

    Parameters
    ----------
    first          a point of the plane, ``da.ground.at(0, 0)`` or of a body that carries it
    second         the corner, or the centre of the round body
    normal         out of the plane, in the axes of the first body; by default (0, 1), in space (0, 0, 1)
    radius         of a disc in the plane, of a ball in space; zero for a corner
    axle           in space, of a thin disc: the direction of its axle in the axes of the second body
    axes           half axes of an ellipse or an ellipsoid, along the axes of the second body
    restitution    from 0 for no rebound to 1 for no loss of energy
    impact         the law of that coefficient, "newton", "poisson" or "moreau"
    nonideal       friction such as ``da.Coulomb(mu)``: its velocity is that of the point of contact, its normal force
                   the reaction. A round body that sticks rolls, so that rolling begins and ends by itself

    Raises
    ------
    ModelError    if the shape is not one of these, or the restitution is missing or not between 0 and 1

    Examples
    --------
    >>> import dalembert as da
    >>> ball = da.PlanarBody("ball", mass=1, inertia=2 / 5, position=(0, 1), velocity=(7, 0))
    >>> floor = da.PlaneContact("floor", da.ground, ball, radius=1, restitution=0, nonideal=da.Coulomb(0.2))
    >>> bowling = da.Mechanism(ball, floor, da.Gravity((0, -10)))
    >>> run = da.simulate(bowling.system, *bowling.assemble(), [0, 2])
    >>> print(run.events[0].kind, run.qd[-1].round(9))
    sticks [ 5.  0. -5.]
    """

    normal: Any = None
    radius: Any = 0
    axle: Any = None
    axes: Any = None
    restitution: Any = None
    impact: Any = "newton"

    def __post_init__(self) -> None:
        Joint.__post_init__(self)
        given = (0, 0, 1)[-self.dimension :] if self.normal is None else self.normal
        object.__setattr__(self, "normal", direction(given, self))
        radius = f"radius of joint {self.name}"
        object.__setattr__(self, "radius", number(self.radius, radius))
        if self.radius != 0 or self.axle is not None:
            object.__setattr__(self, "radius", positive_number(self.radius, radius))
        if self.axes is not None and (self.radius != 0 or self.axle is not None):
            raise ModelError([f"joint `{self.name}` must have a `radius` or half `axes`, not both."])
        if self.axle is not None:
            if self.dimension == 2:
                raise ModelError([f"joint `{self.name}` is in the plane, where a disc has no `axle`; leave it out."])
            object.__setattr__(self, "axle", unit(self.axle, f"axle of joint {self.name}"))
        if self.axes is not None:
            argument = f"axes of joint {self.name}"
            axes = vector(self.axes, argument, (self.dimension,))
            object.__setattr__(self, "axes", sp.ImmutableMatrix([positive_number(axis, argument) for axis in axes]))

    def _support(self, up: Any) -> tuple[Any, Any]:
        """Return the vector from the second point to the lowest point, and the height of the second point above it."""
        if self.axes is not None:
            return ellipsoid_support(self.second, self.axes, up)
        if self.axle is not None:
            return disc_support(self.second, self.axle, self.radius, up)
        return -self.radius * up, self.radius

    @property
    def contact_point(self) -> Any:
        """The position of the lowest point, in world axes."""
        return self.second.position + self._support(self.first.body.turn(self.normal))[0]

    @property
    def gap(self) -> Any:
        """The distance of the lowest point from the plane."""
        up = self.first.body.turn(self.normal)
        return dot(up, self.second.position - self.first.position) - self._support(up)[1]

    def rows(self) -> Rows:
        return [("gap", sp.Ge(self.gap, 0))]

    @property
    def contact(self) -> dict[str, Any]:
        return {"restitution": self.restitution, "impact": self.impact}

    @property
    def rate(self) -> Any:
        up = self.first.body.turn(self.normal)
        sliding = slip(self, self._support(up)[0])
        if self.dimension == 2:
            return dot(self.first.body.turn(-quarter_turn(self.normal)), sliding)
        return tuple(dot(self.first.body.turn(side), sliding) for side in across(self.normal))

    @property
    def normal_force(self) -> Any:
        return self.force_of("gap")

    @property
    def outlines(self) -> Sequence[Outline]:
        if self.axes is not None:
            return ellipses(self.second, self.axes)
        if self.radius == 0:
            return ()
        return (_round(self.second, self.radius, self.normal if self.axle is None else self.axle),)


@dataclass(frozen=True, repr=False)
class RoundContact(Joint):
    """Two round bodies, discs in the plane and balls in space, that touch and leave one another.

    It is a one-sided constraint, which ``da.simulate`` follows. With ``inside=True`` the second body is in a hollow of
    the first: a ball in a bowl, or a pin in a bearing with clearance.

    Parameters
    ----------
    first          the centre of the first body
    second         the centre of the second body
    radius         of the second body
    other          radius of the first body, or of its hollow
    inside         whether the second body is in a hollow of the first
    restitution    from 0 for no rebound to 1 for no loss of energy
    impact         the law of that coefficient, "newton", "poisson" or "moreau"
    nonideal       friction such as ``da.Coulomb(mu)``: its normal force is the reaction. Its velocity is known in the
                   plane; in space, where no pair of directions is tangent to a whole sphere, it must be given

    Raises
    ------
    ModelError    if a radius is not positive, or the restitution is missing or not between 0 and 1

    Examples
    --------
    >>> import dalembert as da
    >>> cue = da.Particle("cue", mass=1, position=(-2, 0), velocity=(3, 0))
    >>> ball = da.Particle("ball", mass=1, position=(0, 0.6))
    >>> hit = da.RoundContact("hit", ball, cue, radius=0.5, other=0.5, restitution=1)
    >>> table = da.Mechanism((cue, ball), hit)
    >>> run = da.simulate(table.system, *table.assemble(), [0, 1])
    >>> print(run.qd[-1].round(6))
    [ 1.08 -1.44  1.92  1.44]
    """

    radius: Any = None
    other: Any = None
    inside: bool = False
    restitution: Any = None
    impact: Any = "newton"

    def __post_init__(self) -> None:
        Joint.__post_init__(self)
        check_radii(self, "other")

    @property
    def normal(self) -> Any:
        """The unit vector from the point of contact to the second centre, in world axes."""
        return contact_normal(self, self.second.position - self.first.position, self.other)

    @property
    def contact_point(self) -> Any:
        """The position of the point of contact, in world axes."""
        return self.second.position - self.radius * self.normal

    def rows(self) -> Rows:
        away = self.second.position - self.first.position
        return [("gap", sp.Ge(excess_distance(self, away, self.other), 0))]

    @property
    def contact(self) -> dict[str, Any]:
        return {"restitution": self.restitution, "impact": self.impact}

    @property
    def rate(self) -> Any:
        if self.dimension == 3:
            return None
        return dot(-quarter_turn(self.normal), slip(self, -self.radius * self.normal))

    @property
    def normal_force(self) -> Any:
        return self.force_of("gap")

    @property
    def advice(self) -> str:
        return "No pair of directions is tangent to a whole sphere: give two that are tangent where the balls touch."

    @property
    def outlines(self) -> Sequence[Outline]:
        if self.dimension == 2:
            return circle_in_plane(self.first, self.other), _round(self.second, self.radius, None)
        upright = sp.ImmutableMatrix([0, 0, 1])
        return circle_in_space(self.first, upright, self.other), _round(self.second, self.radius, upright)


def _round(center: Any, radius: Any, axis: Any) -> Outline:
    """Return the rim of a disc in the plane, or of a round body about an axis."""
    if center.dimension == 2:
        return wheel(center, radius * sp.Matrix([1, 0]), radius * sp.Matrix([0, 1]))
    return rim_about(center, axis, radius)
