# SPDX-License-Identifier: BSD-3-Clause
"""Impacts: the change of the velocities by the impulses of contacts and constraints, M Δq̇ = AᵀΛ, and their work."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.equation.dynamics import Terms
from dalembert.errors import ConstraintError
from dalembert.impacts.contact_terms import ContactTerms
from dalembert.impacts.impact_problem import ImpactProblem
from dalembert.impacts.impulse_shares import ImpulseContact
from dalembert.model.ordering import quoted
from dalembert.numerics.tolerances import EXACT, START_TOLERANCE
from dalembert.numerics.violation import own_size

ENERGY_ROUNDING = 1e-9
"""Part of the energy of an impact that rounding may create."""


ROUNDED_SLIP = 1e-12
"""Sliding velocity after an impact, relative to the velocities, that is rounding."""


class Impact(NamedTuple):
    """The velocities (n,) after an impact, and the work (2, 1 + m + l) of its impulses, actual and by split.

    sticking    names of the contacts whose slip friction has stopped
    """

    qd: Floats
    work: Floats
    sticking: tuple[str, ...]


def impact(
    model: ContactTerms,
    y: Floats,
    t: float,
    active: Collection[str],
    touching: Collection[str],
    rest: Collection[str] = (),
) -> Impact:
    """Return the velocities after the impulses of active equations and of the contacts that touch.

    Contacts in ``rest`` come to rest, whatever their coefficient is, as those whose impacts accumulate do.

    Raises
    ------
    ConstraintError    if the laws have no solution, or create energy; if friction acts in a plane
    InputError         if a law of a constraint that takes part is not defined for impulses
    """
    terms, qd = model.at(y, t), np.split(y, 2)[1]
    parts = ImpactProblem.of(model, terms, y, t, active, touching, rest)
    pushed = parts.impulses()
    change = parts.change(pushed)
    after = qd + change
    _refuse_invalid(model, parts, y, t, after, pushed)
    k = len(parts.contacts)
    slips = parts.slips + parts.rows[k:] @ parts.response(pushed)
    still = np.abs(slips) <= ROUNDED_SLIP * (np.abs(parts.rows[k:]) @ (np.abs(qd) + np.abs(after)))
    stuck = [c.name for i, c in enumerate(parts.contacts) if still[parts.tangents[i]].all()]
    # an impulse changes the velocity in proportion, so that its work on the mean velocity is exact
    return Impact(after, _works(model, parts, terms, pushed, (qd + after) / 2), tuple(stuck))


def _works(model: ContactTerms, parts: ImpactProblem, terms: Terms, pushed: Floats, mean: Floats) -> Floats:
    """Return the work (2, 1 + m + l) of impulses on the mean velocity: as they act, and by their split.

    The ideal impulses are those of the same impact without friction. What remains is the work of the nonideal
    ones, which friction laws have in proportion to their own impulses.
    """
    work, k = _work(model, parts, terms, pushed, mean), len(parts.contacts)
    friction = np.array([np.linalg.norm(pushed[k:][parts.tangents[i]]) for i in range(k)])
    if not friction.any():
        return np.stack([work, work])
    # the impact is solved a second time: with friction the normal impulses are others than the ideal ones
    split = _work(model, parts, terms, parts.impulses(rough=False), mean)
    rest = work.sum() - split.sum()
    for contact, share in zip(parts.contacts, friction / friction.sum(), strict=True):
        if share > 0:
            split[model.law_entry(contact.name)] += share * rest
    return np.stack([work, split])


def _work(model: ContactTerms, parts: ImpactProblem, terms: Terms, pushed: Floats, mean: Floats) -> Floats:
    """Return the work (1 + m + l,) of impulses on a velocity, by the entries of a ledger."""
    work, k = np.zeros(1 + len(model.system.constraints) + len(model.system.laws)), len(parts.contacts)
    # the impulses of equations were eliminated: they are what M Δq̇ has beyond those of the contacts
    free = terms.M @ parts.change(pushed) - parts.rows.T @ pushed
    equations = np.linalg.lstsq(terms.A[parts.equations].T, free)[0]
    for i, impulse in zip(parts.equations, equations, strict=True):
        work[1 + i] += impulse * (terms.A[i] @ mean)
    for i, contact in enumerate(parts.contacts):
        work[1 + model.row(contact.name)] += pushed[i] * (parts.rows[i] @ mean)
        if contact.slip is not None:
            own = parts.tangents[i]
            work[model.law_entry(contact.name)] += pushed[k:][own] @ (parts.rows[k:][own] @ mean)
    return work


def _refuse_invalid(
    model: ContactTerms, parts: ImpactProblem, y: Floats, t: float, after: Floats, pushed: Floats
) -> None:
    """Raise an error if impulses create energy, or miss constraints that are not linear in the velocities."""
    q, qd = np.split(y, 2)
    new = model.at(np.concatenate([q, after]), t)
    rows = parts.equations
    # by the velocities before and after: a large one that an impulse has stopped leaves its rounding
    size = own_size(new.velocity[rows], new.A[rows], after) + np.abs(new.A[rows]) @ np.abs(qd)
    missed = np.abs(new.velocity[rows]) > START_TOLERANCE * size + EXACT * np.abs(new.A[rows]).sum(axis=1)
    if missed.any():
        names = [model.system.constraint_names[i] for i, off in zip(rows, missed, strict=True) if off]
        raise ConstraintError(
            f"constraints must hold after an impact: they must be linear in the velocities, and must not drive "
            f"bodies into a contact; at t = {t:.6g} {quoted(names)} cannot be met. End the motion by an event."
        )
    before = np.array([*(c.approach for c in parts.contacts), *parts.slips])
    later = before + parts.rows @ parts.response(pushed)
    # only the contacts: equations that move in time may do work
    gained = pushed @ (before + later) / 2
    if gained > ENERGY_ROUNDING * (np.abs(pushed) @ (np.abs(before) + np.abs(later))):
        raise ConstraintError(
            f"an impact must not create energy; {_laws_of(parts.contacts)} with the friction or the coefficients of "
            f"{quoted(contact.name for contact in parts.contacts)} would create {gained:.3g} at t = {t:.6g}. Pass "
            f'`impact="poisson"` to these constraints.'
        )


def _laws_of(contacts: Sequence[ImpulseContact]) -> str:
    """Return the names of the laws of impact of some contacts."""
    names = dict.fromkeys(f"{contact.law.capitalize()}'s" for contact in contacts if not contact.two_sided)
    return f"{' and '.join(names)} law{'s' if len(names) > 1 else ''}"
