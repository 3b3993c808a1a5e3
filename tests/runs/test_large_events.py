"""Events of large systems, against closed forms and straight-line code."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da

N = 150
X, Y = da.coordinates("x", N), da.coordinates("y", N)
G = da.parameters("g")
Q, REST = np.concatenate([np.arange(1.0, N + 1), np.linspace(1, 2, N)]), np.zeros(2 * N)


def falling(events, times=(0, 0.3, 2), **how):
    """Particles at heights from one to two, which fall freely."""
    system = da.System((X, Y), 1, {Y: -G}, ())
    return da.simulate(system, Q, REST, times, parameters={"g": 10.0}, events=events, **how)


@pytest.mark.parametrize("solver", [None, da.Implicit()], ids=str)
def test_events_have_the_times_of_free_fall(solver):
    rate = Y[0].diff(da.t)
    events = [
        da.Event(Y[0], stop=True, name="lands"),
        da.Event(Y[0] - 0.5, name="halfway"),
        da.Event(rate + G / 5, direction=-1, name="fast"),
        da.Event(Y[0] - 0.5, direction=1, name="rising"),
        da.Event(Y[0] - 1, name="at the start"),
        da.Event(sp.sin(40 * da.t) - 0.1, direction=1, name="clock"),
    ]
    run = falling(events, solver=solver)
    found = [(event.name, event.t) for event in run.events]
    clock = [("clock", (np.arcsin(0.1) + 2 * np.pi * k) / 40) for k in range(3)]
    wanted = sorted([("fast", 0.2), ("halfway", 0.1**0.5), ("lands", 0.2**0.5), *clock], key=lambda pair: pair[1])
    assert [name for name, _ in found] == [name for name, _ in wanted]
    np.testing.assert_allclose([t for _, t in found], [t for _, t in wanted], rtol=0, atol=1e-9)
    np.testing.assert_allclose(run.t, [0, 0.3, 0.2**0.5], rtol=0, atol=1e-9)
    assert abs(run["y[0]"][-1]) < 1e-9
    assert run.notes[0] == "The motion ends at t = 0.447214 by the event `lands`."
    np.testing.assert_allclose(run.at(0.4)["y[0]"], 1 - 10 * 0.4**2 / 2, atol=1e-9)
    np.testing.assert_allclose(run.ledger().audit, 0, atol=1e-8)


def test_a_pole_is_no_event_and_a_jump_is_one():
    run = falling([da.Event(1 / (Y[0] - 0.5), name="pole"), da.Event(sp.sign(Y[0] - 0.25) - 0.5, name="jump")])
    assert [event.name for event in run.events] == ["jump"]
    assert run.events[0].t == pytest.approx(0.15**0.5, abs=1e-9)


@pytest.mark.parametrize("offset", [0.0, 1e-13, -1e-13, 1e-10, -1e-10, 1e-7])
def test_an_event_beside_a_sample_of_a_step_is_found(offset):
    """Steps of 1/16 have samples at multiples of 1/256; the interpolation is off by more than the distance to these."""
    u = da.coordinates("u")
    springs = da.AppliedForce.over({u: -400 * u}, {u: Y})
    system, at = da.System((X, Y), 1, springs, ()), 17 / 256 + offset
    state = system, Q, REST
    there = da.simulate(*state, [0, at, 0.25], step=1 / 16)["y[0]"][1]
    run = da.simulate(*state, [0, 0.25], step=1 / 16, events=da.Event(Y[0] - there, direction=-1, name="passes"))
    assert [event.name for event in run.events] == ["passes"]
    assert run.events[0].t == pytest.approx(at, abs=1e-11)


def test_events_at_one_instant_and_at_the_last_time_are_recorded():
    events = [
        da.Event(Y[0] - 0.5, name="first", stop=True),
        da.Event(3 * (Y[0] - 0.5), name="second"),
        da.Event((Y[0] - 0.5) * (Y[0] - 3), name="third"),
    ]
    run = falling(events)
    assert sorted(event.name for event in run.events) == ["first", "second", "third"]
    found = np.array([event.t for event in run.events])
    np.testing.assert_allclose(found, run.t[-1], rtol=1e-14)
    assert (found <= run.t[-1]).all()
    assert run.notes[0] == "The motion ends at t = 0.316228 by the event `first`."
    last = [
        da.Event(da.t - 2, name="end", stop=True),
        da.Event(da.t - 2, direction=-1, name="down"),
        da.Event((da.t - 2) ** 2, name="touches"),
    ]
    run = falling(last)
    assert [(event.name, event.t) for event in run.events] == [("end", 2.0)]
    assert run.notes[0] == "The motion ends at t = 2 by the event `end`."


def test_an_expression_that_is_not_a_number_is_named():
    wanted = "it ended at t = 0.31.*: the expression of the event `root` is not a number there. Look for a division by"
    root = da.Event(sp.sqrt(Y[0] - 0.5) - 2, name="root")
    with pytest.raises(da.errors.SimulationError, match=wanted):
        falling(root, step=1 / 64)
    # the motion ends before
    assert len(falling([root, da.Event(Y[0] - 0.6, name="stop", stop=True)]).events) == 1


def chain(n):
    x, y = da.coordinates("x", n), da.coordinates("y", n)
    u, v, w, z = da.coordinates("u v w z")
    ends = {u: x[:-1], v: y[:-1], w: x[1:], z: y[1:]}
    rods = da.Constraint.over((u - w) ** 2 + (v - z) ** 2 - 1, ends, name="rod")
    first = da.Constraint(x[0] ** 2 + y[0] ** 2 - 1, name="first")
    return da.System((x, y), 1, {y: -9.81}, (first, rods)), np.concatenate([np.arange(1.0, n + 1), np.zeros(n)])


def test_events_of_a_chain_are_those_of_straight_line_code():
    system, q = chain(4)
    y = system.coordinates[7]
    assert str(y) == "y[3](t)"
    events = [da.Event(y + 1, name="low"), da.Event(y.diff(da.t) + 3, name="fast", stop=True)]
    single = da.System(*(getattr(system, k) for k in ("coordinates", "mass_matrix", "applied_force", "constraints")))
    wanted = da.simulate(single, q, 0 * q, [0, 3], events=events, rtol=1e-11)
    found = da.simulate(system, q, 0 * q, [0, 3], events=events, rtol=1e-11)
    assert found.statistics["program"] == "templates"
    assert [event.name for event in found.events] == [event.name for event in wanted.events]
    np.testing.assert_allclose([e.t for e in found.events], [e.t for e in wanted.events], rtol=0, atol=1e-8)
    np.testing.assert_allclose(found.q[-1], wanted.q[-1], rtol=0, atol=1e-7)
    assert found.t[-1] == found.events[-1].t
    assert [event.before == event.after for event in found.events] == [True] * len(found.events)


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (da.Event(Y[0], then=da.Change({"y[0]'": 1})), "must not change the motion; it has `then`. Let it `stop`"),
        (da.Event(da.reaction("rod") - 1), "must depend on coordinates, velocities and time only; it has a reaction"),
        (da.Event(da.ideal_force(Y[0]) - 1), "must depend on coordinates, velocities and time only; it has a reaction"),
        (da.Event(Y[0].diff(da.t, 2) - 1), "must depend on coordinates, .* only; it has an acceleration"),
        (da.Event(Y[0] - da.parameters("h")), "must have coordinates and single parameters of the system; got `h`"),
        (da.Event(da.coordinates("k")), "must have coordinates and single parameters of the system; got `k`"),
        ([da.Event(Y[0], name="a"), da.Event(Y[1], name="a")], "events must have different names; given twice: `a`"),
        ("lands", "`events` must hold `da.Event` objects; got 'lands'"),
    ],
)
def test_events_that_large_systems_do_not_have_are_refused(event, message):
    with pytest.raises(da.ModelError, match=message):
        falling(event)
