# SPDX-License-Identifier: BSD-3-Clause
"""Zeros of det M in the state space: located numerically, and written as equations if SymPy finds them in time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import sympy as sp

from dalembert.analysis.bounded import SymbolicLimitError, bounded, short
from dalembert.analysis.evaluated_terms import without_dirac_deltas
from dalembert.model import graph
from dalembert.model.numeric_function import numeric_function
from dalembert.model.standard_form import StandardForm
from dalembert.numerics.mass import own_units
from dalembert.numerics.tolerances import EXACT

MOST_OPERATIONS, MOST_ROWS = 600, 6
"""Operations in a mass matrix, and rows, above which its determinant is not computed symbolically."""

Scaled = Callable[[Any], Callable[[Any], Any]]
"""A function that is scaled at one state, and then returns (k, values) at k states."""

RANDOM_STARTS = 12
"""Random starts of the search for a zero."""
SEARCH_RADIUS = 1e3
"""Largest coordinate of a zero: a determinant that only tends to zero at infinity has none."""
RELATIVE_ZERO = 1e-8
"""A minimum of |f| below this fraction of its value at the start is a zero: far above rounding, because minimization
converges only linearly towards a double zero."""
MINIMIZER_TOLERANCE = 1e-15
"""Tolerances of the minimization, near rounding: it ends when no further progress is possible."""
UNDEFINED = 1e9
"""Value that stands for an undefined determinant, far above those at states of order one, so that minimization turns
away from it."""
NEIGHBOURHOOD = 1e-3
"""Relative distance from a zero at which the signs are sampled."""


class Locus(NamedTuple):
    """A set of states at which det M vanishes: its equation, and whether det M changes its sign there."""

    equation: str
    changes_sign: bool


class SingularPlaces(NamedTuple):
    """The sets of states at which det M vanishes, and the reason if equations for them are missing."""

    loci: tuple[Locus, ...] = ()
    not_shown: str = ""


def singular_places(form: StandardForm) -> SingularPlaces:
    """Return the zeros of det M for positive parameters; it is factorized only if a numerical search finds a zero.

    Zeros that the constraints exclude do not count, such as e = 0 of Euler parameters of unit length.
    """
    state = _state(form)
    if not state or not any(_signs(_determinant(form, state), len(state))):
        return SingularPlaces()
    try:
        short(MOST_OPERATIONS, sp.Matrix(form.mass_matrix))
        if len(form.mass_matrix) > MOST_ROWS:
            raise SymbolicLimitError(f"the mass matrix has more than {MOST_ROWS} rows")
        return SingularPlaces(tuple(bounded(lambda: list(_loci(form)))))
    except SymbolicLimitError as error:
        return SingularPlaces(not_shown=str(error))


def _state(form: StandardForm) -> list[Any]:
    """Return the coordinates, and time, on which the mass matrix depends."""
    present: set[Any] = set().union(*(graph.free_symbols(e) for row in form.mass_matrix for e in row))
    return [s for s in (*form.symbols.q, form.symbols.time) if s in present]


def _determinant(form: StandardForm, state: Sequence[Any]) -> Callable[[Any], Scaled]:
    """Return a function that draws random parameters and returns det M as a function of k states, (k, 1 + residuals).

    It is scaled by the units of M at a given state. The residuals of position-level constraints between the coordinates
    in M alone follow it: they must vanish too.
    """
    M = without_dirac_deltas(form.mass_matrix)
    variables = {*form.symbols.q, form.symbols.time}
    kept = [e for e in form.position if e != 0 and graph.free_symbols(e) & variables <= set(state)]
    present: set[Any] = set().union(*(graph.free_symbols(e) for row in (*M, kept) for e in row))
    others = sorted(present - set(state), key=str)
    # most entries of a large matrix are zero or occur twice: each distinct one is computed once
    distinct = list(dict.fromkeys(e for row in M for e in row))
    places = np.array([[distinct.index(e) for e in row] for row in M])
    function = numeric_function([*state, *others], [*distinct, *kept], ["numpy", "scipy"])

    def chosen(rng: Any) -> Scaled:
        values = rng.uniform(0.5, 1.5, len(others))

        def evaluated(x: Any) -> tuple[Any, Any]:
            found = _real(function(*x.T, *values), len(x))
            return np.moveaxis(found[places], -1, 0), found[len(distinct) :].T

        def scaled(at: Any) -> Callable[[Any], Any]:
            # one scale for all states, so that the determinant stays continuous
            units = own_units(evaluated(at[None])[0][0])

            def determinant(x: Any) -> Any:
                matrices, residuals = evaluated(x)
                return np.column_stack([np.linalg.det(matrices / np.outer(units, units)), residuals])

            return determinant

        return scaled

    return chosen


def _loci(form: StandardForm) -> Iterator[Locus]:
    determinant = sp.Matrix(form.mass_matrix).det(method="berkowitz")
    for base, power in sp.factor_list(sp.fraction(sp.cancel(sp.trigsimp(determinant)))[0])[1]:
        state = [s for s in (*form.symbols.q, form.symbols.time) if s in graph.free_symbols(base)]
        signs = _signs(_factor(base, state), len(state)) if state and not _never_zero(base, form) else set()
        if signs:
            yield Locus(_equation(base, state, form), power % 2 == 1 and {1.0, -1.0} <= signs)


def _never_zero(base: Any, form: StandardForm) -> bool:
    """Return True if a factor is known to keep its sign for positive parameters."""
    state = {*form.symbols.q, *form.symbols.qd, form.symbols.time}
    positive = graph.replace(base, {s: sp.Symbol(s.name, positive=True) for s in graph.free_symbols(base) - state})
    return bool(positive.is_positive or positive.is_negative)


def _factor(base: Any, state: Sequence[Any]) -> Callable[[Any], Scaled]:
    """Return a function that draws random positive parameters and returns the factor, (k, 1) at k states."""
    others = sorted(graph.free_symbols(base) - set(state), key=str)
    function = numeric_function([*state, *others], base, ["numpy", "scipy"])

    def chosen(rng: Any) -> Scaled:
        values = rng.uniform(0.5, 1.5, len(others))
        return lambda at: lambda x: _real([function(*x.T, *values)], len(x)).T

    return chosen


def _real(values: Sequence[Any], count: int) -> Any:
    """Return values at ``count`` states as a real array (values, count); what is not real becomes NaN."""
    found: Any = np.empty((len(values), count), complex)
    for row, value in zip(found, values, strict=True):
        row[:] = value  # an entry that does not depend on the state is one number for all states
    return np.where(found.imag == 0, found.real, np.nan)


def _signs(choose: Callable[[Any], Scaled], size: int) -> set[float]:
    """Return the signs of a function around its zeros, which are searched from random states; none if it has no zero.

    Of several values of the function, the first counts; the others must vanish with it.
    Only the state is varied: a function that vanishes for special parameters only has no zeros in this sense.
    """
    rng = np.random.default_rng(26)
    signs: set[float] = set()
    with np.errstate(all="ignore"):
        for _ in range(RANDOM_STARTS):
            # new parameters for each start: whether a zero exists may depend on them
            scaled, start = choose(rng), rng.normal(size=size)
            # the size of det M is that at a state which the constraints allow: it is much larger where Euler parameters
            # of many bodies are longer than one
            start = _minimum(scaled(start), start, slice(1, None)).x
            function = scaled(start)
            first = abs(float(_finite(function(start[None]))[0, 0]))
            if first < EXACT:  # a matrix that is singular everywhere has no isolated zeros
                continue
            found = _minimum(function, start)
            vanishes = np.abs(found.fun) <= RELATIVE_ZERO * np.array([first, *np.ones(len(found.fun) - 1)])
            if vanishes.all() and np.abs(found.x).max() < SEARCH_RADIUS:
                near = found.x + NEIGHBOURHOOD * (1 + np.abs(found.x)) * rng.normal(size=(40, size))
                # both signs around a zero show that det M changes its sign there
                signs |= set(np.sign(_finite(function(near))[:, 0]).tolist())
    return signs


class _Minimum(NamedTuple):
    """A state, and the values of a function there."""

    x: Any
    fun: Any


def _minimum(function: Callable[[Any], Any], start: Any, part: slice = slice(None)) -> _Minimum:
    """Return a state near ``start`` at which the sum of squares of some values of a function is least."""
    import scipy.optimize

    def misses(x: Any) -> Any:
        return _finite(function(x))[:, part]

    def slopes(x: Any) -> Any:
        # the differences that SciPy takes, at all states in one call
        steps = np.sqrt(np.finfo(float).eps) * np.where(x >= 0, 1, -1) * np.maximum(1.0, np.abs(x))
        steps = (x + steps) - x
        found = misses(np.vstack([x, x + np.diag(steps)]))
        return ((found[1:] - found[0]) / steps[:, None]).T

    values = misses(start[None])[0]
    if not len(values):
        return _Minimum(start, values)
    least_squares: Any = scipy.optimize.least_squares
    ends = dict.fromkeys(("xtol", "ftol", "gtol"), MINIMIZER_TOLERANCE)
    found = least_squares(lambda x: misses(x[None])[0], start, slopes, **ends)
    return _Minimum(found.x, found.fun)


def _finite(values: Any) -> Any:
    return np.nan_to_num(values, nan=UNDEFINED, posinf=UNDEFINED, neginf=-UNDEFINED)


def _equation(base: Any, state: Sequence[Any], form: StandardForm) -> str:
    """Return the equation of a factor as text: `r = k/(c**2*m)` if it is linear in a variable, else `... = 0`."""
    for symbol in state:
        if base.is_polynomial(symbol) and sp.degree(base, symbol) == 1:
            solution = sp.factor(sp.solve(base, symbol)[0])
            if solution != 0 or base == symbol:
                return f"{_text(symbol, form)} = {_text(solution, form)}"
    return f"{_text(base, form)} = 0"


def _text(expression: Any, form: StandardForm) -> str:
    return form.symbols.readable(form.symbols.restore(expression))
