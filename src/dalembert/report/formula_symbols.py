# SPDX-License-Identifier: BSD-3-Clause
"""The formulas of the theory in its own letters."""

from __future__ import annotations

from typing import Any, NamedTuple

import sympy as sp


class Letters(NamedTuple):
    """The matrices of the theory as matrix symbols, for n coordinates and m independent constraints.

    nature_qdd, nature_multipliers    what the saddle matrix makes of (C, 0)
    """

    M: Any
    A: Any
    b: Any
    Q: Any
    C: Any
    q: Any
    qdd: Any
    multipliers: Any
    nature_qdd: Any
    nature_multipliers: Any
    ideal: Any
    nonideal: Any


def letters(n: int, m: int) -> Letters:
    """The letters, with their shapes."""
    shapes = {"M": (n, n), "A": (m, n), "b": (m, 1), "lambda": (m, 1), "lambda_C": (m, 1)}
    names = ("M", "A", "b", "Q", "C", "q", "qdd.q", "lambda", "qdd.q_C", "lambda_C", "Q^c_i", "Q^c_ni")
    return Letters(*(sp.MatrixSymbol(name, *shapes.get(name, (n, 1))) for name in names))


def schur(of: Letters) -> Any:
    """A M⁻¹ Aᵀ."""
    return sp.MatMul(of.A, sp.Inverse(of.M), of.A.T)


def misfit(of: Letters) -> Any:
    """b − A M⁻¹ Q, by which the free acceleration misses the constraints."""
    return sp.MatAdd(of.b, sp.MatMul(-1, of.A, sp.Inverse(of.M), of.Q))


def saddle_matrix(M: Any, A: Any) -> Any:
    """[[M, −Aᵀ], [A, 0]], which takes (q̈, λ) to (Q, b), of letters or of explicit matrices."""
    return sp.BlockMatrix([[M, -A.T], [A, sp.ZeroMatrix(A.rows, A.rows)]])


def formulas(of: Letters, *, saddle: bool, ideal: bool) -> tuple[Any, Any, Any]:
    """Ideal force, nonideal force and acceleration; ``ideal`` says that C is zero."""
    n, m = of.A.cols, of.A.rows
    zero = sp.ZeroMatrix(n, 1)
    forces = of.Q if ideal else sp.MatAdd(of.Q, of.C)
    if m == 0:
        return zero, zero if ideal else of.C, sp.MatMul(sp.Inverse(of.M), forces)
    if saddle:
        inverse = sp.Inverse(saddle_matrix(of.M, of.A))
        reaction = sp.BlockMatrix([[sp.ZeroMatrix(n, n), of.A.T]])
        force = sp.MatMul(reaction, inverse, sp.BlockMatrix([[of.Q], [of.b]]))
        extra = sp.MatAdd(of.C, sp.MatMul(reaction, inverse, sp.BlockMatrix([[of.C], [sp.ZeroMatrix(m, 1)]])))
        motion = sp.BlockMatrix([[sp.Identity(n), sp.ZeroMatrix(n, m)]])
        return force, zero if ideal else extra, sp.MatMul(motion, inverse, sp.BlockMatrix([[forces], [of.b]]))
    to_force = (of.A.T, sp.Inverse(schur(of)))
    force = sp.MatMul(*to_force, misfit(of))
    extra = sp.MatAdd(of.C, sp.MatMul(-1, *to_force, of.A, sp.Inverse(of.M), of.C))
    total = sp.MatAdd(of.Q, force) if ideal else sp.MatAdd(of.Q, force, extra)
    return force, zero if ideal else extra, sp.MatMul(sp.Inverse(of.M), total)
