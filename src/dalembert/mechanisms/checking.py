# SPDX-License-Identifier: BSD-3-Clause
"""Validation of the arguments of bodies."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from dalembert.common.start_values import start_value
from dalembert.errors import ModelError
from dalembert.mechanisms.vectors import constant, number

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
    argument = f"{what} of {name}"
    is_valid = constant(number(value, argument), argument).is_positive is not False
    return [] if is_valid else [f"the {what} of `{name}` must be positive; got {value!r}."]


def tensor(given: Any, name: Any) -> tuple[Any, list[str]]:
    """Return the inertia as a matrix, and the problems with it."""
    try:
        entries = np.array(given, object)
    except ValueError:
        entries = np.zeros(0)
    flat = [number(entry, f"inertia of {name}") for entry in entries.ravel()]
    tensor = sp.Matrix(*(entries.shape if entries.ndim == 2 else (len(flat), 1)), flat)
    if tensor.shape in ((3, 1), (1, 3)):
        tensor = sp.diag(*tensor)
    if tensor.shape != (3, 3):
        return tensor, [f"the inertia of `{name}` must be three principal moments or a 3 × 3 tensor; got {given!r}."]
    if tensor != tensor.T:
        return tensor, [f"the inertia of `{name}` must be a symmetric tensor; got {given!r}."]
    return constant(sp.ImmutableMatrix(tensor), f"inertia of {name}"), _moment_problems(tensor, name)


def _moment_problems(tensor: Any, name: Any) -> list[str]:
    if tensor.free_symbols:
        return []
    small, middle, large = np.linalg.eigvalsh(np.asarray(tensor, float))
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
