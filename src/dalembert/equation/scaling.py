# SPDX-License-Identifier: BSD-3-Clause
"""Scaling of a problem: every coordinate by its own mass, every constraint by its own length.

Notation: u (n,) are the units of the coordinates. With q = x / u the equation M q̈ = Q + Qᶜ, A q̈ = b reads the same in x
with M / uuᵀ, Q / u, Qᶜ / u, C / u, A / u and b: kinetic energy, virtual work and the constraints do not depend on the
units of coordinates. For a positive definite M these units make its diagonal one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from dalembert.equation.decomposition import Decomposition, decompose
from dalembert.numerics import mass
from dalembert.numerics.arrays import cholesky, constant, eigh, lower_solve, namespace_of, repeat
from dalembert.numerics.mass import in_units
from dalembert.numerics.tolerances import SINGULAR_MASS

if TYPE_CHECKING:
    from jax import Array


class Geometry(NamedTuple):
    """The constraint rows in the metric of the inverse mass matrix, all of them scaled.

    half (n, n)              lower triangle L of M = LLᵀ; the identity if M need not be positive definite
    rows                     decomposition of A L⁻ᵀ, rows of unit length
    units (n,), scale (m,)   scales of the coordinates and constraint rows: the original M is uuᵀ times the scaled one,
                             the original A is suᵀ times the scaled one
    """

    half: Array
    rows: Decomposition
    units: Array
    scale: Array


class Scaled(NamedTuple):
    """A problem in scaled units: M / uuᵀ, Q / u, A / suᵀ and b / s, and its geometry."""

    M: Array
    Q: Array
    A: Array
    b: Array
    geometry: Geometry


def scaled_problem(M: Array, Q: Array, A: Array, b: Array, *, positive_mass: bool) -> tuple[Scaled, Decomposition]:
    """Return a problem in scaled units, and the decomposition of its unscaled rows, for their multipliers."""
    xp = namespace_of(M, A)
    u = mass_units(M) if positive_mass else coordinate_units(M, A)
    M = in_units(M, u)
    # without a positive definite M the rows are decomposed in the Euclidean metric of the scaled coordinates
    half = cholesky(M) if positive_mass else xp.eye(len(Q))
    rows = decompose(lower_solve(half, (A / u).T).T)
    s = rows.scale
    # the scaled rows have unit length already, so that their decomposition needs no further scale
    geometry = Geometry(half, rows._replace(scale=xp.ones(len(b))), u, s)
    return Scaled(M, Q / u, A / s[:, None] / u, b / s, geometry), rows


def mass_units(M: Array) -> Array:
    """Return √Mᵢᵢ (..., n); unless M is positive definite, some may be zero or NaN."""
    xp = namespace_of(M)
    # without derivatives, since the answer does not depend on the units
    return constant(xp.sqrt(xp.diagonal(M, axis1=-2, axis2=-1)))


def coordinate_units(M: Array, A: Array) -> Array:
    """Return the units (n,) of the coordinates for any symmetric M, as ``numerics.mass``, without derivatives."""
    M, A = constant(M), constant(A)
    return mass.coordinate_units(M, A, namespace_of(M, A), repeat)


def is_positive(M: Array) -> Array:
    """Return whether one mass matrix is positive definite by the rule of ``numerics.mass``; it can be traced."""
    xp = namespace_of(M)
    values, _ = eigh(in_units(M, mass_units(M)))
    return xp.all(xp.diagonal(M) > 0) & (values[0] > SINGULAR_MASS * values[-1])


def metric_of(M: Any, A: Any) -> Any:
    """Return a positive definite matrix that measures distances: M, or diag(u²) if M is not positive definite.

    Both follow a change of the units of coordinates, so that no decision made by such distances depends on them.
    """
    xp = namespace_of(M, A)
    return xp.where(is_positive(M), M, xp.diag(coordinate_units(M, A) ** 2))
