# SPDX-License-Identifier: BSD-3-Clause
"""Frames in which points and directions are fixed: bodies, and the ground."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from dalembert.mechanisms.vectors import constant_vector
from dalembert.model.constraint import Constraint
from dalembert.model.representation import representation, short
from dalembert.model.symbols import coordinates, t


@dataclass(frozen=True, repr=False)
class Marker:
    """A point fixed in a body or on the ground, at which joints and forces attach."""

    body: Any
    point: Any

    @property
    def dimension(self) -> int:
        return len(self.point)

    @property
    def position(self) -> Any:
        """The position in world axes."""
        return self.body.place(self.point)

    @property
    def velocity(self) -> Any:
        """The velocity in world axes."""
        return self.body.velocity_of(self.point)

    @property
    def acceleration(self) -> Any:
        """The acceleration in world axes."""
        return self.velocity.diff(t)

    def __repr__(self) -> str:
        return f"{self.body.name}.at({', '.join(map(short, self.point))})"


class Frame(ABC):
    """A frame in which points and directions can be fixed."""

    name: str

    @abstractmethod
    def at(self, *point: Any) -> Marker:
        """Return the point with these coordinates in body axes, relative to the reference point."""

    @abstractmethod
    def place(self, point: Any) -> Any:
        """Return the position of a point of the body, in world axes."""

    @abstractmethod
    def turn(self, direction: Any) -> Any:
        """Return a direction fixed in the body, in world axes."""

    @abstractmethod
    def velocity_of(self, point: Any) -> Any:
        """Return the velocity of a point of the body, in world axes."""

    @property
    @abstractmethod
    def turning(self) -> Any:
        """The angular velocity: a vector in world axes, or a number in the plane."""

    @property
    def angular_velocity(self) -> Any:
        """The angular velocity: a vector in world axes, or a number in the plane."""
        return self.turning


@dataclass(frozen=True, repr=False)
class Ground(Frame):
    """The fixed frame: ``da.ground.at(0, 0)`` in the plane, ``da.ground.at(0, 0, 0)`` in space."""

    dimension: int | None = None
    name: str = "ground"

    def __repr__(self) -> str:
        return self.name

    def at(self, *point: Any) -> Marker:
        place = constant_vector(point, "point of the ground")
        return Marker(Ground(len(place)), place)

    def place(self, point: Any) -> Any:
        return point

    def turn(self, direction: Any) -> Any:
        return direction

    def velocity_of(self, point: Any) -> Any:
        return sp.zeros(len(point), 1)

    @property
    def turning(self) -> Any:
        return sp.zeros(3, 1) if self.dimension == 3 else sp.S.Zero

    @property
    def own_turning(self) -> Any:
        return self.turning

    @property
    def heading(self) -> Any:
        return sp.S.Zero

    @property
    def quaternion(self) -> Any:
        return (sp.S.One, sp.S.Zero, sp.S.Zero, sp.S.Zero)

    @property
    def orientation(self) -> Any:
        return (1.0, 0.0, 0.0, 0.0) if self.dimension == 3 else 0.0


ground = Ground()
"""The fixed frame, for joints and forces: ``da.ground.at(0, 0)`` is a point in the plane, ``da.ground.at(0, 0, 0)`` one
in space."""


class MovingBody(Frame):
    """A body with mass, with its contribution to the mass matrix and the forces of a system.

    coordinates      k of them
    mass_matrix      (k, k)
    inertia_force    k components: inertia terms other than M q̈
    kinetic          its kinetic energy
    constraints      of the coordinates themselves
    start            its given initial state: k coordinates and k velocities
    """

    mass: Any

    @property
    @abstractmethod
    def dimension(self) -> int: ...

    @property
    @abstractmethod
    def mass_matrix(self) -> Any: ...

    @property
    @abstractmethod
    def inertia_force(self) -> tuple[Any, ...]: ...

    @property
    @abstractmethod
    def kinetic(self) -> Any: ...

    @property
    @abstractmethod
    def constraints(self) -> tuple[Constraint, ...]: ...

    @property
    @abstractmethod
    def start(self) -> tuple[list[float], list[float]]: ...

    @property
    @abstractmethod
    def center_of_mass(self) -> Marker:
        """The centre of mass, as a point of the body."""

    @abstractmethod
    def generalised(self, force: Any, point: Any, torque: Any) -> tuple[Any, ...]:
        """Return the k generalised forces of a force at a point and a torque, both in world axes."""

    @abstractmethod
    def wrench(self, q: Any, generalised: Any) -> tuple[Any, Any]:
        """Return force (T, d) and torque about the reference point (T,) or (T, 3), in world axes, from (T, k)."""

    @abstractmethod
    def axes_along(self, q: Any) -> Any:
        """Return the rotation matrices from body to world axes, (T, d, d), for coordinates (T, k)."""

    def place_along(self, q: Any, point: Any) -> Any:
        """Return the positions of a point of the body, (T, d), in world axes, for coordinates (T, k)."""
        return q[:, : self.dimension] + self.lever_along(q, point)

    def lever_along(self, q: Any, point: Any) -> Any:
        """Return the vectors from the reference point to a point of the body, (T, d), in world axes."""
        return self.axes_along(q) @ np.asarray(point, float).ravel()

    @property
    def rotation(self) -> Any:
        """The rotation matrix (d, d) from body axes to world axes."""
        axes = sp.eye(self.dimension)
        return sp.ImmutableMatrix.hstack(*(self.turn(axes[:, k]) for k in range(self.dimension)))

    @property
    def pose(self) -> Any:
        """The homogeneous matrix (d + 1, d + 1) that takes points of the body from body axes to world axes."""
        place, last = self.in_motion("position"), [0] * self.dimension
        return sp.ImmutableMatrix.vstack(self.rotation.row_join(place), sp.Matrix([[*last, 1]]))

    def in_motion(self, quantity: str) -> Any:
        """Return a quantity whose start is a field of the body, such as "velocity", as an expression or a column."""
        match quantity:
            case "position":
                return self.place(sp.zeros(self.dimension, 1))
            case "velocity":
                return self.velocity_of(sp.zeros(self.dimension, 1))
            case "spin":
                return self.turning
            case _:  # the angle in the plane, the quaternion in space
                turned = self.coordinates[self.dimension :]
                return turned[0] if self.dimension == 2 else sp.ImmutableMatrix(turned)

    def __repr__(self) -> str:
        return representation(self)

    def at(self, *point: Any) -> Marker:
        argument = f"point of {self.name}"
        return Marker(self, constant_vector(point, argument, (self.dimension,)))

    @property
    @abstractmethod
    def letters(self) -> tuple[str, ...]:
        """The letters of its coordinates; the name of the body follows each of them."""

    @property
    def coordinates(self) -> tuple[Any, ...]:
        return coordinates([f"{letter}_{self.name}" for letter in self.letters])

    @property
    def constraint_names(self) -> tuple[str, ...]:
        """The names of its constraints."""
        return ()


def rates(q: Any) -> Any:
    return sp.ImmutableMatrix([x.diff(t) for x in q])
