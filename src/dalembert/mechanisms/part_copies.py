# SPDX-License-Identifier: BSD-3-Clause
"""Copies of similar parts of a mechanism: one template with symbols for its numbers, and the numbers of all copies.

Zeros drop out of the equations and so belong to the kind, unless there are few copies of each kind, as in a robot: one
program for all compiles much faster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sympy as sp

from dalembert.model.symbol_arrays import Substitutions

COPIES_WITH_ZEROS = 10
"""Fewest copies of each kind, on average, for which parts with zeros at different places have programs of their own."""


@dataclass
class Copies:
    """Parts of one kind: a template with symbols for numbers, and the names and numbers of all copies."""

    template: Any
    members: list[int] = field(default_factory=list[int])
    names: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    numbers: list[list[float]] = field(default_factory=list[list[float]])

    def substitutions(self, placeholders: Sequence[Any]) -> Substitutions:
        columns: dict[Any, Any] = dict(zip(placeholders, zip(*self.names, strict=True), strict=True))
        values = np.array(self.numbers, float).reshape(len(self.members), -1).T
        return Substitutions(columns, {_number(k): x for k, x in enumerate(values)}, len(self.members))


def _number(i: int) -> Any:
    return sp.Symbol(f"number.{i}")


def abstract(value: Any, numbers: list[float], zeros: bool) -> Any:
    """Return a number, vector or matrix with symbols for its numbers, which are appended; ``zeros`` stay zeros."""
    if isinstance(value, sp.MatrixBase):
        # one by one: `applyfunc` would be called once for entries that are equal. A tensor of inertia is symmetric
        own = {
            (i, j): abstract(value[i, j], numbers, zeros)
            for i in range(value.rows)
            for j in range(i if value.is_square else 0, value.cols)
        }
        return sp.ImmutableMatrix(*value.shape, lambda i, j: own[(i, j) if (i, j) in own else (j, i)])
    if (zeros and value == 0) or not value.is_number:
        return value
    numbers.append(float(value))
    return _number(len(numbers) - 1)


def by_kind(parts: Iterable[Any], add: Callable[[dict[Any, Copies], int, Any, bool], None]) -> list[Copies]:
    """Return parts, given with their numbers, by kinds; ``add`` adds one to the kinds, with its zeros kept or not."""
    parts, kinds = list(parts), dict[Any, Copies]()
    for zeros in (True, False):
        kinds = dict[Any, Copies]()
        for number, part in parts:
            add(kinds, number, part, zeros)
        if len(parts) >= COPIES_WITH_ZEROS * len(kinds):
            break
    return list(kinds.values())


def coordinate_names(body: Any) -> tuple[str, ...]:
    """Return the names of the coordinates of a body."""
    return tuple(f"{letter}_{body.name}" for letter in body.letters)
