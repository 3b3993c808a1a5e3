# SPDX-License-Identifier: BSD-3-Clause
"""Length of expressions: which are too long to be simplified and printed, and how wide they are in print."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sympy as sp

from dalembert.model import graph
from dalembert.report.name_typesetting import positive_first, split_symbol, typeset
from dalembert.report.printed_products import is_plain_function, product_of

LONG_FORMULA = 20_000
"""Size, copies of repeated subexpressions included, above which an expression is neither simplified nor printed as it
is: a formula of that size fills pages."""

LINE = 72.0
"""Width of a printed line, in letters of a formula: that of an A4 page with margins of 2 cm."""

_SMALL = 0.7  # size of indices and exponents relative to letters
_SIGN = 2.2  # width of a binary operator with its spaces


def is_long(expression: Any) -> bool:
    """Return whether an expression is too long, or nested too deeply, to be simplified and printed as it is."""
    found = graph.facts(expression)
    return found.size > LONG_FORMULA or found.depth >= graph.LARGE_DEPTH


def printed_width(expression: Any) -> float:
    """Return an estimate of the width of a formula in print, in letters."""
    if isinstance(expression, sp.MatrixBase):
        columns = (max(map(printed_width, expression.col(j)), default=0.0) for j in range(expression.cols))
        return sum(width + 1.8 for width in columns)
    if isinstance(expression, sp.MatrixSymbol):
        return 1.3 + _SMALL * len(expression.name[1:])
    if isinstance(expression, (sp.Add, sp.MatAdd)):
        return sum(map(printed_width, expression.args)) + _SIGN * (len(expression.args) - 1)
    if isinstance(expression, (sp.Mul, sp.Pow)):
        return _product_width(expression)
    if isinstance(expression, sp.Symbol):
        return _symbol_width(expression)
    if isinstance(expression, sp.Float):
        return float(len(f"{float(expression):.15g}"))
    if isinstance(expression, sp.Rational):
        return float(max(len(str(expression.p)), len(str(expression.q))))
    if not expression.args:
        return float(len(str(expression)))
    inside = sum(map(printed_width, expression.args))
    if isinstance(expression, sp.MatrixExpr):
        return inside + _SMALL
    return inside + (2.2 if is_plain_function(expression) else len(type(expression).__name__) * 0.6 + 1.4)


def lines_of(expression: Any, width: float = LINE) -> list[list[Any]]:
    """Return the terms of a sum in lines of limited width; one line for everything else."""
    if not isinstance(expression, sp.Add) or printed_width(expression) <= width:
        return [[expression]]
    lines: list[list[Any]] = [[]]
    used = 0.0
    for term in positive_first(expression.as_ordered_terms()):
        needed = printed_width(term) + _SIGN
        if lines[-1] and used + needed > width:
            lines, used = [*lines, []], 0.0
        lines[-1].append(term)
        used += needed
    return lines


def widest_line(expression: Any, width: float) -> float:
    """Return an estimate of the width of an expression whose sums are broken into lines of a limited width."""
    return max(sum(map(printed_width, line)) + _SIGN * (len(line) - 1) for line in lines_of(expression, width))


def room_beside(labels: Iterable[str]) -> float:
    """Return the width of a line that is left beside the longest of some labels."""
    return LINE - 0.75 * max(map(len, labels), default=0)


def fits_on_one_line(left: Any, right: Any, width: float) -> bool:
    """Return whether both sides of an equation fit on one line."""
    return printed_width(left) + _SIGN + printed_width(right) <= width


def _product_width(expression: Any) -> float:
    if isinstance(expression, sp.Pow) and not expression.exp.could_extract_minus_sign():
        base = printed_width(expression.base)
        if expression.exp == sp.S.Half:
            return base + 1.2
        brackets = 0.0 if expression.base.is_Atom or expression.base.is_Function else 1.0
        return base + brackets + _SMALL * printed_width(expression.exp)
    negative, *sides = product_of(expression)
    above, below = (sum(_factor_width(f, single=len(side) == 1) for f in side) for side in sides)
    return max(above, below, 1.0) + (1.3 if negative else 0.0)


def _factor_width(factor: Any, *, single: bool) -> float:
    return printed_width(factor) + (1.0 if isinstance(factor, sp.Add) and not single else 0.15)


def _symbol_width(symbol: Any) -> float:
    name, _, family = split_symbol(symbol)
    found = typeset(name)
    letters = float(len(found.base)) + _SMALL * len(",".join(found.indices))
    return 1.0 + _SMALL * letters if family in ("lam", "Qi") else letters
