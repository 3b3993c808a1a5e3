# SPDX-License-Identifier: BSD-3-Clause
"""First integrals of acceleration-level constraints: functions ψ(q, q̇, t) with dψ/dt equal to the constraint."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import sympy as sp

from dalembert.analysis.integrals import integral_of, is_closed, is_integrable, potential
from dalembert.analysis.rational import cancelled_fraction
from dalembert.analysis.zero_test import seems_zero
from dalembert.model import graph
from dalembert.model.differentiation import derivative
from dalembert.model.standard_form import gradient, time_derivative
from dalembert.model.symbols import StateSymbols

_SIZE_LIMIT = 300
"""Operations in a constraint above which its first integral is not searched."""


def first_integral(slopes: Sequence[Any], rest: Any, symbols: StateSymbols) -> Any | None:
    """Return ψ with dψ/dt equal to Σ αᵢ q̈ᵢ + β up to a factor; None if no integrating factor is found.

    After the factor 1, only factors are tried that make the result independent of the scale of the constraint.
    """
    if sum(map(graph.operations, (*slopes, rest))) > _SIZE_LIMIT:
        return None
    for factor in _factors(slopes, symbols):
        psi = _integrated([cancelled_fraction(factor * a) for a in slopes], cancelled_fraction(factor * rest), symbols)
        if psi is not None:
            return psi
    return None


def _factors(slopes: Sequence[Any], symbols: StateSymbols) -> Iterator[Any]:
    """Yield integrating factors to try."""
    yield sp.S.One
    pivots = [i for i, a in enumerate(slopes) if not seems_zero(a)]
    for i in pivots:
        yield 1 / slopes[i]
    if not pivots or any(
        graph.free_symbols(cancelled_fraction(a / slopes[pivots[0]])) & set(symbols.qd) for a in slopes
    ):
        return
    # α ∝ ∂f/∂q makes the constraint a multiple of f̈ + …
    ratios = [cancelled_fraction(a / slopes[pivots[0]]) for a in slopes]
    if is_integrable(ratios, symbols.q, seems_zero):
        f = integral_of(ratios, symbols.q, seems_zero)
        if f is not None:
            yield derivative(f, symbols.q[pivots[0]]) / slopes[pivots[0]]


def _integrated(slopes: Sequence[Any], rest: Any, symbols: StateSymbols) -> Any | None:
    """Return ψ with ∂ψ/∂q̇ᵢ = αᵢ whose remaining rate of change is β, or None if there is none."""
    if not is_closed(slopes, symbols.qd):
        return None
    psi = potential(slopes, symbols.qd)
    if psi is None:
        return None
    remainder = cancelled_fraction(rest - time_derivative(psi, symbols))
    # the remainder must be the rate of change of a function of (q, t), hence linear in the velocities
    rates = gradient(remainder, symbols.qd)
    if not all(seems_zero(b) for a in rates for b in gradient(a, symbols.qd)):
        return None
    at_rest = dict.fromkeys(symbols.qd, sp.S.Zero)
    form = [graph.replace(a, at_rest) for a in (*rates, remainder)]
    variables = (*symbols.q, symbols.time)
    addition = potential(form, variables) if is_closed(form, variables) else None
    if addition is None or not seems_zero(rest - time_derivative(psi + addition, symbols)):
        return None
    return psi + addition
