# SPDX-License-Identifier: BSD-3-Clause
"""The interface of all formulations of constrained motion, and the solution of a problem by any of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from dalembert.equation.reaction import IdealReaction, NonidealForces, Normals, ReactionSolution
from dalembert.equation.residual import inconsistency_of, residual_of
from dalembert.equation.scaling import Geometry, Scaled, scaled_problem
from dalembert.numerics.arrays import lower_solve, map_rows, namespace_of, norm, solve_matrix, upper_solve, where
from dalembert.numerics.tolerances import CONSISTENCY_TOLERANCE

if TYPE_CHECKING:
    from jax import Array


class Part(NamedTuple):
    """A part of the motion: an acceleration (n,) and the constraint force (n,) that belongs to it."""

    acceleration: Array
    force: Array


class Quality(NamedTuple):
    """Residuals and covariances of a least-squares solution, in the user's units.

    residuals (n + m,)                                    of the equations of motion and of the constraints
    acceleration_covariance, force_covariance (n, n)      implied by the weight
    optimality                                            gradient of the weighted sum of squares, relative to its
                                                          upper bound
    """

    residuals: Array
    acceleration_covariance: Array
    force_covariance: Array
    optimality: Array


class Formulation(ABC):
    """A method for M q̈ = Q + Qᶜ, A q̈ = b with vᵀQᶜ = vᵀC; frozen, without state.

    ``factor`` depends only on M and A and is called once; ``ideal`` and ``nonideal`` are linear in their vectors. All
    receive the problem in scaled units (``solve``), coordinates by their masses and constraints by their lengths, so
    that a formulation does not depend on the user's units.
    """

    positive_mass: bool = True
    """True if M must be positive definite."""
    semidefinite_mass: bool = False
    """True if M may be singular, but not indefinite."""
    independent_rows: bool = False
    """True if A must have full row rank."""
    refinements: int = 1
    """Number of steps of iterative refinement, which restore the digits that the method loses."""
    compromises: bool = False
    """True if contradictory constraints are accepted, and satisfied as well as possible."""
    uses_engine: bool = False
    """True if accelerations along a run are those of the engines, compiled or by JAX, which solve the equation as
    ``Factored`` does; such a formulation must have the same solution, redundant rows included."""

    @abstractmethod
    def factor(self, M: Array, A: Array, geometry: Geometry) -> Any:
        """Return the factors that depend on M (n, n) and A (m, n) only; ``geometry`` is computed from the same."""

    @abstractmethod
    def ideal(self, factored: Any, Q: Array, b: Array) -> Part:
        """Return the motion and constraint force under Q (n,) and b (m,) when the constraints do no virtual work."""

    def correction(self, factored: Any, Q: Array, b: Array, size: Array) -> Part:
        """Return the ideal motion for residuals Q and b of a problem whose terms have the given size."""
        return self.ideal(factored, Q, b)

    @abstractmethod
    def nonideal(self, factored: Any, C: Array) -> Part:
        """Return the acceleration caused by C (n,) and the nonideal constraint force."""

    def quality(self, factored: Any, Q: Array, b: Array, geometry: Geometry) -> Quality | None:
        """Return the quality of a least-squares solution; None for exact formulations."""
        return None


class Kernel(NamedTuple):
    """The arrays of an answer before any checks; shapes as in ``ConstrainedMotion``."""

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
    law_nonideal: Array
    normals: Normals | None
    implicit: ReactionSolution | None
    quality: Quality | None


Law = Callable[[IdealReaction], NonidealForces]
"""The nonideal forces C of all laws as a function of the ideal constraint forces."""


class _Refined(NamedTuple):
    """A formulation applied to one scaled problem, with iterative refinement: the residual is solved for and added."""

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
        """Refine a part so that M q̈ = Q + Qᶜ and A q̈ = b, where b counts ``with_b`` times."""
        for _ in range(self.formulation.refinements):
            force = Q + part.force - self.problem.M @ part.acceleration
            target = with_b * self.problem.b - self.problem.A @ part.acceleration
            size = norm(self.problem.Q, self.problem.b, *part)
            part = _sum(part, self.formulation.correction(self.factored, force, target, size))
        return part


def _sum(one: Part, other: Part) -> Part:
    return Part(one.acceleration + other.acceleration, one.force + other.force)


def solve(formulation: Formulation, M: Array, Q: Array, A: Array, b: Array, law: Law | None) -> Kernel:
    """Solve one problem with any formulation; the function is pure, so that JAX can trace and map it."""
    scaled, rows = scaled_problem(M, Q, A, b, positive_mass=formulation.positive_mass)
    xp, u, half = namespace_of(M, A), scaled.geometry.units, scaled.geometry.half
    method = _Refined(formulation, formulation.factor(scaled.M, scaled.A, scaled.geometry), scaled)
    ideal = method.ideal()

    # the part of F that does no virtual work is F minus its nonideal constraint force
    def multipliers_of(F: Array) -> Array:
        return rows.multipliers(lower_solve(half, F / u - method.nonideal(F / u).force))

    lam = rows.multipliers(lower_solve(half, ideal.force))
    law_forces = NonidealForces(xp.zeros((0, len(Q))), None)
    parts = Part(law_forces.shares, law_forces.shares)
    nonideal, C, total = Part(xp.zeros(len(Q)), xp.zeros(len(Q))), xp.zeros(len(Q)), ideal
    if law is not None:
        law_forces = law(IdealReaction(u * ideal.force, lam, multipliers_of))
        parts = map_rows(method.nonideal, law_forces.shares / u)
        C = xp.sum(law_forces.shares, axis=0)
        nonideal = Part(xp.sum(parts.acceleration, axis=0), xp.sum(parts.force, axis=0))
        total = _sum(ideal, nonideal)
    # Qᶜ − C does no virtual work, so that it is Aᵀ times the reactions
    unprescribed = total.force - C / u
    in_metric = lower_solve(half, xp.asarray([unprescribed, scaled.Q, C / u, total.force]).T).T
    if formulation.positive_mass:
        a, gauss = upper_solve(half, in_metric[1]), in_metric[0] @ in_metric[0]
        inconsistency = inconsistency_of(scaled, a, total.acceleration)
    else:  # the free acceleration need not exist
        a, gauss = solve_matrix(scaled.M, scaled.Q), unprescribed @ solve_matrix(scaled.M, unprescribed)
        inconsistency = inconsistency_of(scaled, None, total.acceleration)
    residual = residual_of(scaled, total.acceleration, total.force, in_metric)
    quality = formulation.quality(method.factored, scaled.Q, scaled.b, scaled.geometry)
    if quality is not None:  # contradictory equations have a residual: check that the least squares are optimal instead
        residual = xp.where(inconsistency > CONSISTENCY_TOLERANCE, quality.optimality, residual)
    return Kernel(
        acceleration=total.acceleration / u,
        free_acceleration=a / u,
        ideal_force=u * ideal.force,
        nonideal_force=u * nonideal.force,
        multipliers=lam,
        reactions=lam if law is None else rows.multipliers(in_metric[0]),
        unique_multipliers=rows.unique,
        rank=rows.rank,
        rank_gap=rows.gap,
        inconsistency=inconsistency,
        residual=where(abs(residual) < xp.inf, residual, xp.inf),
        gauss=gauss,
        nonideal=C,
        law_forces=u * parts.force,
        law_nonideal=law_forces.shares,
        normals=law_forces.normals,
        implicit=law_forces.implicit,
        quality=quality,
    )
