# SPDX-License-Identifier: BSD-3-Clause
"""`da.classify`: the kind of every constraint of a system, and the joint integrals of all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import sympy as sp

from dalembert.analysis.bounded import SymbolicLimitError, bounded
from dalembert.analysis.constraint_kinds import ConstraintKind, Kind, kind_of
from dalembert.analysis.derived_flag import Flag, Pfaffian, derived_flag
from dalembert.analysis.evaluated_terms import Model, Point, model_of
from dalembert.analysis.joint_integrals import ExactFlag, independent, joint_integrals
from dalembert.analysis.rational import NotRationalError, exact
from dalembert.analysis.sampled_states import Generic, generic_points
from dalembert.analysis.symbolic_errors import report_symbolic_errors
from dalembert.common.notebook_html import block, preformatted
from dalembert.errors import ConstraintError, InputError
from dalembert.model import graph
from dalembert.model.abrupt_functions import KINKED_OR_JUMPING
from dalembert.model.ordering import quoted
from dalembert.model.standard_form import gradient, standard_form
from dalembert.model.symbols import StateSymbols
from dalembert.model.system import System, kind_of_object
from dalembert.numerics.linear_algebra import independent_rows

_FLAG_POINTS = 3
"""Random points at which the derived flag is computed; the largest flag is the generic one."""
_KINKED_FLAG_POINTS = 16
"""The same where functions have kinks or jumps: a constraint may be integrable in one region and not in another."""
KINKED_NOTE = (
    "functions with kinks or jumps: ranks and the flag are those at some random states, and may differ at others."
)
_FEW_SURFACES = 4
"""Position-level constraints up to which the rank of their gradients is confirmed symbolically."""
_LONGEST_INTEGRAL = 60
"""Characters of an integral that are printed in the table."""


class DegreesOfFreedom(NamedTuple):
    """The numbers of free coordinates and of free velocities.

    position    n less the number of joint integrals: the dimension of the configurations that can be reached
    velocity    n less the rank of A: the dimension of the virtual displacements
    """

    position: int
    velocity: int


@dataclass(frozen=True)
class Classification:
    """The constraints of a system, one by one and together.

    constraints           one row per constraint: ``.name .level .holonomic .scleronomic .catastatic
                          .linear_in_velocity .integral .numerical .remark``
    derived_flag          dimensions of I⁽⁰⁾ ⊇ I⁽¹⁾ ⊇ …, the Pfaffian system of all position- and velocity-level
                          constraints and its derived systems; the last dimension is the number of joint integrals
    integrals             independent joint integrals that were found, in the symbols of the model
    degrees_of_freedom    ``.position`` and ``.velocity``
    numerical             whether the flag was computed at random points only and not confirmed symbolically
    notes                 further remarks, one sentence each
    """

    constraints: tuple[ConstraintKind, ...]
    derived_flag: tuple[int, ...]
    integrals: tuple[Any, ...]
    degrees_of_freedom: DegreesOfFreedom
    numerical: bool
    notes: tuple[str, ...]
    coordinates: tuple[Any, ...]

    def __str__(self) -> str:
        return "\n".join([*_table(self), *_joint_facts(self), *(f"Note: {note}" for note in self.notes)])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return block(preformatted(str(self)))


@report_symbolic_errors
def classify(system: System) -> Classification:
    """Classify the constraints of a system, one by one and together.

    A constraint linear in velocity is a Pfaffian form ω = Σ aᵢ dqᵢ + a₀ dt, time counting as one more variable. It is
    holonomic iff ω ∧ dω = 0 (Frobenius). For several constraints together, the derived flag gives the number of joint
    integrals: I⁽ᵏ⁺¹⁾ = {ω in I⁽ᵏ⁾ : dω ≡ 0 mod I⁽ᵏ⁾}. Parameters are constants.

    Raises
    ------
    InputError         if ``system`` is not a ``da.System``
    ConstraintError    if no state is found at which the constraints are real and finite

    Notes
    -----
    Ranks are computed with 50 digits at random states that satisfy the constraints, with random positive parameters.
    Every integral is verified by differentiation. The search for integrals uses integrating factors that do not depend
    on one of the variables, or that are products of functions of one variable each. If an integral exists but the
    search does not find it, ``holonomic`` is true and ``integral`` is None. A constraint nonlinear in velocity is
    decided only if it is a power of a linear one, and a constraint on accelerations only if its first integral is
    found. Of these, only the powers of linear constraints are part of the flag.

    Examples
    --------
    >>> import sympy as sp, dalembert as da
    >>> x, y, z = da.coordinates("x y z")
    >>> leaf = da.Constraint(x.diff(da.t) + 2 * y * y.diff(da.t) + z.diff(da.t) - 1, name="leaf")
    >>> found = da.classify(da.System((x, y, z), sp.eye(3), (0, 0, 0), leaf))
    >>> found.constraints[0].holonomic, found.constraints[0].integral
    (True, -t + x(t) + y(t)**2 + z(t))
    >>> found.degrees_of_freedom
    DegreesOfFreedom(position=2, velocity=2)
    """
    if not isinstance(system, System):
        raise InputError(
            f"`system` must be a `da.System`, stated in symbols; got {kind_of_object(system)}. "
            f"State its constraints as `da.Constraint` to have them classified."
        )
    symbols = system.symbols
    kinds = [kind_of(constraint, symbols) for constraint in system.constraints]
    model = _kinematics(system)
    kinked = any(graph.has_kind(constraint.expression, *KINKED_OR_JUMPING) for constraint in system.constraints)
    states = generic_points(model, _KINKED_FLAG_POINTS if kinked else _FLAG_POINTS)
    if not states:
        raise _undefined(system)
    pfaffian = _pfaffian(system, kinds, on_positions=states[0].on_positions)
    # a special point can only lower the dimensions, so the largest flag is the generic one
    flag = max(derived_flag(pfaffian, _values(model, state.point)) for state in states)
    exact_flag, flag_notes = _exact_flag(pfaffian)
    flag = _decided(pfaffian, flag, exact_flag)
    integrals, integral_notes = _integrals(kinds, pfaffian, flag, exact_flag, _values(model, states[0].point))
    # the rank at a special point is lower than the generic one
    rank = max(len(independent_rows(model.terms(state.point).A)) for state in states)
    # dt counts as an integral of the flag, but determines no coordinate
    n, fixed = len(system.coordinates), flag.dimensions[-1] - flag.stops_time
    return Classification(
        constraints=tuple(kind.row for kind in kinds),
        derived_flag=flag.dimensions,
        integrals=tuple(symbols.restore(f) for f in integrals),
        degrees_of_freedom=DegreesOfFreedom(n - fixed, n - rank),
        numerical=not _certain(pfaffian, flag, exact_flag),
        notes=(*_notes(kinds, flag, states), *flag_notes, *integral_notes, *([KINKED_NOTE] if kinked else [])),
        coordinates=system.coordinates,
    )


def _kinematics(system: System) -> Model:
    """Return the model of the constraints alone; masses and forces are zero, since they need not be defined."""
    n = len(system.coordinates)
    nothing = {"mass_matrix": ((sp.S.Zero,) * n,) * n, "applied_force": (sp.S.Zero,) * n}
    return model_of(replace(standard_form(system), **nothing), system.parameter_names)


def _values(model: Model, point: Point) -> dict[Any, float]:
    symbols = model.form.symbols
    names = (*symbols.q, *symbols.qd, symbols.time, *model.parameters)
    return dict(zip(names, map(float, (*point.q, *point.qd, point.t, *point.p)), strict=True))


def _undefined(system: System) -> ConstraintError:
    """Return the error for constraints that have no real and finite value at any state.

    It names those that have none on their own, or all constraints if only their combination has none.
    """
    names = system.constraint_names
    alone = [replace(system, constraints=(constraint,)) for constraint in system.constraints]
    # one by one only after failure: it costs a search for each constraint
    undefined = [n for n, part in zip(names, alone, strict=True) if not generic_points(_kinematics(part), 1)] or names
    return ConstraintError(
        f"the constraints must be real and finite at some state; none was found for {quoted(undefined)}. Look for a "
        f"root or logarithm of a negative number, or an angle whose sine or cosine exceeds one."
    )


def _pfaffian(system: System, kinds: Sequence[Kind], *, on_positions: bool) -> Pfaffian:
    """Return the Pfaffian system: velocity-level forms on the surfaces of the position-level constraints.

    If no point on the surfaces is known, their differentials are used as further forms.
    """
    symbols = system.symbols
    variables = (*symbols.q, symbols.time)
    surfaces = [exact(symbols.plain(c.expression)) for c in system.constraints if c.level == "position"]
    forms = [kind.form for kind in kinds if kind.form is not None]
    if on_positions:
        return Pfaffian(variables, tuple(forms), tuple(surfaces))
    return Pfaffian(variables, (*forms, *(gradient(phi, variables) for phi in surfaces)))


def _exact_flag(pfaffian: Pfaffian) -> tuple[ExactFlag | None, list[str]]:
    """Return the derived flag computed symbolically, and notes; None if the computation takes too long.

    The differentials of the surfaces are used as forms, which gives the flag on all their level sets at once.
    """
    if not pfaffian.forms and len(pfaffian.surfaces) > _FEW_SURFACES:
        return None, []  # exact differentials are closed: only the rank of a large matrix would be confirmed
    forms = [*pfaffian.forms, *(gradient(phi, pfaffian.variables) for phi in pfaffian.surfaces)]
    try:
        return bounded(lambda: _flag_by_symbols(forms, pfaffian.variables)), []
    except SymbolicLimitError as error:
        return None, [f"the derived flag is not confirmed by symbols: {error}."]


def _flag_by_symbols(forms: Sequence[Any], variables: Sequence[Any]) -> ExactFlag | None:
    try:
        return ExactFlag(forms, variables)
    except NotRationalError:
        return None


def _decided(pfaffian: Pfaffian, flag: Flag, exact_flag: ExactFlag | None) -> Flag:
    """Return the symbolic flag where it applies to the same system, otherwise the numerical one.

    A coefficient of 1e-25 is zero to the numerical flag, but not to the symbolic one.
    """
    if exact_flag is None or pfaffian.surfaces or tuple(exact_flag.dimensions) == flag.dimensions:
        return flag
    # the row of dt itself: the forms then imply that time stands still
    last = (*(sp.S.Zero,) * (len(pfaffian.variables) - 1), sp.S.One)
    return Flag(tuple(exact_flag.dimensions), any(tuple(row) == last for row in exact_flag.rows))


def _certain(pfaffian: Pfaffian, flag: Flag, exact_flag: ExactFlag | None) -> bool:
    """Return True if the flag is certain: values can prove that a term is nonzero, only symbols that it is zero."""
    if exact_flag is not None:
        return tuple(exact_flag.dimensions) == flag.dimensions
    return not pfaffian.forms and flag.dimensions == (len(pfaffian.surfaces),)


def _integrals(
    kinds: Sequence[Kind], pfaffian: Pfaffian, flag: Flag, exact_flag: ExactFlag | None, values: Mapping[Any, float]
) -> tuple[list[Any], list[str]]:
    """Return independent joint integrals, those of single constraints first, and notes on missing ones."""
    functions = independent([kind.integral for kind in kinds if kind.integral is not None], pfaffian, values)
    # no search is needed where integrals of single constraints are as many as the flag has
    if len(functions) == flag.dimensions[-1] or exact_flag is None or flag.stops_time:
        return functions, []
    try:
        more = bounded(lambda: joint_integrals(exact_flag, pfaffian.variables))
    except SymbolicLimitError as error:
        return functions, [f"joint integrals beyond those of single constraints are not shown: {error}."]
    return independent([*functions, *more], pfaffian, values), []


def _notes(kinds: Sequence[Kind], flag: Flag, states: Sequence[Generic]) -> list[str]:
    notes: list[str] = []
    if not states[0].on_positions:
        notes.append("no position that satisfies the position-level constraints was found; ranks are those nearby.")
    elif not states[0].on_velocities:
        notes.append("no velocity that satisfies the constraints was found; the rank of A is that at random ones.")
    if flag.stops_time:
        notes.append("at a general position the constraints leave no motion: together they imply dt = 0.")
    if any(kind.form is None and kind.row.level != "position" for kind in kinds):
        names = ", ".join(f"`{k.row.name}`" for k in kinds if k.form is None and k.row.level != "position")
        notes.append(f"not in the flag, because not a Pfaffian form: {names}.")
    return notes


def _table(found: Classification) -> list[str]:
    heads = ("constraint", "level", "holonomic", "scleronomic", "catastatic", "linear", "integral")
    rows = [heads, *(_cells(row, found.coordinates) for row in found.constraints)]
    widths = [max(len(row[k]) for row in rows) for k in range(len(heads))]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    remarks = [f"{row.name}: {row.remark}" for row in found.constraints if row.remark]
    return [*(lines if found.constraints else ["no constraints"]), *remarks]


def _cells(row: ConstraintKind, coordinates: tuple[Any, ...]) -> tuple[str, ...]:
    answers = (row.holonomic, row.scleronomic, row.catastatic, row.linear_in_velocity)
    words = ["not decided" if v is None else "yes" if v else "no" for v in answers]
    # a numerical decision is marked, because symbols have not proved it
    words[0] += " (by numbers)" if row.numerical else ""
    return (row.name, row.level, *words, _integral_text(row, coordinates))


def _integral_text(row: ConstraintKind, coordinates: tuple[Any, ...]) -> str:
    if row.integral is None:
        return "not found" if row.holonomic else "-"
    text = StateSymbols(coordinates).readable(row.integral)
    text = text if len(text) <= _LONGEST_INTEGRAL else f"{text[: _LONGEST_INTEGRAL - 1]}…"
    return f"{text} = {'0' if row.level == 'position' else 'const'}"


def _joint_facts(found: Classification) -> list[str]:
    count, known = found.derived_flag[-1], len(found.integrals)
    single = [row.integral for row in found.constraints]
    texts = [StateSymbols(found.coordinates).readable(f) for f in found.integrals if f not in single]
    flag = " > ".join(map(str, found.derived_flag)) + (" (by numbers)" if found.numerical else "")
    freedom = found.degrees_of_freedom
    return [
        f"derived flag: {flag}",
        f"integrals of the constraints taken together: {count}" + (f", found {known}" if count != known else ""),
        *(f"  {text} = const" for text in texts if len(text) <= 2 * _LONGEST_INTEGRAL),
        f"degrees of freedom: {freedom.position} in position, {freedom.velocity} in velocity",
    ]
