# SPDX-License-Identifier: BSD-3-Clause
"""Hidden constraints: what the equations silently demand of the initial data.

Notation: linear equations P z = r, three times: J q̇ = c, what the constraints say about velocities; A q̈ = b; and
K (q̈, λ) = (Q, b) with K = [[M, −Aᵀ], [A, 0]]. Where a vector w satisfies wᵀP = 0, no motion exists unless h = wᵀr = 0:
a condition on the state that nobody stated. (Lemos et al., equation 22, for K.) It is differentiated and added, which
may bring another one to light, until nothing new appears. x = 0 with ẋ = y implies y = 0, of which A q̈ = b alone would
only say ẏ = 0. What K demands has no force of its own, so that K grows a row [H, 0] but no column: a force would hide
the next condition. What constraints imply by themselves is a constraint like them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import compress
from typing import Any, NamedTuple

import sympy as sp

from dalembert.analysis.bounded import GivenUpError, bounded
from dalembert.analysis.constraint_states import Fixed, random_places, random_states, state_slopes, states_near
from dalembert.analysis.evaluated_terms import Model, Point, model_of, sizes
from dalembert.analysis.gradients import zero_gradient
from dalembert.analysis.rational import exact
from dalembert.analysis.solvability import Equations, demanding
from dalembert.errors import InputError
from dalembert.linear_algebra import independent_rows
from dalembert.model import graph
from dalembert.model.constraint import Constraint
from dalembert.model.standard_form import StandardForm, standard_form, time_derivative
from dalembert.model.system import System, kind_of_object

LARGEST, LONGEST = 12, 150
"""Equations that depend on one another, and operations in them, above which null vectors are not looked for in symbols.
"""


@dataclass(frozen=True)
class Hidden:
    """The outcome of the search.

    system                  with the hidden constraints added
    constraints             those constraints, named "hidden 1", …
    data_before, data_after    free initial data: dimension of the states that the constraints allow; None if no such
                            state was found
    impossible              an expression that would have to vanish and cannot, if one came up
    given_up                why the search was given up, if it was: no state satisfies the constraints, or numbers show
                            that something is demanded which symbols do not find
    special                 whether the values of the parameters were needed: with others, less may be demanded
    forces                  how many of the system's constraints have a force: the hidden ones of K come after them
    point                   a state that satisfies all of them, if one was found
    """

    system: System
    constraints: tuple[Constraint, ...]
    data_before: int | None
    data_after: int | None
    impossible: Any
    given_up: str
    special: bool
    forces: int
    point: Point | None


def undecided(system: System) -> Hidden:
    """Nothing found yet."""
    return Hidden(system, (), None, None, None, "", special=False, forces=len(system.constraints), point=None)


def hidden_constraints(
    system: System, fixed: Fixed = Fixed(), near: Point | None = None, model: Model | None = None
) -> Hidden:
    """Search, differentiate, add, and search again.

    At random states, with random times and parameters unless they are fixed; where no such state is found, near a
    point. ``model`` is that of the system, for those who have it already.
    """
    if not isinstance(system, System):
        raise InputError(f"`system` must be a `da.System`, stated in symbols; got {kind_of_object(system)}.")
    found = undecided(system)
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
            # what was added last cannot be met; without any, it is the given constraints that cannot
            if found.constraints:
                return replace(found, impossible=found.constraints[-1].expression)
            return replace(found, given_up="no state that satisfies the constraints was found")
        # rows that are rounding error where the constraints hold demand nothing; rows that are zero do
        idle = zero_gradient(model, states) & model.terms(points[0]).A.any(axis=1)
        model = _without(model, idle)
        columns = found.forces - int(idle[: found.forces].sum())
        equations = next(demanding(model, columns, random_places(model, fixed) or points, points), None)
        if equations is None:
            return found
        told = _conditions(equations, model, fixed)
        if told.given_up:
            return replace(found, given_up=told.given_up)
        found = _with(found, told, model.form, kinematic=equations.kinematic)
        if found.impossible is not None:
            return found


def _with(found: Hidden, told: Conditions, form: StandardForm, *, kinematic: bool) -> Hidden:
    """What was found so far and some more conditions."""
    special = found.special or told.special
    impossible = next((h for h in told.expressions if not _has_state(h, form)), None)
    if impossible is not None:
        return replace(found, impossible=form.symbols.restore(impossible), special=special)
    # what constraints imply by themselves is as much a constraint as they are
    own = kinematic and found.forces == len(found.system.constraints)
    system, added = found.system, found.constraints
    for h in told.expressions:
        added = (*added, Constraint(form.symbols.restore(h), name=_name(system, len(added) + 1)))
        system = system.constrain(added[-1])
    forces = len(system.constraints) if own else found.forces
    return replace(found, system=system, constraints=added, special=special, forces=forces)


def _without(model: Model, rows: Any) -> Model:
    if not rows.any():
        return model
    names = ("constraint_matrix", "constraint_rhs", "position", "velocity")
    left = {name: tuple(compress(getattr(model.form, name), ~rows)) for name in names}
    return model_of(replace(model.form, **left), [symbol.name for symbol in model.parameters])


class Conditions(NamedTuple):
    """What linear equations demand of a state, whether only with the parameters' values, and why nothing was found."""

    expressions: tuple[Any, ...] = ()
    special: bool = False
    given_up: str = ""


def _conditions(equations: Equations, model: Model, fixed: Fixed) -> Conditions:
    """The conditions h = wᵀr, for all w with wᵀP = 0, that do not hold already, each as simple as it gets.

    Where the equations depend on one another only for the parameters given, or only where the constraints hold, these
    are put in.
    """
    demands = equations.demands()  # not all rows: null vectors of large matrices take long
    if any(_too_large(equations.of(rows)[0]) for rows in demands):
        return Conditions(given_up="the equations in question are too many or too long for symbols to find what")
    values = () if fixed.p is None else zip(model.parameters, fixed.p, strict=True)
    given = {symbol: sp.Rational(str(value)) for symbol, value in values}
    reason = "symbols did not find what"
    for rules, special in _rules(model.form, given):
        try:
            found = bounded(partial(_null_conditions, equations, demands, model, rules))
        except GivenUpError as trouble:
            reason = f"what is not shown: {trouble}"
            continue
        if found:
            return Conditions(tuple(found), special)
    return Conditions(given_up=reason)


def _too_large(matrix: Any) -> bool:
    return matrix.rows > LARGEST or sum(graph.operations(e) for e in matrix) > LONGEST


def _rules(form: StandardForm, given: dict[Any, Any]) -> Iterator[tuple[dict[Any, Any], bool]]:
    """What may be put into the equations, one after the other, and whether it contains the parameters' values."""
    yield {}, False
    yield _held(form, {}), False
    if given:
        yield given, True
        yield {**given, **_held(form, given)}, True


def _held(form: StandardForm, given: dict[Any, Any]) -> dict[Any, Any]:
    """Coordinates that position-level constraints give in terms of others, and their velocities."""
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


def _null_conditions(equations: Equations, demands: list[Any], model: Model, rules: dict[Any, Any]) -> list[Any]:
    found: list[Any] = []
    for rows in demands:
        matrix, right = (block.applyfunc(lambda e: graph.replace(exact(e), rules)) for block in equations.of(rows))
        for w in matrix.T.nullspace(simplify=sp.cancel):
            h = _numerator((w.T * right)[0, 0], model.form)
            if h != 0 and not _holds(h, model, equations.points) and h not in found:
                found.append(h)
    return found


def _numerator(h: Any, form: StandardForm) -> Any:
    """The part of a condition that a state can make vanish: without denominators and constant factors."""
    try:
        numerator, factors = bounded(lambda: _factored(h), seconds=1.0)
    except GivenUpError:
        numerator, factors = h, []
    about_state = [base for base, _ in factors if _has_state(base, form)]
    kept = sp.Mul(*about_state) if about_state else sp.Mul(*(base for base, _ in factors)) if factors else numerator
    kept = sp.expand(kept) if len(about_state) <= 1 else kept
    return -kept if kept.could_extract_minus_sign() else kept


def _factored(h: Any) -> tuple[Any, list[tuple[Any, int]]]:
    numerator = sp.fraction(sp.cancel(sp.together(sp.trigsimp(h))))[0]
    return numerator, sp.factor_list(numerator)[1]


def _holds(h: Any, model: Model, points: list[Point]) -> bool:
    value = model.function(h)
    return all(bool(abs(value(point)) <= 1e-8 * sizes(value, point)) for point in points)


def _has_state(h: Any, form: StandardForm) -> bool:
    return bool(graph.free_symbols(h) & {*form.symbols.q, *form.symbols.qd})


def _free_data(model: Model, point: Point) -> int:
    """2n less the rank of all that the constraints say about (q, q̇) at an admissible state."""
    return 2 * len(point.q) - len(independent_rows(state_slopes(model, point)))


def _name(system: System, number: int) -> str:
    taken = {*system.constraint_names, *system.coordinate_names}
    name = f"hidden {number}"
    while name in taken:
        name += "'"
    return name
