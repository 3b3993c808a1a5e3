# SPDX-License-Identifier: BSD-3-Clause
"""Numerical evaluation of the terms of a symbolic model at a point."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import sympy as sp
from sympy.printing.numpy import SciPyPrinter

from dalembert.common.array_types import Floats
from dalembert.lowering.jax_functions import flat
from dalembert.model import graph
from dalembert.model.data_function import DataFunction
from dalembert.model.numeric_function import exact_printer, numeric_function
from dalembert.model.standard_form import StandardForm
from dalembert.numerics.terms import Terms
from dalembert.numerics.tolerances import ROUNDING
from dalembert.numerics.violation import order_of_magnitude, own_scale, state_scales


class Point(NamedTuple):
    """A state and the values of the parameters."""

    q: Floats
    qd: Floats
    t: float
    p: Floats


DIFFERENCE_STEP = 1e-6
"""Relative step of the differences that estimate sizes of terms: only the order of magnitude is needed, and rounding
leaves ten digits of the change."""

TermsFunction = Callable[[Point], Terms]


@dataclass(frozen=True)
class Model:
    """A system whose terms can be evaluated numerically.

    residuals     φ and ψ alone, (m,) each, for searches that evaluate them thousands of times
    parameters    their symbols, in the order of ``Point.p``
    position      indices of the rows that are constraints on positions
    velocity      indices of the rows that are constraints on velocities
    """

    form: StandardForm
    terms: TermsFunction
    residuals: Callable[[Point], list[Floats]]
    parameters: tuple[sp.Symbol, ...]
    position: tuple[int, ...]
    velocity: tuple[int, ...]

    @cached_property
    def positions(self) -> Callable[[Point], Floats]:
        """φ alone (m,), for searches for positions; compiled when it is first needed."""
        return self.function(self.form.position)

    def function(self, expressions: Any) -> Callable[[Point], Floats]:
        """Return further expressions in the symbols of the form as a function of a point."""
        function = _compiled(self.form, self.parameters, (expressions,))
        return lambda point: function(point)[0]


def model_of(form: StandardForm, parameter_names: Sequence[str]) -> Model:
    """Return the model of a standard form: its terms as functions of a point, and the levels of its rows."""
    parameters = tuple(sp.Symbol(name, real=True) for name in parameter_names)
    position = tuple(i for i, e in enumerate(form.position) if e != 0)
    velocity = tuple(i for i, e in enumerate(form.velocity) if e != 0)
    residuals = _compiled(form, parameters, (form.position, form.velocity))
    return Model(form, _terms_of(form, parameters), residuals, parameters, position, velocity)


def _terms_of(form: StandardForm, parameters: Sequence[sp.Symbol]) -> TermsFunction:
    n, m = len(form.applied_force), len(form.constraint_rhs)
    blocks = (form.mass_matrix, form.applied_force, form.constraint_matrix, form.constraint_rhs, form.position)
    shapes = ((n, n), (n,), (m, n), (m,), (m,), (m,))
    function = _compiled(form, parameters, (*blocks, form.velocity))

    def terms(point: Point) -> Terms:
        return Terms(*(e.reshape(s) for e, s in zip(function(point), shapes, strict=True)))

    return terms


def _compiled(form: StandardForm, parameters: Sequence[sp.Symbol], blocks: Any) -> Callable[[Point], list[Floats]]:
    """Compile blocks of expressions to one function of a point; values that are not real become NaN."""
    smooth = without_dirac_deltas(blocks)
    arguments = (form.symbols.q, form.symbols.qd, form.symbols.time, parameters)
    # at exactly degenerate states the rounding of sums decides the verdict, so their order must not depend on the
    # common subexpressions: SymPy's printer is used unless the expressions are too large for it
    entries = flat(smooth)
    large = any(map(graph.is_large, entries)) or sum(graph.facts(e).size for e in entries) > graph.MOST_PRINTED
    if large or any(graph.has_kind(e, DataFunction) for e in entries):
        function = numeric_function(arguments, smooth, ["numpy", "scipy"])
    else:
        printer = exact_printer(SciPyPrinter)
        function = sp.lambdify(arguments, smooth, modules=["numpy", "scipy"], printer=printer, cse=True)
    real = not any(graph.has_kind(e, type(sp.I), sp.LambertW) for e in flat(smooth))

    def computed(point: Point) -> list[Floats]:
        with np.errstate(all="ignore"):
            found = function(*point)
        if real:
            return [np.array(block, float) for block in found]
        values: list[Any] = [np.array(block, complex) for block in found]
        return [np.where(block.imag == 0, block.real, np.nan) for block in values]

    return computed


def without_dirac_deltas(block: Any) -> Any:
    """Replace Dirac deltas, which second derivatives of |x| contain, by zero: their value at nearly all states."""
    if isinstance(block, tuple):
        return tuple(map(without_dirac_deltas, block))
    return graph.replace(block, dict.fromkeys(graph.atoms(block, sp.DiracDelta), sp.S.Zero))


def state_orders(numbers: Terms, point: Point, noise: float = ROUNDING) -> tuple[Floats, Floats]:
    """Return the orders of magnitude of coordinates and of velocities.

    A value that is zero, to within ``noise`` relative to the scale of the whole state, is given that scale: for a rod
    of a picometre along x, the coordinate y = 0 has the order of a picometre, too.
    """
    state = np.concatenate([point.q, point.qd])
    usual = state_scales(numbers.M, numbers.Q, point.q, point.qd)
    q, qd = np.split(order_of_magnitude(np.where(np.abs(state) > noise * usual, np.abs(state), usual)), 2)
    return q, qd


def sizes(function: Callable[[Point], Floats], point: Point) -> Floats:
    """Return the size of the terms of which each value is the sum, even if they cancel.

    It is estimated by the change of the value under a relative change of every number of the point, so that numbers
    on which the value does not depend do not contribute.
    """
    value, step = function(point), DIFFERENCE_STEP
    rng = np.random.default_rng(24)
    total = np.abs(value)
    for _ in range(2):
        perturbed = Point(*(_perturbed(np.asarray(part, float), step, rng) for part in point))
        change = np.abs(function(perturbed) - value) / step
        total = np.fmax(total, change + np.abs(value))  # fmax ignores NaN, which a function returns off its domain
    return total


def _perturbed(x: Floats, step: float, rng: np.random.Generator) -> Any:
    return x + step * own_scale(x) * rng.choice((-1.0, 1.0), x.shape) * rng.uniform(0.5, 1.0, x.shape)
