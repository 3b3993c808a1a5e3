# SPDX-License-Identifier: BSD-3-Clause
"""Sections of gallery pages on well-posedness: the saddle matrix of Lemos et al., its determinant and null vectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import sympy as sp

from dalembert.analysis.check import check
from dalembert.model.standard_form import StandardForm, standard_form
from dalembert.model.system import System
from dalembert.report.equations import Equation
from dalembert.report.steps import Step
from dalembert.report.tidy import tidy, tidy_matrix


def verdict_steps(system: System) -> list[Step]:
    """Return the saddle matrix of a problem, its determinant, its null vectors, and the verdict of `da.check`."""
    form, verdict = standard_form(system), check(system)
    matrix, right = _saddle(form)
    n, m = len(form.applied_force), len(form.constraint_matrix)
    letters = [sp.MatrixSymbol(name, *shape) for name, shape in (("A", (m, n)), ("W", (n, n)))]
    K = sp.MatrixSymbol("K", n + m, n + m)
    zero = sp.ZeroMatrix(m, m)
    symbols = sp.BlockMatrix([[zero, letters[0]], [letters[0].T, letters[1]]]) if m else letters[1]
    text = "The multipliers and accelerations solve a linear system with the matrix"
    text = text if m else "Without constraints, the accelerations solve a linear system with the Hessian"
    shown = [Equation(K, symbols), Equation(K, sp.ImmutableMatrix(matrix))]
    return [
        Step("The linear system of the multipliers", ((text,), shown)),
        Step("Its determinant", _determinant(matrix, right)),
        Step("The verdict", ((str(verdict).splitlines()[0],), *((f.message,) for f in verdict.findings))),
    ]


def stated_hidden(system: System) -> list[Step]:
    """Return the verdict on a problem without its last constraint, which was hidden in the others."""
    return verdict_steps(replace(system, constraints=system.constraints[:-1]))


def _saddle(form: StandardForm) -> tuple[Any, Any]:
    """Return [[0, A], [Aᵀ, W]] and its right side (b, Q), for the unknowns (−λ, q̈)."""
    W = tidy_matrix(sp.Matrix(form.mass_matrix))
    m = len(form.constraint_matrix)
    right = sp.Matrix([*form.constraint_rhs, *form.applied_force])
    if not m:
        return W, right
    A = tidy_matrix(sp.Matrix(form.constraint_matrix))
    return sp.zeros(m).row_join(A).col_join(A.T.row_join(W)), right


def _determinant(matrix: Any, right: Any) -> tuple[Any, ...]:
    found = tidy(matrix.det(method="berkowitz"))
    K = sp.MatrixSymbol("K", *matrix.shape)
    shown: list[Any] = [[Equation(sp.Determinant(K), found)]]
    if found != 0:
        return ("It is",), *shown, ("which is not zero in general: multipliers and accelerations are unique.",)
    blocks: list[Any] = [("It vanishes identically:",), *shown]
    for vector in matrix.nullspace():
        u = sp.MatrixSymbol("u", matrix.rows, 1)
        hidden = tidy((vector.T * right)[0])
        blocks += [
            ("A null vector, and the equation that it hides:",),
            [Equation(u.T, sp.ImmutableMatrix(tidy_matrix(vector).T)), Equation(hidden, sp.S.Zero)],
        ]
    return tuple(blocks)


VERDICTS: dict[str, tuple[tuple[str, Callable[[System], list[Step]]], ...]] = {
    "hidden-constraint": (("Is the problem well posed as stated?", stated_hidden),),
    "indefinite-mass": (("Is the problem well posed?", verdict_steps),),
    "rolling-coin": (("Is the problem well posed?", verdict_steps),),
    "weber": (("Is the problem well posed?", verdict_steps),),
}
"""Titles and steps of the sections, by the name of the case, computed from its system."""
