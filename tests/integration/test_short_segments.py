"""Events in time that differ by rounding only leave segments too short for any step; they are passed without one."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.integration.integrate import integrate
from dalembert.integration.progress import Progress
from dalembert.settings import method_of

x = da.coordinates("x")
OSCILLATOR = da.System((x,), [[1]], (-x,))


@pytest.mark.parametrize("ulps", [1, 2, 3, 4, 5, 16])
@pytest.mark.parametrize("rtol", [1e-9, 1e-13])
def test_stops_a_few_units_in_the_last_place_apart(ulps: int, rtol: float) -> None:
    """cos t, at t = 1 and a few units in the last place of time later."""
    first = 1.0
    second = first + ulps * np.spacing(first)
    method = method_of(None, da.Projection(), None, rtol, 1e-14, None, 1000)
    with Progress(0.0, 2.0, False) as silent:
        start = np.array([1.0, 0.0])
        path = integrate(da.build(OSCILLATOR), method, start, 0.0, 2.0, (), silent, stops=[first, second])
    assert path.finished, path.refusal
    assert {first, second} <= set(path.t)
    np.testing.assert_allclose(path.y[-1], [np.cos(2), -np.sin(2)], atol=100 * rtol)
    assert (np.diff(path.t) > 0).all()


def test_a_run_of_one_unit_in_the_last_place() -> None:
    times = [1e6, np.nextafter(1e6, 2e6)]
    run = da.simulate(OSCILLATOR, (1,), (0.5,), times)
    np.testing.assert_allclose(run.q[:, 0], 1, atol=1e-9)
    np.testing.assert_allclose(run.qd[:, 0], 0.5, atol=1e-9)


def test_many_events_near_one_another() -> None:
    """Two ramps of force whose ends differ by rounding, ½ ∫∫ of both: (t − 1)³/6 each from t = 1 on."""
    late = sp.Float(1 + 2 * np.spacing(1.0), 17)
    force = sp.Max(0, da.t - 1) + sp.Max(0, da.t - late)
    run = da.simulate(da.System((x,), [[1]], (force,)), (0,), (0,), [0, 1, 3], rtol=1e-12)
    np.testing.assert_allclose(run.q[:, 0], [0, 0, 2 * 8 / 6], rtol=1e-10)
