# SPDX-License-Identifier: BSD-3-Clause
"""Sums and differences of angles: cos α cos β + sin α sin β = cos(α − β), where α − β is short or zero.

Coordinates of chains of bodies lead to such sums, with angles such as q₁ and q₁ + q₂, or θ₁ and θ₂.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import sympy as sp

from dalembert.model import graph

MOST_ANGLES = 8
"""Angles above which an expression is left unchanged: the number of their pairs grows with the square."""


def with_angle_differences(expression: Any) -> Any:
    """Return a sum without fractions, expanded, with products of sine and cosine joined; itself if there are none.

    >>> a, b, m = sp.symbols("a b m")
    >>> with_angle_differences(m * sp.cos(a) * sp.cos(a + b) + m * sp.sin(a) * sp.sin(a + b))
    m*cos(b)
    """
    if any(power.exp.could_extract_minus_sign() for power in graph.atoms(expression, sp.Pow)):
        return expression
    angles = sorted({f.args[0] for f in graph.atoms(expression, sp.sin, sp.cos)}, key=sp.default_sort_key)
    pairs = [pair for pair in combinations(angles, 2) if _difference(*pair) is not None]
    if not pairs or len(angles) > MOST_ANGLES:
        return expression
    pairs.sort(key=lambda pair: len(sp.Add.make_args(_difference(*pair))))
    terms: dict[Any, Any] = {}
    for term in sp.Add.make_args(sp.expand(expression)):
        number, rest = term.as_coeff_Mul()
        terms[rest] = terms.get(rest, sp.S.Zero) + number
    before = len(terms)
    for pair in (*((angle, angle) for angle in angles), *pairs):
        terms = _joined(terms, _rules(*pair))
    return sp.Add(*(number * rest for rest, number in terms.items())) if len(terms) < before else expression


def _difference(one: Any, other: Any) -> Any:
    """Return the difference of two angles, with a positive first term, if it is short.

    It is that of two coordinates, or simpler than the longer one of the angles.
    """
    found = one - other
    terms = len(sp.Add.make_args(found))
    if terms >= max(len(sp.Add.make_args(angle)) for angle in (one, other)) and not (one.is_Symbol and other.is_Symbol):
        return None
    return -found if found.could_extract_minus_sign() else found


def _joined(terms: dict[Any, Any], rules: tuple[tuple[Any, Any, int, Any], ...]) -> dict[Any, Any]:
    """Return a sum, given by the coefficients of its products, with the products of some rules joined."""
    found = dict(terms)
    for first, second, relation, result in rules:
        needed = first.as_powers_dict().items()
        for product in list(found):
            powers = product.as_powers_dict()
            if not all(powers.get(factor, 0) >= power for factor, power in needed):
                continue
            rest = product / first
            partner = rest * second
            if found.get(product) and found[product] == relation * found.get(partner, sp.S.Zero):
                number, factor = (found.pop(product) * rest * result).as_coeff_Mul()
                del found[partner]
                found[factor] = found.get(factor, sp.S.Zero) + number
    return found


def _rules(one: Any, other: Any) -> tuple[tuple[Any, Any, int, Any], ...]:
    """Return pairs of products of two angles with equal coefficients, or opposite ones, and what they come to."""
    if one == other:
        return ((sp.cos(one) ** 2, sp.sin(one) ** 2, 1, sp.S.One),)
    difference = _difference(one, other)
    sign = 1 if one - other == difference else -1
    return (
        (sp.cos(one) * sp.cos(other), sp.sin(one) * sp.sin(other), 1, sp.cos(difference)),
        (sp.sin(one) * sp.cos(other), sp.cos(one) * sp.sin(other), -1, sign * sp.sin(difference)),
    )
