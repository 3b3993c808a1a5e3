# SPDX-License-Identifier: BSD-3-Clause
"""The formulation for singular mass matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dalembert.equation.formulation import Formulation, Geometry, Part
from dalembert.numerics.arrays import namespace_of, pinv
from dalembert.numerics.tolerances import RANK_TOLERANCE, SINGULAR_MASS

if TYPE_CHECKING:
    from jax import Array


@dataclass(frozen=True)
class SingularMass(Formulation):
    """q̈ = [[(I − A⁺A) M], [A]]⁺ (Q + C, b): M may be singular, as with massless coordinates.

    The acceleration is unique exactly when [M; A] has full column rank, that is when no direction is both massless and
    unconstrained. M must have no negative eigenvalues; otherwise use ``da.Multipliers``. The constraint force is
    M q̈ − Q; its ideal part is that for C = 0.

    Reference: Udwadia & Phohomsiri 2006.
    """

    positive_mass = False
    semidefinite_mass = True

    def factor(self, M: Array, A: Array, geometry: Geometry) -> Any:
        xp = namespace_of(M, A)
        free = xp.eye(len(M)) - pinv(A, RANK_TOLERANCE) @ A
        # small singular values are those of M, since A meets all directions that are not free
        return M, free, pinv(xp.concatenate([free @ M, A]), SINGULAR_MASS)

    def ideal(self, factored: Any, Q: Array, b: Array) -> Part:
        M, free, stacked_plus = factored
        # (I − A⁺A) Q in place of Q: the rest is orthogonal to all columns of the stack and would only cost digits
        acceleration = stacked_plus @ namespace_of(Q, b).concatenate([free @ Q, b])
        return Part(acceleration, M @ acceleration - Q)

    def nonideal(self, factored: Any, C: Array) -> Part:
        M, free, stacked_plus = factored
        acceleration = stacked_plus[:, : len(C)] @ (free @ C)
        return Part(acceleration, M @ acceleration)
