# SPDX-License-Identifier: BSD-3-Clause
"""Jumps and kinks of the constraints: their detection, and the impulse by which velocities follow a jump."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats, vector_of
from dalembert.common.levels import STATE_LEVELS
from dalembert.equation.dynamics import Dynamics, Terms
from dalembert.errors import ConstraintError, MassMatrixError, StateError
from dalembert.integration.row_selection import rows_for
from dalembert.integration.start_states import nearest_state, terms_at, violated_rows
from dalembert.numerics.tolerances import RANK_TOLERANCE

SEARCHED_AHEAD = 1e-10
"""Longest time ahead of a stalled integration that is searched for a jump, relative to the time left. Smooth terms do
not change visibly over such a time, and sixteen digits of time still resolve it."""


class Jump(NamedTuple):
    """States (2n,) just before and just after an impulse at a time."""

    t: float
    before: Floats
    after: Floats


def impulse_work(dynamics: Dynamics, jump: Jump, p: Any) -> Floats:
    """Return the work (m,) of each constraint's impulse Λ on the mean velocity before and after it."""
    impulse, A = impulses_of(dynamics, jump, p)
    before, qd = (np.split(y, 2)[1] for y in (jump.before, jump.after))
    return impulse * (A @ (qd + before)) / 2


def impulses_of(dynamics: Dynamics, jump: Jump, p: Any) -> tuple[Floats, Floats]:
    """Return the impulses Λ (m,) of constraints by which the velocities jump, M Δq̇ = AᵀΛ, and A."""
    q, qd = np.split(jump.after, 2)
    before = np.split(jump.before, 2)[1]
    terms = terms_at(dynamics, q, qd, np.asarray(jump.t), p)
    M, A = np.asarray(terms.M), np.asarray(terms.A)
    # redundant rows share the impulse: the pseudo-inverse gives the shortest Λ
    return np.linalg.pinv(A.T, rcond=RANK_TOLERANCE) @ (M @ (qd - before)), A


def cross_jump(dynamics: Dynamics, y: Floats, before: float, after: float, p: Any) -> tuple[Floats, list[str], str]:
    """Return the state after a jump between two neighbouring times, notes, and the reason if there is no such state.

    Velocities change by the smallest amount in the mass metric, which is the effect of an ideal impulse of the
    constraints. No impulse can make positions jump.
    """
    if not dynamics.constraints:
        return y, [], ""
    q, qd = np.split(y, 2)
    jumped = jumped_rows(dynamics, q, qd, before, after, p)
    if jumped["position"]:
        return y, [], position_jump(jumped["position"], after)
    if not jumped["velocity"]:
        return y, [], ""
    names = ", ".join(f"`{name}` by {size:.3g}" for name, size in jumped["velocity"].items())
    try:
        state = nearest_state(dynamics, q, qd, np.asarray(after), p)
    except (StateError, MassMatrixError) as refusal:
        return y, [], f"at t = {after:.6g} a prescribed velocity jumps ({names}), and no velocities follow: {refusal}"
    note = f"At t = {after:.6g} a prescribed velocity jumps ({names}); the velocities follow by an ideal impulse."
    return np.concatenate([q, state.qd]), [note], ""


def position_jump(sizes: Mapping[str, float], t: float) -> str:
    """Return a message that refuses jumps of positions, by the names of the constraints that prescribe them."""
    names = ", ".join(f"`{name}` by {abs(size):.3g}" for name, size in sizes.items())
    return (
        f"the positions that the constraints prescribe must not jump; at t = {t:.6g} they do: {names}. Let the "
        f"constraint change continuously, over a short time if need be."
    )


def jumped_rows(
    dynamics: Dynamics, q: Floats, qd: Floats, before: float, after: float, p: Any
) -> dict[str, dict[str, float]]:
    """Return, by level, the jumps of the constraints that are violated afterwards by what they change by, by name."""
    terms = [terms_at(dynamics, q, qd, np.asarray(t), p) for t in (before, after)]
    changes = {
        level: np.asarray(getattr(terms[1], level)) - np.asarray(getattr(terms[0], level)) for level in STATE_LEVELS
    }
    # the change by itself is judged as well: without a cure the constraints may have drifted before
    is_, jumps = violated_rows(terms[1], q, qd), violated_rows(terms[1]._replace(**changes), q, qd)
    smooth = _smooth_changes(terms, qd, after - before)
    found: dict[str, dict[str, float]] = {}
    for level in STATE_LEVELS:
        change = np.abs(changes[level])
        rows = np.flatnonzero(is_[level] & jumps[level] & (change > smooth[level]))
        found[level] = {dynamics.constraints[k]: float(change[k]) for k in rows}
    return found


def _smooth_changes(terms: Sequence[Terms], qd: Floats, span: float) -> dict[str, Floats]:
    """Return bounds (m,) of what residuals change by within a short time without a jump, by level.

    Where all terms of a constraint vanish, such a change is large relative to them.
    """
    A, rate, b = (
        np.max([np.abs(np.asarray(getattr(own, x))) for own in terms], axis=0) for x in ("A", "velocity", "b")
    )
    return {"position": SMOOTH_CHANGES * span * (rate + A @ np.abs(qd)), "velocity": SMOOTH_CHANGES * span * b}


SMOOTH_CHANGES = 4.0
"""Ratio of such a bound to the product of rate and time."""


def contradiction_at(dynamics: Dynamics, y: Floats, t: float, p: Any) -> str:
    """Return a message that names a redundant constraint violated at the end of a motion; empty if there is none."""
    if dynamics.machine_code is None or not np.isfinite(y).all():
        return ""
    q, qd = np.split(y, 2)
    used = rows_for(dynamics, y, t, vector_of(p))
    terms = terms_at(dynamics, q, qd, np.asarray(t), p)
    off = violated_rows(terms, q, qd)
    # if a row in use is violated as well, drift is the cause, and no contradiction follows
    rows = [k for k in np.flatnonzero(off["position"] | off["velocity"]) if k not in used]
    if not rows or (off["position"] | off["velocity"])[list(used)].any():
        return ""
    sizes = np.maximum(np.abs(np.asarray(terms.position)), np.abs(np.asarray(terms.velocity)))
    names = ", ".join(f"`{dynamics.constraints[k]}`, violated by {sizes[k]:.1e}" for k in rows)
    return (
        f"constraints that are redundant where a motion starts must go on to hold; {names}, contradicts the others "
        f"there. Remove or correct it; `da.check(system)` names the constraints that conflict."
    )


def kink_ahead(dynamics: Dynamics, y: Floats, t: float, end: float, p: Any) -> str:
    """Return a message that names a constraint with a kink just ahead of a stalled integration; empty if there is none.

    Along a straight path the residual of a smooth constraint grows at least linearly in time. Beyond a jump or kink it
    is large at once, so it is nearly the same at two different times ahead.
    """
    q, qd = np.split(y, 2)
    if not np.isfinite(y).all():
        return ""
    # along the straight path q + s q̇: accelerations do not matter over so short a time
    found: list[Terms] = []
    for ahead in SEARCHED_AHEAD * (end - t) * np.array([0.0, 0.25, 1.0]):
        found.append(terms_at(dynamics, q + ahead * qd, qd, np.asarray(t + ahead), p))
    here, near, far = ((violated_rows(terms, q, qd), terms) for terms in found)
    sudden = np.zeros(len(dynamics.constraints), bool)
    for level in STATE_LEVELS:
        sizes = [np.abs(np.asarray(getattr(terms, level))) for _, terms in (near, far)]
        sudden |= far[0][level] & ~here[0][level] & (sizes[0] > sizes[1] / 2)
    return _kinked(dynamics, sudden)


def kink_within(dynamics: Dynamics, y: Floats, t: float, step: float, p: Any) -> str:
    """Return a message that names a constraint with a jump or kink within the next fixed step; empty if there is none.

    The straight path of the step is halved again and again, towards the larger change of a row. That of a smooth one
    vanishes.
    """
    q, qd = np.split(y, 2)
    if not dynamics.constraints or not np.isfinite(y).all():
        return ""

    def rows(part: float) -> Floats:
        terms = terms_at(dynamics, q + part * step * qd, qd, np.asarray(t + part * step), p)
        residuals = [np.asarray(getattr(terms, level))[:, None] for level in STATE_LEVELS]
        return np.concatenate([np.asarray(terms.A), *residuals], axis=1)

    sudden = np.zeros(len(dynamics.constraints), bool)
    for k in range(len(sudden)):
        (left, right), (low, high) = (0.0, 1.0), (rows(0.0)[k], rows(1.0)[k])
        for _ in range(HALVINGS):
            middle = (left + right) / 2
            value = rows(middle)[k]
            if np.abs(high - value).max() > np.abs(value - low).max():
                left, low = middle, value
            else:
                right, high = middle, value
        sudden[k] = np.abs(high - low).max() > LEAST_SUDDEN_CHANGE * (np.abs(low).max() + np.abs(high).max())
    return _kinked(dynamics, sudden)


HALVINGS = 40
"""Halvings of a fixed step in the search for a kink: to a trillionth of it."""


def _kinked(dynamics: Dynamics, rows: NDArray[np.bool_]) -> str:
    names = ", ".join(f"`{dynamics.constraints[k]}`" for k in np.flatnonzero(rows))
    return (
        f"the constraints must be smooth along the motion; {names} has a jump or a kink there, which the velocities "
        f"cannot follow. Smooth it, or split the motion: end it before, and start another one beyond."
        if names
        else ""
    )


KINK_SEARCH_DISTANCE = 4.0
"""Distance from the last state at which a kink is searched for, relative to the spread of the last states."""

LEAST_SUDDEN_CHANGE = 1e-3
"""Change of a row over that distance, relative to its length, that a smooth constraint does not show."""


def kink_beside(dynamics: Dynamics, states: Floats, t: float, p: Any, tolerance: Any = 0.0) -> str:
    """Return a message that names a constraint with a jump or kink near stalled states (k, 2n); empty if there is none.

    When the forces press a motion into a kink, the steps stay on one side of it, so both sides are sampled. Over four
    times the distance a smooth term changes four times as much; across a kink the change is the same.
    """
    q, qd = np.split(states[-1], 2)
    if not dynamics.constraints or not np.isfinite(states).all():
        return ""
    # steps that chatter at a kink stay within the tolerance (n,) of it, or spread out along it
    sides = np.maximum(KINK_SEARCH_DISTANCE * np.ptp(states[:, : len(q)], axis=0), tolerance)
    # states that agree to rounding have no spread: then the distance is a few units in the last place
    sides = np.maximum(sides, 16 * np.spacing(np.maximum(np.abs(q), np.abs(q).max(initial=0.0) * 1e-3)))
    kinked = np.zeros(len(dynamics.constraints), bool)
    for i in np.flatnonzero(sides):
        step = sides[i] * np.eye(len(q))[i]
        near, far = ([terms_at(dynamics, q + side * part * step, qd, t, p) for side in (-1, 1)] for part in (0.25, 1.0))
        lengths = np.abs(np.asarray(far[0].A)).max(axis=1, initial=0.0) + np.abs(np.asarray(far[1].A)).max(axis=1)
        for name, least in (
            ("A", LEAST_SUDDEN_CHANGE * lengths),
            ("position", lengths * sides[i] / LEAST_SUDDEN_CHANGE),
        ):
            changes = [_change(name, *pair) for pair in (near, far)]
            kinked |= (changes[1] > least) & (changes[0] > changes[1] / 2)
    return _kinked(dynamics, kinked)


def refuse_kink(dynamics: Dynamics, q: Floats, qd: Floats, t: float, p: Any, acceleration: Floats) -> None:
    """Raise an error that names the constraints whose gradients just ahead of a state are not those at the state.

    At a kink they may be those of another piece, or of none: d|x|/dx is zero there.
    """
    ahead = qd if qd.any() else acceleration
    if not ahead.any() or not np.isfinite(ahead).all():
        return
    distance = 16 * np.spacing(np.maximum(np.abs(q), np.abs(q).max(initial=0.0) * 1e-3)).max()
    step = distance / np.abs(ahead).max() * ahead
    here, near, far = (terms_at(dynamics, q + part * step, qd, t, p) for part in (0.0, 0.25, 1.0))
    lengths = np.abs(np.asarray(here.A)).max(axis=1, initial=0.0) + np.abs(np.asarray(far.A)).max(axis=1, initial=0.0)
    kinked = np.zeros(len(dynamics.constraints), bool)
    for name, least in (("A", LEAST_SUDDEN_CHANGE * lengths), ("position", lengths * distance / LEAST_SUDDEN_CHANGE)):
        change = _change(name, here, far)
        kinked |= (change > least) & (_change(name, here, near) > change / 2)
    if kinked.any():
        names = ", ".join(f"`{dynamics.constraints[k]}`" for k in np.flatnonzero(kinked))
        raise ConstraintError(
            f"the constraints must be smooth just ahead of this state; {names} has a jump or a kink there. Take a "
            f"state beside it, or smooth the constraint."
        )


def _change(name: str, one: Terms, other: Terms) -> Floats:
    """Return the largest change (m,) of a term of each constraint between two states."""
    change = np.abs(np.asarray(getattr(one, name)) - np.asarray(getattr(other, name)))
    return change.reshape(len(change), -1).max(axis=1, initial=0.0)


def find_abrupt_change(dynamics: Dynamics, y: Floats, t: float, end: float, p: Any) -> float | None:
    """Return a time just after t, where integration has stalled, at which a constraint has jumped; None if none has."""
    q, qd = np.split(y, 2)
    ahead = 16 * np.spacing(max(abs(t), abs(end - t)))
    while np.isfinite(y).all() and ahead <= SEARCHED_AHEAD * (end - t):
        near, far = (jumped_rows(dynamics, q, qd, t, t + part * ahead, p) for part in (0.25, 1.0))
        for level in STATE_LEVELS:
            # a smooth residual changes four times as much in four times the time
            if any(near[level].get(name, 0.0) > size / 2 for name, size in far[level].items()):
                return t + ahead
        ahead *= 4
    return None
