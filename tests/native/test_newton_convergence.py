"""When the Newton iteration of an implicit step ends."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.native.newton_convergence import MOST_NEWTON_ITERATIONS, NEWTON_SHARE, NewtonConvergence


def ending(changes: list[float], rtol: float = 1e-6) -> tuple[bool | None, int]:
    """Return whether the iteration converged, None if it would go on, and after how many changes."""
    iteration = NewtonConvergence(rtol, 4)
    for count, change in enumerate(changes, 1):
        found = iteration.after(change)
        if found is not None:
            return found, count
    return None, len(changes)


def test_the_ratio_of_the_first_two_changes_is_no_rate() -> None:
    """The changes of a step of a pendulum: 3e-6 after the first one, 2e-4 after the second."""
    changes = [9.7e6, 30.7, 6.8e-3, 1.1e-6]
    assert ending(changes) == (True, 3)
    assert ending([1e6, 0.9 * NEWTON_SHARE]) == (True, 2)


def test_the_slowest_rate_counts() -> None:
    assert ending([1e4, 1e3, 1e-3]) == (None, 3)
    assert ending([1e4, 1e3, 1e-3, 1e-5]) == (True, 4)


@pytest.mark.parametrize("rate", [0.05, 0.3, 0.5])
def test_the_error_that_is_left_is_within_the_share(rate: float) -> None:
    changes = [10 * rate**k for k in range(60)]
    _, count = ending(changes[:MOST_NEWTON_ITERATIONS])
    assert sum(changes[count:]) < NEWTON_SHARE or count == MOST_NEWTON_ITERATIONS


def test_changes_that_become_no_smaller_are_rounding_if_they_were_to_vanish() -> None:
    assert ending([1e6, 3e-3, 2e-3, 3e-3]) == (True, 4)
    assert ending([1e6, 3e2, 4e2]) == (False, 3)


def test_failures() -> None:
    assert ending([1.0, 2.0]) == (False, 2)
    assert ending([1.0, np.nan]) == (False, 2)
    assert ending([np.inf]) == (False, 1)
    assert ending([0.9**k for k in range(20)]) == (False, MOST_NEWTON_ITERATIONS)


def test_a_step_of_slow_convergence_is_followed_by_a_shorter_one() -> None:
    """The next step is 0.9 error^(−1/4) times as long: at half the rate that is wanted it is twice as long."""
    for rate, ratio in ((0.25, 2), (0.1, 5)):
        iteration = NewtonConvergence(1e-6, 4)
        for change in (1.0, rate):
            iteration.after(change)
        assert 0.9 * iteration.slowness ** (-1 / 4) == pytest.approx(ratio)
