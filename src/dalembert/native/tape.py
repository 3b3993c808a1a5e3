# SPDX-License-Identifier: BSD-3-Clause
"""Arithmetic written down instead of done: numbers that record what is computed with them, each result once."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

Number = (int, float)

LIBRARY = {
    name: getattr(math, name)
    for name in (
        *("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
        *("exp", "log", "pow", "erf", "erfc", "lgamma", "floor", "ceil"),
    )
} | {"tgamma": math.gamma}
"""Functions of the C library by name, with what Python makes of them on known numbers."""

ARITHMETIC: dict[str, Callable[..., Any]] = {
    "fadd": lambda a, b: a + b,
    "fsub": lambda a, b: a - b,
    "fmul": lambda a, b: a * b,
    "fdiv": lambda a, b: a / b,
    "sqrt": math.sqrt,
    "fabs": abs,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    "==": lambda a, b: a == b,
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
    "not": lambda a: not a,
    "select": lambda condition, a, b: a if condition else b,
    **LIBRARY,
}


class Operation(NamedTuple):
    """One line of a tape: what is done, and with which values or known numbers."""

    name: str
    arguments: tuple[Any, ...]


class Tape:
    """The lines of a program, in order; the same operation on the same arguments is written down once.

    A line named "input" stands for a number given from outside, by the array it is in and its place there.
    """

    def __init__(self) -> None:
        self.lines: list[Operation] = []
        self._known: dict[Operation, Value] = {}

    def input(self, array: str, place: int) -> Value:
        return self._line(Operation("input", (array, place)))

    def record(self, name: str, *arguments: Any) -> Any:
        """The result of an operation: a number where all arguments are numbers, else a value to be computed."""
        if all(isinstance(a, Number) for a in arguments):
            try:
                return ARITHMETIC[name](*arguments)
            except (ArithmeticError, ValueError):
                return math.nan
        if name == "select" and isinstance(arguments[0], Number):
            return arguments[1] if arguments[0] else arguments[2]
        if name in ("fadd", "fmul"):  # in one order, to be recognised
            arguments = tuple(sorted(arguments, key=lambda a: a.line if isinstance(a, Value) else -1))
        return self._line(Operation(name, arguments))

    def _line(self, operation: Operation) -> Value:
        if operation not in self._known:
            self._known[operation] = Value(self, len(self.lines))
            self.lines.append(operation)
        return self._known[operation]


class Value:
    """A number known only when the program runs."""

    __slots__ = ("line", "tape")

    def __init__(self, tape: Tape, line: int):
        self.tape = tape
        self.line = line

    def __add__(self, other: Any) -> Any:
        return self if _is(other, 0) else self.tape.record("fadd", self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self if _is(other, 0) else self.tape.record("fsub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return self.tape.record("fsub", other, self)

    def __mul__(self, other: Any) -> Any:
        if _is(other, 0):
            return 0
        return self if _is(other, 1) else self.tape.record("fmul", self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self if _is(other, 1) else self.tape.record("fdiv", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return 0 if _is(other, 0) else self.tape.record("fdiv", other, self)

    def __neg__(self) -> Any:
        return self.tape.record("fsub", -0.0, self)


def _is(a: Any, number: int) -> bool:
    return isinstance(a, Number) and a == number


class Program(NamedTuple):
    """A tape and which of its values are the answer. Inputs are y = (q, qd), t and the parameters p."""

    tape: Tape
    outputs: list[Any]


class EnergyTerms(NamedTuple):
    """How the output of ``energy_terms`` is divided: forces, multipliers, forces of each law, A, energies, and trust.

    ``law_natures`` are C of each law, ``law_forces`` the nonideal constraint force that follows from it.
    """

    applied_force: int
    ideal_force: int
    nonideal_force: int
    multipliers: int
    reactions: int
    law_natures: int
    law_forces: int
    constraint_matrix: int
    kinetic: int
    energy: int
    transport: int
    well_conditioned: int


class OutputLengths(NamedTuple):
    """How the output of ``account`` is divided: acceleration, forces, multipliers, residuals, energy, C, A.

    A is told only where rows are left out: then the shortest multipliers are found from it afterwards.
    """

    acceleration: int
    ideal_force: int
    nonideal_force: int
    multipliers: int
    reactions: int
    position: int
    velocity: int
    residual: int
    energy: int
    nonideal_c: int
    constraint_matrix: int
