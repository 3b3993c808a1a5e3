# SPDX-License-Identifier: BSD-3-Clause
"""What bodies are given, checked and put into form."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from dalembert.errors import ModelError
from dalembert.mechanisms.vectors import number


def naming(name: Any) -> list[str]:
    if isinstance(name, str) and name.isidentifier():
        return []
    return [f"a body's name must be one word of letters, digits and underscores, for its coordinates; got {name!r}."]


def positive(value: Any, what: str, name: Any) -> list[str]:
    try:
        sound = number(value).is_positive is not False and number(value) is not sp.nan
    except (TypeError, sp.SympifyError, AttributeError):
        sound = False
    return [] if sound else [f"the {what} of `{name}` must be positive; got {value!r}."]


def tensor(given: Any, name: Any) -> tuple[Any, list[str]]:
    """The inertia as a matrix, and what is wrong with it."""
    try:
        tensor = sp.Matrix(given).applyfunc(number)
    except (TypeError, ValueError, sp.SympifyError):
        tensor = sp.zeros(0, 0)
    if tensor.shape in ((3, 1), (1, 3)):
        tensor = sp.diag(*tensor)
    if tensor.shape != (3, 3):
        return tensor, [f"the inertia of `{name}` must be three principal moments or a 3 × 3 tensor; got {given!r}."]
    if tensor != tensor.T:
        return tensor, [f"the inertia of `{name}` must be a symmetric tensor; got {given!r}."]
    return sp.ImmutableMatrix(tensor), _moment_problems(tensor, name)


def _moment_problems(tensor: Any, name: Any) -> list[str]:
    if tensor.free_symbols:
        return []
    small, middle, large = np.linalg.eigvalsh(np.asarray(tensor, float))
    if not small > 0:
        return [f"the inertia of `{name}` must be positive definite; its principal moments include {small:g}."]
    if large > (small + middle) * (1 + 1e-9):
        return [
            f"no principal moment of inertia of `{name}` may exceed the sum of the other two; got "
            f"{large:g} > {small:g} + {middle:g}. Check the tensor's entries and its axes."
        ]
    return []


def settle(body: Any, problems: list[str], **values: Any) -> None:
    if problems:
        raise ModelError(problems)
    for name, value in values.items():
        object.__setattr__(body, name, value)
