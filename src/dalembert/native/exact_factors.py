# SPDX-License-Identifier: BSD-3-Clause
"""Signs and powers of two are taken out of recorded operations, so that equal operations are recognised more often.

A third of the operations of equations of motion are negations and factors of two, from the gradients of squares: x −
y stands beside y − x, and 2 x y beside x y. Floating-point arithmetic commutes with both: −(x − y) is y − x, and 2 (x
+ y) is 2 x + 2 y, to the last bit unless a number overflows or underflows. So each value is recorded as an exact
factor times an operation on values without factors. A factor is applied only where a sum needs it. There it is nearly
free, since processors fuse c x + y into one instruction.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

ODD_FUNCTIONS = frozenset({"sin", "tan", "asin", "atan", "sinh", "tanh", "asinh", "atanh", "erf"})
"""Functions with f(−x) = −f(x)."""

EVEN_FUNCTIONS = frozenset({"cos", "cosh"})
"""Functions with f(−x) = f(x)."""


class Multiple(NamedTuple):
    """An exact factor, ±2ᵏ, and a recorded value without such a factor."""

    factor: float
    value: Any


class Lines(Protocol):
    """The lines of a tape."""

    def line(self, name: str, *arguments: Any) -> Any:
        """Return the value of an operation, recorded as it is."""
        ...

    def multiple(self, value: Any) -> Multiple:
        """Return the constant factor of a value, and what it multiplies."""
        ...

    def product(self, value: Any) -> tuple[Any, Any] | None:
        """Return the two recorded values whose product a value is, or None."""
        ...

    def factored(self, value: Any) -> Multiple:
        """Return the exact factor of a value, and what it multiplies."""
        ...


def is_exact(number: float) -> bool:
    """Return whether a number is ±2ᵏ, so that products with it are not rounded."""
    return abs(math.frexp(number)[0]) == 1 / 2


def recorded(tape: Lines, name: str, arguments: tuple[Any, ...]) -> Any:
    """Return the value of an operation, of whose arguments at least one is a recorded value."""
    rule = _FACTOR_RULES.get(name)
    numbers = [a for a in arguments if isinstance(a, (int, float))]
    # a product with zero tests whether a value is finite: it is kept, and so is what is not finite
    if rule is None or not all(map(math.isfinite, numbers)) or (name in ("fmul", "fdiv") and 0 in numbers):
        return tape.line(name, *arguments)
    return rule(tape, *arguments)


def _is_number(a: Any) -> bool:
    return isinstance(a, (int, float))


def _times(tape: Lines, factor: float, value: Any) -> Any:
    """Record a value with an exact factor."""
    if abs(factor) != 1:
        number, x = tape.multiple(value)
        if number != 1:  # one product instead of two, with the same result
            return _times(tape, _sign(factor), tape.line("fmul", abs(factor) * number, x))
    return value if factor == 1 else tape.line("fmul", factor, value)


def _sign(number: float) -> float:
    return math.copysign(1.0, number)


def _product(tape: Lines, a: Any, b: Any) -> Any:
    if _is_number(b):
        a, b = b, a
    g, y = tape.factored(b)
    if not _is_number(a):
        f, x = tape.factored(a)
        return _times(tape, f * g, tape.line("fmul", x, y))
    whole = a * g
    return _times(tape, whole, y) if is_exact(whole) else _times(tape, _sign(whole), tape.line("fmul", abs(whole), y))


def _quotient(tape: Lines, a: Any, b: Any) -> Any:
    if _is_number(b):
        f, x = tape.factored(a)
        return _times(tape, f / b, x) if is_exact(b) else _times(tape, f * _sign(b), tape.line("fdiv", x, abs(b)))
    g, y = tape.factored(b)
    if not _is_number(a):
        f, x = tape.factored(a)
    else:  # one reciprocal serves all quotients of powers of two
        f, x = (a, 1.0) if is_exact(a) else (_sign(a), abs(a))
    return _times(tape, f / g, tape.line("fdiv", x, y))


def _sum(tape: Lines, a: Any, b: Any) -> Any:
    if _is_number(b):
        a, b = b, a
    second = tape.factored(b)
    return _shifted(tape, a, second) if _is_number(a) else _joined(tape, tape.factored(a), second)


def _difference(tape: Lines, a: Any, b: Any) -> Any:
    if _is_number(b):
        return _shifted(tape, -b, tape.factored(a))
    g, y = tape.factored(b)
    second = Multiple(-g, y)
    return _shifted(tape, a, second) if _is_number(a) else _joined(tape, tape.factored(a), second)


def _shifted(tape: Lines, number: float, a: Multiple) -> Any:
    """Record a number plus a value."""
    if number == 0:
        return _times(tape, *a)
    return tape.line("fadd" if a.factor > 0 else "fsub", number, _times(tape, abs(a.factor), a.value))


def _joined(tape: Lines, a: Multiple, b: Multiple) -> Any:
    """Record the sum of two values."""
    # the factor nearest to one stays outside: others may then never be applied
    outer, inner = sorted((a, b), key=lambda own: (abs(math.log2(abs(own.factor))), own.value.line))
    ratio = inner.factor / outer.factor
    other = _multiplied(tape, abs(ratio), inner.value)
    return _times(tape, outer.factor, tape.line("fadd" if ratio > 0 else "fsub", outer.value, other))


def _multiplied(tape: Lines, factor: float, value: Any) -> Any:
    """Record a value with an exact factor, as an operand of a sum.

    The factor of a product is given to the factor of it that was recorded first, which other products share: the
    product and the sum are then fused.
    """
    product = tape.product(value)
    if abs(factor) == 1 or product is None:
        return _times(tape, factor, value)
    return tape.line("fmul", _times(tape, factor, product[0]), product[1])


def _absolute(tape: Lines, a: Any) -> Any:
    factor, x = tape.factored(a)
    return _times(tape, abs(factor), tape.line("fabs", x))


def _root(tape: Lines, a: Any) -> Any:
    factor, x = tape.factored(a)
    root = math.sqrt(factor) if factor > 0 else math.nan
    return _times(tape, root, tape.line("sqrt", x)) if is_exact(root) else tape.line("sqrt", a)


def _odd(name: str) -> Callable[..., Any]:
    def rule(tape: Lines, a: Any) -> Any:
        factor, x = tape.factored(a)
        return _times(tape, _sign(factor), tape.line(name, _times(tape, abs(factor), x)))

    return rule


def _even(name: str) -> Callable[..., Any]:
    def rule(tape: Lines, a: Any) -> Any:
        factor, x = tape.factored(a)
        return tape.line(name, _times(tape, abs(factor), x))

    return rule


def _selection(tape: Lines, condition: Any, a: Any, b: Any) -> Any:
    """Record a selection between values with the same factor, or between a value and zero."""
    if _is_number(a) == _is_number(b):
        if _is_number(a):
            return tape.line("select", condition, a, b)
        (f, x), (g, y) = tape.factored(a), tape.factored(b)
        return _times(tape, f, tape.line("select", condition, x, y)) if f == g else tape.line("select", condition, a, b)
    if 0 not in (a, b):
        return tape.line("select", condition, a, b)
    f, x = tape.factored(b if _is_number(a) else a)
    return _times(tape, f, tape.line("select", condition, *((0.0, x) if _is_number(a) else (x, 0.0))))


def _comparison(name: str) -> Callable[..., Any]:
    def rule(tape: Lines, a: Any, b: Any) -> Any:
        """Record a comparison in which at least one side has no exact factor, and none is negative on both sides."""
        (f, x), (g, y) = (Multiple(1.0, c) if _is_number(c) else tape.factored(c) for c in (a, b))
        scale = abs(f if g == 1 else g)
        left, right = (c / scale if _is_number(c) else _times(tape, k / scale, c) for k, c in ((f, x), (g, y)))
        return tape.line(name, left, right)

    return rule


_FACTOR_RULES: dict[str, Callable[..., Any]] = {
    "fadd": _sum,
    "fsub": _difference,
    "fmul": _product,
    "fdiv": _quotient,
    "fabs": _absolute,
    "sqrt": _root,
    "select": _selection,
    **{name: _comparison(name) for name in ("<", "<=")},
    **{name: _odd(name) for name in ODD_FUNCTIONS},
    **{name: _even(name) for name in EVEN_FUNCTIONS},
}
