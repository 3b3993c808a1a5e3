# SPDX-License-Identifier: BSD-3-Clause
"""Friction that can hold: which laws can, and the system in which some of them do."""

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
from dalembert.model.placement import PlacedLaw
from dalembert.model.standard_form import constraint_row
from dalembert.model.system import System


@dataclass(frozen=True)
class Contact:
    """A place where surfaces slide or stick.

    number          of its law, among the laws of the system
    name            of its constraint, or of the law if it belongs to the whole system
    velocity        components of the sliding velocity; tangential ones only, where that can be told
    normal_size     |N|, an expression of multipliers
    mu_static       most that friction can hold, as a part of |N|
    mark            what sets the names made here apart from those of the model
    """

    number: int
    name: str
    velocity: tuple[Any, ...]
    normal_size: Any
    mu_static: Any
    mark: str = ""

    @property
    def along(self) -> tuple[sp.Symbol, ...]:
        """The parameters that say which way it slides: a unit vector with components like those of the velocity."""
        return tuple(sp.Symbol(name) for name in self._names("along"))

    def rows(self) -> list[Constraint]:
        """The constraints that hold it."""
        return [Constraint(v, name=name) for v, name in zip(self.velocity, self._names("held"), strict=True)]

    def _names(self, word: str) -> list[str]:
        """One name per component of the velocity."""
        return [f"{self.name}: {word} {self.number}.{i}{self.mark}" for i in range(1, len(self.velocity) + 1)]


@lru_cache(maxsize=128)
def contacts(system: System) -> tuple[Contact, ...]:
    """The contacts that can stick: those of dry friction that is not smoothed."""
    mark = ""
    while any(re.fullmatch(rf".*\.\d+{mark}", name) for name in (*system.parameter_names, *system.constraint_names)):
        mark += "'"
    return tuple(
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


def tangential(placed: PlacedLaw, system: System) -> tuple[Any, ...]:
    """The sliding velocity without its part along the constraint's own gradient, which vanishes on the motion.

    To hold that part too would be to hold the normal direction twice, and the normal force could not be told from
    friction. Where the components are not plain velocities that the gradient is written in, they are taken as they are.
    """
    velocity = placed.law.sliding_velocity(system.coordinates)
    own = {str(c.name): c for c in system.constraints}.get(placed.constraint)
    if own is None or not set(velocity) <= set(system.velocities):
        return velocity
    symbols = system.symbols
    gradient = dict(
        zip(system.velocities, (symbols.restore(e) for e in constraint_row(own, symbols).gradient), strict=True)
    )
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
    """The system while some contacts stick, held by ideal constraints, which come last; the others slide one way."""
    changed = {contact.number: None if contact in sticking else contact for contact in contacts}

    def in_place(laws: Sequence[Any], first: int) -> tuple[Any, ...]:
        kept: list[Any] = []
        for number, law in enumerate(laws, start=first):
            contact = changed.get(number)
            if contact is not None:
                law = system.laws[number].law
                kept.append(Continued(law, contact.velocity, contact.along, law.normal_force, law.normal))
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
def slopes(contact: Contact, system: System) -> tuple[tuple[Any, ...], ...]:
    """∂v/∂q̇, one row per component."""
    return tuple(gradient(v, system.velocities) for v in contact.velocity)


MOST_COUPLED = 6
"""Coordinates up to which a mass matrix that is not diagonal is inverted in symbols."""


def leaves_reactions(placed: PlacedLaw, system: System) -> bool:
    """Whether friction changes no reaction, by its form: A M⁻¹ (∂v/∂q̇)ᵀ = 0 for its tangential velocity v."""
    M = system.mass_matrix
    if not M.is_diagonal() and M.rows > MOST_COUPLED:
        return False
    symbols = system.symbols
    rows = [[symbols.restore(e) for e in constraint_row(c, symbols).gradient] for c in system.constraints]
    slopes = [gradient(v, system.velocities) for v in tangential(placed, system)]
    moved = sp.Matrix(rows) * M.LUsolve(sp.Matrix(slopes).T)
    return all(sp.simplify(entry) == 0 for entry in moved)
