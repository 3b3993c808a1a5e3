# SPDX-License-Identifier: BSD-3-Clause
"""Springs between points and in joints, linear or with any characteristic, and dampers in parallel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp

from dalembert.errors import ModelError
from dalembert.mechanisms.forces import Applied, Load
from dalembert.mechanisms.frames import Marker, MovingBody
from dalembert.mechanisms.joint import as_marker
from dalembert.mechanisms.joints import Revolute
from dalembert.mechanisms.spring_laws import SpringLaw
from dalembert.mechanisms.vectors import dot, number
from dalembert.model.laws import Coefficient, require_nonnegative


@dataclass(frozen=True, repr=False)
class Spring(Applied):
    """A spring between two points, with an optional damper in parallel.

    Parameters
    ----------
    first, second       points of bodies or of the ground
    stiffness           force per extension of a linear spring
    length              its natural length
    damping             force per rate of extension, not negative
    force               of a nonlinear spring, in place of ``stiffness``: a function of the extension that returns the
                        pull, ``lambda e: 100 * e + 4000 * e**3``, of numbers and parameters
    potential_energy    its energy, a function of the extension; left out, the force is integrated, from zero
    name                of its entries in the ledger of a run
    """

    first: Any
    second: Any
    stiffness: Any = None
    length: Any = 0
    damping: Any = 0
    force: Any = None
    potential_energy: Any = None

    def __post_init__(self) -> None:
        for place, other in (("first", self.second), ("second", self.first)):
            object.__setattr__(self, place, as_marker(getattr(self, place), "spring", beside=other))
        for value in ("length", "damping"):
            object.__setattr__(self, value, number(getattr(self, value), f"{value} of a spring"))
        _set_stiffness(self, "force", "spring")
        require_nonnegative(self)

    @property
    def coefficients(self) -> tuple[Coefficient, ...]:
        return (Coefficient("damping", self.damping),)

    @property
    def markers(self) -> tuple[Marker, ...]:
        return self.first, self.second

    @property
    def _separation(self) -> Any:
        return self.second.position - self.first.position

    @property
    def _law(self) -> SpringLaw:
        return SpringLaw("a spring", "force", self.stiffness, self.force, self.potential_energy)

    @property
    def extension(self) -> Any:
        """The distance of its points less its natural length."""
        return sp.sqrt(dot(self._separation, self._separation)) - self.length

    def loads(self, bodies: Sequence[MovingBody]) -> list[Load]:
        separation = self._separation
        if self.force is None and self.length == 0 and self.damping == 0:
            pull = self.stiffness * separation  # avoids division by a length that may vanish
        else:
            distance = sp.sqrt(dot(separation, separation))
            rate = dot(separation, self.second.velocity - self.first.velocity) / distance
            pull = (self._law.pull(distance - self.length) + self.damping * rate) / distance * separation
        return [Load(self.first, pull, None), Load(self.second, -pull, None)]

    def potential(self, bodies: Sequence[MovingBody]) -> Any:
        separation = self._separation
        if self.force is None and self.length == 0:
            return self.stiffness * dot(separation, separation) / 2
        return self._law.energy(self.extension)


@dataclass(frozen=True, repr=False)
class TorsionSpring(Applied):
    """A torsion spring in a revolute joint, with an optional damper in parallel.

    Parameters
    ----------
    joint               the revolute joint
    stiffness           torque per angle of a linear spring
    angle               its rest angle: that of the second body relative to the first, counted from the given poses of
                        the bodies. In space the angle is determined within ± half a turn
    damping             torque per rate, not negative
    torque              of a nonlinear spring, in place of ``stiffness``: a function of the angle less the rest angle
                        that returns the torque with which it turns back, ``lambda a: 2 * sp.sinh(a)``, of numbers and
                        parameters
    potential_energy    its energy, a function of the same angle; left out, the torque is integrated, from zero
    name                of its entries in the ledger of a run
    """

    joint: Any
    stiffness: Any = None
    angle: Any = 0
    damping: Any = 0
    torque: Any = None
    potential_energy: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.joint, Revolute):
            raise ModelError([f"`joint` of a torsion spring must be a `da.Revolute`; got {self.joint!r}."])
        for value in ("angle", "damping"):
            object.__setattr__(self, value, number(getattr(self, value), f"{value} of a torsion spring"))
        _set_stiffness(self, "torque", "torsion spring")
        require_nonnegative(self)

    @property
    def coefficients(self) -> tuple[Coefficient, ...]:
        return (Coefficient("damping", self.damping),)

    @property
    def markers(self) -> tuple[Marker, ...]:
        return self.joint.markers

    @property
    def _law(self) -> SpringLaw:
        return SpringLaw("a torsion spring", "torque", self.stiffness, self.torque, self.potential_energy)

    @property
    def _deflection(self) -> Any:
        return self.joint.angle - self.angle

    def loads(self, bodies: Sequence[MovingBody]) -> list[Load]:
        joint = self.joint
        torque = -self._law.pull(self._deflection) - self.damping * joint.rate
        if joint.dimension == 3:
            torque = torque * joint.first.body.turn(joint.axis[0])
        return [Load(joint.first, None, -torque), Load(joint.second, None, torque)]

    def potential(self, bodies: Sequence[MovingBody]) -> Any:
        return self._law.energy(self._deflection)


def _set_stiffness(spring: Any, force: str, noun: str) -> None:
    """Check that a spring has a stiffness or a function of its deformation, and that its energy belongs to it."""
    given = getattr(spring, force)
    if (spring.stiffness is None) == (given is None):
        found = "neither" if given is None else "both"
        raise ModelError([f"a {noun} must be given its `stiffness`, or its `{force}` as a function; got {found}."])
    if given is None:
        if spring.potential_energy is not None:
            raise ModelError([f"a {noun} with a `stiffness` has its energy; leave out `potential_energy`."])
        object.__setattr__(spring, "stiffness", number(spring.stiffness, f"stiffness of a {noun}"))
    else:
        spring._law.check()
