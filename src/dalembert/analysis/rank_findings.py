# SPDX-License-Identifier: BSD-3-Clause
"""Findings on the rank of the constraints: redundant constraints, identities, degenerate and singular places."""

from __future__ import annotations

from dalembert.analysis.check_context import CheckContext
from dalembert.analysis.gradients import degenerate_rows, void_rows, without_rounding, zero_gradient
from dalembert.analysis.sampled_states import random_places
from dalembert.analysis.verdict import Finding
from dalembert.linear_algebra import dependencies, determined, independent_rows
from dalembert.model.ordering import quoted

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


def redundancy_findings(context: CheckContext, *, regular: bool) -> tuple[dict[str, dict[str, float]], list[Finding]]:
    """Return for each redundant constraint the combination of others that it follows from, and findings about them.

    At a degenerate state, which is not ``regular``, dependent gradients do not make a constraint redundant.
    """
    A, names = context.terms.scaled_rows, context.names
    found = {names[i]: {names[k]: c for k, c in parts.items()} for i, parts in dependencies(A).items()}
    without_gradient = [
        name for name, off in zip(names, zero_gradient(context.model, context.around), strict=True) if off
    ]
    identities = {names[i] for i in void_rows(context.model, context.fixed)} if without_gradient else set[str]()
    findings = [_gradient_finding(name, identity=name in identities) for name in without_gradient]
    if regular:
        shown = (name for name in found if name not in without_gradient)
        findings += [Finding("redundant", f"`{name}` {_combination(found[name])}.") for name in shown]
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
    if zero_gradient(model, context.around).any():
        return []
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
    """Return a finding if the rank of the constraints is lower at the given state than at consistent states nearby."""
    model, around = context.model, context.around
    near = [independent_rows(without_rounding(model, model.terms(state.point), around).scaled_rows) for state in around]
    here, most = independent_rows(context.terms.scaled_rows), max(near, key=len, default=())
    if len(most) <= len(here):
        return []
    lost = [context.names[i] for i in most if i not in here]
    message = (
        f"The rank of the constraints is {len(here)} here but {len(most)} nearby: {quoted(lost)} becomes dependent "
        f"at this configuration, and the motion through it need not be unique."
    )
    return [Finding("singular configuration", message, True)]
