# SPDX-License-Identifier: BSD-3-Clause
"""Programs as text of a programming language: numbered assignments, and an expression for each output."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from dalembert.native.tape import CONDITIONS, Operation, Program, Value, needed, uses
from dalembert.numerics.piecewise_polynomial import PiecewisePolynomial

MOST_INLINE_CHARACTERS = 72
"""Characters of an expression that is written inside another one; longer ones get a name."""


CHOICE, OR, AND, COMPARISON, SUM, PRODUCT, SIGN, ATOM = range(8)
"""Precedence of the operations: an operand of lower precedence is put in parentheses."""


class Text(NamedTuple):
    """An expression, and how tightly its outermost operation binds."""

    text: str
    binding: int

    def within(self, binding: int) -> str:
        """Return the expression as an operand of an operation that binds so tightly."""
        return self.text if self.binding >= binding else f"({self.text})"


class Assignment(NamedTuple):
    """A named value: its expression, and whether it is true or false instead of a number."""

    name: str
    text: str
    is_condition: bool


class Language(ABC):
    """The spelling of constants and operations in a programming language."""

    @abstractmethod
    def constant(self, value: Any) -> Text:
        """Return a number, or a truth value."""

    @abstractmethod
    def logical(self, name: str, operands: Sequence[Text]) -> Text:
        """Return "and", "or", "not", or "select", which is a choice between two values by a condition."""

    @abstractmethod
    def function(self, name: str) -> str:
        """Return the name of a function of the C library."""

    def operation(self, name: str, operands: Sequence[Text]) -> Text:
        """Return an operation on expressions; they are evaluated in the same order as on the tape."""
        if name in _INFIX:
            sign, binding = _INFIX[name]
            first, second = operands
            if name == "fmul" and first.text == "-1.0":  # how the tape records a negation
                return Text(f"-{second.within(SIGN + 1)}", SIGN)
            # a − (b − c) and a/(b/c) need their parentheses, and so do sums and products to be rounded alike
            return Text(f"{first.within(binding)}{sign}{second.within(binding + 1)}", binding)
        if name in ("and", "or", "not", "select"):
            return self.logical(name, operands)
        return Text(f"{self.function(name)}({', '.join(operand.text for operand in operands)})", ATOM)


_INFIX = {
    "fadd": (" + ", SUM),
    "fsub": (" - ", SUM),
    "fmul": ("*", PRODUCT),
    "fdiv": ("/", PRODUCT),
    "<": (" < ", COMPARISON),
    "<=": (" <= ", COMPARISON),
    "==": (" == ", COMPARISON),
}


def decimal(value: float) -> Text:
    """Return the shortest decimal number that is read back as the same float."""
    text = repr(float(value))
    return Text(text, SIGN if text.startswith("-") else ATOM)


def program_text(
    program: Program, language: Language, names: Mapping[tuple[str, int], str]
) -> tuple[list[Assignment], list[str]]:
    """Return the assignments of a program in order, and the expressions of its outputs.

    ``names`` are those of the inputs, by array and index. A value that is used once is written where it is used, unless
    that expression would be long.
    """
    # a tape also holds what other programs, and abandoned attempts of simplification, recorded
    lines = needed(program)
    counts = uses(program, lines)
    written: dict[int, Text] = {}
    conditions: set[int] = set()
    assignments: list[Assignment] = []

    def text(a: Any) -> Text:
        return written[a.line] if isinstance(a, Value) else language.constant(a)

    for line in lines:
        operation = program.tape.lines[line]
        if operation.name == "input":
            written[line] = Text(names[operation.arguments], ATOM)
            continue
        if _is_condition(operation, conditions):
            conditions.add(line)
        if operation.name == "lookup":
            polynomial, place = operation.arguments
            own = Text(f"{lookup_name(polynomial)}({text(place).text})", ATOM)
        else:
            own = language.operation(operation.name, [text(a) for a in operation.arguments])
        if counts[line] > 1 or len(own.text) > MOST_INLINE_CHARACTERS:
            name = f"v{len(assignments) + 1}"
            assignments.append(Assignment(name, own.text, line in conditions))
            own = Text(name, ATOM)
        written[line] = own
    return assignments, [text(output).text for output in program.outputs]


def lookup_name(polynomial: PiecewisePolynomial) -> str:
    """Return the name of the function of a signal."""
    return f"signal_{polynomial.digest[:12]}"


class Input(NamedTuple):
    """An input of a program in another language: the name of the variable, and the expression of its value."""

    variable: str
    value: str


def inputs_of(program: Program) -> list[tuple[str, int]]:
    """Return the inputs that a program uses, by array and index."""
    operations = (program.tape.lines[line] for line in needed(program))
    return sorted(operation.arguments for operation in operations if operation.name == "input")


def _is_condition(operation: Operation, conditions: set[int]) -> bool:
    if operation.name != "select":
        return operation.name in CONDITIONS
    chosen = operation.arguments[1:]
    return all(isinstance(a, bool) or (isinstance(a, Value) and a.line in conditions) for a in chosen)
