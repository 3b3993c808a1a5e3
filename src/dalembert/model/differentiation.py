# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of expressions, including expressions with kinks and deeply nested ones.

Kinks are differentiated piecewise: d|x|/dx = sign x, and the derivative of a function with jumps (``sign``, ``floor``,
``Heaviside``) is zero, as it is everywhere except at the jump. SymPy's derivative contains a Dirac impulse there, which
has no numerical value; at a jump, the residual of the constraint is nonzero instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef, ArgumentIndexError
from sympy.functions.elementary.piecewise import ExprCondPair

from dalembert.model import graph
from dalembert.model.work_limit import FACTOR_WORK, FUNCTION_WORK, PRODUCT_WORK, count_work

JUMPS = (sp.sign, sp.Heaviside, sp.floor, sp.ceiling)


def derivative(expression: Any, variable: Any) -> Any:
    """Return ∂(expression)/∂(variable), piecewise if there are kinks."""
    return gradient(expression, (variable,))[0]


def gradient(expression: Any, variables: Sequence[Any]) -> tuple[Any, ...]:
    """Return partial derivatives; each distinct subexpression is differentiated once, the innermost first.

    Variables may be symbols, coordinates, or derivatives of coordinates, which do not depend on one another.
    """
    return _gradient(graph.IdentityKey(expression), tuple(variables))


@lru_cache(maxsize=1024)
def _gradient(key: graph.IdentityKey, variables: tuple[Any, ...]) -> tuple[Any, ...]:
    expression = key.expression
    slope_of = _slope_in_large if graph.is_large(expression) else _slope
    wanted = frozenset(variables)
    slopes: list[dict[Any, Any]] = []  # nonzero derivatives of each subexpression, by variable
    for node, parts in graph.Graph([expression], stop=wanted):
        if node in wanted:
            slopes.append({node: sp.S.One})
            continue
        inner = [slopes[part] for part in parts]
        if isinstance(node, sp.Add):
            count_work(sum(map(len, inner)))
            slopes.append(_sum_of_slopes(inner, large=slope_of is _slope_in_large))
            continue
        present = _present(node, inner)
        count_work(_work(node, inner, present))
        own = {v: slope_of(node, v, [each.get(v, sp.S.Zero) for each in inner]) for v in present}
        slopes.append({v: slope for v, slope in own.items() if slope != 0})
    return tuple(slopes[-1].get(v, sp.S.Zero) for v in variables)


def _sum_of_slopes(inner: list[dict[Any, Any]], *, large: bool) -> dict[Any, Any]:
    """Return the derivatives of a sum; a sum of many terms has few for each variable."""
    terms: dict[Any, list[Any]] = {}
    for each in inner:
        for variable, slope in each.items():
            terms.setdefault(variable, []).append(slope)
    sums = {variable: sp.Add(*own) for variable, own in terms.items()}
    return {variable: graph.unique(own) if large else own for variable, own in sums.items() if own != 0}


def _present(node: Any, inner: list[dict[Any, Any]]) -> list[Any]:
    """Return the variables that a node depends on; none for a condition or another object that is no expression."""
    differentiable = isinstance(node, (sp.Expr, ExprCondPair))
    return list(dict.fromkeys(v for each in inner for v in each)) if differentiable else []


def _work(node: Any, inner: list[dict[Any, Any]], variables: list[Any]) -> int:
    """Return the work of the derivatives of a node, in visits of subexpressions; a visit takes some 3 µs."""
    if isinstance(node, sp.Mul):  # a sum of products, one for every factor that depends on the variable
        return PRODUCT_WORK * len(variables) + FACTOR_WORK * len(inner) * sum(map(len, inner))
    return (FUNCTION_WORK if isinstance(node, sp.Pow) else 20) * len(variables)


def _slope_in_large(node: Any, variable: Any, inner: list[Any]) -> Any:
    """Return the derivative of a node of a large expression, evaluated with symbols in place of arguments and slopes.

    Products with the arguments themselves would be expanded, and SymPy would visit every copy of their parts.
    """
    if isinstance(node, (sp.Piecewise, ExprCondPair, AppliedUndef, sp.Derivative)):
        return graph.unique(_slope(node, variable, inner))
    meaning: dict[Any, Any] = {}
    slopes: dict[Any, Any] = {}
    arguments = list(node.args)
    for i, slope in enumerate(inner):
        if not (arguments[i].is_Atom and slope == 0):
            letter, slope_letter = _letter("a", i), slope if slope.is_Number else _letter("s", i)
            slopes[letter] = slope_letter
            meaning |= {letter: arguments[i], slope_letter: slope}
            arguments[i] = letter
    if not isinstance(node, tuple(_SLOPE_RULES)) and not _has_chain_rule(node):
        return graph.unique(_slope(node, variable, inner))
    simple = node.func(*arguments)
    if type(simple) is not type(node) or not set(slopes) <= set(simple.args):
        # SymPy gave the node another form, whose arguments have other derivatives
        return graph.unique(_slope(node, variable, inner))
    slope = _slope(simple, variable, [slopes.get(argument, sp.S.Zero) for argument in simple.args])
    return graph.mapped(slope, graph.rebuilt_unevaluated, meaning)


@cache
def _letter(kind: str, number: int) -> Any:
    """Return always the same symbol, so that the derivatives of equal expressions are the same objects."""
    return sp.Dummy(f"{kind}{number}", real=True)


def _slope(node: Any, variable: Any, inner: list[Any]) -> Any:
    """Return the derivative of a node, given those of its arguments."""
    if isinstance(node, JUMPS):
        return sp.S.Zero
    for kind, rule in _SLOPE_RULES.items():
        if isinstance(node, kind):
            return rule(node, inner)
    if isinstance(node, (AppliedUndef, sp.Derivative)) or not _has_chain_rule(node):
        return node.diff(variable)
    return sp.Add(*(_outer(node, i) * slope for i, slope in enumerate(inner, 1) if slope != 0))


def _has_chain_rule(node: Any) -> bool:
    return type(node)._eval_derivative is sp.Function._eval_derivative


def _outer(node: Any, place: int) -> Any:
    """Return the derivative of a function with respect to one of its arguments."""
    try:
        return node.fdiff(place)
    except ArgumentIndexError:
        return sp.Function.fdiff(node, place)


def _product(node: Any, inner: list[Any]) -> Any:
    terms = [sp.Mul(*node.args[:i], slope, *node.args[i + 1 :]) for i, slope in enumerate(inner) if slope != 0]
    return sp.Add(*terms)


def _power(node: Any, inner: list[Any]) -> Any:
    base, exponent = node.args
    # in SymPy's form, which combines powers of one base
    return node * (inner[1] * sp.log(base) + inner[0] * exponent / base)


def _extreme(node: Any, inner: list[Any]) -> Any:
    """Return the derivative of the argument that is the largest, or the smallest."""
    above = isinstance(node, sp.Max)
    pieces = [
        (slope, sp.And(*(part >= other if above else part <= other for other in node.args if other != part)))
        for part, slope in zip(node.args, inner, strict=True)
    ]
    return sp.Piecewise(*pieces[:-1], (pieces[-1][0], True))


def _modulus(node: Any, inner: list[Any]) -> Any:
    a, b = node.args
    return inner[0] - sp.floor(a / b) * inner[1]


_SLOPE_RULES: dict[Any, Callable[..., Any]] = {
    sp.Mul: _product,
    sp.Pow: _power,
    ExprCondPair: lambda node, inner: inner[0],
    sp.Piecewise: lambda node, inner: sp.Piecewise(
        *((slope, pair.cond) for pair, slope in zip(node.args, inner, strict=True))
    ),
    sp.Abs: lambda node, inner: sp.sign(node.args[0]) * inner[0],
    sp.frac: lambda node, inner: inner[0],
    sp.Mod: _modulus,
    sp.Max: _extreme,
    sp.Min: _extreme,
}
