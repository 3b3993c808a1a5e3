# SPDX-License-Identifier: BSD-3-Clause
"""The levels of constraints: position, φ(q, t) = 0, velocity, ψ(q, q̇, t) = 0, and acceleration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Level = Literal["position", "velocity", "acceleration"]

LEVELS: tuple[Level, ...] = ("position", "velocity", "acceleration")

STATE_LEVELS: tuple[Level, ...] = ("position", "velocity")
"""The levels at which a constraint restricts states and has a residual."""


def level_numbers(levels: Sequence[str]) -> NDArray[np.int64]:
    """Return the index of each constraint's level in ``LEVELS``: rows of low levels are selected first."""
    return np.array([LEVELS.index(level) for level in levels], np.int64)  # pyright: ignore[reportArgumentType]


def rows_at(levels: Sequence[str], level: str) -> NDArray[np.bool_]:
    """Return a mask of the constraints that restrict a state at a level; those on positions restrict velocities too."""
    return level_numbers(levels) <= LEVELS.index(level)  # pyright: ignore[reportArgumentType]
