# SPDX-License-Identifier: BSD-3-Clause
"""Gears, guides and drives: joints that relate motions to one another or to time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp

from dalembert.errors import ModelError
from dalembert.mechanisms.frames import Marker
from dalembert.mechanisms.implicit_shapes import Region
from dalembert.mechanisms.joint import Joint, Outline, Rows, as_marker
from dalembert.mechanisms.joint_geometry import pair_of_axes
from dalembert.mechanisms.outlines import guide_lines
from dalembert.mechanisms.vectors import cross, dot, number, quarter_turn
from dalembert.model.constraint import Constraint
from dalembert.model.representation import short
from dalembert.model.symbols import t as time

MOVING_CURVE_ADVICE = "It cannot be derived where the curve or the surface changes with time."
"""The advice for a law on a curve or surface whose motion along itself is not known."""


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
    curve       a function of the point's coordinates in the first body's axes, counted from the first point, that
                vanishes on the curve: ``lambda x, y: y - x**2``. In space it returns two expressions, which both vanish
                on the curve: ``lambda x, y, z: (x**2 + y**2 - 1, z - x / 2)``; one expression is that of a surface,
                as for ``da.PointOnSurface``
    nonideal    laws of the joint: the velocity is that of the point relative to the first body, the normal force that
                of the curve on the point
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

    def guides(self, region: Region) -> Sequence[Outline]:
        return guide_lines(self.first, self.curve, region)

    @property
    def rate(self) -> Any:
        return _sliding_velocity(self, self.curve)

    @property
    def normal_force(self) -> Any:
        return _normal_force(self, self.curve)

    @property
    def advice(self) -> str:
        return MOVING_CURVE_ADVICE


@dataclass(frozen=True, repr=False)
class PointOnSurface(Joint):
    """A point of the second body that stays on a surface fixed in the first body, in space.

    Parameters
    ----------
    surface     a function of the point's coordinates in the first body's axes, counted from the first point, that
                vanishes on the surface: ``lambda x, y, z: z - x * y``
    nonideal    laws of the joint: as for ``da.PointOnCurve``
    """

    surface: Any = None

    def __post_init__(self) -> None:
        Joint.__post_init__(self)
        if self.dimension != 3:
            raise ModelError([f"joint `{self.name}` exists in space only; in the plane use `da.PointOnCurve`."])
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

    def guides(self, region: Region) -> Sequence[Outline]:
        return guide_lines(self.first, self.surface, region)

    @property
    def rate(self) -> Any:
        return _sliding_velocity(self, self.surface)

    @property
    def normal_force(self) -> Any:
        return _normal_force(self, self.surface)

    @property
    def advice(self) -> str:
        return MOVING_CURVE_ADVICE


def _at_second_point(joint: Any, function: Any, what: str) -> Any:
    """Return the value of a function of the second point's coordinates in the first body's axes."""
    try:
        return function(*_own_components(joint, joint.second.position - joint.first.position))
    except TypeError as error:
        raise ModelError(
            [
                f"`{what} of joint {joint.name}` must be a function of {joint.dimension} coordinates that returns an "
                f"expression, with SymPy's functions; it fails: {error}."
            ]
        ) from error


def _own_components(joint: Any, given: Any) -> list[Any]:
    """Return the components of a vector in the first body's axes."""
    axes = sp.eye(joint.dimension)
    return [dot(joint.first.body.turn(axes[:, k]), given) for k in range(joint.dimension)]


def _slopes(joint: Any, function: Any) -> list[list[Any]]:
    """Return the gradient of each expression of a curve or surface, with respect to the coordinates it is given."""
    own = _own_components(joint, joint.second.position - joint.first.position)
    symbols = sp.symbols(f"own_:{joint.dimension}", cls=sp.Dummy, real=True)
    at = dict(zip(symbols, own, strict=True))
    return [[e.diff(symbol).subs(at) for symbol in symbols] for e in _expressions(function, symbols)]


def _expressions(function: Any, own: Sequence[Any]) -> list[Any]:
    """Return the expressions of a curve or a surface, one or two."""
    found = function(*own)
    entries = found if isinstance(found, (tuple, list)) else [found]
    return [number(e, "value of a curve or surface") for e in entries]


def _sliding_velocity(joint: Any, function: Any) -> Any:
    """Return the velocity of the second point relative to the first body; None if the curve changes with time.

    Along a curve it is a number. On a surface it is a vector in the first body's axes, which is tangent to the surface.
    """
    if any(time in e.free_symbols for e in _expressions(function, sp.symbols("x:3")[: joint.dimension])):
        return None
    slopes = _slopes(joint, function)
    met = joint.first.point + sp.Matrix(_own_components(joint, joint.second.position - joint.first.position))
    velocity = _own_components(joint, joint.second.velocity - joint.first.body.velocity_of(met))
    if len(slopes) < joint.dimension - 1:
        return tuple(velocity)
    along = quarter_turn(sp.Matrix(slopes[0])) if joint.dimension == 2 else cross(*map(sp.Matrix, slopes))
    return dot(along, velocity) / sp.sqrt(dot(along, along))


def _normal_force(joint: Any, function: Any) -> tuple[Any, ...]:
    """Return the force of the joint: λ|∂φ/∂x| for one equation, else the components of the sum of λ ∂φ/∂x."""
    slopes = _slopes(joint, function)
    multipliers = joint.force_of(*(label for label, _ in joint.rows()))
    if len(slopes) == 1:
        return (multipliers[0] * sp.sqrt(sp.Add(*(slope**2 for slope in slopes[0]))),)
    rows = [[force * slope for slope in row] for force, row in zip(multipliers, slopes, strict=True)]
    return tuple(sp.Add(*parts) for parts in zip(*rows, strict=True))


@dataclass(frozen=True, repr=False)
class Drive:
    """A prescribed motion: a revolute, prismatic or screw joint follows a given function of time.

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
    def dimension(self) -> int:
        return self.joint.dimension

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        return tuple(Constraint(row, name=f"{self.name}: {about}") for about, row in self.joint.driven(self.motion))
