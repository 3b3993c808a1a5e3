# SPDX-License-Identifier: BSD-3-Clause
"""Programs as functions in C99, which use no more than <math.h>."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dalembert.native.program_text import (
    AND,
    ATOM,
    CHOICE,
    OR,
    SIGN,
    Input,
    Language,
    Text,
    decimal,
    inputs_of,
    program_text,
)
from dalembert.native.tape import Program, Value


class C99(Language):
    """The spelling of constants and operations in C."""

    def constant(self, value: Any) -> Text:
        if isinstance(value, bool):
            return Text(str(int(value)), ATOM)
        if math.isnan(value):
            return Text("NAN", ATOM)
        if math.isinf(value):
            return Text("INFINITY", ATOM) if value > 0 else Text("-INFINITY", SIGN)
        return decimal(value)

    def logical(self, name: str, operands: Sequence[Text]) -> Text:
        if name == "not":
            return Text(f"!{operands[0].within(ATOM)}", SIGN)
        if name == "select":
            condition, first, second = (operand.within(CHOICE + 1) for operand in operands)
            return Text(f"{condition} ? {first} : {second}", CHOICE)
        sign, binding = ("&&", AND) if name == "and" else ("||", OR)
        if name == "and" and operands[0].text == "1":  # chains of conditions are recorded from "true" on
            return operands[1]
        # `a || b && c` makes compilers warn: an operand with another logical operation is put in parentheses
        return Text(f" {sign} ".join(_beside(operand, binding) for operand in operands), binding)

    def function(self, name: str) -> str:
        return name


def _beside(operand: Text, binding: int) -> str:
    return operand.text if operand.binding == binding or operand.binding > AND else f"({operand.text})"


def c_function(
    head: str,
    program: Program,
    inputs: Mapping[tuple[str, int], Input],
    outputs: Sequence[str],
    condition: Any,
    finite: str,
) -> str:
    """Return a function in C that computes a program.

    head         its declaration, with arguments y, t and p
    inputs       variables by array and index
    outputs      the targets of the outputs, such as ``out[0]``
    condition    a recorded truth value, whether the outputs are valid
    finite       a C expression, whether they are finite
    """
    whole = Program(program.tape, [*program.outputs, condition])
    names = {key: own.variable for key, own in inputs.items()}
    assignments, (*texts, valid) = program_text(whole, C99(), names)
    used = inputs_of(whole)
    lines = [f"const double {inputs[key].variable} = {inputs[key].value};" for key in used if key[0] != "t"]
    lines += [f"const {'int' if own.is_condition else 'double'} {own.name} = {own.text};" for own in assignments]
    lines += [f"{target} = {text};" for target, text in zip(outputs, texts, strict=True)]
    unused = [argument for argument in "ytp" if argument not in {array for array, _ in used}]
    lines += [f"(void){argument};" for argument in unused]
    lines += [f"return {finite};" if valid == "1" else f"return ({valid}) && {finite};"]
    return "\n".join([head, "{", *(f"    {line}" for line in lines), "}"])


def condition_of(program: Program) -> Any:
    """Return the condition of the last output of a program, which is one where it holds, else zero."""
    flag = program.outputs[-1]
    if not isinstance(flag, Value):
        return bool(flag)
    operation = program.tape.lines[flag.line]
    assert operation.name == "select" and operation.arguments[1:] == (1.0, 0.0)
    return operation.arguments[0]
