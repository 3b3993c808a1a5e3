# SPDX-License-Identifier: BSD-3-Clause
"""Validation of the arguments of `da.fit`; each function returns the checked value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.errors import InputError
from dalembert.fitting.observation import Observation
from dalembert.model.input_values import named_values
from dalembert.model.ordering import name_of, quoted
from dalembert.model.system import System


def observations_of(system: System, given: Any) -> tuple[Observation, ...]:
    """Return the observations as a tuple; their coordinates and parameters must belong to the system."""
    observations = (given,) if isinstance(given, Observation) or not isinstance(given, Iterable) else tuple(given)
    if not observations or not all(isinstance(one, Observation) for one in observations):
        raise InputError(f"`observations` must be a `da.Observation`, or several of them; got {given!r}.")
    for one in observations:
        one.require_known(system.coordinate_names, system.parameter_names)
    return observations


def names_of(given: Any) -> tuple[str, ...]:
    """Return the names of the parameters to estimate; each must occur once."""
    listed = [given] if isinstance(given, str) or not isinstance(given, Iterable) else given
    names = tuple(name_of(name) for name in listed)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"`parameters` must name each parameter once; {quoted(twice)} is named more often.")
    return names


def values_for(given: Any, names: Sequence[str], argument: str) -> dict[str, float]:
    """Return a value for each of the names; there must be no others."""
    values = named_values(given, argument)
    missing = [name for name in names if name not in values]
    unknown = [name for name in values if name not in names]
    if missing or unknown:
        problems = [f"missing: {quoted(missing)}"] if missing else []
        problems += [f"unknown: {quoted(unknown)}"] if unknown else []
        raise InputError(f"`{argument}` must have a value for each of {quoted(names)}; {', '.join(problems)}.")
    return values


def known_of(given: Any, system: System, names: Sequence[str], observations: Sequence[Observation]) -> dict[str, float]:
    """Return the known values; every parameter of the system must be either known or to be estimated."""
    known = named_values({} if given is None else given, "known")
    wanted = system.parameter_names
    foreign = [name for name in (*names, *known) if name not in wanted]
    if foreign:
        raise InputError(
            f"`parameters` and `known` must name parameters of the system ({quoted(wanted)}); got {quoted(foreign)}."
        )
    twice = [name for name in names if name in known or any(name in one.parameters for one in observations)]
    if twice:
        raise InputError(f"a parameter must be either known or to be estimated; {quoted(twice)} is both.")
    for number, one in enumerate(observations, start=1):
        missing = [name for name in wanted if name not in (*names, *known, *one.parameters)]
        if missing:
            raise InputError(f"`known` must have a value for {quoted(missing)}, which observation {number} needs.")
    return known


def noise_of(given: Any, observations: Sequence[Observation]) -> dict[str, float]:
    """Return the standard deviation of each measured coordinate, or ones if it is not known."""
    names = tuple(dict.fromkeys(name for one in observations for name in one.values))
    if given is None:
        return dict.fromkeys(names, 1.0)
    noise = values_for(given, names, "noise")
    off = [name for name, value in noise.items() if not value > 0]
    if off:
        raise InputError(f"`noise` must be positive; that of {quoted(off)} is not.")
    return noise


def bounds_of(
    given: Any, names: Sequence[str], guess: Floats, size: int, not_negative: Set[str]
) -> tuple[Floats, Floats]:
    """Return lower and upper bounds of all unknowns; the parameters are the first of them."""
    low, high = np.full(size, -np.inf), np.full(size, np.inf)
    for i, name in enumerate(names):
        if name in not_negative and guess[i] > 0:
            low[i] = 0.0
    if given is not None and not isinstance(given, Mapping):
        raise InputError(f"`bounds` must be a mapping from names to pairs; got {given!r}.")
    for key, pair in dict(given or {}).items():
        name = name_of(key)
        if name not in names:
            raise InputError(f"`bounds` must name parameters to estimate ({quoted(names)}); got `{name}`.")
        i = names.index(name)
        least, high[i] = _pair(name, pair)
        low[i] = max(low[i], least)
        if not low[i] < guess[i] < high[i]:
            raise InputError(
                f"`guess` must lie within `bounds`; `{name}` is {guess[i]:g}, not between {low[i]:g} and {high[i]:g}."
            )
    return low, high


def _pair(name: str, given: Any) -> tuple[float, float]:
    try:
        least, greatest = map(float, given)
    except (TypeError, ValueError):
        least = greatest = np.nan
    if not least < greatest:
        raise InputError(
            f"`bounds` must have a least and a greatest value for each name, infinite where there is none; `{name}` "
            f"has {given!r}."
        )
    return least, greatest
