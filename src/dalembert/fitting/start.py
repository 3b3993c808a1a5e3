# SPDX-License-Identifier: BSD-3-Clause
"""Starts that are to be found: as many numbers as a state on the constraints has freedom."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.equation.dynamics import Dynamics, Terms
from dalembert.integration.start import terms_at

Floats = NDArray[np.float64]

RANK = 1e-9
"""Singular values below this part of the largest one count as zero."""


_LEVELS = {"position": ("position",), "velocity": ("position", "velocity")}
"""Constraints of which levels ask for something at a level."""


def on_constraints(dynamics: Dynamics, q: Any, qd: Any, t: float, p: Any) -> tuple[Floats, Floats]:
    """A state near by that satisfies the constraints, positions before velocities; exact ones stay as they are."""
    q = _solved(dynamics, "position", q, lambda x: terms_at(dynamics, x, qd, t, p))
    return q, _solved(dynamics, "velocity", qd, lambda x: terms_at(dynamics, q, x, t, p))


def _solved(dynamics: Dynamics, level: str, x: Floats, terms: Callable[[Floats], Terms]) -> Floats:
    """The nearest x, positions or velocities, at which the constraints hold at a level; Gauss and Newton's method."""
    rows = np.array([own in _LEVELS[level] for own in dynamics.levels], bool)
    for _ in range(10):
        at = terms(x)
        off = np.asarray(getattr(at, level))[rows]
        if not np.abs(off).max(initial=0.0) > 1e-15:
            break
        x = x - np.linalg.pinv(np.asarray(at.A)[rows], rcond=RANK) @ off
    return x


@dataclass(frozen=True, eq=False)
class FreeStart:
    """A start as a function of its own free numbers, zero at the first guess.

    directions_q, directions_qd    columns: the ways that q and qd can change on the constraints
    """

    q: Floats
    qd: Floats
    directions_q: Floats
    directions_qd: Floats

    @classmethod
    def at(cls, dynamics: Dynamics, q: Floats, qd: Floats, t: float, p: Any, *, free: bool) -> FreeStart:
        n = len(q)
        if not free:
            return cls(q, qd, np.zeros((n, 0)), np.zeros((n, 0)))
        q, qd = on_constraints(dynamics, q, qd, t, p)
        A = np.asarray(terms_at(dynamics, q, qd, t, p).A)
        rows = [np.array([own in levels for own in dynamics.levels], bool) for levels in _LEVELS.values()]
        return cls(q, qd, _null_space(A[rows[0]]), _null_space(A[rows[1]]))

    @property
    def count(self) -> int:
        return self.directions_q.shape[1] + self.directions_qd.shape[1]

    def state(self, numbers: Floats) -> tuple[Floats, Floats]:
        k = self.directions_q.shape[1]
        return self.q + self.directions_q @ numbers[:k], self.qd + self.directions_qd @ numbers[k:]


def _null_space(A: Floats) -> Floats:
    if not len(A):
        return np.eye(A.shape[1])
    _, values, rows = np.linalg.svd(A)
    rank = int((values > RANK * values.max(initial=0.0)).sum())
    return rows[rank:].T
