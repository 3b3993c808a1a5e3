"""Events: their location, their order, what they change, and what they refuse."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da

x, y = da.coordinates("x y")
t = da.t
FALLING = da.System((y,), [[1]], (-10,))


def test_the_motion_stops_where_the_expression_vanishes() -> None:
    lands = da.Event(y, direction=-1, stop=True, name="lands")
    run = da.simulate(FALLING, (5,), (0,), [0, 0.5, 2], events=[lands])
    np.testing.assert_allclose(run.t, [0, 0.5, 1], atol=4e-15)
    np.testing.assert_allclose(run.qd[-1], -10, rtol=1e-14)
    (event,) = run.events
    assert (event.name, event.kind) == ("lands", "event")
    np.testing.assert_allclose(event.before, [0, -10], atol=1e-13)
    assert "1 event" in repr(run)
    assert run.notes == ("The motion ends at t = 1 by the event `lands`.",)


@pytest.mark.parametrize(("direction", "zeros"), [(1, [1.5]), (-1, [0.5, 2.5]), (0, [0.5, 1.5, 2.5])])
def test_zeros_of_a_direction_are_listed(direction: int, zeros: list[float]) -> None:
    swing = da.System((x,), [[1]], (-(sp.pi**2) * x,))
    run = da.simulate(swing, (1,), (0,), [0, 3], events=[da.Event(x, direction, name="zero")])
    np.testing.assert_allclose([event.t for event in run.events], zeros, atol=1e-9)


@pytest.mark.parametrize("zero", [t - 1, sp.sin(sp.pi * t), y, y + 10 - 10 * t, y.diff(t) + 10], ids=str)
@pytest.mark.parametrize("stop", [False, True])
def test_an_event_at_the_last_time_occurs(zero: sp.Expr, stop: bool) -> None:
    """As in SciPy: the last output is the state before it, also where it changes the motion."""
    last = da.Event(zero, stop=stop, name="last", then=da.Change({y.diff(t): 7}))
    run = da.simulate(FALLING, (5,), (0,), [0, 0.4, 1], events=[last])
    (event,) = run.events
    assert (event.name, event.t) == ("last", pytest.approx(1, abs=1e-14))
    np.testing.assert_allclose([event.before[1], event.after[1]], [-10, 7], atol=1e-12)
    assert any("The motion ends" in note for note in run.notes) == stop
    assert not stop or run.qd[-1] == pytest.approx(-10)
    assert np.abs(run.ledger().audit).max() < 1e-12
    opposite = da.Event(zero, -1 if zero == t - 1 else 1, name="opposite")
    assert not da.simulate(FALLING, (5,), (0,), [0, 1], events=[opposite]).events


@pytest.mark.parametrize("velocity", [1.0, -1.0])
@pytest.mark.parametrize("direction", [-1, 0, 1])
def test_a_zero_at_the_start_is_no_event(direction: int, velocity: float) -> None:
    free = da.System((x,), [[1]], (0,))
    assert not da.simulate(free, (0,), (velocity,), [0, 1], events=[da.Event(x, direction)]).events


def test_a_change_of_velocity_and_its_work() -> None:
    e = da.parameters("e")
    bounce = da.Event(y, direction=-1, name="bounce", then=da.Change({y.diff(t): -e * y.diff(t)}))
    run = da.simulate(FALLING, (5,), (0,), [0, 2, 4], events=[bounce], parameters={"e": 0.8})
    np.testing.assert_allclose([event.t for event in run.events], [1, 2.6, 3.88], atol=1e-13)
    ledger = run.ledger()
    assert ledger["bounce"][-1] == pytest.approx(-50 * (1 - 0.64**3), rel=1e-13)
    assert np.abs(ledger.audit).max() < 1e-12


def test_a_change_of_parameters_is_noted_and_its_energy_counted() -> None:
    """A load drops off a spring: m from 2 to 1; then x oscillates at another frequency."""
    m = da.parameters("m")
    spring = da.System.from_lagrangian(m * x.diff(t) ** 2 / 2 - x**2 / 2, (x,))
    drops = da.Event(x, direction=-1, name="drops", then=da.Change({m: 1}))
    run = da.simulate(spring, (1,), (0,), [0, 1, 5], parameters={"m": 2}, events=[drops])
    zero = np.pi / 2 * np.sqrt(2)
    assert run.events[0].t == pytest.approx(zero, abs=1e-9)
    np.testing.assert_allclose(run.q[-1], -np.sqrt(0.5) * np.sin(5 - zero), atol=1e-8)
    assert "changes `m` to 1" in run.notes[0]
    ledger = run.ledger()
    assert ledger["drops"][-1] == pytest.approx(-0.25, rel=1e-8)
    assert np.abs(ledger.audit).max() < 1e-9
    np.testing.assert_allclose(run.evaluate(m * x), np.array([2, 2, 1]) * run.q[:, 0], rtol=1e-15)


def latched(then: da.Change, position: sp.Expr = x - y) -> da.Trajectory:
    carts = da.System((x, y), sp.diag(2, 1), (0, 0), da.Constraint(x - y, name="latch", active=False))
    return da.simulate(carts, (0, 1), (1, 0), [0, 0.5, 3], events=[da.Event(position, 1, name="meet", then=then)])


def test_a_constraint_that_is_switched_on_acts_by_an_impulse() -> None:
    run = latched(da.Change(on="latch"))
    np.testing.assert_allclose(run.qd[-1], 2 / 3, rtol=1e-14)
    assert [(event.name, event.kind) for event in run.events] == [("meet", "event"), ("latch", "on")]
    ledger = run.ledger()
    assert ledger["latch"][-1] == pytest.approx(-1 / 3, rel=1e-13)
    assert np.abs(ledger.audit).max() < 1e-14
    assert np.abs(run.multipliers).max() < 1e-14
    np.testing.assert_allclose(run.at(2.5).q[0], run.q[-1] - 1 / 3, rtol=1e-13)


def test_a_constraint_must_hold_where_it_is_switched_on() -> None:
    with pytest.raises(da.SimulationError, match=r"where they are switched on; at t = 0.75 .*`latch` by 0.25"):
        latched(da.Change(on="latch"), x - y + sp.Rational(1, 4))


def test_a_constraint_that_is_switched_off_lets_go() -> None:
    """A pendulum released at its lowest point becomes a projectile."""
    pendulum = da.System((x, y), sp.eye(2), (0, -1), da.Constraint(x**2 + y**2 - 1, name="rod"))
    cut = da.Event(x, direction=1, name="cut", then=da.Change(off="rod"))
    run = da.simulate(pendulum, (-1, 0), (0, 0), np.linspace(0, 3, 31), events=[cut])
    event = run.events[0]
    after = run.t > event.t
    flight = run.t[after] - event.t
    np.testing.assert_allclose(run["x"][after], np.sqrt(2) * flight, atol=1e-8)
    np.testing.assert_allclose(run["y"][after], -1 - flight**2 / 2, atol=1e-8)
    assert (run["rod"][after] == 0).all()
    assert np.abs(run.ledger().audit).max() < 1e-8


def test_events_are_kept_in_files(tmp_path) -> None:
    run = latched(da.Change(on="latch"))
    run.save(tmp_path / "run.nc")
    loaded = da.Trajectory.load(tmp_path / "run.nc")
    assert loaded.events == run.events
    assert loaded.events[0].before == run.events[0].before


def test_an_event_of_a_reaction() -> None:
    """The tension of a pendulum, 3 sin θ for mg = 1, reaches 2."""
    pendulum = da.System((x, y), sp.eye(2), (0, -1), da.Constraint(x**2 + y**2 - 1, name="rod"))
    strong = da.Event(-2 * da.multiplier("rod") - 2, direction=1, stop=True, name="strong")
    run = da.simulate(pendulum, (1, 0), (0, 0), [0, 5], events=[strong])
    assert run["y"][-1] == pytest.approx(-2 / 3, abs=1e-9)


def test_an_event_interrupts_sticking_and_sliding() -> None:
    floor = da.Constraint(y, name="floor", nonideal=da.Coulomb(0.3))
    block = da.System((x, y), sp.eye(2), (0, -10), floor)
    kick = da.Event(t - 2, name="kick", then=da.Change({x.diff(t): 3}))
    run = da.simulate(block, (0, 0), (3, 0), [0, 1.5, 4], events=[kick])
    assert [(event.name, event.kind) for event in run.events] == [
        ("floor", "sticks"),
        ("kick", "event"),
        ("floor", "slips"),
        ("floor", "sticks"),
    ]
    np.testing.assert_allclose([event.t for event in run.events], [1, 2, 2, 3], atol=1e-13)
    np.testing.assert_allclose(run["x"], [0, 1.5, 3], atol=1e-13)
    assert np.abs(run.ledger().audit).max() < 1e-12


def test_events_that_cause_one_another_without_end() -> None:
    bounce = da.Event(y, direction=-1, name="bounce", then=da.Change({y.diff(t): -y.diff(t) / 2}))
    with pytest.raises(da.SimulationError, match=r"events must not follow one another without end; .*`bounce`"):
        da.simulate(FALLING, (5,), (0,), [0, 5], events=[bounce])


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (lambda: da.Event(sp.Integer(1)), "must depend on the motion"),
        (lambda: da.Event(y, direction=2), "`direction` of an event must be 1, −1 or 0"),
        (lambda: da.Event(y, then="stop"), "`then` of an event must be a `da.Change`"),
        (lambda: da.Change(), "a change must change something"),
        (lambda: da.Change([y]), "must be a mapping to new values"),
        (lambda: da.Change(on="rod", off="rod"), "it does both with `rod`"),
        (lambda: da.Change(on=3), "must hold names of constraints"),
    ],
)
def test_what_events_refuse(event, message: str) -> None:
    with pytest.raises(da.ModelError, match=message):
        event()


@pytest.mark.parametrize(
    ("events", "message"),
    [
        (["y"], "`events` must hold `da.Event` objects"),
        ([da.Event(x)], "event `x` must use only the system's coordinates"),
        ([da.Event(y.diff(t, 2))], "must not contain accelerations"),
        ([da.Event(da.ideal_force(y) - 1)], "must not contain `da.ideal_force`; only a nonideal law may"),
        ([da.Event(y, name="a"), da.Event(y - 1, name="a")], "given twice: `a`"),
        ([da.Event(y, then=da.Change({"z": 1}))], "and no `z`"),
        ([da.Event(y, then=da.Change(on="rod"))], "`rod` is unknown"),
        ([da.Event(da.multiplier("rod"))], "`rod` is unknown"),
        ([da.Event(da.reaction("rod"))], "`da.reaction` .*`rod` is unknown"),
        ([da.Event(y, then=da.Change({y: x}))], "the new value of `y` in event `y`"),
    ],
)
def test_what_a_system_refuses(events, message: str) -> None:
    with pytest.raises(da.ModelError, match=message):
        da.simulate(FALLING, (1,), (0,), [0, 1], events=events)


def test_what_events_do_not_go_together_with() -> None:
    stop = da.Event(y, stop=True)
    servo = da.Servo("height", y - 1, by=da.Actuator("push", y), settle=1)
    with pytest.raises(da.InputError, match="without controller and servos"):
        da.simulate(da.System((y,), [[1]], (-10,), servos=servo), (1,), (0,), [0, 1], events=[stop])
    functions = da.FunctionSystem(
        mass_matrix=lambda q, t, p: 1, applied_force=lambda q, qd, t, p: q, coordinates=("y",)
    )
    with pytest.raises(da.InputError, match=r"`events` need a `da.System`"):
        da.simulate(functions, (1,), (0,), [0, 1], events=[stop])
    with pytest.raises(da.InputError, match="first integrals that are conserved"):
        da.simulate(FALLING, (1,), (0,), [0, 1], events=[stop], drift=da.Projection(conserve="energy"))
    with pytest.raises(da.InputError, match="a live page must be of a system whose constraints hold all the time"):
        da.simulate(FALLING, (1,), (0,), [0, 1], events=[stop]).page("page.html")


PENDULUM = da.System((x, y), sp.eye(2), (0, -10), da.Constraint(x**2 + y**2 - 1, name="rod"))
HELD = (1, 0), (0, 0)


def test_a_zero_at_rest_at_the_start_is_no_event() -> None:
    """The bob falls from y = 0, where y and its rate vanish, and only touches y = 0 on the other side."""
    for direction in (-1, 0, 1):
        falls = da.Event(y, direction, stop=True, name="level")
        assert not da.simulate(PENDULUM, *HELD, [0, 1], events=[falls]).events


@pytest.mark.parametrize("drift", [da.Projection(), da.Baumgarte(1, 1)])
def test_a_motion_that_is_stopped_at_an_event_leaves_it(drift: da.Projection | da.Baumgarte) -> None:
    stop = da.Event(y + 0.1, name="stop", then=da.Change({x.diff(t): 0, y.diff(t): 0}))
    run = da.simulate(PENDULUM, *HELD, [0, 0.5], events=[stop], drift=drift)
    assert [event.name for event in run.events] == ["stop"]
    assert run["y"][-1] < -0.5


@pytest.mark.parametrize("direction", [-1, 0, 1])
def test_events_of_a_multiplier_occur_in_both_directions(direction: int) -> None:
    """λ = −3 g |y| /2 of a pendulum released from the level of its pivot."""
    event = da.Event(da.multiplier("rod") + 4, direction, name="tension")
    run = da.simulate(PENDULUM, *HELD, [0, 1.2], events=[event])
    heights = [found.before[1] for found in run.events]
    np.testing.assert_allclose(heights, [-4 / 15] * (1 + (direction == 0)), rtol=1e-8)
    rates = [found.before[3] for found in run.events]
    assert direction == 0 or np.sign(rates[0]) == direction


def test_an_event_whose_expression_is_not_a_number_is_refused() -> None:
    root = da.Event(sp.sqrt(y - 2) - 0.1, name="root")
    with pytest.raises(da.SimulationError, match=r"that of `root` is not\. Look for a division by zero") as caught:
        da.simulate(FALLING, (5,), (0,), [0, 0.5, 2], events=[da.Event(y - 1, name="later"), root])
    assert caught.value.time == pytest.approx(np.sqrt(0.6), abs=1e-12)
    assert [event.name for event in caught.value.trajectory.events] == ["root"]
    # an event before that ends the motion in time
    lands = da.Event(y - 2, direction=-1, stop=True, name="lands")
    run = da.simulate(FALLING, (5,), (0,), [0, 0.5, 2], events=[lands, da.Event(sp.sqrt(y - 1), name="root")])
    assert [event.name for event in run.events] == ["lands"]


def test_an_event_that_changes_the_motion_has_a_name_of_its_own_in_the_ledger() -> None:
    change = da.Change({x.diff(t): 0, y.diff(t): 0})
    with pytest.raises(da.ModelError, match=r"must not have names of constraints, .* got `rod`"):
        da.simulate(PENDULUM, *HELD, [0, 1], events=[da.Event(y + 0.1, name="rod", then=change)])


def ladder_on_rough_supports() -> tuple[da.System, tuple[object, object]]:
    """A ladder of half length 1 that slides on a rough floor and along a rough wall."""
    a = da.coordinates("a")
    floor = da.Coulomb(0.3, velocity=(x + sp.sin(a)).diff(t), normal_force=da.reaction("floor"))
    wall = da.Coulomb(0.2, velocity=(y + sp.cos(a)).diff(t), normal_force=da.reaction("wall"))
    supports = (
        da.Constraint(y - sp.cos(a), name="floor", nonideal=floor),
        da.Constraint(x - sp.sin(a), name="wall", nonideal=wall),
    )
    system = da.System((x, y, a), sp.diag(1, 1, sp.Rational(1, 3)), (0, -10, 0), supports)
    c, s = np.cos(0.75), np.sin(0.75)
    return system, ((s, c, 0.75), (c, -s, 1))


def test_an_event_of_the_actual_reaction_under_friction() -> None:
    """The wall ceases to press where its actual reaction vanishes, not the multiplier of the ideal problem."""
    system, start = ladder_on_rough_supports()
    loose = da.Event(da.reaction("wall"), direction=-1, stop=True, name="loose")
    run = da.simulate(system, *start, [0, 1], events=[loose])
    assert [event.name for event in run.events] == ["loose"]
    assert abs(run.reaction("wall")[-1]) < 1e-9 * run.reaction("wall")[0]
    assert run["wall"][-1] < -0.01
    np.testing.assert_array_equal(run.evaluate(da.reaction("wall")), run.reaction("wall"))
    np.testing.assert_array_equal(run.evaluate(da.multiplier("wall")), run["wall"])


def test_an_event_of_the_ideal_multiplier_under_friction_is_refused() -> None:
    system, start = ladder_on_rough_supports()
    with pytest.raises(
        da.ModelError, match=r'event `loose` must depend on actual reactions, .*`da.reaction\("wall"\)`'
    ):
        da.simulate(system, *start, [0, 1], events=[da.Event(da.multiplier("wall"), name="loose")])
