# SPDX-License-Identifier: BSD-3-Clause
"""Parts of a parsed expression: SymPy objects made one operation at a time, within limits on size and numbers.

Constants are followed as floats beside SymPy's exact numbers, so that 9**9**9 is refused before SymPy computes it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import sympy as sp
from sympy.core.parameters import distribute

from dalembert.model.expression_functions import FUNCTIONS
from dalembert.model.laws import MOST_EVALUATED

MOST_PARTS = 50_000
"""Largest number of parts of an expression, copies included; a sixth of it suffices for the gallery."""

LARGEST_EXPONENT = 1000
"""Largest exponent that is a number."""

LARGEST_DENOMINATOR = 1_000_000
"""Largest denominator of an exponent."""

MOST_BITS = 1100
"""Bits of numerators and denominators: numbers beyond float64 have more."""

HIGHEST_TOWER = 3
"""Largest number of exponential functions inside one another: four exceed every number at moderate arguments."""

LARGEST_FACTORIAL = 170.0
"""Largest argument of a gamma function that is a number."""


class PartError(Exception):
    """An operation that is not allowed; the parser adds its place."""


class Part(NamedTuple):
    """A subexpression.

    expression    a SymPy expression, or a condition
    size          number of its parts, copies included
    value         its value if it is a constant
    tower         number of exponential functions inside one another
    """

    expression: Any
    size: int = 1
    value: float | None = None
    tower: int = 0


def number_part(text: str) -> Part:
    """Return a number: a whole one exactly, a decimal as float64."""
    value = float(text)
    if not math.isfinite(value):
        raise PartError(f"a number must be below 1e308; got `{text[:40]}`.")
    return Part(sp.Integer(text) if text.isdigit() else sp.Float(value), 1, value)


def sum_part(parts: Sequence[Part]) -> Part:
    """Return the sum of some parts."""
    value = _value(lambda *values: math.fsum(values), parts)
    with distribute(False):  # as written: 2*(x + 1) stays a product
        return _part(sp.Add(*_numbers_joined(parts, sp.Add)), parts, value)


def product_part(parts: Sequence[Part]) -> Part:
    """Return the product of some parts."""
    value = _value(lambda *values: math.prod(values), parts)
    if value == 0 and all(part.value for part in parts):
        raise PartError("a constant must be zero or above 1e-308; this product is smaller.")
    with distribute(False):
        return _part(sp.Mul(*_numbers_joined(parts, sp.Mul)), parts, value)


def negative_part(part: Part) -> Part:
    """Return minus a part."""
    value = None if part.value is None else -part.value
    if part.expression.is_Number:
        return _part(-part.expression, [part], value)
    return product_part([Part(sp.S.NegativeOne, 1, -1.0), part])


def reciprocal_part(part: Part) -> Part:
    """Return one divided by a part."""
    return power_part(part, Part(sp.S.NegativeOne, 1, -1.0))


def power_part(base: Part, exponent: Part) -> Part:
    """Return a power."""
    _require_exponent(base, exponent)
    value = _value(_power, [base, exponent])
    if value == 0 and base.value:
        raise PartError("a constant must be zero or above 1e-308; this power is smaller.")
    tower = base.tower if exponent.value is not None else max(base.tower, exponent.tower + 1)
    result = sp.Pow(base.expression, exponent.expression)
    if result.is_Pow and result.exp.is_Rational and abs(result.exp) > LARGEST_EXPONENT:
        raise PartError(f"an exponent must be at most {LARGEST_EXPONENT}; these powers have {result.exp} together.")
    return _part(result, [base, exponent], value, tower)


def function_part(name: str, arguments: Sequence[Part]) -> Part:
    """Return a function of some parts, by its name."""
    function = FUNCTIONS[name]
    value = _value(function.value, arguments)
    if name == "loggamma" and value is not None and arguments[0].value > LARGEST_FACTORIAL:  # pyright: ignore
        raise PartError(f"the argument of `loggamma` must be at most {LARGEST_FACTORIAL:g} if it is a number.")
    small = sum(part.size for part in arguments) <= MOST_EVALUATED  # SymPy compares the parts of large ones for long
    expressions = [part.expression for part in arguments]
    if name == "sqrt":
        result = sp.sqrt(*expressions)
    else:
        if name == "heaviside" and len(expressions) == 1:
            expressions.append(sp.S.Half)
        result = function.make(*expressions, evaluate=True) if small else function.make(*expressions, evaluate=False)
    return _part(result, arguments, value, max(part.tower for part in arguments) + function.grows)


def derivative_part(part: Part, time: Any, most: int = 300) -> Part:
    """Return the time derivative of a part."""
    if part.size > most:
        raise PartError(f"`d(…)` must be of an expression of at most {most} parts; got {part.size}.")
    result = part.expression.diff(time)
    if any(d.derivative_count > 2 for d in result.atoms(sp.Derivative)):
        raise PartError("derivatives must be at most of second order; got one of third order.")
    return Part(result, _limited(_count(result)), None if part.value is None else 0.0, part.tower)


def comparison_part(make: Any, left: Part, right: Part) -> Part:
    """Return a comparison of two parts."""
    small = left.size + right.size <= MOST_EVALUATED
    return _part(make(left.expression, right.expression, evaluate=small), [left, right], None)


def logical_part(make: Any, parts: Sequence[Part]) -> Part:
    """Return conditions joined by And or Or, or one negated by Not."""
    small = sum(part.size for part in parts) <= MOST_EVALUATED
    return _part(make(*(part.expression for part in parts), evaluate=small), parts, None)


def piecewise_part(pairs: Sequence[tuple[Part, Part]]) -> Part:
    """Return the first of some parts whose condition holds."""
    parts = [part for pair in pairs for part in pair]
    small = sum(part.size for part in parts) <= MOST_EVALUATED
    given = [(part.expression, condition.expression) for part, condition in pairs]
    result = sp.Piecewise(*given, evaluate=small)
    if result is sp.nan:
        raise PartError("`piecewise` must have a condition that can hold; none of these can.")
    return _part(result, parts, None)


def _power(base: float, exponent: float) -> float:
    result = base**exponent
    if isinstance(result, complex):
        raise ValueError
    return result


def _value(function: Callable[..., float], parts: Sequence[Part]) -> float | None:
    """Return the value of a function of constants, None if a part is not constant; raise if there is no such value."""
    values = [part.value for part in parts if part.value is not None]
    if len(values) < len(parts):
        return None
    try:
        value = float(function(*values))
    except ZeroDivisionError:
        raise PartError("a constant must not be divided by zero.") from None
    except ValueError:
        raise PartError("a constant must be real; this operation has no real value.") from None
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):
        raise PartError("a constant must be below 1e308; this one is larger.")
    return value


def _require_exponent(base: Part, exponent: Part) -> None:
    if base.value == 0 and exponent.value is not None and exponent.value < 0:
        raise PartError("an expression must not be divided by zero.")
    if exponent.value is None:
        return
    if abs(exponent.value) > LARGEST_EXPONENT:
        raise PartError(f"an exponent must be at most {LARGEST_EXPONENT}; got {exponent.value:g}.")
    exact, number = exponent.expression, base.expression
    if exact.is_Rational and exact.q > LARGEST_DENOMINATOR:
        raise PartError(f"an exponent must have a denominator of at most {LARGEST_DENOMINATOR}; got {exact.q:g}.")
    if number.is_Rational and number and _log2(number) * abs(exponent.value) > MOST_BITS:
        raise PartError("a power of a fraction must have at most 300 digits.")


def _numbers_joined(parts: Sequence[Part], join: Any) -> list[Any]:
    """Return the expressions of parts, with fractions joined one at a time, so that they stay small."""
    exact, others = join.identity, list[Any]()
    for part in parts:
        if part.expression.is_Rational:
            exact = join(exact, part.expression)
            if _bits(exact) > 2 * MOST_BITS:
                raise PartError("a fraction must have at most 300 digits.")
        else:
            others.append(part.expression)
    return others if exact == join.identity and others else [exact, *others]


def _log2(number: Any) -> float:
    """Return the larger logarithm of numerator and denominator."""
    return max(math.log2(abs(int(number.p))), math.log2(int(number.q)))


def _bits(number: Any) -> int:
    return max(int(abs(number.p)).bit_length(), int(number.q).bit_length())


def _part(expression: Any, parts: Sequence[Part], value: float | None, tower: int | None = None) -> Part:
    tower = max((part.tower for part in parts), default=0) if tower is None else tower
    if tower > HIGHEST_TOWER:
        raise PartError(f"at most {HIGHEST_TOWER} exponential functions may be inside one another.")
    return Part(expression, _limited(1 + sum(part.size for part in parts)), value, tower)


def _limited(size: int) -> int:
    if size > MOST_PARTS:
        raise PartError(f"an expression must have at most {MOST_PARTS} parts, those of definitions included.")
    return size


def _count(expression: Any) -> int:
    """Return the number of parts of an expression, up to the limit."""
    waiting, count = [expression], 0
    while waiting and count <= MOST_PARTS:
        waiting += waiting.pop().args
        count += 1
    return count
