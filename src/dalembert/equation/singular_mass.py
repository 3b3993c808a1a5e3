# SPDX-License-Identifier: BSD-3-Clause
"""Constrained motion when the mass matrix is singular."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dalembert.equation.formulation import Formulation, Geometry, Part
from dalembert.equation.pseudo_inverse import pinv
from dalembert.later import jnp

if TYPE_CHECKING:
    from jax import Array


@dataclass(frozen=True)
class SingularMass(Formulation):
    """q̈ = [[(I − A⁺A) M], [A]]⁺ (Q + C, b): M may be singular, as with massless coordinates.

    The acceleration is unique exactly when [M; A] has full column rank, that is when no direction is both massless and
    unconstrained. This needs M without negative eigenvalues: else ``da.Multipliers`` is the one to take. The constraint
    force is M q̈ − Q; its ideal part is the one for C = 0.

    Reference: Udwadia & Phohomsiri 2006.
    """

    positive_mass = False
    semidefinite_mass = True

    def factor(self, M: Array, A: Array, geometry: Geometry) -> Any:
        n = len(M)
        A = A / geometry.rows.scale[:, None]  # a row's scale must not decide whether it counts
        free = jnp.eye(n) - pinv(A) @ A
        return geometry.rows.scale, M, pinv(jnp.concatenate([free @ M, A]))

    def ideal(self, factored: Any, Q: Array, b: Array) -> Part:
        scale, M, stacked_plus = factored
        acceleration = stacked_plus @ jnp.concatenate([Q, b / scale])
        return Part(acceleration, M @ acceleration - Q)

    def nonideal(self, factored: Any, C: Array) -> Part:
        _, M, stacked_plus = factored
        rows = stacked_plus.shape[1] - len(M)
        acceleration = stacked_plus @ jnp.concatenate([C, jnp.zeros(rows)])
        return Part(acceleration, M @ acceleration)
