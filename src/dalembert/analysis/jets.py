# SPDX-License-Identifier: BSD-3-Clause
"""Truncated power series in several variables about a point, with coefficients of many digits.

A series is a mapping from powers to coefficients. With series in place of numbers, linear algebra at one point also
yields the derivatives of its results there, and avoids the growth of symbolic expressions.

The powers of a product are packed into one integer, its degree in front, so that multiplying two of them is one
addition; coefficients are Python's decimal numbers. Both are for speed, since products dominate the run time.
"""

from __future__ import annotations

import decimal
import itertools
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from functools import lru_cache
from math import factorial, prod
from typing import Any

import mpmath
import sympy as sp

from dalembert.model import graph
from dalembert.model.data_function import DataFunction
from dalembert.model.differentiation import derivative
from dalembert.model.numeric_function import numeric_function
from dalembert.model.symbols import InternalSymbol

DIGITS = 50
"""Digits carried, three times those of double precision, so that cancellation cannot hide the rank of a system."""
ZERO_COEFFICIENT = Decimal(10) ** -22
"""Values below this are zero, relative to values of order one: repeated elimination loses up to half of the digits."""

_BITS = 6
_DEGREE = 2**_BITS - 1
"""Bits that each power takes, and those of the degree: orders stay far below 64."""

Jet = dict[int, Decimal]


@contextmanager
def many_digits() -> Generator[None]:
    """Set the precision of mpmath and decimal numbers to ``DIGITS`` digits in this context."""
    with mpmath.workdps(DIGITS), decimal.localcontext() as context:
        context.prec = DIGITS
        yield


def decimal_number(value: Any) -> Decimal:
    """Convert a real number of mpmath to a decimal number."""
    return Decimal(str(mpmath.nstr(mpmath.re(value), DIGITS + 5)))


class Jets:
    """Arithmetic of series in some number of variables up to an order."""

    def __init__(self, variables: int, order: int):
        self.variables = variables
        self.order = order
        self.zero: Jet = {}
        self.one = self.constant(Decimal(1))
        self.tiny = ZERO_COEFFICIENT

    def constant(self, value: Decimal) -> Jet:
        return {0: value} if value else {}

    def variable(self, index: int, value: Decimal) -> Jet:
        """Return the series of a variable about its value at the point."""
        return self.constant(value) | ({_step(index): Decimal(1)} if self.order else {})

    def derivative(self, jet: Jet, index: int) -> Jet:
        """Differentiate with respect to a variable; the result is one order shorter."""
        step, shift = _step(index), _BITS * (index + 1)
        return {
            powers - step: (powers >> shift & _DEGREE) * c for powers, c in jet.items() if powers >> shift & _DEGREE
        }

    def weight(self, jet: Jet) -> Any:
        """Return the absolute value at the point, by which pivots are chosen."""
        return abs(self.value(jet))

    def value(self, jet: Jet) -> Decimal:
        """Return the value at the point."""
        return jet.get(0, Decimal(0))

    def add(self, left: Jet, right: Jet, factor: Any = 1) -> Jet:
        """Return left + factor · right, where the factor is a number."""
        if not right:
            return left
        total = dict(left)
        for powers, coefficient in right.items():
            total[powers] = total.get(powers, 0) + factor * coefficient
        return total

    def multiply(self, left: Jet, right: Jet) -> Jet:
        """Return the product, truncated at the order of the series."""
        product: Jet = {}
        # sorted by degree, so that the loop ends at the first term beyond the order
        by_degree = sorted(right.items(), key=lambda term: term[0] & _DEGREE)
        for one, a in left.items():
            room = self.order - (one & _DEGREE)
            for two, b in by_degree:
                if two & _DEGREE > room:
                    break
                powers = one + two
                product[powers] = product[powers] + a * b if powers in product else a * b
        return product

    def inverse(self, jet: Jet) -> Jet:
        """Return 1/jet = (1/a) Σ (−h/a)ᵏ for jet = a + h."""
        a = self.value(jet)
        step = {powers: -c / a for powers, c in jet.items() if powers}
        total = term = self.constant(1 / a)
        for _ in range(self.order):
            term = self.multiply(term, step)
            total = self.add(total, term)
        return total

    def scaled(self, row: Sequence[Jet]) -> list[Jet]:
        """Divide a row by its largest entry at the point, so that its scale does not affect tolerances."""
        size = max(map(self.weight, row))
        return [{powers: c / size for powers, c in e.items()} for e in row] if size else list(row)

    def evaluate(self, expression: Any, at: Mapping[Any, Jet], memory: dict[Any, Jet]) -> Jet:
        """Return the series of an expression; ``at`` holds those of its symbols, ``memory`` caches those of parts."""
        if expression in at:
            return at[expression]
        if expression not in memory:
            memory[expression] = self._evaluate(expression, at, memory)
        return memory[expression]

    def _evaluate(self, e: Any, at: Mapping[Any, Jet], memory: dict[Any, Jet]) -> Jet:
        if not graph.free_symbols(e):
            return self.constant(Decimal(str(sp.N(e, DIGITS + 5))))
        if isinstance(e, sp.Piecewise):
            point = {s: sp.Float(str(self.value(jet)), 30) for s, jet in at.items()}
            pieces: Any = e.args
            # at a random point no condition holds with equality, so that one branch is valid in a neighbourhood
            branch = next(value for value, condition in pieces if graph.replace(condition, point) == sp.true)
            return self.evaluate(branch, at, memory)
        # the data of a signal or of a Python function have no series
        if isinstance(e, DataFunction):
            slots = [_slot(k) for k in range(len(e.places))]
            return self._composed(e.func(e.args[0], *slots), [self.evaluate(place, at, memory) for place in e.places])
        parts = [self.evaluate(part, at, memory) for part in e.args]
        if isinstance(e, sp.Add):
            total: Jet = {}
            for part in parts:
                total = self.add(total, part)
            return total
        if isinstance(e, sp.Mul) or (isinstance(e, sp.Pow) and isinstance(e.exp, sp.Integer) and e.exp > 0):
            factors = parts if isinstance(e, sp.Mul) else [parts[0]] * int(e.exp)
            product = factors[0]
            for factor in factors[1:]:
                product = self.multiply(product, factor)
            return product
        # a constant exponent is no argument: with two arguments there would be quadratically many derivatives
        if isinstance(e, sp.Pow) and not graph.free_symbols(e.exp):
            return self._composed(sp.Pow(_slot(0), e.exp), parts[:1])
        # likewise, arguments without symbols stay in the function
        varying = [k for k, part in enumerate(e.args) if graph.free_symbols(part)]
        slots = {k: _slot(number) for number, k in enumerate(varying)}
        function = e.func(*(slots.get(k, part) for k, part in enumerate(e.args)))
        return self._composed(function, [parts[k] for k in varying])

    def _composed(self, function: Any, arguments: Sequence[Jet]) -> Jet:
        """Compose a function with series by Taylor's formula: Σ f⁽ᵅ⁾(a) hᵅ/α! over all α up to the order."""
        point = [mpmath.mpf(str(self.value(jet))) for jet in arguments]
        steps = [{powers: c for powers, c in jet.items() if powers} for jet in arguments]
        total: Jet = {}
        for alpha in itertools.product(range(self.order + 1), repeat=len(arguments)):
            # terms of higher total degree are truncated
            if sum(alpha) > self.order:
                continue
            weight = _partial(function, alpha)(*point) / prod(map(factorial, alpha))
            term = self.constant(decimal_number(weight))
            for step, power in zip(steps, alpha, strict=True):
                for _ in range(power):
                    term = self.multiply(term, step)
            total = self.add(total, term)
        return total


@lru_cache(maxsize=1024)
def _partial(function: Any, alpha: tuple[int, ...]) -> Any:
    slots = [_slot(k) for k in range(len(alpha))]
    found = function
    for slot, count in zip(slots, alpha, strict=True):
        for _ in range(count):
            found = derivative(found, slot)
    # ``lambdify`` cannot print them
    if graph.has_kind(found, DataFunction):
        return numeric_function(slots, found, "mpmath")
    return sp.lambdify(slots, found, modules="mpmath")


def _step(index: int) -> int:
    """Return the packed powers of a single variable."""
    return 1 + (1 << _BITS * (index + 1))


def _slot(index: int) -> sp.Symbol:
    return InternalSymbol(f"slot.{index}")
