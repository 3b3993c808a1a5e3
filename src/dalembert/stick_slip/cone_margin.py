# SPDX-License-Identifier: BSD-3-Clause
"""The largest margin by which friction forces that are vectors stay within their limits, at many times at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats

SHARPENING = 20.0
"""Factor by which the weight of the margin grows when the barrier is minimal."""

MAX_NEWTON_STEPS = 400
"""Largest number of Newton steps in all."""

CENTRED = 1e-3
"""Square of the Newton decrement at which the minimum of the barrier is found."""

ROUNDED_GAP = 1e-14
"""Distance of a margin from the largest one that is rounding."""

LEAST_NEWTON_PART = 1e-10
"""Part of a Newton step below which no shorter one is tried."""

BARRIER_ROUNDING = 1e-12
"""Increase of the barrier, relative to it, that is rounding."""


class Cones(NamedTuple):
    """The conditions p + P z ≥ m and |f + F z| ≤ s + S z − m on z (d,), at T times.

    p (T, i), s (T, k), f (T, k, c), with slopes P (T, i, d), S (T, k, d), F (T, k, c, d).
    """

    p: Floats
    P: Floats
    s: Floats
    S: Floats
    f: Floats
    F: Floats

    def margin(self, z: Floats) -> Floats:
        """Return the largest m (T,) that some z (T, d) allow."""
        pressing, limit, force = self.values(z)
        found = np.concatenate([pressing, limit - np.linalg.norm(force, axis=2)], axis=1)
        return np.minimum(found.min(axis=1), 1.0)

    def values(self, z: Floats) -> tuple[Floats, Floats, Floats]:
        pressing = self.p + np.einsum("tid,td->ti", self.P, z)
        limit = self.s + np.einsum("tkd,td->tk", self.S, z)
        return pressing, limit, self.f + np.einsum("tkcd,td->tkc", self.F, z)

    def some(self, places: NDArray[np.bool_]) -> Cones:
        return Cones(*(x[places] for x in self))


def largest_cone_margin(cones: Cones, start: Floats) -> tuple[Floats, Floats]:
    """Return a positive margin (T,) ≤ 1 and its z (T, d), or an upper bound of it where none is positive.

    The maximum of m under the conditions is found by Newton's method on −w m less the logarithms of the distances from
    them, with a growing weight w: at its minimum the margin is less than the largest one by at most ν/w.

    References
    ----------
    Boyd & Vandenberghe (2004), Convex Optimization, section 11.
    """
    z = start.copy()
    margin = cones.margin(z)
    left = np.flatnonzero(margin <= 0)
    count = 1 + cones.p.shape[1] + 2 * cones.s.shape[1]
    own, x = cones, np.zeros((0, 0))
    if len(left):
        own = cones.some(margin <= 0)
        # m begins below the margin, where all logarithms are defined
        x = np.concatenate([z[left], (margin[left] - 1.0 - np.abs(margin[left]))[:, None]], axis=1)
    weight = np.ones(len(left))
    for _ in range(MAX_NEWTON_STEPS):
        if not len(left):
            break
        x, decrement = _newton_step(own, x, weight)
        found = own.margin(x[:, :-1])
        better = found > margin[left]
        margin[left[better]], z[left[better]] = found[better], x[better, :-1]
        centred = decrement <= CENTRED
        bound = np.where(centred, x[:, -1] + 2 * count / weight, np.inf)
        done = (found > 0) | (bound < 0) | (centred & (count / weight <= ROUNDED_GAP))
        margin[left[bound < 0]] = bound[bound < 0]
        weight = np.where(centred, SHARPENING * weight, weight)
        left, x, weight, own = left[~done], x[~done], weight[~done], own.some(~done)
    return margin, z


def _newton_step(cones: Cones, x: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Return x (T, d + 1) after one Newton step, shortened to stay inside, and the square of its decrement."""
    gradient, hessian = _derivatives(cones, x, weight)
    # scaled, since the curvature differs by many orders of magnitude
    unit = 1 / np.sqrt(np.maximum(np.einsum("tii->ti", hessian), np.finfo(float).tiny))
    scaled = hessian * unit[:, :, None] * unit[:, None, :]
    step = -unit * np.einsum("tij,tj->ti", np.linalg.pinv(scaled, hermitian=True), unit * gradient)
    decrement = -np.einsum("ti,ti->t", gradient, step)
    length, before = np.ones(len(x)), _barrier(cones, x, weight)
    while True:
        after = _barrier(cones, x + length[:, None] * step, weight)
        # rounding of the barrier must not shorten the last steps
        worse = ~(after <= before + BARRIER_ROUNDING * np.abs(before)) & (length > LEAST_NEWTON_PART)
        if not worse.any():
            break
        length = np.where(worse, length / 2, length)
    return x + np.where(np.isfinite(after), length, 0.0)[:, None] * step, decrement


def _barrier(cones: Cones, x: Floats, weight: Floats) -> Floats:
    pressing, limit, force = cones.values(x[:, :-1])
    m = x[:, -1:]
    inside = limit - m
    distances = np.concatenate(
        [1 - m, pressing - m, inside - np.linalg.norm(force, axis=2), inside + np.linalg.norm(force, axis=2)], axis=1
    )
    logs = np.log(np.where(distances > 0, distances, 1.0)).sum(axis=1)
    return np.where((distances > 0).all(axis=1), -weight * x[:, -1] - logs, np.inf)


def _derivatives(cones: Cones, x: Floats, weight: Floats) -> tuple[Floats, Floats]:
    pressing, limit, force = cones.values(x[:, :-1])
    m, (count, size) = x[:, -1:], x.shape
    rows = np.concatenate([cones.P, -np.ones((*cones.p.shape, 1))], axis=2)
    last = np.broadcast_to(-np.eye(size)[-1], (count, 1, size))
    rows, distance = np.concatenate([rows, last], axis=1), np.concatenate([pressing - m, 1 - m], axis=1)
    slope = rows / distance[:, :, None]
    gradient = -slope.sum(axis=1)
    gradient[:, -1] -= weight
    hessian = np.einsum("tia,tib->tab", slope, slope)
    inside = limit - m
    own = np.concatenate([cones.S, -np.ones((*cones.s.shape, 1))], axis=2)
    along = np.concatenate([cones.F, np.zeros((*cones.f.shape, 1))], axis=3)
    # as a product: the difference of squares would lose the digits of a small distance
    square = (inside - np.linalg.norm(force, axis=2)) * (inside + np.linalg.norm(force, axis=2))
    change = 2 * inside[:, :, None] * own - 2 * np.einsum("tkc,tkca->tka", force, along)
    change = change / square[:, :, None]
    gradient -= change.sum(axis=1)
    hessian += np.einsum("tka,tkb->tab", change, change)
    hessian -= 2 * np.einsum("tk,tka,tkb->tab", 1 / square, own, own)
    hessian += 2 * np.einsum("tk,tkca,tkcb->tab", 1 / square, along, along)
    return gradient, hessian
