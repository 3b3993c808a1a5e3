# SPDX-License-Identifier: BSD-3-Clause
"""Copies of similar parts of a mechanism: one template with symbols for its numbers, and the numbers of all copies.

Zeros drop out of the equations and so belong to the kind, unless there are few copies of each kind, as in a robot: one
program for all compiles much faster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import sympy as sp

from dalembert.mechanisms.vectors import MOST_KEPT
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
    fixed: Any = sp.ImmutableMatrix(value) if isinstance(value, sp.MatrixBase) else value
    form, own = _abstracted(fixed, len(numbers), zeros)
    numbers += own
    return form


@lru_cache(MOST_KEPT)
def _abstracted(value: Any, first: int, zeros: bool) -> tuple[Any, tuple[float, ...]]:
    """Return a value with symbols, numbered from ``first``, for its numbers, and these."""
    numbers: list[float] = []

    def of(entry: Any) -> Any:
        if (zeros and entry == 0) or not entry.is_number:
            return entry
        numbers.append(float(entry))
        return _number(first + len(numbers) - 1)

    if not isinstance(value, sp.MatrixBase):
        return of(value), tuple(numbers)
    # one by one: `applyfunc` would be called once for entries that are equal. A tensor of inertia is symmetric
    given, columns = value.flat(), value.cols
    found: list[Any] = []
    for place, entry in enumerate(given):
        i, j = divmod(place, columns)
        found.append(found[j * columns + i] if value.is_square and j < i else of(entry))
    return sp.ImmutableMatrix(*value.shape, found), tuple(numbers)


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
