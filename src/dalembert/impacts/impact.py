# SPDX-License-Identifier: BSD-3-Clause
"""Impacts: the change of the velocities by the impulses of contacts and constraints, M Δq̇ = AᵀΛ, and their work."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.equation.dynamics import Terms
from dalembert.errors import ConstraintError, InputError
from dalembert.impacts.contact_terms import ContactTerms
from dalembert.impacts.impulses import ImpulseContact, impact_impulses, response
from dalembert.model import graph
from dalembert.model.expression_values import expression_values
from dalembert.model.friction_contacts import Contact, contacts, velocity_jacobian
from dalembert.model.ordering import quoted
from dalembert.model.sliding_expressions import squared
from dalembert.model.symbols import ideal_force, multiplier
from dalembert.model.system import System
from dalembert.numerics.tolerances import EXACT, START_TOLERANCE
from dalembert.numerics.violation import own_size

ENERGY_ROUNDING = 1e-9
"""Part of the energy of an impact that rounding may create."""


ROUNDED_SLIP = 1e-12
"""Sliding velocity after an impact, relative to the velocities, that is rounding."""

HELD = 1e-12
"""Mobility of a contact within the equations, relative to that without them, that is rounding."""

STRAIGHT_SLIP = 1e-12
"""Change of the direction of a slip during an impact, relative to that of the slip, that is rounding."""


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
    parts = _Parts.of(model, terms, y, t, active, touching, rest)
    impulses = impact_impulses(parts.contacts, parts.coupling)
    pushed = np.concatenate([impulses.normal, impulses.tangential])
    change = parts.change(pushed)
    after = qd + change
    _refuse_invalid(model, parts, y, t, after, pushed)
    k = len(parts.contacts)
    slips = np.array([c.slip or 0.0 for c in parts.contacts]) + parts.rows[k:] @ parts.response(pushed)
    size = ROUNDED_SLIP * (np.abs(parts.rows[k:]) @ (np.abs(qd) + np.abs(after)))
    stuck = [c.name for c, w, allowed in zip(parts.contacts, slips, size, strict=True) if abs(w) <= allowed]
    # an impulse changes the velocity in proportion, so that its work on the mean velocity is exact
    return Impact(after, _works(model, parts, terms, pushed, (qd + after) / 2), tuple(stuck))


def _works(model: ContactTerms, parts: _Parts, terms: Terms, pushed: Floats, mean: Floats) -> Floats:
    """Return the work (2, 1 + m + l) of impulses on the mean velocity: as they act, and by their split.

    The ideal impulses are those of the same impact without friction. What remains is the work of the nonideal
    ones, which friction laws have in proportion to their own impulses.
    """
    work, k = _work(model, parts, terms, pushed, mean), len(parts.contacts)
    friction = np.abs(pushed[k:])
    if not friction.any():
        return np.stack([work, work])
    # the impact is solved a second time: with friction the normal impulses are others than the ideal ones
    ideal = impact_impulses([replace(c, slip=None) for c in parts.contacts], parts.coupling)
    split = _work(model, parts, terms, np.concatenate([ideal.normal, ideal.tangential]), mean)
    rest = work.sum() - split.sum()
    for contact, share in zip(parts.contacts, friction / friction.sum(), strict=True):
        if share > 0:
            split[model.law_entry(contact.name)] += share * rest
    return np.stack([work, split])


def _work(model: ContactTerms, parts: _Parts, terms: Terms, pushed: Floats, mean: Floats) -> Floats:
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
            work[model.law_entry(contact.name)] += pushed[k + i] * (parts.rows[k + i] @ mean)
    return work


def _refuse_invalid(model: ContactTerms, parts: _Parts, y: Floats, t: float, after: Floats, pushed: Floats) -> None:
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
    before = np.array([*(c.approach for c in parts.contacts), *(c.slip or 0.0 for c in parts.contacts)])
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


@dataclass(frozen=True, eq=False)
class _Parts:
    """The parts of an impact problem: contacts with their rows, and equations, whose impulses are eliminated.

    equations      indices of the constraints that hold as equations
    rows           (2k, n) gradients of gaps, then of slips; zero without friction
    mobility       (n, n) change of the velocities per unit of impulse, within the equations
    free_change    (n,) change of the velocities by the equations alone
    coupling       (2k, 2k) changes of the velocities of the contacts per unit of their impulses
    """

    contacts: tuple[ImpulseContact, ...]
    equations: list[int]
    rows: Floats
    mobility: Floats
    free_change: Floats
    coupling: Floats

    def change(self, pushed: Floats) -> Floats:
        """Return the change (n,) of the velocities by impulses (2k,) of the contacts."""
        return self.free_change + self.response(pushed)

    def response(self, pushed: Floats) -> Floats:
        """Return the same without the change by the equations alone, which precedes the impulses of the contacts."""
        return self.mobility @ self.rows.T @ pushed

    @classmethod
    def of(
        cls,
        model: ContactTerms,
        terms: Terms,
        y: Floats,
        t: float,
        active: Collection[str],
        touching: Collection[str],
        rest: Collection[str],
    ) -> _Parts:
        names = [name for name in model.system.constraint_names if name in active or name in touching]
        refuse_laws(model.whole, tuple(names))
        members = [name for name in names if name in model.one_sided or name in model.friction]
        equations = [model.row(name) for name in names if name not in members]
        # the inverse itself: its entries are the mobilities that the laws of impact are stated with
        A, inverse = terms.A[equations], np.linalg.inv(terms.M)
        held = response(A, inverse)
        mobility, free = inverse - held @ A @ inverse, -held @ terms.velocity[equations]
        normals = terms.A[[model.row(name) for name in members]]
        slips = [_slip(model, name, y, t, mobility, normals) for name in members]
        rows = np.vstack([normals, *(row[None] for row, *_ in slips)])
        found: list[ImpulseContact] = []
        for name, (row, slip, friction) in zip(members, slips, strict=True):
            stated = model.system.constraints[model.row(name)]
            # a contact that comes to rest is held like an equation, which ends its rebounds
            two_sided = not stated.one_sided or name in rest
            e = 0.0 if two_sided else model.restitution(name, t, y)
            # an equation that has just been switched on moves the contacts before any of them pushes
            approach = float(terms.velocity[model.row(name)] + terms.A[model.row(name)] @ free)
            own = None if slip is None else slip + float(row @ free)
            found.append(ImpulseContact(name, approach, e, own, friction, two_sided, stated.impact))
        coupling = rows @ mobility @ rows.T
        # a contact that the equations hold has a mobility of rounding only
        held_still = np.diag(coupling) <= HELD * np.diag(rows @ inverse @ rows.T)
        coupling[held_still], coupling[:, held_still] = 0.0, 0.0
        return cls(tuple(found), equations, rows, mobility, free, coupling)


def _slip(
    model: ContactTerms, name: str, y: Floats, t: float, mobility: Floats, normals: Floats
) -> tuple[Floats, float | None, float]:
    """Return the gradient (n,) of the slip of a contact, its slip, and its friction per unit of normal impulse."""
    contact = model.friction.get(name)
    if contact is None:
        return np.zeros(len(y) // 2), None, 0.0
    whole, count = model.whole, len(contact.velocity)
    # friction is linear in the reaction, so that its value at one unit of normal force is the coefficient
    unit = np.zeros(len(whole.constraints))
    unit[model.row(name)] = 1.0
    values = expression_values(whole, slip_expressions(whole, contact))(t, y, model.p, unit)
    slip, rows = values[:count], values[count + 1 :].reshape(count, -1)
    along = _line_of_slip(name, slip, rows, mobility, normals)
    return along @ rows, float(along @ slip), float(values[count])


@lru_cache(maxsize=256)
def slip_expressions(whole: System, contact: Contact) -> tuple[Any, ...]:
    """Return the slip of a contact, its friction per unit of normal force, and the gradients of its slip.

    A coefficient that depends on the slip is that of the slip before the impact.
    """
    if graph.atoms(contact.normal_size, multiplier) - {multiplier(contact.name)}:
        raise InputError(
            f"friction in an impact must be proportional to the impulse of its own constraint; that of "
            f'`{contact.name}` depends on others. Give `normal_force` by `da.multiplier("{contact.name}")`. Friction '
            f"of a joint with several reactions, such as a pin, cannot act in an impact: leave it out."
        )
    mu = whole.laws[contact.number].law.friction_coefficient(squared(contact.velocity))
    gradients = [entry for row in velocity_jacobian(contact, whole) for entry in row]
    return (*contact.velocity, mu * contact.normal_size, *gradients)


def _line_of_slip(name: str, slip: Floats, rows: Floats, mobility: Floats, normals: Floats) -> Floats:
    """Return the unit vector (c,) along which a contact slips during an impact, or raise an error if it turns."""
    speed = float(np.linalg.norm(slip))
    along = slip / speed if speed > 0 else np.eye(len(slip))[0]
    if len(slip) == 1:
        return np.ones(1)
    # the slip keeps its direction if normal impulses do not change it, and friction along it changes it along itself
    own = rows @ mobility @ rows.T
    aside = own @ along - (along @ own @ along) * along
    driven = rows @ mobility @ normals.T
    turns = np.linalg.norm(aside) if speed > 0 else 0.0
    if max(turns, np.abs(driven).max()) > STRAIGHT_SLIP * np.linalg.norm(own):
        raise ConstraintError(
            f"the slip of a contact must keep its direction during an impact; that of `{name}` turns. Model "
            f"the motion in a plane, or leave out friction."
        )
    return along


@lru_cache(maxsize=256)
def refuse_laws(whole: System, names: tuple[str, ...]) -> None:
    """Raise an error if a law that depends on reactions, and is not dry friction, has no meaning for impulses."""
    rough = {contact.number for contact in contacts(whole)}
    for number, placed in enumerate(whole.laws):
        if number in rough or (placed.constraint and placed.constraint not in names):
            continue
        components = placed.law.components(whole.coordinates)
        if any(graph.atoms(component, multiplier, ideal_force) for component in components):
            raise InputError(
                f"a nonideal law that depends on reactions must be dry friction without `smoothing` in an impact; "
                f"{placed.described} is another one. Replace it by `da.Coulomb(mu)`, or end the motion by an event."
            )
