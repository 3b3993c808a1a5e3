# SPDX-License-Identifier: BSD-3-Clause
"""Forces on bodies: gravity, drag, and user-defined forces."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import sympy as sp

from dalembert.errors import ModelError
from dalembert.mechanisms.frames import Marker, MovingBody
from dalembert.mechanisms.joint import as_marker
from dalembert.mechanisms.vectors import dot, number, vector
from dalembert.model.laws import Coefficient, require_nonnegative
from dalembert.model.representation import representation
from dalembert.model.sliding_expressions import length


class Load(NamedTuple):
    """A force at a point and a torque, in world axes; either may be None."""

    marker: Marker
    force: Any
    torque: Any


@dataclass(frozen=True, repr=False)
class Applied(ABC):
    """A force or torque element that acts on bodies.

    name    of its entry in the ledger of a run; by default its kind and the bodies on which it acts
    """

    name: Any = field(default=None, kw_only=True)

    def __repr__(self) -> str:
        return representation(self)

    @property
    @abstractmethod
    def markers(self) -> tuple[Marker, ...]:
        """The points at which it acts; empty if it acts on all bodies."""

    @property
    def coefficients(self) -> tuple[Coefficient, ...]:
        """The coefficients that must not be negative, because they would add energy."""
        return ()

    @property
    def label(self) -> str:
        """Its name, or its kind and the bodies on which it acts."""
        names = dict.fromkeys(marker.body.name for marker in self.markers if isinstance(marker.body, MovingBody))
        return self.name or " ".join([type(self).__name__, *(["on", " and ".join(names)] if names else [])])

    @abstractmethod
    def loads(self, bodies: Sequence[MovingBody]) -> list[Load]:
        """Return its forces on the bodies of a mechanism."""

    @abstractmethod
    def potential(self, bodies: Sequence[MovingBody]) -> Any:
        """Return its potential energy; zero if it has none."""


@dataclass(frozen=True, repr=False)
class Gravity(Applied):
    """A uniform acceleration of all bodies: ``da.Gravity((0, -9.81))`` in the plane, three components in space."""

    acceleration: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "acceleration", vector(self.acceleration, "acceleration of gravity"))

    @property
    def markers(self) -> tuple[Marker, ...]:
        return ()

    def loads(self, bodies: Sequence[MovingBody]) -> list[Load]:
        return [Load(body.center_of_mass, body.mass * self.acceleration, None) for body in bodies]

    def potential(self, bodies: Sequence[MovingBody]) -> Any:
        return -sp.Add(*(body.mass * dot(self.acceleration, body.center_of_mass.position) for body in bodies))


@dataclass(frozen=True, repr=False)
class Force(Applied):
    """A force at a point.

    Parameters
    ----------
    at       ``body.at(...)``, or a body for its reference point
    force    numbers or expressions of time, of the bodies' coordinates and velocities. One that contains reactions of
             joints (``joint.reaction("x")``) becomes a nonideal law of the system: it changes these reactions
    axes     "world", or "body" for components along the body's own axes
    name     of its entry in the ledger of a run
    """

    at: Any
    force: Any
    axes: str = "world"

    def __post_init__(self) -> None:
        marker = as_marker(self.at, "force")
        object.__setattr__(self, "at", marker)
        object.__setattr__(self, "force", vector(self.force, "force", (marker.dimension,)))
        _check_axes(self.axes)

    @property
    def markers(self) -> tuple[Marker, ...]:
        return (self.at,)

    def loads(self, bodies: Sequence[MovingBody]) -> list[Load]:
        return [Load(self.at, self.at.body.turn(self.force) if self.axes == "body" else self.force, None)]

    def potential(self, bodies: Sequence[MovingBody]) -> Any:
        return sp.S.Zero


@dataclass(frozen=True, repr=False)
class Torque(Applied):
    """A torque on a body, and the opposite torque on another body or on the ground.

    Parameters
    ----------
    body       the body on which it acts
    torque     one number or expression in the plane, three in space
    against    the body on which the reaction acts; by default the ground
    axes       "world", or "body" for components along the first body's own axes
    name       of its entry in the ledger of a run
    """

    body: Any
    torque: Any
    against: Any = None
    axes: str = "world"

    def __post_init__(self) -> None:
        marker = as_marker(self.body, "torque")
        object.__setattr__(self, "body", marker)
        given = self.torque if marker.dimension == 3 else [self.torque]
        found = vector(given, "torque", (3,) if marker.dimension == 3 else (1,))
        object.__setattr__(self, "torque", found if marker.dimension == 3 else found[0])
        object.__setattr__(self, "against", None if self.against is None else as_marker(self.against, "torque"))
        _check_axes(self.axes)

    @property
    def markers(self) -> tuple[Marker, ...]:
        return (self.body,) if self.against is None else (self.body, self.against)

    def loads(self, bodies: Sequence[MovingBody]) -> list[Load]:
        turned = self.axes == "body" and self.body.dimension == 3
        torque = self.body.body.turn(self.torque) if turned else self.torque
        return [Load(marker, None, sign * torque) for marker, sign in zip(self.markers, (1, -1), strict=False)]

    def potential(self, bodies: Sequence[MovingBody]) -> Any:
        return sp.S.Zero


@dataclass(frozen=True, repr=False)
class Drag(Applied):
    """The drag −linear v − quadratic |v| v of a medium at rest, at a point.

    Parameters
    ----------
    at                   ``body.at(...)``, or a body for its reference point
    linear, quadratic    coefficients, not negative
    name                 of its entry in the ledger of a run
    """

    at: Any
    linear: Any = 0
    quadratic: Any = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "at", as_marker(self.at, "drag"))
        for value in ("linear", "quadratic"):
            object.__setattr__(self, value, number(getattr(self, value), f"{value} of a drag"))
        require_nonnegative(self)

    @property
    def coefficients(self) -> tuple[Coefficient, ...]:
        return Coefficient("linear", self.linear), Coefficient("quadratic", self.quadratic)

    @property
    def markers(self) -> tuple[Marker, ...]:
        return (self.at,)

    def loads(self, bodies: Sequence[MovingBody]) -> list[Load]:
        v = self.at.velocity
        return [Load(self.at, -(self.linear + self.quadratic * length(tuple(v))) * v, None)]

    def potential(self, bodies: Sequence[MovingBody]) -> Any:
        return sp.S.Zero


def _check_axes(axes: Any) -> None:
    if axes not in ("world", "body"):
        raise ModelError([f'`axes` must be "world" or "body"; got {axes!r}.'])
