# SPDX-License-Identifier: BSD-3-Clause
"""Numerical evaluation of a closed form, of explicit expressions or of formulas in matrix symbols."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import sympy as sp

from dalembert.common.array_types import Floats
from dalembert.model.numeric_function import numeric_function
from dalembert.model.symbols import plain_multiplier
from dalembert.model.system import System


class Evaluation(NamedTuple):
    """Forces and acceleration at one state, shape (n,) each, and the inputs of actuators, shape (r,)."""

    ideal_force: Floats
    nonideal_force: Floats
    acceleration: Floats
    inputs: Floats = np.empty(0)


def evaluator(
    system: System,
    results: Sequence[Any],
    meaning: Mapping[Any, Any],
    used: tuple[Sequence[str], Callable[[Sequence[float]], Floats]],
) -> Callable[[Sequence[float]], Evaluation]:
    """Return the evaluation of a closed form as a function of (*q, *qd, t, *parameters).

    results    ideal force, nonideal force, acceleration and, for a controlled system, inputs: columns of expressions,
               or formulas in matrix symbols
    meaning    explicit matrices for the matrix symbols; C may contain the ideal force and multipliers, which are
               therefore computed first
    used       names and rows of the constraints to which these multipliers belong
    """
    symbols = system.symbols
    names, rows = used
    lam = tuple(plain_multiplier(name) for name in names)
    arguments = (_state(system), symbols.ideal_force, lam)
    no_force, no_multipliers = np.zeros(len(symbols.q)), np.zeros(len(lam))
    if not meaning:
        columns = [_compiled(arguments, symbols.plain(result)) for result in results]
        return lambda state: Evaluation(*(column(state, no_force, no_multipliers).reshape(-1) for column in columns))
    matrices = [_compiled(arguments, symbols.plain(matrix)) for matrix in meaning.values()]
    # with matrix symbols as the only arguments, since a parameter may have the same name as one of them
    formulas = [_compiled(tuple(meaning), result) for result in results]

    def evaluate(state: Sequence[float]) -> Evaluation:
        forces = (no_force, no_multipliers)
        values: list[Floats] = []
        for formula in formulas:
            values.append(formula(*(matrix(state, *forces) for matrix in matrices)).reshape(-1))
            if len(values) == 1 and len(lam):
                forces = (values[0], np.linalg.lstsq(rows(state).T, values[0], rcond=None)[0])
        return Evaluation(*values)

    return evaluate


def matrix_evaluator(system: System, matrix: Any) -> Callable[[Sequence[float]], Floats]:
    """Return a matrix of the model as a function of (*q, *qd, t, *parameters)."""
    return _compiled((_state(system),), system.symbols.plain(matrix))


def _state(system: System) -> tuple[Any, ...]:
    symbols = system.symbols
    parameters = [sp.Symbol(name, real=True) for name in system.parameter_names]
    return *symbols.q, *symbols.qd, symbols.time, *parameters


def _compiled(arguments: Any, expression: Any) -> Callable[..., Floats]:
    """Compile a matrix of expressions, or a formula in matrix symbols."""
    if not isinstance(expression, sp.MatrixBase):
        formula = sp.lambdify(arguments, expression, modules=["numpy", "scipy"], cse=True)
        return lambda *numbers: np.asarray(formula(*numbers), float)
    function = numeric_function(arguments, expression.tolist(), ["numpy", "scipy"])
    return lambda *numbers: np.asarray(function(*numbers), float).reshape(expression.shape)
