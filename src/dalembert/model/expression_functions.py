# SPDX-License-Identifier: BSD-3-Clause
"""The functions that expressions in text may use, for the parser and for the printer."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import sympy as sp


@dataclass(frozen=True)
class TextFunction:
    """A function by its name in text.

    make        its SymPy class
    value       the same function of floats, which raises ``ValueError`` or ``ArithmeticError`` outside its domain
    fewest, most    numbers of its arguments; ``most`` is None if there is no limit
    grows       whether it grows like the exponential function
    """

    make: Any
    value: Callable[..., float]
    fewest: int = 1
    most: int | None = 1
    grows: bool = False


def _sign(x: float) -> float:
    return float((x > 0) - (x < 0))


def _heaviside(x: float, at_zero: float = 0.5) -> float:
    return at_zero if x == 0 else float(x > 0)


def _modulo(x: float, y: float) -> float:
    return x - y * math.floor(x / y)


def _sinc(x: float) -> float:
    return math.sin(x) / x if x else 1.0


def _acot(x: float) -> float:
    return math.atan(1 / x) if x else math.pi / 2


def _reciprocal_of(function: Callable[[float], float]) -> Callable[[float], float]:
    return lambda x: 1 / function(x)


def _of_reciprocal(function: Callable[[float], float]) -> Callable[[float], float]:
    return lambda x: function(1 / x)


FUNCTIONS: dict[str, TextFunction] = {
    "sqrt": TextFunction(sp.sqrt, math.sqrt),
    "exp": TextFunction(sp.exp, math.exp, grows=True),
    "log": TextFunction(sp.log, math.log),
    "sin": TextFunction(sp.sin, math.sin),
    "cos": TextFunction(sp.cos, math.cos),
    "tan": TextFunction(sp.tan, math.tan),
    "cot": TextFunction(sp.cot, _reciprocal_of(math.tan)),
    "sec": TextFunction(sp.sec, _reciprocal_of(math.cos)),
    "csc": TextFunction(sp.csc, _reciprocal_of(math.sin)),
    "asin": TextFunction(sp.asin, math.asin),
    "acos": TextFunction(sp.acos, math.acos),
    "atan": TextFunction(sp.atan, math.atan),
    "acot": TextFunction(sp.acot, _acot),
    "asec": TextFunction(sp.asec, _of_reciprocal(math.acos)),
    "acsc": TextFunction(sp.acsc, _of_reciprocal(math.asin)),
    "atan2": TextFunction(sp.atan2, math.atan2, 2, 2),
    "sinh": TextFunction(sp.sinh, math.sinh, grows=True),
    "cosh": TextFunction(sp.cosh, math.cosh, grows=True),
    "tanh": TextFunction(sp.tanh, math.tanh),
    "coth": TextFunction(sp.coth, _reciprocal_of(math.tanh)),
    "sech": TextFunction(sp.sech, _reciprocal_of(math.cosh), grows=True),
    "csch": TextFunction(sp.csch, _reciprocal_of(math.sinh), grows=True),
    "asinh": TextFunction(sp.asinh, math.asinh),
    "acosh": TextFunction(sp.acosh, math.acosh),
    "atanh": TextFunction(sp.atanh, math.atanh),
    "acoth": TextFunction(sp.acoth, _of_reciprocal(math.atanh)),
    "asech": TextFunction(sp.asech, _of_reciprocal(math.acosh)),
    "acsch": TextFunction(sp.acsch, _of_reciprocal(math.asinh)),
    "abs": TextFunction(sp.Abs, math.fabs),
    "sign": TextFunction(sp.sign, _sign),
    "min": TextFunction(sp.Min, min, 2, None),
    "max": TextFunction(sp.Max, max, 2, None),
    "heaviside": TextFunction(sp.Heaviside, _heaviside, 1, 2),
    "floor": TextFunction(sp.floor, math.floor),
    "ceiling": TextFunction(sp.ceiling, math.ceil),
    "frac": TextFunction(sp.frac, lambda x: x - math.floor(x)),
    "mod": TextFunction(sp.Mod, _modulo, 2, 2),
    "sinc": TextFunction(sp.sinc, _sinc),
    "erf": TextFunction(sp.erf, math.erf),
    "erfc": TextFunction(sp.erfc, math.erfc),
    "gamma": TextFunction(sp.gamma, math.gamma, grows=True),
    "loggamma": TextFunction(sp.loggamma, math.lgamma),
}
"""All functions by name. ``SYNTAX_FUNCTIONS`` have a syntax of their own."""

NAME_OF_FUNCTION: dict[Any, str] = {function.make: name for name, function in FUNCTIONS.items() if name != "sqrt"}
"""The name in text of a SymPy class."""

SYNTAX_FUNCTIONS = ("d", "piecewise", "ideal_force", "multiplier", "reaction")
"""Functions whose arguments are not plain expressions, or not of the model's names."""

ALIASES = {"ln": "log", "ceil": "ceiling", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2"}
"""Further names that the parser accepts."""

WORDS = ("if", "and", "or", "not", "true", "false")
"""Words of the grammar, which are not names."""
