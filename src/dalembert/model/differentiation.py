# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of expressions, those with kinks and those that are nested deeply among them.

A kink is differentiated piece by piece: d|x|/dx = sign x, and the derivative of a function with jumps (``sign``,
``floor``, ``Heaviside``) is zero, as it is everywhere but at the jump. SymPy's own derivative has an impulse there,
which no number can express; a motion that meets a jump finds it in the residual of its constraint.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import sympy as sp
from sympy.functions.elementary.piecewise import ExprCondPair

from dalembert.model.expressions import postorder

KINKS = (sp.Abs, sp.Max, sp.Min, sp.Mod, sp.frac)
JUMPS = (sp.sign, sp.Heaviside, sp.floor, sp.ceiling)

DEEP = 60
"""Nesting from which derivatives are taken part by part and left unexpanded: written out they grow as its square."""


def derivative(expression: Any, variable: Any) -> Any:
    """∂(expression)/∂(variable), piece by piece where there are kinks."""
    deep, smooth = depth_of(expression) >= DEEP, not expression.has(*KINKS, *JUMPS)
    if smooth and not deep:
        return expression.diff(variable)
    return _by_parts(expression, variable, _unexpanded if deep else sp.Mul)


@lru_cache(maxsize=4096)
def depth_of(expression: Any) -> int:
    """How deeply an expression is nested."""
    depth: dict[Any, int] = {}
    for node in postorder(expression):
        depth[node] = 1 + max((depth[part] for part in node.args), default=0)
    return depth[expression]


def _unexpanded(*factors: Any) -> Any:
    """A product whose factors stay as they are, so that they are shared and not copied."""
    if any(factor == 0 for factor in factors):
        return sp.S.Zero
    others = [factor for factor in factors if factor != 1]
    return sp.Mul(*others, evaluate=False) if len(others) > 1 else sp.Mul(*others)


def _by_parts(expression: Any, variable: Any, times: Callable[..., Any]) -> Any:
    """The chain rule, from the innermost parts outwards: every distinct part is differentiated once."""
    slopes: dict[Any, Any] = {}
    for node in postorder(expression):
        if not node.args or isinstance(node, sp.logic.boolalg.Boolean):
            slopes[node] = sp.S.One if node == variable else sp.S.Zero
        elif all(slopes[part] == 0 for part in node.args):
            slopes[node] = sp.S.Zero
        else:
            slopes[node] = _slope(node, [slopes[part] for part in node.args], times)
    return slopes[expression]


def _slope(node: Any, inner: list[Any], times: Callable[..., Any]) -> Any:
    """The derivative of a node from those of its arguments."""
    if isinstance(node, JUMPS):
        return sp.S.Zero
    for kind, rule in _RULES.items():
        if isinstance(node, kind):
            return rule(node, inner, times)
    pairs = [(node.fdiff(i), slope) for i, slope in enumerate(inner, 1) if slope != 0]
    return sp.Add(*(times(outer, slope) for outer, slope in pairs))


def _product(node: Any, inner: list[Any], times: Callable[..., Any]) -> Any:
    terms = [times(*node.args[:i], slope, *node.args[i + 1 :]) for i, slope in enumerate(inner) if slope != 0]
    return sp.Add(*terms)


def _power(node: Any, inner: list[Any], times: Callable[..., Any]) -> Any:
    base, exponent = node.args
    of_base = times(exponent, base ** (exponent - 1), inner[0])
    return of_base if inner[1] == 0 else sp.Add(of_base, times(node, sp.log(base), inner[1]))


def _extreme(node: Any, inner: list[Any], times: Callable[..., Any]) -> Any:
    """The derivative of the argument that is the largest, or the smallest."""
    above = isinstance(node, sp.Max)
    pieces = [
        (slope, sp.And(*(part >= other if above else part <= other for other in node.args if other != part)))
        for part, slope in zip(node.args, inner, strict=True)
    ]
    return sp.Piecewise(*pieces[:-1], (pieces[-1][0], True))


def _modulus(node: Any, inner: list[Any], times: Callable[..., Any]) -> Any:
    a, b = node.args
    return sp.Add(inner[0], times(-sp.floor(a / b), inner[1]))


_RULES: dict[Any, Callable[..., Any]] = {
    sp.Add: lambda node, inner, times: sp.Add(*inner),
    sp.Mul: _product,
    sp.Pow: _power,
    ExprCondPair: lambda node, inner, times: inner[0],
    sp.Piecewise: lambda node, inner, times: sp.Piecewise(
        *((slope, pair.cond) for pair, slope in zip(node.args, inner, strict=True))
    ),
    sp.Abs: lambda node, inner, times: times(sp.sign(node.args[0]), inner[0]),
    sp.frac: lambda node, inner, times: inner[0],
    sp.Mod: _modulus,
    sp.Max: _extreme,
    sp.Min: _extreme,
}
