# SPDX-License-Identifier: BSD-3-Clause
"""Gaussian elimination and the derived system of Pfaffian forms, for coefficients of any kind.

The same few lines serve power series about a point and exact rational functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, Protocol


class Coefficients(Protocol):
    """What elimination needs to know of its numbers; a coefficient that is plainly zero must be falsy.

    weight    how good a pivot a coefficient is; up to ``tiny``, it is zero
    add       left + factor · right, with an ordinary number as factor
    """

    zero: Any
    one: Any
    tiny: Any

    def weight(self, e: Any, /) -> Any: ...
    def add(self, left: Any, right: Any, factor: Any = 1, /) -> Any: ...
    def multiply(self, left: Any, right: Any, /) -> Any: ...
    def inverse(self, e: Any, /) -> Any: ...


Row = Sequence[Any]
Derivative = Callable[[Any, int], Any]


def echelon(numbers: Coefficients, rows: Sequence[Row]) -> tuple[list[list[Any]], list[int]]:
    """A basis of the row space that is the unit matrix in the pivot columns, and those columns."""
    left = [list(row) for row in rows]
    done: list[list[Any]] = []
    pivots: list[int] = []
    while left and left[0]:
        weight, i, j = max((numbers.weight(e), -i, -j) for i, row in enumerate(left) for j, e in enumerate(row))
        if weight <= numbers.tiny:
            break
        chosen, j = left.pop(-i), -j
        inverse = numbers.inverse(chosen[j])
        chosen = [numbers.multiply(inverse, e) if e else e for e in chosen]
        chosen[j] = numbers.one
        left, done = ([_cleared(numbers, row, chosen, j) for row in block] for block in (left, done))
        done.append(chosen)
        pivots.append(j)
    return done, pivots


def derived_system(
    numbers: Coefficients, rows: list[list[Any]], pivots: list[int], derivative: Derivative
) -> list[list[Any]]:
    """{ω in I : dω ≡ 0 mod I} for the system I with the echelon basis ωₐ = dzₐ + Σ B_af dz_f.

    With X_f = ∂_f − Σ B_af ∂ₐ, which the forms annihilate, dωₐ(X_f, X_g) = X_f B_ag − X_g B_af.
    """
    free = [f for f in range(len(rows[0])) if f not in pivots]

    def along(f: int, e: Any) -> Any:
        total = derivative(e, f)
        for row, pivot in zip(rows, pivots, strict=True):
            if row[f] and (slope := derivative(e, pivot)):
                total = numbers.add(total, numbers.multiply(row[f], slope), -1)
        return total

    torsion = [
        [numbers.add(along(f, row[g]), along(g, row[f]), -1) for row in rows]
        for f, g in combinations(free, 2)
        if any(row[f] or row[g] for row in rows)
    ]
    return [_combined(numbers, weights, rows) for weights in null_vectors(numbers, torsion, len(rows))]


def null_vectors(numbers: Coefficients, rows: Sequence[Row], size: int) -> list[list[Any]]:
    """A basis of the vectors of this size that every row annihilates."""
    reduced, pivots = echelon(numbers, rows)
    vectors: list[list[Any]] = []
    for j in (j for j in range(size) if j not in pivots):
        vector = [numbers.zero] * size
        vector[j] = numbers.one
        for row, pivot in zip(reduced, pivots, strict=True):
            vector[pivot] = numbers.add(numbers.zero, row[j], -1)
        vectors.append(vector)
    return vectors


def _cleared(numbers: Coefficients, row: list[Any], pivot_row: list[Any], column: int) -> list[Any]:
    factor = row[column]
    if not factor:
        return row
    cleared = [numbers.add(e, numbers.multiply(factor, p), -1) if p else e for e, p in zip(row, pivot_row, strict=True)]
    cleared[column] = numbers.zero
    return cleared


def _combined(numbers: Coefficients, weights: Row, rows: Sequence[Row]) -> list[Any]:
    total = [numbers.zero] * len(rows[0])
    for weight, row in zip(weights, rows, strict=True):
        if weight:
            total = [numbers.add(e, numbers.multiply(weight, r)) if r else e for e, r in zip(total, row, strict=True)]
    return total
