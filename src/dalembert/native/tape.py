# SPDX-License-Identifier: BSD-3-Clause
"""Recording of arithmetic on a tape: values that record the operations applied to them, each distinct one once."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from dalembert.native.signs import Signed, record_without_signs
from dalembert.numerics.piecewise_polynomial import PiecewisePolynomial

Number = (int, float)

LIBRARY = {
    name: getattr(math, name)
    for name in (
        *("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
        *("exp", "log", "pow", "erf", "erfc", "lgamma", "floor", "ceil"),
    )
} | {"tgamma": math.gamma}
"""Functions of the C library by name, with Python's equivalents for constants."""

CONDITIONS = frozenset({"<", "<=", "==", "and", "or", "not"})
"""Operations whose results are true or false."""

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
    "lookup": lambda polynomial, x: float(polynomial(x)),
    **LIBRARY,
}


def computed(name: str, *arguments: Any) -> Any:
    """Return the result of an operation on numbers; NaN where it is undefined, as the compiled code returns."""
    try:
        return ARITHMETIC[name](*arguments)
    except (ArithmeticError, ValueError):
        return math.nan


class Operation(NamedTuple):
    """One line of a tape: the name of an operation and its arguments, values or constants."""

    name: str
    arguments: tuple[Any, ...]


class Tape:
    """The lines of a program, in order; the same operation on the same arguments is recorded once.

    A line named "input" stands for an input, by the name of its array and its index there. The first argument of
    "lookup" is a ``PiecewisePolynomial``, which is evaluated at the second one. Signs are taken out of the
    operations: see ``signs``.
    """

    def __init__(self) -> None:
        self.lines: list[Operation] = []
        self._values: list[Value] = []
        # values compare by identity, so that equal keys mean the same operation on the same lines
        self._known: dict[Operation, Value] = {}
        self._constant: list[bool] = []

    def input(self, array: str, place: int) -> Value:
        return self._line(Operation("input", (array, place)))

    def record(self, name: str, *arguments: Any) -> Any:
        """Return the result of an operation: a number if all arguments are numbers, else a recorded value."""
        if all(isinstance(a, Number) for a in arguments):
            return computed(name, *arguments)
        # a condition that is known selects now; the other branch is then not computed
        if name == "select" and isinstance(arguments[0], Number):
            return arguments[1] if arguments[0] else arguments[2]
        if name in ("and", "or") and any(isinstance(a, Number) for a in arguments):
            known, other = sorted(arguments, key=lambda a: not isinstance(a, Number))
            return other if bool(known) == (name == "and") else bool(known)
        return record_without_signs(self, name, arguments)

    def line(self, name: str, *arguments: Any) -> Value:
        """Return the value of an operation, recorded as it is."""
        if name in ("fadd", "fmul"):  # commutative: sorted, so that equal operations are recognised
            arguments = tuple(sorted(arguments, key=lambda a: a.line if isinstance(a, Value) else -1))
        return self._line(Operation(name, arguments))

    def signed(self, value: Any) -> Signed:
        """Return the sign of a value or a number, and the rest."""
        if isinstance(value, Number):
            # of zeros and NaN the sign is kept where it is
            return Signed(-1.0, -value) if value < 0 else Signed(1.0, value)
        name, arguments = self.lines[value.line]
        if name == "fmul" and _is(arguments[0], -1):
            return Signed(*arguments)
        return Signed(1.0, value)

    def is_constant(self, value: Any) -> bool:
        """Return whether a number or a recorded value depends on parameters alone; steps need not compute it."""
        if not isinstance(value, Value):
            return True
        # line by line, since an expression may be nested more deeply than Python calls functions
        for name, arguments in self.lines[len(self._constant) : value.line + 1]:
            inner = (self._constant[a.line] for a in arguments if isinstance(a, Value))
            self._constant.append(arguments[0] == "p" if name == "input" else all(inner))
        return self._constant[value.line]

    def subtract(self, a: Any, b: Any) -> Any:
        """Return a − b; a term b of a sum or a difference a cancels."""
        own, other = self.signed(a), self.signed(b)
        terms = self._terms(own)
        for term, rest in zip(terms, reversed(terms), strict=True):
            if term.value is other.value and term.sign == other.sign:
                return rest.sign * rest.value
        return a - b

    def _terms(self, own: Signed) -> list[Signed]:
        """Return the two terms of a value that is a sum or a difference; none of another value."""
        name, arguments = self.lines[own.value.line] if isinstance(own.value, Value) else ("number", ())
        if name not in ("fadd", "fsub"):
            return []
        first, second = map(self.signed, arguments)
        signs = first.sign * own.sign, second.sign * (own.sign if name == "fadd" else -own.sign)
        return [Signed(sign, term.value) for sign, term in zip(signs, (first, second), strict=True)]

    def value(self, line: int) -> Value:
        """Return the value of a line."""
        return self._values[line]

    def _line(self, operation: Operation) -> Value:
        if operation not in self._known:
            self._known[operation] = Value(self, len(self.lines))
            self._values.append(self._known[operation])
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
        if _is(other, 0):  # also for a value that becomes infinite: zero entries of M and A are structural
            return 0
        return self if _is(other, 1) else self.tape.record("fmul", self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self if _is(other, 1) else self.tape.record("fdiv", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return 0 if _is(other, 0) else self.tape.record("fdiv", other, self)

    def __neg__(self) -> Any:
        return self.tape.record("fmul", -1.0, self)


def _is(a: Any, number: int) -> bool:
    return isinstance(a, Number) and a == number


class Program(NamedTuple):
    """A tape and the values that are its outputs. Inputs are y = (q, qd), t and the parameters p."""

    tape: Tape
    outputs: list[Any]


def needed(program: Program) -> list[int]:
    """Return the lines that the outputs depend on, in order."""
    # several programs may be recorded on one tape, each with lines that the others do not need
    lines = {output.line for output in program.outputs if isinstance(output, Value)}
    for line in reversed(range(len(program.tape.lines))):
        if line in lines:
            lines |= {a.line for a in program.tape.lines[line].arguments if isinstance(a, Value)}
    return sorted(lines)


def uses(program: Program, lines: Sequence[int]) -> Counter[int]:
    """Return how often each line is used, by other lines and as an output."""
    operands = [a for line in lines for a in program.tape.lines[line].arguments]
    return Counter(a.line for a in (*operands, *program.outputs) if isinstance(a, Value))


DIVISION = 8
"""Operations that take as long as a division or a square root."""


def operations(program: Program) -> int:
    """Return how many operations the outputs need, in multiples of an addition or a multiplication."""
    names = [program.tape.lines[line].name for line in needed(program)]
    return sum(DIVISION if name in ("fdiv", "sqrt") else 1 for name in names)


def polynomials_of(*programs: Program) -> list[PiecewisePolynomial]:
    """Return the piecewise polynomials that some programs look up, each once."""
    lines = (program.tape.lines[line] for program in programs for line in needed(program))
    return [*dict.fromkeys(operation.arguments[0] for operation in lines if operation.name == "lookup")]


class EnergyTerms(NamedTuple):
    """Lengths of the parts of the output of ``energy_terms``: forces, multipliers, laws, A, energies, and validity.

    ``input_forces`` are those of each actuator, which ``applied_force`` does not include. ``law_nonideal`` are the
    vectors C of each law, ``law_forces`` the nonideal constraint forces that they cause.
    """

    applied_force: int
    input_forces: int
    ideal_force: int
    nonideal_force: int
    multipliers: int
    reactions: int
    law_nonideal: int
    law_forces: int
    constraint_matrix: int
    kinetic: int
    energy: int
    transport: int
    well_conditioned: int


class HotPrograms(NamedTuple):
    """The programs of every step.

    accelerate    the acceleration, and whether it is well conditioned
    project       the projection onto the constraints, or None
    agree         whether the rows left out follow from those in use, or None if all rows are in use
    resolve       whether a step resolves friction near rest, or None: see ``lowering.friction_resolution``
    """

    accelerate: Program
    project: Program | None
    agree: Program | None
    resolve: Program | None


class OutputLengths(NamedTuple):
    """Lengths of the parts of the program ``outputs``: acceleration, forces, multipliers, residuals, energy, C, A.

    A is included only if rows are left out: the shortest multipliers are then computed from it afterwards. The last
    part is one if the solution is well conditioned, else zero.
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
    well_conditioned: int
