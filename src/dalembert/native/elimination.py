# SPDX-License-Identifier: BSD-3-Clause
"""Sparse elimination for the constrained motion: M q̈ − Aᵀλ = f and A q̈ = e are solved together, without zeros.

Near a singular configuration elimination keeps half as many digits as orthogonalised rows, but it needs much less
arithmetic when each constraint involves few coordinates. It is therefore used where the rows are clearly independent,
and its pivots show where they are not.

Each multiplier is eliminated after all coordinates of its row. Then coordinates have positive pivots and multipliers
negative ones, and no pivot can vanish unless M is singular or the rows are dependent; the order is otherwise free.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.equation import scalar_arithmetic as sl
from dalembert.native.tape import Tape, Value
from dalembert.numerics.tolerances import CLEARLY_INDEPENDENT, DEPENDENT_PIVOT, SINGULAR_MASS

CLEARLY_POSITIVE = 100 * SINGULAR_MASS
"""Least fraction of a diagonal entry of M that must be left in its pivot. No pivot is smaller than the smallest
eigenvalue of M scaled to a unit diagonal, and that eigenvalue is not much smaller than the smallest pivot. A matrix
that passes is therefore not singular by the rule of ``mass``; one that fails is judged by that rule itself."""

Pattern = Sequence[set[int]]

LARGEST_SHARE_RATIO = 1e7
"""Ratio of the shares of two coordinates in a row's pivot above which the solution is refined: half of the sixteen
digits would be lost. See ``needs_refinement``."""

ZERO_ENTRY = 1e-10
"""Entries below this fraction of a row's largest one are rounding of zero."""


def needs_refinement(masses: Floats, A: Floats) -> bool:
    """Return whether rows A (m, n) couple light and heavy coordinates, by their masses (n,), so that digits are lost.

    The force on a light coordinate nearly balances that of the constraint, and its acceleration is the small difference
    divided by its mass. The share Aᵢ²/Mᵢᵢ of a coordinate in the pivot of its row measures this in any units.
    """
    with np.errstate(all="ignore"):
        shares = A * A / masses
        present = shares[A != 0]
        # every run asks, and of most systems even the shares in different rows are near enough
        if present.size and shares.max() <= LARGEST_SHARE_RATIO * present.min():
            return False
        sizes = np.abs(A)
        touched = sizes > ZERO_ENTRY * sizes.max(axis=1, initial=0.0, keepdims=True)
        largest = np.where(touched, shares, 0.0).max(axis=1, initial=0.0)
        return bool(
            (largest > LARGEST_SHARE_RATIO * np.where(touched, shares, np.inf).min(axis=1, initial=np.inf)).any()
        )


class Solution(NamedTuple):
    """The acceleration q̈ and the multipliers λ, in the order of the rows."""

    acceleration: list[Any]
    multipliers: list[Any]


@dataclass(frozen=True)
class Elimination:
    """The factorisation P (M −Aᵀ; −A 0) Pᵀ = L D Lᵀ, where unknown i is coordinate i and unknown n + k multiplier k.

    order                   the unknowns in the order of elimination
    columns                 for each step the entries of its column of L below the diagonal, by step
    pivots, reciprocals     D and its inverse
    smallest                for each step the least absolute value of a well conditioned pivot
    """

    n: int
    order: list[int]
    columns: list[dict[int, Any]]
    pivots: list[Any]
    reciprocals: list[Any]
    smallest: list[Any]

    def solve(self, f: Sequence[Any], e: Sequence[Any], rows: int | None = None) -> Solution:
        """Return the motion under a force f with right side e of the rows, of all rows or only of the first ones."""
        steps = len(self.order) if rows is None else self.n + rows
        x = [f[u] if u < self.n else sl.sub(0, e[u - self.n]) for u in self.order[:steps]]
        for j in range(steps):
            for i, entry in self.columns[j].items():
                if i < steps:
                    x[i] = _subtract(x[i], sl.mul(entry, x[j]))
        # forward substitution is done: divide by D, then substitute backwards with Lᵀ
        for j in reversed(range(steps)):
            x[j] = sl.mul(x[j], self.reciprocals[j])
            for i, entry in self.columns[j].items():
                if i < steps:
                    x[j] = sl.sub(x[j], sl.mul(entry, x[i]))
        found = dict(zip(self.order, x, strict=False))
        return Solution(
            [found[i] for i in range(self.n)], [found.get(self.n + k, 0) for k in range(len(self.order) - self.n)]
        )

    def margins(self) -> list[tuple[Any, Any]]:
        """Return pairs of which the first must be the larger one for the elimination to be well conditioned."""
        return uncertain(zip(self.signed_pivots(), self.smallest, strict=True))

    def signed_pivots(self) -> list[Any]:
        """Return the pivots with the sign that makes them positive for a positive M and independent rows."""
        return [pivot if u < self.n else sl.sub(0, pivot) for u, pivot in zip(self.order, self.pivots, strict=True)]


def uncertain(pairs: Iterable[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Return the pairs of which it is not known before the program runs that the first one is larger."""
    return [pair for pair in pairs if not (all(isinstance(x, (int, float)) for x in pair) and pair[0] > pair[1])]


def eliminate(M: sl.Matrix, A: sl.Matrix, order: Sequence[int], tolerant: Tape | None = None) -> Elimination:
    """Factor the equations of motion and constraint together, in an order from ``sparse_order``.

    With a tape given as ``tolerant``, rows that depend on earlier ones are left out where that is the case.
    """
    n = len(M)
    place = {u: j for j, u in enumerate(order)}
    columns: list[dict[int, Any]] = [{} for _ in order]
    pivots: list[Any] = [M[u][u] if u < n else 0 for u in order]
    reciprocals: list[Any] = []
    gained: list[Any] = [0] * len(order)  # A M⁻¹ Aᵀ of a multiplier's row, before other rows are eliminated from it
    # only the lower triangle is stored: by the earlier unknown of each pair
    for u, v, entry in _entries(M, A):
        early, late = sorted((place[u], place[v]))
        columns[early][late] = entry
    for j, u in enumerate(order):
        column = columns[j]
        reciprocals.append(sl.reciprocal(pivots[j]))
        if tolerant is not None and u >= n:
            dependent = tolerant.record("<=", sl.sub(0, pivots[j]), sl.mul(DEPENDENT_PIVOT, gained[j]))
            reciprocals[j] = tolerant.record("select", dependent, 0.0, reciprocals[j])
        scaled = {i: sl.mul(entry, reciprocals[j]) for i, entry in column.items()}
        for i, entry in column.items():
            change = sl.mul(scaled[i], entry)
            pivots[i] = sl.sub(pivots[i], change)
            if u < n:
                gained[i] = sl.add(gained[i], change)
            for k in (k for k in column if k > i):
                columns[i][k] = sl.sub(columns[i].get(k, 0), sl.mul(scaled[i], column[k]))
        columns[j] = scaled
    # `gained` is a row's squared length in the metric of M⁻¹; its pivot keeps the part that earlier rows do not span
    smallest = [
        sl.mul(CLEARLY_POSITIVE, M[u][u]) if u < n else sl.mul(CLEARLY_INDEPENDENT, gained[j])
        for j, u in enumerate(order)
    ]
    return Elimination(n, list(order), columns, pivots, reciprocals, smallest)


def _subtract(a: Any, b: Any) -> Any:
    """Return a − b. Forces on neighbouring bodies, such as their weights, cancel in the row that couples the bodies."""
    return a.tape.subtract(a, b) if isinstance(a, Value) and isinstance(b, Value) else sl.sub(a, b)


def _entries(M: sl.Matrix, A: sl.Matrix) -> list[tuple[int, int, Any]]:
    """Return the entries off the diagonal, once each, with the two unknowns they couple."""
    n = len(M)
    mass = [(i, j, M[i][j]) for i in range(n) for j in range(i)]
    rows = [(n + k, i, sl.sub(0, entry)) for k, row in enumerate(A) for i, entry in enumerate(row)]
    return [(u, v, entry) for u, v, entry in mass + rows if not sl.is_number(entry, 0)]


def sparse_order(
    masses: Pattern, rows: Pattern, classes: Sequence[int], constant: Collection[int] = frozenset()
) -> list[int]:
    """Return an order of elimination with little fill-in: the minimum-degree order among the admissible unknowns.

    masses     for each coordinate the others that M couples it with
    rows       for each constraint its coordinates, after which its multiplier is eliminated
    classes    for each constraint its class; those of class 0 are eliminated once their coordinates are, those of later
               classes after all earlier unknowns
    constant   coordinates whose diagonal entry in M is constant. Of equal degrees they are eliminated first: division
               by their pivots is no part of a step.
    """
    n = len(masses)
    neighbours = {i: set(own) - {i} for i, own in enumerate(masses)}
    for k, touched in enumerate(rows):
        neighbours[n + k] = set(touched)
        for i in touched:
            neighbours[i].add(n + k)
    # rows of a later class come last, so that a leading part of the factors solves for the earlier classes alone
    waits_for: Mapping[int, set[int]] = {
        n + k: set(rows[k]) if own == 0 else {*range(n), *(n + j for j, other in enumerate(classes) if other < own)}
        for k, own in enumerate(classes)
    }
    order: list[int] = []
    gone: set[int] = set()
    while neighbours:
        free = [u for u in neighbours if u < n or waits_for[u] <= gone]
        u = min(free, key=lambda u: (len(neighbours[u]), u not in constant, u))
        around = neighbours.pop(u)
        for v in around:
            neighbours[v] = (neighbours[v] | around) - {u, v}
        order.append(u)
        gone.add(u)
    return order
