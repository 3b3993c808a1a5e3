# SPDX-License-Identifier: BSD-3-Clause
"""Rigid bodies in space."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp

from dalembert.mechanisms.checking import name_problems, positive, set_fields, tensor
from dalembert.mechanisms.frames import Marker, MovingBody, rates
from dalembert.mechanisms.rotations import Rotation
from dalembert.mechanisms.vectors import constant, cross, dot, half_turning, number, numbers, rotation, skew, vector
from dalembert.model.constraint import Constraint


@dataclass(frozen=True, repr=False)
class Body(MovingBody):
    """A rigid body in space, whose orientation is a unit quaternion e with its norm as a constraint.

    The kinetic energy has no inertia for ė along e. The term 2 J₀ (e·ė)² is added, after Udwadia and Schutte, which
    makes the mass matrix positive definite and has no effect where |e| = 1. J₀ is the trace of the inertia.

    Parameters
    ----------
    name                     its coordinates are ``x_name``, ``y_name``, ``z_name``, of its reference point, and
                             ``e0_name`` to ``e3_name``, scalar part first
    mass                     a positive number or a parameter
    inertia                  about the centre of mass in body axes: three principal moments, or a 3 × 3 tensor
    position, orientation    its initial pose, at least approximately; the orientation is a
                             ``da.Rotation`` or a quaternion, such as ``da.quaternion(axis, angle)``
    velocity, spin           its initial velocity and angular velocity, in world axes
    center                   the centre of mass in body axes, counted from the reference point
    """

    name: str
    mass: Any
    inertia: Any
    position: Any = (0, 0, 0)
    orientation: Any = (1, 0, 0, 0)
    velocity: Any = (0, 0, 0)
    spin: Any = (0, 0, 0)
    center: Any = (0, 0, 0)

    def __post_init__(self) -> None:
        where = f" of {self.name}"
        inertia, found = tensor(self.inertia, self.name)
        given = self.orientation.quaternion if isinstance(self.orientation, Rotation) else self.orientation
        turned = np.asarray(numbers(given, "orientation" + where, (4,)))
        size = float(np.linalg.norm(turned))
        if size == 0:
            found.append(
                f"`orientation` of {self.name} must be a quaternion of some length; got zero. Use (1, 0, 0, 0)."
            )
        set_fields(
            self,
            name_problems(self.name) + positive(self.mass, "mass", self.name) + found,
            mass=number(self.mass, "mass" + where),
            inertia=inertia,
            position=numbers(self.position, "position" + where, (3,)),
            orientation=tuple(turned / (size or 1)),
            velocity=numbers(self.velocity, "velocity" + where, (3,)),
            spin=numbers(self.spin, "spin" + where, (3,)),
            center=constant(vector(self.center, "center" + where, (3,)), "center" + where),
        )

    @property
    def dimension(self) -> int:
        return 3

    @property
    def coordinates(self) -> tuple[Any, ...]:
        return self._named("x y z e0 e1 e2 e3")

    @property
    def quaternion(self) -> tuple[Any, ...]:
        return self.coordinates[3:]

    @cached_property
    def _rotation(self) -> Any:
        return sp.ImmutableMatrix(rotation(self.quaternion))

    @cached_property
    def _turning(self) -> Any:
        """G with ω = G ė in body axes."""
        return 2 * sp.ImmutableMatrix(half_turning(self.quaternion))

    @cached_property
    def own_turning(self) -> Any:
        """The angular velocity in body axes."""
        return self._turning * rates(self.quaternion)

    @property
    def turning(self) -> Any:
        return self._rotation * self.own_turning

    @property
    def _about_reference(self) -> Any:
        c = skew(self.center)
        return self.inertia - self.mass * c * c

    @property
    def _along(self) -> Any:
        """J₀, the inertia along the quaternion."""
        return sp.Trace(self.inertia).doit()

    @property
    def mass_matrix(self) -> Any:
        G, e = self._turning, sp.ImmutableMatrix(self.quaternion)
        moved = -self.mass * self._rotation * skew(self.center) * G
        turned = G.T * self._about_reference * G + 4 * self._along * e * e.T
        return sp.Matrix(sp.BlockMatrix([[self.mass * sp.eye(3), moved], [moved.T, turned]]).as_explicit())

    @property
    def inertia_force(self) -> tuple[Any, ...]:
        w, e, rate = self.own_turning, sp.ImmutableMatrix(self.quaternion), rates(self.quaternion)
        outward = -self.mass * self._rotation * cross(w, cross(w, self.center))
        gyroscopic = -cross(w, self._about_reference * w)
        along = -4 * self._along * dot(rate, rate) * e
        return (*outward, *(self._turning.T * gyroscopic + along))

    @property
    def kinetic(self) -> Any:
        v, w = self.velocity_of(self.center), self.own_turning
        along = dot(self.quaternion, rates(self.quaternion))
        return self.mass * dot(v, v) / 2 + dot(w, self.inertia * w) / 2 + 2 * self._along * along**2

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        return (Constraint(dot(self.quaternion, self.quaternion) - 1, name=f"norm of {self.name}"),)

    @property
    def start(self) -> tuple[list[float], list[float]]:
        e = self.orientation
        own = np.asarray(rotation(e)).T @ self.spin
        return [*self.position, *e], [*self.velocity, *(np.asarray(half_turning(e)).T @ own / 2)]

    @property
    def center_of_mass(self) -> Marker:
        return Marker(self, self.center)

    def place(self, point: Any) -> Any:
        return sp.ImmutableMatrix(self.coordinates[:3]) + self.turn(point)

    def turn(self, direction: Any) -> Any:
        return self._rotation * direction

    def velocity_of(self, point: Any) -> Any:
        return rates(self.coordinates[:3]) + self._rotation * cross(self.own_turning, point)

    def generalised(self, force: Any, point: Any, torque: Any) -> tuple[Any, ...]:
        own = cross(point, self._rotation.T * force) + self._rotation.T * torque
        return (*force, *(self._turning.T * own))

    def axes_along(self, q: Any) -> Any:
        return np.moveaxis(np.asarray(rotation(np.moveaxis(q[:, 3:], 1, 0))), 2, 0)

    def wrench(self, q: Any, generalised: Any) -> tuple[Any, Any]:
        e = np.moveaxis(q[:, 3:], 1, 0)
        own = np.einsum("ijt,tj->ti", np.asarray(half_turning(e)), generalised[:, 3:]) / 2
        return generalised[:, :3], np.einsum("tij,tj->ti", self.axes_along(q), own)
