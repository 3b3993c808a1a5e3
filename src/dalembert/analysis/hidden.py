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

from dataclasses import dataclass, replace
from itertools import compress, islice
from typing import Any

import sympy as sp

from dalembert.analysis.demands import Equations, demanding
from dalembert.analysis.linear_facts import independent_rows
from dalembert.analysis.numbers import Model, Point, model_of, sizes
from dalembert.analysis.refusal import in_words
from dalembert.analysis.states import ENOUGH, moved, powerless, random_starts, random_states, state_slopes, states_near
from dalembert.errors import ConstraintError, InputError
from dalembert.model.constraint import Constraint
from dalembert.model.standard_form import StandardForm, standard_form
from dalembert.model.system import System
from dalembert.model.values import Floats

LARGEST, LONGEST = 12, 150
"""Coordinates and constraints together, and operations in K, above which null vectors are not looked for in symbols."""


@dataclass(frozen=True)
class Hidden:
    """The outcome of the search.

    system                  with the hidden constraints added
    constraints             those constraints, named "hidden 1", …
    data_before, data_after    free initial data: dimension of the states that the constraints allow; None if no such
                            state was found
    impossible              an expression that would have to vanish and cannot, if one came up
    decided                 False where the search was given up: no state satisfies the constraints, or numbers show
                            that something is demanded which symbols do not find
    """

    system: System
    constraints: tuple[Constraint, ...]
    data_before: int | None
    data_after: int | None
    impossible: Any
    decided: bool


@in_words
def reduce(system: System) -> System:
    """The system with its hidden constraints added, ready to simulate.

    Raises
    ------
    InputError         if ``system`` is not stated in symbols
    ConstraintError    if a hidden condition cannot be met by any state

    Examples
    --------
    >>> import dalembert as da
    >>> x, y = da.coordinates("x y")
    >>> L = x.diff(da.t)**2 / 2 + y * (x - 1)   # y has no mass: it is a multiplier in disguise
    >>> da.reduce(da.System.from_lagrangian(L, (x, y))).constraint_names
    ('hidden 1', 'hidden 2')
    """
    found = hidden_constraints(system)
    if found.impossible is not None:
        raise ConstraintError(
            f"the constraints must leave some motion possible; they imply `{found.impossible} = 0`. "
            f"`da.check(system)` says more."
        )
    if not found.decided:
        raise ConstraintError(
            "the hidden constraints must be found to be added; the search was given up. "
            "`da.check(system)` says what is known."
        )
    return found.system


def hidden_constraints(
    system: System, p: Floats | None = None, near: Point | None = None, model: Model | None = None
) -> Hidden:
    """Search, differentiate, add, and search again.

    At random states, with random parameters unless ``p`` gives them; where no such state is found, near a point.
    ``model`` is that of the system, for those who have it already.
    """
    if not isinstance(system, System):
        raise InputError(f"`system` must be a `da.System`, stated in symbols; got {type(system).__name__}.")
    added: list[Constraint] = []
    before: int | None = None
    forces = len(system.constraints)
    while True:
        model = model_of(standard_form(system), system.parameter_names) if model is None or added else model
        states = random_states(model, p) or ([] if near is None else states_near(model, near))
        points = [state.point for state in states]
        data = _free_data(model, points[0]) if points else None
        before = data if not added else before
        if not points:
            # what was added last cannot be met; without any, it is the given constraints that cannot
            impossible = added[-1].expression if added else None
            return Hidden(system, tuple(added), before, data, impossible, decided=impossible is not None)
        # rows that are rounding error where the constraints hold demand nothing; rows that are zero do
        idle = powerless(model, states) & model.terms(points[0]).A.any(axis=1)
        model = _without(model, idle)
        columns = forces - int(idle[:forces].sum())
        equations = next(demanding(model, columns, _places(model, p) or points, points), None)
        if equations is None:
            return Hidden(system, tuple(added), before, data, None, decided=True)
        if _too_large(model.form):
            return Hidden(system, tuple(added), before, data, None, decided=False)
        conditions = _conditions(equations, model)
        impossible = next((h for h in conditions if not _has_state(h, model.form)), None)
        if impossible is not None or not conditions:
            said = None if impossible is None else model.form.symbols.restore(impossible)
            return Hidden(system, tuple(added), before, data, said, decided=impossible is not None)
        if equations.kinematic and forces == len(system.constraints):
            forces += len(conditions)  # what constraints imply by themselves is as much a constraint as they are
        for h in conditions:
            added.append(Constraint(model.form.symbols.restore(h), name=_name(system, len(added) + 1)))
            system = system.constrain(added[-1])


def _without(model: Model, rows: Any) -> Model:
    if not rows.any():
        return model
    names = ("constraint_matrix", "constraint_rhs", "position", "velocity")
    left = {name: tuple(compress(getattr(model.form, name), ~rows)) for name in names}
    return model_of(replace(model.form, **left), [symbol.name for symbol in model.parameters])


def _places(model: Model, p: Floats | None) -> list[Point]:
    """A few random positions that the constraints allow, whether or not they allow velocities there."""
    placed = (moved(model, start, model.position, "q") for start in random_starts(model, p))
    return [state.point for state in islice(filter(None, placed), ENOUGH)]


def _too_large(form: StandardForm) -> bool:
    entries = [e for block in (form.mass_matrix, form.constraint_matrix) for row in block for e in row]
    size = len(form.applied_force) + len(form.constraint_rhs)
    return size > LARGEST or sum(sp.count_ops(e) for e in entries) > LONGEST


def _conditions(equations: Equations, model: Model) -> list[Any]:
    """The conditions h = wᵀr, for all w with wᵀP = 0, that do not hold already, each as simple as it gets."""
    found: list[Any] = []
    vectors = (
        (w, equations.right.extract(list(rows), [0]))
        for rows in equations.demands()  # not all rows: null vectors of large matrices take long
        for w in equations.matrix.extract(list(rows), list(range(equations.matrix.cols))).T.nullspace(
            simplify=sp.cancel
        )
    )
    for w, right in vectors:
        h = _numerator((w.T * right)[0, 0], model.form)
        if h != 0 and not _holds(h, model, equations.points) and h not in found:
            found.append(h)
    return found


def _numerator(h: Any, form: StandardForm) -> Any:
    """The part of a condition that a state can make vanish: without denominators and constant factors."""
    numerator = sp.fraction(sp.cancel(sp.together(sp.trigsimp(h))))[0]
    factors = sp.factor_list(numerator)[1]
    about_state = [base for base, _ in factors if _has_state(base, form)]
    kept = sp.Mul(*about_state) if about_state else sp.Mul(*(base for base, _ in factors)) if factors else numerator
    kept = sp.expand(kept) if len(about_state) <= 1 else kept
    return -kept if kept.could_extract_minus_sign() else kept


def _holds(h: Any, model: Model, points: list[Point]) -> bool:
    value = model.function(h)
    return all(bool(abs(value(point)) <= 1e-8 * sizes(value, point)) for point in points)


def _has_state(h: Any, form: StandardForm) -> bool:
    return bool(h.free_symbols & {*form.symbols.q, *form.symbols.qd})


def _free_data(model: Model, point: Point) -> int:
    """2n less the rank of all that the constraints say about (q, q̇) at an admissible state."""
    return 2 * len(point.q) - len(independent_rows(state_slopes(model, point)))


def _name(system: System, number: int) -> str:
    taken = {*system.constraint_names, *system.coordinate_names}
    name = f"hidden {number}"
    while name in taken:
        name += "'"
    return name
