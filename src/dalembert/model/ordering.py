# SPDX-License-Identifier: BSD-3-Clause
"""Order is data: sequences are in coordinate order, and a mapping by name is accepted wherever a sequence is."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef


def name_of(key: Any) -> str:
    """The name of a coordinate, a parameter or a string that names one."""
    if type(key) is str:
        return key
    if isinstance(key, AppliedUndef):
        return key.func.__name__
    if isinstance(key, sp.Symbol):
        return key.name
    return str(key)


def quoted(names: Iterable[str]) -> str:
    """Names as messages show them.

    >>> quoted(["x", "y"])
    '`x`, `y`'
    """
    return ", ".join(f"`{name}`" for name in names)


def in_order(names: Sequence[str], given: Any, argument: str, noun: str) -> tuple[list[Any], list[str]]:
    """The values of a mapping or sequence in the order of ``names``, and what is wrong with it in full sentences."""
    if isinstance(given, Mapping):
        by_name = {name_of(key): value for key, value in given.items()}
        problems = name_problems(names, by_name, argument, noun)
        return [by_name[name] for name in names if name in by_name], problems
    try:
        values = list(given)
    except TypeError:
        return [], [f"`{argument}` must be a sequence or a mapping by name; got {given!r}."]
    if len(values) != len(names):
        return values, [
            f"`{argument}` must have one entry per {noun} ({len(names)}: {quoted(names)}); got {len(values)}."
        ]
    return values, []


def name_problems(names: Sequence[str], given: Iterable[str], argument: str, noun: str) -> list[str]:
    """Sentences about names that are missing from, or unknown in, a mapping."""
    given = list(given)
    problems: list[str] = []
    missing = [name for name in names if name not in given]
    if missing:
        problems.append(f"`{argument}` must give a value for every {noun}; missing: {quoted(missing)}.")
    return problems + unknown_names(names, given, argument, noun)


def unknown_names(names: Sequence[str], given: Iterable[str], argument: str, noun: str) -> list[str]:
    """Sentences about names that the model does not have."""
    problems: list[str] = []
    for name in given:
        if name not in names:
            nearest = difflib.get_close_matches(name, names, n=1)
            hint = f" Did you mean `{nearest[0]}`?" if nearest else f" The model has: {quoted(names) or 'none'}."
            problems.append(f"`{argument}` must name only {noun}s of the model; `{name}` is unknown.{hint}")
    return problems
