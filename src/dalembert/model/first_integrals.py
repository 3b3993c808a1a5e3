# SPDX-License-Identifier: BSD-3-Clause
"""First integrals that a drift cure keeps at their initial values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import sympy as sp

from dalembert.errors import InputError, ModelError
from dalembert.model import graph
from dalembert.model.deep_stack import with_deep_stack
from dalembert.model.expressions import as_expression
from dalembert.model.ordering import quoted
from dalembert.model.standard_form import energy
from dalembert.model.symbols import free_parameters
from dalembert.model.system import System
from dalembert.model.validation import expression_problems

ENERGY = "energy"
"""The text that stands for the energy of the Lagrangian."""

TIME_SCALE = "time scale"
"""Name of the parameter that weighs changes of coordinates against changes of velocities."""


@dataclass(frozen=True)
class FirstIntegrals:
    """First integrals of a system; their initial values are further parameters of it.

    names          in messages
    expressions    in the user's symbols
    """

    names: tuple[str, ...]
    expressions: tuple[Any, ...]

    @property
    def initial_values(self) -> tuple[str, ...]:
        """The names of the parameters that hold the initial values."""
        return tuple(f"initial({k})" for k in range(len(self.names)))

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of all parameters that a simulation sets and does not report."""
        return (*self.initial_values, TIME_SCALE)

    def all_expressions(self) -> tuple[Any, ...]:
        """Return all expressions, so that their symbols are parameters of the system."""
        return (*self.expressions, *(sp.Symbol(name, real=True) for name in self.parameters))


def conserving(system: System, conserve: tuple[Any, ...]) -> System:
    """Return the system with first integrals: ``"energy"``, or expressions of the state, time and parameters."""
    return _conserving(system, tuple(e if isinstance(e, str) else as_expression(e, "`conserve`") for e in conserve))


@lru_cache(maxsize=64)
def _conserving(system: System, conserve: tuple[Any, ...]) -> System:
    found = [with_deep_stack(lambda own=own: _integral(system, own), "`conserve`") for own in conserve]
    names, expressions = (tuple(part) for part in zip(*found, strict=True))
    return replace(system, conserved=FirstIntegrals(names, expressions))


def _integral(system: System, given: Any) -> tuple[str, Any]:
    """Return the name and the expression of a first integral."""
    symbols = system.symbols
    if isinstance(given, str):
        if system.lagrangian is None:
            raise InputError(
                f'`conserve="{ENERGY}"` must find the energy of a Lagrangian; this system has none. Make it by '
                f"`da.System.from_lagrangian`, or pass the energy as an expression."
            )
        return ENERGY, symbols.restore(energy(system.lagrangian, symbols))
    expression = graph.evaluated(given)
    problems = expression_problems(system, expression, "`conserve`")
    if problems:
        raise ModelError(problems)
    text = symbols.readable(expression)
    unknown = {symbol.name for symbol in free_parameters([expression])} - set(system.parameter_names)
    if unknown:
        raise InputError(
            f"`conserve` must use only parameters of the system ({quoted(system.parameter_names)}); "
            f"unknown: {quoted(sorted(unknown))}. Give their values in the expression."
        )
    if not graph.free_symbols(symbols.plain(expression)) & {*symbols.q, *symbols.qd}:
        raise InputError(f"`conserve` must depend on coordinates or velocities; got `{text}`. Leave it out.")
    return text, expression
