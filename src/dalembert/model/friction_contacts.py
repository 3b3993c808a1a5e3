# SPDX-License-Identifier: BSD-3-Clause
"""Contacts under dry friction that can stick, and the system in which some of them do."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import sympy as sp

from dalembert.model.constraint import Constraint
from dalembert.model.differentiation import gradient
from dalembert.model.friction import Continued, Friction
from dalembert.model.law_placement import PlacedLaw
from dalembert.model.standard_form import constraint_gradient
from dalembert.model.system import System


@dataclass(frozen=True)
class Contact:
    """A contact under dry friction, which slides or sticks.

    number          index of its law among the laws of the system
    name            of its constraint, or of the law if it belongs to the whole system
    velocity        components of the sliding velocity; only tangential ones where these can be identified
    normal_size     |N|, an expression of multipliers
    mu_static       static friction coefficient: friction holds up to mu_static · |N|
    mark            suffix that keeps the names made here distinct from those of the model
    label           its name, with the number of its law where several contacts have this name
    """

    number: int
    name: str
    velocity: tuple[Any, ...]
    normal_size: Any
    mu_static: Any
    mark: str = ""
    label: str = ""

    @property
    def direction(self) -> tuple[sp.Symbol, ...]:
        """The parameters for the slip direction: a unit vector with the components of the velocity."""
        count = len(self.velocity)
        return tuple(sp.Symbol(f"{self.name}: along {self.number}.{i}{self.mark}") for i in range(1, count + 1))

    def rows(self) -> list[Constraint]:
        """The constraints that hold the contact while it sticks; messages on the motion may name them."""
        own = f"sticking of {self.label or self.name}"
        several = [f", direction {i}" for i in range(1, len(self.velocity) + 1)] if len(self.velocity) > 1 else [""]
        return [Constraint(v, name=f"{own}{at}{self.mark}") for v, at in zip(self.velocity, several, strict=True)]


@lru_cache(maxsize=128)
def contacts(system: System) -> tuple[Contact, ...]:
    """The contacts that can stick: those of dry friction that is not smoothed."""
    mark, taken = "", (*system.parameter_names, *system.constraint_names)
    while any(re.fullmatch(rf"(.*\.\d+|sticking of .*[^']){mark}", name) for name in taken):
        mark += "'"
    found = tuple(
        Contact(
            number,
            placed.constraint or placed.kind,
            tangential(placed, system),
            placed.law.normal_size,
            placed.law.static_coefficient,
            mark,
        )
        for number, placed in enumerate(system.laws)
        if isinstance(placed.law, Friction) and placed.law.can_stick
    )
    names = [contact.name for contact in found]
    return tuple(replace(c, label=f"{c.name}, law {c.number + 1}") if names.count(c.name) > 1 else c for c in found)


def tangential(placed: PlacedLaw, system: System) -> tuple[Any, ...]:
    """Return the sliding velocity without its part along the constraint's own gradient, which is zero on the motion.

    Holding that part too would constrain the normal direction twice, and the normal force could not be separated from
    friction. Where the components are not the plain velocities that the gradient is written in, they are not changed.
    """
    velocity = placed.law.sliding_velocity(system.coordinates)
    own = {str(c.name): c for c in system.constraints}.get(placed.constraint)
    if own is None or not set(velocity) <= set(system.velocities):
        return velocity
    symbols = system.symbols
    gradient = dict(zip(system.velocities, constraint_gradient(own, symbols), strict=True))
    if any(gradient[v] != 0 for v in set(system.velocities) - set(velocity)):
        return velocity
    normal = [gradient[v] for v in velocity]
    squared = sp.Add(*(a**2 for a in normal))
    if len(velocity) == 2:
        return ((normal[0] * velocity[1] - normal[1] * velocity[0]) / sp.sqrt(squared),)
    along = sp.Add(*(a * v for a, v in zip(normal, velocity, strict=True)))
    parts = [v - a * along / squared for a, v in zip(normal, velocity, strict=True)]
    return tuple(part for part in parts if part != 0)


def with_sticking(system: System, contacts: Collection[Contact], sticking: Collection[Contact]) -> System:
    """Return the system in which some contacts stick and the others slide in one direction.

    Sticking contacts are held by ideal constraints, which come last.
    """
    changed = {contact.number: None if contact in sticking else contact for contact in contacts}

    def in_place(laws: Sequence[Any], first: int) -> tuple[Any, ...]:
        kept: list[Any] = []
        for number, law in enumerate(laws, start=first):
            contact = changed.get(number)
            if contact is not None:
                law = system.laws[number].law
                kept.append(Continued(law, contact.velocity, contact.direction, law.normal_force, law.normal))
            elif number not in changed:
                kept.append(law)
        return tuple(kept)

    first = len(system.nonideal)
    constraints: list[Constraint] = []
    for constraint in system.constraints:
        constraints.append(replace(constraint, nonideal=in_place(constraint.nonideal, first)))
        first += len(constraint.nonideal)
    return replace(
        system,
        constraints=(*constraints, *(row for contact in sticking for row in contact.rows())),
        nonideal=in_place(system.nonideal, 0),
    )


@lru_cache(maxsize=512)
def velocity_jacobian(contact: Contact, system: System) -> tuple[tuple[Any, ...], ...]:
    """Return ∂v/∂q̇, one row per component."""
    return tuple(gradient(v, system.velocities) for v in contact.velocity)


MAX_SYMBOLIC_COUPLING = 6
"""Number of coordinates up to which a mass matrix that is not diagonal is inverted symbolically."""


def leaves_reactions(placed: PlacedLaw, system: System) -> bool:
    """Return whether friction of any size changes no reaction: A M⁻¹ (∂v/∂q̇)ᵀ = 0 for its tangential velocity v."""
    M = system.mass_matrix
    if not M.is_diagonal() and M.rows > MAX_SYMBOLIC_COUPLING:
        return False
    symbols = system.symbols
    rows = [list(constraint_gradient(c, symbols)) for c in system.constraints]
    jacobian = [gradient(v, system.velocities) for v in tangential(placed, system)]
    coupling = sp.Matrix(rows) * M.LUsolve(sp.Matrix(jacobian).T)
    return all(sp.simplify(entry) == 0 for entry in coupling)
