# SPDX-License-Identifier: BSD-3-Clause
"""Automatic differentiation of a recorded program: every value carries its derivatives along.

The tape is walked once in Python. For a single state that takes far less time than compiling anything would.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.special
from numpy.typing import NDArray

from dalembert.native.tape import ARITHMETIC, Program, Value

Floats = NDArray[np.float64]

_SLOPES: dict[str, Callable[..., tuple[float, ...]]] = {
    "fadd": lambda a, b: (1.0, 1.0),
    "fsub": lambda a, b: (1.0, -1.0),
    "fmul": lambda a, b: (b, a),
    "fdiv": lambda a, b: (1 / b, -a / b**2),
    "sqrt": lambda a: (0.5 / math.sqrt(a),),
    "fabs": lambda a: (math.copysign(1.0, a),),
    "select": lambda condition, a, b: (0.0, 1.0, 0.0) if condition else (0.0, 0.0, 1.0),
    "sin": lambda a: (math.cos(a),),
    "cos": lambda a: (-math.sin(a),),
    "tan": lambda a: (1 + math.tan(a) ** 2,),
    "asin": lambda a: (1 / math.sqrt(1 - a**2),),
    "acos": lambda a: (-1 / math.sqrt(1 - a**2),),
    "atan": lambda a: (1 / (1 + a**2),),
    "atan2": lambda a, b: (b / (a**2 + b**2), -a / (a**2 + b**2)),
    "sinh": lambda a: (math.cosh(a),),
    "cosh": lambda a: (math.sinh(a),),
    "tanh": lambda a: (1 - math.tanh(a) ** 2,),
    "asinh": lambda a: (1 / math.sqrt(a**2 + 1),),
    "acosh": lambda a: (1 / math.sqrt(a**2 - 1),),
    "atanh": lambda a: (1 / (1 - a**2),),
    "exp": lambda a: (math.exp(a),),
    "log": lambda a: (1 / a,),
    "pow": lambda a, b: (b * math.pow(a, b - 1), math.pow(a, b) * math.log(a) if a > 0 else 0.0),
    "erf": lambda a: (2 / math.sqrt(math.pi) * math.exp(-(a**2)),),
    "erfc": lambda a: (-2 / math.sqrt(math.pi) * math.exp(-(a**2)),),
    "lgamma": lambda a: (float(scipy.special.digamma(a)),),
    "tgamma": lambda a: (math.gamma(a) * float(scipy.special.digamma(a)),),
}
"""Partial derivatives of an operation by its arguments; what is missing here is piecewise constant."""


def differentiated(program: Program, y: Floats, t: float, p: Floats) -> tuple[Floats, Floats]:
    """The outputs (k,) of a program and their derivatives (k, 2n) by the state y."""
    given: Mapping[str, Any] = {"y": y, "t": [t], "p": p}
    values: list[Any] = []
    slopes: list[Floats | None] = []  # None for what does not depend on the state

    def value(a: Any) -> Any:
        return values[a.line] if isinstance(a, Value) else a

    def slope(a: Any) -> Floats | None:
        return slopes[a.line] if isinstance(a, Value) else None

    for name, arguments in program.tape.lines:
        if name == "input":
            array, place = arguments
            values.append(float(given[array][place]))
            slopes.append(np.eye(len(y))[place] if array == "y" else None)
            continue
        numbers = [value(a) for a in arguments]
        values.append(_result(name, numbers))
        carried = [(k, s) for k, s in enumerate(map(slope, arguments)) if s is not None]
        partial = _SLOPES[name](*numbers) if carried and name in _SLOPES else ()
        terms = [partial[k] * s for k, s in carried if partial and partial[k]]
        slopes.append(sum(terms[1:], terms[0]) if terms else None)
    nothing = np.zeros(len(y))
    found = [slope(output) for output in program.outputs]
    return np.array([float(value(o)) for o in program.outputs]), np.array([nothing if s is None else s for s in found])


def _result(name: str, numbers: list[Any]) -> Any:
    try:
        return ARITHMETIC[name](*numbers)
    except (ArithmeticError, ValueError):
        return math.nan
