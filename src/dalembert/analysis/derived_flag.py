# SPDX-License-Identifier: BSD-3-Clause
"""The derived flag of a Pfaffian system (Frobenius' theorem), computed with power series at random points.

I⁽⁰⁾ is spanned by the forms, I⁽ᵏ⁺¹⁾ = {ω in I⁽ᵏ⁾ : dω ≡ 0 mod I⁽ᵏ⁾}. The flag ends with the completely integrable part;
its dimension is the number of joint integrals. Position-level constraints define the manifold on which the flag is
computed: the forms are restricted to it, and each of its equations counts as one integral.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

import mpmath
import numpy as np
import sympy as sp

from dalembert.analysis.jets import DIGITS, Jet, Jets, decimal_number, many_digits
from dalembert.analysis.pfaffian_elimination import derived_system, echelon
from dalembert.model import graph
from dalembert.model.standard_form import gradient

_VALUE_STEPS = 5
"""Steps of Newton's method that bring a point in double precision onto the surfaces to ``DIGITS`` digits: with an
inverse in double precision, each step gains about a dozen."""
_POINT_ACCURACY = 8
"""Digits to which the point satisfies the surfaces: normals that differ by less are dependent."""


@dataclass(frozen=True)
class Pfaffian:
    """Forms Σ aᵢ dzᵢ in the variables z = (q, t), on the intersection of the surfaces φ(z) = 0."""

    variables: tuple[sp.Symbol, ...]
    forms: tuple[tuple[Any, ...], ...]
    surfaces: tuple[Any, ...] = ()


class Flag(NamedTuple):
    """The dimensions of the derived flag at a point.

    stops_time    whether the last system contains dt itself: the constraints allow no motion
    """

    dimensions: tuple[int, ...]
    stops_time: bool


def derived_flag(pfaffian: Pfaffian, values: Mapping[Any, float]) -> Flag:
    """Compute the flag at one point, which must be a random point on the surfaces.

    Each step of the flag costs one order of the series, so the order is increased until the flag becomes stationary.
    """
    with many_digits():
        order = 1
        while (flag := _flag(pfaffian, values, order)) is None:
            order += 1
    return flag


def _flag(pfaffian: Pfaffian, values: Mapping[Any, float], order: int) -> Flag | None:
    """Compute the flag with series of this order; None if it is not stationary within them."""
    manifold = _Manifold(pfaffian, values, order)
    rows, pivots = echelon(Jets(len(manifold.active), order), manifold.forms)
    dimensions = [len(rows)]
    for remaining in range(order - 1, -1, -1):
        jets = Jets(len(manifold.active), remaining)
        derived = derived_system(jets, rows, pivots, manifold.derivative) if rows else []
        # the flag is stationary: what is left is completely integrable
        if len(derived) == len(rows):
            stops_time = manifold.time_is_fixed or _contains_last(jets, rows)
            return Flag(tuple(d + manifold.fixed for d in dimensions), stops_time)
        rows, pivots = echelon(jets, derived)
        dimensions.append(len(rows))
    return None


def _contains_last(jets: Jets, rows: list[list[Jet]]) -> bool:
    """Return True if the differential of the last variable, time, is a combination of the rows."""
    if not rows:
        return False
    last = [jets.zero] * (len(rows[0]) - 1) + [jets.one]
    return len(echelon(jets, [*rows, last])[0]) == len(rows)


class _Manifold:
    """The intersection of the surfaces near a point: its free variables, and the forms restricted to it.

    active           the free variables on which the forms or surfaces depend: those of the series
    fixed            the number of variables that the surfaces determine
    time_is_fixed    whether time is one of them
    forms            rows of series, one column per free variable, time last
    """

    def __init__(self, pfaffian: Pfaffian, values: Mapping[Any, float], order: int):
        expressions = [*pfaffian.surfaces, *(e for form in pfaffian.forms for e in form)]
        present = {s for e in expressions for s in graph.free_symbols(e)}
        point = {s: Decimal(x) for s, x in values.items()}
        rows, dependent = _independent(pfaffian.surfaces, pfaffian.variables, point)
        self.fixed = len(dependent)
        self.time_is_fixed = pfaffian.variables[-1] in dependent
        self._free = [v for v in pfaffian.variables if v not in dependent]
        self.active = [v for v in self._free if v in present]
        self._jets = jets = Jets(len(self.active), order + 1)
        at = {s: jets.constant(x) for s, x in point.items()}
        at |= {v: jets.variable(k, point[v]) for k, v in enumerate(self.active)}
        if pfaffian.forms:
            at |= _solved(jets, [pfaffian.surfaces[i] for i in rows], dependent, at)
        self.forms = self._restricted(pfaffian, Jets(len(self.active), order), dependent, at)

    def derivative(self, jet: Jet, column: int) -> Jet:
        """Differentiate a series with respect to the free variable of a column; the result is one order shorter."""
        variable = self._free[column]
        if variable not in self.active:
            return {}
        return self._jets.derivative(jet, self.active.index(variable))

    def _restricted(
        self, pfaffian: Pfaffian, jets: Jets, dependent: Sequence[sp.Symbol], at: Mapping[Any, Jet]
    ) -> list[list[Jet]]:
        memory: dict[Any, Jet] = {}
        rows: list[list[Jet]] = []
        for form in pfaffian.forms:
            # scale before restricting: the restriction of a form that follows from the surfaces is rounding error
            whole = jets.scaled([jets.evaluate(e, at, memory) for e in form])
            entries = dict(zip(pfaffian.variables, whole, strict=True))
            row = [entries[v] for v in self._free]
            for v in dependent:
                slopes = [self.derivative(at[v], k) for k in range(len(self._free))]
                row = [jets.add(e, jets.multiply(entries[v], s)) if s else e for e, s in zip(row, slopes, strict=True)]
            rows.append(row)
        return rows


def _independent(
    surfaces: Sequence[Any], variables: Sequence[sp.Symbol], point: Mapping[Any, Any]
) -> tuple[list[int], list[sp.Symbol]]:
    """Return the surfaces with independent normals at the point, by index, and as many dependent variables."""
    jets = Jets(0, 0)
    jets.tiny = Decimal(10) ** -_POINT_ACCURACY
    at = {s: jets.constant(x) for s, x in point.items()}
    normals = [jets.scaled([jets.evaluate(e, at, {}) for e in gradient(phi, variables)]) for phi in surfaces]
    _, kept = echelon(jets, list(zip(*normals, strict=True)))
    # time, the last variable, is chosen as dependent only if no coordinate can be
    _, pivots = echelon(jets, [normals[k][:-1] for k in kept])
    if len(pivots) < len(kept):
        _, pivots = echelon(jets, [normals[k] for k in kept])
    return kept, [variables[j] for j in pivots]


def _solved(
    jets: Jets, surfaces: Sequence[Any], dependent: Sequence[sp.Symbol], at: Mapping[Any, Jet]
) -> dict[sp.Symbol, Jet]:
    """Compute the dependent variables as series in the free ones, by Newton's method.

    Their values are computed first, to all digits. Each further step with the Jacobian at the point gains one order, so
    it is computed to that order only.
    """
    solution = {v: at[v] for v in dependent}
    if not dependent:
        return solution
    numbers = Jets(0, 0)
    here = {s: numbers.constant(jets.value(jet)) for s, jet in at.items()}
    slopes = [gradient(phi, dependent) for phi in surfaces]
    # an inverse in double precision suffices: each step multiplies the error by its relative error
    approximate = _inverse(slopes, here, 15)
    for _ in range(_VALUE_STEPS):
        here |= _newton_step(numbers, surfaces, here, {v: here[v] for v in dependent}, approximate)
    # the steps that add orders need the inverse to all digits, since they are not repeated
    inverse = _inverse(slopes, here, DIGITS)
    solution = {v: here[v] for v in dependent}
    for order in range(1, jets.order + 1):
        solution = _newton_step(Jets(jets.variables, order), surfaces, at, solution, inverse)
    return solution


def _newton_step(
    jets: Jets, surfaces: Sequence[Any], at: Mapping[Any, Jet], solution: Mapping[Any, Jet], inverse: Any
) -> dict[Any, Jet]:
    """Improve the dependent variables by one step with a fixed inverse of the Jacobian."""
    memory: dict[Any, Jet] = {}
    now = {**at, **solution}
    residuals = [jets.evaluate(phi, now, memory) for phi in surfaces]
    improved = dict(solution)
    for i, v in enumerate(improved):
        for k, residual in enumerate(residuals):
            improved[v] = jets.add(improved[v], residual, -inverse[i][k])
    return improved


def _inverse(slopes: Sequence[Sequence[Any]], at: Mapping[Any, Jet], digits: int) -> list[list[Decimal]]:
    """Compute the inverse of a matrix of expressions at a point, to the given number of digits."""
    numbers, memory = Jets(0, 0), dict[Any, Jet]()
    values = [[numbers.value(numbers.evaluate(e, at, memory)) for e in row] for row in slopes]
    if digits <= 15:
        return [list(map(Decimal, row)) for row in np.linalg.inv(np.array(values, float)).tolist()]
    found = mpmath.matrix([list(map(str, row)) for row in values]) ** -1
    return [[decimal_number(found[i, k]) for k in range(len(slopes))] for i in range(len(slopes))]
