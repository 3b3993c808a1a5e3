# SPDX-License-Identifier: BSD-3-Clause
"""Functions of time with jumps or kinks, which only the straight-line path of the integrator locates beforehand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef

from dalembert.model import graph
from dalembert.model.symbols import t

KINKED_OR_JUMPING = (sp.Piecewise, sp.Heaviside, sp.sign, sp.Abs, sp.Max, sp.Min, sp.floor, sp.ceiling, sp.Mod)


def abrupt_functions_of_time(expressions: Iterable[Any]) -> list[str]:
    """Return the names of the functions with jumps or kinks whose arguments contain the time explicitly."""
    found = {
        f for e in expressions for f in graph.atoms(e, *KINKED_OR_JUMPING) if t in _without_coordinates(f).free_symbols
    }
    return sorted({type(f).__name__ for f in found})


def _without_coordinates(e: Any) -> Any:
    return e.replace(lambda node: isinstance(node, (AppliedUndef, sp.Derivative)), lambda node: sp.Dummy())
