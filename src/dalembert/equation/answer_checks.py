# SPDX-License-Identifier: BSD-3-Clause
"""Checks of a constrained motion, and the errors they raise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.common.array_types import all_finite
from dalembert.equation.answer import ConstrainedMotion
from dalembert.equation.formulation import Formulation
from dalembert.equation.stacked_least_squares import StackedLeastSquares, checked_weight
from dalembert.errors import WHERE_NOT_FINITE, ConstraintError, InputError, MassMatrixError
from dalembert.numerics.linear_algebra import null_space, unit_rows
from dalembert.numerics.mass import coordinate_units, has_only_masses, in_units, is_symmetric, mass_kind, own_units
from dalembert.numerics.tolerances import CONSISTENCY_TOLERANCE, NAMED_SHARE, RESIDUAL_TOLERANCE, SINGULAR_MASS


def refuse_trouble(answer: ConstrainedMotion, formulation: Formulation, names: Sequence[str] | None) -> None:
    """Raise an error if an answer is not valid; ``names`` are the names of the constraints."""
    if not all_finite(answer.residual):  # it is infinite if a term is not finite
        require_finite({name: getattr(answer, name) for name in TERMS})
    M, A = np.asarray(answer.mass_matrix), np.asarray(answer.constraint_matrix)
    if not has_only_masses(M):  # bodies in Cartesian coordinates have such a matrix
        require_symmetric(M)
        if formulation.positive_mass:
            require_positive(M)
    if formulation.semidefinite_mass:
        _require_semidefinite(M, formulation)
    rank, m = np.asarray(answer.rank), A.shape[-2]
    if formulation.independent_rows and (rank < m).any():
        raise ConstraintError(
            f"`{type(formulation).__name__}` must have independent constraints; got {m} of rank {rank.min()}. "
            f"Use `da.Factored()`, which takes redundant ones, or remove the redundant ones."
        )
    worst = np.asarray(answer.inconsistency)
    if not formulation.compromises and np.count_nonzero(worst > CONSISTENCY_TOLERANCE):
        raise ConstraintError(contradiction(answer, names))
    # with a positive definite M the acceleration is unique whatever the constraints are
    if not formulation.positive_mass:
        _require_regular(M, A, formulation)
    require_small_residual(answer, formulation)


TERMS = ("mass_matrix", "applied_force", "constraint_matrix", "constraint_rhs", "nonideal")
"""Fields of ``ConstrainedMotion`` that are given, not computed."""


def require_finite(terms: Mapping[str, Any]) -> None:
    """Raise an error unless all terms of a problem are finite."""
    for name, array in terms.items():
        if not all_finite(array):
            raise InputError(f"`{name}` must be finite at this state; got {np.asarray(array)}. {WHERE_NOT_FINITE}")


def require_symmetric(M: Any) -> None:
    """Raise an error unless every mass matrix in a batch is symmetric."""
    if not is_symmetric(M):
        raise InputError(f"`mass_matrix` must be symmetric; got {M}.")


PASS_IT = "pass `formulation="
"""Advice for functions that take a formulation; ensembles do not."""


def require_positive(M: Any) -> None:
    """Raise an error unless every mass matrix in a batch is positive definite."""
    if has_only_masses(M):  # no eigenvalues are needed
        return
    smallest, largest = _extreme_eigenvalues(M)
    if (smallest <= SINGULAR_MASS * largest).any():
        where = np.unravel_index(int(np.argmin(smallest / largest)), smallest.shape)
        found = np.asarray(M, float)[where]
        kind, along = mass_kind(found)
        direction = np.zeros(len(found)) if along is None else along / np.linalg.norm(along)
        direction = direction * np.sign(direction[np.argmax(np.abs(direction))]) + 0.0  # no -0 in the message
        kind = "singular" if kind == "singular" else "indefinite"
        remedy = "da.SingularMass()" if kind == "singular" else "da.Multipliers()"
        raise MassMatrixError(
            f"`mass_matrix` must be positive definite; it is {kind}: vᵀMv = {direction @ found @ direction:.3g} for "
            f"v = ({_listed(direction)}). If that is meant, {PASS_IT}{remedy}`."
        )


def _extreme_eigenvalues(M: Any) -> tuple[Any, Any]:
    """Return the smallest and the largest absolute eigenvalue of mass matrices in the coordinates' own units."""
    values = np.linalg.eigvalsh(in_units(M, own_units(np.asarray(M, float))))
    return values.min(axis=-1), np.abs(values).max(axis=-1)


def _listed(vector: Any) -> str:
    return ", ".join(f"{component:.3g}" for component in vector)


def _require_semidefinite(M: Any, formulation: Formulation) -> None:
    """Raise an error if a mass matrix in a batch has a negative eigenvalue."""
    smallest, largest = _extreme_eigenvalues(M)
    if (smallest < -SINGULAR_MASS * largest).any():
        raise MassMatrixError(
            f"`mass_matrix` must have no negative eigenvalue for `{type(formulation).__name__}`; the smallest is "
            f"{np.linalg.eigvalsh(M).min():.3g}. If that is meant, {PASS_IT}da.Multipliers()`."
        )


def require_small_residual(answer: ConstrainedMotion, formulation: Formulation) -> None:
    """Raise an error unless an answer solves its equations."""
    residual = np.asarray(answer.residual)
    worst = float(residual.max(initial=0.0)) if residual.ndim else float(residual)
    if worst > RESIDUAL_TOLERANCE:
        causes, advice = "", "Use `da.Factored()`, which keeps more digits there."
        if isinstance(formulation, StackedLeastSquares):
            causes, advice = (
                "its weights differ by many orders of magnitude, ",
                f"Let them differ by less: {NEARLY_EXACT}",
            )
        raise ConstraintError(
            f"`{type(formulation).__name__}` must solve its equations to a relative {RESIDUAL_TOLERANCE:g}; it missed "
            f"them by {worst:.1e}, since {causes}the constraints are nearly dependent or the mass matrix is nearly "
            f"singular. {advice}"
        )


NEARLY_EXACT = "a constraint whose weight is 1e8 times the others holds to the eighth digit of their differences."
"""Weight from which on a constraint counts as exact."""


OR_WEIGH_THEM = ", or, if they were measured, weigh them with `formulation=da.StackedLeastSquares(weight=...)`"
"""Advice for functions that take a formulation."""


def contradiction(answer: ConstrainedMotion, names: Sequence[str] | None) -> str:
    """Return the message that names the constraints that contradict one another."""
    worst = np.asarray(answer.inconsistency)
    where = np.unravel_index(int(np.argmax(worst)), worst.shape)
    A, b = np.asarray(answer.constraint_matrix)[where], np.asarray(answer.constraint_rhs)[where]
    unit, right = unit_rows(A, b)
    # the part of b outside the range of A is a combination of the dependencies between the rows
    dependencies = null_space(unit.T)
    outside = dependencies.T @ (dependencies @ right)
    involved = np.flatnonzero(np.abs(outside) > NAMED_SHARE * np.abs(outside).max())
    labels = [f"`{names[int(i)]}`" if names else f"row {i}" for i in involved]
    which = f"{', '.join(labels)} contradict one another" if len(labels) > 1 else f"{labels[0]} has no gradient there"
    batch = f" in batch entry {tuple(int(i) for i in where)}" if where else ""
    return (
        f"the constraints must admit an acceleration, A q̈ = b; {which}{batch} "
        f"(inconsistency {worst[where]:.1e}). Remove or correct one of them{OR_WEIGH_THEM}."
    )


def _require_regular(M: Any, A: Any, formulation: Formulation) -> None:
    """Raise an error unless the acceleration is unique: a regular saddle matrix, or [M; A] of full column rank."""
    n, m = M.shape[-1], A.shape[-2]
    # in scaled units and with unit rows, so that the test does not depend on the user's units
    units = coordinate_units(M, A)
    M, A = in_units(M, units), A / units[..., None, :]
    length = np.linalg.norm(A, axis=-1, keepdims=True)
    A = A / np.where(length > 0, length, 1.0)
    if formulation.independent_rows:
        top = np.concatenate([M, np.swapaxes(A, -1, -2)], axis=-1)
        matrix = np.concatenate([top, np.concatenate([A, np.zeros((*A.shape[:-1], m))], axis=-1)], axis=-2)
        what = "the saddle matrix [[M, Aᵀ], [A, 0]] must be regular"
    else:
        matrix = np.concatenate([M, A], axis=-2)
        what = f"[M; A] must have full column rank {n}"
    values = np.linalg.svd(matrix, compute_uv=False)
    # the criterion of ``require_positive``: dependent rows have been refused before
    if (values[..., -1] <= SINGULAR_MASS * values[..., 0]).any():
        raise MassMatrixError(
            f"{what} for the acceleration to be unique; its smallest singular value is {values[..., -1].min():.1e}. "
            f"Give every coordinate that has no mass a constraint that moves it."
        )


def require_fit(formulation: Formulation, n: int, m: int) -> None:
    """Raise an error unless the weight of a formulation, if any, fits n equations of motion and m constraints.

    A weight that depends on time is checked when it is evaluated.
    """
    if isinstance(formulation, StackedLeastSquares) and not callable(formulation.weight):
        checked_weight(formulation.weight, n + m)
