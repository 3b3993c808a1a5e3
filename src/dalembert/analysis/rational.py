# SPDX-License-Identifier: BSD-3-Clause
"""Expressions as rational functions of generators, for which tests for zero are exact.

Sines and cosines of an angle w become rational functions of tan(w/2), exponentials become powers of one generator, and
roots and other functions become generators of their own. Algebraic relations between the latter are not detected, so
that a test may fail to confirm a zero, but never confirms a nonzero expression.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache, reduce
from math import lcm
from typing import Any

import sympy as sp

from dalembert.analysis.fractions import Expanded, TooLargeError
from dalembert.model import graph
from dalembert.model.symbols import InternalSymbol

SIZE_LIMIT = 1500
"""Operations above which an expression is not converted."""

TERM_LIMIT, GENERATOR_LIMIT = 300, 12
"""Monomials and generators above which common factors are not cancelled."""

MULTIPLE_LIMIT = 12
"""Largest multiple of an angle whose sine is expanded in that of the unit angle; 0.53 x beside 0.01 x has 53."""


class NotRationalError(Exception):
    """The expression is not a rational function of the generators, or is too large."""


def exact(expression: Any) -> Any:
    """Replace decimal numbers by the fractions of their decimal representation, so that 0.1 is one tenth."""
    return graph.replace(expression, {number: sp.Rational(str(number)) for number in graph.atoms(expression, sp.Float)})


class Generators:
    """Generators of the field that contains some expressions.

    meaning    the function for which each new generator stands; ordinary symbols stand for themselves
    """

    def __init__(self, expressions: Iterable[Any]):
        prepared = [_prepared(e) for e in expressions]
        self.meaning: dict[sp.Symbol, Any] = {}
        self._generators: dict[Any, sp.Symbol] = {}
        self._tangents: dict[sp.Symbol, Any] = {}
        # all at once: the unit of an angle must divide its multiples in every expression
        arguments = [f.args[0] for e in prepared for f in graph.atoms(e, sp.sin, sp.cos, sp.exp)]
        self._divisors = _divisors(arguments)

    def rational(self, expression: Any) -> Any:
        """Return the expression as a rational function of the generators."""
        return self._rational(_prepared(expression))

    def restore(self, expression: Any) -> Any:
        """Return an expression in generators in its original functions, with sines and cosines."""
        for tangent, angle in self._tangents.items():
            if tangent in graph.free_symbols(expression):
                expression = _with_sines(expression, tangent, angle)
        return graph.replace(expression, self.meaning)

    def slope(self, generator: sp.Symbol, variable: sp.Symbol) -> Any:
        """Return the derivative of a generator with respect to a variable, in generators."""
        if generator not in self.meaning:
            return sp.S.One if generator == variable else sp.S.Zero
        if generator in self._tangents:
            # d tan(w/2)/dw = (1 + tan²(w/2))/2
            return (1 + generator**2) / 2 * self.rational(self._tangents[generator].diff(variable))
        return self.rational(self.meaning[generator].diff(variable))

    def _rational(self, e: Any) -> Any:
        if isinstance(e, (sp.Symbol, sp.Rational)):
            return e
        if isinstance(e, (sp.Add, sp.Mul)):
            return e.func(*map(self._rational, e.args))
        if isinstance(e, (sp.sin, sp.cos)):
            return self._trigonometric(e)
        if isinstance(e, sp.exp):
            return sp.Mul(*(self._generator(sp.exp(unit)) ** n for unit, n in self._multiples(e.args[0])))
        # integer powers keep the field; other rational powers become powers of one root
        if isinstance(e, sp.Pow) and isinstance(e.exp, sp.Integer):
            return self._rational(e.base) ** e.exp
        if isinstance(e, sp.Pow) and isinstance(e.exp, sp.Rational):
            return self._generator(sp.Pow(e.base, sp.Rational(1, e.exp.q))) ** e.exp.p
        return self._generator(e)

    def _trigonometric(self, e: Any) -> Any:
        parts = self._multiples(e.args[0])
        # expanded in dummies, because SymPy would combine or rewrite the angles themselves
        units = [sp.Dummy() for _ in parts]
        spread = sp.expand_trig(e.func(sp.Add(*(n * w for w, (_, n) in zip(units, parts, strict=True)))))
        rules: dict[Any, Any] = {}
        for w, (unit, _) in zip(units, parts, strict=True):
            # one generator for an angle, not two with a relation: polynomials cannot express sin² + cos² = 1
            u = self._generator(sp.tan(unit / 2))
            self._tangents[u] = unit
            rules |= {sp.sin(w): 2 * u / (1 + u**2), sp.cos(w): (1 - u**2) / (1 + u**2)}
        return graph.replace(spread, rules)

    def _multiples(self, argument: Any) -> list[tuple[Any, int]]:
        """Return an argument as a sum of integer multiples of units."""
        found: list[tuple[Any, int]] = []
        for term in sp.Add.make_args(sp.expand(argument)):
            number, base = term.as_coeff_Mul()
            divisor = self._divisors.get(base, 1)
            # high multiples of an angle expand to polynomials of the same degree, which are too expensive
            if not (number * divisor).is_Integer or abs(number * divisor) > MULTIPLE_LIMIT:
                raise NotRationalError
            found.append((base / divisor, int(number * divisor)))
        return found

    def _generator(self, e: Any) -> sp.Symbol:
        if e not in self._generators:
            generator = InternalSymbol(f"letter.{len(self._generators)}")
            self._generators[e] = generator
            self.meaning[generator] = e
        return self._generators[e]


@lru_cache(maxsize=4096)
def cancelled_fraction(expression: Any) -> Any:
    """Return the expression as one cancelled fraction if that is shorter and not too expensive, otherwise unchanged."""
    expression = exact(expression)
    if expression.is_Atom:
        return expression
    try:
        generators = Generators([expression])
        restored = generators.restore(cancelled(generators.rational(expression)))
    except NotRationalError:
        return expression
    # cancellation may lengthen an expression, for example (x**10 - 1)/(x - 1)
    return min(restored, sp.factor_terms(restored), expression, key=graph.operations)


def expanded(rational: Any) -> Expanded:
    """Return the expanded form of a rational function of generators."""
    try:
        return Expanded(rational)
    except (TooLargeError, ZeroDivisionError):
        raise NotRationalError from None


def cancelled(rational: Any) -> Any:
    """Return a rational function of generators with common factors cancelled."""
    fraction = expanded(rational)
    if len(fraction.numerator) > TERM_LIMIT or len(graph.free_symbols(rational)) > GENERATOR_LIMIT:
        raise NotRationalError
    return fraction.cancelled()


def _prepared(expression: Any) -> Any:
    """Rewrite an expression in sines, cosines and exponentials, with exact numbers."""
    if graph.operations(expression) > SIZE_LIMIT:
        raise NotRationalError
    e = expression
    if e.has(sp.tan, sp.cot, sp.sec, sp.csc):
        e = e.replace(lambda f: isinstance(f, (sp.tan, sp.cot, sp.sec, sp.csc)), lambda f: f.rewrite(sp.sin, sp.cos))
        # SymPy leaves some functions in tangents of the whole angle
        e = e.rewrite(sp.tan).replace(sp.tan, lambda w: sp.sin(w) / sp.cos(w)) if e.has(sp.tan) else e
    if e.has(sp.sinh, sp.cosh, sp.tanh):
        e = e.rewrite(sp.exp)
    return exact(e)


def _divisors(arguments: Sequence[Any]) -> dict[Any, int]:
    """Return for every angle or exponent the divisor that makes all its occurrences integer multiples of one unit."""
    found: dict[Any, list[int]] = {}
    for argument in arguments:
        for term in sp.Add.make_args(sp.expand(argument)):
            number, base = term.as_coeff_Mul()
            if isinstance(number, sp.Rational):
                found.setdefault(base, []).append(int(number.q))
    return {base: reduce(lcm, denominators) for base, denominators in found.items()}


def _with_sines(rational: Any, tangent: sp.Symbol, angle: Any) -> Any:
    """Convert a rational function of tan(w/2) to one of sin w and cos w."""
    numerator, denominator = (sp.Poly(p, tangent) for p in sp.fraction(sp.together(rational)))
    # numerator and denominator are multiplied by the same even power of cos(w/2), which makes both polynomials in sin w
    # and cos w
    half = (max(int(p.degree()) for p in (numerator, denominator)) + 1) // 2
    above, below = (_trigonometric_sum(p, half, angle) for p in (numerator, denominator))
    return sp.factor_terms(sp.cancel(above / below))


def _trigonometric_sum(polynomial: Any, half: int, angle: Any) -> Any:
    """Return Σ cₖ uᵏ times cos(w/2) to the power 2·half, by half-angle formulas such as sin²(w/2) = (1 − cos w)/2."""
    sine, cosine = sp.sin(angle), sp.cos(angle)
    total = sp.S.Zero
    for (k,), coefficient in polynomial.terms():
        odd = k % 2
        powers = ((1 - cosine) / 2) ** (k // 2) * ((1 + cosine) / 2) ** (half - k // 2 - odd)
        total += coefficient * powers * (sine / 2) ** odd
    return sp.expand(total)
