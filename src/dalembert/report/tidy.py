# SPDX-License-Identifier: BSD-3-Clause
"""Simplification at bounded cost: one fraction, by sin² + cos² = 1 and sinh² + 1 = cosh²; large ones are unchanged."""

from __future__ import annotations

from functools import lru_cache
from math import comb, prod
from typing import Any

import sympy as sp

from dalembert.analysis.bounded import SymbolicLimitError, bounded
from dalembert.model import graph
from dalembert.model.symbols import InternalSymbol
from dalembert.report.angle_differences import with_angle_differences
from dalembert.report.fraction import reduced_fraction
from dalembert.report.length import is_long

TIDY_LIMIT = 300
"""Monomials, counted before cancellation, above which an expression is left unchanged."""

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
        return bounded(lambda: _tidied(once), TIDY_SECONDS) if graph.has_kind(once, sp.exp) else once
    except SymbolicLimitError:
        return expression


def _tidied(expression: Any) -> Any:
    if expression.is_Atom or is_long(expression) or monomials(expression) > TIDY_LIMIT:
        return expression
    expression = with_angle_differences(expression)
    substitution = _Substitution()
    polynomial = substitution.substitute(expression)
    if len(polynomial.free_symbols) > _MOST_SYMBOLS:
        return expression
    squares, pairs = substitution.squares(), substitution.trigonometric_pairs()
    fraction = reduced_fraction(polynomial, squares, pairs).xreplace(substitution.meaning)
    shortest = min(expression, sp.factor_terms(polynomial).xreplace(substitution.meaning), key=graph.operations)
    # one fraction is easier to read than a slightly shorter sum of fractions
    found = fraction if graph.operations(fraction) <= 1.25 * graph.operations(shortest) + 1 else shortest
    return found.replace(_is_square_of_cosh, _square_of_cosh) if graph.has_kind(found, sp.sinh) else found


def _is_square_of_cosh(e: Any) -> bool:
    """Return whether an expression is sinh² x + 1."""
    squares = [part for part in e.args if isinstance(part, sp.Pow) and part.exp == 2 and isinstance(part.base, sp.sinh)]
    return isinstance(e, sp.Add) and len(e.args) == 2 and len(squares) == 1 and sp.S.One in e.args


def _square_of_cosh(e: Any) -> Any:
    return sp.cosh(next(part for part in e.args if part != 1).base.args[0]) ** 2


def tidy_matrix(matrix: Any) -> Any:
    """Simplify each entry of a matrix."""
    return matrix.applyfunc(tidy)


def tidy_symmetric(matrix: Any) -> Any:
    """Simplify a symmetric matrix; entries that mirror one another are the same expression, not two forms of it."""
    found = [[tidy(matrix[i, j]) for j in range(i, matrix.cols)] for i in range(matrix.rows)]
    return sp.Matrix(matrix.rows, matrix.cols, lambda i, j: found[min(i, j)][abs(i - j)])


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
