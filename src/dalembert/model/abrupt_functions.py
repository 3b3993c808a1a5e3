# SPDX-License-Identifier: BSD-3-Clause
"""Functions of time with jumps or kinks, which only the straight-line path of the integrator locates beforehand."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef

from dalembert.model import graph
from dalembert.model.symbols import ConstraintSymbol, t

KINKED_OR_JUMPING = (sp.Piecewise, sp.Heaviside, sp.sign, sp.Abs, sp.Max, sp.Min, sp.floor, sp.ceiling, sp.Mod)
OF_THE_STATE = (AppliedUndef, ConstraintSymbol)
"""Coordinates, and reactions, which laws may contain."""


@lru_cache(maxsize=256)
def may_be_abrupt(constraints: tuple[Any, ...]) -> bool:
    """Return whether constraints contain functions with jumps or kinks."""
    return any(graph.atoms(c.expression, *KINKED_OR_JUMPING) for c in constraints)


def abrupt_functions_of_time(expressions: Iterable[Any]) -> list[str]:
    """Return the names of the functions with jumps or kinks whose arguments contain the time explicitly."""
    found = {
        f for e in expressions for f in graph.atoms(e, *KINKED_OR_JUMPING) if t in _without_coordinates(f).free_symbols
    }
    return sorted({type(f).__name__ for f in found})


def functions_abrupt_in_time_alone(expressions: Iterable[Any]) -> list[str]:
    """Return the names of the functions that jump or have a kink at times that do not depend on the state.

    >>> import dalembert as da
    >>> x, t = da.coordinates("x"), da.t
    >>> functions_abrupt_in_time_alone([sp.Abs(x - t), sp.Max(x, t)]), functions_abrupt_in_time_alone([x * sp.sign(t)])
    ([], ['sign'])
    """
    found = {f for e in expressions for f in graph.atoms(e, *KINKED_OR_JUMPING) if _changes_with_time(f)}
    return sorted({type(f).__name__ for f in found})


def _changes_with_time(f: Any) -> bool:
    if isinstance(f, sp.Piecewise):
        conditions: list[Any] = [branch.args[1] for branch in f.args]
        return any(_is_of_time(relation) for condition in conditions for relation in condition.atoms(sp.Rel))
    if isinstance(f, (sp.Max, sp.Min)):
        # a kink is where two of them are equal
        known = [e for e in f.args if not e.has(*OF_THE_STATE)]
        return len(known) > 1 and any(map(_is_of_time, known))
    return _is_of_time(f)


def _is_of_time(e: Any) -> bool:
    return e.has(t) and not e.has(*OF_THE_STATE)


def _without_coordinates(e: Any) -> Any:
    return e.replace(lambda node: isinstance(node, (AppliedUndef, sp.Derivative)), lambda node: sp.Dummy())
