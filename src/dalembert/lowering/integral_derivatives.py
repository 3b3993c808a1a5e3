# SPDX-License-Identifier: BSD-3-Clause
"""First integrals of a system in plain symbols, differentiated for code generation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy as sp

from dalembert.model import graph
from dalembert.model.differentiation import gradient
from dalembert.model.first_integrals import FirstIntegrals
from dalembert.model.symbols import StateSymbols


@dataclass(frozen=True)
class FirstIntegral:
    """A first integral I(q, q̇, t) in plain symbols.

    size                 the sum of the absolute values of its terms, to which its rounding error is proportional
    of_q, of_qd, of_t    its partial derivatives
    initial              the parameter that holds its initial value
    """

    value: Any
    size: Any
    of_q: tuple[Any, ...]
    of_qd: tuple[Any, ...]
    of_t: Any
    initial: sp.Symbol


def first_integrals(given: FirstIntegrals, symbols: StateSymbols) -> tuple[FirstIntegral, ...]:
    """Differentiate first integrals and return them in plain symbols."""
    found: list[FirstIntegral] = []
    for expression, name in zip(given.expressions, given.initial_values, strict=True):
        value, n = symbols.plain(expression), len(symbols.q)
        slopes = gradient(value, (*symbols.q, *symbols.qd, symbols.time))
        initial = sp.Symbol(name, real=True)
        found.append(FirstIntegral(value, _size(value), slopes[:n], slopes[n:-1], slopes[-1], initial))
    return tuple(found)


def _size(expression: Any) -> Any:
    """Return the sum of the absolute values of all terms of an expression; sums in products count as well."""
    if isinstance(expression, sp.Add):
        inner = abs if graph.is_large(expression) else _size
        return sp.Add(*map(inner, expression.args))
    if isinstance(expression, sp.Mul) and not graph.is_large(expression):
        return sp.Mul(*map(_size, expression.args))
    if isinstance(expression, sp.Pow) and expression.exp.is_Integer and expression.exp.is_positive:
        return _size(expression.base) ** expression.exp
    return sp.Abs(expression)
