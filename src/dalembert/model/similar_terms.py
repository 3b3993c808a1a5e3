# SPDX-License-Identifier: BSD-3-Clause
"""Terms of a system that are equal up to their coordinates and numbers, collected in groups."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sympy as sp
from sympy.core.function import AppliedUndef

from dalembert.model.abrupt_functions import abrupt_functions_of_time
from dalembert.model.constraint import Constraint
from dalembert.model.large_statement import LargeStatement
from dalembert.model.symbol_arrays import Substitutions
from dalembert.model.symbols import t
from dalembert.model.term_groups import AppliedForce, ConstraintGroup

LEAST_COPIES = 4
"""Fewest terms for each group, on average, for which groups are worth while: systems of different terms keep straight
lines of machine code."""


@dataclass
class _Template:
    """An expression in placeholders, with the coordinates and numbers in the order in which they occur."""

    coordinates: dict[Any, Any] = field(default_factory=dict[Any, Any])
    numbers: list[float] = field(default_factory=list[float])

    def of(self, e: Any) -> Any:
        """Return an expression with placeholders for its coordinates and numbers."""
        if isinstance(e, AppliedUndef):
            return self.coordinates.setdefault(e, _placeholder(len(self.coordinates)))
        # exponents and signs belong to the form: other ones need other machine code
        if e.is_Float or (e.is_Rational and abs(e) != 1):
            self.numbers.append(float(e))
            return _number(len(self.numbers) - 1)
        if e.is_Pow and e.exp.is_number:
            return self.of(e.base) ** e.exp
        if isinstance(e, sp.Derivative):
            return sp.Derivative(self.of(e.expr), *e.args[1:])
        return e.func(*map(self.of, e.args)) if e.args else e


def _placeholder(i: int) -> Any:
    function: Any = sp.Function(f"coordinate_{i}")
    return function(t)


def _number(i: int) -> Any:
    return sp.Symbol(f"number.{i}")


@dataclass
class _Group:
    """Terms of one form: their numbers in the system, coordinates and numbers."""

    members: list[int] = field(default_factory=list[int])
    coordinates: list[Sequence[Any]] = field(default_factory=list[Sequence[Any]])
    numbers: list[Sequence[float]] = field(default_factory=list[Sequence[float]])

    def substitutions(self, target: Any = None, targets: Sequence[Any] = ()) -> Substitutions:
        columns: dict[Any, Any] = {_placeholder(j): x for j, x in enumerate(zip(*self.coordinates, strict=True))}
        if target is not None:
            columns[target] = tuple(targets[i] for i in self.members)
        values = np.array(self.numbers, float).reshape(len(self.members), -1).T
        return Substitutions(columns, {_number(j): x for j, x in enumerate(values)}, len(self.members))


def _grouped(expressions: Iterable[Any]) -> dict[Any, _Group]:
    """Return the groups of expressions by their common form; zeros are left out."""
    found: dict[Any, _Group] = {}
    for i, expression in enumerate(expressions):
        if expression == 0:
            continue
        template = _Template()
        group = found.setdefault(template.of(expression), _Group())
        group.members.append(i)
        group.coordinates.append(tuple(template.coordinates))
        group.numbers.append(template.numbers)
    return found


def _along(expressions: Iterable[Any], coordinates: Sequence[Any]) -> tuple[AppliedForce, ...]:
    target = _placeholder(-1)
    groups = _grouped(expressions).items()
    return tuple(AppliedForce({target: form}, group.substitutions(target, coordinates)) for form, group in groups)


def similar_terms(system: Any) -> LargeStatement | None:
    """Return a ``System`` in groups of similar terms, or None if it has few of them.

    The mass matrix must be diagonal, and the constraints ideal equations.
    """
    others = (system.laws, system.servos, system.coefficients, system.signals)
    if any(others) or any(x is not None for x in (system.lagrangian, system.feedback, system.conserved)):
        return None
    if not all(constraint.is_permanent for constraint in system.constraints):
        return None
    matrix, q = system.mass_matrix, system.coordinates
    if any(i != j for i, j in matrix.todok()):
        return None
    rows = _grouped(constraint.expression for constraint in system.constraints)
    names = [str(constraint.name) for constraint in system.constraints]
    constraints = tuple(
        ConstraintGroup(
            Constraint(form, name=names[group.members[0]]),
            group.substitutions(),
            tuple(names[i] for i in group.members),
        )
        for form, group in rows.items()
    )
    masses = _along([matrix[i, i] for i in range(len(q))], q)
    forces = _along(system.applied_force, q)
    if LEAST_COPIES * (len(constraints) + len(masses) + len(forces)) > len(q) + len(names):
        return None
    found = LargeStatement(q, masses, forces, constraints, np.arange(len(names)))
    if abrupt_functions_of_time(e for expressions, _ in found.groups() for e in expressions):
        return None
    order = np.array([i for group in rows.values() for i in group.members], np.int64)
    return LargeStatement(q, masses, forces, constraints, order)
