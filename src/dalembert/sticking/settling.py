# SPDX-License-Identifier: BSD-3-Clause
"""What comes next: which of the contacts at rest stick, which of them slip, and which way."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dalembert.equation.dynamics import Terms
from dalembert.integration.run import told
from dalembert.integration.start import terms_at
from dalembert.model.sticking import Contact
from dalembert.sticking.helpers import DEPENDENT, basis_of, helpers_of
from dalembert.sticking.mode import mode_of
from dalembert.sticking.phase import Phase

Floats = NDArray[np.float64]

MOST_TURNS = 200
"""Attempts to find the direction in which a contact starts to slide; what is left to do, small steps will."""

AT_REST = 1e-14
"""Sliding velocity, relative to all velocities, that is rounding only."""

NUDGE = 1e-13
"""Sliding velocity, relative to all velocities, with which a contact that can turn aside starts to slide."""


def settled(
    before: Phase,
    y: Floats,
    t: float,
    stopped: Collection[Contact] = (),
    freed: Collection[Contact] = (),
    fastest: Mapping[Contact, float] | None = None,
) -> tuple[Phase, Floats]:
    """The next phase and the state with which to go on.

    First all that is at rest is held; whichever that takes too much for lets go, the worst first, and starts to slide
    the way it is pushed. What is ``freed`` lets go in any case. ``fastest`` are the speeds that are past. A contact
    whose velocity the constraints prescribe, as at the dead centre of a crank, cannot be held: it moves as they say.
    """
    mode = before.mode
    resting = [c for c in mode.contacts if c in mode.sticking or c in stopped or rests(before.velocity(c, t, y), y)]
    sliding = {c: _unit(before.velocity(c, t, y)) for c in mode.contacts if c not in resting}
    sliding |= _prescribed(before, resting, sliding, y, t)
    resting = [c for c in resting if c not in sliding]
    y = _at_rest(_phase(before, resting, sliding), y, t)
    pushed: dict[Contact, Floats] = {}
    while True:
        held = [c for c in resting if c not in pushed]
        trial = _phase(before, held, sliding | pushed)
        speeds = {c: (fastest or {}).get(c, 0.0) if c in sliding else 0.0 for c in trial.directions}
        trial = replace(trial, fastest=speeds, helpers=helpers_of(trial, y, t))
        here = np.array([t])
        _, reactions = trial.at(None, here, y[None], here)
        loads = {c: trial.load(c, t, y, reactions[0]) for c in held}
        excess = {c: np.inf if c in freed else float(load.excess) for c, load in loads.items()}
        worst = max(excess, key=lambda c: excess[c], default=None)
        if worst is None or excess[worst] <= 0:
            return _aligned(trial, pushed, y, t)
        pushed[worst] = _unit(-loads[worst].taken)


def _prescribed(
    before: Phase, resting: Collection[Contact], sliding: dict[Contact, Floats], y: Floats, t: float
) -> dict[Contact, Floats]:
    """The contacts at rest whose velocity the constraints prescribe, and the way each starts to move.

    That is zero for one that is kept at rest: the constraints take what load there is, and friction none.
    """
    if not resting or not before.mode.system.constraints:
        return {}
    whole = _phase(before, resting, sliding)
    q, qd = np.split(y, 2)
    terms = terms_at(whole.mode.dynamics, q, qd, t, whole.values)
    A, b = np.asarray(terms.A), np.asarray(terms.b)
    own = basis_of(A[: len(before.mode.system.constraints)])
    found = [c for c in resting if _within(A[whole.mode.rows(c)], own)]
    if not found:
        return {}
    still = {c: np.zeros(len(c.velocity)) for c in found}
    free = _phase(before, [c for c in resting if c not in found], sliding | still)
    here = np.array([t])
    acceleration = told(free.mode.dynamics, free.method, None, here, y[None], here, free.values)["acceleration"][0]
    # forces that balance leave rounding of their own size
    large = np.linalg.norm([acceleration, np.linalg.lstsq(np.asarray(terms.M), np.asarray(terms.Q))[0]])
    for contact in found:
        rows = whole.mode.rows(contact)
        rate = A[rows] @ acceleration - b[rows]
        if np.linalg.norm(rate) > DEPENDENT * (np.linalg.norm(A[rows]) * large + np.linalg.norm(b[rows])):
            still[contact] = _unit(rate)
    return still


def _within(rows: Floats, basis: Floats) -> bool:
    """Whether rows lie in the span of an orthonormal basis."""
    outside = rows - rows @ basis.T @ basis
    return bool((np.linalg.norm(outside, axis=1) <= DEPENDENT * np.linalg.norm(rows, axis=1)).all())


def _aligned(phase: Phase, pushed: Collection[Contact], y: Floats, t: float) -> tuple[Phase, Floats]:
    """The phase with contacts that let go sliding the way they start to move, friction being against that.

    It need not be the way they are pushed, where masses differ by direction. From d to a + γd, a being how the sliding
    velocity changes under friction along d and γ what friction has to do with that, one comes to a along d.
    """
    turning = [contact for contact in pushed if len(contact.velocity) > 1]
    for contact in turning:
        for _ in range(MOST_TURNS):
            d = phase.directions[contact]
            back = replace(phase, directions={**phase.directions, contact: -d})
            ahead, behind = (_rate(one, contact, turning, y, t) for one in (phase, back))
            new = _unit(ahead + np.linalg.norm(behind - ahead) / 2 * d)
            phase = replace(phase, directions={**phase.directions, contact: new})
            if np.linalg.norm(new - d) < 1e-13:
                break
    return phase, _nudged(phase, turning, y, t)[0]


def _rate(phase: Phase, contact: Contact, turning: Collection[Contact], y: Floats, t: float) -> Floats:
    """How the sliding velocity of a contact that lets go changes with time."""
    y, whole, terms = _nudged(phase, turning, y, t)
    here = np.array([t])
    found = told(phase.mode.dynamics, phase.method, None, here, y[None], here, phase.values)
    rows = whole.mode.rows(contact)
    return np.asarray(terms.A)[rows] @ found["acceleration"][0] - np.asarray(terms.b)[rows]


def _nudged(phase: Phase, turning: Collection[Contact], y: Floats, t: float) -> tuple[Floats, Phase, Terms]:
    """The state with a very small sliding velocity where a contact lets go, more than rounding: friction is against it.

    With it come the phase in which these contacts were still held, and its terms.
    """
    sliding = {c: d for c, d in phase.directions.items() if c not in turning}
    whole = _phase(phase, (*phase.mode.sticking, *turning), sliding)
    q, qd = np.split(y, 2)
    terms = terms_at(whole.mode.dynamics, q, qd, t, whole.values)
    wanted = np.zeros(len(terms.A))
    for contact in turning:
        wanted[whole.mode.rows(contact)] = NUDGE * (1 + np.abs(qd).max()) * phase.directions[contact]
    moved = np.linalg.lstsq(np.asarray(terms.A), wanted)[0] if turning else 0 * qd
    return np.concatenate([q, qd + moved]), whole, terms


def _phase(before: Phase, sticking: Collection[Contact], directions: dict[Contact, Floats]) -> Phase:
    mode = before.mode
    return Phase(mode_of(mode.system, mode.contacts, tuple(sticking)), before.method, before.p, directions, {})


def rests(v: Floats, y: Floats) -> bool:
    """Whether a contact that slides at v is at rest, but for rounding."""
    return bool(np.linalg.norm(v) <= AT_REST * np.abs(y[len(y) // 2 :]).max())


def _unit(v: Floats) -> Floats:
    return v / np.linalg.norm(v)


def _at_rest(phase: Phase, y: Floats, t: float) -> Floats:
    """The state with the last rests of sliding velocity taken off all that a phase holds."""
    q, qd = np.split(y, 2)
    terms = terms_at(phase.mode.dynamics, q, qd, t, phase.values)
    A, off = np.asarray(terms.A), np.array(terms.velocity)
    off[: len(phase.mode.system.constraints)] = 0.0
    return np.concatenate([q, qd - np.linalg.lstsq(A, off)[0]]) if off.any() else y
