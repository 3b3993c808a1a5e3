# SPDX-License-Identifier: BSD-3-Clause
"""Checks of a model file: expressions whose values along a motion are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.errors import InputError
from dalembert.integration.trajectory import Trajectory
from dalembert.model.document import DocumentEntry, Scope, write_expression
from dalembert.model.expression_values import expression_values
from dalembert.model.graph import free_symbols, replace
from dalembert.model.symbols import free_parameters, functions_of_time, t
from dalembert.model.system import System
from dalembert.model.validation import expression_problems

EVERYWHERE, AT_END = "all", "end"
"""Values of ``at`` other than a time."""


@dataclass(frozen=True)
class ModelCheck:
    """A known property of a motion: an expression that must equal another one to within a tolerance.

    what                    its description
    expression, expected    expressions of coordinates, velocities, time and parameters
    tolerance               the largest difference
    at                      "all" for all times, "end" for the last one, or one of the times
    """

    what: str
    expression: Any
    expected: Any
    tolerance: float
    at: float | str = EVERYWHERE

    def times(self, run: Trajectory) -> Any:
        """Return the times of the check."""
        return run.t[_times(self.at, run)]

    def values(self, system: System, run: Trajectory) -> Any:
        """Return the expression and the expected value at the times of the check, (k, 2)."""
        return values_of(system, (self.expression, self.expected), run)[_times(self.at, run)]


def values_of(system: System, expressions: tuple[Any, ...], run: Trajectory) -> Any:
    """Return expressions along a motion, shape (times, expressions)."""
    if system.is_large:
        return np.column_stack([_values_of_large(own, run) for own in expressions])
    state = np.concatenate([run.q, run.qd], axis=1)
    return expression_values(system, expressions)(run.t, state, {name: float(v) for name, v in run.parameters.items()})


def _values_of_large(expression: Any, run: Trajectory) -> Any:
    """Return an expression along a run of a large system, which evaluates those that are not constant."""
    if functions_of_time(expression) or t in free_symbols(expression):
        return run.evaluate(expression)
    given = {symbol: float(run.parameters[symbol.name]) for symbol in free_parameters([expression])}
    return np.full(len(run.t), float(replace(expression, given)))


def _times(at: float | str, run: Trajectory) -> Any:
    if at == EVERYWHERE:
        return slice(None)
    if at == AT_END:
        return slice(-1, None)
    places = np.flatnonzero(run.t == at)
    if not len(places):
        raise InputError(f"`at` of a check must be one of the times of the run; {at:g} is none of them.")
    return places


def read_check(entry: DocumentEntry, scope: Scope, system: System) -> ModelCheck:
    """Return the check that a table describes."""
    known = ("what", "expression", "expected", "tolerance", "at")
    table = entry.table(known, required=("expression", "expected", "tolerance"))
    sides = {key: scope.parsed(table[key]).expression for key in ("expression", "expected")}
    for key, expression in sides.items():
        # of a large system, which is not expanded, the file declares every name that an expression can have
        problems = [] if system.is_large else expression_problems(system, expression, f"`{key}`")
        unused = sorted({s.name for s in free_parameters([expression])} - {*system.parameter_names})
        if unused:
            problems.append(f"`{key}` must use parameters of the system; `{unused[0]}` occurs nowhere in it.")
        if problems:
            raise table[key].error(" ".join(problems), 0)
    tolerance = table["tolerance"].number()
    if tolerance < 0:
        raise table["tolerance"].error(f"`tolerance` must not be negative; got {tolerance:g}.")
    what = table["what"].text() if "what" in table else f"{table['expression'].value} = {table['expected'].value}"
    return ModelCheck(what, sides["expression"], sides["expected"], float(tolerance), _read_time(table.get("at")))


def _read_time(entry: DocumentEntry | None) -> float | str:
    if entry is None:
        return EVERYWHERE
    if isinstance(entry.value, str) and not entry.value[:1].isdigit():
        return entry.text((EVERYWHERE, AT_END))
    return float(entry.number())


def write_check(check: ModelCheck) -> dict[str, Any]:
    """Return the table of a check."""
    table = {"what": check.what, "expression": write_expression(check.expression)}
    table |= {"expected": write_expression(check.expected), "tolerance": check.tolerance}
    return table | ({} if check.at == EVERYWHERE else {"at": check.at})
