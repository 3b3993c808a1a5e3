# SPDX-License-Identifier: BSD-3-Clause
"""Is the question well posed? One verdict on a system, at a state or in general."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.analysis import feasibility
from dalembert.analysis.hidden import hidden_constraints
from dalembert.analysis.linear_facts import dependencies, determined, independent_rows, rank_gap
from dalembert.analysis.mass import mass_kind, singular_places, spoken
from dalembert.analysis.numbers import Model, Numbers, Point, computable, finite, model_of
from dalembert.analysis.refusal import in_words
from dalembert.analysis.saddle import determinant, hidden_findings, open_directions
from dalembert.analysis.states import Settled, gradients, powerless, random_starts, random_states, states_near
from dalembert.analysis.verdict import Conflict, Finding, FreeData, Verdict
from dalembert.analysis.violations import violations
from dalembert.errors import InputError
from dalembert.model.ordering import quoted
from dalembert.model.standard_form import standard_form
from dalembert.model.system import System
from dalembert.model.values import parameter_values, scalar_value, state_values


@dataclass(frozen=True)
class _Subject:
    """What is looked at: a system, and a point, given or random.

    numbers            its terms there, rows of A that are rounding error made zero
    around             states on the constraints: near a given point, anywhere if none is given
    given              whether the point is the user's
    free_parameters    whether the parameters are random, too
    """

    system: System
    model: Model
    point: Point
    numbers: Numbers
    around: list[Settled]
    given: bool
    free_parameters: bool

    @property
    def names(self) -> tuple[str, ...]:
        return self.system.constraint_names


@in_words
def check(
    system: System,
    q: Any = None,
    qd: Any = None,
    t: float = 0.0,
    *,
    parameters: Any = None,
    allow_violation: bool = False,
) -> Verdict:
    """A verdict on whether a question of constrained motion is well posed.

    With a state: whether it satisfies the constraints, and what holds there. Without one: what holds in general, judged
    at random states that satisfy the constraints, with random positive parameters unless they are given.

    Parameters
    ----------
    q, qd         coordinates and velocities, as a sequence or a mapping by name; both or neither
    t             time
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
        raise InputError(f"`system` must be a `da.System`, stated in symbols; got {type(system).__name__}.")
    if (q is None) != (qd is None):
        raise InputError("`q` and `qd` must be given together, or neither of them.")
    model = model_of(standard_form(system), system.parameter_names)
    p = None if parameters is None and q is None else np.array(parameter_values(system.parameter_names, parameters))
    if q is None or p is None:
        around = random_states(model, p)
        point = around[0].point if around else next(random_starts(model, p), None)
    else:
        names = system.coordinate_names
        point = Point(state_values(names, q, "q"), state_values(names, qd, "qd"), float(scalar_value(t, "t")), p)
        around = states_near(model, point)
    if point is None:
        return _unknown("no state was found at which all terms are real and finite.")
    numbers = model.terms(point)
    if not finite(numbers):
        return _not_finite(numbers)
    numbers = numbers._replace(A=gradients(model, numbers, around))
    subject = _Subject(system, model, point, numbers, around, q is not None, p is None)
    return _verdict(subject, allow_violation=allow_violation)


def _not_finite(numbers: Numbers) -> Verdict:
    names = ("mass_matrix", "applied_force", "constraint_matrix", "constraint_rhs", "position", "velocity")
    bad = [name for name, array in zip(names, numbers, strict=True) if not computable(array).all()]
    return _unknown(f"{quoted(bad)} must be finite there; look for a division by zero or a root of a negative number.")


def _unknown(message: str) -> Verdict:
    return Verdict((Finding("terms", message, True),), {}, "unknown", 0, 0.0, {}, (), {}, (), None, None)


def _verdict(subject: _Subject, *, allow_violation: bool) -> Verdict:
    findings: list[Finding] = []
    system, model, numbers = subject.system, subject.model, subject.numbers
    given = subject.point if subject.given else None
    hidden = hidden_constraints(system, None if subject.free_parameters else subject.point.p, given, model)
    whole = model_of(standard_form(hidden.system), system.parameter_names) if hidden.constraints else model
    conflicts = _conflicts(subject, whole, findings)
    if hidden.data_before is None and not conflicts:
        message = "No state that satisfies the constraints was found: give one, or parameters that allow one."
        findings.append(Finding("state", message, True))
    missed: dict[Any, float] = {}
    if given is not None:  # a random state is on the constraints by construction
        missed, told = violations(model, subject.point, subject.names, conflicts, meant=allow_violation)
        findings.extend(told)
    mass = _mass(subject, findings)
    redundant = _redundant(subject, findings)
    if subject.given:
        _singular_place(subject, findings)
    if mass != "positive definite" and not hidden.constraints and hidden.impossible is None:
        findings.extend(open_directions(numbers.M, numbers.A, system.coordinate_names))
    findings.extend(hidden_findings(hidden, system.symbols, whole, given))
    data = None
    if hidden.data_before is not None and hidden.data_after is not None:
        data = FreeData(hidden.data_before, hidden.data_after)
    kept = independent_rows(numbers.A)
    return Verdict(
        findings=tuple(findings),
        violations=missed,
        mass_matrix=mass,
        rank=len(kept),
        rank_gap=rank_gap(numbers.A),
        redundant=redundant,
        conflicts=conflicts,
        unique_multipliers=dict(zip(subject.names, determined(numbers.A), strict=True)),
        hidden_constraints=tuple(constraint.expression for constraint in hidden.constraints),
        free_data=data,
        saddle_determinant=determinant(model.form, kept),
    )


def _conflicts(subject: _Subject, whole: Model, findings: list[Finding]) -> tuple[Conflict, ...]:
    rows = feasibility.conflicts(
        subject.model, subject.point, whole, random=subject.free_parameters, given=subject.given
    )
    found = tuple(Conflict(level, tuple(subject.names[i] for i in core)) for level, core in rows)
    for level, names in found:
        if len(names) == 1:
            message = f"{quoted(names)} cannot be met at {level} level."
        else:
            message = f"{quoted(names)} contradict one another at {level} level; without any one of them they agree."
        if level == "acceleration":
            message += " `formulation=da.StackedLeastSquares(...)` finds a compromise by weights."
        findings.append(Finding("conflict", message, True))
    return found


def _mass(subject: _Subject, findings: list[Finding]) -> str:
    kind, direction = mass_kind(subject.numbers.M)
    message = f"The mass matrix is {kind}"
    if direction is not None:
        message += f" along {spoken(direction, subject.system.coordinate_names)}"
        remedy = {"singular": "da.SingularMass()"}.get(kind, "da.Multipliers()")
        message += f"; `formulation={remedy}` can take that."
    findings.append(Finding("mass matrix", message.rstrip(".") + ".", kind == "not symmetric"))
    for place in singular_places(subject.model.form):
        how = "changes its sign" if place.changes_sign else "is singular"
        findings.append(Finding("mass matrix", f"It {how} where {place.equation}."))
    return kind


def _redundant(subject: _Subject, findings: list[Finding]) -> dict[str, dict[str, float]]:
    A, names = subject.numbers.A, subject.names
    found = {names[i]: {names[k]: c for k, c in parts.items()} for i, parts in dependencies(A).items()}
    idle = [name for name, off in zip(names, powerless(subject.model, subject.around), strict=True) if off]
    for name in idle:
        message = (
            f"`{name}` has no gradient of its own wherever it holds, so that no force can keep it; state what it "
            f"amounts to instead, as x = 0 for x² = 0."
        )
        findings.append(Finding("gradient", message, True))
    for name, parts in found.items():
        if name not in idle:
            findings.append(Finding("redundant", f"`{name}` {_made_of(parts)}."))
    open_ones = [n for n, row, unique in zip(names, A, determined(A), strict=True) if not unique and row.any()]
    if open_ones:
        told = f"The multipliers of {quoted(open_ones)} are not unique: these constraints can share their load."
        findings.append(Finding("multipliers", told))
    return found


def _made_of(parts: dict[str, float]) -> str:
    if not parts:
        return "has no gradient there"
    terms = [
        f"{'-' if c < 0 else '+'} {'' if abs(abs(c) - 1) < 1e-9 else f'{abs(c):.3g} × '}`{n}`" for n, c in parts.items()
    ]
    return "follows from " + " ".join(terms).removeprefix("+ ")


def _singular_place(subject: _Subject, findings: list[Finding]) -> None:
    """Whether the rank is lower here than at admissible states near by."""
    model, around = subject.model, subject.around
    near = [independent_rows(gradients(model, model.terms(state.point), around)) for state in around]
    here, most = independent_rows(subject.numbers.A), max(near, key=len, default=())
    if len(most) > len(here):
        lost = [subject.names[i] for i in most if i not in here]
        message = (
            f"The rank of the constraints is {len(here)} here but {len(most)} near by: {quoted(lost)} loses its hold "
            f"at this configuration, and the motion through it need not be unique."
        )
        findings.append(Finding("singular configuration", message, True))
