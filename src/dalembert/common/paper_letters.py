# SPDX-License-Identifier: BSD-3-Clause
"""The matrices of the papers' proofs, in scaled accelerations M^(1/2) q̈, by their letters and by descriptive names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ScaledMatrices:
    """The matrices of constrained motion in scaled accelerations: arrays of numbers, or SymPy matrices.

    B, B_plus    B = A M^(-1/2) (m, n) and its Moore–Penrose inverse B⁺ (n, m)
    e            b − A M⁻¹Q
    a_s, c_s     M^(-1/2) Q and M^(-1/2) C
    T, N         B⁺B and I − B⁺B (n, n)
    V            a basis of the null space of B (n, n − rank)
    D, E, J      BᵀB, VVᵀ and (D + E)⁻¹ (n, n)
    """

    B: Any
    B_plus: Any
    e: Any
    a_s: Any
    c_s: Any
    T: Any
    N: Any
    V: Any
    D: Any
    E: Any
    J: Any


class PaperLetters(ABC):
    """Properties for the matrices of the papers; a class defines ``scaled_matrices`` and inherits the rest.

    References: Udwadia & Kalaba 2002, equations 6 to 15; 2001, equations 18 to 24; Udwadia, Kalaba & Eun 1997,
    equations 20 to 22.
    """

    @property
    @abstractmethod
    def scaled_matrices(self) -> ScaledMatrices:
        """All matrices of the papers' proofs together."""

    @property
    def scaled_constraint_matrix(self) -> Any:
        """B = A M^(-1/2), the constraint matrix of scaled accelerations M^(1/2) q̈."""
        return self.scaled_matrices.B

    @property
    def pseudo_inverse(self) -> Any:
        """B⁺, the Moore–Penrose inverse of B."""
        return self.scaled_matrices.B_plus

    @property
    def misfit(self) -> Any:
        """e = b − A M⁻¹Q, by which the acceleration without constraints misses them."""
        return self.scaled_matrices.e

    @property
    def scaled_free_acceleration(self) -> Any:
        """aₛ = M^(-1/2) Q, the acceleration without constraints, scaled."""
        return self.scaled_matrices.a_s

    @property
    def scaled_nonideal(self) -> Any:
        """z = cₛ = M^(-1/2) C, the nonideal force law, scaled."""
        return self.scaled_matrices.c_s

    @property
    def range_projector(self) -> Any:
        """T = B⁺B, the orthogonal projector onto the range of Bᵀ."""
        return self.scaled_matrices.T

    @property
    def null_projector(self) -> Any:
        """N = I − B⁺B, the orthogonal projector onto the null space of B."""
        return self.scaled_matrices.N

    @property
    def null_basis(self) -> Any:
        """V, a basis of the null space of B, one vector per column."""
        return self.scaled_matrices.V

    @property
    def range_gram(self) -> Any:
        """D = BᵀB of the extended d'Alembert principle."""
        return self.scaled_matrices.D

    @property
    def null_gram(self) -> Any:
        """E = VVᵀ of the extended d'Alembert principle."""
        return self.scaled_matrices.E

    @property
    def extended_inverse(self) -> Any:
        """J = (D + E)⁻¹ of the extended d'Alembert principle; J Bᵀ is B⁺."""
        return self.scaled_matrices.J

    B, B_plus, e, a_s = scaled_constraint_matrix, pseudo_inverse, misfit, scaled_free_acceleration
    z = c_s = scaled_nonideal
    T, N, V = range_projector, null_projector, null_basis
    D, E, J = range_gram, null_gram, extended_inverse
