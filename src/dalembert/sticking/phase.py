# SPDX-License-Identifier: BSD-3-Clause
"""A mode with its numbers: which way contacts slide, and when that is over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.integration.method import Method
from dalembert.integration.run import told
from dalembert.model.sticking import Contact
from dalembert.sticking.mode import Load, Mode

Floats = NDArray[np.float64]

ASIDE = 0.25
"""Cosine of the angle by which a sliding velocity may turn before the way it slides is taken anew."""

SET_OFF = 1e-9
"""Sliding velocity, relative to all velocities, at which a contact that constraints keep at rest has begun to move."""


@dataclass(frozen=True, eq=False)
class Phase:
    """Some contacts stick, the others slide, each in its own direction.

    p             values of the system's own parameters, by name
    directions    for each contact that slides a unit vector with components like those of its velocity; zero where
                  constraints keep it at rest
    fastest       for each of them the largest speed since it began to slide, as far as that is past
    helpers       for each contact that sticks the others that hold the same motion
    """

    mode: Mode
    method: Method
    p: dict[str, float]
    directions: Mapping[Contact, Floats]
    fastest: Mapping[Contact, float]
    helpers: Mapping[Contact, tuple[Contact, ...]] = field(default_factory=dict[Contact, tuple[Contact, ...]])

    @cached_property
    def values(self) -> tuple[Any, ...]:
        """The values of the mode's own parameters, in its order: arrays, so that new ones do not compile anew."""
        given = dict(self.p)
        for contact, direction in self.directions.items():
            given |= zip((symbol.name for symbol in contact.along), direction, strict=True)
        return tuple(np.asarray(given[name], float) for name in self.mode.dynamics.parameters)

    def at(self, native: Any, t0: Floats, y0: Floats, times: Floats) -> tuple[Floats, Floats]:
        """States and reactions at times reached by one step each from (t0, y0)."""
        found = told(self.mode.dynamics, self.method, native, t0, y0, times, self.values)
        return np.concatenate([found["q"], found["qd"]], axis=1), found["reactions"]

    def velocity(self, contact: Contact, t: Any, y: Floats) -> Floats:
        return self.mode.velocity(contact, t, y, self.p)

    def speed(self, contact: Contact, t: Any, y: Floats) -> Floats:
        return np.linalg.norm(self.velocity(contact, t, y), axis=-1)

    def turned(self, contact: Contact, t: Any, y: Floats) -> NDArray[np.bool_]:
        """Where a contact does not slide its way any more: it has come to rest and gone back, or turned aside."""
        v, along = self.velocity(contact, t, y), self.directions[contact]
        speed = np.linalg.norm(v, axis=-1)
        if not along.any():
            return np.asarray(speed > SET_OFF * (1 + np.abs(y[..., y.shape[-1] // 2 :]).max(axis=-1)))
        return np.asarray(v @ along <= ASIDE * speed)

    def load(self, contact: Contact, t: Any, y: Floats, reactions: Floats) -> Load:
        """What holding a contact takes, and what friction can give."""
        return self.mode.load(contact, self.helpers.get(contact, ()), t, y, self.p, reactions)

    def margins(self, t: Floats, y: Floats, reactions: Floats) -> Floats:
        """How far each contact is from a change, (contacts, k): one at most, zero where it changes, or less."""
        sliding = [self.velocity(c, t, y) @ along for c, along in self.directions.items()]
        return np.stack(
            [
                *(v / max(np.abs(v).max(), 1e-300) for v in sliding),
                *(self.load(c, t, y, reactions).margin for c in self.mode.sticking),
            ]
        )

    def over(self, t: Floats, y: Floats, reactions: Floats) -> NDArray[np.bool_]:
        """At which times (k,) something has changed."""
        found = np.zeros(len(t), bool)
        for contact in self.directions:
            found |= self.turned(contact, t, y)
        for contact in self.mode.sticking:
            found |= self.load(contact, t, y, reactions).excess > 0
        return found
