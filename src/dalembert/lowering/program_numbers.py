# SPDX-License-Identifier: BSD-3-Clause
"""The numbers that the programs of a large system read, and where each copy of a term finds its own."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.errors import ModelError
from dalembert.model.large_statement import LargeStatement
from dalembert.model.symbol_arrays import ParameterArray, Substitutions
from dalembert.model.symbols import multiplier, original_symbol


class ProgramNumbers:
    """The vector of numbers that programs read: forces on which laws depend, parameters, the constants of all copies.

    The forces are multipliers (m,), the ideal force (n,) and reactions (m,); there are none if no law depends on them.
    """

    def __init__(self, statement: LargeStatement):
        self.starts: dict[str, int] = {}
        self.statement = statement
        self.m, self.n = len(statement.constraint_names), len(statement.positions)
        # at fixed places before the parameters, so that forces are written in place at each evaluation
        self.size = 2 * self.m + self.n if statement.laws.needs_forces else 0
        for name, size in statement.parameters.items():
            self.starts[name] = self.size
            self.size += size or 1
        self._parts: list[Any] = [np.zeros(0)]

    def constants(self) -> Floats:
        return np.concatenate(self._parts)

    def of(self, values: Any) -> Any:
        """Return the indices of the values of one symbol in each copy."""
        if isinstance(values, ParameterArray):
            return self.starts[values.name] + values.indices
        if isinstance(values, tuple):
            return np.array([self._one(value) for value in values])
        return self._append(np.asarray(values, float))

    def _append(self, values: Any) -> Any:
        self._parts.append(values)
        self.size += len(values)
        return np.arange(self.size - len(values), self.size)

    def _one(self, value: Any) -> int:
        if getattr(value, "is_Symbol", False):
            return self.parameter(value.name)
        if not value.is_number:
            raise ModelError([f"arrays of numbers must hold numbers or parameters; got `{value}`."])
        return int(self._append(np.array([float(value)]))[0])

    def parameter(self, name: str) -> int:
        """Return the index of a parameter, or of an element of an array of parameters."""
        if name in self.starts:
            return self.starts[name]
        # an element that is named directly, `m[3]`
        array, _, index = name.rstrip("]").rpartition("[")
        return self.starts[array] + int(index)

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.statement.constraint_names)}

    def of_constraint(self, symbol: Any, copies: Substitutions) -> Any:
        """Return the indices of the multiplier or the reaction that a plain symbol stands for, in each copy."""
        original = original_symbol(symbol)
        names = copies.constraints.get(original.name, (original.name,) * copies.count)
        unknown = [name for name in names if name not in self._rows]
        if unknown:
            raise ModelError(
                [
                    f"laws must name constraints of the system; `{unknown[0]}` is not one. In the law of a group, "
                    f"write the name of the group."
                ]
            )
        start = 0 if isinstance(original, multiplier) else self.m + self.n
        return start + np.array([self._rows[name] for name in names])

    def of_ideal_force(self, places: Any) -> Any:
        """Return the indices of components of the ideal force."""
        return self.m + places
