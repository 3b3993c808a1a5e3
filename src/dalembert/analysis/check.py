# SPDX-License-Identifier: BSD-3-Clause
"""Is the question well posed? One verdict on a system, at a state or in general."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.analysis.check_context import CheckContext, values_in
from dalembert.analysis.conflict_findings import conflict_findings
from dalembert.analysis.constraint_states import (
    Fixed,
    Settled,
    random_places,
    random_starts,
    states_near,
    typical_states,
    yielded_states,
)
from dalembert.analysis.direction_text import spoken
from dalembert.analysis.evaluated_terms import Model, Point, model_of
from dalembert.analysis.feasibility import LEVELS
from dalembert.analysis.gradients import degenerate_rows, void_rows, without_rounding, zero_gradient
from dalembert.analysis.hidden_constraints import Hidden, hidden_constraints, undecided
from dalembert.analysis.saddle_findings import determinant, hidden_findings, open_directions
from dalembert.analysis.singular_places import singular_places
from dalembert.analysis.solvability import motion_equations
from dalembert.analysis.symbolic_errors import in_words
from dalembert.analysis.verdict import Finding, FreeData, Verdict
from dalembert.analysis.violations import violations
from dalembert.errors import InputError
from dalembert.linear_algebra import dependencies, determined, independent_rows, rank_gap
from dalembert.mass import MassKind, mass_kind
from dalembert.model.input_values import parameter_values, scalar_value, state_values
from dalembert.model.ordering import quoted
from dalembert.model.standard_form import standard_form
from dalembert.model.system import System, kind_of_object
from dalembert.terms import Terms
from dalembert.violation import computable


@in_words
def check(
    system: System,
    q: Any = None,
    qd: Any = None,
    t: float | None = None,
    *,
    parameters: Any = None,
    allow_violation: bool = False,
) -> Verdict:
    """A verdict on whether a question of constrained motion is well posed.

    With a state: whether it satisfies the constraints, and what holds there. Without one: what holds in general, judged
    at random states that satisfy the constraints, with random positive parameters and times unless they are given.

    Parameters
    ----------
    q, qd         coordinates and velocities, as a sequence or a mapping by name; both or neither
    t             time; zero if left out with a state, random without one
    parameters    a value for every constant of the model; needed with a state
    allow_violation    as for ``da.simulate``: a state off the constraints is meant, and no trouble

    Raises
    ------
    InputError    if ``system`` is not stated in symbols; missing, unknown, misshapen or non-finite numbers

    Examples
    --------
    >>> import dalembert as da
    >>> x, y = da.coordinates("x y")
    >>> rods = [da.Constraint(x**2 + y**2 - c, name=f"rod {c}") for c in (1, 2)]
    >>> verdict = da.check(da.System((x, y), [[1, 0], [0, 1]], (0, -10), rods), (1, 0), (0, 0))
    >>> verdict.well_posed
    False
    >>> [conflict.names for conflict in verdict.conflicts]
    [('rod 1', 'rod 2')]
    """
    if not isinstance(system, System):
        raise InputError(f"`system` must be a `da.System`, stated in symbols; got {kind_of_object(system)}.")
    if (q is None) != (qd is None):
        raise InputError("`q` and `qd` must be given together, or neither of them.")
    model = model_of(standard_form(system), system.parameter_names)
    p = None if parameters is None and q is None else np.array(parameter_values(system.parameter_names, parameters))
    time = None if t is None else float(scalar_value(t, "t"))
    fixed, notes = Fixed(p, time), []
    if q is None or p is None:
        around, notes = _states_anywhere(model, fixed)
        point = around[0].point if around else next(random_starts(model, fixed), None)
        fixed = Fixed(point.p, point.t) if notes and point is not None else fixed
    else:
        names = system.coordinate_names
        point = Point(state_values(names, q, "q"), state_values(names, qd, "qd"), time or 0.0, p)
        fixed = Fixed(p, point.t)
        around = states_near(model, point)
    if point is None:
        return _unknown("no state was found at which all terms are real and finite.")
    numbers = model.terms(point)
    if not numbers.is_finite:
        return _not_finite(numbers)
    numbers = without_rounding(model, numbers, around)
    context = CheckContext(system, model, point, numbers, around, q is not None, fixed)
    return _verdict(context, notes, allow_violation=allow_violation)


def _states_anywhere(model: Model, fixed: Fixed) -> tuple[list[Settled], list[Finding]]:
    """Random states on the constraints, and a word about the values they need if not any will do."""
    states = typical_states(model, random_starts(model, fixed))
    if states:
        return states, []
    states = yielded_states(model, fixed)
    if not states:
        return [], []
    said = values_in(model, states[0].point, range(len(model.form.position)), fixed)
    message = f"No state satisfies the constraints with the values tried first; judged at {said}, where some do."
    return states, [Finding("parameters", message)]


def _not_finite(numbers: Terms) -> Verdict:
    names = ("mass_matrix", "applied_force", "constraint_matrix", "constraint_rhs", "position", "velocity")
    bad = [name for name, array in zip(names, numbers, strict=True) if not computable(array).all()]
    return _unknown(f"{quoted(bad)} must be finite there; look for a division by zero or a root of a negative number.")


def _unknown(message: str) -> Verdict:
    return Verdict((Finding("terms", message, True),), {}, "unknown", 0, 0.0, 0, {}, (), {}, (), None, None)


def _verdict(context: CheckContext, findings: list[Finding], *, allow_violation: bool) -> Verdict:
    system, model, numbers = context.system, context.model, context.numbers
    given = context.point if context.given else None
    degenerate = _degenerate_place(context, findings)
    # what is hidden is the same at all times: a given one may be too special to show it
    search = context.fixed._replace(t=None) if context.given else context.fixed
    hidden = undecided(system) if degenerate else hidden_constraints(system, search, given, model)
    whole = model_of(standard_form(hidden.system), system.parameter_names) if hidden.constraints else model
    conflicts, told = conflict_findings(context, whole, LEVELS[:1] if degenerate else LEVELS)
    findings.extend(told)
    if hidden.data_before is None and not conflicts and not degenerate:
        message = "No state that satisfies the constraints was found: give one, or parameters that allow one."
        findings.append(Finding("state", message, True))
    missed: dict[Any, float] = {}
    if given is not None:  # a random state is on the constraints by construction
        missed, told = violations(model, context.point, context.names, conflicts, meant=allow_violation)
        findings.extend(told)
    kind = mass_kind(numbers.M)
    loose = _loose(context, hidden, whole) if kind.kind != "positive definite" else []
    findings.extend(loose)
    _mass(context, kind, findings, solvable=not loose and hidden.impossible is None)
    kept = independent_rows(numbers.scaled_rows)
    findings.append(Finding("freedom", _freedom(len(system.coordinates), len(context.names), len(kept))))
    redundant = _redundant(context, findings, regular=not degenerate)
    if not degenerate:  # where it is, what the gradients demand is rounding
        if context.given:
            _singular_place(context, findings)
        findings.extend(hidden_findings(hidden, system.symbols, whole, given))
    data = None
    if hidden.data_before is not None and hidden.data_after is not None:
        data = FreeData(hidden.data_before, hidden.data_after)
    return Verdict(
        findings=tuple(findings),
        violations=missed,
        mass_matrix=kind.kind,
        rank=len(kept),
        rank_gap=rank_gap(numbers.scaled_rows),
        degrees_of_freedom=len(system.coordinates) - len(kept),
        redundant=redundant,
        conflicts=conflicts,
        unique_multipliers=dict(zip(context.names, determined(numbers.scaled_rows), strict=True)),
        hidden_constraints=tuple(constraint.expression for constraint in hidden.constraints),
        free_data=data,
        saddle_determinant=determinant(model.form, kept),
    )


def _loose(context: CheckContext, hidden: Hidden, whole: Model) -> list[Finding]:
    """Accelerations that masses and constraints, stated or hidden, do not determine, or that cannot be."""
    if hidden.impossible is not None:
        return []
    names = context.system.coordinate_names
    if hidden.constraints:
        return [] if hidden.point is None else open_directions(whole.terms(hidden.point), hidden.forces, names)
    found = open_directions(context.numbers, hidden.forces, names)
    if context.given:
        numbers, n = context.numbers, len(names)
        equations = motion_equations(context.model, len(numbers.b), [context.point])
        off = [names[i] for rows in equations.demands() for i in rows if i < n]
        if off:
            message = (
                f"No acceleration satisfies the equations of motion of {quoted(dict.fromkeys(off))} at this state."
            )
            found.append(Finding("acceleration", message, True))
    return found


def _mass(context: CheckContext, found: MassKind, findings: list[Finding], *, solvable: bool) -> None:
    message = f"The mass matrix is {found.kind}"
    if found.direction is not None:
        message += f" along {spoken(found.direction, context.system.coordinate_names)}"
        remedy = "da.SingularMass()" if found.kind == "singular" else "da.Multipliers()"
        message += f"; `formulation={remedy}` can take that" if solvable else ""
    findings.append(Finding("mass matrix", f"{message}.", found.kind == "not symmetric"))
    places = singular_places(context.model.form)
    for place in places.loci:
        how = "changes its sign" if place.changes_sign else "is singular"
        findings.append(Finding("mass matrix", f"It {how} where {place.equation}."))
    if places.not_shown:
        message = f"Terms suggest that it is singular at some states; where is not shown: {places.not_shown}."
        findings.append(Finding("mass matrix", message))


def _redundant(context: CheckContext, findings: list[Finding], *, regular: bool) -> dict[str, dict[str, float]]:
    A, names = context.numbers.scaled_rows, context.names
    found = {names[i]: {names[k]: c for k, c in parts.items()} for i, parts in dependencies(A).items()}
    idle = [name for name, off in zip(names, zero_gradient(context.model, context.around), strict=True) if off]
    empty = {names[i] for i in void_rows(context.model, context.fixed)} if idle else set()
    for name in idle:
        if name in empty:
            findings.append(Finding("redundant", f"`{name}` says nothing: it holds at every state."))
            continue
        message = (
            f"`{name}` has no gradient of its own wherever it holds, so that no force can keep it; state what it "
            f"amounts to instead, as x = 0 for x² = 0."
        )
        findings.append(Finding("gradient", message, True))
    for name, parts in found.items():
        if name not in idle and regular:  # else its gradient follows from others, but not what it says
            findings.append(Finding("redundant", f"`{name}` {_made_of(parts)}."))
    open_ones = [n for n, row, unique in zip(names, A, determined(A), strict=True) if not unique and row.any()]
    if open_ones:
        told = f"The multipliers of {_few(open_ones)} are not unique: these constraints can share their load."
        findings.append(Finding("multipliers", told))
    return found


MOST_NAMES = 8
"""Constraints that are named one by one in a sentence."""


def _few(names: list[str]) -> str:
    more = len(names) - MOST_NAMES
    return quoted(names) if more <= 0 else f"{quoted(names[:MOST_NAMES])} and {more} more"


def _freedom(coordinates: int, constraints: int, rank: int) -> str:
    free = coordinates - rank
    said = f"{free} degree{'s' * (free != 1)} of freedom: {coordinates} coordinate{'s' * (coordinates != 1)}"
    return f"{said}, constraints of rank {rank}." if constraints else f"{said}, no constraints."


def _made_of(parts: dict[str, float]) -> str:
    if not parts:
        return "has no gradient there"
    if len(parts) > MOST_NAMES:
        return f"follows from {_few(list(parts))}"
    terms = [
        f"{'-' if c < 0 else '+'} {'' if abs(abs(c) - 1) < 1e-9 else f'{abs(c):.3g} × '}`{n}`" for n, c in parts.items()
    ]
    return "follows from " + " ".join(terms).removeprefix("+ ")


def _degenerate_place(context: CheckContext, findings: list[Finding]) -> bool:
    """Whether the constraints leave less freedom than their gradients show, at the state or wherever they hold."""
    model = context.model
    if zero_gradient(model, context.around).any():
        return False
    anywhere = [state.point for state in context.around] or random_places(model, context.fixed)
    rows = degenerate_rows(model, [context.point] if context.given else anywhere)
    if rows:
        where = "at this state" if context.given else "wherever they hold"
        message = (
            f"{quoted(context.names[i] for i in rows)} are degenerate {where}: they leave less freedom than their "
            f"gradients show, so that neither accelerations nor forces follow from them. State in other words, by "
            f"constraints with independent gradients, what they leave."
        )
        findings.append(Finding("singular configuration", message, True))
    return bool(rows)


def _singular_place(context: CheckContext, findings: list[Finding]) -> None:
    """Whether the rank is lower here than at admissible states near by."""
    model, around = context.model, context.around
    near = [independent_rows(without_rounding(model, model.terms(state.point), around).scaled_rows) for state in around]
    here, most = independent_rows(context.numbers.scaled_rows), max(near, key=len, default=())
    if len(most) > len(here):
        lost = [context.names[i] for i in most if i not in here]
        message = (
            f"The rank of the constraints is {len(here)} here but {len(most)} near by: {quoted(lost)} loses its hold "
            f"at this configuration, and the motion through it need not be unique."
        )
        findings.append(Finding("singular configuration", message, True))
