# SPDX-License-Identifier: BSD-3-Clause
"""A system while certain of its contacts stick, and what has to be watched in it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from dalembert.equation.dynamics import Dynamics
from dalembert.lowering.build import build
from dalembert.model.numeric import numeric_function
from dalembert.model.sticking import Contact, slopes, with_sticking
from dalembert.model.symbols import plain_multiplier
from dalembert.model.system import System

Floats = NDArray[np.float64]

HELD = 1e-12
"""Relative rounding in the comparison of what holding takes with what friction can give."""


class Load(NamedTuple):
    """What holding a contact takes (…, c), in components of its sliding velocity, and the most that there is (…,)."""

    taken: Floats
    given: Floats

    @property
    def excess(self) -> Floats:
        """Positive where it lets go."""
        return np.linalg.norm(self.taken, axis=-1) - (1 + HELD) * self.given

    @property
    def margin(self) -> Floats:
        """One where nothing is taken, zero where all is, less where it lets go; never below minus one."""
        taken = np.linalg.norm(self.taken, axis=-1)
        whole = taken + self.given
        return np.where(whole > 0, self.given - taken, 1.0) / np.where(whole > 0, whole, 1.0)


@dataclass(frozen=True)
class Mode:
    """The contacts in ``sticking`` stick, all others slide one way; p has the values of the system's own parameters."""

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
        """The numbers of the constraints that hold a contact."""
        before = self.sticking[: self.sticking.index(contact)]
        first = len(self.system.constraints) + sum(len(other.velocity) for other in before)
        return slice(first, first + len(contact.velocity))

    def velocity(self, contact: Contact, t: Any, y: Floats, p: dict[str, float]) -> Floats:
        """The sliding velocity (…, c)."""
        return values_of(self.system, contact.velocity)(t, y, p)

    def load(
        self, contact: Contact, helpers: Collection[Contact], t: Any, y: Floats, p: dict[str, float], reactions: Floats
    ) -> Load:
        """What holding a contact takes, and what friction can give.

        ``helpers`` stick as well and hold the same motion. Only the sum of what all of them take is determined, so
        that they are added up, each in proportion to how fast it would move.
        """
        taken, given = reactions[..., self.rows(contact)], self._most(contact, t, y, p, reactions)
        if helpers:
            own = self.slopes(contact, t, y, p)
            for other in helpers:
                ratio = np.sum(own * self.slopes(other, t, y, p), axis=(-2, -1)) / np.sum(own**2, axis=(-2, -1))
                taken = taken + ratio[..., None] * reactions[..., self.rows(other)]
                given = given + np.abs(ratio) * self._most(other, t, y, p, reactions)
        return Load(taken, given)

    def _most(self, contact: Contact, t: Any, y: Floats, p: dict[str, float], reactions: Floats) -> Floats:
        """μₛ |N|."""
        most = (contact.mu_static * contact.normal_size,)
        return values_of(self.system, most)(t, y, p, reactions)[..., 0]

    def slopes(self, contact: Contact, t: Any, y: Floats, p: dict[str, float]) -> Floats:
        """∂v/∂q̇ of the sliding velocity (…, c, n)."""
        rows = slopes(contact, self.system)
        flat = values_of(self.system, tuple(e for row in rows for e in row))(t, y, p)
        return flat.reshape(*np.shape(t), len(rows), -1)

    def holding_force(self, t: Any, y: Floats, p: dict[str, float], multipliers: Floats) -> Floats:
        """The generalised force (…, n) of all that sticks."""
        total = np.zeros((*np.shape(t), len(self.system.coordinates)))
        for contact in self.sticking:
            total += np.einsum("...ci,...c->...i", self.slopes(contact, t, y, p), multipliers[..., self.rows(contact)])
        return total


@lru_cache(maxsize=64)
def mode_of(system: System, contacts: tuple[Contact, ...], sticking: tuple[Contact, ...]) -> Mode:
    """The mode, with its program if that was compiled before."""
    return Mode(system, contacts, sticking)


@lru_cache(maxsize=256)
def values_of(system: System, expressions: tuple[Any, ...]) -> Callable[..., Floats]:
    """Expressions as a function of t, y, parameters and multipliers, at one time or at many; they come last."""
    symbols = system.symbols
    lam = [plain_multiplier(name) for name in system.constraint_names]
    parameters = [sp.Symbol(name, real=True) for name in system.parameter_names]
    arguments = [symbols.time, *symbols.q, *symbols.qd, *parameters, *lam]
    compute = numeric_function(arguments, [symbols.plain(e) for e in expressions], "numpy")

    def values(t: Any, y: Floats, p: dict[str, float], multipliers: Floats | None = None) -> Floats:
        shape = np.shape(t)
        reactions = np.zeros((*shape, len(lam))) if multipliers is None else multipliers[..., : len(lam)]
        numbers = (p[name] for name in system.parameter_names)
        found = compute(t, *np.moveaxis(y, -1, 0), *numbers, *np.moveaxis(reactions, -1, 0))
        return np.stack([np.broadcast_to(np.asarray(entry, float), shape) for entry in found], axis=-1)

    return values
