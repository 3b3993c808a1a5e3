# SPDX-License-Identifier: BSD-3-Clause
"""Extraction of the values in a recorded program that depend on one input alone, such as time."""

from __future__ import annotations

from dalembert.native.tape import CONDITIONS, Program, Value, needed
from dalembert.numerics.piecewise_polynomial import PiecewisePolynomial

SMOOTH_OPERATIONS = {"input", "fadd", "fsub", "fmul", "sin", "cos"}
"""Operations that cause no isolated event: no jump, and no onset after a long constant interval."""


def functions_of(array: str, program: Program) -> tuple[list[Value], bool]:
    """Return the values that depend only on an input and on parameters, and whether all are steady.

    Only those used by other values or as outputs are returned; conditions are one if true, else zero. A division is
    steady if its denominator is a parameter. So is a signal of the input itself, whose breakpoints are known:
    ``signals_of`` returns it.
    """
    tape, lines, mine = program.tape, needed(program), _lines_of(array, program)
    outside = [a for line in lines if line not in mine for a in tape.lines[line].arguments]
    used = {a.line for a in (*outside, *program.outputs) if isinstance(a, Value)} & mine

    def is_steady(line: int) -> bool:
        name, arguments = tape.lines[line]
        if name == "lookup":
            return tape.lines[arguments[1].line].name == "input"
        by_parameter = name == "fdiv" and not (isinstance(arguments[1], Value) and arguments[1].line in mine)
        return name in SMOOTH_OPERATIONS or by_parameter

    def number(line: int) -> Value:
        value = tape.value(line)
        return tape.record("select", value, 1.0, 0.0) if tape.lines[line].name in CONDITIONS else value

    return [number(line) for line in sorted(used)], all(map(is_steady, mine))


def _lines_of(array: str, program: Program) -> set[int]:
    """Return the lines of a program whose values depend only on an input and on parameters."""
    depends: dict[int, set[str]] = {}
    for line in needed(program):
        name, arguments = program.tape.lines[line]
        own = {str(arguments[0])} if name == "input" else set[str]()
        depends[line] = own.union(*(depends[a.line] for a in arguments if isinstance(a, Value)))
    # parameters are constant during a run, so that a function of time and parameters is one of time
    return {line for line, on in depends.items() if on - {"p"} == {array}}


def decisions_of(array: str, program: Program) -> list[Value]:
    """Return values, zero or one, that jump wherever one that depends only on an input and on parameters may.

    These are comparisons, and whether a number that was rounded to an integer is odd.
    """
    tape, found = program.tape, list[Value]()
    for line in sorted(_lines_of(array, program)):
        name, value = tape.lines[line].name, tape.value(line)
        if name in ("<", "<=", "=="):
            found.append(tape.record("select", value, 1.0, 0.0))
        elif name in ("floor", "ceil"):
            # the parity changes by one at each jump, however large the integer is
            found.append(value - 2 * tape.record("floor", value / 2))
    return found


def signals_of(array: str, program: Program) -> tuple[PiecewisePolynomial, ...]:
    """Return the signals of an input itself, such as time, in a recorded program."""
    lines = program.tape.lines
    lookups = [lines[line].arguments for line in needed(program) if lines[line].name == "lookup"]
    return tuple(dict.fromkeys(polynomial for polynomial, x in lookups if lines[x.line] == ("input", (array, 0))))
