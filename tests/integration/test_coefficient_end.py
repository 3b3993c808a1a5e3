"""A motion ends at the instant at which a coefficient of a law becomes negative, which the error names."""

from typing import Any

import numpy as np
import pytest
import sympy as sp

import dalembert as da

x, y = da.coordinates("x y")
MESSAGE = r"it ended at t = {0}: `mu` of Coulomb of `floor` must not be negative.* at t = {0} it becomes negative\."


def sliding(mu: Any) -> da.System:
    """A block that slides on a floor: the acceleration is -10 mu."""
    return da.System((x, y), sp.eye(2), (0, -10), da.Constraint(y, name="floor", nonideal=da.Coulomb(mu)))


@pytest.mark.parametrize("options", [{}, {"solver": da.Implicit()}, {"step": 0.03}, {"drift": None}, {"max_step": 0.3}])
def test_a_coefficient_that_depends_on_time(options: dict[str, Any]) -> None:
    """Adaptive steps ended before one of 0.8 s, at t = 0.39; fixed ones before the last one."""
    with pytest.raises(da.SimulationError, match=MESSAGE.format(1)) as caught:
        da.simulate(sliding(1 - da.t), (0, 0), (20, 0), [0, 0.5, 2], **options)
    run = caught.value.trajectory
    assert caught.value.time == run.t[-1] == 1.0
    # x = 20 t - 5 t² + 5 t³ / 3, from an acceleration of -10 (1 - t)
    np.testing.assert_allclose([run["x"][-1], run["x'"][-1]], [20 - 5 + 5 / 3, 15], rtol=1e-9)


@pytest.mark.parametrize("options", [{}, {"solver": da.Implicit()}])
def test_a_coefficient_that_depends_on_the_state(options: dict[str, Any]) -> None:
    """x'' = -10 (1 - x/7), until x = 7: with x - 7 = z, z'' = (10/7) z."""
    with pytest.raises(da.SimulationError, match=MESSAGE.format(0.372871)) as caught:
        da.simulate(sliding(1 - x / 7), (0, 0), (20, 0), [0, 0.1, 2], **options)
    run, rate = caught.value.trajectory, np.sqrt(10 / 7)
    instant = np.arctanh(7 * rate / 20) / rate
    assert abs(run.t[-1] - instant) < 1e-8
    assert abs(7 - run["x"][-1]) < 1e-13


def test_a_coefficient_that_jumps() -> None:
    mu = sp.Piecewise((sp.Rational(3, 10), da.t < sp.Rational(7, 10)), (-0.1, True))
    with pytest.raises(da.SimulationError, match=r"ended at t = 0.7: .* at t = 0.7 it is -0.1\.") as caught:
        da.simulate(sliding(mu), (0, 0), (20, 0), [0, 2])
    assert caught.value.trajectory.t[-1] <= 0.7 == pytest.approx(caught.value.trajectory.t[-1], rel=1e-15)


def test_a_coefficient_that_touches_zero_is_allowed() -> None:
    run = da.simulate(sliding((1 - da.t) ** 2), (0, 0), (20, 0), [0, 1, 2])
    np.testing.assert_allclose(run["x'"], [20, 20 - 10 / 3, 20 - 20 / 3], rtol=1e-9)


def test_a_block_at_rest() -> None:
    """Held until the coefficient is negative: the static coefficient is the same."""
    with pytest.raises(da.SimulationError, match="at t = 1 that of `floor` is") as caught:
        da.simulate(sliding(1 - da.t), (0, 0), (0, 0), [0, 0.5, 2])
    assert caught.value.trajectory is None or caught.value.trajectory.t[-1] == pytest.approx(1, rel=1e-9)


def test_members_of_an_ensemble_end_with_the_instant() -> None:
    many = da.simulate_ensemble(sliding(1 - da.t), np.zeros((2, 2)), (20, 0), [0, 0.5, 2])
    assert all("at t = 1 it becomes negative" in reason for reason in many["reason"].values)
