# SPDX-License-Identifier: BSD-3-Clause
"""The formulation by weighted least squares of the equations of motion, constraints and d'Alembert's principle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.common.lazy_jax import jnp
from dalembert.equation.formulation import Formulation, Geometry, Part, Quality
from dalembert.equation.pseudo_inverse import square_roots
from dalembert.errors import InputError
from dalembert.numerics.arrays import cholesky, is_traced, least_squares, namespace_of, pinv, svd
from dalembert.numerics.linear_algebra import padded_null_space
from dalembert.numerics.tolerances import ROUNDING

if TYPE_CHECKING:
    from jax import Array


class _Stack(NamedTuple):
    """L and L⁺ of the scaled equations, V, H with HᵀH = W, and T, which maps their residuals to unscaled ones."""

    L: Array
    L_plus: Array
    V: Array
    H: Array
    T: Array
    root: Array
    inverse_root: Array

    def solve(self, s: Array, size: Any = 0.0) -> Array:
        """Return r: the solution of consistent equations, or the weighted least-squares solution of others.

        If s is the residual of a problem, ``size`` is that of the problem's own terms.
        """
        xp = namespace_of(self.L, s)
        r = self.L_plus @ s
        left = s - self.L @ r
        size = size + xp.linalg.norm(s) + xp.linalg.norm(self.L) * xp.linalg.norm(r)
        # weights may differ by more than sixteen digits: they must not be applied to rounding errors
        left = xp.where(xp.linalg.norm(left) > 10 * ROUNDING * size, left, 0.0)
        return r + least_squares(self.H @ self.T @ self.L, self.H @ self.T @ left)


@dataclass(frozen=True, eq=False)
class StackedLeastSquares(Formulation):
    """L r = s by weighted least squares, r = (LᵀWL)⁻¹LᵀW s.

    Notation: r = (q̈ₛ, Fₛᶜ), L = [[I, −I], [B, 0], [0, Vᵀ]], s = (aₛ, b, VᵀM^(-1/2)C); V spans the null space of B.

    Consistent equations are satisfied exactly, whatever the weight. When measured dynamics and constraints contradict
    one another, the weight expresses the accuracy of each equation. The answer then has the residual of each equation
    and the covariances of acceleration and constraint force that the measurement covariance W⁻¹ implies.

    Parameters
    ----------
    weight : (n + m,) or (n + m, n + m)    positive definite: weights of the n equations of motion (in scaled form,
                                           q̈ₛ − Fₛᶜ = aₛ) and of the m constraints; the identity when left out.
                                           D'Alembert's principle needs no weight: it can always be satisfied.
                                           Or a function of time that returns one of these, for ``da.motion`` and
                                           ``da.simulate``; for the latter written with ``jax.numpy``.

    Reference: Udwadia, Kalaba & Eun 1997, equations 23 to 25, 37 and 38.
    """

    compromises = True
    weight: Any = None

    def at(self, t: Any, n: int, m: int) -> StackedLeastSquares:
        """Return the formulation with the weight at time t, for n equations of motion and m constraints."""
        if not callable(self.weight):
            return self
        try:
            weight = self.weight(t)
        except TypeError as error:
            raise InputError(
                f"`weight` must be a function of time alone, written with `jax.numpy` for `da.simulate`; calling it "
                f"gave {type(error).__name__}. Write `def weight(t): return jnp.array([...])`."
            ) from None
        return StackedLeastSquares(checked_weight(weight, n + m))

    def factor(self, M: Array, A: Array, geometry: Geometry) -> _Stack:
        xp, n, m = namespace_of(M, A), len(M), len(A)
        root, inverse_root = square_roots(M)
        B = A @ inverse_root
        V = padded_null_space(B)
        L = xp.block([[xp.eye(n), -xp.eye(n)], [B, xp.zeros((m, n))], [xp.zeros((n, n)), V.T]])
        # The weight refers to the unscaled constraints and to q̈ₛ − Fₛᶜ = aₛ with the root of the unscaled mass matrix.
        # In scaled units that root is M_s^(1/2) u up to a rotation O.
        T = _blocks(self._rotation(root * geometry.units), xp.diag(geometry.scale), xp.eye(n))
        return _Stack(L, pinv(L, 0.0), V, self._weight_root(n, m), T, root, inverse_root)

    def _rotation(self, other: Array) -> Array:
        """Return O with O G = M^(1/2), symmetric, for any G with GᵀG = M: O = Y Xᵀ with G = X S Yᵀ."""
        if self.weight is None:  # without a weight the rotation does not matter
            return namespace_of(other).eye(len(other))
        X, _, Yt = svd(other, full_matrices=True)
        return Yt.T @ X.T

    def ideal(self, factored: _Stack, Q: Array, b: Array) -> Part:
        return _split(factored, factored.solve(_right_side(factored, Q, b)))

    def correction(self, factored: _Stack, Q: Array, b: Array, size: Array) -> Part:
        return _split(factored, factored.solve(_right_side(factored, Q, b), size))

    def nonideal(self, factored: _Stack, C: Array) -> Part:
        # D'Alembert's principle can always be satisfied, whatever the weight
        return _split(factored, factored.L_plus[:, -len(C) :] @ (factored.V.T @ (factored.inverse_root @ C)))

    def quality(self, factored: _Stack, Q: Array, b: Array, geometry: Geometry) -> Quality:
        """Return the residuals L r − s of the unscaled equations of motion and constraints, and the covariances."""
        xp, n, size = namespace_of(Q, b), len(Q), len(Q) + len(b)
        weighted = factored.H @ factored.T
        s = _right_side(factored, Q, b)
        residual = factored.L @ factored.solve(s) - s
        # W = HᵀH, so W⁻¹ = H⁻¹H⁻ᵀ; the rows of d'Alembert's principle are exact and have no covariance
        spread = least_squares(weighted @ factored.L, xp.eye(size + n)[:, :size])
        acceleration = factored.inverse_root @ spread[:n] / geometry.units[:, None]
        force = geometry.units[:, None] * (factored.root @ spread[n:])
        slope = (weighted @ factored.L).T @ (weighted @ residual)
        steepest = xp.linalg.norm(weighted @ factored.L) * xp.linalg.norm(weighted @ residual)
        return Quality(
            residuals=(factored.T @ residual)[:size],
            acceleration_covariance=acceleration @ acceleration.T,
            force_covariance=force @ force.T,
            optimality=xp.linalg.norm(slope) / xp.where(steepest > 0, steepest, 1.0),
        )

    def _weight_root(self, n: int, m: int) -> Array:
        """Return H with HᵀH = W, padded with ones for d'Alembert's principle."""
        if self.weight is None:
            return np.eye(2 * n + m)  # pyright: ignore
        W = checked_weight(self.weight, n + m)
        xp = namespace_of(W)
        half = xp.diag(xp.sqrt(W)) if W.ndim == 1 else cholesky(W).T
        return _blocks(half, xp.eye(n))


def at_time(formulation: Formulation, t: Any, m: int, n: int) -> Formulation:
    """Return a formulation at time t, with its weight evaluated there if it depends on time."""
    return formulation.at(t, n, m) if isinstance(formulation, StackedLeastSquares) else formulation


def checked_weight(weight: Any, size: int) -> Any:
    """Return a weight as an array (size,) or (size, size); raise an error unless it is positive definite or traced."""
    if weight is None:
        return None
    try:
        W = jnp.asarray(weight, float) if _is_traced(weight) else np.asarray(weight, float)
    except (TypeError, ValueError):
        raise InputError(f"`weight` must be an array of numbers or a function of time; got {weight!r}.") from None
    if W.shape not in ((size,), (size, size)):
        raise InputError(
            f"`weight` must have shape ({size},) or ({size}, {size}), one entry per equation of motion and constraint; "
            f"got {W.shape}."
        )
    if isinstance(W, np.ndarray):
        smallest = W.min(initial=np.inf) if W.ndim == 1 else np.linalg.eigvalsh((W + W.T) / 2).min(initial=np.inf)
        if not smallest > 0:
            raise InputError(f"`weight` must be positive definite; its smallest eigenvalue is {smallest:.3g}.")
    return W


def _is_traced(weight: Any) -> bool:
    """Return whether an array, or a number in nested sequences, is traced by JAX."""
    return any(map(_is_traced, weight)) if isinstance(weight, (list, tuple)) else is_traced(weight)


def _right_side(factored: _Stack, Q: Array, b: Array) -> Array:
    return namespace_of(Q, b).concatenate([factored.inverse_root @ Q, b, 0 * Q])


def _split(factored: _Stack, r: Array) -> Part:
    n = len(factored.root)
    return Part(factored.inverse_root @ r[:n], factored.root @ r[n:])


def _blocks(*blocks: Array) -> Array:
    """Return a block diagonal matrix."""
    xp = namespace_of(*blocks)
    sizes = [len(block) for block in blocks]
    return xp.block(
        [
            [block if i == j else xp.zeros((sizes[i], sizes[j])) for j in range(len(blocks))]
            for i, block in enumerate(blocks)
        ]
    )
