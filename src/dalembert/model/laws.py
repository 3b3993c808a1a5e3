# SPDX-License-Identifier: BSD-3-Clause
"""Nonideal laws: the force C whose work on virtual displacements the constraints do, vᵀQᶜ = vᵀC."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp

from dalembert.errors import ModelError
from dalembert.model.ordering import in_order, name_of
from dalembert.model.symbols import ideal_force, t


class Law(ABC):
    """What kind of work the constraint forces do.

    A law turns coordinates into n expressions of coordinates, velocities, time, parameters and ``da.ideal_force``.
    ``scaled`` says in which of the two forms they are: C itself, or z = M^(-1/2) C with the symmetric square root.
    """

    scaled: bool = False

    @abstractmethod
    def components(self, coordinates: Sequence[Any]) -> tuple[Any, ...]:
        """The n components, in the order of the coordinates."""


@dataclass(frozen=True)
class Viscous(Law):
    """C = −a₀ q̇.

    >>> import dalembert as da
    >>> da.Viscous(da.parameters("a0")).components((da.coordinates("x"),))
    (-a0*Derivative(x(t), t),)
    """

    coefficient: Any

    def components(self, coordinates: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(-sp.sympify(self.coefficient) * q.diff(t) for q in coordinates)


@dataclass(frozen=True)
class Quadratic(Law):
    """C = −a₀ |q̇| q̇, with |q̇| the Euclidean length of the velocity."""

    coefficient: Any

    def components(self, coordinates: Sequence[Any]) -> tuple[Any, ...]:
        speed = sp.sqrt(sum(q.diff(t) ** 2 for q in coordinates))
        return tuple(-sp.sympify(self.coefficient) * speed * q.diff(t) for q in coordinates)


@dataclass(frozen=True)
class Proportional(Law):
    """C = −a₀ Qᶜᵢ, proportional to the ideal constraint force.

    Taken literally this law has no effect on the motion: the ideal force does no virtual work, so neither does a
    multiple of it, and the nonideal force comes out zero. It is the *magnitude* of the ideal force that a friction
    law needs; write that with ``da.ideal_force``.
    """

    coefficient: Any

    def components(self, coordinates: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(-sp.sympify(self.coefficient) * ideal_force(q) for q in coordinates)


@dataclass(frozen=True)
class Prescribed(Law):
    """C given outright, one expression per coordinate (a plain sequence given as ``nonideal`` means this).

    With ``scaled=True`` the expressions are z = M^(-1/2) C instead, M^(1/2) being the symmetric square root.
    """

    expressions: Any
    scaled: bool = False

    def __post_init__(self) -> None:
        # A tuple of pairs, not a dict, so that a law can be hashed like the rest of the model.
        pairs = self.expressions.items() if isinstance(self.expressions, Mapping) else enumerate(self.expressions)
        by_name = isinstance(self.expressions, Mapping)
        object.__setattr__(
            self, "expressions", tuple((name_of(key) if by_name else key, sp.sympify(value)) for key, value in pairs)
        )

    def components(self, coordinates: Sequence[Any]) -> tuple[Any, ...]:
        given = dict(self.expressions)
        by_name = all(isinstance(key, str) for key in given)
        values, problems = in_order(
            [name_of(q) for q in coordinates], given if by_name else given.values(), "nonideal", "coordinate"
        )
        if problems:
            raise ModelError(problems)
        return tuple(values)
