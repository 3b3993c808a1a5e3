"""Events are zeros and jumps of their expressions; where these change their sign through infinity there is none."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da

x = da.coordinates("x")
OSCILLATOR = da.System((x,), [[1]], (-x,))
HALF = np.pi / 2


@pytest.mark.parametrize(
    ("expression", "instants"),
    [
        (1 / x, []),
        (sp.tan(da.t), [np.pi]),
        (1 / (da.t - 1), []),
        (x / (x - sp.Rational(1, 2)), [HALF, 3 * HALF]),
        (sp.sign(x), [HALF, 3 * HALF]),
        (1 / x**2 - 4, [np.pi / 3, 2 * np.pi / 3, 4 * np.pi / 3, 5 * np.pi / 3]),
        (sp.sign(x) / sp.cbrt(sp.Abs(x)), []),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("error")
def test_events_of_an_oscillation(expression: sp.Expr, instants: list[float]) -> None:
    """x = cos t, up to t = 6."""
    run = da.simulate(OSCILLATOR, (1,), (0,), [0, 6], events=[da.Event(expression, name="event")])
    np.testing.assert_allclose([event.t for event in run.events], instants, rtol=0, atol=1e-8)


@pytest.mark.filterwarnings("error")
def test_a_direction_is_kept_across_poles() -> None:
    """tan 3t increases through all of its zeros, and decreases nowhere, although it becomes negative at its poles."""
    rising, falling = (da.Event(sp.tan(3 * da.t), direction=sign, name=str(sign)) for sign in (1, -1))
    run = da.simulate(OSCILLATOR, (1,), (0,), [0, 3], events=[rising, falling])
    np.testing.assert_allclose([event.t for event in run.events], [np.pi / 3, 2 * np.pi / 3], atol=1e-12)
    assert {event.name for event in run.events} == {"1"}


def test_a_parameter_by_which_an_expression_is_divided_becomes_zero() -> None:
    k = da.parameters("k")
    event = da.Event(x / k - 10, name="event")
    run = da.simulate(OSCILLATOR, (1,), (0,), [0, 3], parameters={"k": 0.0}, events=[event])
    assert np.isfinite(run.q).all()
