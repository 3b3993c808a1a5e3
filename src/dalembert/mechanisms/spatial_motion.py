# SPDX-License-Identifier: BSD-3-Clause
"""The motion of bodies in space, whose orientation is a unit quaternion."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp

from dalembert.mechanisms.frames import Marker, MovingBody, rates
from dalembert.mechanisms.vectors import cross, dot, half_turning, rotation, skew
from dalembert.model.constraint import Constraint


class SpatialBody(MovingBody):
    """A body in space with its reference point and its quaternion as coordinates.

    The velocity of the centre of mass is that of a lever R(e) c with R of second degree in e, also where |e| is not
    one. This and the term 2 J₀ (e·ė)² change the kinetic energy only there; the mass matrix is positive definite, and
    its block between the point and the quaternion is linear in the quaternion.

    inertia, center                           about the centre of mass, and its position, both in body axes
    position, orientation, velocity, spin     its given initial state
    """

    inertia: Any
    center: Any
    position: Any
    orientation: Any
    velocity: Any
    spin: Any

    @property
    def dimension(self) -> int:
        return 3

    @property
    def letters(self) -> tuple[str, ...]:
        return "x", "y", "z", "e0", "e1", "e2", "e3"

    @property
    def constraint_names(self) -> tuple[str, ...]:
        return (f"norm of {self.name}",)

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
    @abstractmethod
    def inertia_along(self) -> Any:
        """J₀, the inertia along the quaternion."""

    def _slopes(self, point: Any) -> list[list[Any]]:
        """Return D (3, 4) with D ė = d/dt of the lever of a point, in world axes; it is linear in the quaternion."""
        a, v = self.quaternion[0], self.quaternion[1:]
        if not any(point):
            return [[sp.S.Zero] * 4] * 3
        across, along = cross(v, point), dot(v, point)
        rows: list[list[Any]] = []
        for i in range(3):
            row = [2 * (a * point[i] + across[i])]
            for j in range(3):
                turned = cross([int(k == j) for k in range(3)], point)[i]
                row.append(2 * (v[i] * point[j] - v[j] * point[i] + a * turned + (along if i == j else 0)))
            rows.append(row)
        return rows

    @cached_property
    def _center_slopes(self) -> list[list[Any]]:
        return self._slopes(self.center)

    @property
    def mass_matrix(self) -> Any:
        # by components: products of SymPy matrices would take most of the time in which a robot is built
        G, e, J = self._turning, self.quaternion, 4 * self.inertia_along
        momentum = [[dot(row, G[:, j]) for j in range(4)] for row in self._about_reference.tolist()]
        full = sp.zeros(7, 7)
        for i in range(4):
            for j in range(i + 1):
                turned = dot(G[:, i], [row[j] for row in momentum])
                full[3 + i, 3 + j] = full[3 + j, 3 + i] = turned + J * e[i] * e[j]
        for i in range(3):
            full[i, i] = self.mass
            for j in range(4):
                full[i, 3 + j] = full[3 + j, i] = self.mass * self._center_slopes[i][j]
        return full

    @property
    def inertia_force(self) -> tuple[Any, ...]:
        w, e, rate = self.own_turning, self.quaternion, rates(self.quaternion)
        outward = [-2 * self.mass * dot(row, self.center) for row in rotation(tuple(rate))]
        gyroscopic = cross([dot(row, w) for row in self._about_reference.tolist()], w)
        along = -4 * self.inertia_along * dot(rate, rate)
        return (*outward, *(dot(self._turning[:, k], gyroscopic) + along * e[k] for k in range(4)))

    @property
    def kinetic(self) -> Any:
        v, w, rate = rates(self.coordinates[:3]), self.own_turning, rates(self.quaternion)
        momentum = dot(v, [dot(row, rate) for row in self._center_slopes])
        turned = dot(w, [dot(row, w) for row in self._about_reference.tolist()])
        along = dot(self.quaternion, rate)
        return self.mass * (dot(v, v) / 2 + momentum) + turned / 2 + 2 * self.inertia_along * along**2

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        (name,) = self.constraint_names
        return (Constraint(dot(self.quaternion, self.quaternion) - 1, name=name),)

    @property
    def start(self) -> tuple[list[float], list[float]]:
        e = self.orientation
        return [*self.position, *e], [*self.velocity, *self.quaternion_rates(e)]

    def quaternion_rates(self, e: Any) -> Any:
        """Return ė (4,) of the given angular velocity at an orientation, a unit quaternion."""
        own = np.asarray(rotation(e)).T @ self.spin
        return np.asarray(half_turning(e)).T @ own / 2

    @property
    def center_of_mass(self) -> Marker:
        return Marker(self, self.center)

    def place(self, point: Any) -> Any:
        return sp.ImmutableMatrix(self.coordinates[:3]) + self.turn(point)

    def turn(self, direction: Any) -> Any:
        return sp.ImmutableMatrix([dot(row, direction) for row in self._rotation.tolist()])

    def velocity_of(self, point: Any) -> Any:
        return rates(self.coordinates[:3]) + self.turn(cross(self.own_turning, point))

    def generalised(self, force: Any, point: Any, torque: Any) -> tuple[Any, ...]:
        slopes = self._slopes(point)
        turned = [dot(force, [row[k] for row in slopes]) for k in range(4)]
        if any(torque):
            own = self._rotation.T * torque
            turned = [x + dot(self._turning[:, k], own) for k, x in enumerate(turned)]
        return (*force, *turned)

    def axes_along(self, q: Any) -> Any:
        return np.moveaxis(np.asarray(rotation(np.moveaxis(q[:, 3:], 1, 0))), 2, 0)

    def wrench(self, q: Any, generalised: Any) -> tuple[Any, Any]:
        e = np.moveaxis(q[:, 3:], 1, 0)
        own = np.einsum("ijt,tj->ti", np.asarray(half_turning(e)), generalised[:, 3:]) / 2
        return generalised[:, :3], np.einsum("tij,tj->ti", self.axes_along(q), own)
