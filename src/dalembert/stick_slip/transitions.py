# SPDX-License-Identifier: BSD-3-Clause
"""Transitions: which of the contacts at rest stick, which slip, and in which direction."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.equation.dynamics import Terms
from dalembert.integration.default_tolerances import USUAL_ATOL, usual_atol
from dalembert.integration.start_states import terms_at
from dalembert.lowering.build import build
from dalembert.model.expression_values import expression_values
from dalembert.model.friction_contacts import Contact
from dalembert.model.symbols import functions_of_time
from dalembert.model.symbols import t as time
from dalembert.model.system import System
from dalembert.numerics.linear_algebra import row_space
from dalembert.numerics.tolerances import SOLVED_RANK_TOLERANCE
from dalembert.stick_slip.modes import cached_mode
from dalembert.stick_slip.phases import Phase
from dalembert.stick_slip.release import Release
from dalembert.stick_slip.trial_phases import acceleration_of, geometry, phase_with, unit_vector

MAX_DIRECTION_ITERATIONS = 200
"""Iterations for the direction in which a contact starts to slide; small steps correct the remaining error."""

DIRECTION_ROUNDING = 1e-13
"""Change of that direction, a unit vector, in one iteration that is rounding only."""

RESTING_SPEED = 1e-13
"""Sliding speed at the start of a motion that counts as rest, relative to the scale of the velocities, which is at most
one: states of sticking that a run returns have velocities of rounding size, not exactly zero."""

REST_SPEED = 1e-14
"""Sliding speed, relative to all velocities, that is rounding only."""

SLIP_PERTURBATION = 1e-13
"""Sliding speed, relative to all velocities, with which a contact in a plane starts to slide."""


def next_phase(
    before: Phase,
    y: Floats,
    t: float,
    stopped: Collection[Contact] = (),
    released: Collection[Contact] = (),
    peak_speeds: Mapping[Contact, float] | None = None,
) -> tuple[Phase, Floats]:
    """Return the next phase and the state to continue from.

    First all contacts at rest are held, but those without friction. ``Release`` lets those slip whose static limit is
    exceeded. Contacts in ``released`` are released in any case, those in ``stopped`` are at rest. ``peak_speeds`` are
    the largest speeds so far. A contact whose velocity the constraints prescribe, as at the dead centre of a crank,
    cannot be held: it moves as they prescribe.
    """
    mode = before.mode
    before = replace(before, frictionless=_without_friction(before, y, t))
    rough = [c for c in mode.contacts if c not in before.frictionless]
    resting = [c for c in rough if c in mode.sticking or c in stopped or is_at_rest(before.velocity(c, t, y), y)]
    sliding = {c: unit_vector(before.velocity(c, t, y)) for c in rough if c not in resting}
    sliding |= {c: np.zeros(len(c.velocity)) for c in before.frictionless}
    # a contact moved by the constraints must not be held: its constraint would contradict them
    sliding |= _prescribed_slip(before, resting, sliding, y, t)
    resting = [c for c in resting if c not in sliding]
    y = _without_residual_slip(phase_with(before, resting, sliding), y, t)
    phase, slipping = Release(before, tuple(resting), sliding, y, t, released, peak_speeds or {}).found()
    return _align_slip_directions(phase, slipping, y, t)


def _without_friction(before: Phase, y: Floats, t: float) -> tuple[Contact, ...]:
    """Return the contacts whose friction coefficient is a constant of value zero: they neither stick nor slide."""
    coefficients = {c: c.mu_static for c in before.mode.contacts}
    constant = [c for c, mu in coefficients.items() if not functions_of_time(mu) and time not in mu.free_symbols]
    if not constant:
        return ()
    values = expression_values(before.mode.system, tuple(coefficients[c] for c in constant))(t, y, before.p)
    return tuple(c for c, value in zip(constant, values, strict=True) if value == 0)


def _prescribed_slip(
    before: Phase, resting: Collection[Contact], sliding: dict[Contact, Floats], y: Floats, t: float
) -> dict[Contact, Floats]:
    """Return the contacts at rest whose velocity the constraints prescribe, with the direction of their motion.

    The direction is zero for a contact that stays at rest: the constraints carry the whole load, and friction none.
    """
    system = before.mode.system
    if not resting or not (system.constraints or system.servos):
        return {}
    all_held = geometry(before, resting, sliding)
    q, qd = np.split(y, 2)
    terms = terms_at(all_held.mode.dynamics, q, qd, t, all_held.values)
    A, b = np.asarray(terms.A), np.asarray(terms.b)
    own = row_space(A[: len(system.constraints)])
    found = [c for c in resting if _in_span(A[all_held.mode.rows(c)], own)]
    if system.servos:
        found += _moved_by_inputs(before, [c for c in resting if c not in found], sliding, A, all_held, y, t)
    if not found:
        return {}
    directions = {c: np.zeros(len(c.velocity)) for c in found}
    free = phase_with(before, [c for c in resting if c not in found], sliding | directions)
    acceleration = acceleration_of(free, y, t)
    # balanced forces leave a rounding error in proportion to their size
    scale = np.linalg.norm([acceleration, np.linalg.lstsq(np.asarray(terms.M), np.asarray(terms.Q))[0]])
    for contact in found:
        rows = all_held.mode.rows(contact)
        rate = A[rows] @ acceleration - b[rows]
        if np.linalg.norm(rate) > SOLVED_RANK_TOLERANCE * (np.linalg.norm(A[rows]) * scale + np.linalg.norm(b[rows])):
            directions[contact] = unit_vector(rate)
    return directions


def _moved_by_inputs(
    before: Phase,
    resting: Collection[Contact],
    sliding: dict[Contact, Floats],
    A: Floats,
    all_held: Phase,
    y: Floats,
    t: float,
) -> list[Contact]:
    """Return the contacts at rest whose motion the servo constraints prescribe.

    Inputs make up for friction there, so that its direction does not change the acceleration of the contact.
    """
    directions = {c: np.zeros(len(c.velocity)) for c in resting}
    found: list[Contact] = []
    for contact in resting:
        rows = A[all_held.mode.rows(contact)]
        changes, scale = 0.0, 0.0
        for axis in np.eye(len(contact.velocity)):
            there, back = (
                acceleration_of(phase_with(before, (), sliding | directions | {contact: sign * axis}), y, t)
                for sign in (1, -1)
            )
            changes = max(changes, float(np.linalg.norm(rows @ (there - back))))
            scale = max(scale, float(np.linalg.norm(rows) * np.linalg.norm([there, back])))
        if changes <= SOLVED_RANK_TOLERANCE * scale:
            found.append(contact)
    return found


def _in_span(rows: Floats, basis: Floats) -> bool:
    """Return whether rows lie in the span of an orthonormal basis."""
    outside = rows - rows @ basis.T @ basis
    return bool((np.linalg.norm(outside, axis=1) <= SOLVED_RANK_TOLERANCE * np.linalg.norm(rows, axis=1)).all())


def _align_slip_directions(phase: Phase, released: Collection[Contact], y: Floats, t: float) -> tuple[Phase, Floats]:
    """Return the phase with released contacts sliding in the direction in which they start to move.

    This need not be the direction of the load, where the inertia depends on direction. The iteration d → a + γd, with a
    the slip acceleration under friction along d and γ the largest acceleration that friction causes in any direction,
    converges to a parallel to d.
    """
    planar = [contact for contact in released if len(contact.velocity) > 1]
    for contact in planar:

        def slides(direction: Floats, phase: Phase = phase, contact: Contact = contact) -> Floats:
            along = replace(phase, directions={**phase.directions, contact: direction})
            return _slip_acceleration(along, contact, planar, y, t)

        # γ: a smaller one may oscillate between opposite directions
        axes = np.eye(len(contact.velocity))
        largest = np.linalg.norm([slides(axis) - slides(-axis) for axis in axes]) / 2
        for _ in range(MAX_DIRECTION_ITERATIONS):
            d = phase.directions[contact]
            new = unit_vector(slides(d) + largest * d)
            phase = replace(phase, directions={**phase.directions, contact: new})
            if np.linalg.norm(new - d) < DIRECTION_ROUNDING:
                break
    return phase, _perturbed_state(phase, planar, y, t)[0]


def _slip_acceleration(phase: Phase, contact: Contact, planar: Collection[Contact], y: Floats, t: float) -> Floats:
    """Return the rate of change of the sliding velocity of a released contact."""
    y, all_held, terms = _perturbed_state(phase, planar, y, t)
    rows = all_held.mode.rows(contact)
    return np.asarray(terms.A)[rows] @ acceleration_of(phase, y, t) - np.asarray(terms.b)[rows]


def _perturbed_state(phase: Phase, planar: Collection[Contact], y: Floats, t: float) -> tuple[Floats, Phase, Terms]:
    """Return the state with a sliding velocity just above rounding at released contacts, so that friction opposes it.

    Also return the phase in which these contacts are still held, and its terms.
    """
    sliding = {c: d for c, d in phase.directions.items() if c not in planar}
    all_held = geometry(phase, (*phase.mode.sticking, *planar), sliding)
    q, qd = np.split(y, 2)
    terms = terms_at(all_held.mode.dynamics, q, qd, t, all_held.values)
    slip_rates = np.zeros(len(terms.A))
    for contact in planar:
        slip_rates[all_held.mode.rows(contact)] = SLIP_PERTURBATION * (1 + np.abs(qd).max()) * phase.directions[contact]
    change = np.linalg.lstsq(np.asarray(terms.A), slip_rates)[0] if planar else 0 * qd
    return np.concatenate([q, qd + change]), all_held, terms


def contacts_at_rest(
    system: System, contacts: tuple[Contact, ...], y: Floats, t: float, p: dict[str, float]
) -> tuple[Contact, ...]:
    """Return the contacts at rest where a motion starts: see ``RESTING_SPEED``. Without friction none is held."""
    dynamics, (q, qd) = build(system), np.split(y, 2)
    scales = usual_atol(dynamics, q, qd, t, [p[name] for name in dynamics.parameters])[len(q) :] / USUAL_ATOL
    # sliding velocities are linear in the velocities: their changes for a change of each one by its scale, which is
    # at most one: where the origin of the coordinates lies must not decide
    ahead = y + np.concatenate([np.zeros((len(q), len(q))), np.diag(np.minimum(scales, 1.0))], axis=1)
    times, mode = np.full(len(q), t), cached_mode(system, contacts, ())
    found: list[Contact] = []
    for contact in contacts:
        v = mode.velocity(contact, t, y, p)
        allowed = RESTING_SPEED * np.abs(mode.velocity(contact, times, ahead, p) - v).sum(axis=0)
        holds = expression_values(system, (contact.mu_static,))(t, y, p)[0] > 0
        if (holds and (np.abs(v) <= allowed).all()) or is_at_rest(v, y):
            found.append(contact)
    return tuple(found)


def is_at_rest(v: Floats, y: Floats) -> bool:
    """Return whether a sliding velocity v is zero up to rounding."""
    return bool(np.linalg.norm(v) <= REST_SPEED * np.abs(y[len(y) // 2 :]).max())


def _without_residual_slip(phase: Phase, y: Floats, t: float) -> Floats:
    """Return the state without the residual sliding velocity of the sticking contacts."""
    q, qd = np.split(y, 2)
    terms = terms_at(phase.mode.dynamics, q, qd, t, phase.values)
    A, residual = np.asarray(terms.A), np.array(terms.velocity)
    # only the slip of sticking contacts: the drift of the constraints is left to the drift cure
    residual[: len(phase.mode.system.constraints)] = 0.0
    return np.concatenate([q, qd - np.linalg.lstsq(A, residual)[0]]) if residual.any() else y
