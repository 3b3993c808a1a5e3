# SPDX-License-Identifier: BSD-3-Clause
"""Validation of numerical input; each function returns the validated values in order."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from math import inf, isfinite
from operator import lt
from types import MappingProxyType
from typing import Any

import numpy as np

from dalembert.common.array_types import Floats, all_finite, all_true, labels_of, rejection_reason, row_labels
from dalembert.common.names import members, name_of, quoted_arrays
from dalembert.errors import InputError
from dalembert.model.ordering import by_name, in_order, name_problems
from dalembert.model.symbol_arrays import SymbolArray

PLAIN_TYPES = frozenset({float, int, np.float64})
"""Types of most of the numbers that are given; entries of an array are of the last one."""


def _are_plain(values: Collection[Any]) -> bool:
    """Return whether all values are finite numbers of the usual types, which need no further checks."""
    # types compared exactly: bool is a subclass of int
    if not PLAIN_TYPES.issuperset(map(type, values)):
        return False
    try:
        return all(map(isfinite, values))
    except OverflowError:  # an integer beyond the largest number
        return False


def state_values(names: Sequence[str], given: Any, argument: str) -> Floats:
    """Return n finite numbers in coordinate order, from a sequence or a mapping by name."""
    if type(given) is np.ndarray and given.shape == (len(names),) and given.dtype == float:
        values: Any = given
        if all_finite(values):
            return np.array(values, order="C")
    if type(given) in (tuple, list) and len(given) == len(names) and _are_plain(given):
        return np.array(given, float)
    values, problems = in_order(names, given, argument, "coordinate")
    if problems and isinstance(given, Mapping):
        values, problems = in_order(names, _by_member(names, given, argument), argument, "coordinate")
    if problems:
        raise InputError(" ".join(problems))
    return _finite(values, names, argument)


def _by_member(names: Sequence[str], given: Mapping[Any, Any], argument: str) -> dict[str, Any]:
    """Return a mapping by name in which arrays of coordinates, or their names, are replaced by their members."""
    found: dict[str, Any] = {}
    for key, value in given.items():
        own = key.names if isinstance(key, SymbolArray) else [names[k] for k in members(names, name_of(key))]
        if own and np.shape(value) not in ((), (len(own),)):
            raise InputError(
                f"`{argument}` must give `{name_of(key)}` one number for each of its {len(own)} coordinates, or one "
                f"for all; got shape {np.shape(value)}."
            )
        new = dict(zip(own, np.broadcast_to(value, len(own)), strict=True)) if own else {name_of(key): value}
        if twice := quoted_arrays([name for name in new if name in found]):
            raise InputError(f"`{argument}` must give each coordinate once; given twice: {twice}.")
        found |= new
    return found


def parameter_values(names: Sequence[str], given: Any) -> tuple[float, ...]:
    """Return a finite number for every parameter, in order, from a mapping by name or symbol."""
    given = {} if given is None else given
    if not names and type(given) is dict and not given:
        return ()
    if (
        type(given) in (dict, MappingProxyType)
        and len(given) == len(names)
        and given.keys() == {*names}
        and _are_plain(given.values())
    ):
        return tuple(float(given[name]) for name in names)
    given = _mapping(given, "parameters")
    if len(given) != len(names) or not all(name in given for name in names):
        raise InputError(" ".join(name_problems(names, given, "parameters", "parameter")))
    return tuple(map(float, _finite([given[name] for name in names], names, "parameters")))


def named_values(given: Any, argument: str) -> dict[str, float]:
    """Return finite numbers by name, from a mapping by name or symbol."""
    named = _mapping(given, argument)
    return dict(zip(named, map(float, _finite(list(named.values()), list(named), argument)), strict=True))


def _mapping(given: Any, argument: str) -> dict[str, Any]:
    """Return values by name, each name once."""
    named, problems = by_name(given, argument, "parameter")
    if named is None:
        raise InputError(f"`{argument}` must be a mapping from names to numbers; got {given!r}.")
    if problems:
        raise InputError(" ".join(problems))
    return named


def require_same_labels(columns: Mapping[str, Any]) -> None:
    """Raise an error if two columns of pandas, by their names as arguments, have their rows in different orders."""
    labelled = [(name, labels) for name, given in columns.items() if (labels := row_labels(given)) is not None]
    for name, labels in labelled[1:]:
        if not np.array_equal(labels, labelled[0][1]):
            raise InputError(
                f"`{labelled[0][0]}` and `{name}` must have the same labels in the same order; their indices differ. "
                f"Pass columns of one table, or `.to_numpy()` if labels have no meaning."
            )


def require_labels_of_times(times: Any, columns: Mapping[str, Any]) -> None:
    """Raise an error if the labels of a column, by its name as an argument, belong to other times than its numbers."""
    require_same_labels({"times": times} | dict(columns))
    if row_labels(times) is not None:
        return
    for name, given in columns.items():
        labels = labels_of(given)
        if labels is not None and not np.array_equal(labels, np.asarray(times)):
            raise InputError(
                f"`{name}` must be labelled by `times`, or not at all; its index differs from them. Pass its index as "
                f"`times`, or `.to_numpy()` if labels have no meaning."
            )


def column_values(given: Any, argument: str) -> Floats:
    """Return numbers, with NaN for missing values."""
    values = as_numbers(given, argument)
    if np.isinf(values).any():
        raise InputError(f"`{argument}` must be finite, or NaN for missing values; it contains an infinity.")
    return values


def time_values(given: Any, argument: str, *, increasing: bool = False) -> Floats:
    """Return finite times; with ``increasing``, at least two and strictly increasing."""
    plain = type(given) in (tuple, list) and _are_plain(given)
    # the compiled code needs contiguous memory
    times = np.array(given if plain else as_numbers(given, argument), float, order="C")
    if increasing and (_increase_plainly(given) if plain else _increase(times)):
        return times
    if not np.isfinite(times).all():
        raise InputError(f"`{argument}` must be finite; got {times}.")
    if increasing and (times.ndim != 1 or len(times) < 2):
        raise InputError(f"`{argument}` must be a sequence of at least two times; got shape {times.shape}.")
    if increasing:
        k = int(np.argmin(np.diff(times) > 0))
        raise InputError(f"`{argument}` must increase; entry {k + 1} is {times[k + 1]:g} after {times[k]:g}.")
    return times


def _increase_plainly(times: Sequence[float]) -> bool:
    """Return whether there are two or more increasing numbers; a few take a fifth of the time of an array."""
    return len(times) > 1 and all(map(lt, times, islice(times, 1, None)))


def _increase(times: Floats) -> bool:
    """Return whether there are two or more increasing times with finite ends, so that all of them are finite."""
    ordered = times.ndim == 1 and len(times) > 1 and all_true(times[1:] > times[:-1])
    return ordered and isfinite(times[0]) and isfinite(times[-1])


def scalar_value(given: Any, argument: str) -> Floats:
    """Return one finite number."""
    if type(given) is float and isfinite(given):
        return np.array(given)
    value = as_numbers(given, argument)
    if value.ndim or not np.isfinite(value):
        raise InputError(f"`{argument}` must be one finite number; got {given!r}.")
    return value


def tolerance_value(given: Any, argument: str) -> float:
    """Return one positive finite number."""
    if type(given) is float and 0 < given < inf:
        return given
    value = float(scalar_value(given, argument))
    if not value > 0:
        raise InputError(f"`{argument}` must be a positive number; got {given!r}.")
    return value


def as_numbers(given: Any, argument: str) -> Floats:
    """Return real numbers as an array of any shape; raise for values that NumPy would convert silently."""
    try:
        array = np.asarray(given)
        reason = rejection_reason(given, array)
        if not reason:
            return np.asarray(array, float)
    except (TypeError, ValueError):
        reason = f"must hold numbers; got {given!r}."
    except OverflowError:
        reason = "must hold numbers below 1e308; it holds a larger one."
    raise InputError(f"`{argument}` {reason}") from None


def _finite(values: Sequence[Any], names: Sequence[str], argument: str) -> Floats:
    if _are_plain(values):
        return np.array(values, float)
    numbers = [as_numbers(value, f"{argument}[{name}]") for value, name in zip(values, names, strict=True)]
    for number, name in zip(numbers, names, strict=True):
        if number.ndim:
            raise InputError(f"`{argument}` must hold one number per name; `{name}` has shape {number.shape}.")
    off = [name for number, name in zip(numbers, names, strict=True) if not np.isfinite(number)]
    if off:
        raise InputError(f"`{argument}` must be finite; {quoted_arrays(off)} is not.")
    return np.array([float(number) for number in numbers])
