# SPDX-License-Identifier: BSD-3-Clause
"""Constraint forces and acceleration as formulas: written out where that is short, in letters otherwise.

Notation: M, Q, A, b, C as everywhere, A with independent rows; S = A M⁻¹ Aᵀ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import sympy as sp

from dalembert.report.blocks import TooLongError, block_inverse
from dalembert.report.formula_symbols import formulas, letters, saddle_matrix
from dalembert.report.tidy import operations, tidy_matrix

OPERATION_LIMIT = 1500
"""Operations in one column above which nobody reads it: then the formulas are left in letters."""

_Solve = Callable[[Any, Any], tuple[Any, Any, Any]]
"""From a force and a right side to acceleration, reaction and multipliers."""


@dataclass(frozen=True)
class Terms:
    """M q̈ = Q under A q̈ = b with independent rows, in plain symbols.

    C                containing the symbols of the ideal force and of multipliers where a law depends on them
    ideal_symbols, multiplier_symbols    those symbols; of the multipliers, one per row
    saddle           whether M or S is singular, so that motion and multipliers must be found at once
    """

    M: Any
    Q: Any
    A: Any
    b: Any
    C: Any
    ideal_symbols: tuple[Any, ...]
    multiplier_symbols: tuple[Any, ...]
    saddle: bool


@dataclass(frozen=True)
class ClosedForm:
    """Columns of n expressions if ``expanded``, else formulas in the letters M, Q, A, b and C."""

    ideal_force: Any
    nonideal_force: Any
    acceleration: Any
    expanded: bool


def closed_form(terms: Terms) -> ClosedForm:
    """Written out if that stays readable, in the letters of the theory if not."""
    try:
        return _written_out(terms)
    except TooLongError:
        formula = formulas(letters(terms.M.rows, terms.A.rows), saddle=terms.saddle, ideal=terms.C.is_zero_matrix)
        return ClosedForm(*formula, expanded=False)


def _written_out(terms: Terms) -> ClosedForm:
    # what was long when it was given may stay so, within reason
    given = operations([*terms.Q, *terms.b, *terms.C])
    limit = max(OPERATION_LIMIT, min(3 * given, 4 * OPERATION_LIMIT))
    solve = (_by_saddle if terms.saddle else _by_schur)(terms.M, terms.A, limit)
    acceleration, ideal, multipliers = solve(terms.Q, terms.b)
    known = dict(zip(terms.ideal_symbols, ideal, strict=True))
    known |= dict(zip(terms.multiplier_symbols, multipliers, strict=True))
    C = _bounded(terms.C.xreplace(known), limit)
    extra, reaction, _ = solve(C, sp.zeros(terms.A.rows, 1))
    nonideal = _bounded(C + reaction, limit)
    total = acceleration + extra
    together = _bounded(total, limit)
    shortest = [min(pair, key=lambda e: operations([e])) for pair in zip(together, total, strict=True)]
    return ClosedForm(*map(_column, (ideal, nonideal, shortest)), expanded=True)


def _by_schur(M: Any, A: Any, limit: int) -> _Solve:
    """λ = S⁻¹(c − A M⁻¹F), q̈ = M⁻¹(F + Aᵀλ)."""
    M_inverse = block_inverse(M)
    W = _bounded(A * M_inverse, limit)
    S_inverse = block_inverse(_bounded(W * A.T, limit))

    def solve(F: Any, c: Any) -> tuple[Any, Any, Any]:
        multipliers = _bounded(S_inverse * _bounded(c - W * F, limit), limit)
        reaction = _bounded(A.T * multipliers, limit)
        return _bounded(M_inverse * (F + reaction), limit), reaction, multipliers

    return solve


def _by_saddle(M: Any, A: Any, limit: int) -> _Solve:
    inverse = block_inverse(sp.Matrix(saddle_matrix(M, A).as_explicit()))

    def solve(F: Any, c: Any) -> tuple[Any, Any, Any]:
        solution = _bounded(inverse * F.col_join(c), limit)
        multipliers = solution[M.rows :, :]
        return solution[: M.rows, :], _bounded(A.T * multipliers, limit), multipliers

    return solve


def _bounded(matrix: Any, limit: int) -> Any:
    """Tidied, unless it is too long to be worth it."""
    if operations(matrix) > 20 * limit:
        raise TooLongError
    tidied = tidy_matrix(sp.Matrix(matrix))
    if operations(tidied) > limit:
        raise TooLongError
    return tidied


def _column(entries: Any) -> Any:
    return sp.ImmutableMatrix(len(entries), 1, list(entries))
