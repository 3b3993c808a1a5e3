# SPDX-License-Identifier: BSD-3-Clause
"""The constraint forces on which nonideal laws depend, and the normal forces that friction itself changes.

Notation: λ are multipliers, N = nᵀλ the normal force of a contact, C = C₀ + Σⱼ |Nⱼ| pⱼ the nonideal force of all laws,
with pⱼ the friction of contact j for a unit normal force. The reaction is Aᵀλ with S λ = b − A M⁻¹(Q + C),
S = A M⁻¹Aᵀ, that is S λ − D |λ| = r. For the k normal forces alone it reads u − G |u| = u₀. A normal force may be a
vector, as in a pin: then uᵢ, u₀ᵢ and Gᵢⱼ are vectors, and |uᵢ| is a length. That of a closed contact presses: uⱼ ≥ 0
replaces |uⱼ| by uⱼ. Its equations are continued to negative uⱼ, so that the instant at which it opens can be located.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.common.lazy_jax import lax
from dalembert.numerics.arrays import namespace_of, solve_matrix

if TYPE_CHECKING:
    from jax import Array


MOST_SIGNED = 10
"""Largest number of scalar normal forces of either sign for which all combinations are tried, at most 2¹⁰."""

UNKNOWN_COUNT = -1
"""The number of solutions if it is unknown: friction is too strong for the iteration to be a contraction."""

MOST_ITERATIONS = 100_000
"""Largest number of iterations for the normal forces."""

ITERATION_ROUNDING = 1e-15
"""Change of the normal forces in one iteration, relative to the largest, that is rounding."""


class IdealReaction(NamedTuple):
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
    solutions          the number of solutions; UNKNOWN_COUNT if it is unknown
    coupling (k, k)    G of u − G |u| = u₀; the lengths |Gᵢⱼ| where normal forces are vectors, or too many
    offset (k,)        u₀, the normal forces without this friction, of vectors the length
    mu (k,)            present coefficients of friction
    """

    forces: Array
    solutions: Array
    coupling: Array
    offset: Array
    mu: Array


class ReactionSolution(NamedTuple):
    """The reactions on which laws depend that change them: see ``equation/implicit_laws.py``.

    reactions (k,)    NaN if no solution was found
    residual          of their equations, relative to the terms
    determinant       of the derivative of the equations: one if the laws change no reaction, positive where the
                      solution is the continuation of such a one and the only one close by
    """

    reactions: Array
    residual: Array
    determinant: Array


class NonidealForces(NamedTuple):
    """The nonideal forces of l laws.

    shares (l, n)    the force C of each law
    normals          normal forces of friction that depends on the actual reaction; None if there is no such friction
    implicit         the actual reactions of other laws that depend on them; None if there are no such laws
    """

    shares: Array
    normals: Normals | None
    implicit: ReactionSolution | None = None


def signs(k: int, pressing: Sequence[bool] = ()) -> Any:
    """Return all combinations of k signs, (…, k), where those of pressing contacts are positive."""
    fixed = pressing or (False,) * k
    return np.array(list(product(*((1.0,) if own else (1.0, -1.0) for own in fixed)))).reshape(-1, k)


def can_enumerate(pressing: Sequence[bool]) -> bool:
    """Return whether all combinations of signs of scalar normal forces are tried."""
    return len(pressing) - sum(pressing) <= MOST_SIGNED


def solve_absolute(G: Array, u0: Array, pressing: Sequence[bool] = ()) -> tuple[Array, Array]:
    """Solve u − G |u| = u₀ for u (k,); return u, NaN unless the solution is unique, and the number of solutions.

    For each combination σ of signs, (I − G diag σ) u = u₀ is linear, and its solution is valid if it has these signs.
    If all determinants are positive, there is exactly one solution for every u₀: the determinant is linear in each
    sign, so that no matrix with −1 ≤ σ ≤ 1 is singular. Rounding of a u close to zero then does not matter.

    The sign of a pressing contact is positive. Where a determinant is not, and the solution presses, the contact might
    open as well: there are two motions.
    """
    xp, k = namespace_of(G, u0), len(u0)
    sigma = signs(k, pressing)
    matrices = xp.eye(k) - G * sigma[:, None, :]
    if k == 1:  # the usual case, without LAPACK
        determinants, u = matrices[:, 0, 0], u0 / matrices[:, 0]
    else:
        determinants = xp.linalg.det(matrices)
        u = solve_matrix(matrices, xp.broadcast_to(u0, (len(sigma), k))[..., None])[..., 0]
    signed = sigma * u
    # a zero counts as positive, so that no solution is counted twice
    valid = xp.all((signed > 0) | ((u == 0) & (sigma > 0)), axis=1)
    each = 2 if any(pressing) else 1
    solutions = xp.where(xp.all(determinants > 0), 1, each * xp.sum(valid))
    # beyond the instant at which a contact opens, its sign has changed already
    worst = xp.min(xp.where(np.array(pressing or False), xp.inf, signed), axis=1)
    best = xp.argmax(xp.where(xp.isnan(worst), -xp.inf, worst))
    return xp.where(solutions == 1, u[best], xp.nan), solutions


def solve_lengths(G: Array, u0: Array) -> tuple[Array, Array]:
    """Solve sᵢ = |u₀ᵢ + Σⱼ Gᵢⱼ sⱼ| for the lengths s (k,); return s, NaN unless it is unique, and the number of
    solutions.

    G is (k, c, k), u₀ (k, c). The right side changes by at most B = |Gᵢⱼ| times the change of s: if the spectral radius
    of B is below one, the iteration is a contraction and converges to the only solution.
    """
    xp = namespace_of(G, u0)
    fixed = (lambda x: x) if xp is np else lax.stop_gradient
    certain = _contracts(_length(G, axis=1))
    start = xp.where(certain, 1.0, xp.nan) * _length(u0)
    s = fixed(_iterate(fixed(G), fixed(u0), fixed(start)))
    for _ in range(2):  # Newton steps give the last digits, and the derivatives, since the iteration has none
        u = u0 + G @ s
        length = _length(u)
        along = u / xp.where(length > 0, length, 1.0)[:, None]
        slope = xp.eye(len(s)) - xp.einsum("ic,icj->ij", along, G)
        s = s - solve_matrix(slope, s - length)
    return xp.abs(s), xp.where(certain, 1, UNKNOWN_COUNT)


def _iterate(G: Array, u0: Array, start: Array) -> Array:
    """Iterate by Jacobi's method: each length solves its own quadratic equation with the others fixed."""
    xp = namespace_of(G, u0, start)
    k = np.arange(len(start))
    own = G[k, :, k]

    def better(s: Array) -> Array:
        return one_length(own, u0 + G @ s - own * s[:, None])

    def is_unfinished(state: tuple[Any, Array, Any]) -> Any:
        count, s, change = state
        return (change > ITERATION_ROUNDING * xp.max(s)) & (count < MOST_ITERATIONS)

    def step(state: tuple[Any, Array, Any]) -> tuple[Any, Array, Any]:
        count, s, _ = state
        new = better(s)
        return count + 1, new, xp.max(xp.abs(new - s))

    state = (xp.array(0), better(start), xp.array(xp.inf))
    if xp is not np:
        return lax.while_loop(is_unfinished, step, state)[1]
    while is_unfinished(state):
        state = step(state)
    return state[1]


def one_length(G: Array, u0: Array) -> Array:
    """Return the s ≥ 0 with s = |u₀ + G s| for vectors (…, c), |G| < 1: a quadratic equation with one such root."""
    xp = namespace_of(G, u0)
    rest, half = 1 - xp.sum(G * G, axis=-1), xp.sum(u0 * G, axis=-1)
    square = xp.sum(u0 * u0, axis=-1)
    root = xp.sqrt(half * half + rest * square)
    # of the two forms of the root, the one without cancellation
    ahead = half >= 0
    return xp.where(ahead, (half + root) / rest, square / xp.where(ahead, 1.0, root - half))


def _contracts(B: Array) -> Array:
    """Return whether the spectral radius of a nonnegative matrix is below one: B x < x for some positive x."""
    xp = namespace_of(B)
    power = xp.eye(len(B)) + B
    # x is close to the Perron eigenvector, for which the test is sharp
    for _ in range(6):
        power = power @ power
        # only its direction matters, and the powers would overflow
        power = power / xp.max(power)
    x = xp.sum(power, axis=1)
    return xp.all(B @ x < x)


def _length(u: Array, axis: int = -1) -> Array:
    """Return |u|, with derivative zero where u vanishes."""
    xp = namespace_of(u)
    square = xp.sum(u * u, axis=axis)
    # the inner choice keeps the infinite slope of the root at zero out of derivatives
    return xp.where(square > 0, xp.sqrt(xp.where(square > 0, square, 1.0)), 0.0)


def with_normals(
    given: Array,
    actual: tuple[int, ...],
    normals: Array,
    mu: Array,
    reaction: IdealReaction,
    pressing: tuple[bool, ...] = (),
) -> NonidealForces:
    """Solve for the normal forces of the laws in ``actual`` and return the nonideal forces of all laws.

    given (l, n)             the force C of each law; for those in ``actual`` that of a unit normal force
    normals (k, c, m + 1)    for each component of N the row n of nᵀλ, and a constant added to it
    pressing                 which of the k normal forces cannot be negative
    """
    if not actual:
        return NonidealForces(given, None)
    chosen = np.array(actual)
    others = np.setdiff1d(np.arange(len(given)), chosen)
    xp = namespace_of(given, normals)
    rows, added = normals[..., :-1], normals[..., -1]
    # Aᵀλ = Qᶜ − C: each law changes the reactions by minus the multipliers of its C
    before = reaction.multipliers - reaction.multipliers_of(xp.sum(given[others], axis=0))
    G = -rows @ xp.stack([reaction.multipliers_of(given[j]) for j in actual], axis=-1)
    u0 = rows @ before + added
    pressing = pressing or (False,) * len(actual)
    if normals.shape[1] == 1 and can_enumerate(pressing):
        G, u0 = G[:, 0], u0[:, 0]
        u, solutions = solve_absolute(G, u0, pressing)
        sizes = xp.where(np.array(pressing), u, xp.abs(u))
    else:
        u, solutions = solve_lengths(G, u0)
        G, u0, sizes = _length(G, axis=1), _length(u0), u
    chosen_size = (np.arange(len(given))[:, None] == chosen) @ sizes
    factors = xp.where(np.isin(np.arange(len(given)), chosen), chosen_size, 1.0)
    return NonidealForces(factors[:, None] * given, Normals(u, solutions, G, u0, mu))
