# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of coordinates and of parameters: one name, many indices; symbols are made when asked for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from dalembert.errors import ModelError
from dalembert.model.expressions import as_expression


@dataclass(frozen=True, eq=False, repr=False)
class SymbolArray(ABC):
    """Symbols ``name[i]`` for some indices i of an array of ``size`` symbols.

    ``x[3]`` is one symbol; ``x[:-1]`` and ``x[[0, 5]]`` are arrays of fewer ones.
    """

    name: str
    size: int
    indices: NDArray[np.int64]

    @abstractmethod
    def symbol(self, name: str) -> Any:
        """Return the symbol of a name."""

    def __len__(self) -> int:
        return len(self.indices)

    def __iter__(self) -> Iterator[Any]:
        return (self.symbol(name) for name in self.names)

    def __getitem__(self, place: Any) -> Any:
        chosen = self.indices[place]
        if np.ndim(chosen):
            return replace(self, indices=np.ravel(chosen))
        return self.symbol(f"{self.name}[{chosen}]")

    @property
    def names(self) -> list[str]:
        """The names of all symbols."""
        return [f"{self.name}[{i}]" for i in self.indices.tolist()]

    def _refuse_arithmetic(self, *_: Any) -> Any:
        raise ModelError(
            [
                f"an array of symbols must be used as a whole or by its entries; `{self.name}` was used in an "
                f"expression. Write the expression once, in placeholders, with `da.AppliedForce.over`, "
                f"`da.MassEntries.over` or `da.Constraint.over`."
            ]
        )

    __neg__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse_arithmetic
    __truediv__ = __rtruediv__ = __pow__ = _refuse_arithmetic

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} of {len(self)}: {self.name}[{self.indices[0]}] … {self.name}[{self.indices[-1]}]>"
        )


@dataclass(frozen=True, eq=False, repr=False)
class CoordinateArray(SymbolArray):
    """Generalised coordinates ``x[0]``, ``x[1]``, …, made by ``da.coordinates("x", count)``."""

    def symbol(self, name: str) -> Any:
        function: Any = sp.Function(name)
        return function(sp.Symbol("t"))


@dataclass(frozen=True, eq=False, repr=False)
class ParameterArray(SymbolArray):
    """Constants ``m[0]``, ``m[1]``, …, made by ``da.parameters("m", count)``; their values are one array."""

    def symbol(self, name: str) -> Any:
        return sp.Symbol(name)


def symbol_array(kind: type[SymbolArray], name: Any, count: Any) -> Any:
    """Return an array of symbols; raise an error unless there is one name and a positive number."""
    if not isinstance(name, str) or not name.isidentifier():
        raise ModelError([f"an array of symbols must have one name; got {name!r}. Write one call for each array."])
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 1:
        raise ModelError([f"`count` must be a whole number, at least 1; got {count!r}."])
    return kind(name, int(count), np.arange(int(count)))


def is_many(given: Any) -> bool:
    """Return whether something stands for several symbols or numbers."""
    return isinstance(given, (SymbolArray, tuple, list)) or bool(np.ndim(given) if isinstance(given, np.ndarray) else 0)


@dataclass(frozen=True, eq=False)
class Substitutions:
    """The values of the symbols of an expression in each of its copies.

    coordinates    a placeholder and its coordinates: a ``CoordinateArray`` or a tuple
    numbers        a symbol and its values: a ``ParameterArray``, an array of numbers or a tuple of expressions
    count          number of copies
    constraints    the name of a constraint in the expression, and those of the constraints of the copies
    """

    coordinates: dict[Any, Any]
    numbers: dict[Any, Any]
    count: int
    constraints: dict[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])

    def at(self, i: int) -> dict[Any, Any]:
        """Return the replacements of copy i."""
        placed = {key: values[i] for key, values in self.coordinates.items()}
        return placed | {key: as_expression(values[i], str(key)) for key, values in self.numbers.items()}


def substitutions(given: Any, label: str) -> Substitutions:
    """Return substitutions from a mapping of symbols to arrays; raise an error that lists the problems."""
    if not isinstance(given, dict) or not given:
        raise ModelError([f"{label} must have a mapping from its symbols to arrays; got {given!r}."])
    lengths = {key: len(value) for key, value in given.items() if is_many(value)}
    if not lengths:
        raise ModelError([f"{label} must have at least one array, which gives the number of copies; got {given!r}."])
    count = max(lengths.values())
    problems = [
        f"{label} must have arrays of one length; `{key}` has {length} entries, another one {count}."
        for key, length in lengths.items()
        if length != count
    ]
    coordinates: dict[Any, Any] = {}
    numbers: dict[Any, Any] = {}
    for key, value in given.items():
        key = sp.Symbol(key) if isinstance(key, str) else key
        if isinstance(key, sp.Symbol):
            numbers[key] = _numbers(value, count)
        elif isinstance(key, sp.Function) and isinstance(value, (CoordinateArray, tuple, list, sp.Function)):
            coordinates[key] = value if is_many(value) else (value,) * count
        else:
            problems.append(f"{label} must replace coordinates by coordinates, and parameters by numbers; got `{key}`.")
    if problems:
        raise ModelError(problems)
    return Substitutions(coordinates, numbers, count)


def _numbers(given: Any, count: int) -> Any:
    """Return the values of a symbol in each copy."""
    if isinstance(given, ParameterArray):
        return given
    values = given if is_many(given) else [given] * count
    if any(isinstance(value, sp.Basic) for value in values):
        return tuple(as_expression(value, "a value of a group") for value in values)
    return np.asarray(values, float)
