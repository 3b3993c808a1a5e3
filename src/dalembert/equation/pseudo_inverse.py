# SPDX-License-Identifier: BSD-3-Clause
"""The formulation by the Moore–Penrose inverse, as Udwadia and Kalaba write it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dalembert.equation.formulation import Formulation, Geometry, Part
from dalembert.numerics.arrays import eigh, namespace_of, pinv
from dalembert.numerics.tolerances import RANK_TOLERANCE

if TYPE_CHECKING:
    from jax import Array


@dataclass(frozen=True)
class PseudoInverse(Formulation):
    """Qᶜᵢ = M^(1/2) B⁺ (b − A a),  Qᶜₙᵢ = M^(1/2) (I − B⁺B) M^(-1/2) C,  with B = A M^(-1/2).

    The square root is symmetric, and the Moore–Penrose inverse is computed from singular values; those below
    ``RANK_TOLERANCE`` (1e-10) times the largest count as zero. It is slow and literal, for checks and for teaching.

    The equation is the same in any units of the coordinates, so it may be solved in scaled ones. With M' = DMD,
    A' = AD, Q' = DQ and C' = DC, D regular and diagonal: M^(1/2)D is a square root of M', hence
    M'^(1/2) = O M^(1/2) D with O orthogonal. So B' = A'M'^(-1/2) = B Oᵀ, B'⁺ = O B⁺, a' = D⁻¹a and
    M'^(1/2) = D M^(1/2) Oᵀ by symmetry, which give Qᶜᵢ' = M'^(1/2) B'⁺ (b − A'a') = D M^(1/2) B⁺ (b − A a) = D Qᶜᵢ,
    and Qᶜₙᵢ' = D Qᶜₙᵢ in the same way.

    References: Udwadia & Kalaba 2002, equations 6 to 9; 2001, equation 7.
    """

    def factor(self, M: Array, A: Array, geometry: Geometry) -> Any:
        root, inverse_root = square_roots(M)
        B = A @ inverse_root
        return A, B, pinv(B, RANK_TOLERANCE), root, inverse_root

    def ideal(self, factored: Any, Q: Array, b: Array) -> Part:
        A, _, B_plus, root, inverse_root = factored
        a = inverse_root @ (inverse_root @ Q)
        scaled = B_plus @ (b - A @ a)
        return Part(a + inverse_root @ scaled, root @ scaled)

    def nonideal(self, factored: Any, C: Array) -> Part:
        _, B, B_plus, root, inverse_root = factored
        z = inverse_root @ C
        # the part of z that the constraints leave, I − B⁺B
        scaled = z - B_plus @ (B @ z)
        return Part(inverse_root @ scaled, root @ scaled)


def square_roots(M: Array) -> tuple[Array, Array]:
    """Return M^(1/2) and M^(-1/2), both symmetric."""
    # by eigenvalues, since only they give the symmetric root; Cholesky's factor is another root
    values, vectors = eigh(M)
    root = namespace_of(M).sqrt(values)
    return (vectors * root) @ vectors.T, (vectors / root) @ vectors.T
