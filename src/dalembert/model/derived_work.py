# SPDX-License-Identifier: BSD-3-Clause
"""Estimates of the work of deriving constraints, from the pattern of their derivatives: no derivative is made.

A constraint of a file is differentiated when the model is used. The estimate refuses one that would then take minutes.
It counts as ``gradient`` does: visits of distinct subexpressions, and some more for every derivative of one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef

from dalembert.model import graph
from dalembert.model.symbols import t
from dalembert.model.work_limit import FACTOR_WORK, FUNCTION_WORK, PRODUCT_WORK

Slopes = dict[int, int]
"""The variables a subexpression depends on, and for each the set of variables in its derivative, as bits."""


def work_of_constraint(expression: Any, most: int) -> int:
    """Return the work of two time derivatives of a constraint, or of one if it contains velocities.

    The estimate ends as soon as it exceeds ``most``.
    """
    variables = [node for node in graph.Graph([expression]).nodes if isinstance(node, (AppliedUndef, sp.Derivative))]
    order = 1 if any(isinstance(node, sp.Derivative) for node in variables) else 2
    total = 0
    for work in _works(expression, {node: k for k, node in enumerate([*variables, t])}, order):
        total += work
        if total > most:
            break
    return total


def _works(expression: Any, number: dict[Any, int], order: int) -> Iterator[int]:
    """Yield the work of the derivatives of each subexpression, the innermost first."""
    slopes: list[Slopes] = []
    for node, parts in graph.Graph([expression], stop=number):
        if node in number:
            slopes.append({number[node]: 0})
            continue
        inner = [slopes[part] for part in parts]
        own, first, second = _WORK_RULES.get(type(node), _of_function)(inner)
        slopes.append(own)
        yield first if order == 1 else first + second


def _of_sum(inner: Sequence[Slopes]) -> tuple[Slopes, int, int]:
    own: Slopes = {}
    second = 0
    for slopes in inner:
        for variable, within in slopes.items():
            own[variable] = own.get(variable, 0) | within
            second += within.bit_count()
    return own, sum(map(len, inner)), second


def _of_product(inner: Sequence[Slopes]) -> tuple[Slopes, int, int]:
    sets = [_bits(slopes) for slopes in inner]
    total, factors = sum(each.bit_count() for each in sets), len(inner)
    own: Slopes = {}
    second = 0
    for place, slopes in enumerate(inner):
        others = 0
        for k, each in enumerate(sets):
            others |= each * (k != place)
        for variable, within in slopes.items():
            own[variable] = own.get(variable, 0) | others | within
            second += PRODUCT_WORK * (others | within).bit_count() + FACTOR_WORK * factors * (
                total + within.bit_count()
            )
    return own, PRODUCT_WORK * len(own) + FACTOR_WORK * factors * total, second


def _of_function(inner: Sequence[Slopes]) -> tuple[Slopes, int, int]:
    """Return what a function or a power adds; its derivatives are products of outer and inner ones."""
    depends = 0
    for slopes in inner:
        depends |= _bits(slopes)
    own: Slopes = {}
    for slopes in inner:
        for variable in slopes:
            own[variable] = depends
    first = FUNCTION_WORK * len(own)
    return own, first, first + len(own) * (PRODUCT_WORK + 2 * FACTOR_WORK) * len(own)


def _bits(slopes: Slopes) -> int:
    found = 0
    for variable in slopes:
        found |= 1 << variable
    return found


_WORK_RULES = {sp.Add: _of_sum, sp.Mul: _of_product}
