# SPDX-License-Identifier: BSD-3-Clause
"""Members of an ensemble whose motions are hardly larger than their absolute tolerances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.integration.default_tolerances import RESOLVED_MULTIPLE, USUAL_ATOL
from dalembert.integration.method import Method
from dalembert.numerics.tolerances import ROUNDING


@dataclass
class CoarseFindings:
    """The number of such members, the largest of their coordinates, and their absolute tolerance."""

    count: int = 0
    largest: float = 0.0
    atol: float = 0.0

    def add(self, other: CoarseFindings) -> None:
        """Add the findings of further members."""
        self.count += other.count
        self.largest, self.atol = max(self.largest, other.largest), max(self.atol, other.atol)

    def note(self, total: int) -> str:
        """Return a note on these members; empty if there are none."""
        if not self.count:
            return ""
        return (
            f"The coordinates of {self.count} of {total} members stay below {self.largest:.1e}, which the absolute "
            f"tolerance {self.atol:.1e} hardly resolves: pass a smaller `atol`."
        )


def coarse_members(method: Method, starts: Floats, y: Floats, failed: Any) -> CoarseFindings:
    """Return the findings about members with starts (N, 2n) and states y (N, T, 2n) at all times or the last.

    Without an ``atol``, tolerances follow the start, unless all coordinates are zero there.
    """
    if method.step is not None or not len(y):
        return CoarseFindings()
    n = starts.shape[1] // 2
    at_start = np.abs(starts[:, :n]).max(axis=1, initial=0.0)
    # at the end alone coordinates may be small by chance, but hardly together with their velocities
    later = np.abs(y if y.shape[1] == 1 else y[:, :, :n]).max(axis=(1, 2), initial=0.0)
    largest = np.maximum(at_start, later)
    atol = USUAL_ATOL if method.atol is None else method.largest_atol
    known = (at_start > ROUNDING) & (method.atol is None)
    coarse = ~failed & ~known & (largest > 0) & (largest <= RESOLVED_MULTIPLE * atol)
    if not coarse.any():
        return CoarseFindings()
    return CoarseFindings(int(coarse.sum()), float(largest[coarse].max()), atol)
