# SPDX-License-Identifier: BSD-3-Clause
"""The terms of a symbolic model as numbers at a point."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import sympy as sp

from dalembert.analysis.mass import own_units
from dalembert.lowering.compiling import flat
from dalembert.model import graph
from dalembert.model.numeric import numeric_function
from dalembert.model.standard_form import StandardForm
from dalembert.model.values import Floats
from dalembert.violation import NOISE


class Numbers(NamedTuple):
    """The terms of a model at one state: M (n, n), Q (n,), A (m, n), b (m,), residuals φ and ψ (m,)."""

    M: Floats
    Q: Floats
    A: Floats
    b: Floats
    position: Floats
    velocity: Floats

    @property
    def rows(self) -> Floats:
        """A in coordinates of which each has its own unit, so that metres beside nanometres do not decide a rank."""
        return self.A / own_units(self.M)

    @property
    def units(self) -> Floats:
        """The size (n,) of a step along each coordinate as the masses see it, relative to the others."""
        size = own_units(self.M)
        logarithm = -np.log10(np.where(computable(size), size, 1.0))
        return 10.0 ** np.round(logarithm - logarithm.mean())


class Point(NamedTuple):
    """A state and the values of the parameters."""

    q: Floats
    qd: Floats
    t: float
    p: Floats


Terms = Callable[[Point], Numbers]


@dataclass(frozen=True)
class Model:
    """A system ready for numbers.

    residuals     φ and ψ alone, (m,) each: searches ask for them thousands of times
    parameters    their symbols, in the order of ``Point.p``
    position      the rows that say something about positions
    velocity      those that say something about velocities
    """

    form: StandardForm
    terms: Terms
    residuals: Callable[[Point], list[Floats]]
    parameters: tuple[sp.Symbol, ...]
    position: tuple[int, ...]
    velocity: tuple[int, ...]

    def function(self, expressions: Any) -> Callable[[Point], Floats]:
        """Some more expressions in the letters of the form as a function of a point."""
        function = _compiled(self.form, self.parameters, (expressions,))
        return lambda point: function(point)[0]


def model_of(form: StandardForm, parameter_names: Sequence[str]) -> Model:
    """The terms as one function of a point, and which rows speak about what."""
    parameters = tuple(sp.Symbol(name, real=True) for name in parameter_names)
    position = tuple(i for i, e in enumerate(form.position) if e != 0)
    velocity = tuple(i for i, e in enumerate(form.velocity) if e != 0)
    residuals = _compiled(form, parameters, (form.position, form.velocity))
    return Model(form, _terms_of(form, parameters), residuals, parameters, position, velocity)


def _terms_of(form: StandardForm, parameters: Sequence[sp.Symbol]) -> Terms:
    n, m = len(form.applied_force), len(form.constraint_rhs)
    blocks = (form.mass_matrix, form.applied_force, form.constraint_matrix, form.constraint_rhs, form.position)
    shapes = ((n, n), (n,), (m, n), (m,), (m,), (m,))
    function = _compiled(form, parameters, (*blocks, form.velocity))

    def terms(point: Point) -> Numbers:
        return Numbers(*(e.reshape(s) for e, s in zip(function(point), shapes, strict=True)))

    return terms


def _compiled(form: StandardForm, parameters: Sequence[sp.Symbol], blocks: Any) -> Callable[[Point], list[Floats]]:
    """Blocks of expressions as one function of a point; what is not real there is not a number."""
    smooth = without_spikes(blocks)
    arguments = (form.symbols.q, form.symbols.qd, form.symbols.time, parameters)
    # verdicts at places that are exactly degenerate hang on the order of sums: as SymPy prints them, where it can
    entries = flat(smooth)
    if any(map(graph.is_large, entries)) or sum(graph.facts(e).size for e in entries) > graph.MOST_PRINTED:
        function = numeric_function(arguments, smooth, ["numpy", "scipy"])
    else:
        function = sp.lambdify(arguments, smooth, modules=["numpy", "scipy"], cse=True)
    real = not any(graph.has_kind(e, type(sp.I), sp.LambertW) for e in flat(smooth))

    def computed(point: Point) -> list[Floats]:
        with np.errstate(all="ignore"):
            found = function(*point)
        if real:
            return [np.array(block, float) for block in found]
        values: list[Any] = [np.array(block, complex) for block in found]
        return [np.where(block.imag == 0, block.real, np.nan) for block in values]

    return computed


def without_spikes(block: Any) -> Any:
    """|x| has a second derivative that is zero but for a spike at the kink: zero at nearly all states."""
    if isinstance(block, tuple):
        return tuple(map(without_spikes, block))
    return graph.replace(block, dict.fromkeys(graph.atoms(block, sp.DiracDelta), sp.S.Zero))


def computable(array: Floats) -> Any:
    """Which entries are numbers, and such that their squares are numbers, too."""
    return np.abs(array) < 1e150


def finite(numbers: Numbers) -> bool:
    return all(bool(computable(array).all()) for array in numbers)


def own_scale(x: Floats) -> Floats:
    """The order of magnitude of each number, one where it is zero but for rounding.

    A power of ten and not the number itself: numbers measured by themselves are all alike, and random ones random no
    more.
    """
    size: Any = np.where(np.abs(x) > NOISE, np.abs(x), 1.0)
    return 10.0 ** np.round(np.log10(size))


def sizes(function: Callable[[Point], Floats], point: Point) -> Floats:
    """The size of the terms that each value is the sum of, although they may cancel.

    It is how much the value changes when every number of the point does, by its own size: what a value does not depend
    on has no part in it.
    """
    value, step = function(point), 1e-6
    rng = np.random.default_rng(24)
    total = np.abs(value)
    for _ in range(2):
        moved = Point(*(_shaken(np.asarray(part, float), step, rng) for part in point))
        change = np.abs(function(moved) - value) / step
        total = np.fmax(total, change + np.abs(value))  # off its domain a value says nothing
    return total


def _shaken(x: Floats, step: float, rng: np.random.Generator) -> Any:
    return x + step * own_scale(x) * rng.choice((-1.0, 1.0), x.shape) * rng.uniform(0.5, 1.0, x.shape)
