# SPDX-License-Identifier: BSD-3-Clause
"""The points of a case as expressions, found by evaluating its function of a trajectory with symbols for numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from dalembert.integration.trajectory import Trajectory
from dalembert.model.symbols import t as time
from dalembert.model.system import System


@dataclass(frozen=True)
class Traced:
    """An expression in the place of a number; NumPy's functions of an array of objects call its methods."""

    expression: Any

    def __add__(self, other: Any) -> Traced:
        return Traced(self.expression + _expression(other))

    def __sub__(self, other: Any) -> Traced:
        return Traced(self.expression - _expression(other))

    def __rsub__(self, other: Any) -> Traced:
        return Traced(_expression(other) - self.expression)

    def __mul__(self, other: Any) -> Traced:
        return Traced(self.expression * _expression(other))

    def __truediv__(self, other: Any) -> Traced:
        return Traced(self.expression / _expression(other))

    def __pow__(self, exponent: Any) -> Traced:
        return Traced(self.expression ** _expression(exponent))

    def __neg__(self) -> Traced:
        return Traced(-self.expression)

    def sin(self) -> Traced:
        return Traced(sp.sin(self.expression))

    def cos(self) -> Traced:
        return Traced(sp.cos(self.expression))

    def sqrt(self) -> Traced:
        return Traced(sp.sqrt(self.expression))

    __radd__, __rmul__ = __add__, __mul__


def _expression(given: Any) -> Any:
    return given.expression if isinstance(given, Traced) else sp.sympify(given)


def traced_points(
    system: System, points: Callable[[Trajectory], Mapping[str, tuple[Any, Any]]]
) -> dict[str, tuple[Any, ...]]:
    """Return the points of a case, given as a function of a trajectory, as expressions of the coordinates."""
    found = points(_symbolic_trajectory(system))
    return {name: tuple(_expression(np.asarray(part).item()) for part in place) for name, place in found.items()}


def _symbolic_trajectory(system: System) -> Trajectory:
    """Return a trajectory of one time whose state and parameters are symbols."""
    q, qd = ([Traced(e) for e in family] for family in (system.coordinates, [x.diff(time) for x in system.coordinates]))
    none, m = np.zeros((1, len(q))), np.zeros((1, len(system.constraints)))
    traced: Any = {"t": _array([Traced(time)]), "q": _array(q)[None], "qd": _array(qd)[None]}
    parameters: Any = {name: _array([Traced(sp.Symbol(name))]) for name in system.parameter_names}
    return Trajectory(
        **traced,
        acceleration=none,
        ideal_force=none,
        nonideal_force=none,
        multipliers=m,
        reactions=m,
        violation=m,
        velocity_violation=m,
        rank=np.zeros(1, int),
        inconsistency=np.zeros(1),
        energy=None,
        coordinates=system.coordinate_names,
        constraints=system.constraint_names,
        parameters=parameters,
        statistics={},
    )


def _array(entries: list[Traced]) -> Any:
    return np.array(entries, object)
