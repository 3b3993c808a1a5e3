# SPDX-License-Identifier: BSD-3-Clause
"""The terms of all constraints of a system whose contacts open and close, at the states of many ensemble members."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.equation.dynamics import Dynamics, Terms, native_of
from dalembert.lowering.build import build
from dalembert.model.active_system import active_system
from dalembert.model.expression_values import expression_values
from dalembert.model.friction_contacts import Contact, contacts
from dalembert.model.system import System


@dataclass(frozen=True, eq=False)
class ContactTermsOfMany:
    """The terms of all constraints as equations: see ``ContactTerms``.

    system    as it was stated, with m constraints
    names     of all parameters, whose values p (N, k) each member has for itself
    """

    system: System
    names: tuple[str, ...]

    @property
    def whole(self) -> System:
        return active_system(self.system)

    @cached_property
    def dynamics(self) -> Dynamics:
        return build(self.whole)

    @cached_property
    def friction(self) -> dict[int, Contact]:
        """The contacts under dry friction, by the numbers of their constraints."""
        numbers = {name: i for i, name in enumerate(self.system.constraint_names)}
        return {numbers[c.name]: c for c in contacts(self.whole) if c.name in numbers}

    @cached_property
    def one_sided(self) -> NDArray[np.bool_]:
        return np.array([c.one_sided for c in self.system.constraints], bool)

    def columns(self, names: tuple[str, ...]) -> list[int]:
        """Return the columns of some parameters."""
        return [self.names.index(name) for name in names]

    def at(self, y: Floats, t: Floats, p: Floats) -> Terms:
        """Return the terms at states y (N, 2n) and times (N,), each with a leading axis N."""
        own = np.ascontiguousarray(p[:, self._own])
        return Terms(*native_of(self.dynamics).terms_of_many(y, t, own))

    @cached_property
    def _own(self) -> list[int]:
        return self.columns(self.dynamics.parameters)

    def values(self, expressions: tuple[Any, ...], y: Floats, t: Floats, p: Floats, forces: Any = None) -> Floats:
        """Return expressions of the whole system (N, …); ``forces`` (N, m) are multipliers."""
        further = tuple(name for name in self.names if name not in self.whole.parameter_names)
        with np.errstate(all="ignore"):  # values that are not numbers are refused where they are used
            return expression_values(self.whole, expressions, further)(t, y, self.named(p), forces)

    def named(self, p: Floats) -> dict[str, Any]:
        """Return the columns of parameters by name."""
        return dict(zip(self.names, p.T, strict=True))
