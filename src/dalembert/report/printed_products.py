# SPDX-License-Identifier: BSD-3-Clause
"""Products as they are printed: sign, numerator and denominator, with factors in the order of physics texts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import sympy as sp

from dalembert.model import graph
from dalembert.report.name_typesetting import split_symbol, typeset

_PARAMETERS = ("mM", "IJ", "", "g", "lLℓrRdh")
"""Letters of parameters in the order of m g l: masses, moments of inertia, all others, gravity, lengths."""
_OTHERS = _PARAMETERS.index("")


class Product(NamedTuple):
    """A product as a sign and the factors above and below the fraction bar; without any, a side is 1."""

    negative: bool
    above: tuple[Any, ...]
    below: tuple[Any, ...]


def product_of(expression: Any) -> Product:
    """Return the factors of a product or a power: numbers, parameters, coordinates, functions, then velocities.

    >>> m, g, l = sp.symbols("m g l")
    >>> product_of(-sp.sin(m) * l * g * m / 2)
    Product(negative=True, above=(m, g, l, sin(m)), below=(2,))
    """
    above: list[Any] = []
    below: list[Any] = []
    negative = False
    for factor in sp.Mul.make_args(expression):
        if isinstance(factor, sp.Number) and factor.is_negative:
            negative, factor = not negative, -factor
        if isinstance(factor, sp.Rational):
            above += [sp.Integer(factor.p)] if factor.p != 1 else []
            below += [sp.Integer(factor.q)] if factor.q != 1 else []
        elif isinstance(factor, sp.Pow) and factor.exp.could_extract_minus_sign():
            below.append(sp.Pow(factor.base, -factor.exp))
        else:
            above.append(factor)
    return Product(negative, _ordered(above), _ordered(below))


def is_plain_function(expression: Any) -> bool:
    """Return whether a function is printed without brackets, as sin θ and sin² θ."""
    function = expression.base if isinstance(expression, sp.Pow) else expression
    if isinstance(expression, sp.Pow) and not (expression.exp.is_Integer and expression.exp > 1):
        return False
    return isinstance(function, (sp.sin, sp.cos, sp.tan)) and function.args[0].is_Symbol


def needs_space(before: Any, after: Any) -> bool:
    """Return whether two factors would run together: one is a name of several letters, such as mt in mt d."""
    return any(map(_is_word, (before, after))) and not before.is_number


def _is_word(factor: Any) -> bool:
    symbol = factor.base if isinstance(factor, sp.Pow) else factor
    return isinstance(symbol, sp.Symbol) and len(typeset(split_symbol(symbol)[0]).base) > 1


def _ordered(factors: Iterable[Any]) -> tuple[Any, ...]:
    # the sort is stable: factors of one rank stay in SymPy's order
    return tuple(sorted(factors, key=_rank))


def _rank(factor: Any) -> tuple[Any, ...]:
    base = factor.base if isinstance(factor, sp.Pow) else factor
    if base.is_number:
        return (0,)
    if base.is_Symbol:
        return _symbol_rank(base)
    moving = any(_dots(symbol) for symbol in graph.free_symbols(base))
    if isinstance(base, sp.Add):
        return (7,) if moving else (4,)
    return (8,) if moving else (5,)


def _symbol_rank(symbol: Any) -> tuple[Any, ...]:
    name, dots, family = split_symbol(symbol)
    if dots:
        return (6,)
    if family == "q":
        return (3,)
    found = typeset(name)
    if family:
        return (2, *found)
    letter = found.base[0]
    place = next((i for i, letters in enumerate(_PARAMETERS) if letter in letters), _OTHERS)
    return (1, place)


def _dots(symbol: Any) -> int:
    return split_symbol(symbol)[1]
