# SPDX-License-Identifier: BSD-3-Clause
"""Is an expression zero? Asked of numbers first, then, if they say yes, of symbols."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import mpmath
import sympy as sp
from mpmath.libmp import NoConvergence

from dalembert.analysis.bounded import GivenUpError, bounded
from dalembert.analysis.evaluated_terms import without_spikes
from dalembert.analysis.rational import Letters, exact, expanded
from dalembert.model import graph
from dalembert.model.numeric_function import numeric_function

_POINTS = 4
_POSITIVE = 2
_TRIES = 12
_DIGITS = (30, 60, 120)
"""Digits carried, one evaluation after the other: 120 tell zero from what cancels to its 50th digit."""
OFF_DOMAIN = (ArithmeticError, ValueError, TypeError, NotImplementedError, NoConvergence)
"""What mpmath raises where a function has no value."""
_AGREEMENT = 1e-6
"""Two evaluations that agree to this fraction have found a number, not rounding error."""


class ZeroTest:
    """Decides whether expressions vanish identically, and remembers whether numbers had the last word.

    Terms at a random point can prove that an expression is not zero. That it is zero they only make certain beyond
    reasonable doubt; ``numerical`` turns true when that is all there is.
    """

    def __init__(self) -> None:
        self.numerical = False

    def __call__(self, expression: Any) -> bool:
        expression = without_spikes(exact(expression))
        if expression == 0:
            return True
        if graph.has_kind(expression, sp.Piecewise):
            # random numbers see some of the pieces only
            try:
                folded: Any = bounded(lambda: sp.piecewise_fold(expression))
            except GivenUpError:
                self.numerical = True
                return seems_zero(expression)
            pieces = [piece.args[0] for piece in folded.args] if isinstance(folded, sp.Piecewise) else [folded]
            return all(map(self, pieces))
        if not seems_zero(expression):
            return False
        self.numerical |= not _cancels(expression)
        return True


def seems_zero(expression: Any) -> bool:
    """Whether the value vanishes at every random point tried, as far as ``_DIGITS`` digits tell."""
    if isinstance(expression, sp.Mul):
        return any(seems_zero(factor) for factor in expression.args if graph.free_symbols(factor))
    expression = without_spikes(expression)
    unknowns = sorted(graph.free_symbols(expression), key=str)
    function = numeric_function(unknowns, expression, "mpmath")
    tested = 0
    for seed in range(_TRIES):
        vanishes = _vanishes(function, unknowns, seed)
        if vanishes is False:
            return False
        tested += vanishes is True
        if tested == _POINTS:
            break
    return tested > 0


def _vanishes(function: Any, unknowns: Sequence[sp.Symbol], seed: int) -> bool | None:
    """Whether a function is zero at a random point; None off its domain.

    A number other than zero stays the same when more digits are carried. Rounding error does not: it shrinks with the
    last digit, unless it happens to be zero, so that two evaluations never agree about it.
    """
    with mpmath.workdps(_DIGITS[-1]):
        before = _value(function, unknowns, seed, _DIGITS[0])
        for digits in _DIGITS[1:]:
            now = _value(function, unknowns, seed, digits)
            if before is None or now is None:
                return None
            if abs(now - before) < _AGREEMENT * abs(now):
                return False
            before = now
    return True


def random_point(unknowns: Sequence[sp.Symbol], seed: int) -> list[Any]:
    """Random numbers, the same ones however many digits are carried.

    Parameters and time are positive; those that stand for the state (with a dot in the name) of either sign, save in
    the first points, where all functions that may occur are most likely defined. Every other point has the opposite
    signs of the one before, so that |x| is not taken for x.
    """
    draw, toss = random.Random(1996 + seed), random.Random(seed // 2)
    turn = 1 if seed % 2 else -1
    numbers = [mpmath.mpf(draw.randint(300, 1700)) / 1009 for _ in unknowns]
    signs = [turn * toss.choice((-1, 1)) if "." in s.name and seed >= _POSITIVE else 1 for s in unknowns]
    return [sign * number for sign, number in zip(signs, numbers, strict=True)]


def _value(function: Any, unknowns: Sequence[sp.Symbol], seed: int, digits: int) -> Any | None:
    """The value at a random point with so many digits; None off the domain of the function."""
    with mpmath.workdps(digits):
        try:
            value = mpmath.mpmathify(function(*random_point(unknowns, seed)))
        except OFF_DOMAIN:
            return None
    if not mpmath.isfinite(value) or (seed >= _POSITIVE and mpmath.im(value)):
        return None
    return value


def _cancels(expression: Any) -> bool:
    """Whether symbols alone show that the expression is zero."""

    def numerator() -> Any:
        return expanded(Letters([expression]).rational(expression)).numerator

    try:
        return not bounded(numerator, seconds=0.5)
    except GivenUpError:
        return False
