# SPDX-License-Identifier: BSD-3-Clause
"""Constraints: one scalar equation each, at position, velocity or acceleration level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp
from sympy.logic.boolalg import BooleanAtom

from dalembert.errors import ModelError
from dalembert.levels import LEVELS, Level
from dalembert.model import graph
from dalembert.model.deep_stack import with_deep_stack
from dalembert.model.expressions import as_expression, as_matrix
from dalembert.model.latex import equation
from dalembert.model.laws import as_laws
from dalembert.model.representation import representation
from dalembert.model.symbols import functions_of_time, reaction, t


@dataclass(frozen=True)
class Constraint:
    """One equation that the motion must satisfy: ``expression = 0``.

    Its level (position, velocity or acceleration) is that of the highest time derivative in it. A velocity-level
    constraint may be nonlinear in the velocities; an acceleration-level one must be linear in the accelerations.

    Parameters
    ----------
    expression    a SymPy expression that vanishes on the motion, or ``sympy.Eq(left, right)``
    name          its name in messages and results; by default a readable one is generated
    nonideal      nonideal force law, such as ``da.Coulomb(mu)``, several, or n expressions for C; none
                  for an ideal constraint

    Raises
    ------
    ModelError    if there is no coordinate in it, a derivative higher than the second, or something else for a law

    Examples
    --------
    >>> import dalembert as da
    >>> x, y = da.coordinates("x y")
    >>> da.Constraint(x**2 + y**2 - 1, name="rod").level
    'position'
    """

    expression: Any
    name: str | None = None
    nonideal: Any = ()

    def __repr__(self) -> str:
        return representation(self)

    def _repr_latex_(self) -> str | None:
        return equation(self.expression, self.name)

    def __post_init__(self) -> None:
        with_deep_stack(self._convert, self._label)
        problems: list[str] = []
        object.__setattr__(self, "nonideal", as_laws(self.nonideal, problems))
        if problems:
            raise ModelError([f"{self._label}: {problem}" for problem in problems])

    def _convert(self) -> None:
        """Convert the expression to a residual, or raise an error."""
        object.__setattr__(self, "expression", _as_residual(self.expression, self._label))
        _require_valid(self.expression, self._label)

    @property
    def _label(self) -> str:
        return "an unnamed constraint" if self.name is None else f"constraint `{self.name}`"

    @property
    def reaction(self) -> Any:
        """``da.reaction`` of the constraint, which must have a name: its actual reaction, for use in a law."""
        if self.name is None:
            raise ModelError(["a constraint must have a name for its reaction to be used; pass `name=`."])
        return reaction(self.name)

    @property
    def level(self) -> Level:
        return LEVELS[_highest_derivative(self.expression)]


def pfaffian(
    coordinates: Sequence[Any], matrix: Any, vector: Any = None, *, names: Sequence[str] | None = None
) -> tuple[Constraint, ...]:
    """A set of constraints linear in the velocities: matrix · q̇ = vector.

    Parameters
    ----------
    coordinates    the n coordinates, in the order of the columns
    matrix         (m, n) expressions of coordinates and time
    vector         m expressions; zero by default
    names          m names; by default readable ones are generated

    Raises
    ------
    ModelError     if the shapes do not fit

    Examples
    --------
    >>> import dalembert as da
    >>> x, y, z = da.coordinates("x y z")
    >>> [c.level for c in da.pfaffian((x, y, z), [[1, 2 * y, 1]], [1], names=["leaf"])]
    ['velocity']
    """
    rows = as_matrix(matrix, "`matrix`")
    right = sp.zeros(rows.rows, 1) if vector is None else as_matrix(list(vector), "`vector`")
    problems: list[str] = []
    if rows.cols != len(coordinates):
        problems.append(f"`matrix` must have one column per coordinate ({len(coordinates)}); got {rows.cols}.")
    if right.rows != rows.rows:
        problems.append(f"`vector` must have one entry per row of `matrix` ({rows.rows}); got {right.rows}.")
    if names is not None and len(names) != rows.rows:
        problems.append(f"`names` must have one entry per row of `matrix` ({rows.rows}); got {len(names)}.")
    if problems:
        raise ModelError(problems)
    residuals = rows * sp.Matrix([q.diff(t) for q in coordinates]) - right
    given = [None] * rows.rows if names is None else names
    return tuple(Constraint(residual, name=name) for residual, name in zip(residuals, given, strict=True))


def _as_residual(expression: Any, label: str) -> Any:
    if isinstance(expression, sp.Equality):
        left, right = expression.args
        return graph.evaluated(as_expression(left, label) - as_expression(right, label))
    reason = rejection_reason(expression)
    if reason:
        raise ModelError([f"{label} must be {reason}"])
    return graph.evaluated(as_expression(expression, label))


def rejection_reason(given: Any) -> str:
    """Return the reason why an object is not an equation; empty if it may be one."""
    if isinstance(given, (bool, np.bool_)):
        sign = "!=" if given else "=="
        return (
            f"an equation in the coordinates; got the Python value {bool(given)}, which `{sign}` between two "
            f"expressions gives. Write `sympy.Eq(left, right)`, or `left - right`."
        )
    if isinstance(given, BooleanAtom):
        return f"an equation in the coordinates; got one that is always {bool(given)}. Check both sides of `Eq`."
    if isinstance(given, (sp.Gt, sp.Ge, sp.Lt, sp.Le)):
        return (
            f"an equation; got the inequality `{given}`. One-sided constraints are not supported: where the contact "
            f"is closed, give the equation `{sp.Eq(*given.args)}`; otherwise model it by a stiff spring in "
            f"`applied_force`."
        )
    if isinstance(given, sp.Ne):
        return f"an equation; got `{given}`. Write `sympy.Eq(left, right)`."
    if isinstance(given, (tuple, list, set, np.ndarray, sp.MatrixBase)):
        kind = type(given).__name__
        return f"one SymPy expression or `sympy.Eq`; got {kind}. Give one `Constraint` per equation."
    return ""


def _require_valid(expression: Any, label: str) -> None:
    if not functions_of_time(expression):
        raise ModelError(
            [f"{label} must contain a coordinate made by `da.coordinates`; got `{graph.shown(expression)}`."]
        )
    if _highest_derivative(expression) > 2:
        raise ModelError([f"{label} must not contain derivatives beyond the second; got `{graph.shown(expression)}`."])


def _highest_derivative(expression: Any) -> int:
    return max((d.derivative_count for d in graph.atoms(expression, sp.Derivative)), default=0)
