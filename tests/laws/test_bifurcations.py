"""A run that goes exactly through a bifurcation of its constraints says so, and when."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.integration import bifurcations, step_monitor

x, y = da.coordinates("x y")
a, b, c = da.coordinates("a b c")


def noted(run: da.Trajectory) -> list[float]:
    """The times that notes name as places where rank is lost."""
    said = [note for note in run.notes if "lose rank" in note]
    return [float(t) for note in said for t in re.findall(r"[-\d.e+]*\d", note.split("t = ")[1].split(";")[0])]


@pytest.mark.parametrize("outputs", [2, 4, 5, 40])
def test_crossing_lines(outputs: int) -> None:
    """x y = 0 from (−1, 0) along x: both lines are open at the origin, at t = 1."""
    cross = da.System((x, y), sp.eye(2), (0, 0), da.Constraint(x * y, name="cross"))
    run = da.simulate(cross, (-1, 0), (1, 0), times=np.linspace(0, 2, outputs))
    assert run.q[-1] == pytest.approx([1, 0], abs=1e-9)
    assert noted(run) == pytest.approx([1.0], abs=1e-5)


def test_parallelogram_folds_twice_a_turn() -> None:
    """With opposite bars equal, all bars lie on one line where sin a = 0: it may go on as an antiparallelogram."""
    loop: list[Any] = [sp.cos(a) + 2 * sp.cos(b) - 2 - sp.cos(c), sp.sin(a) + 2 * sp.sin(b) - sp.sin(c)]
    rows = [da.Constraint(e, name=f"loop {k}") for k, e in enumerate(loop)]
    run = da.simulate(da.System((a, b, c), sp.eye(3), (0, 0, 0), rows), (0.5, 0, 0.5), (1, 0, 1), times=[0, 3, 7])
    assert run.q[-1] == pytest.approx([7.5, 0, 7.5], abs=1e-6)
    assert noted(run) == pytest.approx([np.pi - 0.5, 2 * np.pi - 0.5], abs=1e-5)


def test_all_steps_are_compared() -> None:
    cross = da.System((x, y), sp.eye(2), (-x, 0), da.Constraint(x * y, name="cross"))
    run = da.simulate(cross, (-1, 0), (0, 0), times=[0, 10])
    assert run.statistics["steps"] > 9
    assert noted(run) == pytest.approx(np.pi * np.array([0.5, 1.5, 2.5]), abs=1e-5)


def test_determinants_are_not_computed_beyond_their_share_of_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_monitor, "MOST_WORK_OF_CHECKS", 1)  # a determinant of one row of two coordinates takes two
    cross = da.System((x, y), sp.eye(2), (-x, 0), da.Constraint(x * y, name="cross"))
    assert noted(da.simulate(cross, (-1, 0), (0, 0), times=[0, 10])) == []


def test_a_change_of_orientation_in_the_only_long_step() -> None:
    """The long steps are those that are doubtful already: there are no others to examine."""
    coupler = (2 + sp.cos(b) - sp.cos(a)) ** 2 + (sp.sin(b) - sp.sin(a)) ** 2 - 4
    bars = da.System((a, b), sp.eye(2), (0, 0), da.Constraint(coupler, name="coupler"))
    assert noted(da.simulate(bars, (0.3, 0.3), (1, 1), [0, 5])) == pytest.approx([np.pi - 0.3], abs=1e-5)


def test_states_within_a_long_step_are_interpolated() -> None:
    """Two changes of orientation in one step cancel at its ends: x crosses zero twice in this one."""
    t, y = np.array([0.0, 1.0]), np.array([[1.0, 0.0, -8.0, 0.0], [1.0, 0.0, 8.0, 0.0]])
    times, states = step_monitor.interpolated(t, y, np.array([0]), 4)
    assert times[0] == pytest.approx([0, 0.25, 0.5, 0.75, 1])
    assert states[0, :, 0] == pytest.approx(1 - 8 * times[0] + 8 * times[0] ** 2)  # the parabola through both ends
    assert states[0, :, 2] == pytest.approx(-8 + 16 * times[0])


def test_rows_that_only_turn_are_no_bifurcation() -> None:
    """The row of a rod turns with it, by more than a right angle in a step or not; rank is never lost."""
    for constraints in ([x**2 + y**2 - 1], [x**2 + y**2 - 1, 2 * (x**2 + y**2 - 1)]):
        rows = [da.Constraint(e, name=f"rod {k}") for k, e in enumerate(constraints)]
        run = da.simulate(da.System((x, y), sp.eye(2), (0, 0), rows), (1, 0), (0, 2), times=[0, 10], rtol=1e-4)
        assert noted(run) == []


def test_an_orientation_that_rounding_decides_is_not_followed_without_end() -> None:
    asked = []

    def always(first: float, last: float) -> list[tuple[float, float]]:
        asked.append((first, last))
        edges = np.linspace(first, last, 33)
        return list(pairwise(edges))

    assert bifurcations._refined(always, 0.0, 1.0) == []
    assert len(asked) == 1
