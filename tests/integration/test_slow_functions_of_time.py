"""Functions of time that vary slowly over a run have no onsets, and do not shorten its steps."""

import numpy as np
import pytest

import dalembert as da
from dalembert.integration.time_segments import TimeSegment, segments


@pytest.mark.parametrize("rate", [0.5, 1.0, 2.0, 5.0])
@pytest.mark.parametrize("offset", [0.0, 1.0])
def test_a_slow_oscillation_is_one_segment(rate: float, offset: float) -> None:
    found = segments(lambda t: offset + np.stack([np.cos(rate * t), np.sin(rate * t)], axis=1), 0.0, 1.0)
    assert found == [TimeSegment(0.0, 1.0)]


@pytest.mark.parametrize("width", [0.05, 0.5, 5.0])
@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_a_pulse_after_a_long_rest_is_an_onset(width: float, offset: float) -> None:
    found = segments(lambda t: offset + np.exp(-(((t - 50) / width) ** 2))[:, None], 0.0, 100.0)
    (onset,) = [part.start for part in found if np.isfinite(part.max_step)][:1]
    assert 50 - 8 * width < onset < 50 - 3 * width


def test_a_rod_that_turns_at_a_given_rate_needs_few_steps() -> None:
    """r̈ = ω²r − 2μω|ṙ|: two exponential functions."""
    case = da.gallery.case("rotating-rod")
    run = da.simulate(case.system, case.q0, case.qd0, [0, 0.75, 1.5], parameters=case.parameters)
    omega, mu = case.parameters["omega"], case.parameters["mu"]
    fast, slow = omega * (-mu + np.sqrt(mu**2 + 1)), omega * (-mu - np.sqrt(mu**2 + 1))
    share = (0.5 - slow) / (fast - slow)
    exact = share * np.exp(fast * run.t) + (1 - share) * np.exp(slow * run.t)
    np.testing.assert_allclose(np.hypot(run["x"], run["y"]), exact, rtol=1e-8)
    assert run.statistics["steps"] < 100
