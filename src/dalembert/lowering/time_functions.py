# SPDX-License-Identifier: BSD-3-Clause
"""The parts of a recorded program that depend on one input alone."""

from __future__ import annotations

from dalembert.native.assembly import needed
from dalembert.native.tape import Program, Value

STEADY = {"input", "fadd", "fsub", "fmul", "sin", "cos"}
"""Operations that make no isolated event out of time: no jump, and no change after a long quiet span."""


def functions_of(array: str, program: Program) -> tuple[list[Value], bool]:
    """The values that depend on an input and parameters alone and that the rest is made from; whether all are steady.

    A division is steady if it is by a parameter.
    """
    tape, lines = program.tape, needed(program)
    depends: dict[int, set[str]] = {}
    for line in lines:
        name, arguments = tape.lines[line]
        own = {str(arguments[0])} if name == "input" else set[str]()
        depends[line] = own.union(*(depends[a.line] for a in arguments if isinstance(a, Value)))
    mine = {line for line, on in depends.items() if on - {"p"} == {array}}
    outside = [a for line in lines if line not in mine for a in tape.lines[line].arguments]
    used = {a.line for a in (*outside, *program.outputs) if isinstance(a, Value)} & mine

    def is_steady(line: int) -> bool:
        name, arguments = tape.lines[line]
        by_parameter = name == "fdiv" and not (isinstance(arguments[1], Value) and arguments[1].line in mine)
        return name in STEADY or by_parameter

    return [Value(tape, line) for line in sorted(used)], all(map(is_steady, mine))
