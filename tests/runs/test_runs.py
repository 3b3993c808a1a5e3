"""More of a run than its arrays: velocities by name, forces of constraints, other times, expressions, saved runs."""

import pickle

import numpy as np
import pytest
import sympy as sp

import dalembert as da

T = np.linspace(0, 3, 7)
BETWEEN = np.array([0.1, 0.77, 1.5, 2.9])
x, y = da.coordinates("x y")
g = da.parameters("g")


def pendulum(**given):
    rod = da.Constraint(x**2 + y**2 - 1, name="rod")
    return da.System((x, y), [[1, 0], [0, 1]], (0, -g), rod, lagrangian=-g * y + speed2() / 2, **given)


def speed2():
    return x.diff(da.t) ** 2 + y.diff(da.t) ** 2


def swing(times=T, **options):
    return da.simulate(pendulum(), (1, 0), (0, 0), times, parameters={"g": 9.81}, **options)


def block(times, friction=0.3, pull=3.0):
    floor = da.Constraint(y, name="floor", nonideal=da.Coulomb(friction))
    system = da.System((x, y), [[1, 0], [0, 1]], (pull * sp.sin(2 * da.t), -9.81), floor)
    return da.simulate(system, (0, 0), (0.5, 0), times)


def cart(times, **how):
    """A mass that a controller keeps on a path."""
    system = da.System((x,), [[2]], (0,), servos=da.Servo("follow", x - sp.sin(da.t), by=da.Actuator("motor", x)))
    plant = da.System((x,), [[2.2]], (0,), servos=da.Servo("follow", x - sp.sin(da.t), by=da.Actuator("motor", x)))
    return da.simulate(plant, (0.1,), (1.0,), times, control=da.controller(system, **how))


KINDS = {
    "smooth": swing,
    "baumgarte": lambda times: swing(times, drift=da.Baumgarte(5, 5)),
    "off the constraints": lambda times: da.simulate(
        pendulum(), (1 + 1e-6, 0), (0, 0), times, parameters={"g": 9.81}, allow_violation=True
    ),
    "conserved energy": lambda times: swing(times, drift=da.Projection(conserve="energy")),
    "fixed steps": lambda times: swing(times, step=0.01),
    "general integrator": lambda times: swing(times, formulation=da.PseudoInverse()),
    "dry friction": block,
    "controlled": cart,
    "adaptive": lambda times: cart(times, adaptive=da.AdaptiveBound(growth=10.0, leakage=0.1, epsilon=0.01)),
    "sampled": lambda times: cart(times, period=0.05),
    "adaptive and sampled": lambda times: cart(
        times, period=0.05, adaptive=da.AdaptiveBound(growth=10.0, leakage=0.1, epsilon=0.01)
    ),
    "sampled with friction": lambda times: rough_cart(times),
}


def rough_cart(times):
    on = da.Constraint(y, name="floor", nonideal=da.Coulomb(0.2))
    servo = da.Servo("follow", x - sp.sin(da.t), by=da.Actuator("motor", x))
    plant = da.System((x, y), [[2, 0], [0, 2]], (0, -20), on, servos=servo)
    model = da.System((x,), [[2]], (0,), servos=servo)
    return da.simulate(plant, (0.1, 0), (1.0, 0), times, control=da.controller(model, period=0.05))


def test_velocities_and_accelerations_by_name():
    run = swing()
    for name, symbol, values in (
        ("x'", x.diff(da.t), run.qd[:, 0]),
        ("y'", y.diff(da.t), run.qd[:, 1]),
        ("y''", y.diff(da.t, 2), run.acceleration[:, 1]),
    ):
        assert (run[name] == values).all() and (run[symbol] == values).all()


def test_a_coordinate_may_have_a_prime_of_its_own():
    primed = sp.Function("x'")(da.t)
    run = da.simulate(da.System((x, primed), sp.eye(2), (0, 0)), (0, 5), (1, 0), [0, 1])
    assert (run["x'"] == 5).all() and (run["x''"] == 0).all()


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.slow if kind == "general integrator" else ()) for kind in KINDS]
)
def test_the_motion_at_other_times_is_the_one_simulated_at_these_times(kind):
    whole = KINDS[kind](np.union1d(T, BETWEEN))
    found = KINDS[kind](T).at(BETWEEN)
    places = np.searchsorted(whole.t, BETWEEN)
    assert (found.t == BETWEEN).all()
    for name in ("q", "qd", "acceleration", "ideal_force", "nonideal_force", "reactions", "violation", "energy"):
        got, expected = getattr(found, name), getattr(whole, name)
        assert (got is None) == (expected is None)
        if got is not None:
            assert np.allclose(got, expected[places], rtol=1e-9, atol=1e-10), name
    for got, expected in ((found.inputs, whole.inputs), (found.servo_error, whole.servo_error)):
        assert got.keys() == expected.keys()
        assert all(np.allclose(got[key], expected[key][places], rtol=1e-9, atol=1e-10) for key in got)
    if whole.estimated_bound is not None:
        assert np.allclose(found.estimated_bound, whole.estimated_bound[places], rtol=1e-9)


def test_other_times_of_other_times():
    run = swing()
    assert np.allclose(run.at([0.5, 1.5, 2.5]).at(1.2).q, run.at(1.2).q, atol=1e-9)
    assert run.at(1.2).q.shape == (1, 2) and run.at(1.2).notes == run.notes


def test_a_run_that_failed_has_a_motion_up_to_its_end():
    with pytest.raises(da.SimulationError) as caught:
        da.simulate(da.System((x,), [[1]], (2 * x**3,)), (1,), (1,), [0, 0.5, 3])  # x = 1/(1 − t)
    run = caught.value.trajectory
    assert run.t[-1] == pytest.approx(1, abs=1e-3)
    assert np.allclose(run.at([0.2, 0.8])["x"], [1.25, 5], rtol=1e-7)


CASES = (
    *("spiral", "swarm-control", "rotating-rod", "incline", "belt", "hidden-constraint", "four-bar", "four-bars"),
    *("rolling-disc", "tumbling-coin", "crane", "wrong-masses", "five-bar", "measured", "indefinite-mass"),
)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_other_times_of_published_cases(name):
    case = da.gallery.case(name)
    run = case.simulate()
    others = np.arange(1, len(run), max(1, len(run) // 7))
    found = case.simulate(times=run.t[[0, len(run) // 3, -1]]).at(run.t[others])
    for got, expected in ((found.q, run.q), (found.qd, run.qd), (found.reactions, run.reactions)):
        assert np.allclose(got, expected[others], rtol=1e-8, atol=1e-8)


def test_a_jump_between_two_outputs_is_found():
    """A force so short that the steps of the run miss it: the time inside shows that, and the motion is repeated."""
    push = sp.Piecewise((100.0, (da.t > 1.0) & (da.t < 1.0 + 1e-3)), (0.0, True))
    run = da.simulate(da.System((x,), [[1]], (push,)), (0,), (0,), [0, 3])
    assert np.allclose(run.at([1.0, 2.0])["x'"], [0, 0.1], atol=1e-9)


@pytest.mark.parametrize(
    "kind", ["smooth", "baumgarte", "dry friction", pytest.param("general integrator", marks=pytest.mark.slow)]
)
def test_forces_of_constraints_are_those_of_the_ledger(kind):
    run = KINDS[kind](T)
    ledger = run.ledger()
    (name,) = run.constraints
    assert np.allclose(run.force(name), ledger.force[:, ledger.names.index(name)], rtol=1e-9, atol=1e-9)


def test_forces_of_redundant_constraints_add_up_to_the_constraint_force():
    rods = (da.Constraint(x**2 + y**2 - 1, name="rod"), da.Constraint(2 * x**2 + 2 * y**2 - 2, name="again"))
    system = da.System((x, y), sp.eye(2), (0, -9.81), rods)
    run = da.simulate(system, (1, 0), (0, 0), T)
    assert np.allclose(run.force("rod") + run.force("again"), run.ideal_force, atol=1e-9)


def test_forces_of_a_system_of_functions():
    import jax.numpy as jnp

    rod = da.FunctionConstraint(lambda q, t, p: q @ q - 1, "position", name="rod")
    system = da.FunctionSystem(lambda *a: jnp.eye(2), lambda *a: jnp.array([0, -9.81]), rod, coordinates="x y")
    run = da.simulate(system, (1, 0), (0, 0), T)
    assert np.allclose(run.force("rod"), swing().force("rod"), atol=1e-7)
    assert np.allclose(run.evaluate(x * y), run["x"] * run["y"])
    assert np.allclose(run.at([1.0]).q, swing().at([1.0]).q, atol=1e-7)


def test_expressions_are_evaluated_along_a_run():
    run = swing()
    X, Y, vx, ax = run["x"], run["y"], run["x'"], run["x''"]
    expression = sp.exp(x) * sp.Abs(y) + g * x.diff(da.t) * da.t + x.diff(da.t, 2)
    assert np.allclose(run.evaluate(expression), np.exp(X) * np.abs(Y) + 9.81 * vx * run.t + ax, rtol=1e-14)
    assert np.allclose(run.evaluate(da.multiplier("rod")), run["rod"], rtol=0)
    assert np.allclose(run.evaluate(da.ideal_force(y)), run.ideal_force[:, 1], rtol=0)
    assert np.allclose(run.evaluate(speed2() / 2 + g * y), run.energy, atol=1e-12)
    assert np.allclose(run.evaluate(sp.Derivative(x * y, da.t)), vx * Y + X * run["y'"], rtol=1e-14)


def test_shapes_of_expressions():
    run = swing()
    assert run.evaluate([x, y]).shape == run.evaluate(sp.Matrix([x, y])).shape == (7, 2)
    assert run.evaluate([[x, y, 1]]).shape == run.evaluate(sp.Matrix([[x, y, 1]])).shape == (7, 1, 3)
    assert run.evaluate([sp.Matrix([x, y]), (0, 1)]).shape == (7, 2, 2)
    assert run.evaluate(x, t=BETWEEN).shape == (4,)
    assert run.evaluate((x, y), t=0.5).shape == (2,)
    assert np.allclose(run.evaluate((x, y), t=0.5), run.at(0.5).q[0], rtol=0)


def test_functions_without_machine_code_are_evaluated():
    from scipy.special import jv

    run = swing()
    assert np.allclose(run.evaluate([sp.besselj(0, x), y]), np.stack([jv(0, run["x"]), run["y"]], axis=1))


def test_large_expressions_cost_their_distinct_parts():
    run, large = swing(), x
    for _ in range(60):
        large = sp.sin(large) + sp.cos(large) / 2
    expected = run["x"]
    for _ in range(60):
        expected = np.sin(expected) + np.cos(expected) / 2
    assert np.allclose(run.evaluate(large), expected)


def spinning(times, rate=40.0):
    wheel = da.Body("wheel", 1, (1, 1, 2), spin=(0, 0, rate))
    hinge = da.Revolute("hinge", da.ground.at(0, 0, 0), wheel, axis=(0, 0, 1))
    mechanism = da.Mechanism((wheel,), (hinge,))
    return hinge, da.simulate(mechanism.system, *mechanism.assemble(), times)


def test_angles_are_counted_over_many_turns_even_between_two_outputs():
    hinge, run = spinning([0.0, 1.0, 2.0])
    assert np.allclose(run.evaluate(hinge.angle, unwrap=True), [0, 40, 80], atol=1e-6)
    assert (np.abs(run.evaluate(hinge.angle)) <= np.pi).all()
    assert np.isclose(run.evaluate(hinge.angle, t=1.3, unwrap=True), 52, atol=1e-6)


def test_turns_that_cannot_be_counted_are_refused():
    run = da.simulate(da.System((x,), [[1]], (0,)), (0,), (100,), [0, 10])
    with pytest.raises(da.InputError, match=r"an angle must change by less than a quarter of a turn in half a step"):
        run.evaluate(sp.atan2(sp.sin(x), sp.cos(x)), unwrap=True)


def test_a_saved_run_is_reproduced(tmp_path):
    run = swing()
    run.save(tmp_path / "run.nc")
    found = da.reproduce(pendulum(), da.Trajectory.load(tmp_path / "run.nc"))
    assert (found.q == run.q).all() and (found.at(0.3).q == run.at(0.3).q).all()
    assert np.allclose(found.ledger().work, run.ledger().work, rtol=0)
    options = {"drift": da.Baumgarte(5, 5), "atol": 1e-7}
    saved = pickle.loads(pickle.dumps(swing(**options)))
    assert (da.reproduce(pendulum(), saved, drift=da.Baumgarte(5, 5)).q == saved.q).all()


def test_a_file_holds_the_system_of_its_run(tmp_path):
    """A run from a file has its ledger again without the system at hand, also through further files and pickles."""
    run = swing()
    run.save(tmp_path / "run.nc")
    loaded = da.Trajectory.load(tmp_path / "run.nc")
    found = da.reproduce(loaded)
    assert (found.q == run.q).all() and np.allclose(found.ledger().work, run.ledger().work, rtol=0)
    loaded.save(tmp_path / "copy.nc")
    again = pickle.loads(pickle.dumps(da.Trajectory.load(tmp_path / "copy.nc")))
    assert again.model == loaded.model and (da.reproduce(again).at(0.3).q == run.at(0.3).q).all()
    assert np.allclose(loaded.ledger().work, run.ledger().work, rtol=0) and (loaded.at(0.3).q == run.at(0.3).q).all()
    swing(drift=da.Baumgarte(5, 5)).save(tmp_path / "stabilised.nc")
    message = r"a ledger needs the run to be simulated again .* this failed: `drift` must be .*Use the run that"
    with pytest.raises(da.InputError, match=message):
        da.Trajectory.load(tmp_path / "stabilised.nc").ledger()


def test_runs_with_friction_and_with_signals_come_back(tmp_path):
    push = da.signal([0, 1, 2, 3], [0, 1, 0, 1], name="push")
    wall = da.Constraint(y, name="wall", nonideal=da.Coulomb(0.1))
    run = da.simulate(da.System((x, y), sp.eye(2), (push, -9.81), wall), (0, 0), (1, 0), [0, 1, 3])
    run.save(tmp_path / "run.nc")
    found = da.reproduce(da.Trajectory.load(tmp_path / "run.nc"))
    assert (found.q == run.q).all() and found.events == run.events and len(run.events) > 0


def copy_of(run):
    return pickle.loads(pickle.dumps(run))


MESSAGES = {
    r"`z` must be a coordinate or a constraint of the run; it has `x`, `y`, `rod`. .* as `x'`": lambda: swing()["z"],
    r"`rood` must be a constraint of the run; it has `rod`": lambda: swing().reaction("rood"),
    r"`run.force` needs the system that the run is a motion of; .* `da.reproduce\(system, run\)`": (
        lambda: copy_of(swing()).force("rod")
    ),
    r"`run.at` needs the system": lambda: copy_of(swing()).at(1),
    r"`run.evaluate` needs the system": lambda: copy_of(swing()).evaluate(x),
    r"`run.plot_energy` needs the system": lambda: copy_of(swing()).plot_energy(),
    r"`t` must be within the run, which is from 0 to 3; got 3.1": lambda: swing().at([1, 3.1]),
    r"`t` must be within the run, which is from 0 to 3; got -1": lambda: swing().evaluate(x, t=-1),
    r"`t` must increase": lambda: swing().at([1, 0.5]),
    r"`expression` must consist of coordinates .*`x`, `y`.* parameters \(`g`\); unknown: `mu`, `z\(t\)`": (
        lambda: swing().evaluate([da.parameters("mu") + x, da.coordinates("z")])
    ),
    r"unknown: `Derivative\(x\(t\), \(t, 3\)\)`": lambda: swing().evaluate(x.diff(da.t, 3)),
    r"`expression` must depend on the motion; got numbers only. A component such as": lambda: swing().evaluate(
        (0.5, 1)
    ),
    r"unknown: `multiplier\(wire\)`": lambda: swing().evaluate(da.multiplier("wire")),
    r"`expression` must hold at least one expression; got an empty sequence": lambda: swing().evaluate([]),
    r"`expression` must have rows of one length": lambda: swing().evaluate([[x, y], x]),
    r"`expression` must be an expression; got": lambda: swing().evaluate(object()),
    r"unknown: `f\(x\(t\)\)`": lambda: swing().evaluate(sp.Function("f")(x)),
    r"`expression` must have functions with numerical values: .*mathieuc": lambda: swing().evaluate(
        sp.mathieuc(1, 1, x)
    ),
    r"`run` must be a trajectory; got 3": lambda: da.reproduce(pendulum(), 3),
    r"`run` must be a trajectory; got None": lambda: da.reproduce(pendulum()),
    r"`run` must hold its system to be simulated again without it; .* `da.reproduce\(system, run\)`": (
        lambda: da.reproduce(copy_of(swing()))
    ),
    r"`run` must have at least two times to be simulated again; it has 1": lambda: da.reproduce(
        pendulum(), swing().until(1)
    ),
    r"`system` must be that of the run, with the coordinates `x`, `y` and the constraints `rod`; it has .* none": (
        lambda: da.reproduce(da.System((x, y), sp.eye(2), (0, -g)), swing())
    ),
    r"`drift` must be that of the run, Baumgarte; got Projection": lambda: da.reproduce(
        pendulum(), swing(drift=da.Baumgarte(5, 5))
    ),
    r"`run` must be a motion of `system` with these options; simulated again, the coordinates of `x` differ by": (
        lambda: da.reproduce(da.System((x, y), sp.eye(2), (0, -2 * g), pendulum().constraints), swing())
    ),
}


@pytest.mark.parametrize("message", MESSAGES)
def test_messages(message):
    with pytest.raises(da.InputError, match=message):
        MESSAGES[message]()


def test_a_run_with_events_is_reproduced_with_them() -> None:
    """Events are no part of a file; without them the run that is returned would list none."""
    position = da.coordinates("x")
    system, mark = da.System((position,), [[1]], (-position,)), da.Event(position - 0.5, name="mark")
    saved = pickle.loads(pickle.dumps(da.simulate(system, (1,), (0,), [0, 3], events=[mark])))
    again = da.reproduce(system, saved, events=[mark])
    assert [event.t for event in again.events] == [event.t for event in saved.events]
    with pytest.raises(da.InputError, match=r"`events` must be those of the run, in which `mark` occurred; .*none did"):
        da.reproduce(system, saved)
