# SPDX-License-Identifier: BSD-3-Clause
"""Decides whether a constraint depends on time explicitly, where it holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mpmath
import sympy as sp

from dalembert.analysis.evaluated_terms import without_dirac_deltas
from dalembert.analysis.zero_test import ZeroTest, random_point
from dalembert.model import graph
from dalembert.model.differentiation import derivative, gradient
from dalembert.model.numeric_function import numeric_function
from dalembert.model.symbols import StateSymbols
from dalembert.numerics.tolerances import EXACT

_SURFACE_DIGITS = 30
"""Digits of the numerical tests, twice those of double precision, so that rounding cannot decide them."""
_ON_SURFACE = 1e-25
"""Relative residual at which Newton's method has reached the surface: five digits above rounding."""
_NEWTON_STEPS = 60
"""Most steps of Newton's method: at a double root each step gains only one binary digit."""


def free_of_time(expression: Any, rates: Sequence[Any], symbols: StateSymbols, is_zero: ZeroTest) -> bool:
    """Return True if time occurs at most in a common factor: ∂ₜψ/ψ does not depend on the rates."""
    if symbols.time not in graph.free_symbols(expression):
        return True
    if jumps_in_time(expression, symbols):
        return False
    slope = derivative(expression, symbols.time)
    present = [v for v in rates if v in graph.free_symbols(expression)]
    # ∂ᵥ(∂ₜψ/ψ) = 0, multiplied by ψ², so that nothing is divided by a ψ that may vanish
    return all(is_zero(derivative(slope, v) * expression - slope * derivative(expression, v)) for v in present)


def jumps_in_time(expression: Any, symbols: StateSymbols) -> bool:
    """Return True if the expression is piecewise in time; its derivative between the jumps does not show that."""
    switches = graph.atoms(expression, sp.Piecewise, sp.Heaviside, sp.sign, sp.floor, sp.ceiling, sp.Max, sp.Min)
    return any(symbols.time in graph.free_symbols(switch) for switch in switches)


def time_free_on_surface(phi: Any, symbols: StateSymbols) -> bool:
    """Return True if ∂φ/∂t vanishes at a few random points of the surface φ = 0."""
    present = [q for q in symbols.q if q in graph.free_symbols(phi)]
    unknowns = sorted(graph.free_symbols(phi), key=str)
    parts = without_dirac_deltas((phi, derivative(phi, symbols.time), *gradient(phi, present)))
    functions = numeric_function(unknowns, parts, "mpmath")
    slots = [unknowns.index(q) for q in present]
    # eight points, because at some the iteration may not converge or ∂φ/∂t may vanish by chance
    found = [slope for seed in range(8) if (slope := _slope_on_surface(functions, slots, unknowns, seed)) is not None]
    return bool(found) and max(found) < EXACT


def _slope_on_surface(functions: Any, slots: list[int], unknowns: Sequence[Any], seed: int) -> Any | None:
    """Return |∂φ/∂t| / |∂φ/∂q| at a point found by Newton's method along the gradient; None if it does not converge."""
    with mpmath.workdps(_SURFACE_DIGITS):
        x = random_point(unknowns, seed)
        try:
            for _ in range(_NEWTON_STEPS):
                phi, slope, *normal = functions(*x)
                size = sum(a * a for a in normal)
                if abs(phi) < _ON_SURFACE * mpmath.sqrt(size):
                    return abs(slope) / mpmath.sqrt(size)
                # the parameters and time keep their random values: only the coordinates move onto the surface
                for slot, a in zip(slots, normal, strict=True):
                    x[slot] -= phi * a / size
        except (ZeroDivisionError, ValueError, TypeError):
            return None
    return None
