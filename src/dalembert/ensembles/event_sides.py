# SPDX-License-Identifier: BSD-3-Clause
"""The guards of the next phases of many ensemble members: signs and offsets, as by ``hybrid.event_guards``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp

from dalembert.common.array_types import Floats
from dalembert.ensembles.contact_choice import ChoiceOfMany
from dalembert.ensembles.contact_gaps import GapsOfMany
from dalembert.ensembles.switching_members import ActiveSet, Flags, SwitchingMembers, SwitchingModel
from dalembert.hybrid.event_guards import (
    AT_ZERO,
    FORCE_OFFSET,
    LATER_STEPS,
    RATE_STEP,
    RESOLVED_RATIO,
    TERM_ROUNDING,
    sum_of_terms,
)
from dalembert.hybrid.hybrid_simulation import RELEASE_FORCE
from dalembert.model import graph
from dalembert.model.symbols import reaction

Ahead = Callable[[Any, float], Floats]
"""Values (N, 3) of an expression at states, and half of a time and a time later."""


def set_guards(model: SwitchingModel, part: SwitchingMembers, choice: ChoiceOfMany, span: float, fired: Flags) -> None:
    """Set the guards of members at the beginning of their phases; ``fired`` (N, E) are events that just occurred."""
    _set_guards_of_constraints(model, part, choice)
    for own, active in model.by_mode(part):
        own = own[~part.odd[own]]
        if own.size and model.events:
            some = part.subset(own)
            _set_guards_of_events(active, some, choice.acceleration[own], choice.reactions[own], span, fired[own])
            part.put(own, some)


def coinciding(
    active: ActiveSet,
    some: SwitchingMembers,
    acceleration: Floats,
    reactions: Floats,
    span: float,
    fired: Flags,
    ended: Flags,
) -> Flags:
    """Return the guards (N, E + m) of members in one mode that vanish beside those that fired, but for rounding.

    As by ``hybrid.event_guards.coinciding``: events of members in ``ended`` (N,), and reactions where another one has
    vanished.
    """
    E, found = len(active.model.events), np.zeros(some.signs.shape, bool)
    forces = E + np.flatnonzero(active.active)
    by_force = fired[:, forces].any(axis=1)
    for i, expression in active.guards.items():
        left = ~fired[:, i] & (some.watched[:, i] & ended if i < E else by_force)
        own = np.flatnonzero(left) if i < E or i in forces else np.zeros(0, np.intp)
        if not own.size:
            continue
        part = some.subset(own)
        values = _ahead(active, part, acceleration[own], reactions[own], expression, RATE_STEP * span)
        sign = part.signs[:, i]
        with np.errstate(all="ignore"):  # infinite at a pole
            rate = sign * (values[:, -1] - values[:, 0]) / RATE_STEP
        found[own, i] = (rate < 0) & (sign * values[:, 0] + part.offsets[:, i] <= -rate * AT_ZERO)
    return found


def _set_guards_of_constraints(model: SwitchingModel, part: SwitchingMembers, choice: ChoiceOfMany) -> None:
    E, gaps = len(model.events), GapsOfMany.at(model, part)
    largest = np.abs(gaps.terms.A).max(axis=2, initial=np.finfo(float).tiny)
    # a reaction is a force over the largest entry of its row: in these units its rounding is known
    scale = np.abs(gaps.terms.Q).max(axis=1, initial=0.0)[:, None] / largest
    releasing = np.array([c.releases for c in model.system.constraints], bool) & part.active
    new = releasing & (part.releases == 0)
    part.odd |= (new & (np.abs(choice.reactions) <= RELEASE_FORCE * scale)).any(axis=1)
    part.releases = np.where(new, np.sign(choice.reactions), np.where(releasing, part.releases, 0.0))
    forced = part.closed | releasing
    part.signs[:, E:] = np.where(part.releases != 0, part.releases, 1.0)
    part.offsets[:, E:] = np.where(forced, FORCE_OFFSET * scale, gaps.offsets())


def _set_guards_of_events(
    active: ActiveSet, some: SwitchingMembers, acceleration: Floats, reactions: Floats, span: float, fired: Flags
) -> None:
    """Set the guards of events in members of one mode."""
    for k, event in enumerate(active.model.events):
        expression = active.event_expressions[k]
        sign, value = _side(
            expression, lambda e, step: _ahead(active, some, acceleration, reactions, e, step), span, fired[:, k]
        )
        some.signs[:, k], some.watched[:, k] = sign, (event.direction == 0) | (event.direction == -sign)
        # rounding may leave an expression that is about to become positive on the other side of zero
        some.offsets[:, k] = np.maximum(-sign * value, 0.0)
        some.odd |= ~np.isfinite(value)


def _side(expression: Any, ahead: Ahead, span: float, at_zero: Flags) -> tuple[Floats, Floats]:
    """Return the signs of an expression just ahead of states, and its values, or zero where that is no rounding."""
    values = ahead(expression, RATE_STEP * span)
    here, change = values[:, 0], values[:, -1] - values[:, 0]
    far = ~at_zero & (np.abs(here) > np.abs(change) / RATE_STEP * AT_ZERO)
    beyond = at_zero.copy()
    if at_zero.any():
        beyond &= _is_beyond_zero(expression, ahead, span)
    last = values[:, -1]
    settled = far | beyond | _is_resolved(values)
    for step in LATER_STEPS:
        if settled.all():
            break
        # an expression whose rate vanishes changes by its second derivative, which a short step may not resolve
        later = ahead(expression, step * span)
        last, settled = np.where(settled, last, later[:, -1]), settled | _is_resolved(later)
    positive = np.where(far, here > 0, np.where(beyond, values[:, -1] > 0, last >= here))
    return np.where(positive, 1.0, -1.0), np.where(beyond, 0.0, here)


def _is_beyond_zero(expression: Any, ahead: Ahead, span: float) -> Flags:
    """Return where an expression that has just changed its sign is far from zero: it jumped, or the state did."""
    later = ahead(expression, LATER_STEPS[-1] * span)
    terms = ahead(sum_of_terms(expression), 0.0)[:, 0]
    here = np.abs(later[:, 0])
    return (here > TERM_ROUNDING * terms) & (here > np.abs(np.diff(later, axis=1)).max(axis=1))


def _is_resolved(values: Floats) -> Flags:
    """Return where values, half a step and a step later, change by their first or second derivative."""
    half, whole = values[:, 1] - values[:, 0], values[:, 2] - values[:, 0]
    low, high = RESOLVED_RATIO
    return (half * whole > 0) & (low * np.abs(half) <= np.abs(whole)) & (np.abs(whole) <= high * np.abs(half))


def _ahead(
    active: ActiveSet, some: SwitchingMembers, acceleration: Floats, reactions: Floats, expression: sp.Expr, step: float
) -> Floats:
    """Return the values (N, 3) of an expression at states, and half a step and a step of time later."""
    q, qd = np.split(some.y, 2, axis=1)
    found: list[Floats] = []
    for h in (0.0, step / 2, step):
        y, t = np.hstack([q + h * qd + h**2 / 2 * acceleration, qd + h * acceleration]), some.t + h
        forces = reactions
        if h and graph.atoms(expression, reaction):
            forces = active.motion(some, y, t)[1]
        found.append(active.values((expression,), y, t, some.p, forces)[:, 0])
    return np.stack(found, axis=1)
