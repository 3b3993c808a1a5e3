# SPDX-License-Identifier: BSD-3-Clause
"""Terms of a system that are equal up to their coordinates and numbers, collected in groups."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np
import sympy as sp
from sympy.core.function import AppliedUndef

from dalembert.model.abrupt_functions import functions_abrupt_in_time_alone
from dalembert.model.constraint import Constraint
from dalembert.model.large_statement import LargeStatement
from dalembert.model.law_groups import LawGroup, PlacedLaws
from dalembert.model.law_placement import general_components
from dalembert.model.symbol_arrays import Substitutions
from dalembert.model.symbols import ConstraintSymbol, free_parameters, t
from dalembert.model.term_groups import AppliedForce, ConstraintGroup, LagrangianTerm, MassEntries

LEAST_COPIES = 4
"""Fewest terms for each group, on average, for which groups are worth while: systems of different terms keep straight
lines of machine code."""


@dataclass
class _Template:
    """An expression in placeholders, with the coordinates and numbers in the order in which they occur."""

    coordinates: dict[Any, Any] = field(default_factory=dict[Any, Any])
    numbers: list[float] = field(default_factory=list[float])
    constraints: dict[str, str] = field(default_factory=dict[str, str])

    def of(self, e: Any) -> Any:
        """Return an expression with placeholders for its coordinates and numbers."""
        if isinstance(e, AppliedUndef):
            return self.coordinates.setdefault(e, _placeholder(len(self.coordinates)))
        if isinstance(e, ConstraintSymbol):
            return type(e)(self.constraints.setdefault(e.name, f"constraint {len(self.constraints)}"))
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
    constraints: list[Sequence[str]] = field(default_factory=list[Sequence[str]])

    def substitutions(self, *targets: tuple[Any, Sequence[Any]]) -> Substitutions:
        """Return the substitutions of all copies; each target is a placeholder and the coordinates of all terms."""
        columns: dict[Any, Any] = {_placeholder(j): x for j, x in enumerate(zip(*self.coordinates, strict=True))}
        for target, places in targets:
            columns[target] = tuple(places[i] for i in self.members)
        values = np.array(self.numbers, float).reshape(len(self.members), -1).T
        names: dict[str, Any] = {f"constraint {k}": x for k, x in enumerate(zip(*self.constraints, strict=True))}
        return Substitutions(columns, {_number(j): x for j, x in enumerate(values)}, len(self.members), names)


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
        group.constraints.append(tuple(template.constraints))
    return found


TARGET_PLACEHOLDERS = (_placeholder(-1), _placeholder(-2))
"""The placeholders of the coordinates along which a term acts."""


def along(expressions: Iterable[Any], coordinates: Sequence[Any]) -> tuple[AppliedForce, ...]:
    groups = _grouped(expressions).items()
    target = TARGET_PLACEHOLDERS[0]
    return tuple(AppliedForce({target: form}, group.substitutions((target, coordinates))) for form, group in groups)


def _mass_entries(matrix: Any, coordinates: Sequence[Any]) -> tuple[MassEntries, ...]:
    """Return the entries of M in groups, those of the diagonal by themselves."""
    entries = matrix.todok()
    found: list[MassEntries] = []
    for beside in (False, True):
        pairs = [(i, j) for i, j in sorted(entries) if (i > j if beside else i == j)]
        places = [
            (target, [coordinates[pair[k]] for pair in pairs])
            for k, target in enumerate(TARGET_PLACEHOLDERS[: 1 + beside])
        ]
        key = (TARGET_PLACEHOLDERS[0], TARGET_PLACEHOLDERS[beside])
        groups = _grouped(entries[pair] for pair in pairs)
        found += [MassEntries({key: form}, group.substitutions(*places)) for form, group in groups.items()]
    return tuple(found)


def groups_along(components: Sequence[tuple[int, Any, Any]]) -> list[LawGroup]:
    """Return components of vectors, such as C of laws, in groups: number of the vector, coordinate and expression."""
    target, places = TARGET_PLACEHOLDERS[0], [q for _, q, _ in components]
    numbers = np.array([number for number, _, _ in components], np.int64)
    return [
        LawGroup(AppliedForce({target: form}, group.substitutions((target, places))), numbers[group.members])
        for form, group in _grouped(component for *_, component in components).items()
    ]


def _laws(system: Any) -> PlacedLaws:
    """Return the nonideal laws of a system, and the coefficients of its forces, in groups."""
    q = system.coordinates
    components = [
        (number, q[i], component)
        for number, placed in enumerate(system.laws)
        for i, component in enumerate(general_components(placed, q))
        if component != 0
    ]
    of_laws = [(placed.described, c) for placed in system.laws for c in placed.law.coefficients]
    groups = [*groups_along(components), *checked_coefficients([*of_laws, *system.coefficients])]
    return PlacedLaws(tuple(groups), tuple((placed.constraint, placed.kind) for placed in system.laws))


def checked_coefficients(given: Sequence[tuple[str, Any]]) -> list[LawGroup]:
    """Return groups without forces, whose coefficients must not be negative; numbers have been checked before."""
    distinct = {(owner, c.value) for owner, c in given if free_parameters([c.value])}
    nothing = AppliedForce({}, Substitutions({}, {}, 1))
    return [LawGroup(nothing, np.zeros(1, np.int64), (value,), owner) for owner, value in sorted(distinct, key=str)]


def constraint_groups(constraints: Sequence[Constraint]) -> list[tuple[ConstraintGroup, list[int]]]:
    """Return constraints in groups of the same form, each with the numbers of its constraints."""
    names = [str(constraint.name) for constraint in constraints]
    return [
        (
            ConstraintGroup(
                Constraint(form, name=names[group.members[0]]),
                group.substitutions(),
                tuple(names[i] for i in group.members),
            ),
            group.members,
        )
        for form, group in _grouped(constraint.expression for constraint in constraints).items()
    ]


def with_constraints(statement: LargeStatement, constraints: Sequence[Constraint]) -> LargeStatement:
    """Return a statement with further constraints after its own."""
    groups = constraint_groups(constraints)
    own = sum(map(len, statement.constraints))
    order = np.arange(own) if statement.order is None else statement.order
    return replace(
        statement,
        constraints=(*statement.constraints, *(group for group, _ in groups)),
        order=np.concatenate([order, *(own + np.array(members, np.int64) for _, members in groups)]),
    )


@lru_cache(maxsize=8)
def with_requirements(statement: LargeStatement) -> LargeStatement:
    """Return a statement whose requirements of servos are constraints as well; it is kept for further calls."""
    return with_constraints(statement, [row for servo in statement.servos for row in servo.requirement])


def similar_groups(rows: Sequence[Sequence[Any]]) -> list[tuple[tuple[Any, ...], Substitutions]]:
    """Return rows of expressions in groups of the same form: the expressions in placeholders, and their copies."""
    groups = _grouped(sp.Tuple(*row) for row in rows).items()
    return [(tuple(form), group.substitutions()) for form, group in groups]


def lagrangian_terms(expressions: Iterable[Any]) -> tuple[LagrangianTerm, ...]:
    """Return the terms of some sums in groups."""
    terms = [term for expression in expressions for term in sp.Add.make_args(expression)]
    return tuple(LagrangianTerm(form, group.substitutions()) for form, group in _grouped(terms).items())


def reason_against_groups(system: Any) -> str:
    """Return why a system cannot be computed by groups of terms, as a clause; empty if it can."""
    if system.feedback is not None or system.conserved is not None:
        return "it has a controller or conserved integrals"
    if system.signals:
        return "it has signals, whose ranges are checked term by term"
    if system.python_functions:
        return "it has Python functions, which are not compiled"
    if not all(constraint.is_permanent for constraint in system.constraints):
        return "it has contacts that open and close"
    if any(getattr(placed.law, "can_stick", False) for placed in system.laws):
        return "it has dry friction that can stick"
    if any(placed.law.scaled for placed in system.laws):
        return "it has laws that are given as z"
    if functions_abrupt_in_time_alone(system.expressions()):
        return "it has functions of time with jumps or kinks"
    return ""


def grouped_terms(system: Any) -> LargeStatement:
    """Return a ``System`` in groups of terms of the same form."""
    q = system.coordinates
    groups = constraint_groups(system.constraints)
    return LargeStatement(
        q,
        _mass_entries(system.mass_matrix, q),
        along(system.applied_force, q),
        tuple(group for group, _ in groups),
        np.array([i for _, members in groups for i in members], np.int64),
        lagrangian=None if system.lagrangian is None else lagrangian_terms([system.lagrangian]),
        placed=_laws(system),
        servos=system.servos,
    )


def similar_terms(system: Any) -> LargeStatement | None:
    """Return a ``System`` in groups of similar terms, or None if it has few of them, or parts that have no groups."""
    if reason_against_groups(system):
        return None
    found = grouped_terms(system)
    # inputs that change friction by reactions are found by straight-line code only
    if system.servos and found.laws.needs_forces:
        return None
    groups = len(found.groups())
    terms = len(system.coordinates) + len(system.constraints) + len(found.laws.names)
    return None if LEAST_COPIES * groups > terms else found
