# SPDX-License-Identifier: BSD-3-Clause
"""Gaussian elimination and the derived system of Pfaffian forms, for coefficients of any kind.

The coefficients are power series about a point, exact rational functions, or rational ring.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, Protocol


class Coefficients(Protocol):
    """Arithmetic of the coefficients. A coefficient that is exactly zero must be falsy.

    weight    weight of a coefficient as a pivot; up to ``tiny``, the coefficient is zero
    add       left + factor · right, where the factor is an ordinary number
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


def echelon(ring: Coefficients, rows: Sequence[Row]) -> tuple[list[list[Any]], list[int]]:
    """Return the reduced row echelon form, without zero rows, and its pivot columns.

    Complete pivoting is used, because the rank decides the result.
    """
    remaining = [list(row) for row in rows]
    done: list[list[Any]] = []
    pivots: list[int] = []
    while remaining and remaining[0]:
        # ties go to the first row and column, so that the result does not depend on anything but the order of input
        weight, i, j = max((ring.weight(e), -i, -j) for i, row in enumerate(remaining) for j, e in enumerate(row))
        if weight <= ring.tiny:
            break
        chosen, j = remaining.pop(-i), -j
        inverse = ring.inverse(chosen[j])
        chosen = [ring.multiply(inverse, e) if e else e for e in chosen]
        # set exactly: for series, multiplication by the inverse leaves rounding errors
        chosen[j] = ring.one
        remaining, done = ([_cleared(ring, row, chosen, j) for row in block] for block in (remaining, done))
        done.append(chosen)
        pivots.append(j)
    return done, pivots


def derived_system(
    ring: Coefficients, rows: list[list[Any]], pivots: list[int], derivative: Derivative
) -> list[list[Any]]:
    """Return {ω in I : dω ≡ 0 mod I} for the system I with the echelon basis ωₐ = dzₐ + Σ B_af dz_f.

    With X_f = ∂_f − Σ B_af ∂ₐ, which the forms annihilate, dωₐ(X_f, X_g) = X_f B_ag − X_g B_af.
    """
    free = [f for f in range(len(rows[0])) if f not in pivots]

    def along(f: int, e: Any) -> Any:
        total = derivative(e, f)
        for row, pivot in zip(rows, pivots, strict=True):
            # skip zero products, since multiplication of series is the expensive operation
            if row[f] and (slope := derivative(e, pivot)):
                total = ring.add(total, ring.multiply(row[f], slope), -1)
        return total

    torsion = [
        [ring.add(along(f, row[g]), along(g, row[f]), -1) for row in rows]
        for f, g in combinations(free, 2)
        if any(row[f] or row[g] for row in rows)
    ]
    return [_combined(ring, weights, rows) for weights in null_vectors(ring, torsion, len(rows))]


def null_vectors(ring: Coefficients, rows: Sequence[Row], size: int) -> list[list[Any]]:
    """Return a basis of the vectors of the given size that every row annihilates."""
    reduced, pivots = echelon(ring, rows)
    vectors: list[list[Any]] = []
    for j in (j for j in range(size) if j not in pivots):
        vector = [ring.zero] * size
        vector[j] = ring.one
        for row, pivot in zip(reduced, pivots, strict=True):
            vector[pivot] = ring.add(ring.zero, row[j], -1)
        vectors.append(vector)
    return vectors


def _cleared(ring: Coefficients, row: list[Any], pivot_row: list[Any], column: int) -> list[Any]:
    factor = row[column]
    if not factor:
        return row
    cleared = [ring.add(e, ring.multiply(factor, p), -1) if p else e for e, p in zip(row, pivot_row, strict=True)]
    # set exactly, so that rounding errors are never taken as pivots
    cleared[column] = ring.zero
    return cleared


def _combined(ring: Coefficients, weights: Row, rows: Sequence[Row]) -> list[Any]:
    total = [ring.zero] * len(rows[0])
    for weight, row in zip(weights, rows, strict=True):
        if weight:
            total = [ring.add(e, ring.multiply(weight, r)) if r else e for e, r in zip(total, row, strict=True)]
    return total
