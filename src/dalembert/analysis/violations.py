# SPDX-License-Identifier: BSD-3-Clause
"""Constraints that a state violates, by how much, and remedies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.analysis.constraint_states import project_onto
from dalembert.analysis.evaluated_terms import Model, Point
from dalembert.analysis.feasibility import velocities_exist
from dalembert.analysis.minimal_conflicts import minimal_conflicts
from dalembert.analysis.verdict import Conflict, Finding, Level
from dalembert.model.ordering import quoted
from dalembert.numerics.violation import violated

ARGUMENTS: dict[Level, str] = {"position": "q", "velocity": "qd"}
MOST_AMOUNTS = 3
"""Largest number of violated constraints whose residuals are listed one by one."""


def violations(
    model: Model, point: Point, names: Sequence[str], conflicts: Sequence[Conflict], *, meant: bool
) -> tuple[dict[Any, float], list[Finding]]:
    """Return the residuals of the constraints violated at a state, by name and level, and findings about them."""
    terms = model.terms(point)
    found: dict[Any, float] = {}
    remedies: dict[tuple[Level, str], dict[str, float]] = {}
    for level, argument in ARGUMENTS.items():
        residual = getattr(terms, level)
        for k in map(int, np.flatnonzero(violated(residual, terms.A, getattr(point, argument), point.q, terms.M))):
            found[names[k], level] = float(residual[k])
            remedy = "this was allowed" if meant else _remedy(model, point, names, conflicts, k, level)
            # violations with the same remedy are one sentence: a mechanism taken apart violates dozens of equations
            remedies.setdefault((level, remedy), {})[names[k]] = float(residual[k])
    findings = [Finding("state", _sentence(level, off, remedy), not meant) for (level, remedy), off in remedies.items()]
    return found, findings


def _sentence(level: Level, off: dict[str, float], remedy: str) -> str:
    if len(off) <= MOST_AMOUNTS:
        text = ", ".join(f"`{name}` is violated by {amount:.1e}" for name, amount in off.items())
    else:
        text = f"{quoted(off)} are violated by up to {max(map(abs, off.values())):.1e}"
    return f"{text} at `{ARGUMENTS[level]}`; {remedy}."


def _remedy(
    model: Model, point: Point, names: Sequence[str], conflicts: Sequence[Conflict], row: int, level: Level
) -> str:
    """Return the remedy for a violation as text: a consistent state, unless none exists."""
    # no consistent state exists then, and `da.consistent_state` would be wrong advice
    conflict = next((c.names for c in conflicts if c.level == level and names[row] in c.names), None)
    if conflict is not None:
        others = [name for name in conflict if name != names[row]]
        return f"it cannot be satisfied together with {quoted(others)}" if others else "no state satisfies it"
    if level == "velocity":
        core = _velocity_conflict(model, point, row)
        others = [names[i] for i in core if i != row]
        if core:
            together = f" together with {quoted(others)}" if others else ""
            return f"no velocity satisfies it{together} at this configuration: move `q`"
    return "see `da.consistent_state`"


def _velocity_conflict(model: Model, point: Point, row: int) -> list[int]:
    """Return a minimal set of constraints, including ``row``, that no velocity satisfies at the nearest positions."""
    # at the nearest positions that are allowed, since velocities are judged after positions have been corrected
    placed = project_onto(model, point, model.position, "q")
    at = point if placed is None else placed.point
    rows = model.velocity
    cores = minimal_conflicts(len(rows), lambda some: velocities_exist(model, at, [rows[i] for i in some]))
    return next(([rows[i] for i in core] for core in cores if row in [rows[i] for i in core]), [])
