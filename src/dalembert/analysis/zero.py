# SPDX-License-Identifier: BSD-3-Clause
"""Is an expression zero? Asked of numbers first, then, if they say yes, of symbols."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import mpmath
import sympy as sp

from dalembert.analysis.numbers import without_spikes
from dalembert.analysis.rational import Letters, NotRationalError, exact, expanded

_POINTS = 4
_POSITIVE = 2
_TRIES = 12
_DIGITS = (30, 60)


class ZeroTest:
    """Decides whether expressions vanish identically, and remembers whether numbers had the last word.

    Numbers at a random point can prove that an expression is not zero. That it is zero they only make certain beyond
    reasonable doubt; ``numerical`` turns true when that is all there is.
    """

    def __init__(self) -> None:
        self.numerical = False

    def __call__(self, expression: Any) -> bool:
        expression = without_spikes(exact(expression))
        if expression == 0:
            return True
        if expression.has(sp.Piecewise):
            # random numbers see some of the pieces only
            folded: Any = sp.piecewise_fold(expression)
            return (
                all(self(piece.args[0]) for piece in folded.args) if isinstance(folded, sp.Piecewise) else self(folded)
            )
        if not seems_zero(expression):
            return False
        self.numerical |= not _cancels(expression)
        return True


def seems_zero(expression: Any) -> bool:
    """Whether the value is rounding error at every random point tried.

    It is if it is small beside the terms it is the sum of, or if it sinks when more digits are carried.
    """
    if isinstance(expression, sp.Mul):
        return any(seems_zero(factor) for factor in expression.args if factor.free_symbols)
    expression = without_spikes(expression)
    unknowns = sorted(expression.free_symbols, key=str)
    function = sp.lambdify(unknowns, sp.Add.make_args(expression), modules="mpmath", cse=True)
    tested = 0
    for seed in range(_TRIES):
        rough, fine = (_total(function, unknowns, seed, digits) for digits in _DIGITS)
        if rough is None or fine is None:
            continue
        if fine[0] > 1e-20 * fine[1] and fine[0] > 1e-12 * rough[0]:
            return False
        tested += 1
        if tested == _POINTS:
            break
    return tested > 0


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


def _total(function: Any, unknowns: Sequence[sp.Symbol], seed: int, digits: int) -> tuple[Any, Any] | None:
    """The size of the sum of the terms, and that of the largest term; None off the domain of the expression."""
    with mpmath.workdps(digits):
        try:
            terms = [mpmath.mpmathify(e) for e in function(*random_point(unknowns, seed))]
        except (ZeroDivisionError, ValueError, TypeError):
            return None
        if not all(map(mpmath.isfinite, terms)) or (seed >= _POSITIVE and any(map(mpmath.im, terms))):
            return None
        return abs(sum(terms)), max(map(abs, terms))


def _cancels(expression: Any) -> bool:
    """Whether symbols alone show that the expression is zero."""
    try:
        return not expanded(Letters([expression]).rational(expression)).numerator
    except NotRationalError:
        return False
