# SPDX-License-Identifier: BSD-3-Clause
"""Inertia that belongs to the motion of joints: rotors of motors, and weights that give massless bodies a mass matrix.

Both add w r²/2 to the kinetic energy, with a rate r = aᵀq̇. This adds w a aᵀ to the mass matrix and −w a ȧᵀq̇ to the
forces. For a rotor, r is the rate of a joint. For a massless body, r is the rate of change of a joint's equation, which
is zero: the term changes neither the motion nor the multipliers, but the mass matrix becomes positive definite.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import sympy as sp

from dalembert.errors import ModelError
from dalembert.mechanisms.forces import Applied, Load
from dalembert.mechanisms.frames import Marker, MovingBody
from dalembert.mechanisms.joint import Joint
from dalembert.mechanisms.joint_geometry import AXES
from dalembert.mechanisms.massless_body import MasslessBody
from dalembert.mechanisms.spatial_joints import Spherical
from dalembert.mechanisms.vectors import dot, number
from dalembert.model.differentiation import gradient
from dalembert.model.laws import Coefficient, require_nonnegative
from dalembert.model.symbols import t


@dataclass(frozen=True, repr=False)
class Rotor(Applied):
    """A rotor that turns with a joint, such as that of a motor: its inertia and its viscous friction.

    It adds J r²/2 to the kinetic energy, where r is the rate of the joint, and brakes the joint by −c r. The inertia is
    that of the rotor times the square of its gear ratio; robot descriptions call it armature. The rotor itself is no
    body: its gyroscopic moments are neglected.

    Parameters
    ----------
    joint      ``da.Revolute``, ``da.Prismatic`` or ``da.Spherical``
    inertia    J, not negative: a moment of inertia, for a prismatic joint a mass
    damping    c, not negative: torque or force per rate

    Examples
    --------
    >>> import dalembert as da
    >>> bar = da.PlanarBody("bar", mass=3, inertia=1, position=(1, 0))
    >>> pin = da.Revolute("pin", da.ground.at(0, 0), bar.at(-1, 0))
    >>> arm = da.Mechanism(bar, pin, (da.Gravity((0, -10)), da.Rotor(pin, 2)))
    >>> print(da.motion(arm.system, *arm.assemble()).acceleration.round(6) + 0.0)
    [ 0. -5. -5.]
    """

    joint: Any
    inertia: Any = 0
    damping: Any = 0

    def __post_init__(self) -> None:
        if not isinstance(self.joint, Joint) or not (self.joint.motion_rate is not None or self._is_ball):
            raise ModelError(
                [
                    f"`joint` of a rotor must be a `da.Revolute`, `da.Prismatic` or `da.Spherical` joint; got "
                    f"{self.joint!r}."
                ]
            )
        for value in ("inertia", "damping"):
            object.__setattr__(self, value, number(getattr(self, value), f"{value} of a rotor"))
        require_nonnegative(self)

    @property
    def _is_ball(self) -> bool:
        return isinstance(self.joint, Spherical)

    @property
    def coefficients(self) -> tuple[Coefficient, ...]:
        inertia = Coefficient("inertia", self.inertia, otherwise="the mass matrix may be indefinite")
        return inertia, Coefficient("damping", self.damping)

    @property
    def markers(self) -> tuple[Marker, ...]:
        return self.joint.markers

    def loads(self, bodies: Sequence[MovingBody]) -> list[Load]:
        return []

    def potential(self, bodies: Sequence[MovingBody]) -> Any:
        return sp.S.Zero

    @property
    def rates(self) -> list[Any]:
        """The rate of the joint; for a ball joint the components of the rate in the axes of the second body."""
        if not self._is_ball:
            return [self.joint.motion_rate]
        # in these axes ω̇ has no part from the motion of the first body, and J is the same about all axes
        first, second = self.joint.first.body, self.joint.second.body
        axes = sp.eye(3)
        return [second.own_turning[k] - dot(second.turn(axes[:, k]), first.turning) for k in range(3)]


class WeightedRate(NamedTuple):
    """A rate r of a joint, its weight w in the kinetic energy w r²/2, and the factor c of a force −c r along it."""

    joint: Joint
    weight: Any
    rate: Any
    damping: Any = sp.S.Zero

    @property
    def coordinates(self) -> list[Any]:
        """The coordinates of the bodies of the joint."""
        bodies = [marker.body for marker in self.joint.markers if isinstance(marker.body, MovingBody)]
        return [q for body in bodies for q in body.coordinates]


def weighted_rates(mechanism: Any) -> list[WeightedRate]:
    """Return the rates of the rotors of a mechanism, and those of the joints of its massless bodies."""
    rotors = [force for force in mechanism.forces if isinstance(force, Rotor)]
    found = [WeightedRate(rotor.joint, rotor.inertia, r, rotor.damping) for rotor in rotors for r in rotor.rates]
    for joint in mechanism.joints:
        massless = [marker.body for marker in joint.markers if isinstance(marker.body, MasslessBody)]
        if not massless or not isinstance(joint, Joint):
            continue
        mass, inertia = massless[0].scale
        for about, row in joint.rows():
            if isinstance(row, sp.Ge):
                continue  # a limit lets the joint move
            is_length = about in AXES or about.startswith("across")
            found.append(WeightedRate(joint, mass if is_length else inertia, row.diff(t)))
    return found


class AddedInertia(NamedTuple):
    """The contribution of weighted rates: to entries of the mass matrix, to the n forces, and its energy."""

    entries: dict[tuple[int, int], Any]
    force: list[Any]
    kinetic: Any

    def to(self, mass_matrix: Any) -> Any:
        """Return a mass matrix with these entries added."""
        full = sp.Matrix(mass_matrix)
        for place, entry in self.entries.items():
            full[place] += entry
        return full


def added_inertia(mechanism: Any, coordinates: Sequence[Any]) -> AddedInertia:
    """Return what the weighted rates of a mechanism add to its mass matrix, forces and kinetic energy."""
    place = {q: i for i, q in enumerate(coordinates)}
    mass: dict[tuple[int, int], Any] = {}
    force: list[Any] = [sp.S.Zero] * len(coordinates)
    energy: list[Any] = []
    for one in weighted_rates(mechanism):
        own = one.coordinates
        speeds = [q.diff(t) for q in own]
        drift = sp.S.Zero
        if one.weight != 0:
            drift = sp.Add(*(slope * v for slope, v in zip(gradient(one.rate, own), speeds, strict=True)))
        slopes = [(place[q], slope) for q, slope in zip(own, gradient(one.rate, speeds), strict=True) if slope != 0]
        for i, a in slopes:
            force[i] -= one.weight * a * drift + one.damping * a * one.rate
            for j, b in slopes if one.weight != 0 else ():
                if j <= i:  # entries (i, j) and (j, i) are one object, which is soon found to be symmetric
                    mass[i, j] = mass[j, i] = mass.get((i, j), sp.S.Zero) + one.weight * (a * b)
        energy.append(one.weight * one.rate**2 / 2)
    return AddedInertia(mass, force, sp.Add(*energy))
