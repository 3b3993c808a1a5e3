# SPDX-License-Identifier: BSD-3-Clause
"""Validation of the arguments of bodies."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import sympy as sp

from dalembert.common.start_values import start_value
from dalembert.errors import ModelError
from dalembert.mechanisms.vectors import MOST_KEPT, are_plain, constant, number

MOMENT_SLACK = 1e-9
"""Fraction by which a principal moment may exceed the sum of the other two: for a thin plate it equals the sum, and
tensors are given with some nine digits."""

STARTS = ("position", "angle", "orientation", "velocity", "spin")
"""Fields of bodies with the start of a quantity that changes during the motion."""


def name_problems(name: Any) -> list[str]:
    if isinstance(name, str) and name.isidentifier():
        return []
    return [f"a body's name must be one word of letters, digits and underscores, for its coordinates; got {name!r}."]


def positive(value: Any, what: str, name: Any) -> list[str]:
    if are_plain((value,)) and value > 0:
        return []
    argument = f"{what} of {name}"
    is_valid = constant(number(value, argument), argument).is_positive is not False
    return [] if is_valid else [f"the {what} of `{name}` must be positive; got {value!r}."]


def tensor(given: Any, name: Any) -> tuple[Any, list[str]]:
    """Return the inertia as a matrix, and the problems with it."""
    try:
        entries = np.array(given, object)
    except ValueError:
        entries = np.zeros(0)
    flat = entries.ravel().tolist()
    shape: Any = entries.shape if entries.ndim == 2 else (len(flat), 1)
    if are_plain(flat):
        tensor, moments = _plain_tensor(shape, tuple(flat))
    else:
        tensor = _tensor(shape, [number(entry, f"inertia of {name}") for entry in flat])
        moments = _principal_moments(tensor)
    if moments:
        return tensor, _moment_problems(moments, name)
    if tensor.shape != (3, 3):
        return tensor, [f"the inertia of `{name}` must be three principal moments or a 3 × 3 tensor; got {given!r}."]
    if tensor != tensor.T:
        return tensor, [f"the inertia of `{name}` must be a symmetric tensor; got {given!r}."]
    return constant(tensor, f"inertia of {name}"), []


@lru_cache(MOST_KEPT)
def _plain_tensor(shape: tuple[int, int], entries: tuple[float, ...]) -> tuple[Any, tuple[float, ...]]:
    """Return a tensor of plain numbers with its principal moments; bodies built in a loop often have the same one."""
    tensor = _tensor(shape, [number(entry, "inertia") for entry in entries])
    return tensor, _principal_moments(tensor)


def _tensor(shape: tuple[int, int], entries: list[Any]) -> Any:
    tensor = sp.Matrix(*shape, entries)
    return sp.ImmutableMatrix(sp.diag(*tensor) if tensor.shape in ((3, 1), (1, 3)) else tensor)


def _principal_moments(tensor: Any) -> tuple[float, ...]:
    """Return the principal moments in increasing order; none if there are no numbers, or no symmetric tensor."""
    if tensor.shape != (3, 3) or not all(entry.is_number for entry in tensor) or tensor != tensor.T:
        return ()
    return tuple(np.linalg.eigvalsh(np.asarray(tensor, float)).tolist())


def _moment_problems(moments: tuple[float, ...], name: Any) -> list[str]:
    small, middle, large = moments
    if not small > 0:
        return [f"the inertia of `{name}` must be positive definite; its principal moments include {small:g}."]
    if large > (small + middle) * (1 + MOMENT_SLACK):
        return [
            f"no principal moment of inertia of `{name}` may exceed the sum of the other two; got "
            f"{large:g} > {small:g} + {middle:g}. Check the tensor's entries and its axes."
        ]
    return []


def set_fields(body: Any, problems: list[str], **values: Any) -> None:
    if problems:
        raise ModelError(problems)
    for name, value in values.items():
        object.__setattr__(body, name, start_value(body, name, value) if name in STARTS else value)
