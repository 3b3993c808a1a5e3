# SPDX-License-Identifier: BSD-3-Clause
"""Internal dynamics: the motion that remains when all servo constraints are met, linearised about steady states."""

from __future__ import annotations

from time import process_time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.lowering.closed_loop import ClosedLoop
from dalembert.numerics.constraint_solver import root
from dalembert.numerics.linear_algebra import null_space, unit_rows
from dalembert.numerics.tolerances import SOLVED_RANK_TOLERANCE

SECONDS = 4.0
"""CPU seconds allowed for the search for steady states."""

MOST_STEADY = 4
"""Steady states after which the search ends."""

MATRIX_ERROR = 1e-12
"""Relative error of the matrix of internal motions: differentiation and the choice of a basis leave this much."""

SIGN_MARGIN = 10.0
"""Factor by which a real part must exceed the change of eigenvalues under such errors to have a sign: defective zero
eigenvalues, of coordinates that move freely, change by roots of the errors."""

INVARIANCE_TOLERANCE = 1e-6
"""Largest relative part of the rates of internal motions that leaves the requirements: near a singular position the
linearisation is not meaningful."""

MOST_STEPS_WITHOUT_PROGRESS = 6
"""Steps without progress after which a search is abandoned: programs of high relative degree are long."""

SAME_PLACE = 1e-6
"""Relative distance below which two steady states are the same."""


class Internal(NamedTuple):
    """Internal dynamics near a steady state.

    y (2n,)           the state
    eigenvalues (d,)  of the internal dynamics there, the fastest growing first
    neutral           size below which parts of eigenvalues are rounding
    """

    y: Floats
    eigenvalues: NDArray[np.complex128]
    neutral: float

    @property
    def unstable(self) -> bool:
        """Whether an eigenvalue has a positive real part."""
        return bool((self.eigenvalues.real > self.neutral).any())

    @property
    def decays(self) -> bool:
        """Whether all eigenvalues have negative real parts."""
        return bool((self.eigenvalues.real < -self.neutral).all())


def dimension(loop: ClosedLoop, y: Floats, t: float, p: Floats) -> int | None:
    """Return the dimension of the internal dynamics at a state near the given one that meets the requirements."""
    met = root(lambda y: loop.residuals(y, t, p), y, most_stalled=MOST_STEPS_WITHOUT_PROGRESS)
    across = loop.residuals(y if met is None else met.x, t, p)[1]
    return _tangent(across).shape[1] if np.isfinite(across).all() else None


def steady_states(loop: ClosedLoop, starts: list[Floats], t: float, p: Floats, *, moving_first: bool) -> list[Internal]:
    """Return steady states with the requirements met, found from starts y (2n,), and the internal dynamics there.

    They are equilibria or, if there are none, motions with constant velocities of cyclic coordinates; the latter are
    searched first if ``moving_first``.
    """
    found: list[Internal] = []
    # processor time, so that the answer does not depend on what else runs on the machine
    end = process_time() + SECONDS
    cyclic = _cyclic(loop, starts, t, p)
    kinds = [np.zeros_like(cyclic), *([cyclic] if cyclic.any() else [])]
    for moving in reversed(kinds) if moving_first else kinds:
        for start in starts:
            if process_time() > end or len(found) == MOST_STEADY:
                break
            y = _steady(loop, start, t, p, moving)
            # linearising is the expensive part, so that known states are recognised before it
            if y is None or any(_same(y, other.y) for other in found):
                continue
            internal = _linearised(loop, y, t, p)
            found += [] if internal is None else [internal]
        if found:
            break
    return found


def _same(a: Floats, b: Floats) -> bool:
    return bool((np.abs(a - b) <= SAME_PLACE * (1 + np.abs(a))).all())


def _cyclic(loop: ClosedLoop, starts: list[Floats], t: float, p: Floats) -> NDArray[np.bool_]:
    """Return a mask (n,) of the coordinates on which nothing depends, so that they may change steadily."""
    # two states, since a derivative may vanish at one of them by accident
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

    found = root(equations, start[unknown], most_stalled=MOST_STEPS_WITHOUT_PROGRESS)
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
    # the derivative of (q̇, q̈) along the tangent directions
    rates = np.vstack([np.eye(2 * n)[n:], near.slopes]) @ tangent
    matrix = tangent.T @ rates
    # motions that meet the requirements keep meeting them: rates that leave the tangent show a singular position
    if np.linalg.norm(rates - tangent @ matrix) > INVARIANCE_TOLERANCE * (1 + np.linalg.norm(rates)):
        return None
    values: NDArray[np.complex128] = np.asarray(np.linalg.eigvals(matrix), complex)
    return Internal(
        y, values[np.lexsort((-np.imag(values), -np.real(values)))], SIGN_MARGIN * _uncertainty(matrix, values)
    )


def _uncertainty(matrix: Floats, values: NDArray[np.complex128]) -> float:
    """Return the largest change of an eigenvalue under random errors of a matrix."""
    rng, size = np.random.default_rng(7), MATRIX_ERROR * np.abs(matrix).max(initial=0.0)
    # tried rather than bounded: a bound by condition numbers is infinite for defective eigenvalues
    changed = [np.linalg.eigvals(matrix + size * rng.choice((-1.0, 1.0), matrix.shape)) for _ in range(3)]
    return max((float(np.abs(values[:, None] - other).min(axis=1).max(initial=0.0)) for other in changed), default=0.0)
