# SPDX-License-Identifier: BSD-3-Clause
"""Partitioning of the coordinates: constraints give the accelerations of dependent coordinates by independent ones.

In the rows of pins between bodies, or of rolling, some coordinate has a constant coefficient. Such a row gives its
acceleration without a division: q̈ = T ÿ + s, where y are the independent coordinates, T consists of products of sines
and cosines, and s is the acceleration for ÿ = 0. See Wehage and Haug, J. Mech. Design 104 (1982) 247–255, where the
partition changes along the motion; here it is fixed, because such a row can always be solved for its coordinate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, NamedTuple

from dalembert.equation import scalar_arithmetic as sl
from dalembert.native.elimination import LARGEST_SHARE_RATIO
from dalembert.native.tape_polynomials import Polynomial, TapePolynomials, add, multiply

Row = dict[int, Polynomial]
"""The coefficients of a row by coordinate, without zeros."""

LONGEST_ROW = 12
"""Most coordinates of a row that is solved for one of them. The work in the independent coordinates grows with the cube
of their number, and sparse elimination needs less for longer chains of bodies."""

LEAST_SHARE = 1 / LARGEST_SHARE_RATIO
"""Least share aᵢ²/Mᵢᵢ of the coordinate for which a row is solved, relative to those of the other coordinates, and to
those in the row as stated: a row that earlier ones nearly span is left to the search for independent rows."""


class ReducedRow(NamedTuple):
    """Row k of A less multiples of earlier rows that were solved for a coordinate.

    entries     its coefficients; those of the coordinates of earlier rows are zero
    multiples   the factors of the earlier rows that were subtracted, by their number
    stated      the coefficients before
    """

    k: int
    entries: Row
    multiples: dict[int, Polynomial]
    stated: Row

    @property
    def is_reduced(self) -> bool:
        return bool(self.multiples)


@dataclass(frozen=True)
class Partition:
    """Rows that are solved for a coordinate: row s of ``rows`` for ``dependent[s]``, but none of ``others``.

    A row of ``rows`` may contain dependent coordinates of later rows, but none of earlier ones.
    """

    polynomials: TapePolynomials
    rows: list[ReducedRow]
    dependent: list[int]
    others: list[ReducedRow]

    def pivot(self, s: int) -> float:
        """Return the coefficient of the coordinate for which row s is solved."""
        return self.rows[s].entries[self.dependent[s]][()]

    def margins(self, M: sl.Matrix) -> list[tuple[Any, Any]]:
        """Return pairs of which the first must be the larger one, so that no coordinate is solved from a small share.

        The entries of T would be large, and digits lost where they are squared, or where multiples of earlier rows are
        subtracted. Sizes are bounds over all angles.
        """
        found = list[tuple[Any, Any]]()
        for s, i in enumerate(self.dependent):
            row = self.rows[s]
            others = [(j, entry) for j, entry in row.entries.items() if j != i]
            others += row.stated.items() if row.is_reduced else ()
            sizes = [(j, self.polynomials.bound(entry)) for j, entry in others]
            # divisions by masses that change with the state would be as long as the solution itself
            total = reduce(sl.add, (size * size / self.polynomials.least(M[j][j]) for j, size in sizes), 0)
            found.append((self.pivot(s) ** 2, sl.mul(LEAST_SHARE, sl.mul(M[i][i], total))))
        return found

    @cached_property
    def transformation(self) -> dict[int, Row]:
        """T: for each dependent coordinate its coefficients by independent ones."""
        found: dict[int, Row] = {}
        # the last row contains no dependent coordinate but its own; each earlier one only those of later rows
        for s in reversed(range(len(self.rows))):
            i, own = self.dependent[s], dict[int, Polynomial]()
            for j, entry in self.rows[s].entries.items():
                coefficient = add({}, entry, -1 / self.pivot(s))
                for u, factor in ({} if j == i else found.get(j, {j: {(): 1}})).items():
                    own[u] = self.polynomials.add_squares(add(own.get(u, {}), multiply(coefficient, factor)))
            found[i] = {u: entry for u, entry in own.items() if entry}
        return found

    def reduce(self, e: Sequence[Any]) -> list[Any]:
        """Return right sides of the reduced rows, by the number of the row."""
        found = list(e)
        for row in (*self.rows, *self.others):
            for s, factor in row.multiples.items():
                k = self.rows[s].k
                found[row.k] = sl.sub(found[row.k], sl.mul(self.polynomials.record(factor), found[k]))
        return found

    def complete(self, right: Sequence[Any], a: list[Any]) -> None:
        """Compute the accelerations of the dependent coordinates from those of the independent ones, in place.

        ``right`` are right sides from ``reduce``.
        """
        for s in reversed(range(len(self.rows))):
            row, i = self.rows[s], self.dependent[s]
            # from the last row on, so that its other coordinates are known already
            total = right[row.k]
            for j, entry in row.entries.items():
                if j != i:
                    total = sl.sub(total, sl.mul(self.polynomials.record(entry), a[j]))
            a[i] = sl.mul(total, 1 / self.pivot(s))

    def multipliers(self, forces: Sequence[Any], others: Sequence[Any]) -> list[Any]:
        """Return all multipliers, by the number of the row.

        ``forces`` are the constraint forces M q̈ − f on the dependent coordinates, in their order, and ``others`` the
        multipliers of the other rows.
        """
        record = self.polynomials.record
        reduced = list[Any]()  # multipliers of the reduced rows
        for s, i in enumerate(self.dependent):
            # forward substitution: the coordinate of a row occurs in no later row
            total = forces[s]
            for t in range(s):
                total = sl.sub(total, sl.mul(record(self.rows[t].entries.get(i, {})), reduced[t]))
            reduced.append(sl.mul(total, 1 / self.pivot(s)))
        found: list[Any] = [0] * (len(self.rows) + len(self.others))
        for row, value in zip(self.others, others, strict=True):
            found[row.k] = value
        # the force of a reduced row is one of its own row and of those that were subtracted
        for s in reversed(range(len(self.rows))):
            total = reduced[s]
            for row in (*self.rows[s + 1 :], *self.others):
                if s in row.multiples:
                    total = sl.sub(total, sl.mul(record(row.multiples[s]), found[row.k]))
            found[self.rows[s].k] = total
        return found


def partition(polynomials: TapePolynomials, M: sl.Matrix, A: sl.Matrix, usable: int) -> Partition:
    """Return a partition by the first ``usable`` rows of A; rows of few coordinates are solved first.

    A row is solved for a coordinate only if its other coefficients are bounded, so that no entry of T becomes large,
    and if M couples the coordinate with no other one. The rows that are solved are independent by their form.
    """
    uncoupled = [all(sl.is_number(x, 0) for j, x in enumerate(row) if j != i) for i, row in enumerate(M)]
    stated = [_row(polynomials, row) for row in A]
    remaining = [ReducedRow(k, row, {}, row) for k, row in enumerate(stated)]
    rows, dependent = list[ReducedRow](), list[int]()
    while True:
        choices = [
            (len(row.entries), place, i)
            for place, row in enumerate(remaining)
            if row.k < usable and (i := _solvable_for(polynomials, row, M, uncoupled)) is not None
        ]
        if not choices:
            return Partition(polynomials, rows, dependent, remaining)
        _, place, i = min(choices)
        rows.append(remaining.pop(place))
        dependent.append(i)
        remaining = [_without_coordinate(polynomials, row, rows[-1], i, len(rows) - 1) for row in remaining]


def _row(polynomials: TapePolynomials, row: sl.Vector) -> Row:
    return {i: polynomials.expand(entry) for i, entry in enumerate(row) if not sl.is_number(entry, 0)}


def _solvable_for(polynomials: TapePolynomials, row: ReducedRow, M: sl.Matrix, uncoupled: list[bool]) -> int | None:
    """Return the coordinate for which a row is solved, or None.

    Of several ones it is that with the largest share aᵢ²/Mᵢᵢ in the row, as far as the masses are numbers: the
    acceleration of a light coordinate follows that of heavy ones. None is chosen if all such shares are small.
    """
    entries = [*row.entries.items(), *row.stated.items()]
    if len(row.entries) > LONGEST_ROW or not all(polynomials.is_bounded(entry) for _, entry in entries):
        return None

    def share(i: int, entry: Polynomial) -> float:
        mass, size = M[i][i], sum(map(abs, entry.values()))
        return size**2 / (mass if isinstance(mass, (int, float)) and mass > 0 else 1)

    choices = [i for i, entry in row.entries.items() if uncoupled[i] and entry.keys() == {()}]
    best = max(choices, key=lambda i: (share(i, row.entries[i]), -i), default=None)
    if best is None:
        return None
    return best if share(best, row.entries[best]) > LEAST_SHARE * max(share(*entry) for entry in entries) else None


def _without_coordinate(polynomials: TapePolynomials, row: ReducedRow, other: ReducedRow, i: int, s: int) -> ReducedRow:
    """Return a row less the multiple of row s that removes coordinate i from it."""
    if i not in row.entries:
        return row
    factor = add({}, row.entries[i], 1 / other.entries[i][()])
    entries = dict(row.entries)
    for j, entry in other.entries.items():
        if j == i:
            del entries[j]  # also where rounding would leave something
            continue
        entries[j] = polynomials.add_squares(add(entries.get(j, {}), multiply(factor, entry), -1))
    return ReducedRow(
        row.k, {j: entry for j, entry in entries.items() if entry}, {**row.multiples, s: factor}, row.stated
    )
