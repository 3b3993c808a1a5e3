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
    """The constraint that projection leaves furthest from rounding among the sampled members, and its residual."""

    constraint: str = ""
    residual: float = 0.0

    def add(self, other: UnfinishedFindings) -> None:
        """Add the findings of further members."""
        if other.residual > self.residual:
            self.constraint, self.residual = other.constraint, other.residual

    def note(self, method: Method) -> str:
        """Return a note on the length of the steps; empty if projection ends at rounding."""
        return UnfinishedProjection(self.constraint, self.residual).note(method) if self.residual else ""


def unfinished_members(
    dynamics: Dynamics, method: Method, times: Floats, y: Floats, p: Floats, failed: Any
) -> UnfinishedFindings:
    """Return the findings about members with states y (N, T, 2n) at times (T,) and parameters (P, N)."""
    done = np.flatnonzero(~failed)
    if method.step is None or not len(done):
        return UnfinishedFindings()
    sample = done[np.unique(np.linspace(0, len(done) - 1, MOST_SAMPLED).astype(int))]
    states, values = y[sample].reshape(-1, y.shape[2]), np.repeat(p[:, sample].T, len(times), axis=0)
    found = unfinished_projection(dynamics, method, states, np.tile(times, len(sample)), values)
    return UnfinishedFindings() if found is None else UnfinishedFindings(*found)
