# SPDX-License-Identifier: BSD-3-Clause
"""Simplification at bounded cost: one fraction, sin² + cos² = 1, factored; large expressions are left unchanged."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from math import comb, prod
from typing import Any

import sympy as sp

from dalembert.analysis.bounded import SymbolicLimitError, bounded
from dalembert.model.symbols import InternalSymbol

TIDY_LIMIT = 300
"""Monomials, counted before cancellation, above which an expression is left unchanged."""

FACTOR_LIMIT = 100
"""Monomials above which a polynomial is not factored."""

_MOST_SYMBOLS = 16
"""Variables above which an expression is left unchanged: factoring 70 monomials in 28 variables takes seconds."""

TIDY_SECONDS = 1.0
"""CPU seconds after which an expression is left unchanged; the number of monomials does not always predict the cost."""


@lru_cache(maxsize=4096)
def tidy(expression: Any) -> Any:
    """Return a simplified expression, or the expression itself if that would take too long."""
    try:
        once = bounded(lambda: _tidied(expression), TIDY_SECONDS)
        # restoring exp(2x) beside exp(x)² may cancel terms, and the result may have a common factor
        return bounded(lambda: _tidied(once), TIDY_SECONDS) if once.has(sp.exp) else once
    except SymbolicLimitError:
        return expression


def _tidied(expression: Any) -> Any:
    if expression.is_Atom or monomials(expression) > TIDY_LIMIT:
        return expression
    substitution = _Substitution()
    polynomial = substitution.substitute(expression)
    if len(polynomial.free_symbols) > _MOST_SYMBOLS:
        return expression
    numerator, denominator = _polynomials(sp.cancel(polynomial))
    for root, square in substitution.squares():
        numerator, denominator = (_shortest(p, sp.rem(p, root**2 - square, root)) for p in (numerator, denominator))
    for sine, cosine in substitution.trigonometric_pairs():
        numerator, denominator = _shortest_by_pythagoras(numerator, denominator, sine, cosine)
    fraction = (_factored(numerator) / _factored(denominator)).xreplace(substitution.meaning)
    shortest = min(expression, sp.factor_terms(polynomial).xreplace(substitution.meaning), key=sp.count_ops)
    # one fraction is easier to read than a slightly shorter sum of fractions
    return fraction if sp.count_ops(fraction) <= 1.25 * sp.count_ops(shortest) + 1 else shortest


def tidy_matrix(matrix: Any) -> Any:
    """Simplify each entry of a matrix."""
    return matrix.applyfunc(tidy)


def exact(e: Any) -> Any:
    """Replace decimal numbers by the fractions of their decimal representation, so that sums of them cancel exactly.

    Decimal exponents other than halves stay, because x^0.37 would become a polynomial of degree 37 in a root.
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


def decimals_like(matrices: Iterable[Any]) -> Callable[[Any], Any]:
    """Return a function that converts a matrix to decimal numbers if some of the given matrices have them."""
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
    """Move powers of ten in number · total^power to leave few digits: 9.81 x + 2 y for 0.01 (981 x + 200 y)."""
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
    """Return a decimal number if it terminates; otherwise a fraction if that is short."""
    if not isinstance(number, sp.Rational):
        return number
    ends = 10**15 % number.q == 0
    short = abs(number.p) < 10**15 if number.q == 1 else not ends and max(abs(number.p), number.q) < 1000
    return number if short else sp.Float(number)


def operations(expressions: Iterable[Any]) -> int:
    """Count the arithmetic operations in some expressions."""
    return int(sum(sp.count_ops(e) for e in expressions))


def monomials(expression: Any) -> int:
    """Return a bound on the number of monomials of numerator and denominator after expansion."""
    numerator, denominators = _sizes(expression)
    return numerator + prod(size**power for size, power in _sized(denominators))


def _sizes(e: Any) -> tuple[int, dict[Any, int]]:
    """Return the number of monomials of the numerator, and the denominators with their powers."""
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


class _Substitution:
    """Symbols that replace functions, roots and decimal numbers in polynomial algebra.

    Decimal numbers are replaced because exact algorithms would amplify their rounding errors.

    meaning    the expression for which each symbol stands
    """

    def __init__(self) -> None:
        self.meaning: dict[Any, Any] = {}
        self._symbols: dict[Any, Any] = {}

    def substitute(self, e: Any) -> Any:
        """Return the expression as a rational function of symbols."""
        if isinstance(e, (sp.Symbol, sp.Rational)):
            return e
        if isinstance(e, (sp.Add, sp.Mul)):
            return e.func(*map(self.substitute, e.args))
        if isinstance(e, sp.Pow) and isinstance(e.exp, sp.Rational):
            if e.exp.is_Integer:
                return self.substitute(e.base) ** e.exp
            root = sp.Pow(tidy(e.base), sp.Rational(1, e.exp.q))
            # SymPy evaluates √(x²y) to |x|√y, which is not a power
            return (self._symbol(root) if isinstance(root, sp.Pow) else self.substitute(root)) ** e.exp.p
        if e.is_Atom or isinstance(e, sp.Piecewise):
            return self._symbol(e)
        inside = e.func(*map(tidy, e.args))
        return self._symbol(inside) if isinstance(inside, type(e)) else self.substitute(inside)

    def squares(self) -> list[tuple[Any, Any]]:
        """Return the symbols of square roots, and the polynomials of which they are roots."""
        roots = [(s, e.base) for s, e in self.meaning.items() if isinstance(e, sp.Pow) and e.exp == sp.S.Half]
        return [(s, hidden) for s, base in roots if (hidden := self.substitute(base)).is_polynomial()]

    def trigonometric_pairs(self) -> list[tuple[Any, Any]]:
        """Return the symbols of sine and cosine of each angle, even if only one of them occurs."""
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
    """Return the fraction with the fewest terms after substituting nothing, sin² = 1 − cos² or cos² = 1 − sin²."""
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
