# SPDX-License-Identifier: BSD-3-Clause
"""Classification of a single constraint: holonomic, scleronomic, catastatic, linear in velocity, and its integral."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import mpmath
import sympy as sp

from dalembert.analysis.bounded import SymbolicLimitError, bounded
from dalembert.analysis.evaluated_terms import without_dirac_deltas
from dalembert.analysis.first_integral import first_integral
from dalembert.analysis.integrals import Form, integral_of, is_integrable
from dalembert.analysis.rational import Generators, cancelled, exact
from dalembert.analysis.time_dependence import _SURFACE_DIGITS, free_of_time, jumps_in_time, time_free_on_surface
from dalembert.analysis.zero_test import ZeroTest, random_point
from dalembert.model import graph
from dalembert.model.abrupt_functions import KINKED_OR_JUMPING
from dalembert.model.constraint import Constraint, Level
from dalembert.model.differentiation import JUMPS, derivative, gradient
from dalembert.model.numeric_function import numeric_function
from dalembert.model.symbols import InternalSymbol, StateSymbols

_LARGEST_DENOMINATOR = 12
"""Degrees of homogeneity are rational numbers with denominators up to this one."""

CHETAEV = "nonlinear in velocity: Chetaev's rule is assumed, the ideal force lies along ∂ψ/∂q̇"


@dataclass(frozen=True)
class ConstraintKind:
    """One constraint, classified.

    level                 the level at which it was stated: position, velocity or acceleration
    holonomic             whether it is the derivative of a relation f(q, t) = const, up to a factor; None: not decided
    scleronomic           whether f, if the constraint is holonomic, or else the constraint itself does not depend on
                          time explicitly. A common factor that depends on time is ignored. At acceleration level the
                          constraint itself is tested
    catastatic            whether it is homogeneous in the velocities: satisfied at rest
    linear_in_velocity    whether its row of A does not depend on the velocities
    integral              f(q, t) if it was found, in the model's symbols; at position level the constraint itself, at
                          acceleration level None
    numerical             whether a zero test was decided at random points and not confirmed symbolically
    remark                a further remark, or an empty string
    """

    name: str
    level: Level
    holonomic: bool | None
    scleronomic: bool
    catastatic: bool
    linear_in_velocity: bool
    integral: Any | None = None
    numerical: bool = False
    remark: str = ""


@dataclass(frozen=True)
class Kind:
    """A constraint classified, with its Pfaffian form Σ aᵢ dqᵢ + a₀ dt and its integral in plain symbols, if any."""

    row: ConstraintKind
    form: tuple[Any, ...] | None = None
    integral: Any | None = None


def kind_of(constraint: Constraint, symbols: StateSymbols) -> Kind:
    """Classify one constraint."""
    is_zero = ZeroTest()
    expression = exact(symbols.plain(constraint.expression))
    classify = {"position": _position, "velocity": _velocity, "acceleration": _acceleration}[constraint.level]
    kind = classify(str(constraint.name), expression, symbols, is_zero)
    row = replace(kind.row, numerical=kind.row.numerical or is_zero.numerical)
    if row.integral is None:
        return replace(kind, row=row)
    return replace(kind, row=replace(row, integral=symbols.restore(row.integral)), integral=row.integral)


def _position(name: str, phi: Any, symbols: StateSymbols, is_zero: ZeroTest) -> Kind:
    time_free = free_of_time(phi, symbols.q, symbols, is_zero)
    by_numbers = not time_free and not jumps_in_time(phi, symbols) and time_free_on_surface(phi, symbols)
    row = ConstraintKind(
        name, "position", True, time_free or by_numbers, time_free or by_numbers, True, phi, by_numbers
    )
    return Kind(row)


def _velocity(name: str, psi: Any, symbols: StateSymbols, is_zero: ZeroTest) -> Kind:
    slopes = gradient(psi, symbols.qd)
    if _kinked(slopes, symbols.qd) or not all(is_zero(b) for a in slopes for b in gradient(a, symbols.qd)):
        return _nonlinear(name, psi, symbols, is_zero)
    form = _linear_form(psi, slopes, symbols)
    at_rest = form[-1]
    if all(is_zero(a) for a in form[:-1]):
        row = ConstraintKind(
            name, "velocity", None, symbols.time not in graph.free_symbols(psi), is_zero(at_rest), True
        )
        return Kind(replace(row, remark="its velocities cancel: state what is left at position level"))
    return _pfaffian(name, form, symbols, is_zero)


def _kinked(slopes: Sequence[Any], rates: Sequence[Any]) -> bool:
    """Return True if the slopes jump with the velocities, as those of |ẋ| do.

    Between the jumps such slopes are constant, so that their derivatives do not show the nonlinearity.
    """
    jumping = {f for a in slopes for f in graph.atoms(a, sp.sign, sp.Heaviside, sp.Abs, sp.Piecewise, sp.Max, sp.Min)}
    return any(graph.free_symbols(f) & set(rates) for f in jumping)


def _linear_form(psi: Any, slopes: Sequence[Any], symbols: StateSymbols) -> tuple[Any, ...]:
    """Return the coefficients of the velocities and the remaining term of an expression linear in the velocities.

    They are the same at all velocities, but (ẋ² − ẏ²)/(ẋ − ẏ) = ẋ + ẏ cannot be evaluated at rest. Other velocities
    are used in that case.
    """
    for values in ([0] * len(symbols.qd), range(1, len(symbols.qd) + 1)):
        there = dict(zip(symbols.qd, map(sp.Integer, values), strict=True))
        a = [graph.replace(slope, there) for slope in slopes]
        form = (*a, graph.replace(psi, there) - sp.Add(*(e * v for e, v in zip(a, there.values(), strict=True))))
        if not any(graph.has_kind(e, *map(type, (sp.nan, sp.zoo, sp.oo))) for e in form):
            break
    return form


def _pfaffian(name: str, form: Form, symbols: StateSymbols, is_zero: ZeroTest) -> Kind:
    variables = (*symbols.q, symbols.time)
    catastatic = is_zero(form[-1])
    if is_integrable(form, variables, is_zero):
        kinked = any(graph.has_kind(a, *KINKED_OR_JUMPING) for a in form)
        # what SymPy finds on one side of a kink need not be continuous, or finite, on the other
        integral, remark = (None, KINKED_REMARK) if kinked else _integral(form, variables, is_zero)
        jumping = _jumping(form)
        if jumping:
            remark = f"{remark}; holonomic only between the jumps of its coefficients"
        # an integrable form without dt has an integral without t, except for jumps
        scleronomic = catastatic and not any(symbols.time in graph.free_symbols(f) for f in jumping)
        row = ConstraintKind(name, "velocity", True, scleronomic, catastatic, True, integral, remark=remark)
        return Kind(row, tuple(form))
    psi = sp.Add(*(a * v for a, v in zip(form, (*symbols.qd, sp.S.One), strict=True)))
    time_free = free_of_time(psi, symbols.qd, symbols, is_zero)
    return Kind(ConstraintKind(name, "velocity", False, time_free, catastatic, True), tuple(form))


KINKED_REMARK = "its integral is not shown, because its coefficients have kinks or jumps"


def _jumping(form: Form) -> set[Any]:
    """Return the functions with jumps in the coefficients of a form."""
    return {f for a in form for f in graph.atoms(a, *JUMPS, sp.Mod, sp.frac, sp.Piecewise) if graph.free_symbols(f)}


def _integral(form: Form, variables: Sequence[Any], is_zero: ZeroTest) -> tuple[Any | None, str]:
    """Return the integral of an integrable form, or None and the reason."""
    try:
        return bounded(lambda: integral_of(form, variables, is_zero)), ""
    except SymbolicLimitError as error:
        return None, f"its integral is not shown: {error}"


def _nonlinear(name: str, psi: Any, symbols: StateSymbols, is_zero: ZeroTest) -> Kind:
    row = ConstraintKind(
        name,
        "velocity",
        None,
        free_of_time(psi, symbols.qd, symbols, is_zero),
        _homogeneous(psi, symbols, is_zero),
        False,
        remark=CHETAEV,
    )
    # a power of a linear constraint has the same solutions as the linear one
    factor = _linear_factor(psi, symbols)
    if factor is None:
        return Kind(row)
    linear = _velocity(name, factor, symbols, is_zero)
    remark = f"{CHETAEV}; it holds only where {symbols.readable(factor)} = 0"
    return replace(linear, row=replace(linear.row, linear_in_velocity=False, remark=remark))


def _acceleration(name: str, expression: Any, symbols: StateSymbols, is_zero: ZeroTest) -> Kind:
    slopes = gradient(expression, symbols.qdd)
    rest = graph.replace(expression, dict.fromkeys(symbols.qdd, sp.S.Zero))
    kinked = _kinked(slopes, symbols.qd)
    linear = not kinked and _direction_is_free_of(slopes, symbols.qd, is_zero)
    time_free = free_of_time(expression, (*symbols.qd, *symbols.qdd), symbols, is_zero)
    catastatic = _homogeneous(expression, symbols, is_zero)
    undecided = "no first integral ψ(q, q̇, t) was found for it"
    row = ConstraintKind(
        name, "acceleration", None, time_free, catastatic, linear, remark=undecided if linear else CHETAEV
    )
    try:
        psi = None if kinked else bounded(lambda: first_integral(slopes, rest, symbols))
    except SymbolicLimitError as error:
        return Kind(replace(row, remark=f"{undecided}: {error}") if linear else row)
    if psi is None:
        return Kind(row)
    # a level set of ψ is classified, since the constraint fixes ψ only up to a constant
    constant = InternalSymbol("level.c")
    found = _velocity(name, psi - constant, symbols, is_zero).row
    remark = f"it keeps {symbols.readable(psi)} constant, not zero"
    if found.holonomic is None or not linear:
        return Kind(replace(row, remark=f"{remark}; {CHETAEV}"))
    # the integral f(q, t) would contain the initial value of ψ, which is unknown here
    return Kind(replace(row, holonomic=found.holonomic, remark=remark))


def _homogeneous(expression: Any, symbols: StateSymbols, is_zero: ZeroTest) -> bool:
    """Return True if a change of the time scale only multiplies the expression by a power of it (Euler's theorem).

    Velocities have weight 1 in this test and accelerations weight 2.
    """
    rates = [(v, 1) for v in symbols.qd] + [(a, 2) for a in symbols.qdd]
    weighted = sp.Add(
        *(weight * v * derivative(expression, v) for v, weight in rates if v in graph.free_symbols(expression))
    )
    euler = without_dirac_deltas(weighted)
    unknowns = sorted(graph.free_symbols(expression), key=str)
    with mpmath.workdps(_SURFACE_DIGITS):
        try:
            above, below = numeric_function(unknowns, [euler, expression], "mpmath")(*random_point(unknowns, 0))
            # the degree of homogeneity is guessed at one point and then tested identically
            degree = Fraction(str(mpmath.re(above / below))).limit_denominator(_LARGEST_DENOMINATOR)
        except (ZeroDivisionError, ValueError, TypeError):
            return False
    return is_zero(euler - sp.Rational(degree.numerator, degree.denominator) * expression)


def _direction_is_free_of(slopes: Sequence[Any], rates: Sequence[Any], is_zero: ZeroTest) -> bool:
    """Return True if no ratio of two slopes depends on the rates."""
    present = [v for v in rates if any(v in graph.free_symbols(a) for a in slopes)]
    pairs = list(combinations(slopes, 2))
    return all(is_zero(derivative(a, v) * b - derivative(b, v) * a) for v in present for a, b in pairs)


def _linear_factor(psi: Any, symbols: StateSymbols) -> Any | None:
    """Return the only factor of ψ that contains velocities if it is linear in them, otherwise None."""
    try:
        factors = bounded(lambda: _factors(psi))
    except SymbolicLimitError:
        return None
    moving = [f for f in factors if graph.free_symbols(f) & set(symbols.qd)]
    if len(moving) != 1 or any(b != 0 for b in _second_derivatives(moving[0], symbols)):
        return None
    if _kinked(gradient(moving[0], symbols.qd), symbols.qd):
        return None
    return moving[0]


def _factors(psi: Any) -> list[Any]:
    generators = Generators([psi])
    found: Any = sp.factor_list(sp.fraction(cancelled(generators.rational(psi)))[0])[1]
    return [generators.restore(f) for f, _ in found]


def _second_derivatives(f: Any, symbols: StateSymbols) -> Iterator[Any]:
    return (sp.expand(b) for a in gradient(f, symbols.qd) for b in gradient(a, symbols.qd))
