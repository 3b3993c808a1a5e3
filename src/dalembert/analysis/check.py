# SPDX-License-Identifier: BSD-3-Clause
"""`da.check`: a verdict on whether the motion of a constrained system is well posed, at a state or in general."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.analysis.check_context import CheckContext, values_in
from dalembert.analysis.conflict_findings import conflict_findings
from dalembert.analysis.constraint_states import ConsistentState, Fixed
from dalembert.analysis.direction_text import format_direction
from dalembert.analysis.evaluated_terms import Model, Point, model_of
from dalembert.analysis.feasibility import LEVELS
from dalembert.analysis.gradients import tiny_rows, without_rounding, zero_gradient
from dalembert.analysis.hidden_constraints import Hidden, empty_search, hidden_constraints
from dalembert.analysis.large_check import large_check
from dalembert.analysis.rank_findings import (
    degenerate_findings,
    freedom_finding,
    redundancy_findings,
    singular_findings,
)
from dalembert.analysis.saddle_findings import determinant, hidden_findings, undetermined_accelerations
from dalembert.analysis.sampled_states import (
    random_starts,
    relaxed_states,
    states_at_other_times,
    states_near,
    typical_states,
)
from dalembert.analysis.singular_places import singular_places
from dalembert.analysis.solvability import motion_equations
from dalembert.analysis.symbolic_errors import report_symbolic_errors
from dalembert.analysis.verdict import Finding, FreeData, ServoReport, Verdict
from dalembert.analysis.violations import violations
from dalembert.errors import WHERE_NOT_FINITE, InputError
from dalembert.integration.start_states import unresolved_text
from dalembert.model.coefficients import refuse_negative_coefficients
from dalembert.model.input_values import parameter_values, scalar_value, state_values
from dalembert.model.ordering import quoted
from dalembert.model.standard_form import standard_form
from dalembert.model.system import System, kind_of_object
from dalembert.numerics.linear_algebra import determined, independent_rows, rank_gap
from dalembert.numerics.mass import MassKind, mass_kind
from dalembert.numerics.terms import Terms
from dalembert.numerics.violation import computable


@report_symbolic_errors
def check(
    system: System,
    q: Any = None,
    qd: Any = None,
    t: float | None = None,
    *,
    parameters: Any = None,
    allow_violation: bool = False,
) -> Verdict:
    """Check whether a problem of constrained motion is well posed.

    If a state is given, the verdict says whether it satisfies the constraints, and describes the equations there.
    Otherwise it describes the equations in general: they are evaluated at random states that satisfy the constraints,
    with random positive parameters and times unless these are given. A large system (see docs/large.md) is checked at a
    given state, by numbers.

    Parameters
    ----------
    q, qd         coordinates and velocities, as a sequence or a mapping by name; both or neither
    t             time; zero if left out with a state, random without one
    parameters    a value for every constant of the model; needed with a state
    allow_violation    as for ``da.simulate``: a state that violates the constraints is intended and is not reported as
                  trouble

    Raises
    ------
    InputError    if ``system`` is not stated in symbols; missing, unknown, misshapen or non-finite numbers; parameters
                  that make a coefficient of friction or damping negative

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
    if system.is_large or (q is not None and system.templates is not None):
        assert system.templates is not None
        return large_check(system.templates, q, qd, t, parameters, allow_violation=allow_violation)
    model = model_of(standard_form(system), system.parameter_names)
    p = None if parameters is None and q is None else np.array(parameter_values(system.parameter_names, parameters))
    if p is not None:
        refuse_negative_coefficients(system, tuple(p))
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
    terms = model.terms(point)
    if not terms.is_finite:
        return _not_finite(terms)
    tiny = tiny_rows(model, point, around if q is None else ())
    if tiny:
        return _unknown(unresolved_text([system.constraint_names[k] for k in tiny], point.q))
    usual = around
    if fixed.t is not None and zero_gradient(model, around).any():
        usual = around + states_at_other_times(model, point)  # the gradients may be dependent at this time only
    # a random state satisfies such constraints to half of the digits, so that its own rows are rounding error there
    terms = without_rounding(model, terms, around if q is None else usual)
    context = CheckContext(system, model, point, terms, usual, q is not None, fixed)
    return _verdict(context, notes, allow_violation=allow_violation)


def _states_anywhere(model: Model, fixed: Fixed) -> tuple[list[ConsistentState], list[Finding]]:
    """Return random consistent states, and a finding if parameters or time had to be solved for to obtain them."""
    states = typical_states(model, random_starts(model, fixed))
    if states:
        return states, []
    states = relaxed_states(model, fixed)
    if not states:
        return [], []
    values = values_in(model, states[0].point, range(len(model.form.position)), fixed)
    message = f"No consistent state exists for the parameters sampled first; the values used are {values}."
    return states, [Finding("parameters", message)]


def _not_finite(terms: Terms) -> Verdict:
    names = ("mass_matrix", "applied_force", "constraint_matrix", "constraint_rhs", "position", "velocity")
    bad = [name for name, array in zip(names, terms, strict=True) if not computable(array).all()]
    return _unknown(f"{quoted(bad)} must be finite there. {WHERE_NOT_FINITE}")


def _unknown(message: str) -> Verdict:
    return Verdict((Finding("terms", message, True),), {}, "unknown", 0, 0.0, 0, {}, (), {}, (), None, None)


def _verdict(context: CheckContext, findings: list[Finding], *, allow_violation: bool) -> Verdict:
    system, model, terms = context.system, context.model, context.terms
    given = context.point if context.given else None
    degenerate = degenerate_findings(context)
    findings.extend(degenerate)
    # hidden constraints hold at all times, and the given time may be one at which they do not show
    search = context.fixed._replace(t=None) if context.given else context.fixed
    hidden = empty_search(system) if degenerate else hidden_constraints(system, search, given, model)
    whole = model_of(standard_form(hidden.system), system.parameter_names) if hidden.constraints else model
    conflicts, sentences = conflict_findings(context, whole, LEVELS[:1] if degenerate else LEVELS)
    findings.extend(sentences)
    if hidden.data_before is None and not conflicts and not degenerate:
        message = "No state that satisfies the constraints was found: give one, or parameters that allow one."
        findings.append(Finding("state", message, True))
    missed: dict[Any, float] = {}
    if given is not None:  # a random state is on the constraints by construction
        missed, sentences = violations(model, context.point, context.names, conflicts, meant=allow_violation)
        findings.extend(sentences)
    kind = mass_kind(terms.M)
    undetermined = _acceleration_findings(context, hidden, whole) if kind.kind != "positive definite" else []
    findings.extend(undetermined)
    _mass(context, kind, findings, solvable=not undetermined and hidden.impossible is None)
    kept = independent_rows(terms.scaled_rows)
    findings.append(freedom_finding(len(system.coordinates), len(context.names), len(kept)))
    redundant, sentences = redundancy_findings(context, conflicts, regular=not degenerate)
    findings.extend(sentences)
    if not degenerate:  # at a degenerate state the rows of A are rounding error
        findings.extend(singular_findings(context))
        findings.extend(hidden_findings(hidden, system.symbols, whole, given))
    control = _servos(context)
    findings.extend(control.findings)
    data = None
    if hidden.data_before is not None and hidden.data_after is not None:
        data = FreeData(hidden.data_before, hidden.data_after)
    return Verdict(
        findings=tuple(findings),
        violations=missed,
        mass_matrix=kind.kind,
        rank=len(kept),
        rank_gap=rank_gap(terms.scaled_rows),
        degrees_of_freedom=len(system.coordinates) - len(kept),
        redundant=redundant,
        conflicts=conflicts,
        unique_multipliers=dict(zip(context.names, determined(terms.scaled_rows), strict=True)),
        hidden_constraints=tuple(constraint.expression for constraint in hidden.constraints),
        free_data=data,
        saddle_determinant=determinant(model.form, kept),
        relative_degree=control.relative_degree,
        internal_eigenvalues=control.internal_eigenvalues,
    )


def _servos(context: CheckContext) -> ServoReport:
    """Return the report on servo constraints, empty if there are none."""
    if not context.system.servos:
        return ServoReport()
    from dalembert.analysis.servo_findings import servo_report  # imported here: needed for servos alone

    return servo_report(context)


def _acceleration_findings(context: CheckContext, hidden: Hidden, whole: Model) -> list[Finding]:
    """Findings about accelerations that are not determined by the equations, or that do not exist."""
    if hidden.impossible is not None:
        return []
    names = context.system.coordinate_names
    if hidden.constraints:
        return (
            [] if hidden.point is None else undetermined_accelerations(whole.terms(hidden.point), hidden.forces, names)
        )
    found = undetermined_accelerations(context.terms, hidden.forces, names)
    if context.given:
        terms, n = context.terms, len(names)
        equations = motion_equations(context.model, len(terms.b), [context.point])
        off = [names[i] for rows in equations.unsolvable_rows() for i in rows if i < n]
        if off:
            message = (
                f"No acceleration satisfies the equations of motion of {quoted(dict.fromkeys(off))} at this state."
            )
            found.append(Finding("acceleration", message, True))
    return found


def _mass(context: CheckContext, found: MassKind, findings: list[Finding], *, solvable: bool) -> None:
    message = f"The mass matrix is {found.kind}"
    if found.direction is not None:
        message += f" along {format_direction(found.direction, context.system.coordinate_names)}"
        remedy = "da.SingularMass()" if found.kind == "singular" else "da.Multipliers()"
        message += f"; use `formulation={remedy}`" if solvable else ""
    findings.append(Finding("mass matrix", f"{message}.", found.kind == "not symmetric"))
    places = singular_places(context.model.form)
    for place in places.loci:
        behaviour = "changes its sign" if place.changes_sign else "is singular"
        findings.append(Finding("mass matrix", f"It {behaviour} where {place.equation}."))
    if places.not_shown:
        message = (
            f"Numerical evaluation shows that it is singular at some states; no equation is given for them: "
            f"{places.not_shown}."
        )
        findings.append(Finding("mass matrix", message))
