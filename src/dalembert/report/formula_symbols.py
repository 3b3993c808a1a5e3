# SPDX-License-Identifier: BSD-3-Clause
"""The formulas of the theory in matrix symbols."""

from __future__ import annotations

from typing import Any, NamedTuple

import sympy as sp


class MatrixSymbols(NamedTuple):
    """The matrices of the theory as matrix symbols, for n coordinates and m independent constraints.

    nonideal_qdd, nonideal_multipliers    the solution of the saddle system with right side (C, 0)
    """

    M: Any
    A: Any
    b: Any
    Q: Any
    C: Any
    q: Any
    qdd: Any
    multipliers: Any
    nonideal_qdd: Any
    nonideal_multipliers: Any
    ideal: Any
    nonideal: Any


def matrix_symbols(n: int, m: int) -> MatrixSymbols:
    """Return the matrix symbols with their shapes."""
    shapes = {"M": (n, n), "A": (m, n), "b": (m, 1), "lambda": (m, 1), "lambda_C": (m, 1)}
    names = ("M", "A", "b", "Q", "C", "q", "qdd.q", "lambda", "qdd.q_C", "lambda_C", "Q^c_i", "Q^c_ni")
    return MatrixSymbols(*(sp.MatrixSymbol(name, *shapes.get(name, (n, 1))) for name in names))


def schur(sym: MatrixSymbols) -> Any:
    """Return A M⁻¹ Aᵀ."""
    return sp.MatMul(sym.A, sp.Inverse(sym.M), sym.A.T)


def misfit(sym: MatrixSymbols) -> Any:
    """Return b − A M⁻¹ Q, the residual of the constraints at the unconstrained acceleration."""
    return sp.MatAdd(sym.b, sp.MatMul(-1, sym.A, sp.Inverse(sym.M), sym.Q))


def saddle_matrix(M: Any, A: Any) -> Any:
    """Return [[M, −Aᵀ], [A, 0]], which maps (q̈, λ) to (Q, b), of matrix symbols or explicit matrices."""
    return sp.BlockMatrix([[M, -A.T], [A, sp.ZeroMatrix(A.rows, A.rows)]])


def formulas(sym: MatrixSymbols, *, saddle: bool, ideal: bool) -> tuple[Any, Any, Any]:
    """Return ideal force, nonideal force and acceleration; ``ideal`` means that C is zero."""
    n, m = sym.A.cols, sym.A.rows
    zero = sp.ZeroMatrix(n, 1)
    forces = sym.Q if ideal else sp.MatAdd(sym.Q, sym.C)
    if m == 0:
        return zero, zero if ideal else sym.C, sp.MatMul(sp.Inverse(sym.M), forces)
    if saddle:
        inverse = sp.Inverse(saddle_matrix(sym.M, sym.A))
        reaction = sp.BlockMatrix([[sp.ZeroMatrix(n, n), sym.A.T]])
        force = sp.MatMul(reaction, inverse, sp.BlockMatrix([[sym.Q], [sym.b]]))
        extra = sp.MatAdd(sym.C, sp.MatMul(reaction, inverse, sp.BlockMatrix([[sym.C], [sp.ZeroMatrix(m, 1)]])))
        motion = sp.BlockMatrix([[sp.Identity(n), sp.ZeroMatrix(n, m)]])
        return force, zero if ideal else extra, sp.MatMul(motion, inverse, sp.BlockMatrix([[forces], [sym.b]]))
    to_force = (sym.A.T, sp.Inverse(schur(sym)))
    force = sp.MatMul(*to_force, misfit(sym))
    extra = sp.MatAdd(sym.C, sp.MatMul(-1, *to_force, sym.A, sp.Inverse(sym.M), sym.C))
    total = sp.MatAdd(sym.Q, force) if ideal else sp.MatAdd(sym.Q, force, extra)
    return force, zero if ideal else extra, sp.MatMul(sp.Inverse(sym.M), total)
