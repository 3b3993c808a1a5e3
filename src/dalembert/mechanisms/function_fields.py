# SPDX-License-Identifier: BSD-3-Clause
"""Functions that joints and springs take, as expressions in files: curves, surfaces, profiles, characteristics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import sympy as sp

from dalembert.errors import ModelError
from dalembert.model import graph
from dalembert.model.document import DocumentEntry, FieldKind, Scope
from dalembert.model.expression_text import expression_text

FUNCTION_VARIABLES = ("x", "y", "z", "s", "extension", "deflection")
"""Names of the arguments of functions in files: coordinates of a point, a parameter of a profile, deformations."""


@dataclass(frozen=True)
class ExpressionFunction:
    """A function of numbers that is stated by one expression, or by several of which it returns a tuple."""

    variables: tuple[str, ...]
    expression: Any

    def __call__(self, *values: Any) -> Any:
        given = {_variable(name): value for name, value in zip(self.variables, values, strict=False)}
        if isinstance(self.expression, tuple):
            return tuple(graph.replace(own, given) for own in self.expression)
        return graph.replace(self.expression, given)


def _variable(name: str) -> sp.Symbol:
    return sp.Dummy(name, dummy_index=FUNCTION_VARIABLES.index(name) + 1)  # pyright: ignore  (no parameter's symbol)


def function_field(noun: str, *variables: str, least: int = 1, several: bool = False) -> FieldKind:
    """Return the kind of fields that hold functions of the first ``least`` or more of some variables.

    Parameters
    ----------
    noun         what the function is, for messages
    variables    names of its arguments in expressions
    several      whether it may return several expressions
    """

    def read(entry: DocumentEntry, scope: Scope) -> ExpressionFunction:
        inner = replace(scope, names={**scope.names, **{name: _variable(name) for name in variables}})
        if several and isinstance(entry.value, list):
            return ExpressionFunction(variables, tuple(inner.parsed(own).expression for own in entry.list()))
        return ExpressionFunction(variables, inner.parsed(entry).expression)

    def write(function: Any) -> Any:
        found = _called(function, variables, least)
        if found is None:
            raise ModelError([f"the {noun} in a file must be a function of {', '.join(variables)}; it is not."])
        if isinstance(found, (tuple, list)):
            return [_written(own, noun, variables) for own in found]
        return _written(found, noun, variables)

    return FieldKind(read, write, "several" if several else "expression")


def _called(function: Any, variables: Sequence[str], least: int) -> Any:
    """Return the value of a function of some of the variables, None if it is not one."""
    symbols = [_variable(name) for name in variables]
    for count in range(least, len(symbols) + 1):
        try:
            return function(*symbols[:count])
        except TypeError:
            continue
    return None


def _written(expression: Any, noun: str, variables: Sequence[str]) -> str:
    symbols = {_variable(name) for name in variables}
    expression = sp.sympify(expression, strict=True)
    clash = {s.name for s in graph.free_symbols(expression) if s not in symbols} & {*variables}
    if clash:
        raise ModelError([f"the {noun} in a file must not use a parameter `{clash.pop()}`: rename it."])
    return expression_text(expression)
