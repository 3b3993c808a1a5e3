# SPDX-License-Identifier: BSD-3-Clause
"""The applied force as a sum of named parts, whose work a ledger lists one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp

from dalembert.errors import ModelError
from dalembert.model.expressions import as_expressions
from dalembert.model.ordering import in_order, name_of
from dalembert.model.symbols import t

REST = "other applied forces"
"""The entry of a ledger for applied forces that have no name."""


@dataclass(frozen=True, eq=False)
class ForcePart:
    """A named part of the applied force.

    force        its n components; None for the rest, that is, the applied force without all other parts
    potential    the energy that it derives from, in part or as a whole; its change is not work in a ledger
    does_work    whether it does other work than by its potential energy; if not, a ledger has no entry for it
    """

    name: str
    force: Any
    potential: Any = sp.S.Zero
    does_work: bool = True

    def power(self, velocities: Sequence[Any]) -> Any:
        """Return its power, together with the rate of change of its potential energy."""
        products = [force * v for force, v in zip(self.force, velocities, strict=True) if force != 0]
        return sp.Add(*products, self.potential.diff(t))


def is_named(applied_force: Any) -> bool:
    """Whether an applied force is a mapping from names to forces with n components each."""
    if not isinstance(applied_force, Mapping) or not applied_force:
        return False
    several = (tuple, list, sp.MatrixBase, Mapping)
    return all(isinstance(part, several) for part in applied_force.values())  # pyright: ignore


def named_parts(coordinates: Sequence[Any], given: Mapping[Any, Any], problems: list[str]) -> tuple[ForcePart, ...]:
    """Return the parts of an applied force that is given by name, and add the problems with it."""
    names, parts = [name_of(q) for q in coordinates], []
    for name, force in given.items():
        if not isinstance(name, str) or not name or name == REST:
            problems.append(f"the name of an applied force must be a text, and not `{REST}`; got {name!r}.")
            continue
        values, found = in_order(names, force, f"applied_force of {name}", "coordinate")
        problems += found
        try:
            column = as_expressions(values, f"`applied_force` of {name}")
            parts.append(ForcePart(name, sp.ImmutableMatrix(len(values), 1, column)))
        except ModelError as error:
            problems += error.problems
    return tuple(parts)


def sum_of(parts: Sequence[ForcePart], n: int) -> Any:
    """Return the sum of all parts as a column."""
    return sp.ImmutableMatrix([sp.Add(*(part.force[i] for part in parts)) for i in range(n)])
