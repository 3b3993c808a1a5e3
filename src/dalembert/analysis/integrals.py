# SPDX-License-Identifier: BSD-3-Clause
"""Integrals of one Pfaffian form: f with df = μ ω, found with integrating factors and verified by differentiation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from itertools import combinations
from typing import Any

import sympy as sp
from sympy.integrals.manualintegrate import manualintegrate

from dalembert.analysis.rational import cancelled_fraction
from dalembert.analysis.zero_test import seems_zero
from dalembert.model import graph
from dalembert.model.differentiation import derivative, gradient

_INTEGRAND_LIMIT = 50
"""Operations above which the integration of an integrand is not attempted."""
_SLOW_INTEGRAND_LIMIT = 20
"""The same for the slower algorithms of `sympy.integrate`."""

Form = Sequence[Any]


def is_integrable(form: Form, variables: Sequence[sp.Symbol], is_zero: Callable[[Any], bool]) -> bool:
    """Return True if ω ∧ dω = 0 (Frobenius), for a form that is not identically zero.

    Divided by a component that does not vanish, the form is dzᵢ + Σ bⱼ dzⱼ, and it is enough that
    Xⱼ bₖ = Xₖ bⱼ for the directions Xⱼ = ∂ⱼ − bⱼ ∂ᵢ that it annihilates.
    """
    i = _pivot(form, is_zero)
    b = [e / form[i] for e in form]
    # along a variable that neither occurs nor has a component the condition is trivial
    others = [j for j in range(len(form)) if j != i and (b[j] != 0 or _depends(form, variables[j]))]

    def along(j: int, e: Any) -> Any:
        return derivative(e, variables[j]) - b[j] * derivative(e, variables[i])

    return all(is_zero(along(j, b[k]) - along(k, b[j])) for j, k in combinations(others, 2))


def integral_of(form: Form, variables: Sequence[sp.Symbol], is_zero: Callable[[Any], bool]) -> Any | None:
    """Return a function f with df ∧ ω = 0 for an integrable form; None if none of the methods finds it."""
    for scaled in _scalings(form, variables):
        f = potential(scaled, variables)
        if f is not None and _is_integral(f, form, variables, seems_zero):
            # once more, so that `is_zero` records a purely numerical decision
            _is_integral(f, form, variables, is_zero)
            return f
    return None


def _is_integral(f: Any, form: Form, variables: Sequence[sp.Symbol], is_zero: Callable[[Any], bool]) -> bool:
    slope = [derivative(f, v) for v in variables]
    # a constant satisfies df ∧ ω = 0, and says nothing
    if all(is_zero(e) for e in slope):
        return False
    return all(is_zero(slope[i] * form[j] - slope[j] * form[i]) for i, j in combinations(range(len(form)), 2))


def _scalings(form: Form, variables: Sequence[sp.Symbol]) -> Iterator[list[Any]]:
    """Yield multiples of the form that are closed, in order of increasing complexity of the integrating factor."""
    present = [i for i, e in enumerate(form) if not seems_zero(e)]
    if len(present) == 1:
        yield [sp.Integer(i == present[0]) for i in range(len(form))]
        return
    # most forms were multiplied by a common factor; dividing it out is tried before any search
    if is_closed(reduced := _without_common_factor(form), variables):
        yield reduced
    form = [cancelled_fraction(e) for e in form]
    if is_closed(form, variables):
        yield form
    normalised = [(i, [cancelled_fraction(e / form[i]) for e in form]) for i in present]
    factors = [(slope, b) for i, b in normalised for slope in _factor_slopes(b, i, variables)]
    # short factors first: integrating them is quicker, and their integrals are easier to read
    for slope, b in sorted(factors, key=lambda pair: sum(map(graph.operations, (*pair[0], *pair[1])))):
        logarithm = potential(slope, variables)
        if logarithm is not None:
            factor = cancelled_fraction(sp.powsimp(sp.exp(sp.expand_log(logarithm, force=True))))
            yield [cancelled_fraction(factor * e) for e in b]
    radial = cancelled_fraction(sp.Add(*(v * e for v, e in zip(variables, form, strict=True))))
    if not seems_zero(radial) and is_closed(homogeneous := [cancelled_fraction(e / radial) for e in form], variables):
        yield homogeneous  # Euler's integrating factor of homogeneous forms


def _without_common_factor(form: Form) -> list[Any]:
    """Divide the form by the greatest common divisor of its components, with functions as further variables."""
    above, below = zip(*(sp.fraction(sp.together(e)) for e in form), strict=True)
    try:
        return [a / b for a, b in zip(_coprime(above), _coprime(below), strict=True)]
    except sp.PolynomialError:
        return list(form)


def _coprime(expressions: Form) -> list[Any]:
    """Divide polynomials in symbols and functions by their greatest common divisor."""
    if all(e.is_number for e in expressions):
        return list(expressions)
    polynomials: list[Any] = sp.parallel_poly_from_expr(list(expressions))[0]
    divisor = reduce(lambda p, q: p.gcd(q), polynomials)
    return [p.exquo(divisor).as_expr() for p in polynomials]


def _factor_slopes(b: list[Any], i: int, variables: Sequence[sp.Symbol]) -> Iterator[list[Any]]:
    """Yield gradients L of the logarithm of an integrating factor of ω = dzᵢ + Σ bⱼ dzⱼ.

    An integrating factor has Lⱼ = Lᵢ bⱼ + ∂ᵢ bⱼ. If it does not depend on zᵢ, Lᵢ = 0. If it is a product of functions
    of one variable each, Lᵢ' bⱼ + Lᵢ ∂ᵢbⱼ + ∂ᵢ²bⱼ = 0, which with its derivative along zⱼ gives Lᵢ.
    """
    for own in _own_slopes(b, i, variables):
        slope = [own if j == i else cancelled_fraction(own * e + derivative(e, variables[i])) for j, e in enumerate(b)]
        if is_closed(slope, variables):
            yield slope


def _own_slopes(b: list[Any], i: int, variables: Sequence[sp.Symbol]) -> Iterator[Any]:
    """Yield candidates for Lᵢ that depend on zᵢ only."""
    zi = variables[i]
    yield sp.S.Zero
    for j, e in enumerate(b):
        if j == i or seems_zero(e) or seems_zero(derivative(e, zi)):
            continue
        zj = variables[j]
        ei, ej = gradient(e, (zi, zj))
        eii, eij = gradient(ei, (zi, zj))
        # the two equations in the docstring of `_factor_slopes`, solved for Lᵢ by Cramer's rule; if the second follows
        # from the first, Lᵢ = −∂ᵢbⱼ/bⱼ solves both
        determinant = cancelled_fraction(e * eij - ei * ej)
        above, below = (-ei, e) if seems_zero(determinant) else (ej * eii - e * derivative(eii, zj), determinant)
        own = cancelled_fraction(above / below)
        if all(seems_zero(derivative(own, v)) for v in variables if v != zi):
            yield own


def potential(form: Form, variables: Sequence[sp.Symbol]) -> Any | None:
    """Integrate a closed form, one variable after the other; None if an antiderivative is not found."""
    f = sp.S.Zero
    for v, e in zip(variables, form, strict=True):
        # what earlier variables contributed is subtracted: the rest of a closed form depends on later variables only
        part = _antiderivative(cancelled_fraction(e - derivative(f, v)), v)
        if part is None:
            return None
        f += part
    return f


def _antiderivative(e: Any, v: sp.Symbol) -> Any | None:
    """Return an antiderivative, computed for the whole expression or else term by term; None if that fails."""
    expanded = sp.expand(e)
    # products of sums often integrate term by term, unless expansion makes them much longer
    e = expanded if graph.operations(expanded) <= 2 * graph.operations(e) + 4 else e
    if not e.has(v):
        return e * v
    found = _elementary(e, v)
    terms = sp.Add.make_args(expanded)
    if found is not None or len(terms) == 1:
        return found
    total = sp.S.Zero
    for term in terms:
        part = _elementary(term, v) if term.has(v) else term * v
        if part is None:
            return None
        total += part
    return total


def _elementary(e: Any, v: sp.Symbol) -> Any | None:
    if graph.operations(e) > _INTEGRAND_LIMIT or _is_intractable(e, v):
        return None
    # with positive symbols SymPy returns no case distinctions; the result is verified by differentiation later
    positive = {s: sp.Dummy(s.name, positive=True) for s in graph.free_symbols(e)}
    try:
        found = manualintegrate(graph.replace(e, positive), positive[v])
        # the full search of SymPy takes minutes on long integrands
        if found.has(sp.Integral) and graph.operations(e) <= _SLOW_INTEGRAND_LIMIT:
            found = sp.integrate(graph.replace(e, positive), positive[v])
    except (NotImplementedError, RecursionError, ValueError, TypeError):
        return None
    if found.has(sp.Integral, sp.Piecewise):
        return None
    return graph.replace(found, {dummy: s for s, dummy in positive.items()})


def _is_intractable(e: Any, v: sp.Symbol) -> bool:
    """Return True if one term contains both roots and transcendental functions of the variable.

    The antiderivatives of such terms are seldom elementary, and the search takes long.
    """
    for term in sp.Add.make_args(e):
        roots = [p for p in term.atoms(sp.Pow) if p.base.has(v) and not p.exp.is_Integer]
        if roots and any(f.has(v) for f in term.atoms(sp.Function)):
            return True
    return False


def is_closed(form: Form, variables: Sequence[sp.Symbol]) -> bool:
    """Return True if dω vanishes at random points; results that use this are verified by differentiation."""
    pairs = combinations(zip(variables, form, strict=True), 2)
    return all(seems_zero(derivative(e, w) - derivative(d, v)) for (v, e), (w, d) in pairs)


def _pivot(form: Form, is_zero: Callable[[Any], bool]) -> int:
    """Return the index of the shortest component that is not zero."""
    candidates = sorted((i for i, e in enumerate(form) if e != 0), key=lambda i: graph.operations(form[i]))
    return next(i for i in candidates if not is_zero(form[i]))


def _depends(form: Form, variable: sp.Symbol) -> bool:
    return any(variable in graph.free_symbols(e) for e in form)
