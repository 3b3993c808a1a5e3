# SPDX-License-Identifier: BSD-3-Clause
"""The largest margin with which free parameters satisfy linear conditions, and the nonnegative vector of least norm."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.numerics.tolerances import TINY

MOST_VERTICES = 120
"""Number of vertices up to which a linear program is solved by enumeration, which is exact to rounding."""

SAME_MARGIN = 1e-12
"""Difference of the margins of two vertices that is rounding: the mean of these is taken."""

EFFECTIVE = 1e-12
"""Effect of a combination of parameters, relative to the largest one, that is rounding."""

FEASIBLE = 1e-12
"""Residual of the dual of a least-distance problem, below which no vector satisfies the inequalities."""


def largest_margin(a: Floats, slopes: Floats) -> tuple[Floats, Floats]:
    """Return the largest m (T,) ≤ 1 with a + slopes·z ≥ m in all of the conditions (T, k), and its z (T, d)."""
    if slopes.shape[2] == 1:
        return _on_a_line(a, slopes[:, :, 0])
    if has_few_vertices(a.shape[1], slopes.shape[2]):
        # combinations of parameters without effect have no vertices
        _, sizes, rows = np.linalg.svd(slopes, full_matrices=False)
        kept = int((sizes > EFFECTIVE * sizes.max(axis=1, keepdims=True, initial=TINY)).sum(axis=1).max())
        basis = rows[:, : max(kept, 1)].swapaxes(1, 2)
        reduced = slopes @ basis
        margin, z = _on_a_line(a, reduced[:, :, 0]) if kept <= 1 else _by_enumeration(a, reduced)
        return margin, np.einsum("tdr,tr->td", basis, z)
    from scipy.optimize import linprog

    count, (k, d) = len(a), slopes.shape[1:]
    margin, z = np.empty(count), np.empty((count, d))
    for i in range(count):
        rows = np.concatenate([-slopes[i], np.ones((k, 1))], axis=1)
        limits = [(None, None)] * d + [(None, 1.0)]
        found = linprog(np.append(np.zeros(d), -1.0), A_ub=rows, b_ub=a[i], bounds=limits)
        assert found.x is not None  # z = 0 with a small m satisfies every condition, and m is bounded
        z[i], margin[i] = found.x[:-1], found.x[-1]
    return margin, z


def has_few_vertices(conditions: int, free: int) -> bool:
    """Return whether linear conditions on free parameters are solved by trial of all vertices."""
    return free == 1 or comb(conditions + 1, free + 1) <= MOST_VERTICES


def _on_a_line(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return the same for one z: the least of several lines is largest where two of them meet."""
    # one more line, m = 1, bounds the margin
    a, b = (np.append(x, np.full((len(x), 1), end), axis=1) for x, end in ((a, 1.0), (b, 0.0)))
    first, second = np.triu_indices(a.shape[1], 1)
    slope = b[:, first] - b[:, second]
    meet = np.where(slope != 0, a[:, second] - a[:, first], 0.0) / np.where(slope != 0, slope, 1.0)
    # also z = 0, for conditions that are all parallel
    meet = np.append(meet, np.zeros((len(a), 1)), axis=1)
    least = np.min(a[:, None] + b[:, None] * meet[:, :, None], axis=2)
    best = np.argmax(least, axis=1)
    here = np.arange(len(a))
    return least[here, best], meet[here, best][:, None]


def _by_enumeration(a: Floats, slopes: Floats) -> tuple[Floats, Floats]:
    """Return the same by trial of all vertices, at which as many conditions as there are unknowns are equalities.

    Of several best vertices the mean is returned, in which no condition has less margin than it needs to have.
    """
    count, d = len(a), slopes.shape[2]
    a = np.append(a, np.ones((count, 1)), axis=1)
    slopes = np.append(slopes, np.zeros((count, 1, d)), axis=1)
    chosen = np.array(list(combinations(range(a.shape[1]), d + 1)))
    level = np.append(-slopes, np.ones((*a.shape, 1)), axis=2)
    # least squares: some of the sets of conditions have no vertex, and any z is allowed as a trial
    inverse = np.linalg.pinv(level[:, chosen])
    z = np.einsum("tvij,tvj->tvi", inverse, a[:, chosen])[:, :, :d]
    least = np.min(a[:, None] + np.einsum("tkd,tvd->tvk", slopes, z), axis=2)
    margin = least.max(axis=1)
    best = least >= (margin - SAME_MARGIN * (1 + np.abs(margin)))[:, None]
    mean = np.sum(best[:, :, None] * z, axis=1) / best.sum(axis=1)[:, None]
    return np.min(a + np.einsum("tkd,td->tk", slopes, mean), axis=1), mean


def least_norm(x: Floats, basis: Floats) -> Floats | None:
    """Return w (d,) of the shortest x + basis·w ≥ 0, or None if there is none.

    The columns of the basis are orthonormal, and orthogonal to x (k,): then w is the shortest one too, a least-distance
    problem, which a nonnegative least-squares problem solves.

    References
    ----------
    Lawson & Hanson (1974), Solving Least Squares Problems, chapter 23.
    """
    from scipy.optimize import nnls

    scale = np.abs(x).max(initial=0.0)
    if scale == 0.0:
        return np.zeros(basis.shape[1])
    E = np.vstack([basis.T, -x / scale])
    f = np.append(np.zeros(basis.shape[1]), 1.0)
    residual = E @ nnls(E, f)[0] - f
    if not residual[-1] < -FEASIBLE:
        return None
    return scale * -residual[:-1] / residual[-1]
