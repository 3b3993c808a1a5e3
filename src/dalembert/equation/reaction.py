# SPDX-License-Identifier: BSD-3-Clause
"""What nonideal laws are told of the constraint forces, and friction by the reaction that friction itself changes.

Notation: λ are multipliers, N = nᵀλ the normal force of a contact, C = C₀ + Σⱼ |Nⱼ| pⱼ the nature of the constraint
force, with pⱼ the friction of contact j for a unit normal force. The reaction is Aᵀλ with S λ = b − A M⁻¹(Q + C),
S = A M⁻¹Aᵀ, that is S λ − D |λ| = r. For the k normal forces alone it reads u − G |u| = u₀. A normal force may be a
vector, as in a pin: then uᵢ, u₀ᵢ and Gᵢⱼ are vectors, and |uᵢ| is a length.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.later import jnp, lax

if TYPE_CHECKING:
    from jax import Array


MOST_SIGNED = 10
"""Scalar normal forces for which all combinations of signs are tried, 2¹⁰ of them at most."""

UNCERTAIN = -1
"""The number of solutions where it cannot be told: friction is too strong for iteration to be a contraction."""

MOST_ITERATIONS = 100_000
"""Iterations for normal forces before they are given up."""


class Reaction(NamedTuple):
    """The forces of the ideal problem, on which laws may depend.

    force (n,)         ideal constraint force
    multipliers (m,)   λ with Aᵀλ that force
    multipliers_of     (n,) -> (m,): λ with Aᵀλ the part of a generalised force that does no virtual work
    """

    force: Any
    multipliers: Any
    multipliers_of: Callable[[Any], Any]


class Normals(NamedTuple):
    """Normal forces of the k contacts whose friction depends on the actual reaction.

    forces (k,)        N, of vectors the length; NaN unless there is exactly one solution
    solutions          how many there are; UNCERTAIN where that is not known
    coupling (k, k)    G of u − G |u| = u₀; the lengths |Gᵢⱼ| where normal forces are vectors or more than MOST_SIGNED
    offset (k,)        u₀, the normal forces without this friction, of vectors the length
    mu (k,)            present coefficients of friction
    """

    forces: Array
    solutions: Array
    coupling: Array
    offset: Array
    mu: Array


class Nature(NamedTuple):
    """C by its l laws.

    shares (l, n)    the force C of each law
    normals          of the laws that depend on the actual reaction; None if there are none
    """

    shares: Array
    normals: Normals | None


def signs(k: int) -> Any:
    """All 2ᵏ combinations of signs (2ᵏ, k)."""
    return np.array(list(product((1.0, -1.0), repeat=k)))


def solve_absolute(G: Array, u0: Array) -> tuple[Array, Array]:
    """The solution u (k,) of u − G |u| = u₀, and the number of solutions; NaN unless there is exactly one.

    For each combination σ of signs, (I − G diag σ) u = u₀ is linear, and its solution counts if it has these signs.
    If all determinants are positive there is one solution whatever u₀ is: the determinant is linear in each sign, so
    that no matrix with −1 ≤ σ ≤ 1 is singular. Then rounding in a u that is nearly zero cannot matter.
    """
    k = len(u0)
    sigma = signs(k)
    matrices = jnp.eye(k) - G * sigma[:, None, :]
    if k == 1:  # no need to call LAPACK
        determinants, u = matrices[:, 0, 0], u0 / matrices[:, 0]
    else:
        determinants = jnp.linalg.det(matrices)
        u = jnp.linalg.solve(matrices, jnp.broadcast_to(u0, (len(sigma), k))[..., None])[..., 0]
    signed = sigma * u
    # a zero counts as positive, so that no solution is counted twice
    valid = jnp.all((signed > 0) | ((u == 0) & (sigma > 0)), axis=1)
    solutions = jnp.where(jnp.all(determinants > 0), 1, jnp.sum(valid))
    worst = jnp.min(signed, axis=1)
    best = jnp.argmax(jnp.where(jnp.isnan(worst), -jnp.inf, worst))
    return jnp.where(solutions == 1, u[best], jnp.nan), solutions


def solve_lengths(G: Array, u0: Array) -> tuple[Array, Array]:
    """The lengths s (k,) with sᵢ = |u₀ᵢ + Σⱼ Gᵢⱼ sⱼ|, and the number of solutions; NaN unless that is one for certain.

    G is (k, c, k), u₀ (k, c). The right-hand side changes by at most B = |Gᵢⱼ| times the change of s: where the
    spectral radius of B is below one, iteration converges to the only solution.
    """
    certain = _contracts(_length(G, axis=1))
    start = jnp.where(certain, 1.0, jnp.nan) * _length(u0)
    s = lax.stop_gradient(_iterated(lax.stop_gradient(G), lax.stop_gradient(u0), lax.stop_gradient(start)))
    for _ in range(2):  # Newton's method: the last digits, and the derivatives, which iteration was not asked for
        u = u0 + G @ s
        length = _length(u)
        along = u / jnp.where(length > 0, length, 1.0)[:, None]
        slope = jnp.eye(len(s)) - jnp.einsum("ic,icj->ij", along, G)
        s = s - jnp.linalg.solve(slope, s - length)
    return jnp.abs(s), jnp.where(certain, 1, UNCERTAIN)


def _iterated(G: Array, u0: Array, start: Array) -> Array:
    """Jacobi's iteration, each length by its own quadratic equation with the others as they were."""
    k = np.arange(len(start))
    own = G[k, :, k]

    def better(s: Array) -> Array:
        return one_length(own, u0 + G @ s - own * s[:, None])

    def go_on(state: tuple[Array, Array, Array]) -> Array:
        count, s, change = state
        return (change > 1e-15 * jnp.max(s)) & (count < MOST_ITERATIONS)

    def step(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        count, s, _ = state
        new = better(s)
        return count + 1, new, jnp.max(jnp.abs(new - s))

    return lax.while_loop(go_on, step, (jnp.array(0), better(start), jnp.array(jnp.inf)))[1]


def one_length(G: Array, u0: Array) -> Array:
    """The s ≥ 0 with s = |u₀ + G s| for vectors (…, c), |G| < 1: a quadratic equation with one such root."""
    rest, half = 1 - jnp.sum(G * G, axis=-1), jnp.sum(u0 * G, axis=-1)
    square = jnp.sum(u0 * u0, axis=-1)
    root = jnp.sqrt(half * half + rest * square)
    # in the form in which nothing cancels
    ahead = half >= 0
    return jnp.where(ahead, (half + root) / rest, square / jnp.where(ahead, 1.0, root - half))


def _contracts(B: Array) -> Array:
    """Whether the spectral radius of a matrix of no negative entries is below one: B x < x for some positive x."""
    power = jnp.eye(len(B)) + B
    for _ in range(6):
        power = power @ power
        power = power / jnp.max(power)
    x = jnp.sum(power, axis=1)
    return jnp.all(B @ x < x)


def _length(u: Array, axis: int = -1) -> Array:
    """|u|, with a derivative of zero where u vanishes."""
    square = jnp.sum(u * u, axis=axis)
    return jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1.0)), 0.0)


def with_normals(given: Array, actual: tuple[int, ...], normals: Array, mu: Array, reaction: Reaction) -> Nature:
    """The shares of all laws, those in ``actual`` given for a unit normal force, with their normal forces found.

    normals (k, c, m + 1)    for each component of N the row n of nᵀλ, and what is added to that
    """
    if not actual:
        return Nature(given, None)
    chosen = np.array(actual)
    others = np.setdiff1d(np.arange(len(given)), chosen)
    rows, added = normals[..., :-1], normals[..., -1]
    before = reaction.multipliers - reaction.multipliers_of(jnp.sum(given[others], axis=0))
    G = -rows @ jnp.stack([reaction.multipliers_of(given[j]) for j in actual], axis=-1)
    u0 = rows @ before + added
    if normals.shape[1] == 1 and len(actual) <= MOST_SIGNED:
        G, u0 = G[:, 0], u0[:, 0]
        u, solutions = solve_absolute(G, u0)
    else:
        u, solutions = solve_lengths(G, u0)
        G, u0 = _length(G, axis=1), _length(u0)
    sizes = jnp.ones(len(given)).at[chosen].set(jnp.abs(u))
    return Nature(sizes[:, None] * given, Normals(u, solutions, G, u0, mu))
