# SPDX-License-Identifier: BSD-3-Clause
"""Automatic differentiation of recorded programs in forward mode.

The same rules apply to numbers, where derivatives are arrays, and to tapes, where they become further lines.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.native.tape import Program, Tape, Value, computed, needed

Do = Callable[..., Any]
"""A function that applies an operation, given by its name, to numbers or to values on a tape."""

NONE = np.empty(0)
BELL = 2 / math.sqrt(math.pi)

_DERIVATIVE_RULES: dict[str, Callable[[Do, Any, Any, Any], Any]] = {
    # functions of the result r, the arguments a and their derivatives d
    # where possible in terms of r, which has been computed already
    "fadd": lambda do, r, a, d: d[0] + d[1],
    "fsub": lambda do, r, a, d: d[0] - d[1],
    "fmul": lambda do, r, a, d: d[0] * a[1] + d[1] * a[0],
    "fdiv": lambda do, r, a, d: (d[0] - r * d[1]) / a[1],
    "sqrt": lambda do, r, a, d: d[0] / (2 * r),
    "fabs": lambda do, r, a, d: do("select", do("<", a[0], 0.0), -d[0], d[0]),
    "select": lambda do, r, a, d: do("select", a[0], d[1], d[2]),
    "lookup": lambda do, r, a, d: d[1] * do("lookup", a[0].derivative, a[1]),
    "sin": lambda do, r, a, d: d[0] * do("cos", a[0]),
    "cos": lambda do, r, a, d: -d[0] * do("sin", a[0]),
    "tan": lambda do, r, a, d: d[0] * (1 + r * r),
    "asin": lambda do, r, a, d: d[0] / do("sqrt", 1 - a[0] * a[0]),
    "acos": lambda do, r, a, d: -d[0] / do("sqrt", 1 - a[0] * a[0]),
    "atan": lambda do, r, a, d: d[0] / (1 + a[0] * a[0]),
    "atan2": lambda do, r, a, d: (d[0] * a[1] - d[1] * a[0]) / (a[0] * a[0] + a[1] * a[1]),
    "sinh": lambda do, r, a, d: d[0] * do("cosh", a[0]),
    "cosh": lambda do, r, a, d: d[0] * do("sinh", a[0]),
    "tanh": lambda do, r, a, d: d[0] * (1 - r * r),
    "asinh": lambda do, r, a, d: d[0] / do("sqrt", a[0] * a[0] + 1),
    "acosh": lambda do, r, a, d: d[0] / do("sqrt", a[0] * a[0] - 1),
    "atanh": lambda do, r, a, d: d[0] / (1 - a[0] * a[0]),
    "exp": lambda do, r, a, d: d[0] * r,
    "log": lambda do, r, a, d: d[0] / a[0],
    "pow": lambda do, r, a, d: d[0] * a[1] * do("pow", a[0], a[1] - 1) + _exponential(do, r, a[0], d[1]),
    "erf": lambda do, r, a, d: d[0] * BELL * do("exp", -a[0] * a[0]),
    "erfc": lambda do, r, a, d: -d[0] * BELL * do("exp", -a[0] * a[0]),
    "lgamma": lambda do, r, a, d: d[0] * do("digamma", a[0]),
    "tgamma": lambda do, r, a, d: d[0] * r * do("digamma", a[0]),
}
"""Derivatives of the operations; those without a rule are piecewise constant."""


def _exponential(do: Do, r: Any, base: Any, d: Any) -> Any:
    # the logarithm of a negative base is NaN, though its powers with constant exponents have derivatives
    return 0 if _zero(d) else d * r * do("log", base)


def _zero(d: Any) -> bool:
    return isinstance(d, (int, float)) and d == 0


def _derivative(do: Do, name: str, r: Any, a: Sequence[Any], d: Sequence[Any]) -> Any:
    return _DERIVATIVE_RULES[name](do, r, a, d) if name in _DERIVATIVE_RULES and not all(map(_zero, d)) else 0


def differentiated(
    program: Program, y: Floats, t: float, p: Floats, further: Floats = NONE, their_slopes: Floats = NONE
) -> tuple[Floats, Floats]:
    """Return the outputs (k,) of a program at a state y and their derivatives (k, 2n) with respect to it.

    ``further`` are the inputs called "a", which depend on the state with derivatives of their own. The tape is
    interpreted in Python: for a single state this is much faster than compiling it.
    """
    inputs: Mapping[str, Any] = {"y": y, "t": [t], "p": p, "a": further}
    changing: Mapping[str, Any] = {"y": np.eye(len(y)), "a": their_slopes}
    lines = program.tape.lines
    values: list[Any] = [0.0] * len(lines)
    slopes: list[Any] = [0] * len(lines)

    def of(found: list[Any], argument: Any, otherwise: Any) -> Any:
        return found[argument.line] if isinstance(argument, Value) else otherwise

    with np.errstate(all="ignore"):  # the unselected branch of a selection need not have a derivative
        for line in needed(program):
            name, arguments = lines[line]
            if name == "input":
                array, place = arguments
                values[line] = float(inputs[array][place])
                slopes[line] = changing[array][place] if array in changing else 0
                continue
            a = [of(values, argument, argument) for argument in arguments]
            d = [of(slopes, argument, 0) for argument in arguments]
            values[line] = _number(name, *a)
            slopes[line] = _derivative(_number, name, values[line], a, d)
    outputs = program.outputs
    jacobian = np.zeros((len(outputs), len(y)))
    for row, output in zip(jacobian, outputs, strict=True):
        row += of(slopes, output, 0)
    return np.array([float(of(values, output, output)) for output in outputs]), jacobian


def _number(name: str, *arguments: Any) -> Any:
    if name == "digamma":
        import scipy.special  # imported here, since it is slow to import and rarely needed

        return float(scipy.special.digamma(*arguments))
    if name == "lookup":  # signals are continued beyond their ranges: structure is found at any numbers
        return float(arguments[0].continued(arguments[1]))
    return computed(name, *arguments)


def along(tape: Tape, outputs: Sequence[Any], directions: Mapping[Any, Any]) -> list[Any]:
    """Return the directional derivatives of values on a tape, as further values on it.

    ``directions`` holds the derivatives of inputs, by array and index, or of other values, by line.
    """
    slopes: dict[int, Any] = {}
    # other operations refer to a negative by the value without its sign
    unsigned = {key: tape.signed(tape.value(key)) for key in directions if isinstance(key, int)}
    directions = dict(directions) | {own.value.line: own.sign * directions[key] for key, own in unsigned.items()}

    def of(argument: Any) -> Any:
        return slopes[argument.line] if isinstance(argument, Value) else 0

    # only the lines that the outputs need: derivatives of others would only make the tape longer
    for line in needed(Program(tape, list(outputs))):
        name, arguments = tape.lines[line]
        if name == "input" or line in directions:
            slopes[line] = directions.get(arguments if name == "input" else line, 0)
        else:
            slopes[line] = _derivative(tape.record, name, tape.value(line), arguments, [of(a) for a in arguments])
    return [of(output) for output in outputs]
