# SPDX-License-Identifier: BSD-3-Clause
"""Search for hidden constraints: conditions on the state that the equations of motion imply but that were not stated.

Three linear systems P z = r are examined: J q̇ = c, the constraints linear in the velocities; A q̈ = b; and
K (q̈, λ) = (Q, b) with K = [[M, −Aᵀ], [A, 0]]. If a vector w satisfies wᵀP = 0, no motion exists unless h = wᵀr = 0: a
condition on the state (Lemos et al., equation 22, for K). This condition is differentiated and added to the system,
which may reveal another one, until no new condition appears. For example, x = 0 and ẋ = y imply y = 0, while A q̈ = b
alone implies only ẏ = 0. A condition implied by K has no constraint force, so K gets a row [H, 0] but no column; a
force would hide the next condition. A condition implied by the constraints alone is a constraint like the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import compress
from typing import Any, NamedTuple

import sympy as sp

from dalembert.analysis.bounded import SymbolicLimitError, bounded
from dalembert.analysis.constraint_states import Fixed, state_slopes
from dalembert.analysis.evaluated_terms import Model, Point, model_of, sizes
from dalembert.analysis.gradients import zero_gradient
from dalembert.analysis.rational import exact
from dalembert.analysis.sampled_states import random_places, random_states, states_near
from dalembert.analysis.solvability import Equations, unsolvable_systems
from dalembert.errors import InputError
from dalembert.model import graph
from dalembert.model.constraint import Constraint
from dalembert.model.standard_form import StandardForm, standard_form, time_derivative
from dalembert.model.system import System, kind_of_object
from dalembert.numerics.linear_algebra import independent_rows
from dalembert.numerics.tolerances import CONSISTENCY_TOLERANCE

MOST_EQUATIONS, MOST_EQUATION_OPERATIONS = 12, 150
"""Number of dependent equations, and of operations in them, above which null vectors are not computed symbolically."""


@dataclass(frozen=True)
class Hidden:
    """The result of the search for hidden constraints.

    system                  with the hidden constraints added
    constraints             those constraints, named "hidden 1", …
    data_before, data_after    free initial data: dimension of the states that the constraints allow; None if no such
                            state was found
    impossible              an expression that would have to vanish but cannot, or None
    failure                 why the search failed, if it did: no consistent state was found, or a hidden constraint
                            exists numerically but was not found symbolically
    special                 whether the constraints hold for the given values of the parameters only
    forces                  the number of constraints that have a force; those implied by K come after them
    point                   a state that satisfies all constraints, or None
    """

    system: System
    constraints: tuple[Constraint, ...]
    data_before: int | None
    data_after: int | None
    impossible: Any
    failure: str
    special: bool
    forces: int
    point: Point | None


def empty_search(system: System) -> Hidden:
    """Return the result before the search: no hidden constraints found."""
    return Hidden(system, (), None, None, None, "", special=False, forces=len(system.constraints), point=None)


def hidden_constraints(
    system: System, fixed: Fixed = Fixed(), near: Point | None = None, model: Model | None = None
) -> Hidden:
    """Find the hidden constraints of a system and add them to it.

    The equations are examined at random states, with random times and parameters unless these are fixed; if no such
    state is found, near the point ``near``. ``model`` is the model of the system, if it has been computed already.
    """
    if not isinstance(system, System):
        raise InputError(f"`system` must be a `da.System`, stated in symbols; got {kind_of_object(system)}.")
    found = empty_search(system)
    # a hidden condition is differentiated like any constraint, and may then imply a further one
    while True:
        model = (
            model_of(standard_form(found.system), system.parameter_names)
            if model is None or found.constraints
            else model
        )
        states = random_states(model, fixed) or ([] if near is None else states_near(model, near))
        points = [state.point for state in states]
        data = _free_data(model, points[0]) if points else None
        before = found.data_before if found.constraints else data
        found = replace(found, data_before=before, data_after=data, point=points[0] if points else None)
        if not points:
            # the condition added last is not satisfiable; if none was added, the stated constraints are not
            if found.constraints:
                return replace(found, impossible=found.constraints[-1].expression)
            return replace(found, failure="no state that satisfies the constraints was found")
        # rows that consist of rounding error on the constraints imply nothing, unlike rows that are exactly zero
        negligible = zero_gradient(model, states) & model.terms(points[0]).A.any(axis=1)
        model = _without(model, negligible)
        columns = found.forces - int(negligible[: found.forces].sum())
        equations = next(unsolvable_systems(model, columns, random_places(model, fixed) or points, points), None)
        if equations is None:
            return found
        conditions = _conditions(equations, model, fixed)
        if conditions.failure:
            return replace(found, failure=conditions.failure)
        found = _with_conditions(found, conditions, model.form, kinematic=equations.kinematic)
        if found.impossible is not None:
            return found


def _with_conditions(found: Hidden, conditions: Conditions, form: StandardForm, *, kinematic: bool) -> Hidden:
    """Add conditions to the constraints found so far."""
    special = found.special or conditions.special
    impossible = next((h for h in conditions.expressions if not _has_state(h, form)), None)
    if impossible is not None:
        return replace(found, impossible=form.symbols.restore(impossible), special=special)
    # a condition implied by constraints alone is a constraint with a force, like them
    has_force = kinematic and found.forces == len(found.system.constraints)
    system, added = found.system, found.constraints
    for h in conditions.expressions:
        added = (*added, Constraint(form.symbols.restore(h), name=_name(system, len(added) + 1)))
        system = system.constrain(added[-1])
    forces = len(system.constraints) if has_force else found.forces
    return replace(found, system=system, constraints=added, special=special, forces=forces)


def _without(model: Model, rows: Any) -> Model:
    if not rows.any():
        return model
    names = ("constraint_matrix", "constraint_rhs", "position", "velocity")
    left = {name: tuple(compress(getattr(model.form, name), ~rows)) for name in names}
    return model_of(replace(model.form, **left), [symbol.name for symbol in model.parameters])


class Conditions(NamedTuple):
    """Conditions on the state: expressions that must vanish.

    special    whether they hold for the given values of the parameters only
    failure    why no condition was found
    """

    expressions: tuple[Any, ...] = ()
    special: bool = False
    failure: str = ""


def _conditions(equations: Equations, model: Model, fixed: Fixed) -> Conditions:
    """Compute the conditions h = wᵀr, for all w with wᵀP = 0, that do not hold already, simplified.

    If the equations depend on one another only for the given parameters, or only where the constraints hold, these are
    substituted.
    """
    dependent = equations.unsolvable_rows()  # not all rows, since null vectors of large matrices are expensive
    if any(_too_large(equations.select(rows)[0]) for rows in dependent):
        return Conditions(failure="the equations in question are too many or too long to find it symbolically")
    values = () if fixed.p is None else zip(model.parameters, fixed.p, strict=True)
    # by its decimals: 0.1 is a tenth, so that dependencies between exact numbers are found
    given = {symbol: sp.Rational(str(value)) for symbol, value in values}
    reason = "it was not found symbolically"
    # the general ones first: a condition that needs no values of parameters holds for all of them
    for rules, special in _substitutions(model.form, given):
        try:
            found = bounded(partial(_null_conditions, equations, dependent, model, rules))
        except SymbolicLimitError as error:
            reason = f"it is not shown: {error}"
            continue
        if found:
            return Conditions(tuple(found), special)
    return Conditions(failure=reason)


def _too_large(matrix: Any) -> bool:
    return matrix.rows > MOST_EQUATIONS or sum(graph.operations(e) for e in matrix) > MOST_EQUATION_OPERATIONS


def _substitutions(form: StandardForm, given: dict[Any, Any]) -> Iterator[tuple[dict[Any, Any], bool]]:
    """Yield substitutions to try in the equations, and whether they contain the values of the parameters."""
    yield {}, False
    yield _solved_coordinates(form, {}), False
    if given:
        yield given, True
        yield {**given, **_solved_coordinates(form, given)}, True


def _solved_coordinates(form: StandardForm, given: dict[Any, Any]) -> dict[Any, Any]:
    """Solve position-level constraints for coordinates that occur linearly; return these and their velocities."""
    rules: dict[Any, Any] = {}
    for phi in form.position:
        phi = sp.expand(graph.replace(graph.replace(exact(phi), given), rules))
        for q in graph.free_symbols(phi) & set(form.symbols.q):
            slope = phi.coeff(q)
            if slope.is_number and not (phi - slope * q).has(q):
                own = {q: q - phi / slope}
                rules = {**{c: graph.replace(e, own) for c, e in rules.items()}, q: sp.expand(own[q])}
                break
    rate = dict(zip(form.symbols.q, form.symbols.qd, strict=True))
    return {**rules, **{rate[q]: time_derivative(e, form.symbols) for q, e in rules.items()}}


def _null_conditions(equations: Equations, dependent: list[Any], model: Model, rules: dict[Any, Any]) -> list[Any]:
    found: list[Any] = []
    for rows in dependent:
        matrix, right = (block.applyfunc(lambda e: graph.replace(exact(e), rules)) for block in equations.select(rows))
        for w in matrix.T.nullspace(simplify=sp.cancel):
            h = _numerator((w.T * right)[0, 0], model.form)
            if h != 0 and not _holds(h, model, equations.points) and h not in found:
                found.append(h)
    return found


def _numerator(h: Any, form: StandardForm) -> Any:
    """Return the factor of a condition that depends on the state, without denominators and constant factors."""
    try:
        numerator, factors = bounded(lambda: _factored(h), seconds=1.0)
    except SymbolicLimitError:
        numerator, factors = h, []
    # factors of parameters alone do not vanish for generic values, and are no condition on the state
    about_state = [base for base, _ in factors if _has_state(base, form)]
    kept = sp.Mul(*about_state) if about_state else sp.Mul(*(base for base, _ in factors)) if factors else numerator
    kept = sp.expand(kept) if len(about_state) <= 1 else kept
    return -kept if kept.could_extract_minus_sign() else kept


def _factored(h: Any) -> tuple[Any, list[tuple[Any, int]]]:
    numerator = sp.fraction(sp.cancel(sp.together(sp.trigsimp(h))))[0]
    return numerator, sp.factor_list(numerator)[1]


def _holds(h: Any, model: Model, points: list[Point]) -> bool:
    """Return True if a condition is satisfied at all points, relative to the size of its terms."""
    value = model.function(h)
    return all(bool(abs(value(point)) <= CONSISTENCY_TOLERANCE * sizes(value, point)) for point in points)


def _has_state(h: Any, form: StandardForm) -> bool:
    return bool(graph.free_symbols(h) & {*form.symbols.q, *form.symbols.qd})


def _free_data(model: Model, point: Point) -> int:
    """Return 2n less the rank of the constraints on (q, q̇) at a consistent state."""
    return 2 * len(point.q) - len(independent_rows(state_slopes(model, point)))


def _name(system: System, number: int) -> str:
    taken = {*system.constraint_names, *system.coordinate_names}
    name = f"hidden {number}"
    while name in taken:
        name += "'"
    return name
