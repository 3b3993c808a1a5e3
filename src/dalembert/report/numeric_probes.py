# SPDX-License-Identifier: BSD-3-Clause
"""Terms that decide what symbols cannot: which constraint rows are independent where the constraints hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import sympy as sp

from dalembert import linear_algebra
from dalembert.analysis.constraint_states import ENOUGH, random_starts, random_states
from dalembert.analysis.evaluated_terms import model_of
from dalembert.errors import ConstraintError, ModelError
from dalembert.model.ordering import quoted
from dalembert.model.standard_form import StandardForm
from dalembert.model.symbols import plain_multiplier
from dalembert.model.system import System
from dalembert.terms import Terms

CANNOT_COMPUTE = (NameError, NotImplementedError, ValueError)
"""What comes of a function without a numerical form, which SymPy writes as a bare name or refuses to write."""


class Probes(NamedTuple):
    """The terms of a model at a few random states, with random positive parameters.

    settled    whether the states satisfy the constraints
    """

    found: tuple[Terms, ...]
    settled: bool


def probes(form: StandardForm, system: System) -> Probes:
    """States that satisfy the constraints; where none can be found, random states as they are.

    Raises
    ------
    ModelError         functions that cannot be computed
    ConstraintError    constraints whose residuals differ by a number, so that no state satisfies them
    """
    try:
        model = model_of(form, system.parameter_names)
        points = [state.point for state in random_states(model)]
        found = [model.terms(point) for point in points or random_starts(model)]
    except CANNOT_COMPUTE:
        require_computable(_parts(form, system), system)
        raise
    usable = tuple(numbers for numbers in found if numbers.is_finite)[:ENOUGH]
    if not points:
        for level, rows in (("position", model.position), ("velocity", model.velocity)):
            _refuse_constant_offset(usable, rows, level, system.constraint_names)
    return Probes(usable, settled=bool(points))


def independent_rows(probed: Probes, rows: int) -> tuple[int, ...]:
    """The earliest rows of A that span all of them, at the probe where most are independent."""
    choices = [linear_algebra.independent_rows(numbers.A) for numbers in probed.found]
    return max(choices, key=len) if choices else tuple(range(rows))


def refuse_contradiction(probed: Probes, kept: Sequence[int], names: Sequence[str]) -> None:
    """A dependent row must ask for the acceleration that the rows kept already imply."""
    dropped = [i for i in range(len(names)) if i not in kept]
    if not dropped or not probed.settled:
        return
    off = [i for i in dropped if all(_contradicts(numbers, kept, i) for numbers in probed.found)]
    if off:
        raise ConstraintError(
            f"the constraints must agree where they depend on one another; {quoted(names[i] for i in off)} asks for "
            f"another acceleration than {quoted(names[i] for i in kept)}. Correct one of them or leave it out."
        )


def _refuse_constant_offset(probed: Sequence[Terms], rows: Sequence[int], level: str, names: Sequence[str]) -> None:
    """x − 1 and x − 2 have gradients in a constant ratio, and residuals that differ by a number from that ratio.

    A weaker sign, such as a failed search for a state, would not do: with random parameters a sound loop may not close.
    """
    if not probed or not rows:
        return
    chosen = list(rows)
    found = [linear_algebra.dependencies(numbers.A[chosen]) for numbers in probed]
    for k in (k for k in found[0] if all(found_there.get(k) for found_there in found)):
        row = chosen[k]
        ratios = [{chosen[i]: c for i, c in found_there[k].items()} for found_there in found]
        offsets = np.array([_offset(numbers, level, row, of) for numbers, of in zip(probed, ratios, strict=True)])
        steady = all(of.keys() == ratios[0].keys() for of in ratios) and np.allclose(
            [list(of.values()) for of in ratios], list(ratios[0].values()), rtol=1e-9
        )
        if steady and np.abs(offsets).min() > 1e-9 and np.allclose(offsets, offsets[0], rtol=1e-9):
            raise ConstraintError(
                f"the constraints must leave some state possible; `{names[row]}` contradicts "
                f"{quoted(names[k] for k in ratios[0])} at {level} level. Correct one of them or leave it out."
            )


def _offset(numbers: Terms, level: str, row: int, ratios: dict[int, float]) -> float:
    residuals: Any = getattr(numbers, level)
    return float(residuals[row] - sum(c * residuals[k] for k, c in ratios.items()))


def _contradicts(numbers: Terms, kept: Sequence[int], row: int) -> bool:
    A, b = numbers.A, numbers.b
    implied = np.linalg.lstsq(A[list(kept)], b[list(kept)], rcond=None)[0]
    size = np.abs(A[row] * implied).sum() + abs(b[row]) + np.linalg.norm(A[row])
    return bool(abs(A[row] @ implied - b[row]) > 1e-5 * size)


def require_computable(parts: Mapping[str, Sequence[Any]], system: System) -> None:
    """Every part of a model, by the name that messages call it, must have a value at a state."""
    symbols = system.symbols
    parameters = [sp.Symbol(name, real=True) for name in system.parameter_names]
    multipliers = [plain_multiplier(name) for name in system.constraint_names]
    arguments = [*symbols.q, *symbols.qd, symbols.time, *symbols.ideal_force, *multipliers, *parameters]
    for place, terms in parts.items():
        try:
            with np.errstate(all="ignore"):
                sp.lambdify(arguments, tuple(terms), modules=["numpy", "scipy"])(*np.full(len(arguments), 0.7))
        except CANNOT_COMPUTE as error:
            derivatives = (symbols.readable(d) for term in terms for d in term.atoms(sp.Derivative))
            culprit = error.name if isinstance(error, NameError) else next(derivatives, str(error))
            raise ModelError(
                [
                    f"{place} must use functions that can be computed, and so must its time derivatives; "
                    f"`{culprit}` has no numerical form. Write it with smooth functions."
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
