# SPDX-License-Identifier: BSD-3-Clause
"""Transmissions: the motion of one joint is a function of the motion of another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy as sp

from dalembert.errors import ModelError
from dalembert.mechanisms.frames import Marker
from dalembert.mechanisms.joint import Joint
from dalembert.mechanisms.joints import Prismatic, Revolute
from dalembert.mechanisms.vectors import number
from dalembert.model.constraint import Constraint
from dalembert.model.representation import short


@dataclass(frozen=True, repr=False)
class Transmission:
    """A transmission between two joints with one motion each: driven = c₀ + c₁ driving + c₂ driving² + …

    Unlike a ``da.Gear``, it relates angles and displacements of joints, wherever these are. The constraint is that of
    the rates; c₀ matters for the start, which ``Mechanism.state`` computes. If there are powers above the first, a
    driving angle must stay within ± half a turn.

    Parameters
    ----------
    name             of the transmission
    driving          the joint whose motion is given: ``da.Revolute`` or ``da.Prismatic``
    driven           the joint that follows
    coefficients     c₀, c₁, …: numbers or parameters, at least two; (0, -2) turns the driven joint backwards at twice
                     the rate

    Raises
    ------
    ModelError       if a joint has no single motion, both are the same, or the coefficients give no relation

    Examples
    --------
    >>> import dalembert as da
    >>> one = da.Body("one", 1, (1, 1, 1))
    >>> other = da.Body("other", 1, (1, 1, 1), position=(1, 0, 0))
    >>> pins = [da.Revolute(f"pin of {b.name}", da.ground.at(*b.position), b, axis=(0, 0, 1)) for b in (one, other)]
    >>> belt = da.Transmission("belt", *pins, coefficients=(0, 2))
    >>> print(len(da.Mechanism((one, other), (*pins, belt)).system.constraints))
    13
    """

    name: str
    driving: Any
    driven: Any
    coefficients: Any = (0, 1)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ModelError([f"a transmission's name must be a text that is not empty; got {self.name!r}."])
        for joint in (self.driving, self.driven):
            if not isinstance(joint, Joint) or joint.motion_rate is None:
                raise ModelError(
                    [
                        f"transmission `{self.name}` must relate joints with one motion, such as `da.Revolute` or "
                        f"`da.Prismatic`; got {joint!r}."
                    ]
                )
        if self.driving == self.driven:
            raise ModelError([f"transmission `{self.name}` must relate two joints; got `{self.driving.name}` twice."])
        given = self.coefficients if isinstance(self.coefficients, (tuple, list)) else ()
        found = tuple(number(c, f"coefficients of transmission {self.name}") for c in given)
        if len(found) < 2 or not any(found[1:]):
            raise ModelError(
                [
                    f"`coefficients` of transmission {self.name} must be a constant and factors of the powers of the "
                    f"driving motion, not all zero, such as (0, 2); got {self.coefficients!r}."
                ]
            )
        object.__setattr__(self, "coefficients", found)

    def __repr__(self) -> str:
        factors = ", ".join(map(short, self.coefficients))
        return f"Transmission({self.name!r}, {self.driving.name!r}, {self.driven.name!r}, ({factors}))"

    @property
    def markers(self) -> tuple[Marker, ...]:
        return (self.driving.second, self.driven.second, self.driving.first, self.driven.first)

    @property
    def dimension(self) -> int:
        return self.driven.dimension

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        return (
            Constraint(self._slope * self.driving.motion_rate - self.driven.motion_rate, name=f"{self.name}: mesh"),
        )

    @property
    def _slope(self) -> Any:
        """The derivative of the driven by the driving motion."""
        constant, *rest = self.coefficients[1:]
        if not any(rest):
            return constant
        x = motion_of(self.driving)
        return sp.Add(*(k * c * x ** (k - 1) for k, c in enumerate(self.coefficients) if k))


def motion_of(joint: Any) -> Any:
    """Return the angle of a revolute joint or the displacement of a prismatic one."""
    if isinstance(joint, Revolute):
        return joint.angle
    if isinstance(joint, Prismatic):
        return joint.displacement
    raise ModelError([f"joint `{joint.name}` must be a `da.Revolute` or a `da.Prismatic`; got {joint!r}."])
