# SPDX-License-Identifier: BSD-3-Clause
"""Constraint forces and acceleration in closed form: as explicit expressions if these are short, else as formulas.

The rows of A are independent here, and S = A M⁻¹ Aᵀ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import sympy as sp

from dalembert.model import graph
from dalembert.report.blocks import TooLongError, block_inverse
from dalembert.report.formula_symbols import formulas, matrix_symbols, saddle_matrix
from dalembert.report.length import is_long
from dalembert.report.tidy import tidy_matrix

OPERATION_LIMIT = 1500
"""Operations in one column above which it is not readable, so that formulas in matrix symbols are given instead."""

INPUT_FACTOR, LARGEST_FACTOR = 3, 4
"""Results may have this many times the operations of the input, but at most this many times ``OPERATION_LIMIT``."""

UNTIDIED_FACTOR = 20
"""An expression longer than the limit by this factor is not simplified: it hardly ever becomes short enough."""

_Solve = Callable[[Any, Any], tuple[Any, Any, Any]]
"""A function from a force and a right side to acceleration, reaction and multipliers."""


@dataclass(frozen=True)
class SymbolicTerms:
    """M q̈ = Q under A q̈ = b with independent rows, in plain symbols.

    C                contains the symbols of the ideal force and of multipliers if a law depends on them
    ideal_symbols, multiplier_symbols    those symbols; of the multipliers, one per row
    saddle           whether M or S is singular, so that acceleration and multipliers must be solved for together
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
    """Columns of n expressions if ``expanded``, else formulas in the matrix symbols M, Q, A, b and C."""

    ideal_force: Any
    nonideal_force: Any
    acceleration: Any
    expanded: bool


def closed_form(terms: SymbolicTerms) -> ClosedForm:
    """Return explicit expressions if they are readable, otherwise formulas in matrix symbols."""
    try:
        return _explicit(terms)
    except TooLongError:
        formula = formulas(
            matrix_symbols(terms.M.rows, terms.A.rows), saddle=terms.saddle, ideal=terms.C.is_zero_matrix
        )
        return ClosedForm(*formula, expanded=False)


def _explicit(terms: SymbolicTerms) -> ClosedForm:
    if any(is_long(e) for matrix in (terms.M, terms.Q, terms.A, terms.b, terms.C) for e in matrix):
        raise TooLongError
    # a long input may have a longer result, within limits
    given = graph.operations(*terms.Q, *terms.b, *terms.C)
    limit = max(OPERATION_LIMIT, min(INPUT_FACTOR * given, LARGEST_FACTOR * OPERATION_LIMIT))
    solve = (_by_saddle if terms.saddle else schur_solver)(terms.M, terms.A, limit)
    acceleration, ideal, multipliers = solve(terms.Q, terms.b)
    known = dict(zip(terms.ideal_symbols, ideal, strict=True))
    known |= dict(zip(terms.multiplier_symbols, multipliers, strict=True))
    C = tidied(graph.replace(terms.C, known), limit)
    extra, reaction, _ = solve(C, sp.zeros(terms.A.rows, 1))
    nonideal = tidied(C + reaction, limit)
    total = acceleration + extra
    together = tidied(total, limit)
    # simplification of the sum may lengthen single entries; the shorter form is kept entry by entry
    shortest = [min(pair, key=graph.operations) for pair in zip(together, total, strict=True)]
    return ClosedForm(*map(_column, (ideal, nonideal, shortest)), expanded=True)


def schur_solver(M: Any, A: Any, limit: int) -> _Solve:
    """Return a solver with the Schur complement: λ = S⁻¹(c − A M⁻¹F), q̈ = M⁻¹(F + Aᵀλ)."""
    M_inverse = block_inverse(M)
    W = tidied(A * M_inverse, limit)
    S_inverse = block_inverse(tidied(W * A.T, limit))

    def solve(F: Any, c: Any) -> tuple[Any, Any, Any]:
        multipliers = tidied(S_inverse * tidied(c - W * F, limit), limit)
        reaction = tidied(A.T * multipliers, limit)
        return tidied(M_inverse * (F + reaction), limit), reaction, multipliers

    return solve


def _by_saddle(M: Any, A: Any, limit: int) -> _Solve:
    """Return a solver with the saddle matrix, for a singular M or S."""
    inverse = block_inverse(sp.Matrix(saddle_matrix(M, A).as_explicit()))

    def solve(F: Any, c: Any) -> tuple[Any, Any, Any]:
        solution = tidied(inverse * F.col_join(c), limit)
        multipliers = solution[M.rows :, :]
        return solution[: M.rows, :], tidied(A.T * multipliers, limit), multipliers

    return solve


def tidied(matrix: Any, limit: int) -> Any:
    """Simplify a matrix; raise ``TooLongError`` if it is too long."""
    if graph.operations(*matrix) > UNTIDIED_FACTOR * limit:
        raise TooLongError
    result = tidy_matrix(sp.Matrix(matrix))
    if graph.operations(*result) > limit:
        raise TooLongError
    return result


def _column(entries: Any) -> Any:
    return sp.ImmutableMatrix(len(entries), 1, list(entries))
