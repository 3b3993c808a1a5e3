# SPDX-License-Identifier: BSD-3-Clause
"""Reactions that nonideal laws depend on and change, by a fixed number of Newton's steps on a tape.

Notation: r = λ₀ + W C(r) and J = I − W ∂C/∂r, as in ``equation/implicit_laws.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from dalembert.equation import scalar_arithmetic as sl
from dalembert.equation.implicit_laws import LEAST_TERMS
from dalembert.native.tape import Tape

FIXED_NEWTON_STEPS = 6
"""Newton's steps from the ideal reactions. Where they do not suffice, the compiled integrator hands over."""

LEAST_PIVOT = 1e-3
"""Smallest pivot of J at which the compiled integrator goes on; at zero the solution is lost."""

SOLVED_REACTIONS = 1e-13
"""Largest residual, relative to the terms of a reaction."""


class RecordedLaws(NamedTuple):
    """All laws at some reactions: C (n,) as the sum of its terms, and ∂C/∂r, k columns (n,)."""

    force: sl.Vector
    slopes: list[sl.Vector]


def implicit_reactions(
    tape: Tape, start: sl.Vector, response: sl.Matrix, laws: Callable[[sl.Vector], RecordedLaws]
) -> tuple[list[Any], list[tuple[Any, Any]]]:
    """Return the reactions (k,), and pairs of which the first must be the larger if they are valid.

    ``start`` (k,) is λ₀, ``response`` (k, n) is W.
    """
    k = len(start)
    r, conditions = [*start], list[tuple[Any, Any]]()
    # a fixed number: straight-line code has no loop that ends by convergence
    for _ in range(FIXED_NEWTON_STEPS):
        found = laws(r)
        misses = _misses(start, response, r, found.force)
        J = [[sl.sub(1 if i == j else 0, sl.dot(response[i], found.slopes[j])) for j in range(k)] for i in range(k)]
        change, pivots = _solved(J, misses)
        r = [sl.sub(a, b) for a, b in zip(r, change, strict=True)]
        conditions = [(pivot, LEAST_PIVOT) for pivot in pivots]  # those of the last step
    # evaluated again: the last step is not yet contained in it
    force = laws(r).force
    for i, miss in enumerate(_misses(start, response, r, force)):
        terms = [start[i], *sl.times(response[i], force)]
        size: Any = LEAST_TERMS
        for term in terms:
            size = sl.add(size, tape.record("fabs", term))
        conditions.append((sl.mul(SOLVED_REACTIONS, size), tape.record("fabs", miss)))
    return r, conditions


def _misses(start: sl.Vector, response: sl.Matrix, r: sl.Vector, force: sl.Vector) -> list[Any]:
    """Return r − λ₀ − W C."""
    return [
        sl.sub(sl.sub(value, first), sl.dot(row, force)) for value, first, row in zip(r, start, response, strict=True)
    ]


def _solved(J: list[list[Any]], right: list[Any]) -> tuple[list[Any], list[Any]]:
    """Return the solution of J x = right and the pivots; where one is small, the solution is not used."""
    k, J, x = len(right), [[*row] for row in J], [*right]
    for j in range(k):
        for i in range(j + 1, k):
            # without an exchange of rows, which would be a branch; a small pivot fails a condition
            factor = sl.mul(J[i][j], sl.reciprocal(J[j][j]))
            J[i] = [*sl.minus(J[i], J[j], factor)]
            x[i] = sl.sub(x[i], sl.mul(factor, x[j]))
    pivots = [J[j][j] for j in range(k)]
    for j in reversed(range(k)):
        for i in range(j + 1, k):
            x[j] = sl.sub(x[j], sl.mul(J[j][i], x[i]))
        x[j] = sl.mul(x[j], sl.reciprocal(J[j][j]))
    return x, pivots
