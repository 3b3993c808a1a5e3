# SPDX-License-Identifier: BSD-3-Clause
"""How well an answer solves its equations, and whether the constraints contradict one another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dalembert.arrays import lower_solve, namespace_of
from dalembert.equation.scaling import Scaled
from dalembert.tolerances import ROUNDING

if TYPE_CHECKING:
    from jax import Array


def residual_of(of: Scaled, acceleration: Array, force: Array, C: Array) -> Array:
    """By how much M q̈ = Q + Qᶜ, A q̈ = b and vᵀQᶜ = vᵀC for virtual v are missed, the worst of the three.

    Relative to all the forces and accelerations together: in scaled units they are of one kind. The part of b that no
    acceleration can meet is none of this; it is the inconsistency.
    """
    xp = namespace_of(of.M, of.A)
    norm, half, rows = xp.linalg.norm, of.geometry.half, of.geometry.rows
    unwanted = lower_solve(half, force - C)
    forces = sum(norm(lower_solve(half, part)) for part in (of.Q, C, force))
    metric = norm(half.T @ acceleration) + norm(rows.reachable(of.b)) + forces
    plain = norm(of.M) * norm(acceleration) + norm(of.Q) + norm(force)
    motion = norm(of.M @ acceleration - of.Q - force) / xp.where(plain > 0, plain, 1.0)
    constraints = norm(rows.reachable(of.A @ acceleration - of.b))
    virtual = norm(unwanted - rows.project(unwanted))
    return xp.maximum(motion, xp.maximum(constraints, virtual) / xp.where(metric > 0, metric, 1.0))


def inconsistency_of(of: Scaled, free: Array | None, acceleration: Array) -> Array:
    """The part of b − A a that no acceleration can meet, relative to all of it; of b without a free acceleration a."""
    xp = namespace_of(of.M, of.A)
    norm = xp.linalg.norm
    e = of.b if free is None else of.b - of.A @ free
    # e is a difference: its rounding is that of the numbers it came from, however small it is itself
    size = norm(of.A) * norm(acceleration if free is None else free)
    outside, whole = norm(of.geometry.rows.outside(e)), norm(e)
    rounding = 10 * ROUNDING * (norm(of.b) + size) + ROUNDING * whole
    return xp.where(outside > rounding, outside / xp.where(whole > 0, whole, 1.0), 0.0)
