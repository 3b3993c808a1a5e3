# SPDX-License-Identifier: BSD-3-Clause
"""Coefficients of nonideal laws that change along a motion, such as ``da.Coulomb(1 - da.t)``: their sign."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.errors import InputError
from dalembert.model import graph
from dalembert.model.coefficients import condition
from dalembert.model.expression_values import expression_values
from dalembert.model.laws import Coefficient
from dalembert.model.symbols import ConstraintSymbol, functions_of_time, t
from dalembert.model.system import System

ROUNDED_SIGN = 1e-12
"""Value of a coefficient, relative to its largest one before, whose sign is rounding."""

COEFFICIENTS_PER_STEP = 8
"""Parts of a step within which coefficients that depend on time alone are evaluated."""


class NegativeCoefficient(NamedTuple):
    """The first negative coefficient along a motion.

    place       number of the first state at which, or after which, a coefficient is negative
    sentence    names the coefficient, the time and its value
    before      number of the last state known to come before; negative if there is none
    after       a time at which the coefficient is negative
    value       its value at a time and a state (2n,)
    of_state    whether it depends on the state
    becomes     a sentence for the instant at which it becomes negative
    """

    place: int
    sentence: str
    before: int
    after: float
    value: Callable[[float, Floats], float]
    of_state: bool
    becomes: Callable[[float], str]


@dataclass(frozen=True)
class MovingCoefficients:
    """The coefficients of a system that depend on time or on the state; ``what`` are their names and owners."""

    system: System
    what: tuple[str, ...]
    coefficients: tuple[Coefficient, ...]

    @property
    def of_state(self) -> bool:
        """Whether one of them depends on the state."""
        return any(functions_of_time(own.value) for own in self.coefficients)

    def values(self, times: Floats, y: Floats, p: Any) -> Floats:
        """Return the values (T, c) at times (T,) and states (T, 2n); parameters are numbers or arrays (T,)."""
        named = dict(zip(self.system.parameter_names, p, strict=True))
        return expression_values(self.system, tuple(own.value for own in self.coefficients))(times, y, named)

    def checked_places(self, times: Floats) -> tuple[Floats, NDArray[np.intp]]:
        """Return the times at which coefficients are evaluated, and the numbers of the states to use there."""
        place = np.arange(len(times))
        if len(times) < 2 or self.of_state:
            return times, place
        parts = np.arange(COEFFICIENTS_PER_STEP) / COEFFICIENTS_PER_STEP
        at = np.append((times[:-1, None] + parts * np.diff(times)[:, None]).ravel(), times[-1])
        return at, np.append(np.repeat(place[:-1], COEFFICIENTS_PER_STEP), place[-1])

    def first_negative(self, times: Floats, y: Floats, p: Any) -> NegativeCoefficient | None:
        """Return the first of the states (T, 2n) of a motion after which, or at which, a coefficient is negative."""
        at, place = self.checked_places(times)
        values = self.values(at, y[place], p)
        off = values < -ROUNDED_SIGN * np.maximum.accumulate(np.abs(values), axis=0)
        if not off.any():
            return None
        first = int(np.argmax(off.any(axis=1)))
        which = int(np.argmax(off[first]))
        must = condition(self.what[which], "" if self.coefficients[which].positive else "the law adds energy")
        return NegativeCoefficient(
            place=int(place[first]),
            sentence=f"{must}; at t = {at[first]:.6g} it is {values[first, which]:.3g}.",
            before=int(place[first - 1]) if first else -1,
            after=float(at[first]),
            value=lambda t, state: float(self.values(np.array([t]), state[None], p)[0, which]),
            of_state=bool(functions_of_time(self.coefficients[which].value)),
            becomes=lambda t: f"{must}; at t = {t:.6g} it becomes negative.",
        )

    def require(self, t: Any, q: Any, qd: Any, p: Any) -> None:
        """Raise an error if a coefficient is negative at a state."""
        here = np.array([float(t)])
        found = self.first_negative(here, np.concatenate([np.asarray(q), np.asarray(qd)])[None], p)
        if found is not None:
            raise InputError(f"{found.sentence} Write a coefficient that stays positive, with `sympy.Max` if need be.")


@lru_cache(maxsize=256)
def moving_coefficients(system: System) -> MovingCoefficients | None:
    """Return the coefficients that depend on time or state and must not be negative; None if there are none."""
    given = [(f"`{c.name}` of {placed.described}", c) for placed in system.laws for c in placed.law.coefficients]
    found = [(what, c) for what, c in given if not c.may_supply_energy and _moves(c.value)]
    return MovingCoefficients(system, *map(tuple, zip(*found, strict=True))) if found else None


def _moves(value: Any) -> bool:
    moving = functions_of_time(value) or t in graph.free_symbols(value)
    return bool(moving) and not graph.has_kind(value, ConstraintSymbol)
