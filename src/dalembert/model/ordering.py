# SPDX-License-Identifier: BSD-3-Clause
"""Values in coordinate order, from sequences in that order or from mappings by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

import numpy as np

from dalembert.common.array_types import not_numbers
from dalembert.common.names import name_of as name_of
from dalembert.common.names import quoted as quoted
from dalembert.common.names import quoted_arrays, shortened


def in_order(names: Sequence[str], given: Any, argument: str, noun: str) -> tuple[list[Any], list[str]]:
    """Return the values of a mapping or sequence in the order of ``names``, and the problems as sentences."""
    named, problems = by_name(given, argument, noun)
    if named is not None:
        problems += name_problems(names, named, argument, noun)
        return [named[name] for name in names if name in named], problems
    if isinstance(given, (bytearray, memoryview)) and (reason := not_numbers(given)):
        return [], [f"`{argument}` {reason}"]
    try:
        values = None if isinstance(given, (str, bytes, Set)) else list(given)
    except TypeError:
        values = None
    if values is None:
        return [], [f"`{argument}` must be a sequence or a mapping by name; got {given!r}."]
    if len(values) != len(names):
        return values, [
            f"`{argument}` must have one entry per {noun} ({len(names)}: {quoted_arrays(names)}); got {len(values)}."
        ]
    return values, []


def by_name(given: Any, argument: str, noun: str) -> tuple[dict[str, Any] | None, list[str]]:
    """Return values by name from a mapping or labels, and problems with the names; None for values without names."""
    items = _labelled(given)
    if items is None:
        return None, []
    names = [name_of(key) for key, _ in items]
    duplicates = [name for name, count in Counter(names).items() if count > 1]
    problems = [f"`{argument}` must give each {noun} once; given twice: {quoted(duplicates)}."] if duplicates else []
    return dict(zip(names, (value for _, value in items), strict=True)), problems


def _labelled(given: Any) -> list[tuple[Any, Any]] | None:
    """Return the entries of a mapping, named tuple, structured scalar, Series, DataFrame or DataArray with labels.

    None if there are no labels.

    Labels that only count, 0, 1, 2 …, carry no more information than the order of the values.
    """
    if isinstance(given, Mapping):
        return list(given.items())
    if (named := _record(given)) is not None:
        return named
    package, kind = type(given).__module__.partition(".")[0], type(given).__name__
    labels: list[Any] = []
    values: list[Any] = []
    if package == "pandas" and kind == "Series":
        labels, values = list(given.index), list(given)
    elif package == "pandas" and kind == "DataFrame":
        labels, values = list(given.columns), [given[label].to_numpy() for label in given.columns]
    elif package == "xarray" and kind == "DataArray":
        axes = [d for d in given.dims if d in given.coords and (given.ndim == 1 or given[d].dtype.kind in "UO")]
        if len(axes) == 1:
            labels = list(given[axes[0]].values)
            values = [given.isel({axes[0]: i}).values for i in range(len(labels))]
    return None if labels == list(range(len(labels))) else list(zip(labels, values, strict=True))


def _record(given: Any) -> list[tuple[Any, Any]] | None:
    """Return the entries of a named tuple or of a structured scalar of NumPy; None if it is neither."""
    if isinstance(given, tuple):
        fields = getattr(given, "_fields", None)  # pyright: ignore[reportUnknownArgumentType]
        return None if fields is None else list(zip(fields, given, strict=True))  # pyright: ignore
    if isinstance(given, np.void) and given.dtype.names:
        return [(name, given[name]) for name in given.dtype.names]
    return None


def name_problems(names: Sequence[str], given: Iterable[str], argument: str, noun: str) -> list[str]:
    """Return sentences about names that are missing from, or unknown in, a mapping."""
    given = list(given)
    problems: list[str] = []
    present = frozenset(given)
    missing = [name for name in names if name not in present]
    if missing:
        problems.append(f"`{argument}` must give a value for every {noun}; missing: {quoted_arrays(missing)}.")
    return problems + unknown_names(names, given, argument, noun)


def unknown_names(names: Sequence[str], given: Iterable[str], argument: str, noun: str) -> list[str]:
    """Return sentences about names that the model does not have."""
    problems: list[str] = []
    known = frozenset(names)
    for name in given:
        if name not in known:
            import difflib  # which takes long to import, for messages only

            nearest = difflib.get_close_matches(name, names, n=1)
            hint = f" Did you mean `{nearest[0]}`?" if nearest else f" The model has: {quoted(names) or 'none'}."
            problems.append(f"`{argument}` must name only {noun}s of the model; `{shortened(name)}` is unknown.{hint}")
    return problems
