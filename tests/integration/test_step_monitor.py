# SPDX-License-Identifier: BSD-3-Clause
"""Changes of orientation of constraint rows between successive states."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.integration.step_monitor import orientation_changes


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("scale", [1.0, 1e-120, 1e120])
def test_rows_that_turn_over_change_their_orientation_in_any_units(size: int, scale: float) -> None:
    rng = np.random.default_rng(size)
    start = rng.normal(size=(size, size + 2))
    rows = np.stack([start + 0.01 * rng.normal(size=start.shape) for _ in range(6)])
    rows[3:, 0] *= -1  # between the third and the fourth state
    if size > 1:
        rows[5:, 1] *= -1
    expected = [False, False, True, False, size > 1]
    assert orientation_changes(scale * rows).tolist() == expected


def test_a_row_without_gradient_changes_no_orientation() -> None:
    rows = np.stack([np.eye(2, 3), np.eye(2, 3)])
    rows[1, 0] = 0.0
    assert not orientation_changes(rows).any()
