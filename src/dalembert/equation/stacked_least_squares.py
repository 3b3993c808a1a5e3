# SPDX-License-Identifier: BSD-3-Clause
"""Dynamics, constraints and D'Alembert's principle as one stack of equations, weighted if they were measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.equation.arrays import cholesky, least_squares, namespace_of, pinv, svd
from dalembert.equation.extended_dalembert import null_space
from dalembert.equation.formulation import Formulation, Geometry, Part, Quality
from dalembert.equation.pseudo_inverse import square_roots
from dalembert.equation.tolerance import ROUNDING

if TYPE_CHECKING:
    from jax import Array


class _Stack(NamedTuple):
    """L and L⁺ of scaled equations, V, and H T with HᵀH = W and T from their residuals to those of the paper's."""

    L: Array
    L_plus: Array
    V: Array
    H: Array
    T: Array
    root: Array
    inverse_root: Array

    def solve(self, s: Array) -> Array:
        """r: what solves the equations if they agree, and what the weight makes of their contradiction if not."""
        xp = namespace_of(self.L, s)
        r = self.L_plus @ s
        left = s - self.L @ r
        size = xp.linalg.norm(s) + xp.linalg.norm(self.L) * xp.linalg.norm(r)
        # a weight may be large or small beyond all digits: it must not be applied to rounding
        left = xp.where(xp.linalg.norm(left) > 10 * ROUNDING * size, left, 0.0)
        return r + least_squares(self.H @ self.T @ self.L, self.H @ self.T @ left)


@dataclass(frozen=True, eq=False)
class StackedLeastSquares(Formulation):
    """L r = s by weighted least squares, r = (LᵀWL)⁻¹LᵀW s.

    Notation: r = (q̈ₛ, Fₛᶜ), L = [[I, −I], [B, 0], [0, Vᵀ]], s = (aₛ, b, VᵀM^(-1/2)C); V spans the null space of B.

    Consistent equations are met exactly and the weight cannot matter. When measured dynamics and constraints contradict
    one another the weight says what to trust, and the answer carries the residual of each equation and the covariance
    of acceleration and constraint force that the measurement covariance W⁻¹ implies.

    Parameters
    ----------
    weight : (n + m,) or (n + m, n + m)    positive definite: weights of the n equations of motion (in scaled form,
                                           q̈ₛ − Fₛᶜ = aₛ) and of the m constraints; the identity when left out.
                                           D'Alembert's principle itself needs no weight: it can always be met.

    Reference: Udwadia, Kalaba & Eun 1997, equations 23 to 25, 37 and 38.
    """

    compromises = True
    weight: Any = None

    def factor(self, M: Array, A: Array, geometry: Geometry) -> _Stack:
        xp, n, m = namespace_of(M, A), len(M), len(A)
        root, inverse_root = square_roots(M)
        B = A @ inverse_root
        V = null_space(B)
        L = xp.block([[xp.eye(n), -xp.eye(n)], [B, xp.zeros((m, n))], [xp.zeros((n, n)), V.T]])
        # The weight is that of the constraints as they were written and of q̈ₛ − Fₛᶜ = aₛ by the root of the mass matrix
        # as it was given. Scaled, the latter is M_s^(1/2) u and differs from that root by a rotation O.
        T = _blocks(self._rotation(root * geometry.units), xp.diag(geometry.scale), xp.eye(n))
        return _Stack(L, pinv(L, 0.0), V, self._weight_root(n, m), T, root, inverse_root)

    def _rotation(self, other: Array) -> Array:
        """O with O G = M^(1/2), symmetric, for any G with GᵀG = M: O = Y Xᵀ of the singular vectors of G = X S Yᵀ."""
        if self.weight is None:  # the equations of motion weigh the same in all directions
            return namespace_of(other).eye(len(other))
        X, _, Yt = svd(other, full_matrices=True)
        return Yt.T @ X.T

    def ideal(self, factored: _Stack, Q: Array, b: Array) -> Part:
        return _split(factored, factored.solve(_right_side(factored, Q, b)))

    def nonideal(self, factored: _Stack, C: Array) -> Part:
        # D'Alembert's principle can always be met, whatever the weight
        return _split(factored, factored.L_plus[:, -len(C) :] @ (factored.V.T @ (factored.inverse_root @ C)))

    def quality(self, factored: _Stack, Q: Array, b: Array, geometry: Geometry) -> Quality:
        """Residuals L r − s of the n equations of motion and m constraints as given, and the covariances (n, n)."""
        xp, n, size = namespace_of(Q, b), len(Q), len(Q) + len(b)
        weighted = factored.H @ factored.T
        s = _right_side(factored, Q, b)
        missed = factored.L @ factored.solve(s) - s
        # W = HᵀH, so W⁻¹ = H⁻¹H⁻ᵀ; the rows of D'Alembert's principle are exact and carry no covariance.
        spread = least_squares(weighted @ factored.L, xp.eye(size + n)[:, :size])
        acceleration = factored.inverse_root @ spread[:n] / geometry.units[:, None]
        force = geometry.units[:, None] * (factored.root @ spread[n:])
        slope = (weighted @ factored.L).T @ (weighted @ missed)
        steepest = xp.linalg.norm(weighted @ factored.L) * xp.linalg.norm(weighted @ missed)
        return Quality(
            residuals=(factored.T @ missed)[:size],
            acceleration_covariance=acceleration @ acceleration.T,
            force_covariance=force @ force.T,
            optimality=xp.linalg.norm(slope) / xp.where(steepest > 0, steepest, 1.0),
        )

    def _weight_root(self, n: int, m: int) -> Array:
        """H with HᵀH = W, padded with ones for D'Alembert's principle."""
        if self.weight is None:
            return np.eye(2 * n + m)  # pyright: ignore
        xp = namespace_of(np.asarray(self.weight) if isinstance(self.weight, (list, tuple)) else self.weight)
        W = xp.asarray(self.weight, float)
        half = xp.diag(xp.sqrt(W)) if W.ndim == 1 else cholesky(W).T
        return _blocks(half, xp.eye(n))


def _right_side(factored: _Stack, Q: Array, b: Array) -> Array:
    return namespace_of(Q, b).concatenate([factored.inverse_root @ Q, b, 0 * Q])


def _split(factored: _Stack, r: Array) -> Part:
    n = len(factored.root)
    return Part(factored.inverse_root @ r[:n], factored.root @ r[n:])


def _blocks(*blocks: Array) -> Array:
    """A block diagonal matrix."""
    xp = namespace_of(*blocks)
    sizes = [len(block) for block in blocks]
    return xp.block(
        [
            [block if i == j else xp.zeros((sizes[i], sizes[j])) for j in range(len(blocks))]
            for i, block in enumerate(blocks)
        ]
    )
