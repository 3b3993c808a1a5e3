# SPDX-License-Identifier: BSD-3-Clause
"""Numerical tests at random states: independence and consistency of the constraint rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import sympy as sp

from dalembert.analysis.constraint_states import SUFFICIENT_STATES
from dalembert.analysis.evaluated_terms import model_of
from dalembert.analysis.sampled_states import random_starts, random_states
from dalembert.errors import ConstraintError, ModelError
from dalembert.model import graph
from dalembert.model.numeric_function import numeric_function
from dalembert.model.ordering import quoted
from dalembert.model.standard_form import StandardForm
from dalembert.model.symbols import plain_multiplier
from dalembert.model.system import System
from dalembert.numerics import linear_algebra
from dalembert.numerics.terms import Terms

CANNOT_COMPUTE = (NameError, NotImplementedError, ValueError)
"""Exceptions for functions without a numerical form, which SymPy prints as a bare name or refuses to print."""

SAME_RATIO = 1e-9
"""Relative difference below which ratios of gradients and offsets of residuals at different states are equal: rounding
of values of order one leaves far less."""

CONTRADICTION = 1e-5
"""Relative residual of a dependent row above which it contradicts the others: states found by an iteration satisfy
redundant constraints to about 1e-8, and a smaller residual may come from ill-conditioned rows."""


class Probes(NamedTuple):
    """The terms of a model at a few random states, with random positive parameters.

    consistent    whether the states satisfy the constraints
    """

    found: tuple[Terms, ...]
    consistent: bool


def probes(form: StandardForm, system: System) -> Probes:
    """Evaluate the terms at random consistent states, or at random states if no consistent one is found.

    Raises
    ------
    ModelError         if functions cannot be evaluated
    ConstraintError    if residuals of constraints differ by a constant, so that no state satisfies them
    """
    try:
        model = model_of(form, system.parameter_names)
        points = [state.point for state in random_states(model)]
        found = [model.terms(point) for point in points or random_starts(model)]
    except CANNOT_COMPUTE:
        require_computable(_parts(form, system), system)
        raise
    # terms that are not finite at a random state say nothing about the rows
    usable = tuple(terms for terms in found if terms.is_finite)[:SUFFICIENT_STATES]
    if not points:
        # a consistent state rules out constant offsets, so that the test is needed only without one
        for level, rows in (("position", model.position), ("velocity", model.velocity)):
            _refuse_constant_offset(usable, rows, level, system.constraint_names)
    return Probes(usable, consistent=bool(points))


def independent_rows(probed: Probes, rows: int) -> tuple[int, ...]:
    """Return the earliest rows of A that span all of them, at the state where most are independent."""
    choices = [linear_algebra.independent_rows(terms.A) for terms in probed.found]
    return max(choices, key=len) if choices else tuple(range(rows))


def refuse_contradiction(probed: Probes, kept: Sequence[int], names: Sequence[str]) -> None:
    """Raise if a dependent row implies another acceleration than the rows kept."""
    dropped = [i for i in range(len(names)) if i not in kept]
    if not dropped or not probed.consistent:
        return
    off = [i for i in dropped if all(_contradicts(terms, kept, i) for terms in probed.found)]
    if off:
        raise ConstraintError(
            f"the constraints must agree where they depend on one another; {quoted(names[i] for i in off)} implies "
            f"another acceleration than {quoted(names[i] for i in kept)}. Correct one of them or leave it out."
        )


def _refuse_constant_offset(probed: Sequence[Terms], rows: Sequence[int], level: str, names: Sequence[str]) -> None:
    """Raise for constraints such as x − 1 and x − 2: proportional gradients, and residuals with a constant offset.

    A failed search for a state would not be sufficient: with random parameters a valid loop may not close.
    """
    if not probed or not rows:
        return
    chosen = list(rows)
    found = [linear_algebra.dependencies(terms.A[chosen]) for terms in probed]
    for k in (k for k in found[0] if all(found_there.get(k) for found_there in found)):
        row = chosen[k]
        ratios = [{chosen[i]: c for i, c in found_there[k].items()} for found_there in found]
        offsets = np.array([_offset(terms, level, row, ratio) for terms, ratio in zip(probed, ratios, strict=True)])
        constant_ratio = all(ratio.keys() == ratios[0].keys() for ratio in ratios) and np.allclose(
            [list(ratio.values()) for ratio in ratios], list(ratios[0].values()), rtol=SAME_RATIO
        )
        if constant_ratio and np.abs(offsets).min() > SAME_RATIO and np.allclose(offsets, offsets[0], rtol=SAME_RATIO):
            raise ConstraintError(
                f"the constraints must leave some state possible; `{names[row]}` contradicts "
                f"{quoted(names[k] for k in ratios[0])} at {level} level. Correct one of them or leave it out."
            )


def _offset(terms: Terms, level: str, row: int, ratios: dict[int, float]) -> float:
    residuals: Any = getattr(terms, level)
    return float(residuals[row] - sum(c * residuals[k] for k, c in ratios.items()))


def _contradicts(terms: Terms, kept: Sequence[int], row: int) -> bool:
    A, b = terms.A, terms.b
    # the shortest acceleration that satisfies the rows kept; a dependent row gives the same value for all of them
    implied = np.linalg.lstsq(A[list(kept)], b[list(kept)], rcond=None)[0]
    # relative to the terms of the row, so that the scale of a constraint does not matter
    size = np.abs(A[row] * implied).sum() + abs(b[row]) + np.linalg.norm(A[row])
    return bool(abs(A[row] @ implied - b[row]) > CONTRADICTION * size)


def require_computable(parts: Mapping[str, Sequence[Any]], system: System) -> None:
    """Raise unless every part of a model can be evaluated; keys are their names in messages."""
    symbols = system.symbols
    parameters = [sp.Symbol(name, real=True) for name in system.parameter_names]
    multipliers = [plain_multiplier(name) for name in system.constraint_names]
    arguments = [*symbols.q, *symbols.qd, symbols.time, *symbols.ideal_force, *multipliers, *parameters]
    for place, expressions in parts.items():
        try:
            with np.errstate(all="ignore"):
                numeric_function(arguments, tuple(expressions), ["numpy", "scipy"])(*np.full(len(arguments), 0.7))
        except CANNOT_COMPUTE as error:
            derivatives = (symbols.readable(d) for term in expressions for d in graph.atoms(term, sp.Derivative))
            function = error.name if isinstance(error, NameError) else next(derivatives, str(error))
            raise ModelError(
                [
                    f"{place} must use functions that can be computed, and so must its time derivatives; "
                    f"`{function}` has no numerical form. Write it with smooth functions."
                ]
            ) from None


def _parts(form: StandardForm, system: System) -> dict[str, Sequence[Any]]:
    parts: dict[str, Sequence[Any]] = {
        "the mass matrix": [entry for row in form.mass_matrix for entry in row],
        "the applied force": form.applied_force,
    }
    for i, name in enumerate(system.constraint_names):
        rest = (form.constraint_rhs[i], form.position[i], form.velocity[i])
        parts[f"constraint `{name}`"] = (*form.constraint_matrix[i], *rest)
    return parts
