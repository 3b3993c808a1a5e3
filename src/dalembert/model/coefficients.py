# SPDX-License-Identifier: BSD-3-Clause
"""Checks of parameter values: the sign of the coefficients of laws, and the assumptions of the symbols.

SymPy simplifies according to the assumptions of a symbol, for example √m² to m. A value that contradicts them would
belong to another model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import sympy as sp

from dalembert.errors import InputError
from dalembert.model import graph
from dalembert.model.control_form import servo_coefficients
from dalembert.model.numeric_function import numeric_function
from dalembert.model.symbols import ConstraintSymbol, free_parameters, functions_of_time, real_symbol, t
from dalembert.model.system import System


class _CheckedCoefficients(NamedTuple):
    """Coefficients of a system that depend on parameters only.

    what        for each its name and its owner
    names       for each the parameters on which it depends
    otherwise   for each what happens if it is negative; empty if it must be positive
    plain       the coefficients as expressions of real symbols
    values      function of all parameters, numbers or arrays
    """

    what: tuple[str, ...]
    names: tuple[tuple[str, ...], ...]
    otherwise: tuple[str, ...]
    plain: tuple[Any, ...]
    values: Callable[..., Sequence[Any]]


def refuse_negative_coefficients(system: System, p: Sequence[Any]) -> None:
    """Raise if parameter values make a coefficient negative, or contradict the assumptions of their symbols."""
    for k, what, holds in _declared(system):
        if not holds(p[k]):
            name = system.parameter_names[k]
            raise InputError(f"`{name}` must be {what}, as its symbol was declared; got {float(p[k]):g}. {REMEDY}")
    checked = _checked_coefficients(system)
    if checked is None:
        return
    for what, names, off, value in _violations(checked, p):
        if off.any():
            given = ", ".join(f"`{name}` = {float(p[system.parameter_names.index(name)]):g}" for name in names)
            raise InputError(f"{what}; got {float(value):g} from {given}.")


def negative_coefficients(system: System, p: Any) -> dict[int, str]:
    """Return the problem with the parameters p (k, N) of each ensemble member that has one, by index."""
    reasons: dict[int, str] = {}
    for k, what, holds in _declared(system):
        condition = f"`{system.parameter_names[k]}` must be {what}, as its symbol was declared"
        reasons |= {int(i): f"{condition}; got {p[k, i]:g}." for i in np.flatnonzero(~holds(p[k]))}
    checked, count = _checked_coefficients(system), p.shape[1]
    for what, _, off, value in [] if checked is None else _violations(checked, p):
        values = np.broadcast_to(value, count)
        reasons |= {int(k): f"{what}; got {values[k]:g}." for k in np.flatnonzero(np.broadcast_to(off, count))}
    return reasons


def parameters_not_negative(system: System) -> set[str]:
    """Return the names of the parameters that are themselves coefficients that must not be negative."""
    checked = _checked_coefficients(system)
    return set() if checked is None else {str(plain) for plain in checked.plain if plain.is_Symbol}


def _violations(checked: _CheckedCoefficients, p: Sequence[Any]) -> list[tuple[str, tuple[str, ...], Any, Any]]:
    """Return for each coefficient its condition, its parameters, where the condition fails, and its values."""
    found: list[tuple[str, tuple[str, ...], Any, Any]] = []
    values = (np.asarray(value, float) for value in checked.values(*p))
    for what, names, otherwise, value in zip(*checked[:3], values, strict=True):
        found.append((condition(what, otherwise), names, value < 0 if otherwise else value <= 0, value))
    return found


def condition(what: str, otherwise: str) -> str:
    """Return what must hold for a coefficient, given what happens if it is negative; empty if it must be positive."""
    return f"{what} must not be negative, or {otherwise}" if otherwise else f"{what} must be positive"


class ParameterCondition(NamedTuple):
    """A condition on the parameters: an expression of real symbols, the sign that it must have, as in ``DECLARED``,
    and the sentence to show where it does not."""

    expression: Any
    sign: str
    sentence: str


def parameter_conditions(system: System) -> list[ParameterCondition]:
    """Return the conditions that ``refuse_negative_coefficients`` checks."""
    found: list[ParameterCondition] = []
    for k, sign, _ in _declared(system):
        name = system.parameter_names[k]
        sentence = f"`{name}` must be {sign}, as its symbol was declared"
        found.append(ParameterCondition(sp.Symbol(name, real=True), sign, sentence))
    checked = _checked_coefficients(system)
    if checked is not None:
        for what, otherwise, expression in zip(checked.what, checked.otherwise, checked.plain, strict=True):
            sign = "positive or zero" if otherwise else "positive"
            found.append(ParameterCondition(expression, sign, condition(what, otherwise)))
    return found


REMEDY = "Give such a value, or declare the symbol without that assumption."

DECLARED: tuple[tuple[str, str, Callable[[Any], Any]], ...] = (
    ("is_positive", "positive", lambda value: value > 0),
    ("is_negative", "negative", lambda value: value < 0),
    ("is_nonnegative", "positive or zero", lambda value: value >= 0),
    ("is_nonpositive", "negative or zero", lambda value: value <= 0),
    ("is_nonzero", "other than zero", lambda value: value != 0),
)
"""Assumptions of a symbol in SymPy, the strongest first, with their description and a test of a value."""

SIGN_TESTS = {sign: test for _, sign, test in DECLARED}
"""The tests of a value, by the signs of ``ParameterCondition``."""


@lru_cache(maxsize=256)
def _declared(system: System) -> tuple[tuple[int, str, Callable[[Any], Any]], ...]:
    """Return the parameters with an assumed sign: index, description of the assumption, and test of a value."""
    found: list[tuple[int, str, Callable[[Any], Any]]] = []
    for symbol in sorted(free_parameters(system.expressions()), key=str):
        known = (entry for entry in DECLARED if getattr(symbol, entry[0]))
        if (entry := next(known, None)) is not None:
            found.append((system.parameter_names.index(symbol.name), *entry[1:]))
    return tuple(found)


@lru_cache(maxsize=256)
def _checked_coefficients(system: System) -> _CheckedCoefficients | None:
    given = [(f"`{c.name}` of {placed.described}", c) for placed in system.laws for c in placed.law.coefficients]
    given += [(f"`{c.name}` of {owner}", c) for owner, c in (*system.coefficients, *servo_coefficients(system.servos))]
    entries = [(what, c, free_parameters([c.value])) for what, c in given if _of_parameters(c.value)]
    if not entries:
        return None
    parameters = [sp.Symbol(name, real=True) for name in system.parameter_names]
    plain = [graph.replace(c.value, {symbol: real_symbol(symbol) for symbol in symbols}) for _, c, symbols in entries]
    return _CheckedCoefficients(
        tuple(what for what, _, _ in entries),
        tuple(tuple(sorted(symbol.name for symbol in symbols)) for _, _, symbols in entries),
        tuple("" if c.positive else c.otherwise for _, c, _ in entries),
        tuple(plain),
        numeric_function(parameters, plain, "numpy"),
    )


def _of_parameters(value: Any) -> bool:
    """Return whether a coefficient depends on parameters only; numbers are checked when the law is made."""
    moving = functions_of_time(value) or graph.has_kind(value, ConstraintSymbol) or t in graph.free_symbols(value)
    return bool(free_parameters([value])) and not moving
