# SPDX-License-Identifier: BSD-3-Clause
"""The mass matrix: what kind it is at a state, along which direction it fails, and where it changes its kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import sympy as sp

from dalembert.mass import MassKind as MassKind
from dalembert.mass import mass_kind as mass_kind
from dalembert.mass import own_units as own_units
from dalembert.model.standard_form import StandardForm
from dalembert.model.values import Floats

LONGEST = 600
"""Operations in a mass matrix above which its determinant is not looked for in symbols."""


def spoken(direction: Floats, names: Sequence[str]) -> str:
    """A direction as a combination of coordinates, its largest part first made 1.

    >>> import numpy as np
    >>> spoken(np.array([-0.5, 0.0, 1.0]), ("x", "y", "z"))
    '-0.5 x + z'
    """
    scaled = direction / direction[int(np.argmax(np.abs(direction)))]
    parts: list[str] = []
    for value, name in zip(scaled, names, strict=True):
        if abs(value) > 1e-6:
            size = "" if abs(abs(value) - 1) < 1e-6 else f"{abs(value):.3g} "
            parts.append(("- " if value < 0 else "+ ") + size + name)
    text = " ".join(parts)
    return text[2:] if text.startswith("+ ") else "-" + text[2:]


class Locus(NamedTuple):
    """Where det M vanishes: an equation, and whether M changes its kind there."""

    equation: str
    changes_sign: bool


def singular_places(form: StandardForm) -> tuple[Locus, ...]:
    """Where in the state space det M = 0, as far as symbols tell."""
    M = sp.Matrix(form.mass_matrix)
    if sp.count_ops(M) > LONGEST or M.rows > 6:
        return ()
    factors = sp.factor_list(sp.fraction(sp.cancel(sp.trigsimp(M.det(method="berkowitz"))))[0])[1]
    places: list[Locus] = []
    for base, power in factors:
        state = [s for s in (*form.symbols.q, form.symbols.time) if s in base.free_symbols]
        signs = _signs_about_zeros(base, state) if state and not _never_zero(base, form) else set()
        if signs:
            places.append(Locus(_equation(base, state, form), power % 2 == 1 and {1.0, -1.0} <= signs))
    return tuple(places)


def _never_zero(base: Any, form: StandardForm) -> bool:
    """Whether a factor keeps its sign for positive parameters."""
    state = {*form.symbols.q, *form.symbols.qd, form.symbols.time}
    positive = base.xreplace({s: sp.Symbol(s.name, positive=True) for s in base.free_symbols - state})
    return bool(positive.is_positive or positive.is_negative)


def _signs_about_zeros(base: Any, state: Sequence[Any]) -> set[float]:
    """The signs that a factor takes about zeros of its own, looked for from random points; none if it has no zero.

    Parameters are positive. Only states move: a factor that parameters alone could make vanish is no place.
    """
    import scipy.optimize

    others = sorted(base.free_symbols - set(state), key=str)
    function = sp.lambdify([*state, *others], base, modules=["numpy", "scipy"])
    least_squares: Any = scipy.optimize.least_squares
    rng = np.random.default_rng(26)
    signs: set[float] = set()
    with np.errstate(all="ignore"):
        for _ in range(12):
            values = rng.uniform(0.5, 1.5, len(others))
            start = rng.normal(size=len(state))

            def miss(x: Any, values: Any = values) -> Any:
                return np.nan_to_num(np.atleast_1d(np.asarray(function(*x, *values), float)), nan=1e9, posinf=1e9)

            found = least_squares(miss, start, xtol=1e-15, ftol=1e-15, gtol=1e-15)
            if abs(float(found.fun[0])) <= 1e-8 * abs(float(miss(start)[0])):
                near = found.x + 1e-3 * (1 + np.abs(found.x)) * rng.normal(size=(40, len(state)))
                signs |= {float(np.sign(miss(x)[0])) for x in near}
    return signs


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
