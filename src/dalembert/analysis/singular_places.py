# SPDX-License-Identifier: BSD-3-Clause
"""Where in the state space det M = 0: found by numbers, and written as equations where symbols find them in time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import sympy as sp

from dalembert.analysis.bounded import GivenUpError, bounded, short
from dalembert.analysis.evaluated_terms import without_spikes
from dalembert.mass import own_units
from dalembert.model import graph
from dalembert.model.numeric_function import numeric_function
from dalembert.model.standard_form import StandardForm

LONGEST, LARGEST = 600, 6
"""Operations in a mass matrix, and rows, above which its determinant is not looked for in symbols."""

STARTS = 12
FARTHEST = 1e3
"""How far from the origin a zero may lie: a determinant may also vanish towards infinity."""


class Locus(NamedTuple):
    """Where det M vanishes: an equation, and whether M changes its kind there."""

    equation: str
    changes_sign: bool


class SingularPlaces(NamedTuple):
    """The places where det M vanishes, and why they are not all written as equations, if they are not."""

    loci: tuple[Locus, ...] = ()
    not_shown: str = ""


def singular_places(form: StandardForm) -> SingularPlaces:
    """Where det M = 0, for positive parameters; factors are looked for only if numbers find a zero."""
    state = _state(form)
    if not state or not any(_signs(_determinant(form, state), len(state))):
        return SingularPlaces()
    try:
        short(LONGEST, sp.Matrix(form.mass_matrix))
        if len(form.mass_matrix) > LARGEST:
            raise GivenUpError(f"the mass matrix has more than {LARGEST} rows")
        return SingularPlaces(tuple(bounded(lambda: list(_loci(form)))))
    except GivenUpError as trouble:
        return SingularPlaces(not_shown=str(trouble))


def _state(form: StandardForm) -> list[Any]:
    """The coordinates, and time, on which the mass matrix depends."""
    present: set[Any] = set().union(*(graph.free_symbols(e) for row in form.mass_matrix for e in row))
    return [s for s in (*form.symbols.q, form.symbols.time) if s in present]


def _determinant(form: StandardForm, state: Sequence[Any]) -> Callable[[Any], Callable[[Any], float]]:
    """det M as a function of the state, for random values of everything else."""
    M = without_spikes(form.mass_matrix)
    others = sorted(set().union(*(graph.free_symbols(e) for row in M for e in row)) - set(state), key=str)
    function = numeric_function([*state, *others], M, ["numpy", "scipy"])

    def chosen(rng: Any) -> Callable[[Any], float]:
        values = rng.uniform(0.5, 1.5, len(others))
        units: Any = None

        def determinant(x: Any) -> float:
            nonlocal units
            matrix = _real(function(*x, *values))
            units = own_units(matrix) if units is None else units  # those of the first place, for all
            return float(np.linalg.det(matrix / np.outer(units, units)))

        return determinant

    return chosen


def _loci(form: StandardForm) -> Iterator[Locus]:
    determinant = sp.Matrix(form.mass_matrix).det(method="berkowitz")
    for base, power in sp.factor_list(sp.fraction(sp.cancel(sp.trigsimp(determinant)))[0])[1]:
        state = [s for s in (*form.symbols.q, form.symbols.time) if s in graph.free_symbols(base)]
        signs = _signs(_factor(base, state), len(state)) if state and not _never_zero(base, form) else set()
        if signs:
            yield Locus(_equation(base, state, form), power % 2 == 1 and {1.0, -1.0} <= signs)


def _never_zero(base: Any, form: StandardForm) -> bool:
    """Whether a factor keeps its sign for positive parameters."""
    state = {*form.symbols.q, *form.symbols.qd, form.symbols.time}
    positive = graph.replace(base, {s: sp.Symbol(s.name, positive=True) for s in graph.free_symbols(base) - state})
    return bool(positive.is_positive or positive.is_negative)


def _factor(base: Any, state: Sequence[Any]) -> Callable[[Any], Callable[[Any], float]]:
    """A factor as a function of the state, for random positive parameters."""
    others = sorted(graph.free_symbols(base) - set(state), key=str)
    function = numeric_function([*state, *others], base, ["numpy", "scipy"])

    def chosen(rng: Any) -> Callable[[Any], float]:
        values = rng.uniform(0.5, 1.5, len(others))
        return lambda x: float(_real(function(*x, *values)))

    return chosen


def _real(value: Any) -> Any:
    """A value or a matrix; what is not real is not a number."""
    array: Any = np.asarray(value, complex)
    return np.where(array.imag == 0, array.real, np.nan)


def _signs(choose: Callable[[Any], Callable[[Any], float]], size: int) -> set[float]:
    """The signs that a function takes about zeros of its own, looked for from random states; none if it has no zero.

    Only states move: a function that parameters alone could make vanish is no place.
    """
    import scipy.optimize

    least_squares: Any = scipy.optimize.least_squares
    rng = np.random.default_rng(26)
    signs: set[float] = set()
    with np.errstate(all="ignore"):
        for _ in range(STARTS):
            function, start = choose(rng), rng.normal(size=size)

            def miss(x: Any, function: Any = function) -> Any:
                return np.nan_to_num(np.atleast_1d(function(x)), nan=1e9, posinf=1e9, neginf=-1e9)

            first = abs(float(miss(start)[0]))
            if first < LEAST:
                continue
            found = least_squares(miss, start, xtol=1e-15, ftol=1e-15, gtol=1e-15)
            if abs(float(found.fun[0])) <= 1e-8 * first and np.abs(found.x).max() < FARTHEST:
                near = found.x + 1e-3 * (1 + np.abs(found.x)) * rng.normal(size=(40, size))
                signs |= {float(np.sign(miss(x)[0])) for x in near}
    return signs


LEAST = 1e-12
"""What counts as zero at a random state: a matrix that is singular everywhere has no places."""


def _equation(base: Any, state: Sequence[Any], form: StandardForm) -> str:
    """`r = k/(c**2*m)` where a coordinate can be solved for, else `... = 0`."""
    for symbol in state:
        if base.is_polynomial(symbol) and sp.degree(base, symbol) == 1:
            solution = sp.factor(sp.solve(base, symbol)[0])
            if solution != 0 or base == symbol:
                return f"{_said(symbol, form)} = {_said(solution, form)}"
    return f"{_said(base, form)} = 0"


def _said(expression: Any, form: StandardForm) -> str:
    return form.symbols.readable(form.symbols.restore(expression))
