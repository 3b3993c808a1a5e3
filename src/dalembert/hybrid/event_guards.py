# SPDX-License-Identifier: BSD-3-Clause
"""Guards of a phase: zeros of event expressions, gaps of open contacts, reactions of closed ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import sympy as sp

from dalembert.common.array_types import Floats
from dalembert.hybrid.phase_choice import Choice
from dalembert.integration.path_outputs import outputs_at
from dalembert.model import graph
from dalembert.model.event import Event
from dalembert.model.expression_values import expression_values
from dalembert.model.symbols import multiplier, reaction
from dalembert.model.system import System
from dalembert.stick_slip.guards import Guard
from dalembert.stick_slip.segment import Segment

RATE_STEP = 1e-7
"""Time, relative to that of the run, over which the rate of an event expression is estimated."""

AT_ZERO = 1e-12
"""Time from a zero, relative to that of the run, within which its rate tells on which side an expression will be."""

LATER_STEPS = (1e-6, 1e-5, 1e-4)
"""Longer times, relative likewise, for expressions that change too little over the first one."""

TERM_ROUNDING = 1e-9
"""Value of an expression at its zero, relative to the sum of its terms, that the accuracy of the motion explains."""

RESOLVED_RATIO = 1.5, 6.0
"""Least and largest ratio of the change over a step to that over half of it: two for a rate, four if it vanishes."""

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
    sharing = choice.phase.sharing
    for name, sign in signs.items():
        # those of contacts that share their load are those of their best distribution: see ``Phase.guard_values``
        expression = sp.S.Zero if sharing is not None and name in sharing.shared else reaction(name)
        found.append(Guard(name, "force", expression, sign, FORCE_OFFSET * force_scale[name]))
    return tuple(found)


def coinciding(segment: Segment, y: Floats, span: float) -> tuple[Guard, ...]:
    """Return the guards of events and reactions that vanish where others have ended a segment, but for rounding.

    Just ahead the expressions of events are beyond zero, so that the next phase would not see them pass through it.
    Contacts whose reactions vanish together open together: if one of them remained closed, rounding alone would decide
    which one, and it would open as well, at once or without end.
    """
    phase, here = segment.phase, np.array([segment.end])
    kinds = {"event", "force"} if any(guard.kind == "force" for guard in segment.fired) else {"event"}
    left = [guard for guard in phase.guards if guard.kind in kinds and guard not in segment.fired]
    if not left:
        return ()
    found = outputs_at(phase.mode.dynamics, phase.method, None, here, y[None], here, phase.values)
    reactions = phase.admissible(here, y[None], found["reactions"])[0]
    now = Choice(frozenset(), phase, y, found["acceleration"][0], reactions)

    def passes(guard: Guard) -> bool:
        values = _values_ahead(guard.expression, now, segment.end, RATE_STEP * span)
        with np.errstate(all="ignore"):  # infinite at a pole
            rate = guard.sign * float(values[-1] - values[0]) / RATE_STEP
        return bool(rate < 0 and guard.sign * float(values[0]) + guard.offset <= -rate * AT_ZERO)

    return tuple(guard for guard in left if passes(guard))


def _event_guard(
    event: Event, choice: Choice, active: Collection[str], t: float, span: float, *, at_zero: bool
) -> Guard:
    """Return the guard of an event; of kind "armed" while its expression must first change its sign for it to occur."""
    # without nonideal laws a multiplier is the actual reaction, and with them an event has none
    forces = graph.atoms(event.expression, multiplier, reaction)
    known = {force: reaction(force.name) if force.name in active else sp.S.Zero for force in forces}
    expression = graph.replace(event.expression, known)
    sign, value = _side(expression, choice, t, span, at_zero=at_zero)
    kind = "event" if event.direction in (0, -sign) else "armed"
    # rounding may leave an expression that is about to become positive on the other side of zero
    return Guard(str(event.name), kind, expression, sign, max(-sign * value, 0.0))


def _side(expression: sp.Expr, choice: Choice, t: float, span: float, *, at_zero: bool) -> tuple[int, float]:
    """Return the sign of an expression just ahead of a state, and its value there, or zero if that is no rounding."""
    values = _values_ahead(expression, choice, t, RATE_STEP * span)
    if np.isinf(values).any():  # beside a pole
        return (1 if values[-1] > 0 else -1), 0.0
    here, change = float(values[0]), float(values[-1] - values[0])
    if not at_zero and abs(here) > abs(change) / RATE_STEP * AT_ZERO:
        return (1 if here > 0 else -1), here
    if at_zero and _is_beyond_zero(expression, choice, t, span):
        return (1 if values[-1] > 0 else -1), 0.0
    for step in LATER_STEPS:
        # an expression whose rate vanishes changes by its second derivative, which a short step may not resolve
        if _is_resolved(values):
            break
        values = _values_ahead(expression, choice, t, step * span)
    return (1 if values[-1] >= here else -1), here


def _is_beyond_zero(expression: sp.Expr, choice: Choice, t: float, span: float) -> bool:
    """Return whether an expression that has just changed its sign is far from zero: it jumped, or the state did."""
    here = abs(float(_values_ahead(expression, choice, t, 0.0)[0]))
    terms = float(_values_ahead(sum_of_terms(expression), choice, t, 0.0)[0])
    if not here > TERM_ROUNDING * terms:
        return False
    values = _values_ahead(expression, choice, t, LATER_STEPS[-1] * span)
    return here > float(np.abs(np.diff(values)).max())


def sum_of_terms(expression: sp.Expr) -> sp.Expr:
    """Return the sum of the absolute values of all terms of an expression, to which its rounding is in proportion."""
    if isinstance(expression, (sp.Add, sp.Mul)):
        return expression.func(*map(sum_of_terms, expression.args))
    return sp.Abs(expression)


def _values_ahead(expression: sp.Expr, choice: Choice, t: float, step: float) -> Floats:
    """Return the values of an expression at a state, and half a step and a step of time later."""
    phase, y = choice.phase, choice.y
    further = tuple(sorted({*phase.p} - {*phase.mode.system.parameter_names}))
    q, qd = np.split(y, 2)
    ahead = np.array([0.0, step / 2, step])
    h, times = ahead[:, None], t + ahead
    states = np.hstack([q + h * qd + h**2 / 2 * choice.acceleration, qd + h * choice.acceleration])
    reactions = np.broadcast_to(choice.reactions, (len(times), len(choice.reactions)))
    if graph.atoms(expression, reaction):
        found = outputs_at(phase.mode.dynamics, phase.method, None, times, states, times, phase.values)
        later = phase.admissible(times[1:], states[1:], found["reactions"][1:])
        reactions = np.concatenate([choice.reactions[None], later])
    values = expression_values(phase.mode.system, (expression,), further)
    with np.errstate(all="ignore"):  # as in ``Phase.guard_values``
        return values(times, states, phase.p, reactions=reactions)[:, 0]


def _is_resolved(values: Floats) -> bool:
    """Return whether values, half a step and a step later, change by their first or second derivative."""
    half, whole = values[1:] - values[0]
    low, high = RESOLVED_RATIO
    return bool(half * whole > 0 and low * abs(half) <= abs(whole) <= high * abs(half))
