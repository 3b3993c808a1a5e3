# SPDX-License-Identifier: BSD-3-Clause
"""The formulation by Lagrange multipliers: one saddle-point system."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dalembert.equation.formulation import Formulation, Geometry, Part
from dalembert.numerics.arrays import lu_factor, lu_solve, namespace_of

if TYPE_CHECKING:
    from jax import Array


@dataclass(frozen=True)
class Multipliers(Formulation):
    """[[M, Aᵀ], [A, 0]] (q̈, −λ) = (Q, b): works for any M, indefinite or singular, that leaves this matrix regular.

    The constraint rows must be independent. C enters as (C, 0) on the right; the nonideal force is C + Aᵀλ_C = M q̈_C.

    Reference: Lemos et al., equations 7, 17 and 19.
    """

    positive_mass = False
    independent_rows = True
    refinements = 2  # large multipliers of nearly dependent rows cost digits of the acceleration

    def factor(self, M: Array, A: Array, geometry: Geometry) -> Any:
        xp, m = namespace_of(M, A), len(A)
        return A, lu_factor(xp.block([[M, A.T], [A, xp.zeros((m, m))]]))

    def ideal(self, factored: Any, Q: Array, b: Array) -> Part:
        A, lu = factored
        acceleration, multipliers = _solve(lu, Q, b)
        return Part(acceleration, -A.T @ multipliers)

    def nonideal(self, factored: Any, C: Array) -> Part:
        A, lu = factored
        acceleration, multipliers = _solve(lu, C, namespace_of(C).zeros(len(A)))
        return Part(acceleration, C - A.T @ multipliers)


def _solve(lu: Any, force: Array, target: Array) -> tuple[Array, Array]:
    """Return q̈ and −λ."""
    solution = lu_solve(lu, namespace_of(force, target).concatenate([force, target]))
    return solution[: len(force)], solution[len(force) :]
