# SPDX-License-Identifier: BSD-3-Clause
"""The linear equations of velocities, accelerations and forces, and the rows that make them unsolvable.

The equations are P z = r. If a row of P depends on others, they are solvable only if r depends on them in the same way,
which is a condition on the state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from dalembert.analysis.evaluated_terms import Model, Point, sizes
from dalembert.common.array_types import Floats
from dalembert.model import graph
from dalembert.numerics.linear_algebra import contradictions, dependencies
from dalembert.numerics.mass import mass_kind, own_units


@dataclass(frozen=True)
class Equations:
    """Linear equations P z = r that may be solvable only at some states.

    matrix, right    P and r as symbolic expressions
    evaluate         P and r at a point
    units            the scales of rows and of columns at a point
    points           the points at which they must be solvable
    kinematic        whether they follow from the constraints alone
    """

    matrix: Any
    right: Any
    evaluate: Callable[[Point], tuple[Floats, Floats]]
    units: Callable[[Point], tuple[Floats, Floats]]
    points: list[Point]
    kinematic: bool

    def select(self, rows: tuple[int, ...]) -> tuple[Any, Any]:
        """Return some of the equations, as symbolic expressions."""
        chosen = list(rows)
        return self.matrix.extract(chosen, list(range(self.matrix.cols))), self.right.extract(chosen, [0])

    def unsolvable_rows(self) -> list[tuple[int, ...]]:
        """Return the sets of dependent rows whose right sides disagree at some point."""
        return list(dict.fromkeys(rows for point in self.points for rows in self._unsolvable_rows(point)))

    def _unsolvable_rows(self, point: Point) -> list[tuple[int, ...]]:
        matrix, right = self.evaluate(point)
        # scales of the point itself: where a mass vanishes, those of neighbouring points differ by orders of magnitude
        rows, columns = self.units(point)
        # without units the rank does not depend on the scale of equations and coordinates
        matrix = matrix / np.outer(rows, columns)
        depends = dependencies(matrix)
        off = contradictions(matrix, right / rows, sizes(lambda near: self.evaluate(near)[1], point) / rows)
        return [tuple(sorted((row, *depends[row]))) for row in off]


def unsolvable_systems(model: Model, forces: int, places: list[Point], points: list[Point]) -> Iterator[Equations]:
    """Yield those of the equations of velocities, accelerations and forces that are not solvable at all points."""
    levels = (
        _velocity_equations(model, places),
        _acceleration_equations(model, points),
        motion_equations(model, forces, [point for point in points if not _follows_from_rows(model, forces, point)]),
    )
    return (level for level in levels if level.unsolvable_rows())


def _follows_from_rows(model: Model, forces: int, point: Point) -> bool:
    """Return whether the equations of motion are solvable if A q̈ = b is: M is definite and every row has a force.

    Their matrix has the squared condition of A in the mass metric. With a pulley of 1e-9 kg between two ropes it is
    singular up to rounding, although its constraints are independent.
    """
    terms = model.terms(point)
    return forces == len(terms.b) and mass_kind(terms.M).kind == "positive definite"


def _velocity_equations(model: Model, places: list[Point]) -> Equations:
    """Return the constraints linear in the velocities, J q̇ = c, at admissible positions."""
    form = model.form
    velocities = set(form.symbols.qd)
    linear = [
        i for i in model.velocity if not any(graph.free_symbols(e) & velocities for e in form.constraint_matrix[i])
    ]
    at_rest = [graph.replace(form.velocity[i], dict.fromkeys(form.symbols.qd, sp.S.Zero)) for i in linear]

    def evaluate(point: Point) -> tuple[Floats, Floats]:
        found = model.terms(point._replace(qd=np.zeros_like(point.qd)))
        return found.A[linear], -found.velocity[linear]

    J = _matrix([form.constraint_matrix[i] for i in linear], len(form.symbols.q))
    units = _units(model, len(linear))
    return Equations(J, -sp.Matrix(len(linear), 1, at_rest), evaluate, units, places, kinematic=True)


def _acceleration_equations(model: Model, points: list[Point]) -> Equations:
    """Return the equations A q̈ = b."""
    form = model.form

    def evaluate(point: Point) -> tuple[Floats, Floats]:
        found = model.terms(point)
        return found.A, found.b

    A = _matrix(form.constraint_matrix, len(form.symbols.q))
    right = sp.Matrix(A.rows, 1, form.constraint_rhs)
    return Equations(A, right, evaluate, _units(model, A.rows), points, kinematic=True)


def _units(model: Model, rows: int) -> Callable[[Point], tuple[Floats, Floats]]:
    """Return the scales of equations of coordinates: 1 for rows, and the unit of each coordinate for columns."""
    return lambda point: (np.ones(rows), 1 / model.terms(point).units)


def motion_equations(model: Model, forces: int, points: list[Point]) -> Equations:
    """Return the equations K (q̈, λ) = (Q, b), with a column for each row that has a force."""
    form = model.form

    def evaluate(point: Point) -> tuple[Floats, Floats]:
        found = model.terms(point)
        K = np.block([[found.M, -found.A[:forces].T], [found.A, np.zeros((len(found.b), forces))]])
        return K, np.concatenate([found.Q, found.b])

    def units(point: Point) -> tuple[Floats, Floats]:
        found = model.terms(point)
        length = np.linalg.norm(found.scaled_rows, axis=1)
        # zero rows keep the scale one: their right side must vanish, too
        length = np.where(length > 0, length, 1.0)
        scale = own_units(found.M)
        return np.concatenate([scale, length]), np.concatenate([scale, length[:forces]])

    A = _matrix(form.constraint_matrix, len(form.symbols.q))
    K: Any = sp.Matrix(form.mass_matrix).row_join(-A[:forces, :].T).col_join(A.row_join(sp.zeros(A.rows, forces)))
    right = sp.Matrix([*form.applied_force, *form.constraint_rhs])
    return Equations(K, right, evaluate, units, points, kinematic=False)


def _matrix(rows: Any, columns: int) -> Any:
    return sp.Matrix(len(rows), columns, [e for row in rows for e in row])
