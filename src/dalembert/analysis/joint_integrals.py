# SPDX-License-Identifier: BSD-3-Clause
"""Integrals that several Pfaffian forms have together, from their exact derived system."""

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
from dalembert.analysis.evaluated_terms import without_spikes
from dalembert.analysis.integrals import Form, integral_of, is_integrable
from dalembert.analysis.pfaffian_elimination import derived_system, echelon, null_vectors
from dalembert.analysis.rational import Letters, NotRationalError, neat
from dalembert.analysis.zero_test import OFF_DOMAIN, seems_zero
from dalembert.linear_algebra import dependencies, independent_rows
from dalembert.model import graph
from dalembert.model.numeric_function import numeric_function
from dalembert.model.standard_form import gradient

_LETTER_LIMIT = 24
_TERM_LIMIT = 400


class ExactFlag:
    """The derived flag of forms whose coefficients are rational functions of letters.

    dimensions    of the systems of the flag, down to the completely integrable part
    rows          an echelon basis of that part, in the letters of the model
    directions    vectors that annihilate the forms, as field elements

    Raises ``NotRationalError`` where the coefficients do not fit or become too large.
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
        self.rows = [[neat(self.field.expression(e)) for e in row] for row in rows]


class _Field:
    """Arithmetic of rational functions of letters; every number is either zero or not, without doubt."""

    def __init__(self, expressions: Sequence[Any], variables: Sequence[sp.Symbol]):
        self._letters = Letters(expressions)
        rational = [self._letters.rational(e) for e in expressions]
        known: set[sp.Symbol] = set(variables)
        fresh = {s for e in rational for s in graph.free_symbols(e)} | known
        slopes: dict[Any, list[Any]] = {}
        while fresh:
            letter = fresh.pop()
            known.add(letter)
            slopes[letter] = [self._letters.slope(letter, v) for v in variables]
            fresh |= {s for e in slopes[letter] for s in graph.free_symbols(e)} - known
            if len(known) > _LETTER_LIMIT:
                raise NotRationalError
        self.letters = sorted(known, key=str)
        self._field = sp.QQ.frac_field(*self.letters)
        self._slopes = [[self._field.from_sympy(e) for e in slopes[letter]] for letter in self.letters]
        self.zero, self.one, self.tiny = self._field.zero, self._field.one, 0

    def element(self, expression: Any) -> Any:
        return self._field.from_sympy(self._letters.rational(expression))

    def expression(self, element: Any) -> Any:
        return self._letters.restore(self._field.to_sympy(element))

    def weight(self, e: Any) -> Any:
        """Short coefficients make good pivots."""
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
            if slopes[variable] and (part := e.diff(generator)):
                total = self.add(total, part * slopes[variable])
        return total


def joint_integrals(flag: ExactFlag, variables: Sequence[sp.Symbol]) -> list[Any]:
    """Functions that the forms hold constant, as many as are found; they may depend on one another.

    Each form of the integrable part is tried on its own; on the level of an integral found, one variable is eliminated
    and the rest tried again; and sums of low powers of the variables are tried.
    """
    found = [f for row in flag.rows if (f := _own_integral(row, variables)) is not None]
    if len(found) == len(flag.rows):
        return found
    reduced = next((answer for f in found if (answer := _on_level(f, flag, variables)) is not None), None)
    if reduced is not None:
        return reduced
    return [*found, *_sums_of_powers(flag, variables)]


def independent(functions: Sequence[Any], pfaffian: Pfaffian, point: Mapping[Any, float]) -> list[Any]:
    """The earliest of some functions whose gradients at a point are independent and combinations of the forms."""
    variables = pfaffian.variables
    forms = _numbers([*pfaffian.forms, *(gradient(phi, variables) for phi in pfaffian.surfaces)], point, len(variables))
    kept: list[Any] = []
    rows = np.zeros((0, len(variables)))
    slopes = _numbers([gradient(f, variables) for f in functions], point, len(variables))
    for f, row in zip(functions, slopes, strict=True):
        if not np.isfinite(row).all():
            continue
        extended = np.vstack([rows, row])
        if len(independent_rows(extended)) == len(extended) and len(forms) in dependencies(np.vstack([forms, row])):
            kept.append(f)
            rows = extended
    return kept


def _numbers(rows: Sequence[Sequence[Any]], point: Mapping[Any, float], width: int) -> Any:
    return np.array([_row(row, point) for row in rows], float).reshape(len(rows), width)


def _row(row: Sequence[Any], point: Mapping[Any, float]) -> list[float]:
    """Terms at a point; by mpmath, which knows the special functions that integrals are made of."""
    try:
        function = numeric_function([list(point)], without_spikes(tuple(row)), "mpmath")
        values = list(map(mpmath.mpmathify, function([mpmath.mpf(x) for x in point.values()])))
        return [float(mpmath.re(e)) if abs(mpmath.im(e)) <= 1e-12 * abs(e) else float("nan") for e in values]
    except (*OFF_DOMAIN, NameError):  # an integral need not be real wherever the constraints are
        return [float("nan")] * len(row)


def _own_integral(row: Form, variables: Sequence[sp.Symbol]) -> Any | None:
    return integral_of(row, variables, seems_zero) if is_integrable(row, variables, seems_zero) else None


def _on_level(f: Any, flag: ExactFlag, variables: Sequence[sp.Symbol]) -> list[Any] | None:
    """f, and the integrals of what is left of the forms where f is constant; None where f cannot be solved."""
    v = next(
        (v for v in variables if v in graph.free_symbols(f) and seems_zero(f.diff(v, v)) and not seems_zero(f.diff(v))),
        None,
    )
    if v is None:
        return None
    level = sp.Dummy("level", real=True)
    solved = neat((level - graph.replace(f, {v: sp.S.Zero})) / f.diff(v).xreplace({v: sp.S.Zero}))
    others = [w for w in variables if w != v]
    k = list(variables).index(v)
    rows = [
        [neat((row[list(variables).index(w)] + row[k] * solved.diff(w)).xreplace({v: solved})) for w in others]
        for row in flag.rows
    ]
    try:
        below = joint_integrals(ExactFlag(rows, others), others)
    except NotRationalError:
        return [f]
    return [f, *(neat(graph.replace(g, {level: f})) for g in below)]


def _sums_of_powers(flag: ExactFlag, variables: Sequence[sp.Symbol]) -> list[Any]:
    """Integrals Σ cⱼ mⱼ with numbers cⱼ and powers mⱼ of the variables, from X mⱼ at random points."""
    degree = 2 if len(variables) <= 6 else 1
    powers = [sp.Mul(*factors) for d in range(1, degree + 1) for factors in combinations_with_replacement(variables, d)]
    field, draw = flag.field, random.Random(2018)
    slopes = [[m.diff(v) for v in variables] for m in powers]
    rates = sp.lambdify(variables, slopes)
    rows: list[list[Any]] = []
    for _ in range(len(powers) + 2):
        point = [sp.QQ(draw.randint(300, 1700), 1009) for _ in field.letters]
        place = [point[field.letters.index(v)] for v in variables]
        gradients = rates(*place)
        for direction in flag.directions:
            numbers = [e.numer(*point) / e.denom(*point) for e in direction]
            rows.append([sum(g * x for g, x in zip(gradient, numbers, strict=True)) for gradient in gradients])
    vectors = null_vectors(_Rationals(), rows, len(powers))
    candidates = [
        sp.Add(*(sp.QQ.to_sympy(sp.QQ(c)) * m for c, m in zip(vector, powers, strict=True))) for vector in vectors
    ]
    return [f for f in candidates if _is_constant_along(f, flag, variables)]


def _is_constant_along(f: Any, flag: ExactFlag, variables: Sequence[sp.Symbol]) -> bool:
    slope = [flag.field.element(f.diff(v)) for v in variables]
    return not any(sum((a * x for a, x in zip(slope, d, strict=True)), flag.field.zero) for d in flag.directions)


class _Rationals:
    """Fractions, for elimination."""

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
