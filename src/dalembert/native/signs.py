# SPDX-License-Identifier: BSD-3-Clause
"""Signs are taken out of recorded operations, so that equal operations are recognised more often.

Many operations of equations of motion differ from another one by a sign only: x − y stands beside y − x, a pivot
beside its negative. Floating-point arithmetic commutes with signs to the last bit, so each value is recorded as a
sign times an operation on values without signs. A sign is applied only in the end, since sums and products take it in
for nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

ODD_FUNCTIONS = frozenset({"sin", "tan", "asin", "atan", "sinh", "tanh", "asinh", "atanh", "erf"})
"""Functions with f(−x) = −f(x)."""

EVEN_FUNCTIONS = frozenset({"fabs", "cos", "cosh"})
"""Functions with f(−x) = f(x)."""


class Signed(NamedTuple):
    """A sign, ±1, and a recorded value that is no negative, or a number that is not negative."""

    sign: float
    value: Any


class Lines(Protocol):
    """The lines of a tape."""

    def line(self, name: str, *arguments: Any) -> Any:
        """Return the value of an operation, recorded as it is."""
        ...

    def signed(self, value: Any) -> Signed:
        """Return the sign of a value or a number, and the rest."""
        ...


def record_without_signs(tape: Lines, name: str, arguments: tuple[Any, ...]) -> Any:
    """Return the value of an operation, of whose arguments at least one is a recorded value."""
    rule = _SIGN_RULES.get(name)
    return tape.line(name, *arguments) if rule is None else rule(tape, *arguments)


def _is_number(a: Any) -> bool:
    return isinstance(a, (int, float))


def _with_sign(tape: Lines, sign: float, value: Any) -> Any:
    if sign > 0:
        return value
    return -value if _is_number(value) else tape.line("fmul", -1.0, value)


def _product(tape: Lines, a: Any, b: Any) -> Any:
    (f, x), (g, y) = tape.signed(a), tape.signed(b)
    # a product with one is the other factor
    if 1 in (x, y):
        return _with_sign(tape, f * g, y if _is_number(x) else x)
    return _with_sign(tape, f * g, tape.line("fmul", x, y))


def _quotient(tape: Lines, a: Any, b: Any) -> Any:
    (f, x), (g, y) = tape.signed(a), tape.signed(b)
    return _with_sign(tape, f * g, tape.line("fdiv", x, y))


def _sum(tape: Lines, a: Any, b: Any) -> Any:
    return _joined(tape, tape.signed(a), tape.signed(b))


def _difference(tape: Lines, a: Any, b: Any) -> Any:
    g, y = tape.signed(b)
    return _joined(tape, tape.signed(a), Signed(-g, y))


def _joined(tape: Lines, a: Signed, b: Signed) -> Any:
    """Record the sum of two values, or of a value and a number."""
    for own, other in ((a, b), (b, a)):
        if _is_number(own.value):
            if own.value == 0:
                return _with_sign(tape, *other)
            number = own.sign * own.value
            return tape.line("fadd" if other.sign > 0 else "fsub", number, other.value)
    if a.sign == b.sign:
        return _with_sign(tape, a.sign, tape.line("fadd", a.value, b.value))
    # in the order of the tape, so that a − b and b − a are one line
    first, second = sorted((a, b), key=lambda own: own.value.line)
    return _with_sign(tape, first.sign, tape.line("fsub", first.value, second.value))


def _odd(name: str) -> Callable[[Lines, Any], Any]:
    def rule(tape: Lines, a: Any) -> Any:
        sign, x = tape.signed(a)
        return _with_sign(tape, sign, tape.line(name, x))

    return rule


def _even(name: str) -> Callable[[Lines, Any], Any]:
    return lambda tape, a: tape.line(name, tape.signed(a).value)


def _selection(tape: Lines, condition: Any, a: Any, b: Any) -> Any:
    """Record a selection between two values of the same sign, or between a value and zero, without the sign."""
    (f, x), (g, y) = tape.signed(a), tape.signed(b)
    if _is_number(a) and _is_number(b):
        return tape.line("select", condition, a, b)
    # zero has both signs
    signs = {sign for sign, own in ((f, x), (g, y)) if not (_is_number(own) and own == 0)}
    if len(signs) == 1:
        return _with_sign(tape, signs.pop(), tape.line("select", condition, x, y))
    return tape.line("select", condition, a, b)


_SIGN_RULES: dict[str, Callable[..., Any]] = {
    "fadd": _sum,
    "fsub": _difference,
    "fmul": _product,
    "fdiv": _quotient,
    "select": _selection,
    **{name: _odd(name) for name in ODD_FUNCTIONS},
    **{name: _even(name) for name in EVEN_FUNCTIONS},
}
