# SPDX-License-Identifier: BSD-3-Clause
"""Polynomials of recorded values, in which squares of the sine and the cosine of an angle are added.

Where some coordinates are expressed by others, products of direction cosines appear, many of which cancel or add up to
one. A tape recognises operations that are the same; a polynomial recognises such terms.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from dalembert.native.tape import Tape, Value
from dalembert.numerics.tolerances import ROUNDING

LONGEST_SUM = 48
"""Sums of more terms are not expanded: it would take more operations to evaluate them as polynomials."""

SUMS_AND_PRODUCTS = ("fmul", "fadd", "fsub")

Polynomial = dict[tuple[int, ...], Any]
"""The coefficient of each product, by the sorted lines of its factors on the tape."""


def add(p: Polynomial, q: Polynomial, factor: float = 1) -> Polynomial:
    """Return p + factor q."""
    total = dict(p)
    for product, coefficient in q.items():
        _add_term(total, product, factor * coefficient)
    return total


def multiply(p: Polynomial, q: Polynomial) -> Polynomial:
    """Return p q."""
    total: Polynomial = {}
    for a, x in p.items():
        for b, y in q.items():
            _add_term(total, tuple(sorted((*a, *b))), x * y)
    return total


def _add_term(total: Polynomial, product: tuple[int, ...], coefficient: float) -> None:
    """Add a term in place; terms cancel if rounding alone is left of them, which would else count as an entry."""
    before = total.pop(product, 0)
    after = before + coefficient
    # what is not finite stays
    if not abs(after) <= ROUNDING * max(abs(before), abs(coefficient)) < math.inf:
        total[product] = after


class TapePolynomials:
    """Expands recorded values into polynomials, and records polynomials.

    Only sums that depend on sines or cosines are expanded. Any other sum is a single factor, because its products
    neither cancel nor add up.
    """

    def __init__(self, tape: Tape):
        self.tape = tape
        self._expanded: dict[int, Polynomial] = {}
        self._depends_on_angles: list[bool] = []

    def expand(self, value: Any) -> Polynomial:
        """Return a number or a recorded value as a polynomial."""
        if not isinstance(value, Value):
            return {} if value == 0 else {(): value}
        # an expression may be nested more deeply than Python calls functions
        waiting = [value.line]
        while waiting:
            inner = [a.line for a in self._operands(waiting[-1]) if isinstance(a, Value)]
            missing = [line for line in inner if line not in self._expanded]
            if missing:
                waiting += missing
            else:
                line = waiting.pop()
                self._expanded[line] = self._expand_line(line)
        return self._expanded[value.line]

    def _operands(self, line: int) -> tuple[Any, ...]:
        """Return the factors of a product, or the terms of a sum that is expanded; none of another line."""
        name, arguments = self.tape.lines[line]
        return arguments if name == "fmul" or (name in ("fadd", "fsub") and self._has_angles(line)) else ()

    def _expand_line(self, line: int) -> Polynomial:
        """Expand a line whose operands have been expanded."""
        itself: Polynomial = {(line,): 1}
        operands = [self._expanded[a.line] if isinstance(a, Value) else self.expand(a) for a in self._operands(line)]
        if not operands:
            return itself
        (first, second), name = operands, self.tape.lines[line].name
        found = multiply(first, second) if name == "fmul" else add(first, second, 1 if name == "fadd" else -1)
        return found if len(found) <= LONGEST_SUM else itself

    def _has_angles(self, line: int) -> bool:
        """Return whether sines or cosines enter a line by sums and products."""
        found = self._depends_on_angles
        # only the lines recorded since the last call: a tape grows, and its lines never change
        for name, arguments in self.tape.lines[len(found) : line + 1]:
            inner = [found[a.line] for a in arguments if isinstance(a, Value)] if name in SUMS_AND_PRODUCTS else []
            found.append(name in ("sin", "cos") or any(inner))
        return found[line]

    def is_bounded(self, p: Polynomial) -> bool:
        """Return whether a polynomial is known to be bounded: it contains sines, cosines and parameters alone."""
        lines = {line for product in p for line in product}
        return all(self._is_angle(line) or self._is_constant(line) for line in lines)

    def bound(self, p: Polynomial) -> Any:
        """Record a bound of the size of a bounded polynomial, from its constants."""
        total: Any = 0
        for product, coefficient in p.items():
            size: Any = abs(coefficient)
            for line in product:
                if self._is_constant(line):
                    size = size * self.tape.record("fabs", self.tape.value(line))
            total = total + size
        return total

    def least(self, value: Any) -> Any:
        """Record a lower bound of a positive value that no angle changes; return the value itself if none is known.

        Such a bound of c (a + b sin²), with a and b of the same sign, is c a.
        """
        p = self.add_squares(self.expand(value))
        constants = {product: tuple(line for line in product if self._is_constant(line)) for product in p}
        bound = next((product for product, own in constants.items() if own == product), None)
        if bound is None or any(own != bound for own in constants.values()):
            return value
        factors = [(line, product.count(line)) for product in p for line in {*product} - {*bound}]
        squares = all(self._is_angle(line) and count % 2 == 0 for line, count in factors)
        same_sign = all(coefficient * p[bound] > 0 for coefficient in p.values())
        return self.record({bound: p[bound]}) if squares and same_sign else value

    def _is_angle(self, line: int) -> bool:
        return self.tape.lines[line].name in ("sin", "cos")

    def _is_constant(self, line: int) -> bool:
        return self.tape.is_constant(self.tape.value(line))

    def add_squares(self, p: Polynomial) -> Polynomial:
        """Return a polynomial in which no two terms differ by sin² and cos² of the same angle alone."""
        for product in p:
            for line in {line for line in product if product.count(line) > 1 and self._is_sine(line)}:
                rest = _without(product, line, 2)
                cosine = self.tape.line("cos", *self.tape.lines[line].arguments).line
                other = tuple(sorted((*rest, cosine, cosine)))
                if other in p:
                    # a sin² + b cos² = (a − b) sin² + b
                    b = p[other]
                    return self.add_squares(add(p, {other: -b, product: -b, rest: b}))
        return p

    def _is_sine(self, line: int) -> bool:
        return self.tape.lines[line].name == "sin"

    def record(self, p: Polynomial) -> Any:
        """Record a polynomial; a factor that most of its terms have in common is taken out first."""
        counts = Counter(line for product in p for line in {*product})
        line, most = max(counts.items(), key=lambda item: (item[1], -item[0]), default=(0, 0))
        if most < 2:
            total: Any = 0
            for product, coefficient in sorted(p.items()):
                total = total + self._record_product(product, coefficient)
            return total
        power = min(product.count(line) for product in p if line in product)
        inner = {_without(product, line, power): value for product, value in p.items() if line in product}
        outer = {product: value for product, value in p.items() if line not in product}
        return self.record(inner) * self._record_power(line, power) + self.record(outer)

    def _record_product(self, product: Sequence[int], value: Any) -> Any:
        powers = Counter(product)
        # constants first: their product is then computed once for all steps
        for line in sorted(powers, key=lambda line: (not self._is_constant(line), line)):
            value = value * self._record_power(line, powers[line])
        return value

    def _record_power(self, line: int, power: int) -> Any:
        """Record a power as a product of squares, which other terms often need as well."""
        value, total = self.tape.value(line), 1
        for _ in range(power // 2):
            total = value * value * total
        return total * value if power % 2 else total


def _without(product: Sequence[int], line: int, count: int) -> tuple[int, ...]:
    rest = list(product)
    for _ in range(count):
        rest.remove(line)
    return tuple(rest)
