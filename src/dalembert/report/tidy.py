# SPDX-License-Identifier: BSD-3-Clause
"""Light simplification with a bounded price: one fraction, sin² + cos² = 1, factored; large expressions stay as is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from math import comb, prod
from typing import Any

import sympy as sp

from dalembert.analysis.bounded import SymbolicLimitError, bounded
from dalembert.model.symbols import InternalSymbol

TIDY_LIMIT = 300
"""Monomials, counted before anything cancels, above which an expression is left alone."""

FACTOR_LIMIT = 100
"""Monomials above which a polynomial is not factored."""

_LETTERS = 16
"""Variables above which nothing is factored: factoring 70 monomials in 28 variables takes seconds."""

SECONDS = 1.0
"""Time after which an expression is left alone, for those whose number of monomials does not tell."""


@lru_cache(maxsize=4096)
def tidy(expression: Any) -> Any:
    """The expression as a person would write it, or itself where that would take long."""
    try:
        once = bounded(lambda: _tidied(expression), SECONDS)
        # putting exp(2x) back beside exp(x)² can cancel terms, and what is left may have a common factor
        return bounded(lambda: _tidied(once), SECONDS) if once.has(sp.exp) else once
    except SymbolicLimitError:
        return expression


def _tidied(expression: Any) -> Any:
    if expression.is_Atom or monomials(expression) > TIDY_LIMIT:
        return expression
    hidden = _Hidden()
    polynomial = hidden.hide(expression)
    if len(polynomial.free_symbols) > _LETTERS:
        return expression
    numerator, denominator = _polynomials(sp.cancel(polynomial))
    for root, square in hidden.squares():
        numerator, denominator = (_shortest(p, sp.rem(p, root**2 - square, root)) for p in (numerator, denominator))
    for sine, cosine in hidden.trigonometric_pairs():
        numerator, denominator = _shortest_by_pythagoras(numerator, denominator, sine, cosine)
    fraction = (_factored(numerator) / _factored(denominator)).xreplace(hidden.meaning)
    shortest = min(expression, sp.factor_terms(polynomial).xreplace(hidden.meaning), key=sp.count_ops)
    # one fraction is easier to read than a slightly shorter sum of them
    return fraction if sp.count_ops(fraction) <= 1.25 * sp.count_ops(shortest) + 1 else shortest


def tidy_matrix(matrix: Any) -> Any:
    """Each entry tidied."""
    return matrix.applyfunc(tidy)


def exact(e: Any) -> Any:
    """Decimal numbers as the fractions they are written as, 0.1 as 1/10: sums of them then vanish where they should.

    Unusual exponents stay, because x^0.37 as the hundredth root of x^37 would be a polynomial without end.
    """
    if isinstance(e, sp.MatrixBase):
        return e.applyfunc(exact)
    if isinstance(e, sp.Float):
        return sp.Rational(repr(float(e)))
    if e.is_Atom or not e.has(sp.Float):
        return e
    if isinstance(e, sp.Pow) and isinstance(e.exp, sp.Float):
        power = exact(e.exp)
        return sp.Pow(exact(e.base), power if power.q <= 2 else e.exp)
    return e.func(*map(exact, e.args))


def manner_of(matrices: Iterable[Any]) -> Callable[[Any], Any]:
    """A function that writes a matrix with decimal numbers where some of these have them."""
    return _in_decimals if any(matrix.has(sp.Float) for matrix in matrices) else lambda matrix: matrix


def _in_decimals(matrix: Any) -> Any:
    return matrix.applyfunc(_decimals)


def _decimals(e: Any) -> Any:
    if isinstance(e, sp.Rational):
        return _decimal(e)
    if e.is_Atom:
        return e
    if isinstance(e, sp.Pow) and isinstance(e.exp, sp.Rational):
        return sp.Pow(_decimals(e.base), e.exp)
    if isinstance(e, sp.Mul):
        number, factors = e.as_coeff_mul()
        powers = [factor.as_base_exp() for factor in factors]
        for i, (base, power) in enumerate(powers):
            if isinstance(base, sp.Add) and power.is_Integer:
                number, powers[i] = _shared_tens(number, base, power)
        return sp.Mul(_decimal(number), *(_decimals(sp.Pow(base, power)) for base, power in powers))
    return e.func(*map(_decimals, e.args))


def _shared_tens(number: Any, total: Any, power: Any) -> tuple[Any, Any]:
    """number · total^power with tens moved across to leave few digits: 9.81 x + 2 y for 0.01 (981 x + 200 y)."""
    coefficients = [term.as_coeff_Mul()[0] for term in total.args]

    def digits(tens: int) -> int:
        moved = [number * sp.Integer(10) ** (tens * power), *(c / sp.Integer(10) ** tens for c in coefficients)]
        return sum(len(f"{float(c):.15g}") for c in moved if c not in (1, -1))

    if not isinstance(number, sp.Rational) or not all(isinstance(c, sp.Rational) for c in coefficients):
        return number, (total, power)
    best = min(range(10), key=digits)
    ten = sp.Integer(10) ** best
    return number * ten**power, (sp.Add(*(term / ten for term in total.args)), power)


def _decimal(number: Any) -> Any:
    """A decimal number if it ends; otherwise a fraction if that is short."""
    if not isinstance(number, sp.Rational):
        return number
    ends = 10**15 % number.q == 0
    short = abs(number.p) < 10**15 if number.q == 1 else not ends and max(abs(number.p), number.q) < 1000
    return number if short else sp.Float(number)


def operations(expressions: Iterable[Any]) -> int:
    """Arithmetic operations in some expressions together."""
    return int(sum(sp.count_ops(e) for e in expressions))


def monomials(expression: Any) -> int:
    """A bound on the number of monomials of numerator and denominator once everything is multiplied out."""
    numerator, denominators = _sizes(expression)
    return numerator + prod(size**power for size, power in _sized(denominators))


def _sizes(e: Any) -> tuple[int, dict[Any, int]]:
    """Monomials of the numerator, and the powers of what stands below the line."""
    if isinstance(e, sp.Add):
        parts = [_sizes(part) for part in e.args]
        common: dict[Any, int] = {}
        for _, below in parts:
            common = {base: max(common.get(base, 0), below.get(base, 0)) for base in {*common, *below}}
        missing = [{base: power - below.get(base, 0) for base, power in common.items()} for _, below in parts]
        counts = [n * prod(s**p for s, p in _sized(gap)) for (n, _), gap in zip(parts, missing, strict=True)]
        return sum(counts), common
    if isinstance(e, sp.Mul):
        parts = [_sizes(part) for part in e.args]
        below: dict[Any, int] = {}
        for _, lower in parts:
            below = {base: below.get(base, 0) + lower.get(base, 0) for base in {*below, *lower}}
        return prod(n for n, _ in parts), below
    if isinstance(e, sp.Pow) and isinstance(e.exp, sp.Integer):
        power = int(e.exp)
        if power < 0:
            return 1, {e.base: -power}
        inner, below = _sizes(e.base)
        return comb(inner + power - 1, power), {base: count * power for base, count in below.items()}
    return 1, {}


def _sized(denominators: dict[Any, int]) -> list[tuple[int, int]]:
    return [(_sizes(base)[0], power) for base, power in denominators.items()]


class _Hidden:
    """Symbols in place of what polynomial algebra should not look into: functions, roots and decimal numbers.

    Decimal numbers because an exact algorithm would turn 9.81 into noise.

    meaning    what each symbol stands for
    """

    def __init__(self) -> None:
        self.meaning: dict[Any, Any] = {}
        self._symbols: dict[Any, Any] = {}

    def hide(self, e: Any) -> Any:
        """The expression as a rational function of symbols."""
        if isinstance(e, (sp.Symbol, sp.Rational)):
            return e
        if isinstance(e, (sp.Add, sp.Mul)):
            return e.func(*map(self.hide, e.args))
        if isinstance(e, sp.Pow) and isinstance(e.exp, sp.Rational):
            if e.exp.is_Integer:
                return self.hide(e.base) ** e.exp
            root = sp.Pow(tidy(e.base), sp.Rational(1, e.exp.q))
            # √(x²y) comes apart as |x|√y
            return (self._symbol(root) if isinstance(root, sp.Pow) else self.hide(root)) ** e.exp.p
        if e.is_Atom or isinstance(e, sp.Piecewise):
            return self._symbol(e)
        inside = e.func(*map(tidy, e.args))
        return self._symbol(inside) if isinstance(inside, type(e)) else self.hide(inside)

    def squares(self) -> list[tuple[Any, Any]]:
        """Symbols of square roots, and the polynomials they are roots of."""
        roots = [(s, e.base) for s, e in self.meaning.items() if isinstance(e, sp.Pow) and e.exp == sp.S.Half]
        return [(s, hidden) for s, base in roots if (hidden := self.hide(base)).is_polynomial()]

    def trigonometric_pairs(self) -> list[tuple[Any, Any]]:
        """Symbols of sine and cosine of each angle, whether both occur or not."""
        angles = {e.args[0]: None for e in self.meaning.values() if isinstance(e, (sp.sin, sp.cos))}
        return [(self._symbol(sp.sin(angle)), self._symbol(sp.cos(angle))) for angle in angles]

    def _symbol(self, e: Any) -> Any:
        symbol = self._symbols.setdefault(e, InternalSymbol(f"hidden.{len(self._symbols)}"))
        self.meaning[symbol] = e
        return symbol


def _polynomials(fraction: Any) -> tuple[Any, Any]:
    numerator, denominator = sp.fraction(fraction)
    return sp.expand(numerator), sp.expand(denominator)


def _shortest_by_pythagoras(numerator: Any, denominator: Any, sine: Any, cosine: Any) -> tuple[Any, Any]:
    """The fraction with fewest terms among itself, sin² = 1 − cos² and cos² = 1 − sin²."""
    identity = sine**2 + cosine**2 - 1
    candidates = [(numerator, denominator)]
    for leading in (sine, cosine):
        reduced = tuple(sp.expand(sp.rem(p, identity, leading)) for p in (numerator, denominator))
        if reduced != candidates[0]:
            candidates.append(_polynomials(sp.cancel(reduced[0] / reduced[1])))
    return min(candidates, key=lambda pair: sum(map(_terms, pair)))


def _shortest(*polynomials: Any) -> Any:
    return min((sp.expand(p) for p in polynomials), key=_terms)


def _factored(polynomial: Any) -> Any:
    return sp.factor(polynomial) if _terms(polynomial) <= FACTOR_LIMIT else polynomial


def _terms(polynomial: Any) -> int:
    return len(sp.Add.make_args(polynomial))
