# SPDX-License-Identifier: BSD-3-Clause
"""Validation of a model: all problems are found in one pass and described in full sentences."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef

from dalembert.errors import ModelError
from dalembert.model import graph
from dalembert.model.constraint import Constraint, rejection_reason
from dalembert.model.control_form import distinct_actuators, servo_problems
from dalembert.model.ordering import name_of, quoted, unknown_names
from dalembert.model.python_functions import python_function_problems
from dalembert.model.signal_checks import signal_problems
from dalembert.model.standard_form import nonlinear_terms
from dalembert.model.symbols import (
    StateSymbols,
    free_parameters,
    functions_of_time,
    ideal_force,
    multiplier,
    reaction,
    t,
)
from dalembert.numerics.tolerances import SAME_VALUE


def problems_of(system: Any) -> list[str]:
    """Return the problems of a ``System``; an empty list if it is valid."""
    problems = _mass_problems(system)
    for component in system.applied_force:
        problems += expression_problems(system, component, "`applied_force`")
    problems += _constraint_problems(system)
    problems += _law_problems(system)
    if system.lagrangian is not None:
        problems += expression_problems(system, system.lagrangian, "the Lagrangian")
    problems += _name_problems(system) + _servo_problems(system)
    return problems or signal_problems(system) or python_function_problems(system.expressions())


def coordinate_problems(coordinates: tuple[Any, ...]) -> list[str]:
    """Return the problems of the coordinates alone."""
    if not coordinates:
        return ["`coordinates` must hold at least one coordinate; got none."]
    unknown = [q for q in coordinates if not (isinstance(q, AppliedUndef) and q.args == (t,))]
    other_times = {s for q in unknown if isinstance(q, AppliedUndef) for s in q.args}
    if other_times and all(isinstance(s, sp.Symbol) and s.name == t.name for s in other_times):
        return [
            f"`coordinates` must be functions of `da.t`; {', '.join(f'`{q}`' for q in unknown)} has another symbol "
            f"named `t`, with assumptions. Take `t = da.t`, or make them with `da.coordinates`."
        ]
    if unknown:
        return [
            f"`coordinates` must be functions of `da.t`; got {', '.join(f'`{q}`' for q in unknown)}. "
            f"Make them with `da.coordinates`."
        ]
    duplicates = _repeated(name_of(q) for q in coordinates)
    return [f"`coordinates` must differ from one another; given twice: {quoted(duplicates)}."] if duplicates else []


def _mass_problems(system: Any) -> list[str]:
    matrix, n = system.mass_matrix, len(system.coordinates)
    if not matrix:
        return []  # reported already
    if matrix.shape != (n, n):
        return [f"`mass_matrix` must have shape ({n}, {n}), one row per coordinate; got {matrix.shape}."]
    problems: list[str] = []
    entries = matrix.todok()  # of a large system, most are zero
    for entry in dict.fromkeys(entries.values()):
        problems += expression_problems(system, entry, "`mass_matrix`")
    if problems:
        return problems  # foreign symbols cannot be compared
    for i, j in sorted({(max(place), min(place)) for place in entries if place[0] != place[1]}):
        left, right = matrix[i, j], matrix[j, i]
        if left != right and not _equal(left, right, system.symbols, matrix[i, i] * matrix[j, j]):
            problems.append(
                f"`mass_matrix` must be symmetric; entry ({i}, {j}) is `{graph.shown(matrix[i, j])}` and "
                f"entry ({j}, {i}) is `{graph.shown(matrix[j, i])}`."
            )
    return problems


def expression_problems(
    system: Any, expression: Any, where: str, *, accelerations: bool = False, forces: bool = False
) -> list[str]:
    """Return problems of one expression: unknown functions, high derivatives and misplaced accelerations."""
    problems: list[str] = []
    known = system.known_coordinates
    foreign = functions_of_time(expression) - known
    unknown = sorted(name_of(f) for f in foreign if f.args == (t,))
    undefined = sorted({f.func.__name__ for f in foreign if f.args != (t,)})
    if undefined:
        problems.append(
            f"{where} must use functions that can be computed; undefined: {quoted(undefined)}. Make a Python function "
            f"known by `{undefined[0]} = da.function({undefined[0]!r}, ...)`."
        )
    if unknown:
        problems.append(
            f"{where} must use only the system's coordinates ({quoted(system.coordinate_names)}); "
            f"unknown: {quoted(unknown)}. Add them to `coordinates`, or make them parameters, `da.signal` or "
            f"`da.function`."
        )
    other_time_symbols = sorted(str(s) for s in graph.free_symbols(expression) if s.name == "t" and s != t)
    if other_time_symbols:
        problems.append(
            f"{where} must write time as `da.t`; got another symbol named `t`, with assumptions. Use `t = da.t`."
        )
    derivatives = graph.atoms(expression, sp.Derivative)
    highest = max((d.derivative_count for d in derivatives), default=0)
    if not forces and graph.has_kind(expression, ideal_force):
        problems.append(f"{where} must not contain `da.ideal_force`; only a nonideal law may.")
    if not forces and graph.has_kind(expression, multiplier):
        problems.append(f"{where} must not contain `da.multiplier`; only a nonideal law may.")
    if not forces and graph.has_kind(expression, reaction):
        problems.append(f"{where} must not contain `da.reaction`; only a nonideal law may, or a `da.Force` on a body.")
    if any(d.expr not in known for d in derivatives) and not foreign:
        problems.append(f"{where} must have its derivatives evaluated; call `.doit()` on `{graph.shown(expression)}`.")
    elif not accelerations and highest > 1:
        problems.append(f"{where} must not contain accelerations; got `{system.symbols.readable(expression)}`.")
    return problems


def _constraint_problems(system: Any) -> list[str]:
    problems: list[str] = []
    for constraint in system.constraints:
        if not isinstance(constraint, Constraint):
            reason = rejection_reason(constraint)
            advice = f" An entry must be {reason}" if reason else " Write `da.Constraint(expression, name=...)`."
            problems.append(f"`constraints` must hold `da.Constraint` objects; got {constraint!r}.{advice}")
            continue
        problems += _row_problems(system, constraint, f"constraint `{constraint.name}`")
    return problems


def _row_problems(system: Any, constraint: Constraint, where: str) -> list[str]:
    """Return problems of the equation of a constraint or of a servo constraint."""
    problems = expression_problems(system, constraint.expression, where, accelerations=True)
    if constraint.level == "acceleration" and not problems:
        symbols = system.symbols
        bad = nonlinear_terms(symbols.plain(constraint.expression), symbols)
        if bad:
            terms = ", ".join(f"`{symbols.readable(symbols.restore(term))}`" for term in bad)
            problems.append(f"{where} must be linear in the accelerations; {terms} is not.")
    return problems


def _law_problems(system: Any) -> list[str]:
    if not all(isinstance(constraint, Constraint) for constraint in system.constraints):
        return []  # reported already
    laws, found = system.placed_laws
    problems = list(found)
    for placed in laws:
        where = f"the nonideal law {placed.described}"
        try:
            components = placed.law.components(system.coordinates)
        except ModelError as error:
            problems += error.problems
            continue
        for component in components:
            problems += expression_problems(system, component, where, forces=True)
            known = [str(constraint.name) for constraint in system.constraints]
            for kind in (multiplier, reaction):
                names = sorted(m.name for m in graph.atoms(component, kind))
                problems += unknown_names(known, names, f"da.{kind.__name__}", "constraint")
        problems += _reaction_problems(placed, components, where)
    return list(dict.fromkeys(problems))


def _reaction_problems(placed: Any, components: Sequence[Any], where: str) -> list[str]:
    """Return the problems of a law that depends on the actual reaction."""
    if not any(graph.has_kind(component, reaction) for component in components):
        return []
    if placed.law.scaled:
        return [f"{where} must give C itself to depend on `da.reaction`; it gives z. Leave out `scaled`."]
    if getattr(placed.law, "can_stick", False):
        return [
            f"{where} must not depend on `da.reaction` except by its `normal_force`, for it sticks. Pass `smoothing`."
        ]
    return []


def _servo_problems(system: Any) -> list[str]:
    if not all(isinstance(constraint, Constraint) for constraint in system.constraints):
        return []  # reported already
    problems = servo_problems(system.servos, system.coordinate_names, system.constraint_names)
    if problems:
        return problems
    for servo in system.servos:
        for row in servo.requirement:
            problems += _row_problems(system, row, f"servo `{row.name}`")
        for entry in servo.gains():
            problems += expression_problems(system, entry, f"`settle` and `cost` of servo `{servo.name}`")
    for actuator in distinct_actuators(system.servos):
        for component in actuator.direction(system.coordinates):
            problems += expression_problems(system, component, f"`along` of actuator `{actuator.name}`")
        if actuator.limit is not None:
            problems += expression_problems(system, actuator.limit, f"`limit` of actuator `{actuator.name}`")
    return list(dict.fromkeys(problems))


def _name_problems(system: Any) -> list[str]:
    constraints = [c for c in system.constraints if isinstance(c, Constraint)]
    names = [str(c.name) for c in constraints]
    problems: list[str] = []
    duplicates = _repeated(names)
    if duplicates:
        problems.append(f"constraint names must be unique; given twice: {quoted(duplicates)}.")
    clash = sorted({*names} & {*system.coordinate_names})
    if clash:
        problems.append(f"a constraint must not have the name of a coordinate; got {quoted(clash)}.")
    masses = system.mass_matrix.todok().values()
    expressions = [*masses, *system.applied_force, *(c.expression for c in constraints)]
    clashing = sorted({s.name for s in free_parameters(expressions)} & set(system.coordinate_names))
    if clashing:
        problems.append(f"a parameter must not have the name of a coordinate; got {quoted(clashing)}.")
    return problems


def _equal(left: Any, right: Any, symbols: StateSymbols, square: Any) -> bool:
    """Return whether two expressions that differ in form are equal at three random points.

    ``simplify`` is not used, because it may take hours. ``square`` is the square of a further scale for the comparison.
    """
    left, difference, square = symbols.plain(left), symbols.plain(left - right), symbols.plain(square)
    draw = random.Random(20020101)
    unknowns = sorted(graph.free_symbols(left, difference, square), key=str)  # some may cancel in the difference
    for _ in range(3):
        point = {s: sp.Float(draw.uniform(0.5, 1.5)) for s in unknowns}
        size = sp.Max(abs(graph.replace(left, point).evalf()), sp.sqrt(abs(graph.replace(square, point).evalf())))
        if not abs(graph.replace(difference, point).evalf()) <= SAME_VALUE * size:
            return False
    return True


def _repeated(names: Any) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]
