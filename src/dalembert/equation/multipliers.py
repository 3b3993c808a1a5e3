# SPDX-License-Identifier: BSD-3-Clause
"""Lagrange's multipliers: one saddle-point system."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dalembert.equation.formulation import Formulation, Geometry, Part
from dalembert.later import jnp, jsl

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

    def factor(self, M: Array, A: Array, geometry: Geometry) -> Any:
        m = len(A)
        A = A / geometry.rows.scale[:, None]  # a row's scale must not decide whether it counts
        saddle = jnp.block([[M, A.T], [A, jnp.zeros((m, m))]])
        return geometry.rows.scale, M, A, jsl.lu_factor(saddle)

    def ideal(self, factored: Any, Q: Array, b: Array) -> Part:
        scale, M, A, lu = factored
        solution = jsl.lu_solve(lu, jnp.concatenate([Q, b / scale]))
        n = len(M)
        return Part(solution[:n], -A.T @ solution[n:])

    def nonideal(self, factored: Any, C: Array) -> Part:
        _, M, A, lu = factored
        solution = jsl.lu_solve(lu, jnp.concatenate([C, jnp.zeros(len(A))]))
        n = len(M)
        return Part(solution[:n], C - A.T @ solution[n:])
