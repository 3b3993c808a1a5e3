# SPDX-License-Identifier: BSD-3-Clause
"""Names for parts of formulas, defined once and used from there on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sympy as sp

from dalembert.model import graph
from dalembert.model.symbols import InternalSymbol
from dalembert.report.length import printed_width
from dalembert.report.name_typesetting import typeset

WIDE_ENTRY, SHORT_ENTRY = 15.0, 5.0
"""In a derivation in stages, if some entry of a matrix is wider than the first, all wider than the second are named."""


class PartNames:
    """Names of parts, which look different from all names of the model."""

    def __init__(self, taken: Iterable[str]):
        self._taken = {typeset(name) for name in taken}
        self._definitions: dict[Any, Any] = {}
        self._names: dict[Any, Any] = {}
        self._defined: set[Any] = set()

    @property
    def all_names(self) -> tuple[Any, ...]:
        """All names given so far."""
        return tuple(self._definitions)

    def name(self, part: Any, letters: str, *indices: int) -> Any:
        """Return the name of a part, up to its sign; a new one has the first free letter of some."""
        if part in self._names:
            return self._names[part]
        if -part in self._names:
            return -self._names[-part]
        symbol = self._symbol(letters.split(), indices)
        self._definitions[symbol] = part
        self._names[part] = symbol
        return symbol

    def entries(self, matrix: Any, letters: str, width: float = WIDE_ENTRY) -> Any:
        """Return a matrix with names for its entries if some are wider than ``width``; fractions are named, too."""
        named = sp.Matrix(matrix)
        if max(map(printed_width, matrix), default=0.0) <= width:
            return sp.ImmutableMatrix(named)
        for i in range(matrix.rows):
            for j in range(matrix.cols):
                entry = matrix[i, j]
                if not entry.is_Integer and (entry.is_Rational or printed_width(entry) > min(SHORT_ENTRY, width)):
                    indices = () if matrix.shape == (1, 1) else (i + 1,) if matrix.cols == 1 else (i + 1, j + 1)
                    named[i, j] = self.name(entry, letters, *indices)
        return sp.ImmutableMatrix(named)

    def new_definitions(self, *matrices: Any) -> list[tuple[Any, Any]]:
        """Return names and parts for the names in some matrices, and for those in these parts, the first time only."""
        waiting = [*graph.free_symbols(*(entry for matrix in matrices for entry in matrix))]
        needed: set[Any] = set()
        while waiting:
            symbol = waiting.pop()
            if symbol in self._definitions and symbol not in self._defined and symbol not in needed:
                needed.add(symbol)
                waiting += graph.free_symbols(self._definitions[symbol])
        self._defined |= needed
        return [(name, part) for name, part in self._definitions.items() if name in needed]

    def replace(self, part: Any, name: Any) -> None:
        """Replace a part by its name in all other definitions."""
        for other, meaning in self._definitions.items():
            if other != name:
                self._definitions[other] = graph.replace(meaning, {part: name, -part: -name})

    def _symbol(self, letters: list[str], indices: tuple[int, ...]) -> Any:
        joint = "" if all(index < 10 for index in indices) else "_"
        spelled = [f"{letter}_{joint.join(map(str, indices))}" if indices else letter for letter in letters]
        chosen = next((name for name in spelled if typeset(name) not in self._taken), None)
        number = 1
        while chosen is None:
            number += 1
            candidate = f"{spelled[0]}_{number}"
            chosen = candidate if typeset(candidate) not in self._taken else None
        self._taken.add(typeset(chosen))
        return InternalSymbol(f"part.{chosen}")
