# SPDX-License-Identifier: BSD-3-Clause
"""Conflicts in words: between whom, at which level, for which parameters and when."""

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
    """The conflicts at some levels, and sentences about them; ``whole`` is the model with what is hidden in it."""
    model, point, fixed = context.model, context.point, context.fixed
    now = feasibility.conflicts(model, point, whole, random=fixed.p is None, given=context.given, levels=levels)
    told = [Finding("conflict", _at_once(context, level, core), True) for level, core in now]
    later = feasibility.later_conflicts(model, point, levels) if context.given else []
    known = {core for _, core in now}
    later = [conflict for conflict in later if conflict[1] not in known]
    told += [Finding("conflict", _soon(context, level, core), True) for level, core in later]
    return tuple(Conflict(level, tuple(context.names[i] for i in core)) for level, core in (*now, *later)), told


def _at_once(context: CheckContext, level: Level, core: Sequence[int]) -> str:
    message = _contradiction([context.names[i] for i in core], level) + _exception(context, level, core)
    compromise = " `formulation=da.StackedLeastSquares(...)` finds a compromise by weights."
    return message + (compromise if level == "acceleration" else "")


def _soon(context: CheckContext, level: Level, core: Sequence[int]) -> str:
    tried = " and ".join(f"{delay:g}" for delay in feasibility.SOON)
    said = _contradiction([context.names[i] for i in core], level)
    return f"At t = {context.point.t:g} it may not show, but soon after (tried: by {tried}): {said}"


def _contradiction(names: Sequence[str], level: Level) -> str:
    if len(names) == 1:
        return f"{quoted(names)} cannot be met at {level} level."
    return f"{quoted(names)} contradict one another at {level} level; without any one of them they agree."


def _exception(context: CheckContext, level: Level, core: Sequence[int]) -> str:
    """For which parameters and times a conflict was found, where it could depend on them."""
    model, fixed = context.model, context.fixed
    free = free_values(model, core, fixed)
    if not free:
        return ""
    found = feasibility.exception_to(model, context.point, level, core, fixed)
    if found is None:
        return f" No values of {', '.join(symbol.name for symbol in free)} were found for which that is not so."
    which = "Other" if found.general else "Only special"
    return f" {which} values help, such as {values_in(model, found.point, core, fixed)}."
