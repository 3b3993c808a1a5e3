# SPDX-License-Identifier: BSD-3-Clause
"""What every formulation of the constrained equation of motion offers, and the answer it leads to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from dalembert.equation.decomposition import Decomposition, decompose
from dalembert.equation.reaction import Nature, Normals, Reaction
from dalembert.equation.tolerance import ROUNDING
from dalembert.later import jax, jnp, jsl

if TYPE_CHECKING:
    from jax import Array


class Part(NamedTuple):
    """A share of the motion: acceleration (n,) and the constraint force (n,) that goes with it."""

    acceleration: Array
    force: Array


class Geometry(NamedTuple):
    """The constraint rows in the metric of the inverse mass matrix.

    half (n, n)    lower triangle L of M = LLᵀ; the identity if M need not be positive definite
    rows           decomposition of A L⁻ᵀ
    """

    half: Array
    rows: Decomposition


class Formulation(ABC):
    """One way to solve M q̈ = Q + Qᶜ, A q̈ = b with vᵀQᶜ = vᵀC; frozen, with no state of its own.

    ``factor`` sees only M and A and is done once; the two solves are linear in what they are given.
    """

    positive_mass: bool = True
    """Whether M must be positive definite."""
    semidefinite_mass: bool = False
    """Whether M may be singular, but not indefinite."""
    independent_rows: bool = False
    """Whether A must have full row rank."""
    compromises: bool = False
    """Whether contradictory constraints are meant to be given, and met as well as possible."""

    @abstractmethod
    def factor(self, M: Array, A: Array, geometry: Geometry) -> Any:
        """Whatever depends on M (n, n) and A (m, n) alone; ``geometry`` has been found from them already."""

    @abstractmethod
    def ideal(self, factored: Any, Q: Array, b: Array) -> Part:
        """The motion and constraint force under Q (n,) and b (m,) when the constraints do no virtual work."""

    @abstractmethod
    def nonideal(self, factored: Any, C: Array) -> Part:
        """What C (n,) adds to the motion, and the nonideal constraint force."""


class Kernel(NamedTuple):
    """The arrays of an answer, before a person looks at it; shapes as in ``ConstrainedMotion``."""

    acceleration: Array
    free_acceleration: Array
    ideal_force: Array
    nonideal_force: Array
    multipliers: Array
    reactions: Array
    unique_multipliers: Array
    rank: Array
    rank_gap: Array
    inconsistency: Array
    gauss: Array
    nonideal: Array
    law_forces: Array
    law_natures: Array
    normals: Normals | None


Law = Callable[[Reaction], Nature]
"""C, by its laws, as a function of the ideal constraint forces."""


def solve(formulation: Formulation, M: Array, Q: Array, A: Array, b: Array, law: Law | None) -> Kernel:
    """Solve one problem with any formulation and describe its constraint rows; pure, so it can be traced and mapped."""
    half = jnp.linalg.cholesky(M) if formulation.positive_mass else jnp.eye(len(Q))
    rows = decompose(lower_solve(half, A.T).T)
    factored = formulation.factor(M, A, Geometry(half, rows))
    ideal = formulation.ideal(factored, Q, b)

    def multipliers_of(F: Array) -> Array:
        return rows.multipliers(lower_solve(half, F - formulation.nonideal(factored, F).force))

    lam = rows.multipliers(lower_solve(half, ideal.force))
    nature = Nature(jnp.zeros((0, len(Q))), None)
    parts = Part(nature.shares, nature.shares)
    if law is not None:
        nature = law(Reaction(ideal.force, lam, multipliers_of))
        parts = jax.vmap(partial(formulation.nonideal, factored))(nature.shares)
    C = jnp.sum(nature.shares, axis=0)
    nonideal = Part(jnp.sum(parts.acceleration, axis=0), jnp.sum(parts.force, axis=0))
    # Without a positive mass matrix there need not be a free acceleration; then b itself sets the scale.
    invert = partial(cholesky_solve, half) if formulation.positive_mass else partial(jnp.linalg.solve, M)
    a = invert(Q)
    finite_a = jnp.where(jnp.all(jnp.isfinite(a)), a, 0.0)
    e = b - A @ finite_a
    # e is a difference: its rounding is that of the numbers it came from, however small it is itself
    lengths = jnp.linalg.norm(A, axis=1) / rows.scale
    rounding = ROUNDING * (jnp.linalg.norm(b / rows.scale) + jnp.linalg.norm(lengths) * jnp.linalg.norm(finite_a))
    unprescribed = ideal.force + nonideal.force - C
    return Kernel(
        acceleration=ideal.acceleration + nonideal.acceleration,
        free_acceleration=a,
        ideal_force=ideal.force,
        nonideal_force=nonideal.force,
        multipliers=lam,
        reactions=lam if law is None else rows.multipliers(lower_solve(half, unprescribed)),
        unique_multipliers=rows.unique,
        rank=rows.rank,
        rank_gap=rows.gap,
        inconsistency=relative(rows.outside(e), e / rows.scale, rounding),
        gauss=unprescribed @ invert(unprescribed),
        nonideal=C,
        law_forces=parts.force,
        law_natures=nature.shares,
        normals=nature.normals,
    )


def relative(outside: Array, whole: Array, rounding: Array) -> Array:
    """‖outside‖ / ‖whole‖, zero when there is nothing but rounding to divide."""
    size, total = jnp.linalg.norm(outside), jnp.linalg.norm(whole)
    return jnp.where(size > 10 * rounding + ROUNDING * total, size / jnp.where(total > 0, total, 1.0), 0.0)


def lower_solve(lower: Array, right: Array) -> Array:
    """L⁻¹ times a vector or the columns of a matrix."""
    return jsl.solve_triangular(lower, right, lower=True)


def upper_solve(lower: Array, right: Array) -> Array:
    """L⁻ᵀ times a vector or the columns of a matrix."""
    return jsl.solve_triangular(lower, right, lower=True, trans=1)


def cholesky_solve(lower: Array, right: Array) -> Array:
    """(L Lᵀ)⁻¹ times a vector."""
    return upper_solve(lower, lower_solve(lower, right))
