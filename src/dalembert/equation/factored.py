# SPDX-License-Identifier: BSD-3-Clause
"""The default formulation: a Cholesky factor of the mass matrix and orthogonalised constraint rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dalembert.equation.formulation import Formulation, Geometry, Part
from dalembert.errors import InputError
from dalembert.numerics.arrays import lower_solve, upper_solve

if TYPE_CHECKING:
    from jax import Array


@dataclass(frozen=True)
class Factored(Formulation):
    """Cholesky factor of M, then a rank-revealing orthogonalisation of the constraint rows; dependent rows drop out.

    Notation: M = LLᵀ, B = A L⁻ᵀ. The fundamental equation holds for any square root of M, so the Cholesky factor can be
    used and no eigenvalues or singular values are needed. The result is differentiable at constant rank, even with
    redundant rows.

    A row is dependent when less than ``RANK_TOLERANCE`` (1e-10) of its length is left after orthogonalisation.
    """

    uses_engine = True

    def factor(self, M: Array, A: Array, geometry: Geometry) -> Any:
        return geometry.half, geometry.rows

    def ideal(self, factored: Any, Q: Array, b: Array) -> Part:
        half, rows = factored
        c = lower_solve(half, Q)  # Lᵀa, with the free acceleration a
        # least change of the free acceleration in the mass metric: Gauss's principle
        y = rows.solve(b - rows.unit @ c)
        return Part(upper_solve(half, c + y), half @ y)

    def nonideal(self, factored: Any, C: Array) -> Part:
        half, rows = factored
        c = lower_solve(half, C)
        scaled = c - rows.project(c)
        return Part(upper_solve(half, scaled), half @ scaled)


def checked_formulation(formulation: Any) -> Formulation:
    """Return the formulation, by default ``Factored()``; raise an error if it is none."""
    formulation = Factored() if formulation is None else formulation
    if not isinstance(formulation, Formulation):
        raise InputError(f"`formulation` must be an object such as `da.Factored()`; got {formulation!r}.")
    return formulation
