# SPDX-License-Identifier: BSD-3-Clause
"""The level at which a constraint is stated: φ(q, t) = 0, ψ(q, q̇, t) = 0, or an equation in accelerations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Level = Literal["position", "velocity", "acceleration"]

LEVELS: tuple[Level, ...] = ("position", "velocity", "acceleration")

STATE_LEVELS: tuple[Level, ...] = ("position", "velocity")
"""The levels at which a constraint restricts states, and has a residual there."""


def level_numbers(levels: Sequence[str]) -> NDArray[np.int64]:
    """The place of each constraint's level in ``LEVELS``: rows of low levels are kept before those of high ones."""
    return np.array([("position", "velocity", "acceleration").index(level) for level in levels], np.int64)


def rows_at(levels: Sequence[str], level: str) -> NDArray[np.bool_]:
    """Which constraints restrict a state at a level: those on positions restrict velocities, too."""
    return level_numbers(levels) <= LEVELS.index(level)  # pyright: ignore[reportArgumentType]
