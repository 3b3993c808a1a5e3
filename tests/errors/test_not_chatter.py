"""Forces that jump to and fro for a while, or that are crossed often, are integrated: more steps would help, or do."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da

x = da.coordinates("x")
v = x.diff(da.t)


def test_chatter_that_ends_in_time_is_integrated() -> None:
    """The body stops at t = 2 and is pushed from t = 2.00005 on."""
    stops = da.System((x,), [[1]], (-sp.sign(v) / 2,))
    assert da.simulate(stops, (0,), (1,), [0, 2.0001]).q[-1, 0] == pytest.approx(1, abs=1e-8)
    pushed = da.System((x,), [[1]], (-sp.sign(v) / 2 + 5 * sp.Heaviside(da.t - sp.Rational(200005, 100000)),))
    run = da.simulate(pushed, (0,), (1,), [0, 2.5])
    assert run.q[-1, 0] == pytest.approx(1 + 4.5 / 2 * (2.5 - 2.00005) ** 2, abs=1e-8)


def test_many_jumps_on_the_way_need_more_steps() -> None:
    rough = da.System((x,), [[1]], (-0.1 * sp.sign(sp.sin(1_000_000 * x)),))
    with pytest.raises(da.SimulationError, match="Raise `max_steps`"):
        da.simulate(rough, (0,), (1,), [0, 3], max_steps=200_000)


@pytest.mark.parametrize(("start", "speed"), [(1.0, 3e-16), (1e3, 1e-13), (1e6, 1e-10), (1.7e9, 1e-9)])
def test_a_start_with_a_tiny_velocity(start: float, speed: float) -> None:
    """The time scale of nearly nothing is shorter than the resolution of time."""
    pulled = da.System((x,), [[1]], (1 + 0 * x,))
    assert da.simulate(pulled, (0,), (speed,), [start, start + 1]).q[-1, 0] == pytest.approx(
        0.5, rel=1e-7 + np.spacing(start)
    )
    members = da.simulate_ensemble(pulled, (0,), [[speed], [0]], [start, start + 1])
    np.testing.assert_allclose(members["q"].values[:, -1, 0], 0.5, rtol=1e-7 + np.spacing(start))
    assert members.attrs["handed_over"] == 0


@pytest.mark.parametrize("ulps", [1, 3, 5, 7, 10])
def test_two_events_that_differ_by_rounding(ulps: int) -> None:
    second = 1 + ulps * np.spacing(1.0)
    pushed = da.System((x,), [[1]], (sp.Heaviside(da.t - 1) + 2 * sp.Heaviside(da.t - sp.Float(second, 17)),))
    assert da.simulate(pushed, (0,), (0,), [0, 2]).q[-1, 0] == pytest.approx(1.5, rel=1e-9)
