# SPDX-License-Identifier: BSD-3-Clause
"""Members of an ensemble whose fixed steps are so long that projection ends far from rounding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.equation.dynamics import Dynamics
from dalembert.integration.method import Method
from dalembert.integration.step_check import UnfinishedProjection, unfinished_projection

MOST_SAMPLED = 64
"""Largest number of members that are examined, evenly spaced: steps that are too long are so for many of them."""


@dataclass
class UnfinishedFindings:
    """The constraint that projection leaves furthest from rounding among the sampled members; None without any."""

    worst: UnfinishedProjection | None = None

    def add(self, other: UnfinishedFindings) -> None:
        """Add the findings of further members."""
        found = [own for own in (self.worst, other.worst) if own is not None]
        self.worst = max(found, key=lambda own: own.residual, default=None)

    def note(self, method: Method) -> str:
        """Return a note on the length of the steps; empty if projection ends at rounding."""
        return "" if self.worst is None else self.worst.note(method)


def unfinished_members(
    dynamics: Dynamics, method: Method, times: Floats, y: Floats, p: Floats, failed: Any
) -> UnfinishedFindings:
    """Return the findings about members with states y (N, T, 2n) at times (T,) and parameters (P, N)."""
    done = np.flatnonzero(~failed)
    if method.step is None or not len(done):
        return UnfinishedFindings()
    sample = done[np.unique(np.linspace(0, len(done) - 1, MOST_SAMPLED).astype(int))]
    states, values = y[sample].reshape(-1, y.shape[2]), np.repeat(p[:, sample].T, len(times), axis=0)
    return UnfinishedFindings(unfinished_projection(dynamics, method, states, np.tile(times, len(sample)), values))
