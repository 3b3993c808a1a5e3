# SPDX-License-Identifier: BSD-3-Clause
"""The modes of a system with dry friction: the set of sticking contacts, and the forces that hold them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.equation.dynamics import Dynamics
from dalembert.lowering.build import build
from dalembert.model.expression_values import expression_values
from dalembert.model.friction_contacts import Contact, velocity_jacobian, with_sticking
from dalembert.model.system import System

LOAD_ROUNDING = 1e-12
"""Relative rounding error allowed for when the required friction force is compared with the static limit."""


class FrictionLoad(NamedTuple):
    """The friction force (…, c) that holding a contact requires, and the largest one that is available (…,).

    Components are those of the sliding velocity.
    """

    required: Floats
    capacity: Floats

    @property
    def excess(self) -> Floats:
        """Required force less the capacity: positive where the contact starts to slip."""
        return np.linalg.norm(self.required, axis=-1) - (1 + LOAD_ROUNDING) * self.capacity

    @property
    def margin(self) -> Floats:
        """Relative distance from slipping: one without load, zero at the static limit, at least minus one."""
        required = np.linalg.norm(self.required, axis=-1)
        # relative to the sum of both, which stays finite where the normal force vanishes
        total = required + self.capacity
        return np.where(total > 0, self.capacity - required, 1.0) / np.where(total > 0, total, 1.0)


@dataclass(frozen=True)
class Mode:
    """A system in which the contacts in ``sticking`` are held by constraints and all others slide in one direction.

    In all methods p has the values of the system's own parameters, by name.
    """

    system: System
    contacts: tuple[Contact, ...]
    sticking: tuple[Contact, ...]

    @cached_property
    def dynamics(self) -> Dynamics:
        return build(with_sticking(self.system, self.contacts, self.sticking))

    @property
    def sliding(self) -> tuple[Contact, ...]:
        return tuple(contact for contact in self.contacts if contact not in self.sticking)

    def rows(self, contact: Contact) -> slice:
        """Indices of the constraints that hold a sticking contact."""
        before = self.sticking[: self.sticking.index(contact)]
        first = len(self.system.constraints) + sum(len(other.velocity) for other in before)
        return slice(first, first + len(contact.velocity))

    def velocity(self, contact: Contact, t: Any, y: Floats, p: dict[str, float]) -> Floats:
        """The sliding velocity (…, c)."""
        return expression_values(self.system, contact.velocity)(t, y, p)

    def load(
        self, contact: Contact, sharing: Collection[Contact], t: Any, y: Floats, p: dict[str, float], reactions: Floats
    ) -> FrictionLoad:
        """Return the friction force that holding a contact requires, and the static limit.

        The contacts in ``sharing`` stick as well and hold the same motion. Only the sum of their friction forces is
        determined, so forces and limits are added, each in proportion to its sliding velocity.
        """
        required, capacity = reactions[..., self.rows(contact)], self._static_limit(contact, t, y, p, reactions)
        if sharing:
            own = self.velocity_jacobian(contact, t, y, p)
            for other in sharing:
                inner = np.sum(own * self.velocity_jacobian(other, t, y, p), axis=(-2, -1))
                # the velocities are proportional: a force at the other contact acts like this fraction of it at this
                # one
                ratio = inner / np.sum(own**2, axis=(-2, -1))
                required = required + ratio[..., None] * reactions[..., self.rows(other)]
                capacity = capacity + np.abs(ratio) * self._static_limit(other, t, y, p, reactions)
        return FrictionLoad(required, capacity)

    def _static_limit(self, contact: Contact, t: Any, y: Floats, p: dict[str, float], reactions: Floats) -> Floats:
        """μₛ |N|."""
        limit = (contact.mu_static * contact.normal_size,)
        return expression_values(self.system, limit)(t, y, p, reactions)[..., 0]

    def velocity_jacobian(self, contact: Contact, t: Any, y: Floats, p: dict[str, float]) -> Floats:
        """∂v/∂q̇ of the sliding velocity (…, c, n)."""
        rows = velocity_jacobian(contact, self.system)
        flat = expression_values(self.system, tuple(e for row in rows for e in row))(t, y, p)
        return flat.reshape(*np.shape(t), len(rows), -1)


@lru_cache(maxsize=64)
def cached_mode(system: System, contacts: tuple[Contact, ...], sticking: tuple[Contact, ...]) -> Mode:
    """Return a mode, the same object for the same arguments, so that it is compiled once."""
    return Mode(system, contacts, sticking)
