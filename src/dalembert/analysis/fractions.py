# SPDX-License-Identifier: BSD-3-Clause
"""Expansion of rational functions at bounded cost: one numerator over powers of the given denominators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy as sp

from dalembert.model import graph

_WORK_LIMIT = 20_000
"""Largest number of products of monomials in one multiplication."""


class TooLargeError(Exception):
    """The expansion would exceed ``_WORK_LIMIT``."""


class Expanded:
    """A rational expression as numerator / Π denominatorᵖᵒʷᵉʳ, with polynomials over the rationals in its symbols.

    Common divisors are not cancelled: the expression is zero exactly if its numerator is, and that test is cheaper.
    """

    def __init__(self, expression: Any, symbols: Sequence[Any] | None = None):
        if symbols is None:
            symbols = sorted(graph.free_symbols(expression), key=str)
        # a ring needs a generator, also for numbers
        self.ring = sp.polys.rings.PolyRing(symbols or [sp.Symbol("none")], sp.QQ)
        self.numerator, self.denominators = self._fraction(expression)

    def cancelled(self) -> Any:
        """Return the expression with common divisors cancelled and common factors of sums extracted."""
        return sp.factor_terms(sp.cancel(self.numerator.as_expr() / self._product(self.denominators).as_expr()))

    def cancelled_parts(self) -> tuple[Any, Any]:
        """Return numerator and denominator, as polynomials with integer coefficients and without common divisors."""
        return self.numerator.cancel(self._product(self.denominators))

    def _fraction(self, e: Any) -> tuple[Any, dict[Any, int]]:
        if isinstance(e, sp.Add):
            return self._sum([self._fraction(part) for part in e.args])
        if isinstance(e, sp.Mul):
            numerator, denominators = self.ring.one, dict[Any, int]()
            for above, below in map(self._fraction, e.args):
                numerator = _times(numerator, above)
                denominators = {b: denominators.get(b, 0) + below.get(b, 0) for b in {**denominators, **below}}
            return numerator, denominators
        if isinstance(e, sp.Pow):
            return self._power(*self._fraction(e.base), int(e.exp))
        return self.ring.ring_new(sp.QQ.from_sympy(e)) if e.is_Rational else self.ring(e), {}

    def _sum(self, parts: list[tuple[Any, dict[Any, int]]]) -> tuple[Any, dict[Any, int]]:
        common: dict[Any, int] = {}
        for _, below in parts:
            common = {b: max(common.get(b, 0), below.get(b, 0)) for b in {**common, **below}}
        total = self.ring.zero
        for above, below in parts:
            # over the common multiple of the denominators as they are: without divisions of polynomials
            missing = {b: power - below.get(b, 0) for b, power in common.items()}
            total = total + _times(above, self._product(missing))
        return total, common

    def _power(self, above: Any, below: dict[Any, int], power: int) -> tuple[Any, dict[Any, int]]:
        if power < 0:
            if not above:
                raise ZeroDivisionError
            # a whole denominator is kept as one factor, so that powers of it in a sum have a small common multiple
            above, below, power = self._product(below), {above: 1}, -power
        return self._product({above: power}), {b: n * power for b, n in below.items()}

    def _product(self, powers: dict[Any, int]) -> Any:
        product = self.ring.one
        for base, power in powers.items():
            for _ in range(power):
                product = _times(product, base)
        return product


def _times(left: Any, right: Any) -> Any:
    """Multiply two polynomials, or raise ``TooLargeError``."""
    # checked before the product is formed, because it may not fit into memory
    if len(left) * len(right) > _WORK_LIMIT:
        raise TooLargeError
    return left * right
