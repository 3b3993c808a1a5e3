"""Global errors of ``solver=da.Implicit()``: they follow the relative tolerance, for slow and for stiff motions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

import dalembert as da

MOST_TOLERANCES = 40.0
"""The largest global error in multiples of rtol. It was up to 540 for the spring, whose errors are largest, and 360 for
the pendulum."""

G, MU, STIFFNESS, DAMPING = 9.81, 5.0, 1e6, 1e3
t = da.t
x, y = da.coordinates("x y")
GAINS = da.Baumgarte(5, 5)
TIMES = np.array([0, 0.137, 0.5, 1.234, 2])


class Problem(NamedTuple):
    """A system, its initial state, the times of its outputs and its exact states (times, 2n)."""

    system: da.System
    start: tuple[float, ...]
    times: np.ndarray
    exact: Callable[[], np.ndarray]
    options: Mapping[str, Any] = MappingProxyType({})


def reference(slope: Any, start: Any, times: np.ndarray) -> np.ndarray:
    return solve_ivp(slope, (times[0], times[-1]), start, "DOP853", times, rtol=3e-14, atol=1e-15).y.T


def stabilised_pendulum(_: float, state: np.ndarray) -> np.ndarray:
    """A unit mass on a rod of length one, with Baumgarte's terms of the rates 5."""
    q, v = state[:2], state[2:]
    gravity, row = np.array([0, -G]), 2 * q
    right = -2 * v @ v - 10 * row @ v - 25 * (q @ q - 1)
    return np.concatenate([v, gravity + row * (right - row @ gravity) / (row @ row)])


def pulled_spring() -> np.ndarray:
    """ẍ = −k (x − cos t) − c ẋ from (1, 0): a harmonic motion and a decaying one, in complex numbers."""
    factor = STIFFNESS / (STIFFNESS - 1 + 1j * DAMPING)
    root = np.sqrt(complex(DAMPING**2 - 4 * STIFFNESS))
    rates = np.array([1j, (root - DAMPING) / 2, (-root - DAMPING) / 2])
    own = np.linalg.solve(np.array([[1, 1], rates[1:]]), [1 - factor.real, factor.imag])
    # the real part of the first term, and the sum of the two others, which is real
    terms = np.array([factor, *own]) * np.exp(np.outer(TIMES, rates))
    return np.stack([terms.sum(1).real, (terms * rates).sum(1).real], axis=1)


OSCILLATOR_TIMES = np.linspace(0, 10, 6)
PROBLEMS = {
    "stabilised pendulum": Problem(
        da.System((x, y), sp.eye(2), (0, -G), da.Constraint(x**2 + y**2 - 1, name="rod")),
        (1, 0, 0, 0),
        TIMES,
        lambda: reference(stabilised_pendulum, (1, 0, 0, 0), TIMES),
        {"drift": GAINS},
    ),
    "stiff spring": Problem(
        da.System((x,), [[1]], (-STIFFNESS * (x - sp.cos(t)) - DAMPING * x.diff(t),)), (1, 0), TIMES, pulled_spring
    ),
    "Van der Pol": Problem(
        da.System((x,), [[1]], (MU * (1 - x**2) * x.diff(t) - x,)),
        (2, 0),
        OSCILLATOR_TIMES,
        lambda: reference(lambda _, z: [z[1], MU * (1 - z[0] ** 2) * z[1] - z[0]], (2, 0), OSCILLATOR_TIMES),
    ),
}


@cache
def exact_states(name: str) -> np.ndarray:
    return PROBLEMS[name].exact()


@pytest.mark.parametrize("rtol", 10.0 ** -np.arange(4, 12))
@pytest.mark.parametrize("name", PROBLEMS)
def test_global_errors_stay_within_a_multiple_of_the_tolerance(name: str, rtol: float) -> None:
    system, start, times, _, options = PROBLEMS[name]
    n = len(start) // 2
    run = da.simulate(system, start[:n], start[n:], times, rtol=rtol, atol=rtol / 100, solver=da.Implicit(), **options)
    error = np.abs(np.hstack([run.q, run.qd]) - exact_states(name)).max()
    assert error < MOST_TOLERANCES * rtol


def test_motions_that_are_not_stiff_take_no_more_steps() -> None:
    """The number of steps before errors of stiff directions had a tolerance of their own, and a few more."""
    for name, steps in (("stabilised pendulum", 501), ("Van der Pol", 826)):
        system, start, times, _, options = PROBLEMS[name]
        n, ends = len(start) // 2, times[[0, -1]]
        run = da.simulate(system, start[:n], start[n:], ends, rtol=1e-11, atol=1e-13, solver=da.Implicit(), **options)
        assert run.statistics["steps"] <= 1.02 * steps


def test_large_systems() -> None:
    """A hundred equal pendulums, near the lowest point, where the second change of the stages is much too small."""
    count, rtol = 101, 1e-11
    xs, ys, (u, v) = da.coordinates("x", count), da.coordinates("y", count), da.coordinates("u v")
    rods = da.Constraint.over(u**2 + v**2 - 1, {u: xs, v: ys}, name="rod")
    system = da.System((xs, ys), 1, [{ys: -G}], rods)
    exact = reference(stabilised_pendulum, (1, 0, 0, 0), np.array([0, 0.6, 0.68]))[1:]
    q, qd = np.repeat(exact[0, :2], count), np.repeat(exact[0, 2:], count)
    run = da.simulate(
        system, q, qd, (0.6, 0.68), rtol=rtol, atol=rtol / 100, drift=GAINS, solver=da.Implicit(), allow_violation=True
    )
    assert run.statistics["solver"] == "Radau5"
    found = np.concatenate([run.q[-1, ::count], run.qd[-1, ::count]])
    assert np.abs(found - exact[-1]).max() < MOST_TOLERANCES * rtol
