# SPDX-License-Identifier: BSD-3-Clause
"""Rigid bodies in the plane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from dalembert.mechanisms.checking import name_problems, positive, set_fields
from dalembert.mechanisms.frames import Marker, MovingBody, rates
from dalembert.mechanisms.vectors import constant_vector, dot, number, numbers, quarter_turn
from dalembert.model.constraint import Constraint
from dalembert.model.symbols import t


@dataclass(frozen=True, repr=False)
class PlanarBody(MovingBody):
    """A rigid body in the plane.

    Parameters
    ----------
    name               its coordinates are ``x_name``, ``y_name``, of its reference point, and ``theta_name``
    mass               a positive number or a parameter
    inertia            moment of inertia about the centre of mass, likewise
    position, angle    its initial position and angle, at least approximately
    velocity, spin     its initial velocity and angular velocity
    center             the centre of mass in body axes, counted from the reference point

    Examples
    --------
    >>> import dalembert as da
    >>> bar = da.PlanarBody("bar", mass=2, inertia=2 / 12)
    >>> bar.at(0.5, 0).position
    Matrix([
    [x_bar(t) + 0.5*cos(theta_bar(t))],
    [y_bar(t) + 0.5*sin(theta_bar(t))]])
    """

    name: str
    mass: Any
    inertia: Any
    position: Any = (0, 0)
    angle: float = 0.0
    velocity: Any = (0, 0)
    spin: float = 0.0
    center: Any = (0, 0)

    def __post_init__(self) -> None:
        problems = name_problems(self.name) + positive(self.mass, "mass", self.name)
        problems += positive(self.inertia, "inertia", self.name)
        where = f" of {self.name}"
        set_fields(
            self,
            problems,
            mass=number(self.mass, "mass" + where),
            inertia=number(self.inertia, "inertia" + where),
            position=numbers(self.position, "position" + where, (2,)),
            angle=numbers([self.angle], "angle" + where, (1,))[0],
            velocity=numbers(self.velocity, "velocity" + where, (2,)),
            spin=numbers([self.spin], "spin" + where, (1,))[0],
            center=constant_vector(self.center, "center" + where, (2,)),
        )

    @property
    def dimension(self) -> int:
        return 2

    @property
    def letters(self) -> tuple[str, ...]:
        return "x", "y", "theta"

    @property
    def turning(self) -> Any:
        return self.coordinates[2].diff(t)

    @property
    def heading(self) -> Any:
        """The angle at the current time."""
        return self.coordinates[2]

    @property
    def orientation(self) -> float:
        return self.angle

    @property
    def mass_matrix(self) -> Any:
        x, y = self.mass * quarter_turn(self.turn(self.center))
        inertia = self.inertia + self.mass * dot(self.center, self.center)
        return sp.Matrix([[self.mass, 0, x], [0, self.mass, y], [x, y, inertia]])

    @property
    def inertia_force(self) -> tuple[Any, ...]:
        return (*(self.mass * self.turning**2 * self.turn(self.center)), sp.S.Zero)

    @property
    def kinetic(self) -> Any:
        v = self.velocity_of(self.center)
        return self.mass * dot(v, v) / 2 + self.inertia * self.turning**2 / 2

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        return ()

    @property
    def start(self) -> tuple[list[float], list[float]]:
        return [*self.position, self.angle], [*self.velocity, self.spin]

    @property
    def center_of_mass(self) -> Marker:
        return Marker(self, self.center)

    def place(self, point: Any) -> Any:
        return sp.ImmutableMatrix(self.coordinates[:2]) + self.turn(point)

    def turn(self, direction: Any) -> Any:
        c, s = sp.cos(self.coordinates[2]), sp.sin(self.coordinates[2])
        return sp.ImmutableMatrix([c * direction[0] - s * direction[1], s * direction[0] + c * direction[1]])

    def velocity_of(self, point: Any) -> Any:
        return rates(self.coordinates[:2]) + self.turning * quarter_turn(self.turn(point))

    def generalised(self, force: Any, point: Any, torque: Any) -> tuple[Any, ...]:
        return (*force, dot(quarter_turn(self.turn(point)), force) + torque)

    def axes_along(self, q: Any) -> Any:
        c, s = np.cos(q[:, 2]), np.sin(q[:, 2])
        return np.moveaxis(np.array([[c, -s], [s, c]]), 2, 0)

    def wrench(self, q: Any, generalised: Any) -> tuple[Any, Any]:
        return generalised[:, :2], generalised[:, 2]
