# SPDX-License-Identifier: BSD-3-Clause
"""The result of the fundamental equation at one state, or at a batch of states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.common.array_types import Floats, labels_of, not_numbers
from dalembert.common.lazy_jax import jnp
from dalembert.common.names import summary
from dalembert.common.paper_letters import PaperLetters, ScaledMatrices
from dalembert.equation.reaction import Normals, ReactionSolution
from dalembert.equation.scaled_numbers import scaled_numbers
from dalembert.errors import InputError
from dalembert.numerics.tolerances import START_TOLERANCE

if TYPE_CHECKING:
    from jax import Array


VIRTUAL_TOLERANCE = START_TOLERANCE
"""Largest |A v| of a virtual displacement v, relative to the lengths of the row and of v: displacements are given with
as many digits as states."""


MOST_COMPONENTS = 6
"""Components of vectors that the text of an answer shows."""


def _numbers_in_order(displacement: Any) -> Floats:
    """Return a displacement as an array; an answer does not know the names of coordinates, which labels would need."""
    if reason := not_numbers(displacement):
        raise InputError(f"`displacement` {reason}")
    if isinstance(displacement, Mapping) or labels_of(displacement) is not None:
        raise InputError(
            "`displacement` must be numbers in the order of the coordinates, without labels. Pass `.to_numpy()` of a "
            "column that is in this order."
        )
    try:
        return np.asarray(displacement, float)
    except (TypeError, ValueError):
        raise InputError(f"`displacement` must hold numbers; got {displacement!r:.80}.") from None


def _times_and_lengths(A: Any, v: Any) -> tuple[Any, Any]:
    """Return |A v| and the lengths of the rows of A, which may be a batch, or a sparse matrix."""
    if type(A).__module__.startswith("scipy.sparse"):
        return np.abs(A @ v), np.sqrt((A * A).sum(axis=1))
    return np.abs(np.einsum("...ij,...j->...i", A, v)), np.linalg.norm(A, axis=-1)


@dataclass(frozen=True, repr=False)
class ConstrainedMotion(PaperLetters):
    """Accelerations and forces of constrained motion, M q̈ = Q + Qᶜᵢ + Qᶜₙᵢ with A q̈ = b.

    All arrays may have leading batch axes, left out here.

    acceleration, free_acceleration (n,)    q̈, and a = M⁻¹Q; the latter is None where M is singular
    ideal_force, nonideal_force (n,)        the two parts of the constraint force
    multipliers (m,)                        λ with Aᵀλ the ideal force; the shortest such λ if rows are redundant
    reactions (m,)                          λ including the effect of nonideal laws: Aᵀλ = Qᶜ − C
    unique_multipliers (m,)                 whether each multiplier is determined despite redundant rows
    rank, rank_gap                          number of independent rows; size of the last row kept over the largest
                                            dropped (inf if none was)
    inconsistency                           part of b − A a that no acceleration can meet, relative to all of it, rows
                                            scaled to equal length; zero for consistent constraints
    residual                                residual of M q̈ = Q + Qᶜ, A q̈ = b and vᵀQᶜ = vᵀC relative to their terms,
                                            in scaled units: about 1e-15 for an accurate answer, large or infinite if
                                            there is none. The part of b that contradictory constraints exclude is not
                                            in it but in ``inconsistency``. Residuals above 1e-10 raise an error unless
                                            ``throw=False``
    gauss                                   Gauss's function (q̈ − a')ᵀM(q̈ − a') with a' = M⁻¹(Q + C), least among all
                                            accelerations with A q̈ = b; None where M is singular
    mass_matrix, applied_force, constraint_matrix, constraint_rhs, nonideal    M, Q, A, b and C; M and A of a large
                                            system are sparse matrices of SciPy
    laws                                    the l nonideal laws, each as (name of its constraint, name of the law); the
                                            former is empty for a law of the whole system
    law_nonideal, law_forces (l, n)         C and the nonideal constraint force of each law
    normals                                 of friction that depends on the actual reaction, in its order: the
                                            normal ``forces`` and the number of ``solutions``; None if there are none
    implicit                                of laws that depend on ``da.reaction``: these ``reactions``, the relative
                                            ``residual`` of their equations, and the ``determinant`` of the derivative,
                                            which is positive where they are unique nearby; None if there are none
    residuals, acceleration_covariance, force_covariance    only from ``StackedLeastSquares``: residual of the n
                                            equations of motion and m constraints, and covariances (n, n)
    inputs                                  u of each actuator that meets servo constraints, by its name; their force is
                                            part of ``applied_force``
    servo_error                             error of each servo constraint, by its name, (k,) if it has k requirements

    The matrices of the papers' proofs are properties, computed at one state: ``B``, ``B_plus``, ``e``, ``a_s``,
    ``c_s`` (``z``), ``T``, ``N``, ``V``, ``D``, ``E`` and ``J``; ``docs/notation.md`` has their descriptive names.
    """

    acceleration: Array
    free_acceleration: Array | None
    ideal_force: Array
    nonideal_force: Array
    multipliers: Array
    reactions: Array
    unique_multipliers: Array
    rank: Array
    rank_gap: Array
    inconsistency: Array
    residual: Array
    gauss: Array | None
    mass_matrix: Array
    applied_force: Array
    constraint_matrix: Array
    constraint_rhs: Array
    nonideal: Array
    law_nonideal: Array
    law_forces: Array
    normals: Normals | None = None
    implicit: ReactionSolution | None = None
    laws: tuple[tuple[str, str], ...] = ()
    residuals: Array | None = None
    acceleration_covariance: Array | None = None
    force_covariance: Array | None = None
    inputs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    servo_error: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __repr__(self) -> str:
        """Return accelerations and forces, or the shape of a batch, and how well the equations hold."""
        *batch, n = self.acceleration.shape
        if batch or n > MOST_COMPONENTS:
            what = f"{n} coordinates" + (f", batch of shape {tuple(batch)}" if batch else "")
            return f"<ConstrainedMotion of {what}>"
        vectors = ("acceleration", "ideal_force", "nonideal_force")
        parts = [f"{name.replace('_', ' ')} {getattr(self, name)}" for name in vectors]
        return summary("ConstrainedMotion", *parts, f"rank {self.rank}", f"residual {float(self.residual):.1e}")

    @property
    def constraint_force(self) -> Array:
        """Qᶜ, ideal and nonideal part together."""
        return self.ideal_force + self.nonideal_force

    @property
    def scaled_matrices(self) -> ScaledMatrices:
        """B, B⁺, e, aₛ, cₛ, T, N, V, D, E and J at this state.

        Raises
        ------
        InputError         if this is a batch of states
        MassMatrixError    if the mass matrix is not positive definite
        """
        given = (self.mass_matrix, self.applied_force, self.constraint_matrix, self.constraint_rhs, self.nonideal)
        return scaled_numbers(*given)

    def virtual_work(self, displacement: Any, of: str | None = None) -> Array:
        """Return the work vᵀQᶜ of the constraint force on a virtual displacement v, with A v = 0; it equals vᵀC.

        If ``of`` names a constraint, the result is the work of the nonideal force of that constraint alone.

        Raises
        ------
        InputError    if v has the wrong length or is not virtual, or the constraint has no law
        """
        # the ideal force needs no share of its own: it does no virtual work
        force = self.constraint_force if of is None else jnp.sum(self.law_forces[..., self._laws_of(of), :], axis=-2)
        v, n = _numbers_in_order(displacement), self.acceleration.shape[-1]
        if v.shape[-1:] != (n,):
            raise InputError(f"`displacement` must have {n} components; got shape {v.shape}.")
        # A v relative to the lengths of the row and of v: the scale of a constraint must not matter
        moved, lengths = _times_and_lengths(self.constraint_matrix, v)
        limit = VIRTUAL_TOLERANCE * lengths * np.linalg.norm(v, axis=-1)[..., None]
        if (moved > limit).any():
            row = int(np.argmax(np.max(moved - limit, axis=tuple(range(moved.ndim - 1)))))
            raise InputError(
                f"`displacement` must be virtual, A v = 0; row {row} gives {moved[..., row].max():.1e}. "
                f"Take v from the null space of `constraint_matrix`."
            )
        return jnp.sum(force * v, axis=-1)

    def _laws_of(self, constraint: str) -> list[int]:
        """Return the numbers of the nonideal laws of a constraint; raise an error if it has none."""
        found = [i for i, (name, _) in enumerate(self.laws) if name == constraint]
        if not found:
            names = ", ".join(f"`{name}`" for name in dict.fromkeys(name for name, _ in self.laws if name)) or "none"
            raise InputError(
                f"`of` must name a constraint that has a nonideal law ({names}); got {constraint!r}. An ideal "
                f"constraint does no virtual work."
            )
        return found
