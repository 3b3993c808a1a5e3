# SPDX-License-Identifier: BSD-3-Clause
"""Characteristics of springs: the force as a function of the deformation, and its energy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp
from sympy.integrals.manualintegrate import manualintegrate

from dalembert.errors import ModelError
from dalembert.mechanisms.vectors import constant, number

SAMPLED_DEFORMATIONS = (-0.83, -0.37, -0.051, 0.023, 0.29, 0.71)
"""Deformations at which a given energy is compared with the force."""

SAME_SLOPE = 1e-6
"""Largest relative difference of the derivative of a given energy from the force: coefficients in tables have six
digits."""


@dataclass(frozen=True)
class SpringLaw:
    """The force of a spring: its stiffness times the deformation, or a function of the deformation.

    owner        the spring, for messages
    quantity     "force" or "torque"
    stiffness    of a linear spring, else None
    function     of a nonlinear spring, else None
    given        its energy as a function of the deformation, or None
    """

    owner: str
    quantity: str
    stiffness: Any
    function: Any
    given: Any

    def pull(self, deformation: Any) -> Any:
        """Return the force with which the spring resists a deformation."""
        if self.function is None:
            return self.stiffness * deformation
        return self._called(self.function, self.quantity, deformation)

    def energy(self, deformation: Any) -> Any:
        """Return the potential energy of a deformation."""
        if self.function is None:
            return self.stiffness * deformation**2 / 2
        if self.given is not None:
            return self._called(self.given, "potential_energy", deformation)
        e = _DEFORMATION
        return self._integral().subs(e, deformation)

    def check(self) -> None:
        """Raise unless the functions are of the deformation, numbers and parameters, and the energy is the force's."""
        e = _DEFORMATION
        force = constant(self.pull(e), f"{self.quantity} of {self.owner}")
        if self.given is None:
            self._integral()
            return
        energy = constant(self._called(self.given, "potential_energy", e), f"potential_energy of {self.owner}")
        gap = _largest_gap(energy.diff(e), force)
        if gap > SAME_SLOPE:
            raise ModelError(
                [
                    f"`potential_energy` of {self.owner} must have the `{self.quantity}` as its derivative; they "
                    f"differ by {gap:.1e} of the {self.quantity}. Leave it out to have the {self.quantity} integrated."
                ]
            )

    def _called(self, function: Any, what: str, deformation: Any) -> Any:
        argument = f"{what} of {self.owner}"
        if not callable(function):
            raise ModelError(
                [f"`{argument}` must be a function, such as `lambda e: 100 * e + 4000 * e**3`; got {function!r}."]
            )
        try:
            return number(function(deformation), argument)
        except TypeError as error:
            raise ModelError(
                [f"`{argument}` must be a function of one number, with SymPy's functions; it fails: {error}."]
            ) from error

    def _integral(self) -> Any:
        """Return the energy as an expression of the deformation, zero without deformation."""
        e = _DEFORMATION
        force = self.pull(e)
        found: Any = manualintegrate(force, e)
        if found.has(sp.Integral) and force.has(*_IN_PIECES):
            found = sp.integrate(force.rewrite(sp.Piecewise), e)
        rest = found.subs(e, 0)
        if found.has(sp.Integral) or (rest.is_number and not rest.is_finite):
            raise ModelError(
                [
                    f"the `{self.quantity}` of {self.owner} must have an integral from zero in elementary functions; "
                    f"none was found. Give its `potential_energy` as well, a function of the same argument."
                ]
            )
        return found - rest


_DEFORMATION = sp.Dummy("e", real=True, dummy_index=0)  # pyright: ignore  (differs from every parameter)

_IN_PIECES = (sp.Piecewise, sp.Abs, sp.Max, sp.Min, sp.Heaviside, sp.sign)


def _largest_gap(slope: Any, force: Any) -> float:
    """Return the largest difference of two expressions relative to their size, at some numbers."""
    symbols = sorted((slope.free_symbols | force.free_symbols) - {_DEFORMATION}, key=str)
    values = {symbol: 0.6 + 0.37 * k for k, symbol in enumerate(symbols)}
    pairs: list[Any] = []
    for sample in SAMPLED_DEFORMATIONS:
        at = {**values, _DEFORMATION: sample}
        pairs.append([complex(part.subs(at)) for part in (slope, force)])
    numbers = np.array(pairs)
    finite = np.isfinite(numbers).all(axis=1)
    if not finite.any():
        return 0.0
    size = np.abs(numbers[finite]).max()
    return float(np.abs(numbers[finite, 0] - numbers[finite, 1]).max() / (size or 1.0))
