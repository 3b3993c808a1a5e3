# SPDX-License-Identifier: BSD-3-Clause
"""The fundamental equation as Udwadia and Kalaba write it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dalembert.equation.formulation import Formulation, Geometry, Part
from dalembert.equation.tolerance import RANK_TOLERANCE
from dalembert.later import jnp

if TYPE_CHECKING:
    from jax import Array


@dataclass(frozen=True)
class PseudoInverse(Formulation):
    """Qᶜᵢ = M^(1/2) B⁺ (b − A a),  Qᶜₙᵢ = M^(1/2) (I − B⁺B) M^(-1/2) C,  with B = A M^(-1/2).

    The square root is the symmetric one, the Moore–Penrose inverse comes from singular values; values below
    ``RANK_TOLERANCE`` (1e-10) times the largest count as zero. Slow and literal: for checking and for teaching.

    References: Udwadia & Kalaba 2002, equations 6 to 9; 2001, equation 7.
    """

    def factor(self, M: Array, A: Array, geometry: Geometry) -> Any:
        root, inverse_root = square_roots(M)
        A = A / geometry.rows.scale[:, None]  # a row's scale must not decide whether it counts
        B = A @ inverse_root
        return geometry.rows.scale, A, B, pinv(B), root, inverse_root

    def ideal(self, factored: Any, Q: Array, b: Array) -> Part:
        scale, A, _, B_plus, root, inverse_root = factored
        a = inverse_root @ (inverse_root @ Q)
        scaled = B_plus @ (b / scale - A @ a)
        return Part(a + inverse_root @ scaled, root @ scaled)

    def nonideal(self, factored: Any, C: Array) -> Part:
        _, _, B, B_plus, root, inverse_root = factored
        z = inverse_root @ C
        working = z - B_plus @ (B @ z)
        return Part(inverse_root @ working, root @ working)


def square_roots(M: Array) -> tuple[Array, Array]:
    """M^(1/2) and M^(-1/2), both symmetric."""
    values, vectors = jnp.linalg.eigh(M)
    root = jnp.sqrt(values)
    return (vectors * root) @ vectors.T, (vectors / root) @ vectors.T


def pinv(B: Array) -> Array:
    """The Moore–Penrose inverse."""
    return jnp.linalg.pinv(B, rtol=RANK_TOLERANCE)
