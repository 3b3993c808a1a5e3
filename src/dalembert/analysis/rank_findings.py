# SPDX-License-Identifier: BSD-3-Clause
"""Findings on the rank of the constraints: redundant constraints, identities, degenerate and singular places."""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.analysis.check_context import CheckContext
from dalembert.analysis.gradients import all_without_rounding, degenerate_rows, void_rows, zero_gradient
from dalembert.analysis.sampled_states import random_places
from dalembert.analysis.verdict import Conflict, Finding
from dalembert.model.ordering import quoted
from dalembert.numerics.linear_algebra import dependencies, determined, independent_rows

UNIT_COEFFICIENT = 1e-9
"""A coefficient of a linear combination within this distance of ±1 is printed without a number: rounding leaves far
less, and the three digits that are printed would not show the difference."""

MOST_NAMES = 8
"""Largest number of constraints that are listed by name in one message."""


def freedom_finding(coordinates: int, constraints: int, rank: int) -> Finding:
    """Return the finding on the number of degrees of freedom."""
    free = coordinates - rank
    text = f"{free} degree{'s' * (free != 1)} of freedom: {coordinates} coordinate{'s' * (coordinates != 1)}"
    return Finding("freedom", f"{text}, constraints of rank {rank}." if constraints else f"{text}, no constraints.")


def redundancy_findings(
    context: CheckContext, conflicts: Sequence[Conflict], *, regular: bool
) -> tuple[dict[str, dict[str, float]], list[Finding]]:
    """Return for each redundant constraint the combination of others that it follows from, and findings about them.

    Dependent gradients do not make a constraint redundant if it contradicts the others, if the gradients are
    independent nearby, or at a degenerate state, which is not ``regular``.
    """
    A, names = context.terms.scaled_rows, context.names
    found = {names[i]: {names[k]: c for k, c in parts.items()} for i, parts in dependencies(A).items()}
    without_gradient = [
        name for name, off in zip(names, zero_gradient(context.model, context.around), strict=True) if off
    ]
    # the search for identities is expensive, and is done only where a gradient vanishes
    identities = {names[i] for i in void_rows(context.model, context.fixed)} if without_gradient else set[str]()
    findings = [_gradient_finding(name, identity=name in identities) for name in without_gradient]
    if regular:
        # a constraint that is dependent only here is singular, not redundant
        lost, _ = _lost_nearby(context)
        excluded = {name for conflict in conflicts for name in conflict.names}
        for name in (name for name in found if name not in without_gradient and name not in lost):
            together = [*found[name], name]
            # in a contradiction the gradients are dependent, but the constraint does not follow
            if excluded.isdisjoint(together) or not found[name]:
                findings.append(Finding("redundant", f"`{name}` {_combination(found[name])}."))
            else:
                kind = "parallel" if len(together) == 2 else "linearly dependent"
                findings.append(Finding("gradients", f"The gradients of {_listed(together)} are {kind}."))
    undetermined = [n for n, row, unique in zip(names, A, determined(A), strict=True) if not unique and row.any()]
    if undetermined:
        message = f"The multipliers of {_listed(undetermined)} are not unique: these constraints can share their load."
        findings.append(Finding("multipliers", message))
    return found, findings


def _gradient_finding(name: str, *, identity: bool) -> Finding:
    """Return the finding on a constraint whose gradient vanishes wherever it holds."""
    if identity:
        return Finding("redundant", f"`{name}` is an identity: it holds at every state.")
    message = (
        f"`{name}` has no gradient of its own wherever it holds, so that no force can keep it; state what it amounts "
        f"to instead, as x = 0 for x² = 0."
    )
    return Finding("gradient", message, True)


def _listed(names: list[str]) -> str:
    more = len(names) - MOST_NAMES
    return quoted(names) if more <= 0 else f"{quoted(names[:MOST_NAMES])} and {more} more"


def _combination(parts: dict[str, float]) -> str:
    if not parts:
        return "has no gradient there"
    if len(parts) > MOST_NAMES:
        return f"follows from {_listed(list(parts))}"
    terms = [
        f"{'-' if c < 0 else '+'} {'' if abs(abs(c) - 1) < UNIT_COEFFICIENT else f'{abs(c):.3g} × '}`{n}`"
        for n, c in parts.items()
    ]
    combination = " ".join(terms).removeprefix("+ ")
    return "follows from " + (f"-{combination[2:]}" if combination.startswith("- ") else combination)


def degenerate_findings(context: CheckContext) -> list[Finding]:
    """Return a finding if the constraints leave less freedom than the rank of A shows.

    The test is done at the given state, or else at all sampled states.
    """
    model = context.model
    if zero_gradient(model, context.around).any() or (_has_other_times(context) and _lost_nearby(context)[0]):
        return []
    # if no state satisfies the constraints, they are examined where they do not hold
    anywhere = [state.point for state in context.around] or random_places(model, context.fixed)
    rows = degenerate_rows(model, [context.point] if context.given else anywhere)
    if not rows:
        return []
    where = "at this state" if context.given else "wherever they hold"
    message = (
        f"{quoted(context.names[i] for i in rows)} are degenerate {where}: they leave less freedom than their "
        f"gradients show, so that they determine neither accelerations nor forces. Replace them by constraints "
        f"with independent gradients that leave the same motions."
    )
    return [Finding("singular configuration", message, True)]


def singular_findings(context: CheckContext) -> list[Finding]:
    """Return a finding if the rank of the constraints is lower here than at consistent states or times nearby."""
    lost, most = _lost_nearby(context)
    if not lost:
        return []
    here = len(independent_rows(context.terms.scaled_rows))
    if not _has_other_times(context):
        message = (
            f"The rank of the constraints is {here} here but {most} nearby: {quoted(lost)} becomes dependent "
            f"at this configuration, and the motion through it need not be unique."
        )
    else:
        message = (
            f"The rank of the constraints is {here} at t = {context.point.t:g} but {most} at other times: the gradient "
            f"of {quoted(lost)} vanishes or depends on those of the others at this time only, and the motion from it "
            f"need not be unique. Start at another time."
        )
    return [Finding("singular configuration", message, True)]


def _has_other_times(context: CheckContext) -> bool:
    """Return whether states at other times were sampled, as is done where gradients are dependent at the given time."""
    return context.fixed.t is not None and any(state.point.t != context.point.t for state in context.around)


def _lost_nearby(context: CheckContext) -> tuple[list[str], int]:
    """Return the constraints that are dependent here but not at consistent states nearby, and the rank there."""
    model, around = context.model, context.around
    if not context.given and not _has_other_times(context):
        return [], 0  # random states are not near one another
    # rows that vanish nearby up to rounding would otherwise raise the rank there
    terms = all_without_rounding(model, [model.terms(state.point) for state in around], around)
    near = [independent_rows(own.scaled_rows) for own in terms]
    here, most = independent_rows(context.terms.scaled_rows), max(near, key=len, default=())
    if len(most) <= len(here):
        return [], len(here)
    return [context.names[i] for i in most if i not in here], len(most)
