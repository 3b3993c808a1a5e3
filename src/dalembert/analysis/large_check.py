# SPDX-License-Identifier: BSD-3-Clause
"""`da.check` of a large system at a state, by numbers: violations, rank, redundant and contradictory constraints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.analysis.verdict import Conflict, Finding, Verdict
from dalembert.common.array_types import Floats
from dalembert.common.levels import STATE_LEVELS, Level
from dalembert.common.names import LISTED_NAMES, quoted
from dalembert.errors import ConstraintError, InputError, MassMatrixError, ModelError
from dalembert.integration.sparse_contradictions import LIMIT_OF_ROWS, inconsistency, nearly_dependent
from dalembert.integration.sparse_dependencies import Dependencies
from dalembert.integration.sparse_masses import raised_kind, undetermined_motion
from dalembert.integration.sparse_motion import (
    rank_gap_of,
    refuse_unmet_servos,
    require_valid_terms,
    solution,
    sparse_answer,
)
from dalembert.integration.sparse_start import missed
from dalembert.lowering.large_structure import find_structure
from dalembert.lowering.large_system import compiled
from dalembert.model.input_values import scalar_value, state_values
from dalembert.model.large_statement import LargeStatement
from dalembert.native.sparse_system import LargeDynamics
from dalembert.numerics.tolerances import CONSISTENCY_TOLERANCE, SHARE_TOLERANCE, START_TOLERANCE

MOST_LISTED_COMBINATIONS = 300
"""Most redundant constraints that are described as combinations of others: each one needs a solution."""


def large_check(
    statement: LargeStatement, q: Any, qd: Any, t: float | None, parameters: Any, *, allow_violation: bool
) -> Verdict:
    """Return the verdict on a large system at a state."""
    if q is None:
        raise InputError("`q` and `qd` must be given for a large system, which is checked by numbers at a state.")
    names = statement.coordinate_names
    q, qd = state_values(names, q, "q"), state_values(names, qd, "qd")
    values, time = statement.values(parameters), 0.0 if t is None else float(scalar_value(t, "t"))
    dynamics = compiled(statement)
    numbers = dynamics.numbers(values)
    dynamics.code.evaluate(q, qd, time, numbers)
    try:
        require_valid_terms(dynamics)
    except MassMatrixError:
        # servos need the inverse of M
        if statement.servos:
            raise
        dynamics = compiled(statement, "any")
        dynamics.code.evaluate(q, qd, time, numbers)
    violations, findings = _violations(dynamics, q, qd, meant=allow_violation)
    code = dynamics.code
    if code.elimination is not None:
        # an earlier run may have fixed which rows are in use, and all of them are judged here
        code.elimination.used = np.ones(code.m, bool)
    code.factor()
    mass, sentences = _mass_findings(dynamics)
    findings += sentences
    dependencies = Dependencies(code)
    redundant, conflicts = _combinations(dynamics, dependencies)
    findings += _row_findings(dynamics, dependencies, redundant, conflicts)
    findings += _servo_findings(dynamics, q, qd, time, numbers)
    rank = code.m - len(dependencies.rows)
    return Verdict(
        findings=tuple(findings),
        violations=violations,
        mass_matrix=mass,
        rank=rank,
        rank_gap=rank_gap_of(code),
        degrees_of_freedom=code.n - rank,
        redundant=redundant,
        conflicts=tuple(conflicts),
        unique_multipliers=dict(zip(dynamics.constraints, dependencies.unique().tolist(), strict=True)),
        hidden_constraints=(),
        free_data=None,
        saddle_determinant=None,
    )


def _mass_findings(dynamics: LargeDynamics) -> tuple[str, list[Finding]]:
    """Return the kind of the mass matrix, and findings if it is not positive definite."""
    kind, owner = raised_kind(dynamics.code)
    if kind == "positive definite":
        return kind, []
    direction = undetermined_motion(dynamics)
    formulation = "SingularMass" if kind == "singular" else "Multipliers"
    advice = f"; use `formulation=da.{formulation}()`" if not direction else ""
    text = f"The mass matrix is {kind}, as for `{dynamics.coordinates[owner]}`{advice}."
    findings = [Finding("mass matrix", text)]
    if direction:
        text = f"The acceleration along {quoted(direction)} is not determined: neither masses nor constraints do so."
        findings.append(Finding("acceleration", text, True))
    return kind, findings


def _violations(
    dynamics: LargeDynamics, q: Floats, qd: Floats, *, meant: bool
) -> tuple[dict[tuple[str, Level], float], list[Finding]]:
    """Return the residuals of the violated constraints, and a finding for each level."""
    found: dict[tuple[str, Level], float] = {}
    findings: list[Finding] = []
    for number, level in enumerate(STATE_LEVELS):
        rows, residual = missed(dynamics, q, qd, number, START_TOLERANCE), dynamics.code.residuals[number]
        found |= {(dynamics.constraints[k], level): float(residual[k]) for k in rows}
        if len(rows):
            worst = int(rows[np.argmax(np.abs(residual[rows]))])
            others = f" and {len(rows) - 1} more" if len(rows) > 1 else ""
            remedy = "this was allowed" if meant else "see `da.consistent_state`"
            amount, argument = f"{abs(residual[worst]):.1e}", ("q", "qd")[number]
            text = f"`{dynamics.constraints[worst]}`{others} violated by up to {amount} at `{argument}`; {remedy}."
            findings.append(Finding("state", text, not meant))
    return found, findings


def _combinations(
    dynamics: LargeDynamics, dependencies: Dependencies
) -> tuple[dict[str, dict[str, float]], list[Conflict]]:
    """Return redundant constraints as combinations of others, and minimal sets that contradict one another.

    A constraint that was left out and those that it depends on are a minimal dependent set.
    """
    code, names = dynamics.code, dynamics.constraints
    found = solution(dynamics)
    lengths, redundant, conflicts = code.row_lengths, dict[str, dict[str, float]](), list[Conflict]()
    contradictory = inconsistency(code, found) > CONSISTENCY_TOLERANCE
    largest = np.abs(found.left / lengths).max(initial=0.0)
    for number, row in enumerate(dependencies.rows):
        # without a contradiction of the whole set, what is left in a row is rounding
        clashes = contradictory and abs(found.left[row]) / lengths[row] > CONSISTENCY_TOLERANCE * largest
        # conflicts are always described, since they make the problem ill posed
        if number >= MOST_LISTED_COMBINATIONS and not clashes:
            redundant[names[row]] = {}
            continue
        shares = -dependencies.combined((dependencies.rows == row).astype(float))
        own = np.flatnonzero(np.abs(shares * lengths) > SHARE_TOLERANCE * lengths[row])
        parts = {names[k]: float(shares[k]) for k in own if k != row}
        if clashes:
            conflicts.append(Conflict("acceleration", (*parts, names[row])))
        else:
            redundant[names[row]] = parts
    return redundant, conflicts


def _row_findings(
    dynamics: LargeDynamics, dependencies: Dependencies, redundant: Mapping[str, Any], conflicts: list[Conflict]
) -> list[Finding]:
    """Return findings on rank, redundancy and contradictions."""
    code = dynamics.code
    rank = code.m - len(dependencies.rows)
    findings = [Finding("rank", f"{rank} of {code.m} constraints are independent; {code.n - rank} degrees of freedom.")]
    if redundant:
        names = quoted([*redundant][:LISTED_NAMES])
        more = f" and {len(redundant) - LISTED_NAMES} more" if len(redundant) > LISTED_NAMES else ""
        findings.append(Finding("redundant", f"{names}{more} follow from the others at this state."))
    relation = "contradict one another in acceleration"
    if conflicts and nearly_dependent(code, solution(dynamics)):
        relation = f"are nearly dependent, {LIMIT_OF_ROWS}"
    for conflict in conflicts[:LISTED_NAMES]:
        findings.append(Finding("conflict", f"{quoted(conflict.names)} {relation}.", True))
    note = "The system is large: it was checked numerically at this state, without a search for hidden constraints."
    return [*findings, Finding("method", note)]


def _servo_findings(dynamics: LargeDynamics, q: Floats, qd: Floats, t: float, numbers: Floats) -> list[Finding]:
    """Return findings on servo constraints: whether inputs meet them, and their errors at this state."""
    code = dynamics.code
    if code.servos is None:
        return []
    try:
        find_structure(dynamics, q, qd, t, numbers)
        found = sparse_answer(dynamics, q, qd, t, numbers)
        refuse_unmet_servos(dynamics, solution(dynamics), t)
    except (ModelError, ConstraintError, InputError) as refusal:
        return [Finding("servo", str(refusal), True)]
    layout, structure = code.servos.layout, code.servos.structure
    follow = [] if structure is None else [dynamics.requirements[i] for i in structure.redundant]
    findings = [Finding("servo", f"{quoted(follow)} follow from other requirements.")] if follow else []
    for name in layout.servos:
        worst = float(np.abs(found.servo_error[name]).max(initial=0.0))
        findings.append(Finding(f"servo `{name}`", f"inputs meet it; its error is {worst:.1e} here, and settles."))
    return findings
