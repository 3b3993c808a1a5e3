# SPDX-License-Identifier: BSD-3-Clause
"""Starts that are to be found: as many numbers as a state on the constraints has freedom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.array_types import Floats
from dalembert.equation.dynamics import Dynamics
from dalembert.integration.start_states import onto_constraints, terms_at
from dalembert.levels import STATE_LEVELS, rows_at
from dalembert.linear_algebra import null_space
from dalembert.tolerances import SOLVED_RANK_TOLERANCE


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
        q, qd = onto_constraints(dynamics, q, qd, t, p)
        A = np.asarray(terms_at(dynamics, q, qd, t, p).A)
        free_q, free_qd = (
            null_space(A[rows_at(dynamics.levels, level)], SOLVED_RANK_TOLERANCE).T for level in STATE_LEVELS
        )
        return cls(q, qd, free_q, free_qd)

    @property
    def count(self) -> int:
        return self.directions_q.shape[1] + self.directions_qd.shape[1]

    def state(self, numbers: Floats) -> tuple[Floats, Floats]:
        k = self.directions_q.shape[1]
        return self.q + self.directions_q @ numbers[:k], self.qd + self.directions_qd @ numbers[k:]
