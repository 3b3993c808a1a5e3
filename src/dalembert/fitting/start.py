# SPDX-License-Identifier: BSD-3-Clause
"""Starts that are to be found: as many numbers as a state on the constraints has freedom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.equation.dynamics import Dynamics
from dalembert.integration.start import terms_at

Floats = NDArray[np.float64]

RANK = 1e-9
"""Singular values below this part of the largest one count as zero."""


def on_constraints(dynamics: Dynamics, q: Any, qd: Any, t: float, p: Any) -> tuple[Floats, Floats]:
    """A state near by that satisfies the constraints, positions before velocities; exact ones stay as they are."""
    at_position = np.array([level == "position" for level in dynamics.levels], bool)
    at_velocity = np.array([level != "acceleration" for level in dynamics.levels], bool)
    for _ in range(10):
        terms = terms_at(dynamics, q, qd, t, p)
        off = np.asarray(terms.position)[at_position]
        if not np.abs(off).max(initial=0.0) > 1e-15:
            break
        q = q - np.linalg.pinv(np.asarray(terms.A)[at_position], rcond=RANK) @ off
    for _ in range(10):
        terms = terms_at(dynamics, q, qd, t, p)
        off = np.asarray(terms.velocity)[at_velocity]
        if not np.abs(off).max(initial=0.0) > 1e-15:
            break
        qd = qd - np.linalg.pinv(np.asarray(terms.A)[at_velocity], rcond=RANK) @ off
    return q, qd


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
        rows = [np.array([level in levels for level in dynamics.levels], bool) for levels in _LEVELS]
        return cls(q, qd, _null_space(A[rows[0]]), _null_space(A[rows[1]]))

    @property
    def count(self) -> int:
        return self.directions_q.shape[1] + self.directions_qd.shape[1]

    def state(self, numbers: Floats) -> tuple[Floats, Floats]:
        k = self.directions_q.shape[1]
        return self.q + self.directions_q @ numbers[:k], self.qd + self.directions_qd @ numbers[k:]


_LEVELS = (("position",), ("position", "velocity"))


def _null_space(A: Floats) -> Floats:
    if not len(A):
        return np.eye(A.shape[1])
    _, values, rows = np.linalg.svd(A)
    rank = int((values > RANK * values.max(initial=0.0)).sum())
    return rows[rank:].T
