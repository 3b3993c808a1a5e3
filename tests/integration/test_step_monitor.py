# SPDX-License-Identifier: BSD-3-Clause
"""Changes of orientation of constraint rows between successive states."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.integration.step_monitor import PARTS_OF_STEP, StepMonitor, orientation_changes
from dalembert.settings import method_of, prepared


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


def test_long_steps_are_divided_to_the_length_of_others_and_where_steps_shrink_to_nothing() -> None:
    x, y = da.coordinates("x y")
    cross = da.System((x, y), [[1, 0], [0, 1]], (0, 0), da.Constraint(x * y, name="cross"))
    dynamics, _, _, p = prepared(cross, (1, 0), (0, 0), None, ("q", "qd"))
    monitor = StepMonitor(dynamics, method_of(None, None, None, 1e-9, None, None, 1), np.array(p, float))

    def found(*steps: float) -> tuple[list[int], int]:
        longest, parts = monitor._division(np.cumsum([0.0, *steps]))
        return [k for k, step in enumerate(steps) if step > longest], parts

    assert found(1, 1, 1) == ([], 1)
    assert found(1, 1, 1, 4.5, *[1] * 7) == ([3], 5)
    assert found(1, 1, 1, 40, *[1] * 7) == ([3], PARTS_OF_STEP)
    assert found(1, 0, 0, 0) == ([0], PARTS_OF_STEP)


def test_a_row_that_turns_over_twice_within_one_long_step_is_found() -> None:
    """x crosses zero twice between states with the same x: only the states in between show it."""
    x, y = da.coordinates("x y")
    cross = da.System((x, y), [[1, 0], [0, 1]], (0, 0), da.Constraint(x * y, name="cross"))
    dynamics, _, _, p = prepared(cross, (1, 0), (0, 0), None, ("q", "qd"))
    monitor = StepMonitor(dynamics, method_of(None, None, None, 1e-9, None, None, 1), np.array(p, float))
    t = np.cumsum([0.0, 0.1, 0.1, 0.1, 1.0, 0.1, 0.1])
    states = np.array([[1.0, 0.0, 0.0, 0.0]] * 3 + [[1.0, 0.0, -8.0, 0.0], [1.0, 0.0, 8.0, 0.0]] + [[1.0, 0, 0, 0]] * 2)
    monitor._check_rows(t, states, (0,))
    assert [(step.start, step.end) for step in monitor.doubtful] == [(t[3], t[4])]
