# SPDX-License-Identifier: BSD-3-Clause
"""Joint integrals of several Pfaffian forms, from their exact derived system."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import mpmath
import numpy as np
import sympy as sp

from dalembert.analysis.derived_flag import Pfaffian
from dalembert.analysis.evaluated_terms import without_dirac_deltas
from dalembert.analysis.integrals import Form, integral_of, is_integrable
from dalembert.analysis.pfaffian_elimination import derived_system, echelon, null_vectors
from dalembert.analysis.rational import Generators, NotRationalError, cancelled_fraction
from dalembert.analysis.zero_test import OFF_DOMAIN, seems_zero
from dalembert.model import graph
from dalembert.model.numeric_function import numeric_function
from dalembert.model.standard_form import gradient
from dalembert.numerics.linear_algebra import dependencies, independent_rows
from dalembert.numerics.tolerances import EXACT

_GENERATOR_LIMIT = 24
"""Generators of the field above which the flag is not computed symbolically."""
_TERM_LIMIT = 400
"""Monomials of a coefficient above which the flag is not computed symbolically."""
_MOST_QUADRATIC = 6
"""Variables up to which quadratic polynomials are tried as integrals; their number grows with the square."""


class ExactFlag:
    """The derived flag of forms whose coefficients are rational functions of algebraically independent generators.

    dimensions    of the systems of the flag, down to the completely integrable part
    rows          an echelon basis of that part, in the symbols of the model
    directions    vectors that annihilate the forms, as field elements

    Raises ``NotRationalError`` if the coefficients are not of this kind or become too large.
    """

    def __init__(self, forms: Sequence[Form], variables: Sequence[sp.Symbol]):
        self._variables = variables
        self.field = _Field([e for form in forms for e in form], variables)
        rows, pivots = echelon(self.field, [[self.field.element(e) for e in form] for form in forms])
        self.directions = null_vectors(self.field, rows, len(variables))
        self.dimensions = [len(rows)]
        while rows:
            derived = derived_system(self.field, rows, pivots, self.field.derivative)
            if len(derived) == len(rows):
                break
            rows, pivots = echelon(self.field, derived)
            self.dimensions.append(len(rows))
        self.rows = [[cancelled_fraction(self.field.expression(e)) for e in row] for row in rows]


class _Field:
    """Arithmetic of rational functions of generators, in which every test for zero is exact."""

    def __init__(self, expressions: Sequence[Any], variables: Sequence[sp.Symbol]):
        self._generators = Generators(expressions)
        rational = [self._generators.rational(e) for e in expressions]
        known: set[sp.Symbol] = set(variables)
        fresh = {s for e in rational for s in graph.free_symbols(e)} | known
        slopes: dict[Any, list[Any]] = {}
        while fresh:
            generator = fresh.pop()
            known.add(generator)
            slopes[generator] = [self._generators.slope(generator, v) for v in variables]
            fresh |= {s for e in slopes[generator] for s in graph.free_symbols(e)} - known
            if len(known) > _GENERATOR_LIMIT:
                raise NotRationalError
        self.generators = sorted(known, key=str)
        self._field = sp.QQ.frac_field(*self.generators)
        self._slopes = [[self._field.from_sympy(e) for e in slopes[generator]] for generator in self.generators]
        self.zero, self.one, self.tiny = self._field.zero, self._field.one, 0

    def element(self, expression: Any) -> Any:
        return self._field.from_sympy(self._generators.rational(expression))

    def expression(self, element: Any) -> Any:
        return self._generators.restore(self._field.to_sympy(element))

    def weight(self, e: Any) -> Any:
        """Return the weight of a coefficient as a pivot: short coefficients keep the elimination small."""
        return Fraction(1, len(e.numer) + len(e.denom)) if e else 0

    def add(self, left: Any, right: Any, factor: Any = 1) -> Any:
        return _checked(left + right * factor)

    def multiply(self, left: Any, right: Any) -> Any:
        return _checked(left * right)

    def inverse(self, e: Any) -> Any:
        return 1 / e

    def derivative(self, e: Any, variable: int) -> Any:
        total = self.zero
        for generator, slopes in zip(self._field.gens, self._slopes, strict=True):
            # the chain rule over the generators, which depend on the variables themselves
            if slopes[variable] and (part := e.diff(generator)):
                total = self.add(total, part * slopes[variable])
        return total


def joint_integrals(flag: ExactFlag, variables: Sequence[sp.Symbol]) -> list[Any]:
    """Return functions that are constant along the directions annihilated by the forms; they may be dependent.

    Each form of the integrable part is integrated on its own. On the level set of an integral, one variable is
    eliminated and the search repeated. Finally, polynomials of low degree in the variables are tried.
    """
    found = [f for row in flag.rows if (f := _own_integral(row, variables)) is not None]
    if len(found) == len(flag.rows):
        return found
    reduced = next((answer for f in found if (answer := _on_level(f, flag, variables)) is not None), None)
    if reduced is not None:
        return reduced
    return [*found, *_polynomial_integrals(flag, variables)]


def independent(functions: Sequence[Any], pfaffian: Pfaffian, point: Mapping[Any, float]) -> list[Any]:
    """Select functions, in order, whose gradients at a point are independent and are combinations of the forms."""
    variables = pfaffian.variables
    forms = _values([*pfaffian.forms, *(gradient(phi, variables) for phi in pfaffian.surfaces)], point, len(variables))
    kept: list[Any] = []
    rows = np.zeros((0, len(variables)))
    slopes = _values([gradient(f, variables) for f in functions], point, len(variables))
    for f, row in zip(functions, slopes, strict=True):
        if not np.isfinite(row).all():
            continue
        extended = np.vstack([rows, row])
        # an integral of the forms has a gradient in their span; other functions are rejected
        if len(independent_rows(extended)) == len(extended) and len(forms) in dependencies(np.vstack([forms, row])):
            kept.append(f)
            rows = extended
    return kept


def _values(rows: Sequence[Sequence[Any]], point: Mapping[Any, float], width: int) -> Any:
    return np.array([_row(row, point) for row in rows], float).reshape(len(rows), width)


def _row(row: Sequence[Any], point: Mapping[Any, float]) -> list[float]:
    """Evaluate expressions at a point with mpmath, which has the special functions that occur in integrals."""
    try:
        function = numeric_function([list(point)], without_dirac_deltas(tuple(row)), "mpmath")
        values = list(map(mpmath.mpmathify, function([mpmath.mpf(x) for x in point.values()])))
        return [float(mpmath.re(e)) if abs(mpmath.im(e)) <= EXACT * abs(e) else float("nan") for e in values]
    except (*OFF_DOMAIN, NameError):  # an integral need not be real at every point at which the constraints are
        return [float("nan")] * len(row)


def _own_integral(row: Form, variables: Sequence[sp.Symbol]) -> Any | None:
    return integral_of(row, variables, seems_zero) if is_integrable(row, variables, seems_zero) else None


def _on_level(f: Any, flag: ExactFlag, variables: Sequence[sp.Symbol]) -> list[Any] | None:
    """Return f and the integrals of the forms restricted to its level sets; None if f is not linear in a variable."""
    v = next(
        (v for v in variables if v in graph.free_symbols(f) and seems_zero(f.diff(v, v)) and not seems_zero(f.diff(v))),
        None,
    )
    if v is None:
        return None
    level = sp.Dummy("level", real=True)
    solved = cancelled_fraction((level - graph.replace(f, {v: sp.S.Zero})) / f.diff(v).xreplace({v: sp.S.Zero}))
    others = [w for w in variables if w != v]
    k = list(variables).index(v)
    rows = [
        [
            cancelled_fraction((row[list(variables).index(w)] + row[k] * solved.diff(w)).xreplace({v: solved}))
            for w in others
        ]
        for row in flag.rows
    ]
    try:
        below = joint_integrals(ExactFlag(rows, others), others)
    except NotRationalError:
        return [f]
    return [f, *(cancelled_fraction(graph.replace(g, {level: f})) for g in below)]


def _polynomial_integrals(flag: ExactFlag, variables: Sequence[sp.Symbol]) -> list[Any]:
    """Find integrals Σ cⱼ mⱼ with rational cⱼ and monomials mⱼ, from the derivatives X mⱼ at random points."""
    degree = 2 if len(variables) <= _MOST_QUADRATIC else 1
    monomials = [
        sp.Mul(*factors) for d in range(1, degree + 1) for factors in combinations_with_replacement(variables, d)
    ]
    field, draw = flag.field, random.Random(2018)
    slopes = [[m.diff(v) for v in variables] for m in monomials]
    rates = sp.lambdify(variables, slopes)
    rows: list[list[Any]] = []
    # two points more than unknowns, so that an accidental null vector is unlikely
    for _ in range(len(monomials) + 2):
        point = [sp.QQ(draw.randint(300, 1700), 1009) for _ in field.generators]
        place = [point[field.generators.index(v)] for v in variables]
        gradients = rates(*place)
        for direction in flag.directions:
            numbers = [e.numer(*point) / e.denom(*point) for e in direction]
            rows.append([sum(g * x for g, x in zip(gradient, numbers, strict=True)) for gradient in gradients])
    vectors = null_vectors(_Rationals(), rows, len(monomials))
    candidates = [
        sp.Add(*(sp.QQ.to_sympy(sp.QQ(c)) * m for c, m in zip(vector, monomials, strict=True))) for vector in vectors
    ]
    # conditions at random points are necessary only; candidates are verified exactly
    return [f for f in candidates if _is_constant_along(f, flag, variables)]


def _is_constant_along(f: Any, flag: ExactFlag, variables: Sequence[sp.Symbol]) -> bool:
    slope = [flag.field.element(f.diff(v)) for v in variables]
    return not any(sum((a * x for a, x in zip(slope, d, strict=True)), flag.field.zero) for d in flag.directions)


class _Rationals:
    """Arithmetic of rational numbers, for elimination."""

    zero, one, tiny = sp.QQ.zero, sp.QQ.one, 0

    def weight(self, e: Any) -> Any:
        return 1 if e else 0

    def add(self, left: Any, right: Any, factor: Any = 1) -> Any:
        return left + right * factor

    def multiply(self, left: Any, right: Any) -> Any:
        return left * right

    def inverse(self, e: Any) -> Any:
        return 1 / e


def _checked(e: Any) -> Any:
    if len(e.numer) + len(e.denom) > _TERM_LIMIT:
        raise NotRationalError
    return e
