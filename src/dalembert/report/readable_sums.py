# SPDX-License-Identifier: BSD-3-Clause
"""Sums as a person writes them: (x − y)² rather than x² − 2xy + y², and terms with a common function collected."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from itertools import combinations
from typing import Any

import sympy as sp

from dalembert.model import graph
from dalembert.report.length import printed_width

LARGEST_READABLE = 3_000
"""Size above which an expression is printed as it is."""

MOST_SUM_TERMS = 60
"""Terms above which a sum is printed as it is."""


@lru_cache(maxsize=4096)
def readable(expression: Any) -> Any:
    """Return an equal expression with shorter sums.

    >>> x, y, q = sp.symbols("x y q")
    >>> readable(2 * x**2 - 4 * x * y + 2 * y**2 + 1)
    2*(x - y)**2 + 1
    >>> readable(x * sp.sin(q) + y * sp.sin(q) + 1)
    (x + y)*sin(q) + 1
    """
    if expression.is_Atom or graph.facts(expression).size > LARGEST_READABLE:
        return expression
    return graph.mapped(expression, _shorter, {})


def _shorter(node: Any, parts: list[Any]) -> Any:
    if not isinstance(node, sp.Add):
        return node if all(a is b for a, b in zip(node.args, parts, strict=True)) else node.func(*parts)
    total = sp.Add(*parts)
    if not isinstance(total, sp.Add) or not 2 < len(total.args) <= MOST_SUM_TERMS:
        return total
    found = _collected(_with_squares(total))
    return min((total, found), key=printed_width)


def _with_squares(total: Any) -> Any:
    """Return a sum with c u² ± 2c u v + c v² written as c (u ± v)², and likewise for more than two parts."""
    terms = dict(_coefficients(total))
    roots = {root: terms[term] for term in terms if (root := _root(term)) is not None}
    squares: list[Any] = []
    while roots:
        first, number = next(iter(roots.items()))
        members = _square_members(first, number, roots, terms)
        for root in members:
            del roots[root]
        if len(members) > 1:
            squares.append(number * sp.Add(*(sign * root for root, sign in members.items())) ** 2)
            for root in members:
                del terms[root**2]
            for one, other in combinations(members, 2):
                del terms[one * other]
    return sp.Add(*squares, *(number * term for term, number in terms.items())) if squares else total


def _square_members(first: Any, number: Any, roots: dict[Any, Any], terms: dict[Any, Any]) -> dict[Any, Any]:
    """Return parts of a square, with their signs: the first one, and all that go with it and with one another."""
    members: dict[Any, Any] = {first: sp.S.One}
    for root, own in roots.items():
        if root == first or not _equal(own, number):
            continue
        sign = 1 if _equal(terms.get(first * root, sp.S.Zero), 2 * number) else -1
        if all(_equal(terms.get(root * m, 0), 2 * number * sign * other) for m, other in members.items()):
            members[root] = sign
    return members


def _equal(one: Any, other: Any) -> bool:
    # SymPy's equality distinguishes decimal numbers from fractions
    return bool((one - other).is_zero)


def _coefficients(total: Any) -> list[tuple[Any, Any]]:
    return [(rest, number) for number, rest in (term.as_coeff_Mul() for term in total.args)]


def _root(product: Any) -> Any:
    """Return the product of which another is the square, or None."""
    powers = product.as_powers_dict()
    if not all(power.is_Integer and power > 0 and power % 2 == 0 for power in powers.values()):
        return None
    return sp.Mul(*(base ** (power / 2) for base, power in powers.items()))


def _collected(total: Any) -> Any:
    """Return a sum with the terms that share a function collected, one function after the other."""
    rest, collected = list(total.args), list[Any]()
    while (function := _most_common(rest)) is not None:
        having = [term for term in rest if function in _factors(term)]
        rest = [term for term in rest if function not in _factors(term)]
        inside = sp.factor_terms(sp.Add(*(term / function for term in having)))
        collected.append(inside * function)
    return sp.Add(*collected, *rest) if collected else total


def _most_common(terms: list[Any]) -> Any:
    count = Counter(f for term in terms for f in _factors(term) if isinstance(f, sp.Function))
    shared = {function: number for function, number in count.items() if number > 1}
    return max(shared, key=lambda f: (shared[f], str(f)), default=None)


def _factors(term: Any) -> set[Any]:
    return {factor for factor in sp.Mul.make_args(term) if not isinstance(factor, sp.Pow)}
