# SPDX-License-Identifier: BSD-3-Clause
"""What nonideal laws are told of the constraint forces, and friction by the reaction that friction itself changes.

Notation: λ are multipliers, N = nᵀλ the normal force of a contact, C = C₀ + Σⱼ |Nⱼ| pⱼ the nature of the constraint
force, with pⱼ the friction of contact j for a unit normal force. The reaction is Aᵀλ with S λ = b − A M⁻¹(Q + C),
S = A M⁻¹Aᵀ, that is S λ − D |λ| = r. For the k normal forces alone it reads u − G |u| = u₀.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.equation.arrays import namespace_of, solve_matrix

if TYPE_CHECKING:
    from jax import Array


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

    forces (k,)        N, NaN unless there is exactly one solution
    solutions          how many there are
    coupling (k, k)    G of u − G |u| = u₀
    offset (k,)        u₀, the normal forces without this friction
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
    xp, k = namespace_of(G, u0), len(u0)
    sigma = signs(k)
    matrices = xp.eye(k) - G * sigma[:, None, :]
    if k == 1:  # no need to call LAPACK
        determinants, u = matrices[:, 0, 0], u0 / matrices[:, 0]
    else:
        determinants = xp.linalg.det(matrices)
        u = solve_matrix(matrices, xp.broadcast_to(u0, (len(sigma), k))[..., None])[..., 0]
    signed = sigma * u
    # a zero counts as positive, so that no solution is counted twice
    valid = xp.all((signed > 0) | ((u == 0) & (sigma > 0)), axis=1)
    solutions = xp.where(xp.all(determinants > 0), 1, xp.sum(valid))
    worst = xp.min(signed, axis=1)
    best = xp.argmax(xp.where(xp.isnan(worst), -xp.inf, worst))
    return xp.where(solutions == 1, u[best], xp.nan), solutions


def with_normals(given: Array, actual: tuple[int, ...], normals: Array, mu: Array, reaction: Reaction) -> Nature:
    """The shares of all laws, those in ``actual`` given for a unit normal force, with their normal forces found.

    normals (k, m)    the rows n of N = nᵀλ
    """
    if not actual:
        return Nature(given, None)
    chosen = np.array(actual)
    others = np.setdiff1d(np.arange(len(given)), chosen)
    xp = namespace_of(given, normals)
    before = reaction.multipliers - reaction.multipliers_of(xp.sum(given[others], axis=0))
    G = -normals @ xp.stack([reaction.multipliers_of(given[j]) for j in actual], axis=-1)
    u, solutions = solve_absolute(G, normals @ before)
    chosen_size = (np.arange(len(given))[:, None] == chosen) @ xp.abs(u)
    sizes = xp.where(np.isin(np.arange(len(given)), chosen), chosen_size, 1.0)
    return Nature(sizes[:, None] * given, Normals(u, solutions, G, normals @ before, mu))
