# SPDX-License-Identifier: BSD-3-Clause
"""Is the question well posed? One verdict on a system, at a state or in general."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from dalembert.analysis import feasibility
from dalembert.analysis.hidden import Hidden, hidden_constraints
from dalembert.analysis.linear_facts import combination, determined, independent_rows, rank_gap, unit_rows
from dalembert.analysis.mass import mass_kind, own_units, singular_places, spoken
from dalembert.analysis.numbers import Numbers, Point, Terms, finite, random_points, terms_of
from dalembert.analysis.verdict import Conflict, Finding, FreeData, Verdict
from dalembert.errors import InputError
from dalembert.model.ordering import quoted
from dalembert.model.standard_form import StandardForm, standard_form
from dalembert.model.system import System
from dalembert.model.values import parameter_values, scalar_value, state_values

START_TOLERANCE = 1e-8
"""A state may miss a constraint by this distance, relative to its size."""

LONGEST_DETERMINANT = 200


@dataclass(frozen=True)
class _Subject:
    """What is looked at: a system, its terms, and a point, given or random.

    given              whether the point is the user's
    free_parameters    whether the parameters are random, too
    """

    system: System
    form: StandardForm
    terms: Terms
    point: Point
    numbers: Numbers
    given: bool
    free_parameters: bool

    @property
    def names(self) -> tuple[str, ...]:
        return self.system.constraint_names


def check(system: System, q: Any = None, qd: Any = None, t: float = 0.0, *, parameters: Any = None) -> Verdict:
    """A verdict on whether a question of constrained motion is well posed.

    With a state: whether it satisfies the constraints, and what holds there. Without one: what holds in general, judged
    at random states that satisfy the constraints, with random positive parameters unless they are given.

    Parameters
    ----------
    q, qd         coordinates and velocities, as a sequence or a mapping by name; both or neither
    t             time
    parameters    a value for every constant of the model; needed with a state

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
    form = standard_form(system)
    terms = terms_of(form, system.parameter_names)
    p = None if parameters is None and q is None else np.array(parameter_values(system.parameter_names, parameters))
    if q is None or p is None:
        points = random_points(form, terms, len(system.parameter_names), p)
        point = points[0] if points else _anywhere(system, p)
    else:
        names = system.coordinate_names
        point = Point(state_values(names, q, "q"), state_values(names, qd, "qd"), float(scalar_value(t, "t")), p)
    numbers = terms(point)
    subject = _Subject(system, form, terms, point, numbers, q is not None, p is None)
    if not finite(numbers):
        return _not_finite(subject)
    return _verdict(subject)


def _anywhere(system: System, p: Any) -> Point:
    rng, n = np.random.default_rng(21), len(system.coordinates)
    values = rng.uniform(0.5, 1.5, len(system.parameter_names)) if p is None else p
    return Point(rng.normal(size=n), rng.normal(size=n), 1.0, values)


def _not_finite(subject: _Subject) -> Verdict:
    names = ("mass_matrix", "applied_force", "constraint_matrix", "constraint_rhs", "position", "velocity")
    bad = [name for name, array in zip(names, subject.numbers, strict=True) if not np.isfinite(array).all()]
    message = f"{quoted(bad)} must be finite there; look for a division by zero or a root of a negative number."
    return Verdict((Finding("terms", message, True),), {}, "unknown", 0, 0.0, {}, (), {}, (), None, None)


def _verdict(subject: _Subject) -> Verdict:
    findings: list[Finding] = []
    violations = _violations(subject, findings)
    mass = _mass(subject, findings)
    conflicts = _conflicts(subject, findings)
    redundant = _redundant(subject, findings)
    hidden = hidden_constraints(subject.system, None if subject.free_parameters else subject.point.p)
    if mass != "positive definite":
        _saddle(subject, hidden, findings)
    data = None
    if hidden.data_before is not None and hidden.data_after is not None:
        data = FreeData(hidden.data_before, hidden.data_after)
    _hidden(subject, hidden, findings)
    A = subject.numbers.A
    unique = dict(zip(subject.names, determined(A), strict=True))
    return Verdict(
        findings=tuple(findings),
        violations=violations,
        mass_matrix=mass,
        rank=len(independent_rows(A)),
        rank_gap=rank_gap(A),
        redundant=redundant,
        conflicts=conflicts,
        unique_multipliers=unique,
        hidden_constraints=tuple(constraint.expression for constraint in hidden.constraints),
        free_data=data,
        saddle_determinant=_determinant(subject),
    )


def _violations(subject: _Subject, findings: list[Finding]) -> dict[Any, float]:
    """How far the given state is from each constraint, as a distance; a random state is on them by construction."""
    if not subject.given:
        return {}
    length = np.linalg.norm(subject.numbers.A, axis=1)
    scale = np.where(length > 0, length, 1.0)
    found: dict[Any, float] = {}
    for level, state in (("position", subject.point.q), ("velocity", subject.point.qd)):
        residual = getattr(subject.numbers, level)
        limit = START_TOLERANCE * (1 + np.abs(state).max())
        for k in np.flatnonzero(np.abs(residual) / scale > limit):
            name = subject.names[int(k)]
            found[name, level] = float(residual[k])
            argument = "q" if level == "position" else "qd"
            message = f"`{name}` is violated by {residual[k]:.1e} at `{argument}`; see `da.consistent_state`."
            findings.append(Finding("state", message, True))
    return found


def _mass(subject: _Subject, findings: list[Finding]) -> str:
    kind, direction = mass_kind(subject.numbers.M)
    message = f"The mass matrix is {kind}"
    if direction is not None:
        message += f" along {spoken(direction, subject.system.coordinate_names)}"
        remedy = {"singular": "da.SingularMass()"}.get(kind, "da.Multipliers()")
        message += f"; `formulation={remedy}` can take that."
    findings.append(Finding("mass matrix", message.rstrip(".") + ".", kind == "not symmetric"))
    for place in singular_places(subject.form):
        how = "changes its sign" if place.changes_sign else "is singular"
        findings.append(Finding("mass matrix", f"It {how} where {place.equation}."))
    return kind


def _conflicts(subject: _Subject, findings: list[Finding]) -> tuple[Conflict, ...]:
    rows = feasibility.conflicts(subject.form, subject.terms, subject.point, random=subject.free_parameters)
    found = tuple(Conflict(level, tuple(subject.names[i] for i in rows)) for level, rows in rows)
    for level, names in found:
        if len(names) == 1:
            message = f"{quoted(names)} cannot be met at {level} level."
        else:
            message = f"{quoted(names)} contradict one another at {level} level; without any one of them they agree."
        findings.append(Finding("conflict", message, True))
    return found


def _redundant(subject: _Subject, findings: list[Finding]) -> dict[str, dict[str, float]]:
    A, names = subject.numbers.A, subject.names
    kept = independent_rows(A)
    found: dict[str, dict[str, float]] = {}
    for row in (i for i in range(len(names)) if i not in kept):
        made_of = {names[k]: c for k, c in combination(A, kept, row).items()}
        found[names[row]] = made_of
        findings.append(Finding("redundant", f"`{names[row]}` {_made_of(made_of)}."))
    open_ones = [n for n, row, unique in zip(names, A, determined(A), strict=True) if not unique and row.any()]
    if open_ones:
        told = f"The multipliers of {quoted(open_ones)} are not unique: these constraints can share their load."
        findings.append(Finding("multipliers", told))
    if subject.given:
        _singular_place(subject, len(kept), findings)
    return found


def _made_of(parts: dict[str, float]) -> str:
    if not parts:
        return "has no gradient there"
    terms = [
        f"{'-' if c < 0 else '+'} {'' if abs(abs(c) - 1) < 1e-9 else f'{abs(c):.3g} × '}`{n}`" for n, c in parts.items()
    ]
    return "follows from " + " ".join(terms).removeprefix("+ ")


def _singular_place(subject: _Subject, rank: int, findings: list[Finding]) -> None:
    """Whether the rank is lower here than at admissible states near by."""
    nearby = feasibility.nearby_rows(subject.form, subject.terms, subject.point)
    if nearby is not None and len(nearby) > rank:
        lost = [subject.names[i] for i in nearby if i not in independent_rows(subject.numbers.A)]
        message = (
            f"The rank of the constraints is {rank} here but {len(nearby)} near by: {quoted(lost)} loses its hold at "
            f"this configuration, and the motion through it need not be unique."
        )
        findings.append(Finding("singular configuration", message, True))


def _saddle(subject: _Subject, hidden: Hidden, findings: list[Finding]) -> None:
    """Whether the accelerations are determined at all."""
    if hidden.constraints or hidden.impossible is not None:
        return  # what they say goes further
    scale = own_units(subject.numbers.M)
    M, A = subject.numbers.M / np.outer(scale, scale), unit_rows(subject.numbers.A / scale)[0]
    _, values, right = np.linalg.svd(np.vstack([M, A]))
    if values[-1] <= 1e-9 * values[0] or len(values) < len(M):
        said = spoken(right[-1] / scale, subject.system.coordinate_names)
        message = f"The acceleration along {said} is not determined: it has neither mass nor constraint."
        findings.append(Finding("acceleration", message, True))
        return
    kept = list(independent_rows(A))
    K = np.block([[M, -A[kept].T], [A[kept], np.zeros((len(kept), len(kept)))]])
    _, values, right = np.linalg.svd(K)
    if values[-1] <= 1e-9 * values[0]:
        direction = right[-1, : len(M)] / scale
        if np.linalg.norm(direction) > 1e-6:
            said = spoken(direction, subject.system.coordinate_names)
            message = f"The saddle matrix is singular: the acceleration along {said} is not determined."
            findings.append(Finding("acceleration", message, True))


def _hidden(subject: _Subject, hidden: Hidden, findings: list[Finding]) -> None:
    symbols = subject.system.symbols
    for constraint in hidden.constraints:
        message = f"`{symbols.readable(constraint.expression)} = 0` must hold as well; `da.reduce(system)` adds it."
        findings.append(Finding("hidden constraint", message, True))
    if hidden.impossible is not None:
        message = f"The equations imply `{symbols.readable(hidden.impossible)} = 0`, which no motion can meet."
        findings.append(Finding("hidden constraint", message, True))
    if not hidden.decided and hidden.data_before is not None:
        message = "Numbers show that the equations demand more of a state than was stated; symbols did not find what."
        findings.append(Finding("hidden constraint", message, True))
    if hidden.constraints and hidden.data_before is not None and hidden.data_after is not None:
        message = f"{hidden.data_before} initial data may be chosen as stated, {hidden.data_after} in fact."
        findings.append(Finding("initial data", message))


def _determinant(subject: _Subject) -> Any:
    """det [[0, A], [Aᵀ, M]] with the independent rows, where symbols stay small."""
    form = subject.form
    M, n = sp.Matrix(form.mass_matrix), len(form.applied_force)
    kept = independent_rows(subject.numbers.A)
    A = sp.Matrix(len(kept), n, [e for i in kept for e in form.constraint_matrix[i]])
    if n + len(kept) > 5 or sp.count_ops(M) + sp.count_ops(A) > LONGEST_DETERMINANT:
        return None
    K = sp.zeros(len(kept)).row_join(A).col_join(A.T.row_join(M))
    return form.symbols.restore(sp.factor(sp.trigsimp(K.det(method="berkowitz"))))
