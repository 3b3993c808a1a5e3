# SPDX-License-Identifier: BSD-3-Clause
"""Guards of a phase: zeros of event expressions, gaps of open contacts, reactions of closed ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import sympy as sp

from dalembert.array_types import Floats
from dalembert.hybrid.phase_choice import Choice
from dalembert.model import graph
from dalembert.model.event import Event
from dalembert.model.expression_values import expression_values
from dalembert.model.symbols import multiplier
from dalembert.model.system import System
from dalembert.stick_slip.guards import Guard

RATE_STEP = 1e-7
"""Time, relative to that of the run, over which the rate of an event expression is estimated."""

AT_ZERO = 1e-12
"""Time from a zero, relative to that of the run, within which its rate tells on which side an expression will be."""

FORCE_OFFSET = 1e-14
"""Reaction, relative to the applied forces, that is rounding."""


def guards_of(
    system: System,
    events: Sequence[Event],
    choice: Choice,
    t: float,
    span: float,
    *,
    gaps: Mapping[str, float],
    releases: Mapping[str, int],
    force_scale: Mapping[str, float],
    fired: Collection[str],
) -> tuple[Guard, ...]:
    """Return the guards of a phase that begins at time t.

    gaps           the open one-sided constraints, with an offset for those whose gap is zero up to rounding
    releases       constraints that are released when their force changes its sign, with that sign
    force_scale    scale of the reaction of each of these and of the closed contacts
    fired          names of the events that have just occurred, whose expressions are zero up to rounding
    """
    active = choice.phase.mode.system.constraint_names
    expressions = {c.name: c.expression for c in system.constraints}
    found = [_event_guard(event, choice, active, t, span, at_zero=event.name in fired) for event in events]
    found += [Guard(name, "gap", expressions[name], offset=offset) for name, offset in gaps.items()]
    signs = {**dict.fromkeys(sorted(choice.closed), 1), **releases}
    for name, sign in signs.items():
        found.append(Guard(name, "force", multiplier(name), sign, FORCE_OFFSET * force_scale[name]))
    return tuple(found)


def _event_guard(
    event: Event, choice: Choice, active: Collection[str], t: float, span: float, *, at_zero: bool
) -> Guard:
    """Return the guard of an event; of kind "armed" while its expression must first change its sign for it to occur."""
    off = {m: sp.S.Zero for m in graph.atoms(event.expression, multiplier) if m.name not in active}
    expression = graph.replace(event.expression, off)
    sign, value = _side(expression, choice, t, span, at_zero=at_zero)
    kind = "event" if event.direction in (0, -sign) else "armed"
    # rounding may leave an expression that is about to become positive on the other side of zero
    return Guard(str(event.name), kind, expression, sign, max(-sign * value, 0.0))


def _side(expression: sp.Expr, choice: Choice, t: float, span: float, *, at_zero: bool) -> tuple[int, float]:
    """Return the sign of an expression just ahead of a state, and its value there."""
    phase, y = choice.phase, choice.y
    further = tuple(sorted({*phase.p} - {*phase.mode.system.parameter_names}))
    value = expression_values(phase.mode.system, (expression,), further)
    step = RATE_STEP * span
    ahead = y + step * np.concatenate([y[len(y) // 2 :], choice.acceleration])
    states: Floats = np.stack([y, ahead])
    reactions = np.stack([choice.reactions, choice.reactions])
    here, later = value(np.array([t, t + step]), states, phase.p, reactions)[:, 0]
    if not at_zero and abs(here) > abs(later - here) / RATE_STEP * AT_ZERO:
        return (1 if here > 0 else -1), float(here)
    return (1 if later >= here else -1), float(here)
