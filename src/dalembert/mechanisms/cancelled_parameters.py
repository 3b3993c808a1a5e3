# SPDX-License-Identifier: BSD-3-Clause
"""Parameters of bodies, joints and forces that cancel in the equations, such as an offset along a contact plane."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import sympy as sp

from dalembert.model.symbols import free_parameters


def cancelled_parameters(mechanism: Any) -> tuple[str, ...]:
    """Return the sorted names of parameters that the parts of a mechanism contain, and its system does not."""
    parts = (mechanism.bodies, mechanism.joints, mechanism.forces)
    names = {symbol.name for symbol in free_parameters(_expressions(parts, set()))}
    return tuple(sorted(names - {*mechanism.system.parameter_names}))


def _expressions(value: Any, visited: set[int]) -> Iterator[Any]:
    """Yield the expressions in fields of parts, points and bodies, each once; not those of functions such as curves."""
    if isinstance(value, sp.MatrixBase):
        yield from value.flat()
    elif isinstance(value, sp.Expr):
        yield value
    elif isinstance(value, (tuple, list)):
        for own in value:  # pyright: ignore[reportUnknownVariableType]
            yield from _expressions(own, visited)
    elif is_dataclass(value) and not callable(value) and id(value) not in visited:
        visited.add(id(value))
        for own in fields(value):
            yield from _expressions(getattr(value, own.name), visited)
