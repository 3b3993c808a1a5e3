# SPDX-License-Identifier: BSD-3-Clause
"""Impact problems: contacts with their velocities and mobilities, within the equations that hold during the impact."""

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
from dalembert.impacts.impulse_shares import ImpulseContact
from dalembert.impacts.impulses import impact_impulses, response
from dalembert.impacts.impulses_in_space import impulses_in_space
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
    rows           (k + l, n) gradients of gaps, then of slips; zero without friction
    tangents       which of the slips are those of each contact: one along a line, or two components in a plane
    slips          (l,) sliding velocities before the impact
    mobility       (n, n) change of the velocities per unit of impulse, within the equations
    free_change    (n,) change of the velocities by the equations alone
    coupling       (k + l, k + l) changes of the velocities of the contacts per unit of their impulses
    """

    contacts: tuple[ImpulseContact, ...]
    equations: list[int]
    rows: Floats
    tangents: tuple[slice, ...]
    slips: Floats
    mobility: Floats
    free_change: Floats
    coupling: Floats

    def impulses(self, *, rough: bool = True) -> Floats:
        """Return the impulses (k + l,) of the contacts, or those without friction."""
        k, own, W = len(self.contacts), self.contacts, self.coupling
        if not rough:
            W = np.zeros((2 * k, 2 * k))
            W[:k, :k] = self.coupling[:k, :k]
            found = impact_impulses([replace(contact, slip=None) for contact in own], W)
            return np.concatenate([found.normal, np.zeros(len(self.slips))])
        if len(self.slips) == k:
            return np.concatenate(impact_impulses(own, W))
        if k == 1 and own[0].law != "moreau":
            return np.concatenate(turning_impulses(own[0], self.slips, W))
        return impulses_in_space(own, self.slips, self.tangents, W)

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
        slips = _in_their_directions([_slip(model, name, y, t) for name in members], (mobility, inverse), normals)
        rows = np.vstack([normals, *(slip.rows for slip in slips)])
        found: list[ImpulseContact] = []
        before: list[Floats] = []
        for name, slip in zip(members, slips, strict=True):
            stated = model.system.constraints[model.row(name)]
            # a contact that comes to rest is held like an equation, which ends its rebounds
            two_sided = not stated.one_sided or name in rest
            e = 0.0 if two_sided else model.restitution(name, t, y)
            # an equation that has just been switched on moves the contacts before any of them pushes
            approach = float(terms.velocity[model.row(name)] + terms.A[model.row(name)] @ free)
            before.append(slip.velocity + slip.rows @ free)
            along = float(before[-1][0]) if name in model.friction else None
            found.append(ImpulseContact(name, approach, e, along, slip.friction, two_sided, stated.impact))
        coupling = rows @ mobility @ rows.T
        # a contact that the equations hold has a mobility of rounding only
        held_still = np.diag(coupling) <= HELD * np.diag(rows @ inverse @ rows.T)
        coupling[held_still], coupling[:, held_still] = 0.0, 0.0
        ends = np.cumsum([0, *map(len, before)]).tolist()
        tangents = tuple(map(slice, ends[:-1], ends[1:]))
        return cls(tuple(found), equations, rows, tangents, np.concatenate([*before, []]), mobility, free, coupling)


class _Slip(NamedTuple):
    """The slip (c,) of a contact, its gradients (c, n), and its friction per unit of normal impulse."""

    name: str
    velocity: Floats
    rows: Floats
    friction: float

    @property
    def along(self) -> Floats:
        """Its direction (c,); any one for a contact at rest."""
        speed = float(np.linalg.norm(self.velocity))
        return self.velocity / speed if speed > 0 else np.eye(len(self.velocity))[0]

    def components(self, axes: Floats) -> _Slip:
        return self._replace(velocity=axes @ self.velocity, rows=axes @ self.rows)


def _slip(model: ContactTerms, name: str, y: Floats, t: float) -> _Slip:
    contact = model.friction.get(name)
    if contact is None:
        return _Slip(name, np.zeros(1), np.zeros((1, len(y) // 2)), 0.0)
    whole, count = model.whole, len(contact.velocity)
    # friction is linear in the reaction, so that its value at one unit of normal force is the coefficient
    unit = np.zeros(len(whole.constraints))
    unit[model.row(name)] = 1.0
    values = expression_values(whole, slip_expressions(whole, contact))(t, y, model.p, unit)
    return _Slip(name, values[:count], values[count + 1 :].reshape(count, -1), float(values[count]))


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


def _in_their_directions(slips: Sequence[_Slip], mobilities: tuple[Floats, Floats], normals: Floats) -> list[_Slip]:
    """Return slips with one component each, if all of them keep their directions, else in the planes of the contacts.

    ``mobilities`` (n, n) are those within the equations and without them.

    Raises
    ------
    ConstraintError    if slips turn and have more than two components
    """
    lines = [slip.components(slip.along[None]) for slip in slips]
    impulses = np.vstack([normals, *(line.rows for line in lines)])
    if not any(_turns(slip, impulses, *mobilities) for slip in slips):
        return lines
    # one slip that turns drives the others, by its friction
    return [slip if len(slip.velocity) == 1 else slip.components(_plane_of_slip(slip)) for slip in slips]


def _turns(slip: _Slip, impulses: Floats, mobility: Floats, inverse: Floats) -> bool:
    """Return whether some of the impulses (…, n) change the direction of a slip."""
    aside = slip.rows - np.outer(slip.along, slip.along @ slip.rows)
    lengths = [np.sqrt(np.einsum("in,nm,im->i", rows, inverse, rows)) for rows in (slip.rows, impulses)]
    change = np.abs(aside @ mobility @ impulses.T).max(axis=0)
    return bool((change > STRAIGHT_SLIP * lengths[0].max() * lengths[1]).any())


def _plane_of_slip(slip: _Slip) -> Floats:
    """Return the unit vectors (2, c) of the plane that contains all slips of a contact."""
    if len(slip.velocity) == 2:
        return np.eye(2)
    # components of the velocity in space: their vector is tangent to the surface
    axes, sizes, _ = np.linalg.svd(slip.rows, full_matrices=False)
    outside = np.abs(axes[:, 2:].T @ slip.velocity) > STRAIGHT_SLIP * np.linalg.norm(slip.velocity)
    if (sizes[2:] > STRAIGHT_SLIP * sizes[0]).any() or outside.any():
        raise ConstraintError(
            f"the slip of a contact must lie in a plane, or keep its direction during an impact; that of "
            f"`{slip.name}` turns, and has more than two independent components. Give `velocity` the components along "
            f"two tangents, model the motion in a plane, or leave out friction."
        )
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
