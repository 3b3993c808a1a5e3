# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of coordinates and parameters as entries of a document, and their parts, such as ``x[1:]``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import sympy as sp
from sympy.core.function import AppliedUndef

from dalembert.errors import ModelError
from dalembert.model.coordinate_positions import ELEMENT
from dalembert.model.declared_names import require_known
from dalembert.model.document import DocumentEntry, Scope, read_expression, write_expression
from dalembert.model.document_budget import Budget
from dalembert.model.expression_work import FEWEST_COPIES
from dalembert.model.ordering import name_of
from dalembert.model.symbol_arrays import CoordinateArray, ParameterArray, SymbolArray, symbol_array

MOST_ELEMENTS = 20_000
"""Largest number of elements of all arrays of coordinates of a file, and of all arrays of parameters."""

LONGEST_ELEMENT = 200
"""Longest name of an element of an array; Python does not convert numbers of thousands of digits."""

_PART = re.compile(r"([^\W\d]\w*)(?:\[([^\[\]]*)\])?")
_INDICES = re.compile(r"\s*-?\d{1,9}\s*(?:,\s*-?\d{1,9}\s*)*", re.ASCII)
_SLICE = re.compile(r"\s*(-?\d{1,9})?\s*:\s*(-?\d{1,9})?\s*(?::\s*(-?\d{1,9})?\s*)?", re.ASCII)
_RANGE = re.compile(r"[^:]*:[^:]*:[^:]*")


class ElementNames(dict[str, Any]):
    """The names of a scope with arrays, whose elements ``x[3]`` are made when they are asked for."""

    def __init__(self, arrays: Mapping[str, SymbolArray], names: Mapping[str, Any], budget: Budget):
        dict.__init__(self, names)
        self._arrays = arrays
        self.budget = budget

    def __contains__(self, name: object) -> bool:
        return dict.__contains__(self, name) or name in self._arrays or self._is_element(str(name))

    def __missing__(self, name: str) -> Any:
        if name in self._arrays:
            raise ModelError(
                [
                    f"an array must be used by its elements in an expression; got `{name}`. Write `{name}[0]`, or a "
                    "name that `over` replaces by the elements."
                ]
            )
        part = ELEMENT.fullmatch(name)
        if part is None or part[1] not in self._arrays:
            raise KeyError(name)
        array = self._arrays[part[1]]
        if int(part[2]) >= array.size:
            raise ModelError([f"`{name}` must lie in the array; `{array.name}` has {array.size} elements."])
        if problem := self.budget.taken_by_copies(FEWEST_COPIES):
            raise ModelError([problem])
        self[name] = array.symbol(name)
        return self[name]

    def _is_element(self, name: str) -> bool:
        part = ELEMENT.fullmatch(name[:LONGEST_ELEMENT])
        return part is not None and part[1] in self._arrays


def has_arrays(entry: DocumentEntry) -> bool:
    """Return whether the coordinates of a document contain arrays."""
    return isinstance(entry.value, list) and any(isinstance(own, Mapping) for own in entry.value)  # pyright: ignore


def read_array(entry: DocumentEntry, scope: Scope, kind: type[SymbolArray], name: str, count: DocumentEntry) -> Any:
    """Declare an array in a scope, and return it."""
    if isinstance(count.value, bool) or not isinstance(count.value, int) or count.value < 1:
        raise count.expected("a whole number, at least 1")
    total = count.value + sum(array.size for array in scope.arrays.values() if isinstance(array, kind))
    if total > MOST_ELEMENTS:
        raise count.error(f"the arrays of a file must have at most {MOST_ELEMENTS} elements in all; got {total}.")
    if name in scope.names or name in scope.arrays:
        raise entry.error(f"an array must have a name of its own; `{name}` is declared already.")
    with entry.places():
        scope.arrays[name] = symbol_array(kind, name, count.value)
    return scope.arrays[name]


def require_copies(entry: DocumentEntry, elements: int) -> None:
    """Take elements of index sets from the budget of a document; raise an error if that is exceeded."""
    problem = entry.budget.taken_by_copies(elements)
    if problem:
        raise entry.error(problem)


def declares_array(entry: DocumentEntry, name: str) -> bool:
    """Return whether the entry of a parameter, by its name, is an array of values or has a count."""
    value = entry.value[name] if isinstance(entry.value, Mapping) else None  # pyright: ignore
    given = value.get("value") if isinstance(value, Mapping) else value  # pyright: ignore
    return isinstance(given, list) or (isinstance(value, Mapping) and "count" in value)


def read_parameter_array(entry: DocumentEntry, scope: Scope, name: str) -> None:
    """Declare an array of parameters in a scope, from its count or from its values."""
    table = entry.table() if isinstance(entry.value, Mapping) else {"value": entry}
    if "assumptions" in table:
        raise table["assumptions"].error("an array of parameters must be without assumptions.")
    values = table.get("value")
    count = table["count"] if "count" in table else DocumentEntry(len(table["value"].list()), entry.path, entry.budget)
    array = read_array(entry, scope, ParameterArray, name, count)
    if values is not None:
        read_numbers(values, array.size)


def part_of_array(entry: DocumentEntry, text: str, scope: Scope, *, listed: bool = False) -> Any:
    """Return the array, the part of one, or the single coordinate that a text names; None if it names none.

    With ``listed``, an element of an array of coordinates is a part of one element, for which SymPy makes no symbol.
    """
    if dict.__contains__(scope.names, text):
        own = scope.names[text]
        return own if isinstance(own, AppliedUndef) else None
    found = _PART.fullmatch(text.strip())
    if found is None or (found[2] is None and found[1] not in scope.arrays):
        return None
    array, index = _named_array(entry, found[1], scope), found[2]
    return (
        array if index is None else _element_or_part(entry, array, index, listed and isinstance(array, CoordinateArray))
    )


def _named_array(entry: DocumentEntry, name: str, scope: Scope) -> SymbolArray:
    require_known(entry, name, list(scope.arrays), "array")
    return scope.arrays[name]


def _element_or_part(entry: DocumentEntry, array: SymbolArray, inside: str, as_part: bool) -> Any:
    """Return the element or the part of an array at the text of an index."""
    index = _index(entry, inside)
    try:
        part = array[[index] if as_part and isinstance(index, int) else index]
    except IndexError:
        raise entry.error(
            f"`{array.name}[{inside}]` must lie in the array; `{array.name}` has {array.size} elements."
        ) from None
    if isinstance(part, SymbolArray) and not len(part):
        raise entry.error(f"`{array.name}[{inside}]` must have at least one element; it has none.")
    return part


def _index(entry: DocumentEntry, text: str) -> Any:
    """Return the index or the slice of a text, as NumPy takes it."""
    cut = _SLICE.fullmatch(text)
    if cut:
        bounds = [int(bound) if bound else None for bound in cut.groups()]
        if bounds[2] == 0:
            raise entry.error(f"the step of a part of an array must not be zero; got `[{text}]`.")
        return slice(*bounds)
    if not _INDICES.fullmatch(text):
        raise entry.error(
            f"elements of an array must be given as in `x[3]`, `x[1:]`, `x[::2]` or `x[3, 1, 4]`; got `[{text}]`.", 0
        )
    indices = [int(part) for part in text.split(",")]
    return indices[0] if len(indices) == 1 else indices


def part_text(array: SymbolArray) -> str:
    """Return the text of an array or a part of one."""
    indices = array.indices
    if len(indices) == array.size and np.array_equal(indices, np.arange(array.size)):
        return array.name
    if len(indices) == 1:
        return f"{array.name}[{indices[0]}:{indices[0] + 1}]"
    step = int(indices[1] - indices[0])
    if step > 0 and np.array_equal(indices, np.arange(indices[0], indices[-1] + 1, step)):
        first = "" if indices[0] == 0 else str(indices[0])
        left = array.size - int(indices[-1]) - 1
        last = "" if left < step else "-1" if left == step == 1 else str(indices[-1] + 1)
        return f"{array.name}[{first}:{last}{'' if step == 1 else f':{step}'}]"
    return f"{array.name}[{', '.join(map(str, indices.tolist()))}]"


def listed_part(entries: list[Any]) -> Any:
    """Return names of elements of one array as a part of it, such as ``x[3, 1, 4]``; other entries as they are."""
    found = [ELEMENT.fullmatch(own) if isinstance(own, str) else None for own in entries]
    indices = [part[2] for part in found if part and part[1] == found[0][1]]  # pyright: ignore[reportOptionalSubscript]
    return f"{found[0][1]}[{', '.join(indices)}]" if found[0] and len(indices) == len(entries) > 1 else entries


def read_elements(entry: DocumentEntry, scope: Scope, *, listed: bool = False) -> Any:
    """Return coordinates, parameters, numbers or expressions, one for every copy or one for all of them."""
    if isinstance(entry.value, str):
        part = part_of_array(entry, entry.value, scope, listed=listed)
        return read_expression(entry, scope) if part is None else part
    if not isinstance(entry.value, list):
        return entry.number()
    entries = entry.list()
    if not entries:
        raise entry.error(f"{entry.label} must have at least one element; got none.")
    parts = [read_elements(own, scope, listed=True) if isinstance(own.value, str) else own.number() for own in entries]
    if not any(_is_coordinate(part) for part in parts):
        if any(isinstance(part, SymbolArray) for part in parts):
            raise entry.error(f"{entry.label} must hold no arrays of parameters in an array.")
        return parts
    for own, part in zip(entries, parts, strict=True):
        if not _is_coordinate(part):
            raise own.error(f"{entry.label} must hold coordinates only, as its other elements; got {own.value!r}.")
    return _joined(entry, parts)


def _joined(entry: DocumentEntry, parts: Sequence[Any]) -> Any:
    """Return coordinates and parts of arrays as one part if they are of one array, else one by one."""
    arrays = [part for part in parts if isinstance(part, CoordinateArray)]
    if len(arrays) == len(parts) and len({part.name for part in arrays}) == 1:
        return replace(arrays[0], indices=np.concatenate([part.indices for part in arrays]))
    require_copies(entry, FEWEST_COPIES * (len(parts) + sum(map(len, arrays))))
    return tuple(q for part in parts for q in (part if isinstance(part, CoordinateArray) else (part,)))


def _is_coordinate(part: Any) -> bool:
    return isinstance(part, (CoordinateArray, AppliedUndef))


def is_of_coordinates(given: Any) -> bool:
    """Return whether what replaces a placeholder are coordinates, and not numbers."""
    return _is_coordinate(given) or (isinstance(given, tuple) and _is_coordinate(given[0]))  # pyright: ignore


def elements_text(given: Any, *, alone: bool = True) -> Any:
    """Return what replaces a placeholder as an entry; with ``alone``, equal elements as one."""
    if isinstance(given, SymbolArray):
        return part_text(given)
    values = list(given)
    if alone and all(value is values[0] or value == values[0] for value in values):
        values = values[:1]
    entries = [name_of(own) if isinstance(own, AppliedUndef) else write_expression(own) for own in values]
    return entries[0] if alone and len(entries) == 1 else entries


def read_numbers(entry: DocumentEntry, size: int) -> list[float]:
    """Return numbers for all elements of an array: one for all, a text "first:last:count", or an array."""
    if isinstance(entry.value, str) and _RANGE.fullmatch(entry.value):
        own = [DocumentEntry(part, entry.path, entry.budget).number() for part in entry.value.split(":")]
        if own[2] != size:
            raise entry.error(f"{entry.label} must have {size} numbers; got {own[2]:g} in `{entry.value}`.")
        return np.linspace(own[0], own[1], size).tolist()
    if not isinstance(entry.value, list):
        return [entry.number()] * size
    if len(entry.value) != size:  # pyright: ignore
        raise entry.error(f"{entry.label} must have {size} numbers; got {len(entry.value)}.")  # pyright: ignore
    return entry.numbers()


def numbers_entry(given: Sequence[float] | Any) -> Any:
    """Return numbers as one number if they are equal, as "first:last:count" if equally spaced, else as an array."""
    values = np.asarray(given, float)
    if (values == values[0]).all():
        return float(values[0])
    if len(values) > 2 and np.array_equal(values, np.linspace(values[0], values[-1], len(values))):
        return f"{float(values[0])!r}:{float(values[-1])!r}:{len(values)}"
    return values.tolist()


def placeholder(name: str, given: Any) -> Any:
    """Return the symbol that stands for the elements: a coordinate for coordinates, else a parameter."""
    function: Any = sp.Function(name)
    return function(sp.Symbol("t")) if is_of_coordinates(given) else sp.Symbol(name)
