# SPDX-License-Identifier: BSD-3-Clause
"""The constrained acceleration as straight-line scalar arithmetic, for small or sparse systems.

The same elimination as the factored formulation, written out entry by entry on nested tuples. An entry is a Python
number, known before anything runs, or an array: one value per member of a batch. Zeros and ones that are known
beforehand cost nothing, so the sparsity of M and A is used without anybody declaring it.

Notation: M = L D Lᵀ with unit triangular L; rows c_k = L⁻¹A_kᵀ; ⟨u, v⟩ = uᵀD⁻¹v; r_k is c_k less its components along
the earlier rows, s_k = ⟨r_k, r_k⟩.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Vector = Sequence[Any]
Matrix = Sequence[Sequence[Any]]


def is_number(a: Any, value: int) -> bool:
    """Whether an entry is a number known beforehand, and this one."""
    return isinstance(a, (int, float)) and a == value


def mul(a: Any, b: Any) -> Any:
    if is_number(a, 0) or is_number(b, 0):
        return 0
    if is_number(a, 1):
        return b
    if is_number(b, 1):
        return a
    return a * b


def add(a: Any, b: Any) -> Any:
    if is_number(a, 0):
        return b
    return a if is_number(b, 0) else a + b


def sub(a: Any, b: Any) -> Any:
    if is_number(b, 0):
        return a
    return -b if is_number(a, 0) else a - b


def dot(u: Vector, v: Vector) -> Any:
    total: Any = 0
    for a, b in zip(u, v, strict=True):
        total = add(total, mul(a, b))
    return total


def times(u: Vector, v: Vector) -> Vector:
    return [mul(a, b) for a, b in zip(u, v, strict=True)]


def plus(u: Vector, v: Vector, factor: Any = 1) -> Vector:
    return [add(a, mul(factor, b)) for a, b in zip(u, v, strict=True)]


def minus(u: Vector, v: Vector, factor: Any = 1) -> Vector:
    return [sub(a, mul(factor, b)) for a, b in zip(u, v, strict=True)]


@dataclass(frozen=True)
class Mass:
    """M = L D Lᵀ: unit lower triangle, pivots and their reciprocals."""

    lower: Matrix
    pivots: Vector
    reciprocals: Vector

    def inner(self, u: Vector, v: Vector) -> Any:
        """⟨u, v⟩ = uᵀD⁻¹v."""
        return dot(times(u, self.reciprocals), v)

    def forward(self, v: Vector) -> Vector:
        """L⁻¹ v."""
        out = list(v)
        for i in range(len(out)):
            for j in range(i):
                out[i] = sub(out[i], mul(self.lower[i][j], out[j]))
        return out

    def backward(self, v: Vector) -> Vector:
        """L⁻ᵀ D⁻¹ v."""
        out = list(times(v, self.reciprocals))
        for i in reversed(range(len(out))):
            for j in range(i + 1, len(out)):
                out[i] = sub(out[i], mul(self.lower[j][i], out[j]))
        return out

    def force(self, v: Vector) -> Vector:
        """L v, back from scaled to generalised forces."""
        n = len(self.pivots)
        return [add(v[i], dot(self.lower[i][:i], v[:i])) for i in range(n)]


def factor(M: Matrix) -> Mass:
    """LDLᵀ without pivoting: enough for a positive definite matrix, and its pivots tell whether it is one."""
    n = len(M)
    lower = [[0 for _ in range(n)] for _ in range(n)]
    pivots: list[Any] = []
    reciprocals: list[Any] = []
    for j in range(n):
        scaled = [mul(lower[j][k], pivots[k]) for k in range(j)]
        pivots.append(sub(M[j][j], dot(lower[j][:j], scaled)))
        reciprocals.append(reciprocal(pivots[j]))
        for i in range(j + 1, n):
            lower[i][j] = mul(sub(M[i][j], dot(lower[i][:j], scaled)), reciprocals[j])
    return Mass(lower, pivots, reciprocals)


def reciprocal(pivot: Any) -> Any:
    """One over a pivot."""
    if is_number(pivot, 0):
        return float("inf")  # a mass matrix that is singular by its form; found out when it is watched
    return 1 if is_number(pivot, 1) else 1 / pivot


@dataclass(frozen=True)
class Rows:
    """Constraint rows made orthonormal, ⟨e_j, e_k⟩ = δ_jk, those not in use zero.

    given     c_k = L⁻¹A_kᵀ
    unit      e_k = r_k / √s_k
    lengths   √s_k, infinite for a row not in use
    """

    mass: Mass
    given: Matrix
    unit: Matrix
    lengths: Vector

    def meet(self, start: Vector, target: Vector) -> Vector:
        """The scaled force nearest to ``start`` that gives the rows their target: ⟨c_k, w⟩ = b_k.

        Row by row, each new miss measured against all that was done before, so that rounding in the orthogonality of
        earlier rows corrects itself.
        """
        w = start
        for c, e, length, b in zip(self.given, self.unit, self.lengths, target, strict=True):
            miss = sub(b, self.mass.inner(c, w))
            w = plus(w, e, 0 if is_number(miss, 0) else miss / length)
        return w

    def remove(self, v: Vector) -> Vector:
        """The part of a scaled force that does work on virtual displacements."""
        for e in self.unit:
            v = minus(v, e, self.mass.inner(e, v))
        return v

    def multipliers(self, v: Vector) -> Vector:
        """λ with Σ λ_k c_k the part of a scaled force in the span of the rows; zero for rows not in use."""
        lam: list[Any] = [0] * len(self.unit)
        for k in reversed(range(len(lam))):
            along = self.mass.inner(self.unit[k], v)
            for j in range(k + 1, len(lam)):  # c_j is √s_j e_j and components along the rows before it
                along = sub(along, mul(self.mass.inner(self.unit[k], self.given[j]), lam[j]))
            lam[k] = 0 if is_number(along, 0) else along / self.lengths[k]
        return lam


Use = Callable[[int, Any, Any], Any]
"""From a row's number, s_k and ⟨c_k, c_k⟩: √s_k if the row is used, infinity if not."""


def orthonormal_rows(mass: Mass, A: Matrix, use: Use) -> Rows:
    """Make the rows of A orthonormal in their order (modified Gram–Schmidt).

    The entries of e_k are quotients on purpose: XLA recomputes cheap values in every kernel that wants them, which
    made this cubic elimination several times slower to compile and to run, but never recomputes a division.
    """
    given = [mass.forward(row) for row in A]
    unit: list[Vector] = []
    lengths: list[Any] = []
    for k, c in enumerate(given):
        r = c
        for e in unit:
            r = minus(r, e, mass.inner(e, r))
        length = use(k, mass.inner(r, r), mass.inner(c, c))
        unit.append([0 if is_number(entry, 0) else entry / length for entry in r])
        lengths.append(length)
    return Rows(mass, given, unit, lengths)
