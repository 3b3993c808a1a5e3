# SPDX-License-Identifier: BSD-3-Clause
"""Fractions of polynomials: cancelled, reduced by sin² + cos² = 1 and by the squares of roots, and factored.

Polynomials are sparse, as elements of one ring; SymPy's functions on expressions convert them at every step.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from random import Random
from typing import Any, NamedTuple

import sympy as sp
from sympy.polys.galoistools import gf_irreducible_p

from dalembert.analysis.fractions import Expanded

FACTOR_LIMIT = 100
"""Terms above which a polynomial is not factored."""

PRIME, TRIALS = 10_007, 16
"""Prime and number of points for proofs of irreducibility. Half of the points prove it for an irreducible polynomial of
degree two in some variable."""


class Fraction(NamedTuple):
    """A fraction of two polynomials of one ring over the rationals."""

    numerator: Any
    denominator: Any

    @property
    def terms(self) -> int:
        return len(self.numerator) + len(self.denominator)

    def with_square(self, root: Any, square: Any) -> Fraction:
        """Return the fraction with root² replaced by a polynomial, in numerator and denominator if that is shorter."""
        return Fraction(*(min(p, _with_square(p, root, square), key=len) for p in self))

    def by_pythagoras(self, sine: Any, cosine: Any) -> Fraction:
        """Return the fraction with the fewest terms: as it is, with sin² = 1 − cos², or with cos² = 1 − sin².

        If several have as few, one without both squares is chosen: 0.7 − 0.4 cos² instead of 0.7 sin² + 0.3 cos².
        """
        found: list[Fraction] = [self]
        for leading, other in ((sine, cosine), (cosine, sine)):
            reduced = Fraction(*(_with_square(p, leading, 1 - other**2) for p in self))
            if reduced != self:
                found.append(Fraction(*reduced.numerator.cancel(reduced.denominator)))
        places = [x.ring.gens.index(x) for x in (sine, cosine)]
        return min(found, key=lambda fraction: (fraction.terms, fraction.has_squares_of_all(places)))

    def has_squares_of_all(self, places: Sequence[int]) -> bool:
        """Return whether numerator or denominator have squares of all generators at some places."""
        return any(all(any(powers[place] > 1 for powers in p) for place in places) for p in self)

    def factored(self) -> Any:
        """Return the fraction as an expression, with short polynomials factored."""
        numerator, denominator = self
        if denominator.is_ground:  # SymPy distributes a number over a sum
            numerator, denominator = numerator / denominator.LC, denominator.ring.one
        return _factored(numerator) / _factored(denominator)


def reduced_fraction(expression: Any, roots: Sequence[tuple[Any, Any]], angles: Sequence[tuple[Any, Any]]) -> Any:
    """Return a rational function of symbols as one cancelled and factored fraction.

    roots     symbols of square roots, and the polynomials of which they are roots
    angles    symbols of sine and cosine, which satisfy sin² + cos² = 1
    """
    symbols = {*sp.Tuple(expression, *roots, *angles).free_symbols}
    expanded = Expanded(expression, _ordered(symbols))
    ring = expanded.ring
    fraction = Fraction(*expanded.cancelled_parts())
    for root, square in roots:
        fraction = fraction.with_square(ring(root), Expanded(square, ring.symbols).numerator)
    for sine, cosine in angles:
        fraction = fraction.by_pythagoras(ring(sine), ring(cosine))
    return fraction.factored()


def _ordered(symbols: Iterable[Any]) -> Sequence[Any]:
    """Return symbols in SymPy's order for polynomials, which decides on the signs of factors."""
    return sp.Poly(sp.Add(*symbols)).gens if symbols else ()


def _with_square(polynomial: Any, generator: Any, square: Any) -> Any:
    """Return a polynomial with the square of a generator replaced."""
    place = generator.ring.gens.index(generator)
    if all(powers[place] < 2 for powers in polynomial):
        return polynomial
    ring = polynomial.ring
    parts: dict[int, Any] = {}  # coefficients of the powers of `square`
    for powers, coefficient in polynomial.terms():
        count, left = divmod(powers[place], 2)
        rest = (*powers[:place], left, *powers[place + 1 :])
        part = parts.setdefault(count, ring.zero)
        part[rest] = part.get(rest, ring.domain.zero) + coefficient
    total = ring.zero
    for count, part in parts.items():
        part.strip_zero()
        total = total + part * square**count
    return total


def _factored(polynomial: Any) -> Any:
    """Return a polynomial as an expression, as a product of its factors if it has few terms."""
    if not 1 < len(polynomial) <= FACTOR_LIMIT:
        return polynomial.as_expr()
    divisor, whole = polynomial.clear_denoms()
    content, primitive = whole.set_ring(whole.ring.clone(domain=sp.ZZ)).primitive()
    if primitive.LC < 0:
        content, primitive = -content, -primitive
    product = sp.Mul(*(factor.as_expr() ** power for factor, power in _factors(primitive)))
    number = sp.Rational(int(content), int(divisor))
    # a number other than a sign stays a factor before a sum
    keep = product.is_Add and number not in (1, -1)
    return sp.Mul(number, product, evaluate=False) if keep else number * product


def _factors(polynomial: Any) -> list[tuple[Any, int]]:
    """Return the irreducible factors of a primitive polynomial with integer coefficients, and their powers.

    Most polynomials of mechanics are irreducible apart from factors that are free of one variable. SymPy's general
    algorithm takes long to find that out, so that it is used for the others only.
    """
    if polynomial.is_ground:
        return []
    monomial, rest = _without_monomial(polynomial)
    if monomial:
        return monomial + _factors(rest)
    coefficients = _coefficients(polynomial)
    content = _common_divisor(list(coefficients.values()))
    inner = {power: c.exquo(content) for power, c in coefficients.items()}
    if max(inner) == 1 or _is_irreducible(inner):
        return [(polynomial.exquo(content), 1), *_factors(content)]
    return polynomial.factor_list()[1]


def _without_monomial(polynomial: Any) -> tuple[list[tuple[Any, int]], Any]:
    """Return the generators that divide a polynomial with their powers, and the quotient."""
    lowest = [min(powers) for powers in zip(*polynomial, strict=True)]
    found = [(x, power) for x, power in zip(polynomial.ring.gens, lowest, strict=True) if power]
    if not found:
        return [], polynomial
    shifted = {tuple(p - low for p, low in zip(powers, lowest, strict=True)): c for powers, c in polynomial.terms()}
    return found, polynomial.ring.from_dict(shifted)


def _coefficients(polynomial: Any) -> dict[int, Any]:
    """Return the coefficients of the powers of the variable in which the degree is the lowest."""
    degrees = [max(powers) for powers in zip(*polynomial, strict=True)]
    count = [sum(powers[i] > 0 for powers in polynomial) for i in range(len(degrees))]
    i = min((i for i, degree in enumerate(degrees) if degree), key=lambda i: (degrees[i], count[i]))
    found: dict[int, dict[Any, Any]] = {}
    for powers, number in polynomial.terms():
        found.setdefault(powers[i], {})[(*powers[:i], 0, *powers[i + 1 :])] = number
    return {power: polynomial.ring.from_dict(terms) for power, terms in found.items()}


def _common_divisor(polynomials: Sequence[Any]) -> Any:
    """Return the greatest common divisor of polynomials that no monomial and no number divides together."""
    by_length = sorted(polynomials, key=len)
    if len(by_length[0]) == 1:
        return by_length[0].ring.one
    divisor = reduce(lambda a, b: a.gcd(b), by_length)
    return -divisor if divisor.LC < 0 else divisor


def _is_irreducible(coefficients: dict[int, Any]) -> bool:
    """Return True if Σ cₖ xᵏ, with coefficients without common divisor, is proved to be irreducible.

    It is if it is irreducible modulo a prime, with numbers for the other variables that keep its degree.
    """
    chosen, degree = Random(0), max(coefficients)
    for _ in range(TRIALS):
        point = [chosen.randrange(1, PRIME) for _ in coefficients[degree].ring.gens]
        image = [_value(coefficients[k], point) if k in coefficients else 0 for k in range(degree, -1, -1)]
        if image[0] and gf_irreducible_p(image, PRIME, sp.ZZ):
            return True
    return False


def _value(polynomial: Any, point: Sequence[int]) -> Any:
    """Return the value of a polynomial modulo ``PRIME``."""
    total = 0
    for powers, number in polynomial.terms():
        product = int(number) % PRIME
        for x, power in zip(point, powers, strict=True):
            if power:
                product = product * pow(x, power, PRIME) % PRIME
        total += product
    return sp.ZZ(total % PRIME)
