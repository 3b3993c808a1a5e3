# SPDX-License-Identifier: BSD-3-Clause
"""The functions that a JAX solver calls at every stage, on arrays, by LAPACK's Cholesky and QR decompositions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.common.lazy_jax import jax, jnp, jsl, lax
from dalembert.common.levels import level_numbers
from dalembert.common.stabilisation import Gains
from dalembert.equation.dynamics import Engine, RowSelection, Terms, agrees, stabilised
from dalembert.equation.implicit_laws import is_unique
from dalembert.equation.reaction import IdealReaction, NonidealForces
from dalembert.equation.scaling import is_positive
from dalembert.numerics.arrays import lower_solve, upper_solve
from dalembert.numerics.linear_algebra import are_determined, orthonormal_basis
from dalembert.numerics.tolerances import CLEARLY_INDEPENDENT, LEAST_DISTANCE, START_TOLERANCE
from dalembert.numerics.violation import DRIFT_FACTOR, units

if TYPE_CHECKING:
    from jax import Array


class ActiveRows(NamedTuple):
    """The independent rows, sorted by level and then by number, before the ones not in use.

    order (k,)     row numbers, k = min(m, n)
    active (k,)    one for a row in use, zero for the others, which all stand at the end
    """

    order: Array
    active: Array


class Metric(NamedTuple):
    """M = LLᵀ: L as a matrix, or as the vector of its diagonal where M is known to be diagonal."""

    half: Array

    def forward(self, v: Array) -> Array:
        """Return L⁻¹ times a vector or the columns of a matrix."""
        return (v.T / self.half).T if self.half.ndim == 1 else lower_solve(self.half, v)

    def backward(self, v: Array) -> Array:
        """Return L⁻ᵀ v."""
        return v / self.half if self.half.ndim == 1 else upper_solve(self.half, v)

    def force(self, v: Array) -> Array:
        """Return L v."""
        return self.half * v if self.half.ndim == 1 else self.half @ v


class Reduced(NamedTuple):
    """The rows in use in that metric: Bᵀ = Q R, R regular."""

    metric: Metric
    Bt: Array
    Q: Array
    R: Array
    rows: ActiveRows

    def meet(self, f: Array, target: Array) -> Array:
        """Return the scaled force nearest to f with which the rows in use have their right sides."""
        miss = (target[self.rows.order] - f @ self.Bt) * self.rows.active
        return f + self.Q @ (self.rows.active * jsl.solve_triangular(self.R, miss, trans=1))

    def remove(self, f: Array) -> Array:
        """Return the part of a scaled force that does work on virtual displacements."""
        return f - self.Q @ (self.rows.active * (f @ self.Q))

    def multipliers(self, f: Array, count: int) -> Array:
        """Return λ (count,) with Bᵀλ the part of a scaled force in the span of the rows; zero for rows not in use."""
        lam = jsl.solve_triangular(self.R, self.rows.active * (f @ self.Q)) * self.rows.active
        return jnp.zeros(count).at[self.rows.order].set(lam)

    def reaction(self, f: Array, count: int) -> IdealReaction:
        """Return the reaction that laws depend on, for the ideal constraint force f in scaled form."""
        return IdealReaction(
            self.metric.force(f),
            self.multipliers(f, count),
            lambda force: self.multipliers(self.metric.forward(force), count),
        )


class ArrayProgram:
    """The motion of one system in array code.

    law_multipliers    the constraints whose multipliers laws use
    masses_differ      whether a constraint couples different masses, so that digits of light ones must be recovered
    """

    def __init__(
        self,
        terms: Callable[..., Terms],
        law: Callable[..., NonidealForces] | None,
        levels: tuple[str, ...],
        *,
        law_needs_ideal: bool,
        law_multipliers: tuple[int, ...] = (),
        diagonal_mass: bool = False,
        masses_differ: bool = True,
    ):
        self.terms = terms
        self.law = law
        self.levels = levels
        self.law_needs_ideal = law_needs_ideal
        self.law_multipliers = law_multipliers
        self.diagonal_mass = diagonal_mass
        self.masses_differ = masses_differ
        self.ranks = level_numbers(levels)

    def engine(self) -> Engine:
        """Return the functions that a solver calls."""
        corrections = self.correction("position", 0), self.correction("velocity", 1)
        # compiled, so that each is traced once for all places and programs that call it
        return Engine(*map(jax.jit, (self.select_rows, self.acceleration, *corrections)))

    def metric_of(self, M: Array) -> Metric:
        return Metric(jnp.sqrt(jnp.diagonal(M)) if self.diagonal_mass else jnp.linalg.cholesky(M))

    def reduce(self, metric: Metric, A: Array, rows: ActiveRows, up_to: int = 2) -> Reduced:
        active = rows.active * (jnp.asarray(self.ranks)[rows.order] <= up_to)
        Bt = metric.forward(A[rows.order].T)
        active = active * jnp.any(Bt != 0, axis=0)  # a row that was independent may vanish on the way
        # columns not in use are filled with random numbers: a singular R has no derivatives
        fill = np.random.default_rng(0).normal(size=Bt.shape)
        Q, R = jnp.linalg.qr(jnp.where(active > 0, Bt, fill))
        return Reduced(metric, Bt * active, Q, R, ActiveRows(rows.order, active))

    def search(self, B: Array) -> ActiveRows:
        """Return the independent rows, those of low levels first: a correction at one level uses a leading block."""
        keep = orthonormal_basis(B, priority=jnp.asarray(self.ranks)).keep
        order = jnp.argsort(jnp.where(keep, self.ranks, 3), stable=True)[: min(B.shape)]
        return ActiveRows(order, jnp.where(keep[order], 1.0, 0.0))

    def independent(self, B: Array) -> ActiveRows:
        # the search for pivots is sequential; one QR decomposition shows in most cases that there is nothing to search
        m, n = B.shape
        if m > n or m == 0:
            return self.search(B)
        everything = ActiveRows(jnp.argsort(self.ranks, stable=True), jnp.ones(m))
        diagonal = jnp.abs(jnp.diagonal(jnp.linalg.qr(B[everything.order].T, mode="r")))
        clear = jnp.all(diagonal > CLEARLY_INDEPENDENT * jnp.linalg.norm(B[everything.order], axis=1))
        return lax.cond(clear, lambda: everything, lambda: self.search(B))

    def select_rows(self, q: Array, qd: Array, t: Any, p: Any) -> RowSelection:
        at = self.terms(q, qd, t, p)
        metric = self.metric_of(at.M)
        B, f = metric.forward(at.A.T).T, metric.forward(at.Q)
        rows = self.independent(B)
        reduced = self.reduce(metric, at.A, rows)
        w = reduced.meet(f, at.b)
        used = jnp.zeros(len(at.b)).at[rows.order].set(rows.active) > 0
        # rounding is relative to the terms of B w, which may cancel
        scale = jnp.abs(at.b) + jnp.linalg.norm(B, axis=1) * (jnp.linalg.norm(w) + jnp.linalg.norm(f))
        positive = jnp.all(jnp.diagonal(at.M) > 0) if self.diagonal_mass else is_positive(at.M)
        positive &= jnp.all(jnp.isfinite(metric.half))
        valid = jnp.all(used | (agrees(at.b - B @ w, scale) & hold(at, q, qd, used))) & positive
        if self.law is not None and self.law_multipliers:
            _, normals, implicit = self.law(q, qd, t, p, reduced.reaction(w - f, len(at.b)))
            valid &= self.determined(reduced, B, used) & (True if normals is None else normals.solutions == 1)
            valid &= True if implicit is None else is_unique(implicit)
        return RowSelection(rows, jnp.sum(used), valid)

    def determined(self, reduced: Reduced, B: Array, used: Array) -> Array:
        """Return whether the multipliers in the laws are unique: those of rows in use that no other row depends on."""
        shares = jax.vmap(lambda row: reduced.multipliers(row, len(B)))(B)
        lengths = jnp.linalg.norm(B, axis=1)
        involved = ~are_determined(jnp.abs(shares) * lengths / jnp.where(lengths > 0, lengths, 1.0)[:, None])
        # a multiplier is not unique if a row left out is a combination in which its own row takes part
        wanted = np.array(self.law_multipliers)
        return jnp.all(used[wanted] & ~jnp.any(involved[:, wanted] & ~used[:, None], axis=0))

    def acceleration(self, q: Array, qd: Array, t: Any, p: Any, rows: ActiveRows, gains: Gains | None) -> Array:
        at = self.terms(q, qd, t, p)
        Q = at.Q
        if self.law is not None and not self.law_needs_ideal:
            # for a given C the motion is that of the ideal problem with C added to Q
            Q = Q + jnp.sum(self.law(q, qd, t, p, None).shares, axis=0)
        metric = self.metric_of(at.M)
        reduced = self.reduce(metric, at.A, rows)
        f = metric.forward(Q)
        target = stabilised(at, self.levels, gains)
        w = reduced.meet(f, target)
        if self.law is not None and self.law_needs_ideal:
            C = jnp.sum(self.law(q, qd, t, p, reduced.reaction(w - f, len(at.b))).shares, axis=0)
            w = w + reduced.remove(metric.forward(C))
            Q = Q + C
        return self.refined(reduced, at, w, Q, target) if self.masses_differ else metric.backward(w)

    def refined(self, reduced: Reduced, at: Terms, w: Array, Q: Array, target: Array) -> Array:
        """The acceleration of a scaled force w after one more solution, for the residual of the equations.

        The scaled force on a light coordinate, Q/√m, exceeds its scaled acceleration √m a by Q/(m a), and as many
        digits of the acceleration are lost. Those of the residual are not.
        """
        metric = reduced.metric
        a, multipliers = metric.backward(w), reduced.multipliers(w - metric.forward(Q), len(target))
        force = Q + at.A.T @ multipliers - at.M @ a
        return a + metric.backward(reduced.meet(metric.forward(force), target - at.A @ a))

    def correction(self, residual: str, up_to: int) -> Callable[..., Array]:
        """Return the function for the shortest change that removes the residuals of constraints up to some level."""

        def step(q: Array, qd: Array, t: Any, p: Any, rows: ActiveRows) -> Array:
            at = self.terms(q, qd, t, p)
            metric = self.metric_of(at.M)
            reduced = self.reduce(metric, at.A, rows, up_to)
            return metric.backward(reduced.meet(jnp.zeros_like(q), -getattr(at, residual)))

        return step


def hold(at: Terms, q: Array, qd: Array, used: Array) -> Array:
    """Return a mask of the constraints that are violated no more than those in use: see ``violation.violated``."""
    weights = jnp.abs(at.A)
    lengths = jnp.sum(weights, axis=1)
    fine = jnp.ones(len(used), bool)
    for residual, x in ((at.position, q), (at.velocity, qd)):
        # rows that are left out are not projected, and drift with those in use
        drift = jnp.sum(jnp.where(used, jnp.abs(residual) / jnp.where(lengths > 0, lengths, 1.0), 0.0))
        own = jnp.abs(residual - at.A @ x) + weights @ jnp.abs(x)
        # in the units of the coordinates as well, for constraints whose own terms are small
        least = LEAST_DISTANCE * weights @ units(at.M, q, x, jnp)
        fine &= jnp.abs(residual) <= START_TOLERANCE * own + least + DRIFT_FACTOR * lengths * drift
    return fine
