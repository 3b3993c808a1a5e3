# SPDX-License-Identifier: BSD-3-Clause
"""Normal forces that depend on the friction they cause, as straight-line arithmetic on a tape.

Notation: sᵢ = |u₀ᵢ + Σⱼ Gᵢⱼ sⱼ| for the magnitudes s of k normal forces; u₀ᵢ and Gᵢⱼ are numbers, or vectors if the
normal force is a vector. For a contact that presses, sᵢ = u₀ᵢ + Σⱼ Gᵢⱼ sⱼ. See ``equation/reaction.py``, which also
counts the solutions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dalembert.equation import scalar_arithmetic as sl
from dalembert.native.tape import Tape, Value

CLEARLY_UNIQUE = 0.999
"""Largest spectral radius of |Gᵢⱼ| at which the compiled integrator assumes a unique solution; at one it is lost."""

ROUNDS, NEWTON_STEPS, BOUNDS = 4, 4, 8
"""Iterations of the Gauss–Seidel and of the Newton method, and of the power method for the spectral radius."""

NORMAL_FORCE_RESIDUAL = 1e-13
"""Largest residual of a solution, relative to the sum of all normal forces: ten times ``ROUNDING``."""

LEAST_SUM = 1e-290
"""Added to that sum, so that normal forces that are all zero count as solved; far below any force."""

Coupling = Sequence[Sequence[sl.Vector]]
Conditions = list[tuple[Any, Any]]


def normal_forces(
    tape: Tape, G: Coupling, u0: Sequence[sl.Vector], pressing: Sequence[bool] = ()
) -> tuple[list[Any], Conditions]:
    """Return the magnitudes of the normal forces, and pairs of which the first must be the larger if they are valid."""
    k = len(u0)
    if pressing and all(pressing):
        return _pressing_forces(tape, G, u0)
    B = [[_length(tape, G[i][j]) for j in range(k)] for i in range(k)]
    s = [_one(tape, G[i][i], u0[i]) for i in range(k)]
    conditions = _contraction(B)
    if k == 1 or all(sl.is_number(B[i][j], 0) for i in range(k) for j in range(k) if i != j):
        return s, conditions
    # Gauss–Seidel gives a start from which a fixed number of Newton steps converges; the residual is checked at the end
    for _ in range(ROUNDS):
        for i in range(k):
            rest = list(u0[i])
            for j in (j for j in range(k) if j != i):
                rest = list(sl.plus(rest, G[i][j], s[j]))
            s[i] = _one(tape, G[i][i], rest)
    for _ in range(NEWTON_STEPS):
        s = _newton(tape, G, u0, s)
    found = [_length(tape, u) for u in _forces(G, u0, s)]
    scale: Any = LEAST_SUM
    for size in found:
        scale = sl.add(scale, size)
    misses = [tape.record("fabs", sl.sub(a, b)) for a, b in zip(found, s, strict=True)]
    return found, [*conditions, *((sl.mul(NORMAL_FORCE_RESIDUAL, scale), miss) for miss in misses)]


def _pressing_forces(tape: Tape, G: Coupling, u0: Sequence[sl.Vector]) -> tuple[list[Any], Conditions]:
    """Return the normal forces of contacts that all press: (I − G) u = u₀."""
    k = len(u0)
    matrix = [[sl.sub(1 if i == j else 0, G[i][j][0]) for j in range(k)] for i in range(k)]
    found, pivots = _eliminated(matrix, [own[0] for own in u0])
    # a pivot that is not positive, or that cancellation has made small, is left to the general solution
    return found, [(pivot, 1 - CLEARLY_UNIQUE) for pivot in pivots]


def _one(tape: Tape, G: sl.Vector, u0: sl.Vector) -> Any:
    """Return the s ≥ 0 with s = |u₀ + G s| for one contact, |G| < 1; see ``equation.reaction.one_length``."""
    if len(u0) == 1:
        ahead = tape.record("<=", 0.0, u0[0])
        sides = _over(tape, u0[0], sl.sub(1, G[0])), _over(tape, sl.sub(0, u0[0]), sl.add(1, G[0]))
        return tape.record("select", ahead, *sides)
    rest, half, square = sl.sub(1, sl.dot(G, G)), sl.dot(u0, G), sl.dot(u0, u0)
    root = tape.record("sqrt", sl.add(sl.mul(half, half), sl.mul(rest, square)))
    ahead = tape.record("<=", 0.0, half)
    # the form of the root that does not cancel, by the sign of u₀·G; the unused one must not divide by zero
    behind = tape.record("select", ahead, 1.0, sl.sub(root, half))
    return tape.record("select", ahead, _over(tape, sl.add(half, root), rest), _over(tape, square, behind))


def _forces(G: Coupling, u0: Sequence[sl.Vector], s: sl.Vector) -> list[sl.Vector]:
    """Return u₀ + G s."""
    found: list[sl.Vector] = []
    for own, start in zip(G, u0, strict=True):
        u = start
        for factor, size in zip(own, s, strict=True):
            u = sl.plus(u, factor, size)
        found.append(u)
    return found


def _newton(tape: Tape, G: Coupling, u0: Sequence[sl.Vector], s: list[Any]) -> list[Any]:
    """Take one step of Newton's method; since the matrix is I minus a contraction, it needs no pivoting."""
    k = len(s)
    forces = _forces(G, u0, s)
    sizes = [_length(tape, u) for u in forces]
    matrix: list[list[Any]] = []
    for i in range(k):
        nonzero = tape.record("<", 0.0, sizes[i])
        size = tape.record("select", nonzero, sizes[i], 1.0)  # a zero force has no direction
        along = [_over(tape, part, size) for part in forces[i]]
        matrix.append([sl.sub(1 if i == j else 0, sl.dot(along, G[i][j])) for j in range(k)])
    change = [sl.sub(a, b) for a, b in zip(sizes, s, strict=True)]
    return [sl.add(a, b) for a, b in zip(s, _eliminated(matrix, change)[0], strict=True)]


def _eliminated(matrix: list[list[Any]], right: list[Any]) -> tuple[list[Any], list[Any]]:
    """Return the solution of a linear system without pivoting, and its pivots."""
    k = len(right)
    matrix, right = list(matrix), list(right)
    for j in range(k):
        for i in range(j + 1, k):
            factor = sl.mul(matrix[i][j], sl.reciprocal(matrix[j][j]))
            matrix[i] = list(sl.minus(matrix[i], matrix[j], factor))
            right[i] = sl.sub(right[i], sl.mul(factor, right[j]))
    for j in reversed(range(k)):
        for i in range(j + 1, k):
            right[j] = sl.sub(right[j], sl.mul(matrix[j][i], right[i]))
        right[j] = sl.mul(right[j], sl.reciprocal(matrix[j][j]))
    return right, [matrix[j][j] for j in range(k)]


def _contraction(B: sl.Matrix) -> Conditions:
    """Return the conditions B x < x for a positive x near the eigenvector: the spectral radius of B is below one."""
    x: sl.Vector = [1.0] * len(B)
    if len(B) > 1:
        for _ in range(BOUNDS):
            x = [sl.add(a, sl.dot(row, x)) for a, row in zip(x, B, strict=True)]
    return [(sl.mul(CLEARLY_UNIQUE, a), sl.dot(row, x)) for a, row in zip(x, B, strict=True)]


def _length(tape: Tape, u: sl.Vector) -> Any:
    return tape.record("fabs", u[0]) if len(u) == 1 else tape.record("sqrt", sl.dot(u, u))


def _over(tape: Tape, a: Any, b: Any) -> Any:
    """Return a/b; NaN if both are constants and b is zero."""
    return a / b if isinstance(a, Value) or isinstance(b, Value) else tape.record("fdiv", float(a), float(b))
