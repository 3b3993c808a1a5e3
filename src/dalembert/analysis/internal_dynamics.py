# SPDX-License-Identifier: BSD-3-Clause
"""Internal dynamics: the motion that remains when all servo constraints are met, linearised about steady states."""

from __future__ import annotations

from time import process_time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dalembert.array_types import Floats
from dalembert.constraint_solver import root
from dalembert.linear_algebra import null_space, unit_rows
from dalembert.lowering.closed_loop import ClosedLoop
from dalembert.tolerances import SOLVED_RANK_TOLERANCE

SECONDS = 4.0
"""CPU seconds allowed for the search for steady states."""

MOST_STEADY = 4
"""Steady states after which the search ends."""

GROWTH = 1e-6
"""Real part of an eigenvalue, relative to the largest one, above which it grows: a defective pair of zero eigenvalues
has real parts of the root of the rounding."""

INVARIANT = 1e-6
"""Largest relative part of the rates of internal motions that leaves the requirements: near a singular position the
linearisation is not meaningful."""

STEADY_PATIENCE = 6
"""Steps without progress after which a search is abandoned: programs of high relative degree are long."""

SAME_PLACE = 1e-6
"""Relative distance below which two steady states are the same."""


class Internal(NamedTuple):
    """Internal dynamics near a steady state.

    y (2n,)           the state
    eigenvalues (d,)  of the internal dynamics there, the fastest growing first
    """

    y: Floats
    eigenvalues: NDArray[np.complex128]

    @property
    def growing(self) -> NDArray[np.complex128]:
        """The eigenvalues with a positive real part."""
        return self.eigenvalues[self.eigenvalues.real > self._neutral]

    @property
    def decays(self) -> bool:
        """Whether all eigenvalues have negative real parts."""
        return bool((self.eigenvalues.real < -self._neutral).all())

    @property
    def _neutral(self) -> float:
        return GROWTH * float(np.abs(self.eigenvalues).max(initial=0.0))


def dimension(loop: ClosedLoop, y: Floats, t: float, p: Floats) -> int | None:
    """Return the dimension of the internal dynamics at a state near the given one that meets the requirements."""
    met = root(lambda y: loop.residuals(y, t, p), y, patience=STEADY_PATIENCE)
    across = loop.residuals(y if met is None else met.x, t, p)[1]
    return _tangent(across).shape[1] if np.isfinite(across).all() else None


def steady_states(loop: ClosedLoop, starts: list[Floats], t: float, p: Floats) -> list[Internal]:
    """Return steady states with the requirements met, found from starts y (2n,), and the internal dynamics there.

    Equilibria are searched first; if there are none, motions with constant velocities of cyclic coordinates.
    """
    found: list[Internal] = []
    end = process_time() + SECONDS
    cyclic = _cyclic(loop, starts, t, p)
    for moving in (np.zeros_like(cyclic), cyclic):
        for start in starts:
            if process_time() > end or len(found) == MOST_STEADY:
                break
            y = _steady(loop, start, t, p, moving)
            if y is None or any(_same(y, other.y) for other in found):
                continue
            internal = _linearised(loop, y, t, p)
            found += [] if internal is None else [internal]
        if found or not cyclic.any():
            break
    return found


def _same(a: Floats, b: Floats) -> bool:
    return bool((np.abs(a - b) <= SAME_PLACE * (1 + np.abs(a))).all())


def _cyclic(loop: ClosedLoop, starts: list[Floats], t: float, p: Floats) -> NDArray[np.bool_]:
    """Return a mask (n,) of the coordinates on which nothing depends, so that they may change steadily."""
    found = [loop.near(y, t, p) for y in starts[:2]]
    n = len(starts[0]) // 2
    return np.all([(np.vstack([near.across, near.slopes])[:, :n] == 0).all(axis=0) for near in found], axis=0)


def _steady(loop: ClosedLoop, start: Floats, t: float, p: Floats, moving: NDArray[np.bool_]) -> Floats | None:
    """Return a state with constant velocities, zero unless ``moving`` (n,), at which all requirements are met."""
    unknown = np.concatenate([np.full(len(moving), True), moving])

    def state(x: Floats) -> Floats:
        y = np.zeros(len(start))
        y[unknown] = x
        return y

    def equations(x: Floats) -> tuple[Floats, Floats]:
        near = loop.near(state(x), t, p)
        slopes = np.vstack([near.across, near.slopes])
        return np.concatenate([near.residuals, near.acceleration]), slopes[:, unknown]

    found = root(equations, start[unknown], patience=STEADY_PATIENCE)
    return None if found is None else state(found.x)


def _tangent(across: Floats) -> Floats:
    """Return a basis (2n, d) of the directions along which all residuals remain zero."""
    rows = across[np.abs(across).max(axis=1, initial=0.0) > 0]
    if not len(rows):
        return np.eye(across.shape[1])
    return null_space(unit_rows(rows)[0], SOLVED_RANK_TOLERANCE).T


def _linearised(loop: ClosedLoop, y: Floats, t: float, p: Floats) -> Internal | None:
    """Return the internal dynamics near a steady state; None if it is singular there."""
    near, n = loop.near(y, t, p), len(y) // 2
    if not np.isfinite(near.across).all() or not np.isfinite(near.slopes).all():
        return None
    tangent = _tangent(near.across)
    rates = np.vstack([np.eye(2 * n)[n:], near.slopes]) @ tangent
    matrix = tangent.T @ rates
    if np.linalg.norm(rates - tangent @ matrix) > INVARIANT * (1 + np.linalg.norm(rates)):
        return None
    values: NDArray[np.complex128] = np.asarray(np.linalg.eigvals(matrix), complex)
    return Internal(y, values[np.lexsort((-np.imag(values), -np.real(values)))])
