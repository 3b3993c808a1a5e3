# SPDX-License-Identifier: BSD-3-Clause
"""Starts of ensemble members, moved onto the constraints in bulk."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.common.levels import LEVELS
from dalembert.ensembles.members import Members
from dalembert.ensembles.projected_starts import MEMBERS_AT_ONCE, terms_of_members
from dalembert.equation.dynamics import Dynamics
from dalembert.numerics.tolerances import EXACT, ROUNDING, SOLVED_RANK_TOLERANCE

MOST_GAUSS_NEWTON_STEPS = 50
"""Largest number of Gauss–Newton steps towards the constraints."""


def consistent_starts(dynamics: Dynamics, members: Members, t0: float) -> tuple[Members, str]:
    """Return members whose starts satisfy the constraints, and a note on the changes; empty if there are none.

    Positions are moved by the shortest Gauss–Newton steps, each coordinate in units of the root of its mass, then
    velocities. A start from which they do not converge stays, and its member fails with a reason.
    """
    if not dynamics.constraints:
        return members, ""
    before = np.ascontiguousarray(members.y.T)
    y = before.copy()
    for first in range(0, len(y), MEMBERS_AT_ONCE):
        own = slice(first, first + MEMBERS_AT_ONCE)
        y[own] = _corrected(dynamics, y[own], np.ascontiguousarray(members.p[:, own].T), t0)
    moved = np.abs(y - before)
    sizes = np.concatenate([_sizes(part) for part in np.split(y, 2, axis=1)], axis=1)
    count = int((moved > EXACT * sizes).any(axis=1).sum())
    if not count:
        return members, ""
    names = (*dynamics.coordinates, *(f"{name}'" for name in dynamics.coordinates))
    largest = np.nan_to_num(moved).max(axis=0)
    k = int(np.argmax(largest))
    note = (
        f"The initial states of {count} of {len(members)} members were moved onto the constraints, by up to "
        f"{largest[k]:.1e} in `{names[k]}`."
    )
    return Members.at_states(np.ascontiguousarray(y.T), members.p), note


def _corrected(dynamics: Dynamics, y: Floats, p: Floats, t0: float) -> Floats:
    """Return states (N, 2n) on the constraints: positions first, then velocities; others where this fails."""
    n, levels = y.shape[1] // 2, np.array([LEVELS.index(level) for level in dynamics.levels])
    found = y.copy()
    for part, rows in ((slice(0, n), np.flatnonzero(levels == 0)), (slice(n, None), np.flatnonzero(levels <= 1))):
        waiting = np.flatnonzero(np.isfinite(y).all(axis=1) & np.isfinite(p).all(axis=1))
        for _ in range(MOST_GAUSS_NEWTON_STEPS if len(rows) else 0):
            step = _step(dynamics, found[waiting], p[waiting], t0, rows, "velocity" if part.start else "position")
            found[waiting, part] -= np.where(np.isfinite(step), step, 0.0)
            far = (np.abs(step) > EXACT * _sizes(found[waiting, part])).any(axis=1)
            waiting = waiting[far]
            if not len(waiting):
                break
        found[waiting] = y[waiting]  # not converged
    return found


def _sizes(x: Floats) -> Floats:
    """Return the sizes (N, n) relative to which changes of states count: one, or less if all of a state is smaller."""
    largest = np.abs(x).max(axis=1, keepdims=True)
    return np.maximum(np.abs(x), np.where(largest > ROUNDING, np.minimum(largest, 1.0), 1.0))


def _step(dynamics: Dynamics, y: Floats, p: Floats, t0: float, rows: NDArray[np.intp], level: str) -> Floats:
    """Return the shortest step (N, n) that removes the residuals of some rows at a level, to first order."""
    terms = terms_of_members(dynamics, y, p, t0)
    masses = np.einsum("kii->ki", terms.M)
    units = 1 / np.sqrt(np.where(masses > 0, masses, 1.0))
    A = terms.A[:, rows] * units[:, None]
    usable = np.isfinite(A).all(axis=(1, 2))
    inverse = np.linalg.pinv(np.where(usable[:, None, None], A, 0.0), rcond=SOLVED_RANK_TOLERANCE)
    return units * np.einsum("knm,km->kn", inverse, getattr(terms, level)[:, rows])
