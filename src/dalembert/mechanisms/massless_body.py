# SPDX-License-Identifier: BSD-3-Clause
"""Massless bodies: frames between two joints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from dalembert.mechanisms.checking import name_problems, set_fields
from dalembert.mechanisms.spatial_motion import SpatialBody
from dalembert.mechanisms.vectors import UNIT, number, numbers


@dataclass(frozen=True, repr=False)
class MasslessBody(SpatialBody):
    """A body in space without mass, between two joints or more whose motions determine its own.

    Two hinges with a massless body between them are a universal joint, three are a ball joint with angles. The mass
    matrix is made positive definite by terms that vanish where the joints hold, so that neither the motion nor the
    reactions depend on them. If the joints leave the body a motion of its own, the mass matrix is singular.

    Parameters
    ----------
    name, position, orientation, velocity, spin    as for ``da.Body``
    scale                                          a mass and a moment of inertia of the usual size in the mechanism,
                                                   for the weights of these terms
    """

    name: str
    position: Any = (0, 0, 0)
    orientation: Any = (1, 0, 0, 0)
    velocity: Any = (0, 0, 0)
    spin: Any = (0, 0, 0)
    scale: Any = (1, 1)

    def __post_init__(self) -> None:
        where = f" of {self.name}"
        scale = numbers(self.scale, "scale" + where, (2,))
        turned = np.asarray(numbers(self.orientation, "orientation" + where, (4,)))
        size = float(np.linalg.norm(turned))
        problems = name_problems(self.name)
        if not min(scale) > 0:
            problems.append(
                f"`scale` of {self.name} must be a positive mass and moment of inertia; got {self.scale!r}."
            )
        if size == 0:
            problems.append(f"`orientation` of {self.name} must be a quaternion of some length; got zero.")
        set_fields(
            self,
            problems,
            mass=sp.S.Zero,
            inertia=sp.ImmutableMatrix.zeros(3, 3),
            center=sp.ImmutableMatrix.zeros(3, 1),
            position=numbers(self.position, "position" + where, (3,)),
            orientation=tuple(turned if abs(size - 1) < UNIT else turned / (size or 1)),
            velocity=numbers(self.velocity, "velocity" + where, (3,)),
            spin=numbers(self.spin, "spin" + where, (3,)),
            scale=scale,
        )

    @property
    def inertia_along(self) -> Any:
        return number(self.scale[1], "scale")
