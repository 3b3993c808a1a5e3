# SPDX-License-Identifier: BSD-3-Clause
"""Rigid bodies in space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from dalembert.mechanisms.checking import name_problems, positive, set_fields, tensor
from dalembert.mechanisms.rotations import Rotation
from dalembert.mechanisms.spatial_motion import SpatialBody
from dalembert.mechanisms.vectors import UNIT, constant_vector, number, numbers


@dataclass(frozen=True, repr=False)
class Body(SpatialBody):
    """A rigid body in space, whose orientation is a unit quaternion e with its norm as a constraint.

    The kinetic energy has no inertia for ė along e. The term 2 J₀ (e·ė)² is added, after Udwadia and Schutte, which
    makes the mass matrix positive definite and has no effect where |e| = 1. J₀ is the trace of the inertia about the
    reference point.

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
            orientation=tuple(turned if abs(size - 1) < UNIT else turned / (size or 1)),
            velocity=numbers(self.velocity, "velocity" + where, (3,)),
            spin=numbers(self.spin, "spin" + where, (3,)),
            center=constant_vector(self.center, "center" + where, (3,)),
        )

    @property
    def inertia_along(self) -> Any:
        return sp.Trace(self._about_reference).doit()
