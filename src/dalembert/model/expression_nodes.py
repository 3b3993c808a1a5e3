# SPDX-License-Identifier: BSD-3-Clause
"""Parts of a parsed expression: SymPy objects made one operation at a time, within limits on size and numbers.

Constants are followed as floats beside SymPy's exact numbers, so that 9**9**9 is refused before SymPy computes it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import sympy as sp

from dalembert.model.expression_functions import FUNCTIONS
from dalembert.model.expression_work import MOST_CONDITIONS
from dalembert.model.sliding_expressions import MOST_EVALUATED

MOST_NODES_READ = 40_000
"""Largest number of parts of an expression, copies included; a fifth of it suffices for the gallery."""

MOST_FACTORS = 25
"""Largest number of different factors of a product: its second derivatives grow with the cube of their number."""

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


class OperationError(Exception):
    """An operation that is not allowed; the parser adds its place."""


class Parsed(NamedTuple):
    """A subexpression.

    expression    a SymPy expression, or a condition
    size          number of its parts, copies included
    value         its value if it is a constant
    tower         number of exponential functions inside one another
    work          of making it from a text; 0 for a part of one
    """

    expression: Any
    size: int = 1
    value: float | None = None
    tower: int = 0
    work: int = 0

    @property
    def constant(self) -> float:
        """The value of a part that must be a constant."""
        assert self.value is not None
        return self.value


def number_part(text: str) -> Parsed:
    """Return a number: a whole one exactly, a decimal as float64."""
    value = float(text)
    if not math.isfinite(value):
        raise OperationError(f"a number must be below 1e308; got `{text[:40]}`.")
    return Parsed(sp.Integer(text) if text.isdigit() else sp.Float(value), 1, value)


def sum_part(parts: Sequence[Parsed]) -> Parsed:
    """Return the sum of some parts."""
    value = _value(lambda *values: math.fsum(values), parts)
    return _part(sp.Add(*_numbers_joined([part.expression for part in parts], sp.Add)), parts, value)


def product_part(parts: Sequence[Parsed]) -> Parsed:
    """Return the product of some parts; 2*(x + 1) stays a product, which SymPy would multiply out."""
    value = _value(lambda *values: math.prod(values), parts)
    if value == 0 and all(part.value for part in parts):
        raise OperationError("a constant must be zero or above 1e-308; this product is smaller.")
    factors = [factor for part in parts for factor in part.expression.as_coeff_Mul()]
    number, *others = _numbers_joined(factors, sp.Mul)
    # counted before SymPy combines them, which takes long for thousands of roots
    if len({base for one in others for base in _bases(one)}) > MOST_FACTORS:
        raise OperationError(f"a product must have at most {MOST_FACTORS} different factors.")
    rest = sp.Mul(*others)
    split = rest.is_Add and number.is_Number and number not in (0, 1)
    return _part(sp.Mul(number, rest, evaluate=False) if split else sp.Mul(number, rest), parts, value)


def _bases(expression: Any) -> list[Any]:
    return [factor.as_base_exp()[0] for factor in sp.Mul.make_args(expression)]


def negative_part(part: Parsed) -> Parsed:
    """Return minus a part."""
    value = None if part.value is None else -part.value
    if part.expression.is_Number:
        return _part(-part.expression, [part], value)
    return product_part([Parsed(sp.S.NegativeOne, 1, -1.0), part])


def reciprocal_part(part: Parsed) -> Parsed:
    """Return one divided by a part."""
    return power_part(part, Parsed(sp.S.NegativeOne, 1, -1.0))


def power_part(base: Parsed, exponent: Parsed) -> Parsed:
    """Return a power."""
    _require_exponent(base, exponent)
    value = _value(_power, [base, exponent])
    if value == 0 and base.value:
        raise OperationError("a constant must be zero or above 1e-308; this power is smaller.")
    # SymPy takes long for constants such as 3**3**(1/3), whose exponents are no plain numbers
    tower = base.tower if exponent.expression.is_Number else max(base.tower, exponent.tower + 1)
    result: Any = _power_of(base, exponent.expression)
    if result.is_Pow and result.exp.is_Rational and abs(result.exp) > LARGEST_EXPONENT:
        raise OperationError(f"an exponent must be at most {LARGEST_EXPONENT}; got {result.exp} in all.")
    return _part(result, [base, exponent], value, tower)


def _power_of(base: Parsed, exponent: Any) -> Any:
    """Return a power; that of a large sum stays as it is, because SymPy asks for the sign of every part of the sum."""
    large = base.expression.is_Add and base.size > MOST_EVALUATED and exponent not in (0, 1)
    return sp.Pow(base.expression, exponent, evaluate=not large)


def function_part(name: str, arguments: Sequence[Parsed]) -> Parsed:
    """Return a function of some parts, by its name."""
    function = FUNCTIONS[name]
    value = _value(function.value, arguments)
    if name == "loggamma" and value is not None and arguments[0].value > LARGEST_FACTORIAL:  # pyright: ignore
        raise OperationError(f"the argument of `loggamma` must be at most {LARGEST_FACTORIAL:g} if it is a number.")
    small = sum(part.size for part in arguments) <= MOST_EVALUATED  # SymPy compares the parts of large ones for long
    expressions = [part.expression for part in arguments]
    if name == "sqrt":
        result = _power_of(arguments[0], sp.S.Half)
    else:
        if name == "heaviside" and len(expressions) == 1:
            expressions.append(sp.S.Half)
        result = function.make(*expressions, evaluate=True) if small else function.make(*expressions, evaluate=False)
    return _part(result, arguments, value, max(part.tower for part in arguments) + function.grows)


def derivative_part(part: Parsed, time: Any, most: int = 300) -> Parsed:
    """Return the time derivative of a part."""
    if part.size > most:
        raise OperationError(f"`d(…)` must be of an expression of at most {most} parts; got {part.size}.")
    result = part.expression.diff(time)
    if any(d.derivative_count > 2 for d in result.atoms(sp.Derivative)):
        raise OperationError("derivatives must be at most of second order; got one of third order.")
    return Parsed(result, _limited(_count(result)), None if part.value is None else 0.0, part.tower)


def comparison_part(make: Any, left: Parsed, right: Parsed) -> Parsed:
    """Return a comparison of two parts."""
    small = left.size + right.size <= MOST_EVALUATED
    return _part(make(left.expression, right.expression, evaluate=small), [left, right], None)


def logical_part(make: Any, parts: Sequence[Parsed]) -> Parsed:
    """Return conditions joined by And or Or, or one negated by Not."""
    if len(parts) > MOST_CONDITIONS:
        raise OperationError(f"at most {MOST_CONDITIONS} conditions may be joined; got {len(parts)}.")
    small = sum(part.size for part in parts) <= MOST_EVALUATED
    return _part(make(*(part.expression for part in parts), evaluate=small), parts, None)


def piecewise_part(pairs: Sequence[tuple[Parsed, Parsed]]) -> Parsed:
    """Return the first of some parts whose condition holds."""
    parts = [part for pair in pairs for part in pair]
    small = sum(part.size for part in parts) <= MOST_EVALUATED
    given = [(part.expression, condition.expression) for part, condition in pairs]
    result = sp.Piecewise(*given, evaluate=small)
    if result is sp.nan:
        raise OperationError("`piecewise` must have a condition that can hold; none of these can.")
    return _part(result, parts, None)


def _power(base: float, exponent: float) -> float:
    result = base**exponent
    if isinstance(result, complex):
        raise ValueError
    return result


def _value(function: Callable[..., float], parts: Sequence[Parsed]) -> float | None:
    """Return the value of a function of constants, None if a part is not constant; raise if there is no such value."""
    values = [part.value for part in parts if part.value is not None]
    if len(values) < len(parts):
        return None
    try:
        value = float(function(*values))
    except ZeroDivisionError:
        raise OperationError("a constant must not be divided by zero.") from None
    except ValueError:
        raise OperationError("a constant must be real; this operation has no real value.") from None
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):
        raise OperationError("a constant must be below 1e308; this one is larger.")
    return value


def _require_exponent(base: Parsed, exponent: Parsed) -> None:
    if base.value == 0 and exponent.value is not None and exponent.value < 0:
        raise OperationError("an expression must not be divided by zero.")
    if exponent.value is None:
        return
    if abs(exponent.value) > LARGEST_EXPONENT:
        raise OperationError(f"an exponent must be at most {LARGEST_EXPONENT}; got {exponent.value:g}.")
    exact, number = exponent.expression, base.expression
    if exact.is_Rational and exact.q > LARGEST_DENOMINATOR:
        raise OperationError(f"an exponent must have a denominator of at most {LARGEST_DENOMINATOR}; got {exact.q:g}.")
    if number.is_Rational and number and _log2(number) * abs(exponent.value) > MOST_BITS:
        raise OperationError("a power of a fraction must have at most 300 digits.")


def _numbers_joined(expressions: Sequence[Any], join: Any) -> list[Any]:
    """Return the sum or product of all numbers, one joined after the other so that they stay small, and the rest."""
    number, others = join.identity, list[Any]()
    for expression in expressions:
        if not expression.is_Number:
            others.append(expression)
            continue
        number = join(number, expression)
        if number.is_Rational and _bits(number) > 2 * MOST_BITS:
            raise OperationError("a fraction must have at most 300 digits.")
    return [number, *others]


def _log2(number: Any) -> float:
    """Return the larger logarithm of numerator and denominator."""
    return max(math.log2(abs(int(number.p))), math.log2(int(number.q)))


def _bits(number: Any) -> int:
    return max(int(abs(number.p)).bit_length(), int(number.q).bit_length())


def _part(expression: Any, parts: Sequence[Parsed], value: float | None, tower: int | None = None) -> Parsed:
    tower = max((part.tower for part in parts), default=0) if tower is None else tower
    if tower > HIGHEST_TOWER:
        raise OperationError(f"at most {HIGHEST_TOWER} exponential functions may be inside one another.")
    return Parsed(expression, _limited(1 + sum(part.size for part in parts)), value, tower)


def _limited(size: int) -> int:
    if size > MOST_NODES_READ:
        raise OperationError(f"an expression must have at most {MOST_NODES_READ} parts, those of definitions included.")
    return size


def _count(expression: Any) -> int:
    """Return the number of parts of an expression, up to the limit."""
    waiting, count = [expression], 0
    while waiting and count <= MOST_NODES_READ:
        waiting += waiting.pop().args
        count += 1
    return count
