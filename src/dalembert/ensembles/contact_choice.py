# SPDX-License-Identifier: BSD-3-Clause
"""The contacts that stay closed at the states of many ensemble members: the rules of ``hybrid.phase_choice``.

All members try a set of closed contacts at once, those with the same set together; in a member whose set is wrong, the
worst contact changes sides. A member for which this does not end is simulated by itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.ensembles.contact_gaps import sizes_of_members
from dalembert.ensembles.stick_slip_transitions import MemberPhases, groups
from dalembert.ensembles.switching_members import (
    ActiveSet,
    Flags,
    Numbers,
    SwitchingMembers,
    SwitchingModel,
    starts_of_members,
)
from dalembert.equation.dynamics import Terms
from dalembert.equation.reaction import signs
from dalembert.hybrid.phase_choice import ACCELERATION_ROUNDING, FORCE_ROUNDING, STILL
from dalembert.model.friction_contacts import velocity_jacobian
from dalembert.numerics.linear_algebra import rank, unit_rows


@dataclass
class ChoiceOfMany:
    """Accelerations (N, n) and reactions (N, m) of members with the contacts that stay closed."""

    acceleration: Floats
    reactions: Floats


def choose_of_many(
    model: SwitchingModel, part: SwitchingMembers, candidates: Flags, first: Flags, still: Flags
) -> ChoiceOfMany:
    """Choose the contacts that stay closed in all members, among candidates (N, m), and which of them stick.

    Trials begin with the contacts in ``first``; ``still`` (N, f) are contacts whose slip was zero.
    """
    n, m = part.y.shape[1] // 2, model.count
    found = ChoiceOfMany(np.zeros((len(part), n)), np.zeros((len(part), m)))
    terms, start, closed = model.terms.at(*part.at), part.y.copy(), first.copy()
    undecided = ~part.odd
    for _ in range(2 * m + 1):
        own = np.flatnonzero(undecided)
        if not own.size:
            break
        trial = part.subset(own)
        trial.y, trial.closed = start[own], closed[own]
        here = Terms(*(x[own] for x in terms))
        tried = _attempt(model, trial, here, still[own])
        part.put(own, trial)
        found.acceleration[own], found.reactions[own] = tried.acceleration, tried.reactions
        worst = _worst(trial, here, tried, candidates[own])
        right = trial.odd | (worst < 0)
        undecided[own[right]] = False
        wrong = np.flatnonzero(~right)
        closed[own[wrong], worst[wrong]] ^= True
    # pivoting may cycle under friction: a single run then tries all sets
    part.odd |= undecided
    _mark_paradoxes(model, part)
    return found


def _attempt(model: SwitchingModel, part: SwitchingMembers, terms: Terms, still: Flags) -> ChoiceOfMany:
    """Return the motion of members with their sets of closed contacts."""
    part.odd |= _undetermined(part, terms)
    n, m = part.y.shape[1] // 2, model.count
    found = ChoiceOfMany(np.zeros((len(part), n)), np.zeros((len(part), m)))
    for own, active in model.by_set(part):
        own = own[~part.odd[own]]
        if not own.size:
            continue
        some = part.subset(own)
        phases = active.phases(some)
        if active.contacts:
            _stick_or_slide(active, some, phases, still[own][:, active.places])
        active.put_phases(part, own, phases)
        some = part.subset(own)
        for inside, _ in groups(some.sticking):
            inside = inside[~some.odd[inside]]
            if inside.size:
                numbers = own[inside]
                values = active.motion(part.subset(numbers))
                found.acceleration[numbers], found.reactions[numbers], valid = values
                part.odd[numbers] |= ~valid.astype(bool)
    return found


def _stick_or_slide(active: ActiveSet, some: SwitchingMembers, phases: MemberPhases, still: Flags) -> None:
    """Decide which contacts of members stick, and which slide; ``still`` (N, contacts) did not slip before."""
    n = phases.y.shape[1] // 2
    # a contact without friction neither sticks nor slides, and has no direction
    phases.odd |= (active.transitions.static_coefficients(phases) == 0).any(axis=1)
    slow, none = np.zeros_like(still), np.zeros((len(some), len(active.active)))
    for k, contact in enumerate(active.contacts):
        rows = tuple(entry for row in velocity_jacobian(contact, active.system) for entry in row)
        jacobian, v = np.split(active.values((*rows, *contact.velocity), *some.at, none), [len(rows)], axis=1)
        allowed = STILL * (np.abs(jacobian) * (np.abs(phases.y[:, n:]) + some.scales[:, n:])).sum(axis=1)
        # an event or an impact may have changed the velocities
        slow[:, k] = still[:, k] & (np.abs(v[:, 0]) <= allowed)
    scales = starts_of_members(active.model, active.system, *some.at)[2]
    active.transitions.first(phases, scales[:, n:], slow)


def _undetermined(part: SwitchingMembers, terms: Terms) -> Flags:
    """Return the members in which the forces of closed contacts are not determined."""
    found, some = np.zeros(len(part), bool), np.flatnonzero(part.closed.any(axis=1) & ~part.odd)
    if not some.size:
        return found
    # in the mass metric, and scaled to one length: the rank is not to depend on units
    roots = np.linalg.cholesky(terms.M[some])
    A = np.swapaxes(np.linalg.solve(roots, np.swapaxes(terms.A[some], 1, 2)), 1, 2)
    for own, both in groups(np.hstack([part.active[some], part.closed[some]])):
        active, closed = np.split(both, 2)
        alone = rank(unit_rows(A[own][:, active])[0]) if active.any() else 0
        together = rank(unit_rows(A[own][:, active | closed])[0])
        found[some[own]] = together < alone + closed.sum()
    return found


def _worst(part: SwitchingMembers, terms: Terms, choice: ChoiceOfMany, candidates: Flags) -> Numbers:
    """Return the contact (N,) that pulls or penetrates most, relative to the forces; −1 where there is none."""
    largest, applied = np.abs(terms.A).max(axis=2, initial=0.0), np.abs(terms.Q).max(axis=1, initial=0.0)[:, None]
    force = choice.reactions * largest
    gap = _times(terms.A, choice.acceleration) - terms.b
    A, accelerations = np.abs(terms.A), np.abs(choice.acceleration)
    size = _times(A, accelerations) + np.abs(terms.b)
    coupled = _times(A, sizes_of_members(accelerations, terms, part, terms.b))
    rounding = np.maximum(ACCELERATION_ROUNDING * size, FORCE_ROUNDING * coupled)
    with np.errstate(all="ignore"):
        # written so that NaN counts as a pull: a set whose reactions are not determined is never right
        pulls = np.where(~(force >= -FORCE_ROUNDING * applied), -force / (applied + np.abs(force)), -np.inf)
        enters = np.where(~(gap >= -rounding), -gap / size, -np.inf)
    off = np.where(candidates, np.where(part.closed, pulls, enters), -np.inf)
    if not off.shape[1]:
        return np.full(len(off), -1)
    return np.where(off.max(axis=1) > -np.inf, off.argmax(axis=1), -1)


def _times(A: Floats, x: Floats) -> Floats:
    return (A @ x[..., None])[..., 0]


def _mark_paradoxes(model: SwitchingModel, part: SwitchingMembers) -> None:
    """Mark members in which friction of sliding contacts leaves no normal force, or several, as odd.

    The normal forces u of sliding contacts satisfy u − G |u| = u₀; they are unique if det(I − G diag σ) is positive for
    all signs σ, which are positive for contacts that press. A single run names the paradox.
    """
    for own, active in model.by_mode(part):
        own = own[~part.odd[own]]
        if own.size and active.contacts:
            part.odd[own] |= _has_paradox(active, part.subset(own))


def _has_paradox(active: ActiveSet, part: SwitchingMembers) -> Flags:
    laws = active.system.laws
    phases = active.phases(part)
    names = active.system.constraint_names
    sliding = [
        k
        for k, c in enumerate(active.contacts)
        if not phases.sticking[0, k] and laws[c.number].law.normal == "actual" and c.name in names
    ]
    if not sliding:
        return np.zeros(len(part), bool)
    mode = active.mode(part)
    M, _, A = mode.terms(phases.y, phases.t, phases.p, phases.directions)
    A = A[:, mode.rows]
    try:
        response = np.linalg.solve(M, np.swapaxes(A, 1, 2))
        carried = np.linalg.solve(A @ response, np.swapaxes(response, 1, 2))
    except np.linalg.LinAlgError:  # the normal forces of one of them are not determined
        return np.ones(len(part), bool)
    numbers = [names.index(active.contacts[k].name) for k in sliding]
    pulls = np.stack([_friction_of_unit_load(active, part, k) for k in sliding], axis=2)
    G = -(carried @ pulls)[:, numbers]
    found = np.zeros(len(part), bool)
    pressing = tuple(active.system.constraints[number].pressing for number in numbers)
    for combination in signs(len(sliding), pressing):
        found |= ~(np.linalg.det(np.eye(len(sliding)) - G * combination) > 0)
    return found


def _friction_of_unit_load(active: ActiveSet, part: SwitchingMembers, k: int) -> Floats:
    """Return the generalized force (N, n) of the friction of a sliding contact for one unit of its normal force."""
    contact = active.contacts[k]
    mu = active.system.laws[contact.number].law.friction_coefficient(contact.velocity[0] ** 2)
    rows = [entry for row in velocity_jacobian(contact, active.system) for entry in row]
    expressions = (*rows, mu * contact.normal_size)
    unit = np.zeros((2, len(part), len(active.active)))
    unit[1, :, active.rows[active.system.constraint_names.index(contact.name)]] = 1.0
    without, loaded = (active.values(expressions, *part.at, reactions) for reactions in unit)
    direction = part.directions[:, active.places[k]]
    return -((loaded - without)[:, -1] * direction)[:, None] * loaded[:, :-1]
