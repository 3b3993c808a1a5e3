# SPDX-License-Identifier: BSD-3-Clause
"""Constrained motion when the mass matrix is singular."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dalembert.arrays import namespace_of, pinv
from dalembert.equation.formulation import Formulation, Geometry, Part
from dalembert.tolerances import RANK_TOLERANCE

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
        xp = namespace_of(M, A)
        free = xp.eye(len(M)) - pinv(A, RANK_TOLERANCE) @ A
        return M, free, pinv(xp.concatenate([free @ M, A]), RANK_TOLERANCE)

    def ideal(self, factored: Any, Q: Array, b: Array) -> Part:
        M, free, stacked_plus = factored
        # (I − A⁺A) Q in place of Q: the rest of it is orthogonal to all columns of the stack, and costs only digits
        acceleration = stacked_plus @ namespace_of(Q, b).concatenate([free @ Q, b])
        return Part(acceleration, M @ acceleration - Q)

    def nonideal(self, factored: Any, C: Array) -> Part:
        M, free, stacked_plus = factored
        acceleration = stacked_plus[:, : len(C)] @ (free @ C)
        return Part(acceleration, M @ acceleration)
