# SPDX-License-Identifier: BSD-3-Clause
"""Point masses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from dalembert.errors import ModelError
from dalembert.mechanisms.checking import name_problems, positive, set_fields
from dalembert.mechanisms.frames import Marker, MovingBody, rates
from dalembert.mechanisms.vectors import dot, number, numbers
from dalembert.model.constraint import Constraint


@dataclass(frozen=True, repr=False)
class Particle(MovingBody):
    """A point mass, in the plane or in space.

    Parameters
    ----------
    name        its coordinates are ``x_name``, ``y_name`` and, in space, ``z_name``
    mass        a positive number or a parameter
    position    two or three numbers: its initial position, at least approximately
    velocity    its initial velocity; zero by default
    """

    name: str
    mass: Any
    position: Any
    velocity: Any = None

    def __post_init__(self) -> None:
        problems = name_problems(self.name) + positive(self.mass, "mass", self.name)
        place = numbers(self.position, f"position of {self.name}", (2, 3))
        speed = numbers([0] * len(place) if self.velocity is None else self.velocity, "velocity", (len(place),))
        set_fields(self, problems, mass=number(self.mass, f"mass of {self.name}"), position=place, velocity=speed)

    @property
    def dimension(self) -> int:
        return len(self.position)

    @property
    def letters(self) -> tuple[str, ...]:
        return ("x", "y", "z")[: self.dimension]

    @property
    def mass_matrix(self) -> Any:
        return self.mass * sp.eye(self.dimension)

    @property
    def inertia_force(self) -> tuple[Any, ...]:
        return (sp.S.Zero,) * self.dimension

    @property
    def kinetic(self) -> Any:
        v = rates(self.coordinates)
        return self.mass * dot(v, v) / 2

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        return ()

    @property
    def start(self) -> tuple[list[float], list[float]]:
        return list(self.position), list(self.velocity)

    @property
    def center_of_mass(self) -> Marker:
        return Marker(self, sp.zeros(self.dimension, 1))

    def at(self, *point: Any) -> Marker:
        marker = MovingBody.at(self, *point)
        if any(marker.point):
            raise ModelError([f"the particle `{self.name}` has no other points than its own; got {point!r}."])
        return marker

    def place(self, point: Any) -> Any:
        return sp.ImmutableMatrix(self.coordinates)

    def turn(self, direction: Any) -> Any:
        raise ModelError([f"the particle `{self.name}` has no axes; use `da.PlanarBody` or `da.Body`."])

    def velocity_of(self, point: Any) -> Any:
        return rates(self.coordinates)

    @property
    def turning(self) -> Any:
        raise ModelError([f"the particle `{self.name}` does not turn; use `da.PlanarBody` or `da.Body`."])

    @property
    def heading(self) -> Any:
        return self.turning

    @property
    def quaternion(self) -> Any:
        return self.turning

    def generalised(self, force: Any, point: Any, torque: Any) -> tuple[Any, ...]:
        return tuple(force) if not any(sp.flatten([torque])) else self.turning

    def axes_along(self, q: Any) -> Any:
        return np.broadcast_to(np.eye(self.dimension), (len(q), self.dimension, self.dimension))

    def wrench(self, q: Any, generalised: Any) -> tuple[Any, Any]:
        count = len(generalised)
        return generalised, np.zeros((count, 3)) if self.dimension == 3 else np.zeros(count)
