# SPDX-License-Identifier: BSD-3-Clause
"""What every formulation of the constrained equation of motion offers, and the answer it leads to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from dalembert.arrays import cholesky_solve, lower_solve, map_rows, namespace_of, solve_matrix
from dalembert.equation.reaction import NonidealForces, Normals, Reaction
from dalembert.equation.residual import inconsistency_of, residual_of
from dalembert.equation.scaling import Geometry, Scaled, scaled_problem
from dalembert.tolerances import CONSISTENCY_TOLERANCE

if TYPE_CHECKING:
    from jax import Array


class Part(NamedTuple):
    """A share of the motion: acceleration (n,) and the constraint force (n,) that goes with it."""

    acceleration: Array
    force: Array


class Quality(NamedTuple):
    """How well contradictory equations are met, in the units of the user.

    residuals (n + m,)                                    of the equations of motion and of the constraints
    acceleration_covariance, force_covariance (n, n)      as the weight implies them
    optimality                                            slope of the weighted sum of squares relative to its steepest
    """

    residuals: Array
    acceleration_covariance: Array
    force_covariance: Array
    optimality: Array


class Formulation(ABC):
    """One way to solve M q̈ = Q + Qᶜ, A q̈ = b with vᵀQᶜ = vᵀC; frozen, with no state of its own.

    ``factor`` sees only M and A and is done once; the two solves are linear in what they are given. All see the problem
    in scaled units, coordinates by their masses and constraints by their lengths (``solve``): a formulation need not
    care for the units of its user.
    """

    positive_mass: bool = True
    """Whether M must be positive definite."""
    semidefinite_mass: bool = False
    """Whether M may be singular, but not indefinite."""
    independent_rows: bool = False
    """Whether A must have full row rank."""
    refinements: int = 1
    """How many times what a solution misses is solved for in turn and added to it: the digits that its method loses."""
    compromises: bool = False
    """Whether contradictory constraints are meant to be given, and met as well as possible."""
    uses_engine: bool = False
    """Whether accelerations along a run are those of the engines, of machine code and of JAX, which solve the equation
    as ``Factored`` does; a formulation that says so must have the same solution, redundant rows included."""

    @abstractmethod
    def factor(self, M: Array, A: Array, geometry: Geometry) -> Any:
        """Whatever depends on M (n, n) and A (m, n) alone; ``geometry`` has been found from them already."""

    @abstractmethod
    def ideal(self, factored: Any, Q: Array, b: Array) -> Part:
        """The motion and constraint force under Q (n,) and b (m,) when the constraints do no virtual work."""

    @abstractmethod
    def nonideal(self, factored: Any, C: Array) -> Part:
        """What C (n,) adds to the motion, and the nonideal constraint force."""

    def quality(self, factored: Any, Q: Array, b: Array, geometry: Geometry) -> Quality | None:
        """What a formulation that compromises says of its compromise; None from all others."""
        return None


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
    residual: Array
    gauss: Array
    nonideal: Array
    law_forces: Array
    law_natures: Array
    normals: Normals | None
    quality: Quality | None


Law = Callable[[Reaction], NonidealForces]
"""C, by its laws, as a function of the ideal constraint forces."""


class _Refined(NamedTuple):
    """A formulation at one scaled problem, with iterative refinement: what a part misses is solved for and added."""

    formulation: Formulation
    factored: Any
    problem: Scaled

    def ideal(self) -> Part:
        return self._refined(self.formulation.ideal(self.factored, self.problem.Q, self.problem.b), self.problem.Q, 1.0)

    def nonideal(self, C: Array) -> Part:
        part = self.formulation.nonideal(self.factored, C)
        for _ in range(self.formulation.refinements):
            part = _sum(part, self.formulation.nonideal(self.factored, C - part.force))  # vᵀQᶜ = vᵀC
        return self._refined(part, 0.0, 0.0)

    def _refined(self, part: Part, Q: Any, with_b: float) -> Part:
        """The part such that M q̈ = Q + Qᶜ and A q̈ = b, or zero."""
        for _ in range(self.formulation.refinements):
            force = Q + part.force - self.problem.M @ part.acceleration
            target = with_b * self.problem.b - self.problem.A @ part.acceleration
            part = _sum(part, self.formulation.ideal(self.factored, force, target))
        return part


def _sum(one: Part, other: Part) -> Part:
    return Part(one.acceleration + other.acceleration, one.force + other.force)


def solve(formulation: Formulation, M: Array, Q: Array, A: Array, b: Array, law: Law | None) -> Kernel:
    """Solve one problem with any formulation and describe its constraint rows; pure, so it can be traced and mapped."""
    scaled, rows = scaled_problem(M, Q, A, b, positive_mass=formulation.positive_mass)
    xp, u, half = namespace_of(M, A), scaled.geometry.units, scaled.geometry.half
    method = _Refined(formulation, formulation.factor(scaled.M, scaled.A, scaled.geometry), scaled)
    ideal = method.ideal()

    def multipliers_of(F: Array) -> Array:
        return rows.multipliers(lower_solve(half, F / u - method.nonideal(F / u).force))

    lam = rows.multipliers(lower_solve(half, ideal.force))
    nature = NonidealForces(xp.zeros((0, len(Q))), None)
    parts = Part(nature.shares, nature.shares)
    if law is not None:
        nature = law(Reaction(u * ideal.force, lam, multipliers_of))
        parts = map_rows(method.nonideal, nature.shares / u)
    C = xp.sum(nature.shares, axis=0)
    nonideal = Part(xp.sum(parts.acceleration, axis=0), xp.sum(parts.force, axis=0))
    total = Part(ideal.acceleration + nonideal.acceleration, ideal.force + nonideal.force)
    # without a positive mass matrix there need not be a free acceleration
    invert = partial(cholesky_solve, half) if formulation.positive_mass else partial(solve_matrix, scaled.M)
    a = invert(scaled.Q)
    inconsistency = inconsistency_of(scaled, a if formulation.positive_mass else None, total.acceleration)
    residual = residual_of(scaled, total.acceleration, total.force, C / u)
    quality = formulation.quality(method.factored, scaled.Q, scaled.b, scaled.geometry)
    if quality is not None:  # of a compromise, not A q̈ = b is to be checked but that none is better
        residual = xp.where(inconsistency > CONSISTENCY_TOLERANCE, quality.optimality, residual)
    unprescribed = total.force - C / u
    return Kernel(
        acceleration=total.acceleration / u,
        free_acceleration=a / u,
        ideal_force=u * ideal.force,
        nonideal_force=u * nonideal.force,
        multipliers=lam,
        reactions=lam if law is None else rows.multipliers(lower_solve(half, unprescribed)),
        unique_multipliers=rows.unique,
        rank=rows.rank,
        rank_gap=rows.gap,
        inconsistency=inconsistency,
        residual=xp.where(xp.isfinite(residual), residual, xp.inf),
        gauss=unprescribed @ invert(unprescribed),
        nonideal=C,
        law_forces=u * parts.force,
        law_natures=nature.shares,
        normals=nature.normals,
        quality=quality,
    )
