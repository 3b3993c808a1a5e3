# SPDX-License-Identifier: BSD-3-Clause
"""The linear equations of velocities, accelerations and forces, and whether they demand something of the state.

Notation: P z = r. A row of P that depends on others demands that r depends on them in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from dalembert.analysis.evaluated_terms import Model, Point, sizes
from dalembert.array_types import Floats
from dalembert.linear_algebra import contradictions, dependencies
from dalembert.mass import own_units
from dalembert.model import graph


@dataclass(frozen=True)
class Equations:
    """Linear equations P z = r whose dependent rows may demand something of the state.

    matrix, right    in symbols
    numbers          the same at a point
    units            the sizes there of the units of rows and of columns
    points           where they must hold
    kinematic        whether they follow from the constraints alone
    """

    matrix: Any
    right: Any
    numbers: Callable[[Point], tuple[Floats, Floats]]
    units: Callable[[Point], tuple[Floats, Floats]]
    points: list[Point]
    kinematic: bool

    def of(self, rows: tuple[int, ...]) -> tuple[Any, Any]:
        """Some of the equations, in symbols."""
        chosen = list(rows)
        return self.matrix.extract(chosen, list(range(self.matrix.cols))), self.right.extract(chosen, [0])

    def demands(self) -> list[tuple[int, ...]]:
        """Rows that depend on one another and disagree about the right side, at one point or another."""
        return list(dict.fromkeys(rows for point in self.points for rows in self._demands(point)))

    def _demands(self, point: Point) -> list[tuple[int, ...]]:
        matrix, right = self.numbers(point)
        # the units of the point itself: where a mass vanishes, that of a point beside it is another world
        rows, columns = self.units(point)
        matrix = matrix / np.outer(rows, columns)
        depends = dependencies(matrix)
        off = contradictions(matrix, right / rows, sizes(lambda moved: self.numbers(moved)[1], point) / rows)
        return [tuple(sorted((row, *depends[row]))) for row in off]


def demanding(model: Model, forces: int, places: list[Point], points: list[Point]) -> Iterator[Equations]:
    """The first level at which something is demanded that was not stated: velocities, accelerations, or forces."""
    levels = (
        _velocity_equations(model, places),
        _acceleration_equations(model, points),
        motion_equations(model, forces, points),
    )
    return (level for level in levels if level.demands())


def _velocity_equations(model: Model, places: list[Point]) -> Equations:
    """The constraints linear in the velocities, J q̇ = c, at all positions that the constraints allow."""
    form = model.form
    moving = set(form.symbols.qd)
    linear = [i for i in model.velocity if not any(graph.free_symbols(e) & moving for e in form.constraint_matrix[i])]
    at_rest = [graph.replace(form.velocity[i], dict.fromkeys(form.symbols.qd, sp.S.Zero)) for i in linear]

    def numbers(point: Point) -> tuple[Floats, Floats]:
        found = model.terms(point._replace(qd=np.zeros_like(point.qd)))
        return found.A[linear], -found.velocity[linear]

    J = _matrix([form.constraint_matrix[i] for i in linear], len(form.symbols.q))
    units = _units(model, len(linear))
    return Equations(J, -sp.Matrix(len(linear), 1, at_rest), numbers, units, places, kinematic=True)


def _acceleration_equations(model: Model, points: list[Point]) -> Equations:
    """A q̈ = b."""
    form = model.form

    def numbers(point: Point) -> tuple[Floats, Floats]:
        found = model.terms(point)
        return found.A, found.b

    A = _matrix(form.constraint_matrix, len(form.symbols.q))
    right = sp.Matrix(A.rows, 1, form.constraint_rhs)
    return Equations(A, right, numbers, _units(model, A.rows), points, kinematic=True)


def _units(model: Model, rows: int) -> Callable[[Point], tuple[Floats, Floats]]:
    """Rows as they are, each coordinate in a unit of its own relative to the others."""
    return lambda point: (np.ones(rows), 1 / model.terms(point).units)


def motion_equations(model: Model, forces: int, points: list[Point]) -> Equations:
    """K (q̈, λ) = (Q, b), with a column for each row that has a force."""
    form = model.form

    def numbers(point: Point) -> tuple[Floats, Floats]:
        found = model.terms(point)
        K = np.block([[found.M, -found.A[:forces].T], [found.A, np.zeros((len(found.b), forces))]])
        return K, np.concatenate([found.Q, found.b])

    def units(point: Point) -> tuple[Floats, Floats]:
        found = model.terms(point)
        length = np.linalg.norm(found.scaled_rows, axis=1)
        length = np.where(length > 0, length, 1.0)
        scale = own_units(found.M)
        return np.concatenate([scale, length]), np.concatenate([scale, length[:forces]])

    A = _matrix(form.constraint_matrix, len(form.symbols.q))
    K: Any = sp.Matrix(form.mass_matrix).row_join(-A[:forces, :].T).col_join(A.row_join(sp.zeros(A.rows, forces)))
    right = sp.Matrix([*form.applied_force, *form.constraint_rhs])
    return Equations(K, right, numbers, units, points, kinematic=False)


def _matrix(rows: Any, columns: int) -> Any:
    return sp.Matrix(len(rows), columns, [e for row in rows for e in row])
