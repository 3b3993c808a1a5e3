# SPDX-License-Identifier: BSD-3-Clause
"""Expressions of a sliding velocity: its length, and what vanishes at rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy as sp

from dalembert.errors import ModelError
from dalembert.model import graph
from dalembert.model.expressions import as_expressions

MOST_EVALUATED = 100
"""Operations up to which SymPy may simplify |v|. It asks for the sign of every part, and takes seconds for large v."""


def as_velocity(given: Any) -> tuple[Any, ...] | None:
    """Return the components of a sliding velocity as a tuple, from one expression or several; None unchanged."""
    if given is None:
        return None
    components = as_expressions(given if isinstance(given, (tuple, list, sp.MatrixBase)) else (given,), "`velocity`")
    if not components:
        raise ModelError([f"`velocity` must be an expression, or a sequence of them; got {given!r}."])
    return components


def squared(v: Sequence[Any]) -> Any:
    """Return |v|²."""
    return sp.Add(*(component**2 for component in v))


def length(v: Sequence[Any]) -> Any:
    """Return |v|, for products and quotients with v itself.

    The result is one where v vanishes: such a product is zero all the same, and the derivative of the root stays
    finite.
    """
    evaluate = graph.operations(*v) <= MOST_EVALUATED
    if len(v) == 1:
        return sp.Abs(v[0], evaluate=evaluate)
    return sp.Pow(squared(v) + at_rest(squared(v)), sp.S.Half, evaluate=evaluate)


def at_rest(speed_squared: Any) -> Any:
    """Return one where a speed vanishes, zero elsewhere."""
    return sp.Piecewise((0, speed_squared > 0), (1, True))


def while_moving(expression: Any) -> Any:
    """Return an expression in the form that holds while no speed in it vanishes."""
    rests = [p for p in graph.atoms(expression, sp.Piecewise) if p == at_rest(p.args[0].cond.lhs)]
    return graph.replace(expression, dict.fromkeys(rests, sp.S.Zero))
