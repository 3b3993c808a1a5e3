# SPDX-License-Identifier: BSD-3-Clause
"""Impact problems: contacts with their velocities and mobilities, within the equations that hold during the impact."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.equation.dynamics import Terms
from dalembert.errors import ConstraintError, InputError
from dalembert.impacts.contact_terms import ContactTerms
from dalembert.impacts.impulses import ImpulseContact, impact_impulses, response
from dalembert.impacts.turning_slip import turning_impulses
from dalembert.model import graph
from dalembert.model.expression_values import expression_values
from dalembert.model.friction_contacts import Contact, contacts, velocity_jacobian
from dalembert.model.sliding_expressions import squared
from dalembert.model.symbols import ideal_force, multiplier
from dalembert.model.system import System

HELD = 1e-12
"""Mobility of a contact within the equations, relative to that without them, that is rounding."""

STRAIGHT_SLIP = 1e-12
"""Change of the direction of a slip during an impact, relative to that of the slip, that is rounding."""


@dataclass(frozen=True, eq=False)
class ImpactProblem:
    """An impact problem: contacts with their rows, and equations, whose impulses are eliminated.

    equations      indices of the constraints that hold as equations
    rows           (k + l, n) gradients of gaps, then of slips; zero without friction. There is one slip for each
                   contact, along a line, or there are the two components of the slip of a single contact
    slips          (l,) sliding velocities before the impact
    mobility       (n, n) change of the velocities per unit of impulse, within the equations
    free_change    (n,) change of the velocities by the equations alone
    coupling       (k + l, k + l) changes of the velocities of the contacts per unit of their impulses
    """

    contacts: tuple[ImpulseContact, ...]
    equations: list[int]
    rows: Floats
    slips: Floats
    mobility: Floats
    free_change: Floats
    coupling: Floats

    def tangents(self, i: int) -> slice:
        """Return which of the slips are those of a contact."""
        return slice(i, i + 1) if len(self.slips) == len(self.contacts) else slice(None)

    def impulses(self, *, rough: bool = True) -> Floats:
        """Return the impulses (k + l,) of the contacts, or those without friction."""
        k, own = len(self.contacts), self.contacts
        if rough and len(self.slips) > k:
            return np.concatenate(turning_impulses(own[0], self.slips, self.coupling))
        own = own if rough else [replace(contact, slip=None) for contact in own]
        found = impact_impulses(own, self.coupling[: 2 * k, : 2 * k])
        return np.concatenate([found.normal, found.tangential, np.zeros(len(self.slips) - k)])

    def change(self, pushed: Floats) -> Floats:
        """Return the change (n,) of the velocities by impulses (k + l,) of the contacts."""
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
    ) -> ImpactProblem:
        names = [name for name in model.system.constraint_names if name in active or name in touching]
        refuse_laws(model.whole, tuple(names))
        members = [name for name in names if name in model.one_sided or name in model.friction]
        equations = [model.row(name) for name in names if name not in members]
        # the inverse itself: its entries are the mobilities that the laws of impact are stated with
        A, inverse = terms.A[equations], model.inverse_mass(terms, t)
        held = response(A, inverse)
        mobility, free = inverse - held @ A @ inverse, -held @ terms.velocity[equations]
        normals = terms.A[[model.row(name) for name in members]]
        slips = [_slip(model, name, y, t, mobility, normals) for name in members]
        rows = np.vstack([normals, *(own for own, *_ in slips)])
        found: list[ImpulseContact] = []
        before: list[Floats] = []
        for name, (own, slip, friction) in zip(members, slips, strict=True):
            stated = model.system.constraints[model.row(name)]
            # a contact that comes to rest is held like an equation, which ends its rebounds
            two_sided = not stated.one_sided or name in rest
            e = 0.0 if two_sided else model.restitution(name, t, y)
            # an equation that has just been switched on moves the contacts before any of them pushes
            approach = float(terms.velocity[model.row(name)] + terms.A[model.row(name)] @ free)
            before.append(np.zeros(1) if slip is None else slip + own @ free)
            along = None if slip is None else float(before[-1][0])
            found.append(ImpulseContact(name, approach, e, along, friction, two_sided, stated.impact))
        coupling = rows @ mobility @ rows.T
        # a contact that the equations hold has a mobility of rounding only
        held_still = np.diag(coupling) <= HELD * np.diag(rows @ inverse @ rows.T)
        coupling[held_still], coupling[:, held_still] = 0.0, 0.0
        return cls(tuple(found), equations, rows, np.concatenate([*before, []]), mobility, free, coupling)


def _slip(
    model: ContactTerms, name: str, y: Floats, t: float, mobility: Floats, normals: Floats
) -> tuple[Floats, Floats | None, float]:
    """Return the gradients (l, n) of the slip of a contact, its slip (l,), and its friction per normal impulse."""
    contact = model.friction.get(name)
    if contact is None:
        return np.zeros((1, len(y) // 2)), None, 0.0
    whole, count = model.whole, len(contact.velocity)
    # friction is linear in the reaction, so that its value at one unit of normal force is the coefficient
    unit = np.zeros(len(whole.constraints))
    unit[model.row(name)] = 1.0
    values = expression_values(whole, slip_expressions(whole, contact))(t, y, model.p, unit)
    slip, rows = values[:count], values[count + 1 :].reshape(count, -1)
    stated = model.system.constraints[model.row(name)]
    axes = _axes_of_slip(name, stated.impact, slip, rows, mobility, normals)
    return axes @ rows, axes @ slip, float(values[count])


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


def _axes_of_slip(name: str, law: str, slip: Floats, rows: Floats, mobility: Floats, normals: Floats) -> Floats:
    """Return the unit vectors (l, c) of the line or of the plane in which a contact slips during an impact.

    Raises
    ------
    ConstraintError    if the slip turns, and other contacts take part in the impact, or the law is Moreau's
    """
    speed = float(np.linalg.norm(slip))
    along = slip / speed if speed > 0 else np.eye(len(slip))[0]
    if len(slip) == 1:
        return np.ones((1, 1))
    # the slip keeps its direction if normal impulses do not change it, and friction along it changes it along itself
    own = rows @ mobility @ rows.T
    aside = own @ along - (along @ own @ along) * along
    driven = rows @ mobility @ normals.T
    turns = np.linalg.norm(aside) if speed > 0 else 0.0
    if max(turns, np.abs(driven).max()) <= STRAIGHT_SLIP * np.linalg.norm(own):
        return along[None]
    plane = _plane_of_slip(slip, rows)
    if plane is None or len(normals) > 1 or law == "moreau":
        reason = "the law of impact is Moreau's" if law == "moreau" else "other contacts take part in the impact"
        reason = "it has more than two components" if plane is None else reason
        raise ConstraintError(
            f"the slip of a contact must keep its direction during an impact if {reason}; that of `{name}` turns. "
            f"Model the motion in a plane, or leave out friction."
        )
    return plane


def _plane_of_slip(slip: Floats, rows: Floats) -> Floats | None:
    """Return the unit vectors (2, c) of the plane that contains all slips of a contact, None if there is none."""
    if len(slip) == 2:
        return np.eye(2)
    # components of the velocity in space: their vector is tangent to the surface
    axes, sizes, _ = np.linalg.svd(rows, full_matrices=False)
    outside = np.abs(axes[:, 2:].T @ slip) > STRAIGHT_SLIP * np.linalg.norm(slip)
    if (sizes[2:] > STRAIGHT_SLIP * sizes[0]).any() or outside.any():
        return None
    return axes[:, :2].T


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
