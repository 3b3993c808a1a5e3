# SPDX-License-Identifier: BSD-3-Clause
"""Decimal numbers as fractions during a derivation, and back to decimals in its results."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from math import ulp
from typing import Any

import sympy as sp

from dalembert.model import graph
from dalembert.report.length import is_long

MOST_STATED_DIGITS = 12
"""Digits of a decimal number within two roundings of which another is taken for it: nobody states more of them."""


def exact(e: Any) -> Any:
    """Replace decimal numbers by the fractions of their decimal representation, so that sums of them cancel exactly.

    Decimal exponents other than halves stay, because x^0.37 would become a polynomial of degree 37 in a root. Rounding
    errors of earlier sums are dropped: 0.1 + 0.2 becomes 3/10, so that it cancels with 0.3.
    """
    if isinstance(e, sp.MatrixBase):
        return e.applyfunc(exact)
    return graph.mapped(e, _exact, {}) if graph.has_kind(e, sp.Float) else e


def _exact(node: Any, parts: list[Any]) -> Any:
    if isinstance(node, sp.Float):
        return sp.Rational(_decimal_digits(float(node)))
    if isinstance(node, sp.Pow) and isinstance(node.exp, sp.Float):
        base, power = parts
        return sp.Pow(base, power if power.q <= 2 else node.exp)
    return node.func(*parts) if parts else node


def _decimal_digits(number: float) -> str:
    """Return the digits of a number, without its rounding error if it is next to a decimal of few digits."""
    rounded = f"{number:.{MOST_STATED_DIGITS}g}"
    return rounded if abs(float(rounded) - number) <= 2 * ulp(number) else repr(number)


def decimals_like(matrices: Iterable[Any]) -> Callable[[Any], Any]:
    """Return a function that converts a matrix to decimal numbers if some of the given matrices have them."""
    return _in_decimals if any(_has_decimals(matrix) for matrix in matrices) else lambda matrix: matrix


def _has_decimals(e: Any) -> bool:
    return any(map(_has_decimals, e.flat())) if isinstance(e, sp.MatrixBase) else graph.has_kind(e, sp.Float)


def _in_decimals(matrix: Any) -> Any:
    return matrix.applyfunc(lambda e: graph.mapped(e, _decimal_node, {}) if is_long(e) else _decimals(e))


def _decimal_node(node: Any, parts: list[Any]) -> Any:
    """Convert one subexpression of a long expression, whose sums are not rescaled."""
    if isinstance(node, sp.Rational):
        return _decimal(node)
    if isinstance(node, sp.Pow) and isinstance(node.exp, sp.Rational):
        return sp.Pow(parts[0], node.exp)
    return node.func(*parts) if parts else node


def _decimals(e: Any) -> Any:
    if isinstance(e, sp.Rational):
        return _decimal(e)
    if e.is_Atom:
        return e
    if isinstance(e, sp.Pow) and isinstance(e.exp, sp.Rational):
        return sp.Pow(_decimals(e.base), e.exp)
    if isinstance(e, sp.Mul):
        number, factors = e.as_coeff_mul()
        powers = [factor.as_base_exp() for factor in factors]
        for i, (base, power) in enumerate(powers):
            if isinstance(base, sp.Add) and power.is_Integer:
                number, powers[i] = _shared_tens(number, base, power)
        return sp.Mul(_decimal(number), *(_decimals(sp.Pow(base, power)) for base, power in powers))
    return e.func(*map(_decimals, e.args))


def _shared_tens(number: Any, total: Any, power: Any) -> tuple[Any, Any]:
    """Move powers of ten in number · total^power to leave few digits: 9.81 x + 2 y for 0.01 (981 x + 200 y)."""
    coefficients = [term.as_coeff_Mul()[0] for term in total.args]

    def digits(tens: int) -> int:
        ten = Fraction(10) ** tens
        moved = [outer * ten ** int(power), *(c / ten for c in inner)]
        return sum(len(f"{float(c):.15g}") for c in moved if c not in (1, -1))

    if not isinstance(number, sp.Rational) or not all(isinstance(c, sp.Rational) for c in coefficients):
        return number, (total, power)
    outer, *inner = (Fraction(int(c.p), int(c.q)) for c in (number, *coefficients))
    best = min(range(10), key=digits)
    ten = sp.Integer(10) ** best
    return number * ten**power, (sp.Add(*(term / ten for term in total.args)), power)


def _decimal(number: Any) -> Any:
    """Return a decimal number if it terminates; otherwise a fraction if that is short."""
    if not isinstance(number, sp.Rational):
        return number
    ends = 10**15 % number.q == 0
    short = abs(number.p) < 10**15 if number.q == 1 else not ends and max(abs(number.p), number.q) < 1000
    return number if short else sp.Float(number)
