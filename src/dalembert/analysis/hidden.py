# SPDX-License-Identifier: BSD-3-Clause
"""Hidden constraints: what a singular saddle matrix silently demands of the initial data.

Notation: K (q̈, λ) = (Q, b) with K = [[M, −Aᵀ], [A, 0]]. Where a vector w satisfies wᵀK = 0, no motion exists unless
h = wᵀ(Q, b) = 0: a condition on coordinates and velocities that nobody stated. It is differentiated and added, which
may bring another one to light, until nothing new appears. (Lemos et al., equation 22.) What is added has no force of
its own, so that K grows a row [H, 0] but no column: a force would hide the next condition.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from dalembert.analysis.linear_facts import unit_rows
from dalembert.analysis.mass import own_units
from dalembert.analysis.numbers import Numbers, Point, levels_of, random_points, terms_of, without_spikes
from dalembert.errors import ConstraintError, InputError
from dalembert.model.constraint import Constraint
from dalembert.model.standard_form import StandardForm, gradient, standard_form
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


def hidden_constraints(system: System, p: Floats | None = None) -> Hidden:
    """Search, differentiate, add, and search again; at random parameters unless ``p`` gives them."""
    if not isinstance(system, System):
        raise InputError(f"`system` must be a `da.System`, stated in symbols; got {type(system).__name__}.")
    added: list[Constraint] = []
    before: int | None = None
    given = len(system.constraints)
    while True:
        form = standard_form(system)
        terms = terms_of(form, system.parameter_names)
        points = random_points(form, terms, len(system.parameter_names), p)
        data = _free_data(form, system, points[0]) if points else None
        before = data if not added else before
        if not points:
            # what was added last cannot be met; without any, it is the given constraints that cannot
            impossible = added[-1].expression if added else None
            return Hidden(system, tuple(added), before, data, impossible, decided=impossible is not None)
        if not any(_demands(terms(point), given) for point in points):
            return Hidden(system, tuple(added), before, data, None, decided=True)
        if _too_large(form):
            return Hidden(system, tuple(added), before, data, None, decided=False)
        conditions = _conditions(form, system, points, given)
        impossible = next((h for h in conditions if not _has_state(h, form)), None)
        if impossible is not None or not conditions:
            said = None if impossible is None else form.symbols.restore(impossible)
            return Hidden(system, tuple(added), before, data, said, decided=impossible is not None)
        for h in conditions:
            added.append(Constraint(form.symbols.restore(h), name=_name(system, len(added) + 1)))
            system = system.constrain(added[-1])


def _too_large(form: StandardForm) -> bool:
    entries = [e for block in (form.mass_matrix, form.constraint_matrix) for row in block for e in row]
    size = len(form.applied_force) + len(form.constraint_rhs)
    return size > LARGEST or sum(sp.count_ops(e) for e in entries) > LONGEST


def _demands(numbers: Numbers, given: int) -> bool:
    """Whether a null vector of K asks something of this state that the state does not meet."""
    K, right = _saddle(numbers, given)
    left, values, _ = np.linalg.svd(K)
    null = left[:, int((values > 1e-9 * values[0]).sum()) :]
    return bool((np.abs(null.T @ right) > 1e-8 * (1 + np.linalg.norm(right))).any())


def _saddle(numbers: Numbers, given: int) -> tuple[Floats, Floats]:
    """K and its right side, each coordinate in a unit of its own, constraint rows of unit length."""
    scale = own_units(numbers.M)
    A, b = unit_rows(numbers.A / scale, numbers.b)
    M = numbers.M / np.outer(scale, scale)
    K = np.block([[M, -A[:given].T], [A, np.zeros((len(b), given))]])
    return K, np.concatenate([numbers.Q / scale, b])


def _conditions(form: StandardForm, system: System, points: list[Point], given: int) -> list[Any]:
    """The conditions h that do not hold already, each as simple as it gets."""
    n, m = len(form.applied_force), len(form.constraint_rhs)
    M = sp.Matrix(form.mass_matrix)
    A: Any = sp.Matrix(m, n, [e for row in form.constraint_matrix for e in row])
    K: Any = M.row_join(-A[:given, :].T).col_join(A.row_join(sp.zeros(m, given)))
    right = sp.Matrix([*form.applied_force, *form.constraint_rhs])
    found: list[Any] = []
    for w in K.T.nullspace(simplify=sp.cancel):
        h = _numerator((w.T * right)[0, 0], form)
        if h != 0 and not _holds(h, form, system, points) and h not in found:
            found.append(h)
    return found


def _numerator(h: Any, form: StandardForm) -> Any:
    """The part of a condition that a state can make vanish: without denominators and constant factors."""
    numerator = sp.fraction(sp.cancel(sp.together(sp.trigsimp(h))))[0]
    _, factors = sp.factor_list(numerator)
    about_state = [base for base, _ in factors if _has_state(base, form)]
    kept = sp.Mul(*about_state) if about_state else sp.Mul(*(base for base, _ in factors)) if factors else numerator
    kept = sp.expand(kept) if len(about_state) <= 1 else kept
    return -kept if kept.could_extract_minus_sign() else kept


def _holds(h: Any, form: StandardForm, system: System, points: list[Point]) -> bool:
    names = [sp.Symbol(name, real=True) for name in system.parameter_names]
    function = sp.lambdify((form.symbols.q, form.symbols.qd, form.symbols.time, names), h, modules=["numpy", "scipy"])
    return all(abs(function(*point)) < 1e-8 * (1 + np.abs(point.q).max() + np.abs(point.qd).max()) for point in points)


def _has_state(h: Any, form: StandardForm) -> bool:
    return bool(h.free_symbols & {*form.symbols.q, *form.symbols.qd})


def _free_data(form: StandardForm, system: System, point: Point) -> int:
    """2n less the rank of all that the constraints say about (q, q̇) at an admissible state."""
    position, velocity = levels_of(form)
    said = [form.position[i] for i in position] + [form.velocity[i] for i in velocity]
    n = len(form.applied_force)
    if not said:
        return 2 * n
    variables = (*form.symbols.q, *form.symbols.qd)
    names = [sp.Symbol(name, real=True) for name in system.parameter_names]
    arguments = (form.symbols.q, form.symbols.qd, form.symbols.time, names)
    rows = without_spikes(tuple(gradient(e, variables) for e in said))
    slopes = sp.lambdify(arguments, rows, modules=["numpy", "scipy"], cse=True)
    J = np.asarray(slopes(*point), float)
    length = np.linalg.norm(J, axis=1)
    return 2 * n - int(np.linalg.matrix_rank(J / np.where(length > 0, length, 1.0)[:, None], tol=1e-8))


def _name(system: System, number: int) -> str:
    taken = {*system.constraint_names, *system.coordinate_names}
    name = f"hidden {number}"
    while name in taken:
        name += "'"
    return name
