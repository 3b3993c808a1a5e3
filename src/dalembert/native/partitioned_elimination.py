# SPDX-License-Identifier: BSD-3-Clause
"""Elimination in the independent coordinates of a partition: see ``coordinate_partitioning``.

With q̈ = T ÿ + s the equations M q̈ − Aᵀλ = f and A q̈ = e become

    TᵀMT ÿ − (A₂T)ᵀλ₂ = Tᵀ(f − M s),    A₂T ÿ = e₂ − A₂ s,

with the rows A₂ that are not solved for a coordinate. They are fewer, and simpler because squares of sines and cosines
add up: for two or three bodies they take half as many operations as sparse elimination of all unknowns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

from dalembert.equation import scalar_arithmetic as sl
from dalembert.native.coordinate_partitioning import Partition
from dalembert.native.elimination import Elimination, Solution, eliminate, sparse_order, uncertain
from dalembert.native.tape_polynomials import Polynomial, add, multiply


class PartitionedElimination:
    """Solves for the motion in the independent coordinates, with the interface of ``Elimination``.

    ``classes`` are those of the rows, as for ``sparse_order``.
    """

    def __init__(self, M: sl.Matrix, A: sl.Matrix, partition: Partition, classes: Sequence[int]):
        self.M, self.A, self.partition = M, A, partition
        self.polynomials, self.T = partition.polynomials, partition.transformation
        self.independent = [i for i in range(len(M)) if i not in self.T]
        self.inner = self._factor([classes[row.k] for row in partition.others])

    def _factor(self, classes: Sequence[int]) -> Elimination:
        record, own = self.polynomials.record, self.independent
        # sorted: an entry and its transpose are then one line of the tape
        masses = [[self._mass(*sorted((u, v))) for v in own] for u in own]
        rows = [[record(row.entries.get(u, {})) for u in own] for row in self.partition.others]
        return eliminate(masses, rows, sparse_order(_pattern(masses), _pattern(rows), classes, self._constant(masses)))

    def _constant(self, masses: sl.Matrix) -> set[int]:
        return {i for i, row in enumerate(masses) if self.polynomials.tape.is_constant(row[i])}

    def _mass(self, u: int, v: int) -> Any:
        """Record an entry of TᵀMT."""
        expand = self.polynomials.expand
        total = expand(self.M[u][v])
        for i, own in self.T.items():
            if u in own and v in own:
                total = add(total, multiply(expand(self.M[i][i]), multiply(own[u], own[v])))
        return self.polynomials.record(self.polynomials.add_squares(total))

    def solve(self, f: Sequence[Any], e: Sequence[Any], rows: int | None = None) -> Solution:
        """Return the motion under a force f with right side e of the rows, of all rows or only of the first ones.

        The first rows must include those of the partition.
        """
        part, m = self.partition, len(self.A)
        # right sides that are left out do not enter the others, so that zeros may stand for them
        right = part.reduce([*e, *[0] * (m - len(e))])
        others = sum(row.k < (m if rows is None else rows) for row in part.others)
        found = self.inner.solve(self._forces(f, right), [right[row.k] for row in part.others], others)
        # with the dependent ones zero, completing them gives T ÿ + s
        a: list[Any] = [0] * len(self.M)
        for u, value in zip(self.independent, found.acceleration, strict=True):
            a[u] = value
        part.complete(right, a)
        forces = [sl.sub(sl.mul(self.M[i][i], a[i]), f[i]) for i in part.dependent]
        return Solution(a, part.multipliers(forces, found.multipliers))

    def _forces(self, f: Sequence[Any], right: Sequence[Any]) -> list[Any]:
        """Record Tᵀ(f − M s)."""
        expand = self.polynomials.expand
        s: list[Any] = [0] * len(self.M)
        self.partition.complete(right, s)
        loads: dict[int, Polynomial] = {
            i: add(expand(f[i]), multiply(expand(self.M[i][i]), expand(s[i])), -1) for i in self.T
        }
        found = list[Any]()
        for u in self.independent:
            total = expand(f[u])
            for i, own in self.T.items():
                if u in own:
                    total = add(total, multiply(own[u], loads[i]))
            found.append(self.polynomials.record(self.polynomials.add_squares(total)))
        return found

    @cached_property
    def _unreduced(self) -> Elimination:
        """The factors of M, and the squared lengths of the other rows in the metric of M⁻¹."""
        rows = [self.A[row.k] for row in self.partition.others]
        expand, merged = self.polynomials.expand, self.polynomials.add_squares
        M = [[self.polynomials.record(merged(expand(entry))) for entry in row] for row in self.M]
        masses = sparse_order(_pattern(M), [], [], self._constant(M))
        return eliminate(M, rows, [*masses, *range(len(self.M), len(self.M) + len(rows))])

    def margins(self) -> list[tuple[Any, Any]]:
        """Return pairs of which the first must be the larger one for the elimination to be well conditioned.

        M must not be singular, as for elimination of all unknowns. What the rows of the partition leave of another row
        is compared with the length of the row as it was.
        """
        n, own, full = len(self.M), len(self.independent), self._unreduced
        limits = [*self.inner.smallest]
        for j, u in enumerate(self.inner.order):
            if u >= own:
                limits[j] = full.smallest[n + u - own]
        masses = zip(full.pivots[:n], full.smallest[:n], strict=True)
        inner = zip(self.inner.signed_pivots(), limits, strict=True)
        return uncertain(self._combined([*self.partition.margins(self.M), *masses, *inner]))

    def _combined(self, pairs: Iterable[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
        """Yield pairs of which the first must be the larger one, with equal terms of two bounded values combined.

        A difference of more than two terms would take operations of its own, beside those of the two values, which the
        elimination needs anyway.
        """
        polynomials = self.polynomials
        for larger, smaller in pairs:
            difference = polynomials.add_squares(add(polynomials.expand(larger), polynomials.expand(smaller), -1))
            if len(difference) > 2 or not polynomials.is_bounded(difference):
                yield larger, smaller
                continue
            positive = polynomials.record({product: c for product, c in difference.items() if c > 0})
            negative = polynomials.record({product: -c for product, c in difference.items() if c <= 0})
            yield (polynomials.least(positive) if sl.is_number(negative, 0) else positive), negative


def _pattern(matrix: sl.Matrix) -> list[set[int]]:
    return [{j for j, x in enumerate(row) if not sl.is_number(x, 0)} for row in matrix]
