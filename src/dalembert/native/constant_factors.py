# SPDX-License-Identifier: BSD-3-Clause
"""Constant factors are taken out of recorded operations, so that steps do not multiply with them again and again.

Masses and lengths enter equations of motion in many places: as entries of M and A, in forces, and as reciprocals of
pivots. A program repeats them in every product, multiplies both terms of a sum by the same constant, and divides by a
mass what it has multiplied by it before. As ``signs`` does for signs, a program is therefore written as products of a
constant and an operation on values without constant factors. Constants are then combined, some cancel, and the others
depend on parameters alone, so that steps need not compute them.

Nothing is divided by a parameter by which the program does not divide: parameters may be zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from dalembert.native.tape import Program, Tape, Value, needed, operations, uses

SUMS = ("fadd", "fsub")


class ScaledValue(NamedTuple):
    """The product of a number, powers of constant values, and a value that is no such product, or 1.

    The exponents of constant values are given by their lines on the tape; none is zero.
    """

    number: float
    powers: Mapping[int, int]
    core: Any


def with_constants_combined(program: Program) -> Program:
    """Return a program whose constant factors are combined, or the program itself if that takes no fewer operations."""
    found = _Rewriting(program).program()
    fewer = operations_of_step(found) < operations_of_step(program) and operations(found) <= operations(program)
    return found if fewer else program


def operations_of_step(program: Program) -> int:
    """Return how many operations depend on more than parameters; a product that only a sum needs is fused with it."""
    tape, lines = program.tape, needed(program)
    steps = {line for line in lines if not tape.is_constant(tape.value(line)) and tape.lines[line].name != "input"}
    counts = uses(program, lines)
    alone = {line for line in steps if tape.lines[line].name == "fmul" and counts[line] == 1}
    sums = (tape.lines[line].arguments for line in steps if tape.lines[line].name in SUMS)
    return len(steps) - sum(any(isinstance(a, Value) and a.line in alone for a in terms) for terms in sums)


def _flags(program: Program) -> set[int]:
    """Return the comparisons that only decide whether a flag among the outputs is one or zero.

    Flags tell that a solution is well conditioned: both sides of such a comparison are positive if it is.
    """
    lines, outputs = program.tape.lines, _recorded(program.outputs)
    flags = {k for k in outputs if lines[k].name == "select" and lines[k].arguments[1:] == (1.0, 0.0)}
    deciding, waiting = set(flags), [k for flag in flags for k in _recorded(lines[flag].arguments[:1])]
    while waiting:
        line = waiting.pop()
        deciding.add(line)
        waiting += _recorded(lines[line].arguments) if lines[line].name == "and" else []
    # what also serves something else is known from the end of the program on
    others = {k for k in outputs if k not in flags}
    for line in reversed(needed(program)):
        if line not in deciding or line in others:
            others.update(_recorded(lines[line].arguments))
    return {line for line in deciding - others if lines[line].name == "<"}


def _recorded(arguments: Sequence[Any]) -> list[int]:
    """Return the lines of arguments that are recorded values."""
    return [a.line for a in arguments if isinstance(a, Value)]


class _Rewriting:
    """Records a program once more on a new tape."""

    def __init__(self, program: Program):
        self.old, self.tape, self.flags = program, Tape(), _flags(program)
        self._found: dict[int, ScaledValue] = {}
        self._products: dict[tuple[Any, ...], Any] = {}

    def program(self) -> Program:
        """Return the new program."""
        for line in needed(self.old):
            name, arguments = self.old.tape.lines[line]
            self._found[line] = self._flag(arguments) if line in self.flags else self._line(name, arguments)
        return Program(self.tape, [self._argument(output) for output in self.old.outputs])

    def _line(self, name: str, arguments: tuple[Any, ...]) -> ScaledValue:
        """Record a line of the old program."""
        if name == "input":
            return self._separated(self.tape.input(*arguments))
        if name in ("fmul", "fdiv", *SUMS):
            first, second = map(self._factored, arguments)
            # a zero has no factor that could be taken out, and Python does not divide by it
            if name == "fmul" or (name == "fdiv" and second.number != 0):
                return self._product(first, second, 1 if name == "fmul" else -1)
            if name in SUMS and first.number != 0 and second.number != 0:
                return self._sum(first, second, 1 if name == "fadd" else -1)
        return self._separated(self.tape.record(name, *map(self._argument, arguments)))

    def _flag(self, arguments: tuple[Any, ...]) -> ScaledValue:
        """Record a < b without a factor that both have in common; false, too, if that factor is not positive."""
        a, b = map(self._factored, arguments)
        if not (a.powers == b.powers and a.powers and b.number > 0):
            return self._separated(self.tape.record("<", *map(self._value, (a, b))))
        first, second = (
            self._value(ScaledValue(a.number / b.number, {}, a.core)),
            self._value(ScaledValue(1.0, {}, b.core)),
        )
        positive = self.tape.record("<", 0.0, self._value(ScaledValue(1.0, b.powers, 1)))
        return self._separated(self.tape.record("and", positive, self.tape.record("<", first, second)))

    def _factored(self, a: Any) -> ScaledValue:
        """Return a value of the old program, or a number."""
        return self._found[a.line] if isinstance(a, Value) else ScaledValue(float(a), {}, 1)

    def _argument(self, a: Any) -> Any:
        """Return an argument of the old program on the new tape."""
        return self._value(self._found[a.line]) if isinstance(a, Value) else a

    def _separated(self, value: Any) -> ScaledValue:
        """Return a value on the new tape with its sign as a factor; a constant is a factor itself."""
        if not isinstance(value, Value):
            return ScaledValue(float(value), {}, 1)
        sign, rest = self.tape.signed(value)
        return ScaledValue(sign, {rest.line: 1}, 1) if self.tape.is_constant(rest) else ScaledValue(sign, {}, rest)

    def _product(self, a: ScaledValue, b: ScaledValue, exponent: int) -> ScaledValue:
        """Return a b, or a / b for an exponent of −1."""
        number = a.number * b.number if exponent > 0 else a.number / b.number
        core = self._separated(a.core * b.core if exponent > 0 else a.core / b.core)
        return ScaledValue(number * core.number, _multiplied(a.powers, b.powers, exponent), core.core)

    def _sum(self, a: ScaledValue, b: ScaledValue, sign: int) -> ScaledValue:
        """Return a ± b, with the factors taken out that both have in common."""
        common = {
            line: (min if own > 0 else max)(own, b.powers[line])
            for line, own in a.powers.items()
            if own * b.powers.get(line, 0) > 0
        }
        # ±c a ± c b = c (±a ± b): other numbers would need one more product, not one fewer
        number = a.number if abs(a.number) == abs(b.number) else 1.0
        first = self._value(ScaledValue(a.number / number, _multiplied(a.powers, common, -1), a.core))
        second = self._value(ScaledValue(sign * b.number / number, _multiplied(b.powers, common, -1), b.core))
        inner = self._separated(first + second)
        return ScaledValue(number * inner.number, _multiplied(common, inner.powers, 1), inner.core)

    def _value(self, own: ScaledValue) -> Any:
        """Record the product of all factors; constants first, whose product is then the same for all steps."""
        key = own.number, tuple(sorted(own.powers.items())), own.core
        if key not in self._products:
            above, below = own.number, 1
            for line, exponent in key[1]:
                for _ in range(abs(exponent)):
                    if exponent > 0:
                        above = above * self.tape.value(line)
                    else:
                        below = below * self.tape.value(line)
            self._products[key] = above / below * own.core
        return self._products[key]


def _multiplied(a: Mapping[int, int], b: Mapping[int, int], exponent: int) -> dict[int, int]:
    """Return the powers a b, or a / b for an exponent of −1."""
    total = dict(a)
    for line, own in b.items():
        total[line] = total.get(line, 0) + exponent * own
    return {line: own for line, own in total.items() if own}
