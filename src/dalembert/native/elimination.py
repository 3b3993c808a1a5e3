# SPDX-License-Identifier: BSD-3-Clause
"""The constrained acceleration by elimination of the multipliers: A M⁻¹Aᵀ λ = b − A a, zeros known beforehand left out.

Half the digits of what orthogonal rows give near a singular configuration, and far less arithmetic where each
constraint touches few coordinates. So it serves where the rows are clearly independent, and says where they are not.

Notation: M = L D Lᵀ; c_k = L⁻¹A_kᵀ; S_jk = c_jᵀD⁻¹c_k; a scaled force is L⁻¹ times a force.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dalembert.equation import straight_line as sl

CLEARLY_INDEPENDENT = 1e-4
"""Least part of S_kk that must be left of row k after the rows before it are eliminated: then λ has lost no more than
four of its sixteen digits."""

CLEARLY_DEPENDENT = 1e-10
"""Most that may be left of a row that was left out as dependent; rounding leaves less."""

CLEARLY_POSITIVE = 1e-12
"""The same for the pivots of the mass matrix."""


@dataclass(frozen=True)
class Elimination:
    """Rows (c_k) in the order of elimination, and S factored in that order."""

    mass: sl.Mass
    rows: sl.Matrix
    S: sl.Matrix
    factored: sl.Mass

    def multipliers(self, miss: sl.Vector) -> sl.Vector:
        """λ with S λ = miss, for as many leading rows as there are numbers in ``miss``."""
        k = len(miss)
        leading = sl.Mass(self.factored.lower[:k], self.factored.pivots[:k], self.factored.reciprocals[:k])
        return leading.backward(leading.forward(miss))

    def push(self, multipliers: sl.Vector) -> sl.Vector:
        """The scaled force Σ λ_k c_k."""
        total: sl.Vector = [0] * len(self.mass.pivots)
        for c, factor in zip(self.rows, multipliers, strict=False):
            total = sl.plus(total, c, factor)
        return total

    def meet(self, start: sl.Vector, target: sl.Vector) -> sl.Vector:
        """λ such that start + Σ λ_k c_k gives the leading rows their target."""
        return self.multipliers([sl.sub(b, self.mass.inner(c, start)) for c, b in zip(self.rows, target, strict=False)])

    def left_of(self, row: sl.Vector) -> tuple[Any, Any]:
        """⟨r, r⟩ of what a further row has beyond those eliminated, and ⟨c, c⟩ of all of it."""
        c = self.mass.forward(row)
        shared = [self.mass.inner(own, c) for own in self.rows]
        whole = self.mass.inner(c, c)
        return sl.sub(whole, sl.dot(shared, self.multipliers(shared))), whole

    def margins(self, M: sl.Matrix) -> list[tuple[Any, Any]]:
        """Pairs of which the first must be the larger one wherever this elimination may be trusted."""
        mass = [(d, sl.mul(CLEARLY_POSITIVE, M[i][i])) for i, d in enumerate(self.mass.pivots)]
        rows = [(s, sl.mul(CLEARLY_INDEPENDENT, self.S[k][k])) for k, s in enumerate(self.factored.pivots)]
        return [
            pair for pair in mass + rows if not all(isinstance(x, (int, float)) for x in pair) or pair[0] <= pair[1]
        ]


def eliminate(M: sl.Matrix, A: sl.Matrix) -> Elimination:
    """Factor M and S for rows in the order given."""
    mass = sl.factor(M)
    rows = [mass.forward(row) for row in A]
    scaled = [sl.times(c, mass.reciprocals) for c in rows]
    S = [[sl.dot(scaled[min(j, k)], rows[max(j, k)]) for k in range(len(rows))] for j in range(len(rows))]
    return Elimination(mass, rows, S, sl.factor(S))


def sparse_order(touched: Sequence[set[int]], classes: Sequence[int]) -> list[int]:
    """An order of elimination that makes few new entries: of the lowest class left, the row with fewest neighbours.

    ``touched`` holds for each row the coordinates it acts on; rows that share one are neighbours, and all neighbours
    of an eliminated row become neighbours of one another.
    """
    rows = range(len(touched))
    neighbours = {k: {j for j in rows if j != k and touched[j] & touched[k]} for k in rows}
    order: list[int] = []
    while neighbours:
        k = min(neighbours, key=lambda k: (classes[k], len(neighbours[k]), k))
        around = neighbours.pop(k)
        for j in around:
            neighbours[j] = (neighbours[j] | around) - {j, k}
        order.append(k)
    return order
