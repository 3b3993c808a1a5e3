# SPDX-License-Identifier: BSD-3-Clause
"""The residual of an answer, and the inconsistency of the constraints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dalembert.equation.scaling import Scaled
from dalembert.numerics.arrays import larger, norm, ratio, where
from dalembert.numerics.tolerances import ROUNDING

if TYPE_CHECKING:
    from jax import Array


def residual_of(of: Scaled, acceleration: Array, force: Array, in_metric: Array) -> Array:
    """Return the largest relative residual of M q̈ = Q + Qᶜ, A q̈ = b and vᵀQᶜ = vᵀC for virtual v.

    It is relative to all forces and accelerations together, which in scaled units have the same dimension. The part of
    b that no acceleration can satisfy is not included: it is the inconsistency. ``in_metric`` (4, n) are L⁻¹ times
    Qᶜ − C, Q, C and Qᶜ.
    """
    half, rows = of.geometry.half, of.geometry.rows
    unwanted = in_metric[0]
    metric = norm(half.T @ acceleration) + norm(rows.reachable(of.b)) + sum(map(norm, in_metric[1:]))
    plain = norm(of.M) * norm(acceleration) + norm(of.Q) + norm(force)
    motion = ratio(norm(of.M @ acceleration - of.Q - force), plain)
    constraints = norm(rows.reachable(of.A @ acceleration - of.b))
    # Qᶜ − C does no virtual work, so that it lies in the row space
    virtual = norm(unwanted - rows.project(unwanted))
    return larger(motion, ratio(larger(constraints, virtual), metric))


def inconsistency_of(of: Scaled, free: Array | None, acceleration: Array) -> Array:
    """Return the part of b − A a that no acceleration can satisfy, relative to all of it; of b if there is no a."""
    e = of.b if free is None else of.b - of.A @ free
    # e is a difference: its rounding error is that of its terms, however small e itself is
    size = norm(of.A) * norm(acceleration if free is None else free)
    outside, whole = norm(of.geometry.rows.outside(e)), norm(e)
    rounding = 10 * ROUNDING * (norm(of.b) + size) + ROUNDING * whole
    return where(outside > rounding, ratio(outside, whole), 0.0)
