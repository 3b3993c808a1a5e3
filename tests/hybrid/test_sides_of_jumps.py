# SPDX-License-Identifier: BSD-3-Clause
"""Outputs at jumps in time, beside them, and where several things happen at one instant."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.model.numeric_function import numeric_function

t = da.t


def block(belt: Any, mu: Any = 0.2, force: Any = 0, **given: Any) -> da.System:
    """A unit mass on a belt, g = 10."""
    x, y = da.coordinates("x y")
    law = da.Coulomb(mu, velocity=x.diff(t) - belt, normal_force=da.multiplier("belt"), **given)
    return da.System((x, y), sp.eye(2), (force, -10), da.Constraint(y, name="belt", nonideal=law))


def test_numbers_have_all_their_digits() -> None:
    x, late = sp.Symbol("x"), 3.6999999999999993  # printed as 3.7 by SymPy
    assert numeric_function([x], [x - sp.Float(late)], "numpy")(late) == [0]


@pytest.mark.parametrize(
    "belt",
    [
        sp.sign(t - sp.Float(3.6999999999999993)) + 2,
        3 - 2 * sp.Piecewise((1, sp.Mod(t, sp.Float(7.4)) < 3.7), (0, True)),
    ],
    ids=["digits", "Mod"],
)
def test_a_block_slips_at_a_jump_wherever_it_is_rounded_to(belt: Any) -> None:
    """Compiled code and NumPy need not agree on the last digit of the time of a jump."""
    run = da.simulate(block(belt), (0, 0), (1, 0), [0, 3, 6])
    # from speed 1 to 3 at 2 m/s²
    np.testing.assert_allclose([event.t for event in run.events], [3.7, 4.7], rtol=1e-13)
    np.testing.assert_allclose(run["x"][-1], 3.7 + 2 + 3 * 1.3, rtol=1e-12)
    assert abs(run.ledger().audit).max() < 1e-12


def test_small_jumps_of_a_large_function_are_found() -> None:
    run = da.simulate(block(t + sp.Piecewise((0, t < 50), (0.005, True))), (0, 0), (0, 0), [0, 50, 50.001, 100])
    np.testing.assert_allclose(run.qd[:, 0], [0, 50, 50.002, 100.005], rtol=1e-12)
    np.testing.assert_allclose([event.t for event in run.events], [50, 50.005], rtol=1e-12)


def test_the_force_at_a_jump_is_within_the_limit_of_friction() -> None:
    run = da.simulate(block(0, force=sp.Piecewise((0, t < 1), (12, True))), (0, 0), (0, 0), [0, 1, 2])
    np.testing.assert_allclose(run.nonideal_force[:, 0], [0, -2, -2], atol=1e-12)
    np.testing.assert_allclose(run.acceleration[:, 0], [0, 10, 10], atol=1e-12)


@pytest.mark.parametrize("kind", ["contact", "releases"])
def test_a_support_does_not_pull_at_a_jump(kind: str) -> None:
    y = da.coordinates("y")
    force = sp.Piecewise((-10, t < 1), (90, True))
    contact = da.Constraint(sp.Ge(y, 0), name="floor", restitution=0)
    floor = contact if kind == "contact" else da.Constraint(y, name="floor", releases=True)
    run = da.simulate(da.System((y,), [[1]], (force,), floor), (0,), (0,), [0, 1, 2])
    np.testing.assert_allclose(run.reaction("floor"), [10, 0, 0], atol=1e-12)
    np.testing.assert_allclose(run.acceleration[:, 0], [0, 90, 90], atol=1e-12)


def test_pulses_of_static_friction_and_of_events_are_found() -> None:
    pulse = sp.Piecewise((0, t < 5), (1, t < 5.002), (0, True))
    held = block(0, mu=0.1, force=3, mu_static=0.5 - 0.3 * pulse)
    run = da.simulate(held, (0, 0), (0, 0), [0, 10], events=[da.Event(pulse - 0.5, name="pulse")])
    np.testing.assert_allclose(run.qd[-1, 0], 10, rtol=1e-12)
    np.testing.assert_allclose([e.t for e in run.events if e.name == "pulse"], [5, 5.002], rtol=1e-12)


def test_events_at_one_instant_all_occur() -> None:
    x = da.coordinates("x")
    v = x.diff(t)
    events = [
        da.Event(x - 1, name="a", then=da.Change({v: 2 * v})),
        da.Event(t - 1, name="b", then=da.Change({v: v + 1})),
    ]
    run = da.simulate(da.System((x,), [[1]], (0,)), (0,), (1,), [0, 2], events=events)
    assert [event.name for event in run.events] == ["a", "b"]
    np.testing.assert_allclose(run.qd[-1], 3)


def test_the_ledger_closes_where_an_event_and_a_jump_coincide() -> None:
    system = block(sp.Piecewise((0, t < 1), (3, True)))
    kick = da.Event(t - 1, name="kick", then=da.Change({system.coordinates[0].diff(t): 1}))
    run = da.simulate(system, (0, 0), (0, 0), [0, 1, 1.5, 3], events=[kick])
    np.testing.assert_allclose(run.qd[:, 0], [0, 1, 2, 3], atol=1e-12)
    assert abs(run.ledger().audit).max() < 1e-12


@pytest.mark.parametrize("drive", [lambda x: x - sp.Abs(t), lambda x: x.diff(t) - sp.sign(t)], ids=["Abs", "sign"])
@pytest.mark.parametrize("velocity", [1, -1])
def test_a_start_at_a_jump_is_on_the_side_of_its_velocities(drive: Any, velocity: int) -> None:
    x = da.coordinates("x")
    run = da.simulate(da.System((x,), [[1]], (0,), da.Constraint(drive(x), name="drive")), (0,), (velocity,), [0, 1])
    np.testing.assert_allclose(run.qd[:, 0], [velocity, 1])
    assert abs(run.ledger().audit).max() < 1e-12 and len(run.notes) == (velocity < 0)


NEGATIVE = "must not be negative, or the law adds energy; at t = "


@pytest.mark.parametrize("mu", [1 - t, 1 - da.coordinates("x")], ids=["time", "state"])
def test_coefficients_that_become_negative_are_refused(mu: Any) -> None:
    x, y = da.coordinates("x y")
    floor = da.Constraint(y, name="floor", nonideal=da.Coulomb(mu))
    system = da.System((x, y), np.eye(2).tolist(), (0, -1), floor)
    with pytest.raises(da.SimulationError, match=NEGATIVE):
        da.simulate(system, (0, 0), (3, 0), [0, 2])
    with pytest.raises(da.InputError, match=NEGATIVE):
        da.motion(system, (2, 0), (3, 0), t=2)
    members = da.simulate_ensemble(system, (0, 0), np.array([[3.0, 0.0]]), [0, 2])
    assert NEGATIVE in str(members.reason.values[0])


def test_friction_that_becomes_negative_is_refused_while_it_slides_and_while_it_sticks() -> None:
    with pytest.raises(da.SimulationError, match=NEGATIVE):
        da.simulate(block(0, mu=1 - t), (0, 0), (20, 0), [0, 3])
    with pytest.raises(da.SimulationError, match="static coefficient of friction must not be negative; at t = 1 "):
        da.simulate(block(0, mu=1 - t), (0, 0), (1, 0), [0, 3])
