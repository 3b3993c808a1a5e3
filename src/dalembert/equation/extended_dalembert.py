# SPDX-License-Identifier: BSD-3-Clause
"""The formulation by the extended d'Alembert principle, with one regular matrix in place of the pseudo-inverse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dalembert.equation.formulation import Formulation, Geometry, Part
from dalembert.equation.pseudo_inverse import square_roots
from dalembert.numerics.arrays import inverse
from dalembert.numerics.linear_algebra import padded_null_space

if TYPE_CHECKING:
    from jax import Array


@dataclass(frozen=True)
class ExtendedDAlembert(Formulation):
    """q̈ = M^(-1/2) J (Bᵀb + E aₛ),  Fᶜ = M^(1/2) J (Bᵀb − D aₛ),  J = (D + E)⁻¹.

    Notation: D = BᵀB, E = VVᵀ with V an orthonormal basis of the null space of B, aₛ = M^(-1/2)Q. J Bᵀ is B⁺. A
    nonideal force adds E M^(-1/2)C to the scaled acceleration. D squares the condition of B: expect half the digits
    near a singular configuration.

    Reference: Udwadia, Kalaba & Eun 1997, equations 20 to 22.
    """

    def factor(self, M: Array, A: Array, geometry: Geometry) -> Any:
        root, inverse_root = square_roots(M)
        B = A @ inverse_root
        # D + E is regular for any rank of B: D acts on the row space, E on its complement
        D = B.T @ B
        V = padded_null_space(B)
        E = V @ V.T
        return B, D, E, inverse(D + E), root, inverse_root

    def ideal(self, factored: Any, Q: Array, b: Array) -> Part:
        B, D, E, J, root, inverse_root = factored
        a_s = inverse_root @ Q
        return Part(inverse_root @ (J @ (B.T @ b + E @ a_s)), root @ (J @ (B.T @ b - D @ a_s)))

    def nonideal(self, factored: Any, C: Array) -> Part:
        _, _, E, J, root, inverse_root = factored
        scaled = J @ (E @ (inverse_root @ C))
        return Part(inverse_root @ scaled, root @ scaled)
