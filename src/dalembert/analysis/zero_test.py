# SPDX-License-Identifier: BSD-3-Clause
"""Test whether an expression is identically zero: at random points first, then symbolically."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import mpmath
import sympy as sp
from mpmath.libmp import NoConvergence

from dalembert.analysis.bounded import SymbolicLimitError, bounded
from dalembert.analysis.evaluated_terms import without_dirac_deltas
from dalembert.analysis.rational import Generators, exact, expanded
from dalembert.model import graph
from dalembert.model.abrupt_functions import KINKED_OR_JUMPING
from dalembert.model.numeric_function import numeric_function

_TEST_POINTS = 4
"""Random points at which an expression must vanish."""
_POSITIVE = 2
"""First points, at which all values are positive, since most functions are defined there."""
_KINKED_TEST_POINTS = 24
"""The same for functions with kinks or jumps, which are different expressions in different regions."""
_TRIES = 3
"""Random points tried for each one at which an expression must vanish; some may lie off its domain."""
_FAR = 12
"""First of the points that are farther from zero, where kinks such as that of |x − 3| have been passed."""
_PRECISIONS = (30, 60, 120)
"""Digits of successive evaluations: with 120, values that cancel to their 50th digit are distinguished from zero."""
OFF_DOMAIN = (ArithmeticError, ValueError, TypeError, NotImplementedError, NoConvergence)
"""Exceptions that mpmath raises where a function is undefined."""
_AGREEMENT = 1e-6
"""Two evaluations that agree to this fraction are a nonzero value; rounding errors of different precision never do."""


class ZeroTest:
    """A test whether expressions vanish identically, which records whether a decision was only numerical.

    A value at a random point proves that an expression is not zero. That an expression is zero, values can only make
    very likely; ``numerical`` becomes true if this was not confirmed symbolically.
    """

    def __init__(self) -> None:
        self.numerical = False

    def __call__(self, expression: Any) -> bool:
        expression = without_dirac_deltas(exact(expression))
        if expression == 0:
            return True
        if graph.has_kind(expression, sp.Piecewise):
            # random points may not reach all pieces
            try:
                folded: Any = bounded(lambda: sp.piecewise_fold(expression))
            except SymbolicLimitError:
                self.numerical = True
                return seems_zero(expression)
            pieces = [piece.args[0] for piece in folded.args] if isinstance(folded, sp.Piecewise) else [folded]
            return all(map(self, pieces))
        if not seems_zero(expression):
            return False
        self.numerical |= not _cancels(expression)
        return True


def seems_zero(expression: Any) -> bool:
    """Return True if the expression vanishes at every random point tried, to the precision of ``_PRECISIONS``."""
    # a product vanishes if a factor does, and factors are cheaper to test
    if isinstance(expression, sp.Mul):
        return any(seems_zero(factor) for factor in expression.args if graph.free_symbols(factor))
    expression = without_dirac_deltas(expression)
    unknowns = sorted(graph.free_symbols(expression), key=str)
    function = numeric_function(unknowns, expression, "mpmath")
    tested, wanted = 0, _KINKED_TEST_POINTS if graph.has_kind(expression, *KINKED_OR_JUMPING) else _TEST_POINTS
    for seed in range(_TRIES * wanted):
        vanishes = _vanishes(function, unknowns, seed)
        if vanishes is False:
            return False
        # points off the domain do not count
        tested += vanishes is True
        if tested == wanted:
            break
    return tested > 0


def _vanishes(function: Any, unknowns: Sequence[sp.Symbol], seed: int) -> bool | None:
    """Return True if a function is zero at a random point; None off its domain.

    A nonzero value stays the same when more digits are carried. A rounding error decreases with the precision, so that
    two evaluations do not agree.
    """
    with mpmath.workdps(_PRECISIONS[-1]):
        before = _value(function, unknowns, seed, _PRECISIONS[0])
        for digits in _PRECISIONS[1:]:
            now = _value(function, unknowns, seed, digits)
            if before is None or now is None:
                return None
            # agreement of two precisions shows a nonzero value
            if abs(now - before) < _AGREEMENT * abs(now):
                return False
            before = now
    return True


def random_point(unknowns: Sequence[sp.Symbol], seed: int) -> list[Any]:
    """Return random numbers that do not depend on the precision.

    Parameters and time are positive. Symbols of the state (with a dot in their name) have either sign, except in the
    first points, where most functions are defined. Every other point has the opposite signs of the one before, so that
    |x| is distinguished from x.
    """
    draw, toss = random.Random(1996 + seed), random.Random(seed // 2)
    turn = 1 if seed % 2 else -1
    size = 1 if seed < _FAR else 5
    numbers = [size * mpmath.mpf(draw.randint(300, 1700)) / 1009 for _ in unknowns]
    signs = [turn * toss.choice((-1, 1)) if "." in s.name and seed >= _POSITIVE else 1 for s in unknowns]
    return [sign * number for sign, number in zip(signs, numbers, strict=True)]


def _value(function: Any, unknowns: Sequence[sp.Symbol], seed: int, digits: int) -> Any | None:
    """Return the value at a random point, computed with the given digits; None off the domain of the function."""
    with mpmath.workdps(digits):
        try:
            value = mpmath.mpmathify(function(*random_point(unknowns, seed)))
        except OFF_DOMAIN:
            return None
    if not mpmath.isfinite(value) or (seed >= _POSITIVE and mpmath.im(value)):
        return None
    return value


def _cancels(expression: Any) -> bool:
    """Return True if expansion shows symbolically that the expression is zero."""

    def numerator() -> Any:
        return expanded(Generators([expression]).rational(expression)).numerator

    try:
        return not bounded(numerator, seconds=0.5)
    except SymbolicLimitError:
        return False
