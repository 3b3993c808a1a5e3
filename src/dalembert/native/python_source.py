# SPDX-License-Identifier: BSD-3-Clause
"""Programs as functions in Python, on numbers or NumPy arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dalembert.native.program_text import ATOM, SIGN, Input, Language, Text, decimal, inputs_of, program_text
from dalembert.native.tape import Program

NUMPY_NAMES = {
    **{name: name for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "log", "sqrt", "fabs")},
    **{name: name for name in ("floor", "ceil")},
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
    "atan2": "arctan2",
    "pow": "power",
    "asinh": "arcsinh",
    "acosh": "arccosh",
    "atanh": "arctanh",
}
"""Functions of the C library as NumPy names them."""

MATH_NAMES = {"erf": "erf", "erfc": "erfc", "lgamma": "lgamma", "tgamma": "gamma"}
"""Functions that NumPy does not have, as Python's ``math`` names them."""


class NumPyCode(Language):
    """The spelling of constants and operations in Python with NumPy."""

    def constant(self, value: Any) -> Text:
        if isinstance(value, bool):
            return Text(str(value), ATOM)
        if math.isnan(value):
            return Text("np.nan", ATOM)
        if math.isinf(value):
            return Text("np.inf", ATOM) if value > 0 else Text("-np.inf", SIGN)
        return decimal(value)

    def logical(self, name: str, operands: Sequence[Text]) -> Text:
        function = "np.where" if name == "select" else f"np.logical_{name}"
        return Text(f"{function}({', '.join(operand.text for operand in operands)})", ATOM)

    def function(self, name: str) -> str:
        return f"np.{NUMPY_NAMES[name]}" if name in NUMPY_NAMES else f"_{name}"


def python_function(
    head: str, about: str, program: Program, inputs: Mapping[tuple[str, int], Input], condition: Any
) -> str:
    """Return a function in Python of y, t and p that returns the outputs of a program and whether they are valid."""
    whole = Program(program.tape, [*program.outputs, condition])
    names = {key: own.variable for key, own in inputs.items()}
    assignments, (*texts, valid) = program_text(whole, NumPyCode(), names)
    lines = [f'"""{about}"""', "y, t, p = _arrays(y, t, p)"]
    lines += [f"{inputs[key].variable} = {inputs[key].value}" for key in inputs_of(whole) if key[0] != "t"]
    lines += [f"{own.name} = {own.text}" for own in assignments]
    lines += [f"return _stacked(y, [{', '.join(texts)}], {valid})"]
    # undefined values show in the validity; those of a branch that is not chosen do not matter
    return "\n".join(['@np.errstate(all="ignore")', head, *(f"    {line}" for line in lines)])
