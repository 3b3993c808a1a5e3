# SPDX-License-Identifier: BSD-3-Clause
"""The line that shows a spring in a picture."""

from __future__ import annotations

import numpy as np

from dalembert.common.array_types import Floats

TURNS = 10
"""Corners of the zigzag of a spring; ``stage.js`` draws as many."""
STRAIGHT_ENDS = 0.15
"""The fraction of a spring at each end that is drawn straight."""
AMPLITUDE = 0.02
"""Half the width of the zigzag, relative to the size of the picture."""


def zigzag(ends: Floats, amplitude: float) -> Floats:
    """Return the corners (TURNS + 4, 2) of a zigzag between two ends (2, 2); it is straight if they coincide."""
    start, end = ends
    along = end - start
    length = float(np.hypot(*along))
    across = np.array([-along[1], along[0]]) * (amplitude / length if length else 0.0)
    inside = STRAIGHT_ENDS + (1 - 2 * STRAIGHT_ENDS) * (np.arange(TURNS) + 0.5) / TURNS
    fractions = np.array([0, STRAIGHT_ENDS, *inside, 1 - STRAIGHT_ENDS, 1])
    sides = np.array([0, 0, *np.where(np.arange(TURNS) % 2, -1.0, 1.0), 0, 0])
    return start + fractions[:, None] * along + sides[:, None] * across
