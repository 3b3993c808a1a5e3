# SPDX-License-Identifier: BSD-3-Clause
"""Initial states to be estimated, parametrized by as many numbers as the constraints leave free."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.common.levels import STATE_LEVELS, rows_at
from dalembert.equation.dynamics import Dynamics
from dalembert.integration.start_states import onto_constraints, terms_at
from dalembert.numerics.linear_algebra import null_space
from dalembert.numerics.tolerances import SOLVED_RANK_TOLERANCE


@dataclass(frozen=True, eq=False)
class FreeStart:
    """An initial state as a function of its free parameters, which are zero at the guess.

    directions_q, directions_qd    columns: bases of the tangent spaces of the constraints for q and qd
    units                          of the free parameters: none of them moves a coordinate by more than its size
    """

    q: Floats
    qd: Floats
    directions_q: Floats
    directions_qd: Floats
    units: Floats

    @classmethod
    def fixed(cls, q: Floats, qd: Floats) -> FreeStart:
        """Return a start without free parameters."""
        none = np.zeros((len(q), 0))
        return cls(q, qd, none, none, np.zeros(0))

    @classmethod
    def at(cls, dynamics: Dynamics, q: Floats, qd: Floats, t: float, p: Any, sizes: tuple[Floats, Floats]) -> FreeStart:
        """Return the start at a guess, projected onto the constraints; ``sizes`` are those of q and qd, (n,) each."""
        q, qd = onto_constraints(dynamics, q, qd, t, p)
        A = np.asarray(terms_at(dynamics, q, qd, t, p).A)
        free_q, free_qd = (
            null_space(A[rows_at(dynamics.levels, level)], SOLVED_RANK_TOLERANCE).T for level in STATE_LEVELS
        )
        units = [
            1 / np.max(np.abs(d) / size[:, None], axis=0) for d, size in zip((free_q, free_qd), sizes, strict=True)
        ]
        return cls(q, qd, free_q, free_qd, np.concatenate(units))

    @property
    def count(self) -> int:
        return self.directions_q.shape[1] + self.directions_qd.shape[1]

    def state(self, parameters: Floats) -> tuple[Floats, Floats]:
        """Return q and qd for values of the free parameters."""
        k = self.directions_q.shape[1]
        return self.q + self.directions_q @ parameters[:k], self.qd + self.directions_qd @ parameters[k:]
