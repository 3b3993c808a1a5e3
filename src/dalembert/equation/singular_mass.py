# SPDX-License-Identifier: BSD-3-Clause
"""Constrained motion when the mass matrix is singular."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jax import Array

from dalembert.equation.formulation import Formulation, Geometry, Part
from dalembert.equation.pseudo_inverse import pinv


@dataclass(frozen=True)
class SingularMass(Formulation):
    """q̈ = [[(I − A⁺A) M], [A]]⁺ (Q + C, b): M may be singular, as with massless coordinates.

    The acceleration is unique exactly when [M; A] has full column rank, that is when no direction is both massless and
    unconstrained. The constraint force is M q̈ − Q; its ideal part is the one for C = 0.

    Reference: Udwadia & Phohomsiri 2006.
    """

    positive_mass = False

    def factor(self, M: Array, A: Array, geometry: Geometry) -> Any:
        n = len(M)
        free = jnp.eye(n) - pinv(A) @ A
        return M, pinv(jnp.concatenate([free @ M, A]))

    def ideal(self, factored: Any, Q: Array, b: Array) -> Part:
        M, stacked_plus = factored
        acceleration = stacked_plus @ jnp.concatenate([Q, b])
        return Part(acceleration, M @ acceleration - Q)

    def nonideal(self, factored: Any, C: Array) -> Part:
        M, stacked_plus = factored
        rows = stacked_plus.shape[1] - len(M)
        acceleration = stacked_plus @ jnp.concatenate([C, jnp.zeros(rows)])
        return Part(acceleration, M @ acceleration)
