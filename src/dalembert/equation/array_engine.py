# SPDX-License-Identifier: BSD-3-Clause
"""The hot functions in array code: LAPACK's Cholesky and QR, for systems too large to write out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
import numpy as np
from jax import Array

from dalembert.equation.decomposition import orthonormal_basis
from dalembert.equation.dynamics import Engine, Gains, Terms, Watch, agrees, stabilised
from dalembert.equation.formulation import lower_solve, upper_solve


class Selection(NamedTuple):
    """The independent rows, sorted by level and then by number, before the ones not in use.

    order (k,)     row numbers, k = min(m, n)
    active (k,)    one for a row in use, zero for the others, which all stand at the end
    """

    order: Array
    active: Array


class Reduced(NamedTuple):
    """M = LLᵀ and the rows in use: Bᵀ = Q R, R regular."""

    half: Array
    Bt: Array
    Q: Array
    R: Array
    rows: Selection

    def meet(self, f: Array, target: Array) -> Array:
        """The scaled force nearest to f that gives the rows in use their target."""
        miss = (target[self.rows.order] - f @ self.Bt) * self.rows.active
        return f + self.Q @ jsl.solve_triangular(self.R, miss, trans=1)

    def remove(self, f: Array) -> Array:
        """The part of a scaled force that does work on virtual displacements."""
        return f - self.Q @ (self.rows.active * (f @ self.Q))


def array_engine(
    terms: Callable[..., Terms], law: Callable[..., Array] | None, levels: tuple[str, ...], *, law_needs_ideal: bool
) -> Engine:
    """The hot functions from array terms."""
    ranks = np.array([("position", "velocity", "acceleration").index(level) for level in levels], int)

    def reduce(M: Array, A: Array, rows: Selection, up_to: int = 2) -> Reduced:
        half = jnp.linalg.cholesky(M)
        active = rows.active * (jnp.asarray(ranks)[rows.order] <= up_to)
        Bt = lower_solve(half, A[rows.order].T) * active
        Q, R = jnp.linalg.qr(Bt)
        return Reduced(half, Bt, Q, R + jnp.diag(1.0 - active), Selection(rows.order, active))

    def watch(q: Array, qd: Array, t: Any, p: Any) -> Watch:
        at = terms(q, qd, t, p)
        half = jnp.linalg.cholesky(at.M)
        B, f = lower_solve(half, at.A.T).T, lower_solve(half, at.Q)
        keep = orthonormal_basis(B, priority=jnp.asarray(ranks)).keep
        # Kept rows first, low levels before high ones, so that a correction at one level uses a leading block.
        order = jnp.argsort(jnp.where(keep, ranks, 3), stable=True)[: min(at.A.shape)]
        rows = Selection(order, jnp.where(keep[order], 1.0, 0.0))
        w = reduce(at.M, at.A, rows).meet(f, at.b)
        scale = jnp.abs(at.b) + jnp.linalg.norm(B, axis=1) * (jnp.linalg.norm(w) + jnp.linalg.norm(f))
        sound = jnp.all(keep | agrees(at.b - B @ w, scale)) & jnp.all(jnp.isfinite(half))
        return Watch(rows, jnp.sum(keep), sound)

    def acceleration(q: Array, qd: Array, t: Any, p: Any, rows: Selection, gains: Gains | None) -> Array:
        at = terms(q, qd, t, p)
        Q = at.Q
        if law is not None and not law_needs_ideal:
            Q = Q + law(q, qd, t, p, None)  # for a given C the motion is that of the ideal problem with C added to Q
        reduced = reduce(at.M, at.A, rows)
        f = lower_solve(reduced.half, Q)
        w = reduced.meet(f, stabilised(at, levels, gains))
        if law is not None and law_needs_ideal:
            C = law(q, qd, t, p, reduced.half @ (w - f))
            w = w + reduced.remove(lower_solve(reduced.half, C))
        return upper_solve(reduced.half, w)

    def step(residual: str, up_to: int) -> Callable[..., Array]:
        def correction(q: Array, qd: Array, t: Any, p: Any, rows: Selection) -> Array:
            at = terms(q, qd, t, p)
            reduced = reduce(at.M, at.A, rows, up_to)
            return upper_solve(reduced.half, reduced.meet(jnp.zeros_like(q), -getattr(at, residual)))

        return correction

    def one(q: tuple[Array, ...], qd: tuple[Array, ...], t: Array, p: tuple[Array, ...]) -> tuple[Array, ...]:
        q_, qd_ = jnp.stack(q), jnp.stack(qd)
        return tuple(acceleration(q_, qd_, t, p, watch(q_, qd_, t, p).rows, None))

    def columns(q: tuple[Any, ...], qd: tuple[Any, ...], t: Any, p: tuple[Any, ...]) -> tuple[Array, ...]:
        shape = jnp.broadcast_shapes(*(jnp.shape(x) for x in (*q, *qd, t, *p)))
        flat = [jnp.broadcast_to(jnp.asarray(x, float), shape).ravel() for x in (*q, *qd, t, *p)]
        n = len(q)
        batch = jax.vmap(one)(tuple(flat[:n]), tuple(flat[n : 2 * n]), flat[2 * n], tuple(flat[2 * n + 1 :]))
        return tuple(jnp.reshape(x, shape) for x in batch)

    return Engine(watch, acceleration, step("position", 0), step("velocity", 1), columns)
