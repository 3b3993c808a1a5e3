"""Friction that rises near rest, on a scale of speed far below the speeds of the motion."""

from itertools import pairwise
from typing import Any

import diffrax
import numpy as np
import pytest
from scipy.integrate import quad

import dalembert as da
from dalembert.integration.coarse_steps import CoarseSteps
from dalembert.lowering.build import build

MU, MU_STATIC, WEIGHT, START, END = 0.2, 0.4, 10.0, -1.0, 1.5
SPEED = da.parameters("speed")


def pushed(force: float) -> da.System:
    """A unit mass on a rough floor."""
    x, y = da.coordinates("x y")
    floor = da.Constraint(y, name="floor", nonideal=da.Stribeck(MU, MU_STATIC, SPEED))
    return da.System((x, y), [[1, 0], [0, 1]], (force, -WEIGHT), floor)


def by_quadrature(force: float, speed: float, start: float, end: float) -> tuple[float, float]:
    """Time and distance from one velocity to another: integrals of 1/a and v/a over the velocity."""

    def rate(v: float) -> float:
        return force - np.sign(v) * WEIGHT * (MU + (MU_STATIC - MU) * np.exp(-((v / speed) ** 2)))

    ends = [v for v in (-6 * speed, 0.0, 6 * speed) if start < v < end]
    places = [start, *ends, end] if start < end else [start, 6 * speed, end]
    found = np.zeros(2)
    for a, b in pairwise(places):
        own = (quad(lambda v, k=k: v**k / rate(v), a, b, epsabs=0, epsrel=1e-13)[0] for k in (0, 1))
        found += [*own]
    return found[0], found[1]


@pytest.mark.parametrize(
    ("solver", "speed"),
    [(None, 1e-2), (None, 1e-4), (None, 1e-6), (da.Implicit(), 1e-4), (diffrax.Dopri8(), 1e-4)],
    ids=["1e-2", "1e-4", "1e-6", "implicit", "diffrax"],
)
def test_a_body_turns_through_the_rise(solver: Any, speed: float) -> None:
    """Pushed by more than friction can hold: it slows down, turns at once, and has lost what friction took there."""
    time, distance = by_quadrature(6.0, speed, START, END)
    run = da.simulate(pushed(6.0), (0, 0), (START, 0), [0, time], parameters={"speed": speed}, solver=solver)
    assert run["x'"][-1] == pytest.approx(END, abs=1e-8)
    assert run["x"][-1] == pytest.approx(distance, abs=1e-8)
    assert run.ledger().closure < 100


def test_members_turn_through_the_rise() -> None:
    speeds = np.array([1e-2, 1e-3, 1e-4])
    ends = np.array([by_quadrature(6.0, speed, START, END) for speed in speeds])
    times = [0, *np.sort(ends[:, 0])]
    found = da.simulate_ensemble(pushed(6.0), (0, 0), (START, 0), times, parameters={"speed": speeds})
    order = 1 + np.argsort(np.argsort(ends[:, 0]))
    own = found["q"].sel(coordinate="x").values[np.arange(3), order]
    np.testing.assert_allclose(own, ends[:, 1], rtol=0, atol=1e-8)


def test_a_body_comes_to_rest_where_the_rise_stops_it() -> None:
    time, distance = by_quadrature(0.0, 1e-3, 1.0, 0.0)
    run = da.simulate(pushed(0.0), (0, 0), (1, 0), [0, 1], parameters={"speed": 1e-3})
    (rest,) = run.events
    assert (rest.kind, rest.t) == ("sticks", pytest.approx(time, abs=1e-9))
    assert run["x"][-1] == pytest.approx(distance, abs=1e-9)


@pytest.mark.parametrize(("step", "speed", "notes"), [(1e-2, 1e-2, 1), (1e-3, 1e-4, 1), (2.5e-4, 1e-2, 0)])
def test_fixed_steps_that_pass_over_the_rise_have_a_note(step: float, speed: float, notes: int) -> None:
    time, distance = by_quadrature(6.0, speed, START, END)
    run = da.simulate(pushed(6.0), (0, 0), (START, 0), [0, time], parameters={"speed": speed}, step=step)
    found = [note for note in run.notes if "too long for friction near rest" in note]
    assert len(found) == notes
    if found:
        assert f"Steps of {step:g} are" in found[0] and "Pass a shorter `step`" in found[0]
    else:
        assert run["x"][-1] == pytest.approx(distance, abs=1e-7)


def test_fixed_steps_of_members_have_the_note_of_a_single_run() -> None:
    speeds = np.array([1e-2, 1e-4])
    found = da.simulate_ensemble(pushed(6.0), (0, 0), (START, 0), [0, 0.3], parameters={"speed": speeds}, step=2.5e-4)
    assert "Member 1: Steps of 0.00025 are too long for friction near rest" in found.attrs["notes"]
    assert "Member 0" not in found.attrs["notes"]


def test_steps_are_also_examined_without_machine_code() -> None:
    x, y = da.coordinates("x y")
    push = da.function("push", lambda v: 6.0 - 0 * v)
    floor = da.Constraint(y, name="floor", nonideal=da.Stribeck(MU, MU_STATIC, 1e-4))
    system = da.System((x, y), [[1, 0], [0, 1]], (push(x.diff(da.t)), -WEIGHT), floor)
    found, times = CoarseSteps(), np.array([0.0, 0.01, 0.02, 0.03])
    states = np.array([[0, 0, v, 0] for v in (-1e-3, -1e-4, -0.6e-4, 1e-3)])
    found.observe(build(system), 0.01, times, states, np.zeros(0))
    assert (found.count, found.first) == (2, 0.0)
