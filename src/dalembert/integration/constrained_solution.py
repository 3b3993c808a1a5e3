# SPDX-License-Identifier: BSD-3-Clause
"""The solution of M x = f + Aᵀλ, A x = r for the terms and the factors of a large system at one state.

If M is not positive definite, inertia has been added to its factors, and the equations are solved by generalised
minimal residuals among the motions that A allows: each iteration is one solution with these factors. M may be
indefinite there, but not singular. Reference: N. Gould, D. Orban, T. Rees, Projected Krylov methods for saddle-point
systems, SIAM J. Matrix Anal. Appl. 35, 2014.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.native.sparse_system import SparseSystem
from dalembert.numerics.tolerances import MASSLESS, ROUNDING

MOST_COMBINED = 60
"""Most directions that are combined; about ten are usual. Further ones begin anew with what is left."""

MOST_PASSES = 8
"""Most passes, of which each solves for what the one before has left; two are usual."""

CHECKED_DIRECTIONS = 5
"""Number of directions after which it is checked whether they suffice."""

SMALL_REMAINDER = 1e-3
"""A direction is corrected if less than this is left of it beside the others: it then has three digits less."""

MISSING_SHARE = 1e-8
"""A pass ends when this part of its right side is left: the next one begins with fewer rounding errors."""


class Constrained(NamedTuple):
    """x (n,) and λ (m,), with zeros for the rows left out.

    ``massless`` (n,) is a motion that the constraints allow and that has no inertia, if one was met: x is then not
    determined.
    """

    x: Floats
    multipliers: Floats
    massless: Floats | None = None


def constrained(code: SparseSystem, force: Floats, right: Floats) -> Constrained:
    """Return x and λ, refined, because squares of A have half the digits."""
    if code.has_added_inertia:
        return _by_passes(code, force, right)
    a = code.mass.solve(force)
    lam, x = code.correction(right - code.A @ a)
    more, change = code.correction(right - code.A @ (a + x))
    return Constrained(a + x + change, lam + more)


def _by_passes(code: SparseSystem, force: Floats, right: Floats) -> Constrained:
    """Return x and λ of a system with inertia that was added, refined as long as that helps."""
    found, massless = (np.zeros(code.n), np.zeros(code.m)), None
    f, r, left = force, right, np.inf
    for number in range(MOST_PASSES):
        x, lam, along = _pass(code, f, r)
        new = found[0] + x, found[1] + lam
        f = force + code.A_transposed @ new[1] - code.mass.times(new[0])
        r = right - code.A @ new[0]
        remains = float(np.abs(f).max(initial=0.0) + np.abs(r).max(initial=0.0))
        # a pass that does not halve the remainder has reached rounding, and its result is dropped
        if number and not remains < left / 2:
            break
        # later passes solve for rounding errors, whose directions mean nothing
        found, left, massless = new, remains, massless if number else along
        if not remains:
            break
    return Constrained(*found, massless)


def _pass(code: SparseSystem, force: Floats, right: Floats) -> Constrained:
    x, _ = _in_metric(code, force, right)
    # what is left of f + Aᵀλ − M x
    change, massless = _minimal_residual(code, code.added_inertia * x, x)
    x = x + change
    return Constrained(x, _in_metric(code, force - code.mass.times(x), np.zeros(code.m))[1], massless)


def _minimal_residual(code: SparseSystem, g: Floats, x: Floats) -> tuple[Floats, Floats | None]:
    """Return the z with A z = 0 whose M z is nearest to g, up to Aᵀν, and a motion without inertia if one was met.

    ``basis`` are motions of unit kinetic energy in the metric, ``momenta`` these times the metric, and H is M between
    them. The error is relative to x.
    """
    z, w = _allowed(code, g)
    size = _root(z @ w)
    # what is left is the rounding of x itself
    if not size > ROUNDING / 10 * _root(x @ code.metric_times(x)):
        return np.zeros(code.n), None
    basis, momenta = (np.zeros((MOST_COMBINED + 1, code.n)) for _ in range(2))
    basis[0], momenta[0] = z / size, w / size
    y, H = np.zeros(1), np.zeros((MOST_COMBINED + 1, MOST_COMBINED))
    for k in range(MOST_COMBINED):
        z, w = _allowed(code, code.mass.times(basis[k]))
        # twice, because one pass of this method leaves rounding errors that grow
        for _ in range(2):
            shares = momenta[: k + 1] @ z
            H[: k + 1, k] += shares
            z, w = z - shares @ basis[: k + 1], w - shares @ momenta[: k + 1]
        z, w, is_rounding = _corrected(code, z, w, np.abs(H).max())
        H[k + 1, k] = _root(z @ w)
        is_last = is_rounding or H[k + 1, k] <= MASSLESS * np.abs(H).max() or k + 1 == MOST_COMBINED
        if not is_last:
            basis[k + 1], momenta[k + 1] = z / H[k + 1, k], w / H[k + 1, k]
        # the decomposition takes longer than a few further directions
        if (k + 1) % CHECKED_DIRECTIONS and not is_last:
            continue
        left, values, right = np.linalg.svd(H[: k + 2, : k + 1], full_matrices=False)
        # H has the singular values of M on these motions: a vanishing one belongs to a motion without inertia
        if values[-1] <= MASSLESS * values[0]:
            return np.zeros(code.n), right[-1] @ basis[: k + 1]
        y = size * (left[0] / values) @ right
        missing = np.linalg.norm(H[: k + 2, : k + 1] @ y - size * np.eye(k + 2)[0])
        if missing <= MISSING_SHARE * size or is_last:
            break
    return y @ basis[: len(y)], None


def _allowed(code: SparseSystem, force: Floats) -> tuple[Floats, Floats]:
    """Return the allowed motion (n,) that a force causes in the metric, and its momentum."""
    z, multipliers = _in_metric(code, force, np.zeros(code.m))
    return z, force + code.A_transposed @ multipliers


def _corrected(code: SparseSystem, z: Floats, w: Floats, largest: float) -> tuple[Floats, Floats, bool]:
    """Return a remainder of directions without its part that A does not allow, and whether it was rounding.

    Rounding means that there are no further directions. As a direction it would seem to have no inertia.
    """
    size = _root(z @ w)
    if size > SMALL_REMAINDER * largest:
        return z, w, False
    z = z + code.correction(-(code.A @ z))[1]
    w = code.metric_times(z)
    return z, w, not _root(z @ w) > size / 2


def _in_metric(code: SparseSystem, force: Floats, right: Floats) -> tuple[Floats, Floats]:
    """Return x and λ of the system with the inertia that was added."""
    a = code.mass.solve(force)
    lam, change = code.correction(right - code.A @ a)
    return a + change, lam


def _root(square: Any) -> float:
    return float(np.sqrt(max(square, 0.0)))
