# SPDX-License-Identifier: BSD-3-Clause
"""Dynamics, constraints and D'Alembert's principle as one stack of equations, weighted if they were measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from dalembert.equation.extended_dalembert import null_space
from dalembert.equation.formulation import Formulation, Geometry, Part
from dalembert.equation.pseudo_inverse import square_roots
from dalembert.later import jnp

if TYPE_CHECKING:
    from jax import Array


class _Stack(NamedTuple):
    L: Array
    L_plus: Array
    V: Array
    root: Array
    inverse_root: Array


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
        return self._stack(M, A)

    def _stack(self, M: Array, A: Array) -> _Stack:
        n, m = len(M), len(A)
        root, inverse_root = square_roots(M)
        B = A @ inverse_root
        lengths = jnp.linalg.norm(B, axis=1)
        V = null_space(B / jnp.where(lengths > 0, lengths, 1.0)[:, None])
        L = jnp.block([[jnp.eye(n), -jnp.eye(n)], [B, jnp.zeros((m, n))], [jnp.zeros((n, n)), V.T]])
        W_half = self._weight_root(n, m)
        return _Stack(L, jnp.linalg.pinv(W_half @ L, rtol=0.0) @ W_half, V, root, inverse_root)

    def ideal(self, factored: _Stack, Q: Array, b: Array) -> Part:
        aligned = jnp.concatenate([factored.inverse_root @ Q, b, jnp.zeros(len(Q))])
        return _split(factored, aligned)

    def nonideal(self, factored: _Stack, C: Array) -> Part:
        rows = len(factored.L) - len(C)
        aligned = jnp.concatenate([jnp.zeros(rows), factored.V.T @ (factored.inverse_root @ C)])
        return _split(factored, aligned)

    def quality(self, M: Array, A: Array, Q: Array, b: Array) -> dict[str, Array]:
        """Residuals L r − s of the n equations of motion and m constraints, and the covariances (n, n)."""
        stack, size = self._stack(M, A), len(Q) + len(b)
        s = jnp.concatenate([stack.inverse_root @ Q, b, jnp.zeros(len(Q))])
        # W = HᵀH, so W⁻¹ = H⁻¹H⁻ᵀ; the rows of D'Alembert's principle are exact and carry no covariance.
        spread = stack.L_plus[:, :size] @ jnp.linalg.inv(self._weight_root(len(Q), len(b))[:size, :size])
        acceleration = stack.inverse_root @ spread[: len(Q)]
        force = stack.root @ spread[len(Q) :]
        return {
            "residuals": (stack.L @ (stack.L_plus @ s) - s)[:size],
            "acceleration_covariance": acceleration @ acceleration.T,
            "force_covariance": force @ force.T,
        }

    def _weight_root(self, n: int, m: int) -> Array:
        """H with HᵀH = W, padded with ones for D'Alembert's principle."""
        size = n + m
        if self.weight is None:
            return jnp.eye(size + n)
        W = jnp.asarray(self.weight, float)
        half = jnp.diag(jnp.sqrt(W)) if W.ndim == 1 else jnp.linalg.cholesky(W).T
        return jnp.eye(size + n).at[:size, :size].set(half)


def _split(factored: _Stack, s: Array) -> Part:
    r = factored.L_plus @ s
    n = len(factored.root)
    return Part(factored.inverse_root @ r[:n], factored.root @ r[n:])
