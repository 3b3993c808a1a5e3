"""Steps of ``da.Implicit()`` at rest: they are no longer than the functions of time take to change."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.integration.function_scales import step_bounds
from dalembert.integration.time_segments import CELLS, segments
from dalembert.native.radau import RADAU

t = da.t
x = da.coordinates("x")
WIDTH, CENTRE, RATE = da.parameters("width centre rate")
PUSHED = da.System((x,), [[1]], (-(RATE**2) * x + RATE**2 * sp.exp(-(((t - CENTRE) / WIDTH) ** 2)),))
END = 100.0


def response(width: float, centre: float, rate: float, at: float) -> float:
    """∫ ω sin ω(t − s) f(s) ds, the oscillator from rest, by Gauss's formula on short intervals."""
    first, last = max(0.0, centre - 7 * width), min(at, centre + 7 * width)
    if last <= first:
        return 0.0
    edges = np.linspace(first, last, 801)
    nodes, weights = np.polynomial.legendre.leggauss(16)
    s = (edges[:-1, None] + edges[1:, None]) / 2 + np.diff(edges)[:, None] / 2 * nodes
    values = rate * np.sin(rate * (at - s)) * np.exp(-(((s - centre) / width) ** 2))
    return float((np.diff(edges) / 2 * (values @ weights)).sum())


def largest_error(width: float, centre: float, rate: float, rtol: float) -> float:
    times = np.unique(np.clip([0, centre - 3 * width, centre, centre + 2 * width, END], 0, END))
    numbers = {"width": width, "centre": centre, "rate": rate}
    run = da.simulate(PUSHED, (0,), (0,), times, parameters=numbers, rtol=rtol, solver=da.Implicit())
    exact = np.array([response(width, centre, rate, at) for at in times])
    return float(np.abs(run.q[:, 0] - exact).max() / np.abs(exact).max())


@pytest.mark.parametrize(
    ("width", "centre"),
    [(0.1, 40.0), (0.1, 77.7), (0.3, 63.217), (0.6, 63.217), (1, 40.0), (4, 63.217), (4, 77.7), (8, 40.0), (8, 77.7)],
)
def test_a_pulse_after_a_rest_is_followed_to_the_tolerance(width: float, centre: float) -> None:
    """The steps at rest are many periods long: their error estimate accepted those that end at the foot of a pulse."""
    assert largest_error(width, centre, 1.0, 1e-11) < 2e-9


@pytest.mark.parametrize("rate", [0.2, 5.0, 40.0])
def test_slow_and_fast_oscillators(rate: float) -> None:
    assert largest_error(3.0, 63.217, rate, 1e-11) < 2e-9


@pytest.mark.parametrize("stiffness", [1e4, 1e8, 1e12])
@pytest.mark.parametrize(("rtol", "allowed"), [(1e-6, 2e-5), (1e-9, 2e-8)])
def test_velocities_on_a_stiff_spring_without_damping(stiffness: float, rtol: float, allowed: float) -> None:
    """x = cos t, along which the spring pulls; an error estimate that is damped twice accepts velocities off by 2.

    They are within 20 tolerances, since stiff directions have a tolerance of their own, and were within 60.
    """
    pulled = da.System((x,), [[1]], (-stiffness * (x - sp.cos(t)) - sp.cos(t),))
    times = np.linspace(0, 10, 21)
    run = da.simulate(pulled, (1,), (0,), times, rtol=rtol, solver=da.Implicit())
    np.testing.assert_allclose(run.q[:, 0], np.cos(times), atol=allowed)
    np.testing.assert_allclose(run.qd[:, 0], -np.sin(times), atol=allowed)
    assert run.statistics["steps"] < 2000


def test_the_error_follows_the_tolerance() -> None:
    errors = [largest_error(4, 77.7, 1.0, rtol) for rtol in (1e-5, 1e-8, 1e-11)]
    assert errors[0] > 30 * errors[1] > 100 * errors[2]


def test_a_smaller_relative_tolerance_allows_no_larger_absolute_errors() -> None:
    given = [RADAU.step_tolerances(rtol, 1e-11)[1] for rtol in (1e-6, 1e-9, 1e-11, 1e-13)]
    np.testing.assert_allclose(given, [1e-10, 1e-9, 1e-9, 1e-9])


def bounds_of(function: sp.Expr) -> list[tuple[int, int, int]]:
    s = np.linspace(0, 1, CELLS + 1)
    values = np.broadcast_to(sp.lambdify(t, function, "numpy")(s), s.shape)
    return step_bounds((values / max(np.ptp(values), 1e-300))[:, None])


@pytest.mark.parametrize("function", [sp.Integer(3), 1e6 + t, 3 * t - 5 * t**2, sp.exp(t / 4)], ids=str)
def test_slow_functions_bound_no_steps(function: sp.Expr) -> None:
    assert bounds_of(function) == []


@pytest.mark.parametrize("periods", [3, 20, 300])
@pytest.mark.parametrize("offset", [0, 1e4])
def test_a_step_is_hardly_longer_than_a_period(periods: int, offset: float) -> None:
    found = bounds_of(offset + sp.sin(2 * sp.pi * periods * t))
    assert found[0][0] == 0 and found[-1][1] == CELLS
    assert CELLS / periods / 8 < min(bound for *_, bound in found) <= 1.5 * CELLS / periods


def test_a_pulse_is_resolved_down_to_rounding() -> None:
    """exp(−(s/w)²) is below 1e-15 at a distance of 5.9 w."""
    width = 0.02
    found = bounds_of(sp.exp(-(((t - sp.Rational(3, 5)) / width) ** 2)))
    first, last = found[0][0] / CELLS, found[-1][1] / CELLS
    assert 0.6 - 7 * width < first < 0.6 - 5 * width
    assert 0.6 + 5 * width < last < 0.6 + 7 * width
    assert all(bound / CELLS < 7 * width for *_, bound in found)


def test_noise_and_what_samples_do_not_resolve_bound_no_steps() -> None:
    noise = np.random.default_rng(1).uniform(size=(CELLS + 1, 1))
    assert step_bounds(noise) == []
    assert step_bounds(np.linspace(0, 1, CELLS + 1)[:, None] + 1e-10 * noise) == []


def test_a_jump_is_no_change_that_must_be_resolved() -> None:
    """The segments are those of an explicit method."""

    def loads(at: np.ndarray) -> np.ndarray:
        return np.stack([np.where(at < 0.3, 0.0, 5.0), np.where(at < 0.7, at, 2 + at)], axis=1)

    ends = [(part.start, part.end) for part in segments(loads, 0.0, 1.0, is_implicit=True)]
    assert ends == [(part.start, part.end) for part in segments(loads, 0.0, 1.0)]
