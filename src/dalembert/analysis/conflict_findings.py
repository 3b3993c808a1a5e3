# SPDX-License-Identifier: BSD-3-Clause
"""Messages about conflicting constraints: which ones, at which level, and for which parameters and times."""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.analysis import feasibility
from dalembert.analysis.check_context import CheckContext, values_in
from dalembert.analysis.constraint_states import free_values
from dalembert.analysis.evaluated_terms import Model
from dalembert.analysis.verdict import Conflict, Finding, Level
from dalembert.model.ordering import quoted


def conflict_findings(
    context: CheckContext, whole: Model, levels: Sequence[Level]
) -> tuple[tuple[Conflict, ...], list[Finding]]:
    """Return the conflicts at some levels and a finding for each.

    ``whole`` is the model with its hidden constraints.
    """
    model, point, fixed = context.model, context.point, context.fixed
    now = feasibility.conflicts(model, point, whole, random=fixed.p is None, given=context.given, levels=levels)
    findings = [Finding("conflict", _immediate_conflict(context, level, core), True) for level, core in now]
    # constraints that depend on time may agree at the given moment and contradict one another right after it
    later = feasibility.later_conflicts(model, point, levels) if context.given else []
    # a conflict now is one later as well, and is reported once
    known = {core for _, core in now}
    later = [conflict for conflict in later if conflict[1] not in known]
    findings += [Finding("conflict", _later_conflict(context, level, core), True) for level, core in later]
    return tuple(Conflict(level, tuple(context.names[i] for i in core)) for level, core in (*now, *later)), findings


def _immediate_conflict(context: CheckContext, level: Level, core: Sequence[int]) -> str:
    message = _contradiction([context.names[i] for i in core], level) + _exception(context, level, core)
    compromise = " `formulation=da.StackedLeastSquares(...)` finds a compromise by weights."
    return message + (compromise if level == "acceleration" else "")


def _later_conflict(context: CheckContext, level: Level, core: Sequence[int]) -> str:
    tried = " and ".join(f"{delay:g}" for delay in feasibility.TESTED_DELAYS)
    conflict = _contradiction([context.names[i] for i in core], level)
    at = f"At t = {context.point.t:g} the conflict may not be visible, but it appears soon after"
    return f"{at} (tried: {tried} later): {conflict}"


def _contradiction(names: Sequence[str], level: Level) -> str:
    if len(names) == 1:
        return f"{quoted(names)} cannot be met at {level} level."
    return f"{quoted(names)} contradict one another at {level} level; without any one of them they agree."


def _exception(context: CheckContext, level: Level, core: Sequence[int]) -> str:
    """Return a sentence on values of parameters and time for which the constraints agree; empty if none are free."""
    model, fixed = context.model, context.fixed
    free = free_values(model, core, fixed)
    if not free:
        return ""
    found = feasibility.exception_to(model, context.point, level, core, fixed)
    if found is None:
        return f" No values of {', '.join(symbol.name for symbol in free)} were found for which they agree."
    which = "Other" if found.general else "Only special"
    return f" {which} values remove the conflict, such as {values_in(model, found.point, core, fixed)}."
