"""Servos and controllers where they could be wrong without a word: undefined inputs, limits, shared actuators."""

from __future__ import annotations

import copy
import pickle
import re

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.lowering.build import build

t = da.t
x, y = da.coordinates("x y")
m, c, limit, rate = da.parameters("m c limit rate")
push, lift = da.Actuator("push", x), da.Actuator("lift", y)


def cart(reference=sp.S.One, most=None, settle=3):
    servo = da.Servo("go", x - reference, by=da.Actuator("push", x, limit=most), settle=settle)
    return da.System((x,), [[m]], (0,), servos=servo)


def particle(*servos):
    return da.System((x, y), sp.eye(2), (0, 0), servos=servos)


def test_a_limit_does_not_hide_a_reference_that_is_undefined():
    system = cart(sp.log(2 - t), 10)
    with pytest.raises(da.ConstraintError, match="requirement of servo `go` must be finite; at t = 3 it is not"):
        da.motion(system, [0], [0], 3.0, parameters={"m": 1})
    control = da.controller(system, parameters={"m": 1})
    with pytest.raises(da.ConstraintError, match="must be finite"):
        control([np.nan], [0.0], 0.0)
    for own in (None, control, da.controller(system, parameters={"m": 1}, period=0.01)):
        with pytest.raises(da.SimulationError, match="servo `go` must be finite") as caught:
            da.simulate(system, [0.69], [-0.5], [0, 1, 3], parameters={"m": 1}, control=own)
        assert caught.value.time <= 2.01


@pytest.mark.slow  # compiles JAX programs; guards a path that few use
def test_an_adaptive_bound_also_grows_in_the_general_integrator():
    import diffrax

    control = da.controller(cart(), parameters={"m": 1.0}, adaptive=da.AdaptiveBound(20, 1, 0.1, start=0.5))
    options = ({}, {"formulation": da.PseudoInverse()}, {"solver": diffrax.Tsit5()})
    runs = [da.simulate(cart(), [0], [0], [0, 0.5, 1], parameters={"m": 1.3}, control=control, **o) for o in options]
    for run in runs[1:]:
        assert np.abs(run.q - runs[0].q).max() < 1e-7
        assert np.abs(run.estimated_bound - runs[0].estimated_bound).max() < 1e-6


def test_wrong_shapes_of_states_are_refused():
    control = da.controller(particle(da.Servo("s", (x - 1, y - 1), by=(push, lift), settle=3)))
    rows = np.zeros((2, 3))
    for q, qd, time in (([1.0], [1.0, 0, 0], 0), (rows, rows, 0), (rows[:, :1], rows[:, :1], 0)):
        with pytest.raises(da.InputError, match="`q` and `qd` must hold 2 numbers"):
            control(q, qd, time)
    with pytest.raises(da.InputError, match="`t` must be a number"):
        control([0, 0], [0, 0], None)
    with pytest.raises(da.InputError, match=r"`q` must be a sequence or a mapping by name; got 3\.0"):
        control(3.0, [0, 0], 0)
    with pytest.raises(da.InputError, match="one number or k"):
        control(np.zeros((3, 2)), np.zeros((3, 2)), [0, 1])
    assert control([[0.0, 0.0]], [[0.0, 0.0]])["push"] == pytest.approx([9.0])


def test_states_with_labels_are_put_in_order_and_others_refused():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    control = da.controller(particle(da.Servo("s", (x - 1, y - 3), by=(push, lift), settle=3)))
    expected, rest = control([0.0, 1.0], [0.0, 0.0]), [0.0, 0.0]
    assert control(pandas.Series({"y": 1.0, "x": 0.0}), rest) == expected
    table = pandas.DataFrame({"y": [1.0, 1.0], "x": [0.0, 0.0]})
    many = control(table, np.zeros((2, 2)))
    assert {name: values[1] for name, values in many.items()} == pytest.approx(expected)
    layers = control.layers(pandas.Series({"y": 1.0, "x": 0.0}), rest)
    assert sum(layer["lift"] for layer in layers.values()) == pytest.approx(expected["lift"])
    masked = np.ma.masked_array([0.0, 1.0], [True, False])
    for given in ({0.0, 1.0}, b"01", masked):
        with pytest.raises(da.InputError, match="`q"):
            control(given, rest)


def test_a_batch_names_the_state_at_which_no_inputs_exist():
    control = da.controller(particle(da.Servo("r", x**2 + y**2 - 1, by=(push, lift), settle=1)))
    with pytest.raises(da.ConstraintError, match="state 1: servo `r` must be met"):
        control(np.array([[1.0, 0], [0, 0]]), np.zeros((2, 2)))


def test_a_requirement_and_its_own_rate_are_refused():
    path = da.Servo("path", x - sp.sin(t), by=push, settle=2)
    speed = da.Servo("speed", x.diff(t) - sp.cos(t), by=push, settle=2)
    for by in ((push,), (push, lift)):
        servos = (da.Servo("path", path.requirement[0].expression, by=by, settle=2), speed)
        with pytest.raises(da.ModelError, match="depend on each other, contradict each other, or settle at different"):
            build(particle(*servos))


def test_actuators_of_several_servos_have_their_cost_once():
    """All inputs meet all requirements together, with the least |u|."""
    a1, a2, a3 = push, da.Actuator("both", {x: 1, y: 1}), lift
    servos = da.Servo("X", x - 1, by=(a1, a2), settle=1), da.Servo("Y", y - 2, by=(a2, a3), settle=1)
    found = da.motion(particle(*servos), (0, 0), (0, 0)).inputs
    expected = np.linalg.pinv([[1, 1, 0], [0, 1, 1]]) @ [1, 2]
    assert [found[name] for name in ("push", "both", "lift")] == pytest.approx(expected, abs=1e-14)


REFUSED = {
    "repeated": (lambda: da.Servo("s", x, by=(push, push)), "must hold each actuator once; given twice: `push`"),
    "with and without": (
        lambda: particle(da.Servo("X", x, by=push), da.Servo("Y", y)),
        "servo `Y`, without `by`, must not be combined with `X`",
    ),
    "two costs": (
        lambda: particle(da.Servo("X", x, by=push, cost=[[1]]), da.Servo("Y", y, by=(push, lift), cost=(1, 2))),
        "`cost` of `push` must be stated once; servos `X` and `Y` both give one",
    ),
    "two metrics": (lambda: particle(da.Servo("X", x, metric="euclidean"), da.Servo("Y", y)), "the same `metric`"),
    "a law": (
        lambda: da.Servo("X", da.Constraint(x, "x", da.Viscous(3))),
        "a requirement of servo `X` must have no nonideal law",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_combinations_that_would_be_ignored_are_refused(case):
    call, message = REFUSED[case]
    with pytest.raises(da.ModelError, match=re.escape(message)):
        call()


@pytest.mark.parametrize("period", [None, 0.01])
def test_the_limit_of_the_plant_holds_under_a_controller(period):
    control = da.controller(cart(), parameters={"m": 1}, period=period)
    run = da.simulate(cart(most=limit), [0], [0], [0, 0.1, 2], parameters={"m": 1, "limit": 2}, control=control)
    assert run.inputs["push"][0] == 2.0
    assert run.saturation[0].start == 0.0


def test_parameters_that_make_limits_or_rates_invalid_are_refused():
    with pytest.raises(da.InputError, match="`limit` of actuator `push` must be positive; got -5"):
        da.motion(cart(most=limit), [0], [0], parameters={"m": 1, "limit": -5})
    with pytest.raises(da.InputError, match="`settle` of servo `go` must not be negative, or errors grow; got -2"):
        da.controller(cart(settle=rate), parameters={"m": 1, "rate": -2})


def test_saturation_is_reported_for_a_plant_with_dry_friction():
    model = da.System((x,), [[2]], (0,), servos=da.Servo("go", x - sp.sin(t), by=da.Actuator("push", x, 8), settle=3))
    floor = da.Constraint(y, name="floor", nonideal=da.Coulomb(0.4, velocity=(x.diff(t),)))
    plant = da.System((x, y), sp.diag(2, 2), (0, -19.62), floor)
    run = da.simulate(plant, (0, 0), (0, 0), np.linspace(0, 6, 13), control=da.controller(model))
    within = np.zeros(len(run), bool)
    for one in run.saturation:
        within |= (run.t > one.start) & (run.t < one.end)
    assert np.array_equal(within, np.isclose(np.abs(run.inputs["push"]), 8, rtol=0, atol=0) & (run.t > 0) & (run.t < 6))


def test_too_many_requirements_are_refused_at_once():
    a, b = da.coordinates("a b")
    tip = (sp.cos(a) + sp.cos(a + b), sp.sin(a) + sp.sin(a + b))
    kinetic = (tip[0].diff(t) ** 2 + tip[1].diff(t) ** 2 + a.diff(t) ** 2) / 2
    servo = da.Servo("tip", (tip[0] - 1, tip[1] - 1), by=da.Actuator("motor", a), settle=2)
    with pytest.raises(da.ModelError, match=r"independently of `tip\[\d\]`; `motor` does not"):
        build(da.System.from_lagrangian(kinetic.doit(), (a, b), servos=servo))


def test_expressions_that_are_defined_only_far_from_one_are_accepted():
    for system, state in (
        (cart(sp.sqrt(t - 5)), ([1.0], [0.5], 6.0)),
        (da.System((x,), [[sp.sqrt(m**2 - 4)]], (0,), servos=da.Servo("go", x - 1, by=push, settle=3)), ([0.0], [0.0])),
    ):
        assert np.isfinite(da.motion(system, *state, parameters={"m": 3.0}).inputs["push"])


def test_a_sampled_controller_starts_off_the_constraints_if_that_is_allowed():
    rod = da.Constraint(x**2 + y**2 - 1, name="rod")
    model = da.System((x, y), sp.eye(2), (0, -9.81), rod, servos=da.Servo("go", x - sp.sin(t) / 2, by=push, settle=3))
    control = da.controller(model, period=0.05)
    run = da.simulate(model, (0, -1.01), (0, 0), [0, 0.5, 1], control=control, allow_violation=True)
    assert np.abs(run.violation[1:]).max() < 1e-12


def test_adaptive_runs_report_their_bound_and_energy():
    plant = da.System.from_lagrangian(m * x.diff(t) ** 2 / 2, (x,), servos=cart().servos)
    adaptive = da.AdaptiveBound(20, 1, 0.1, start=0.5)
    smooth, sampled = (
        da.simulate(
            plant,
            [0],
            [0],
            np.linspace(0, 1, 5),
            parameters={"m": 1.3},
            control=da.controller(plant, parameters={"m": 1.0}, adaptive=adaptive, period=period),
        )
        for period in (None, 1e-3)
    )
    assert np.abs(smooth.estimated_bound - sampled.estimated_bound).max() < 0.05
    assert np.abs(smooth.energy - 0.65 * smooth.qd[:, 0] ** 2).max() < 1e-12
    assert np.abs(sampled.ledger().audit).max() < 1e-10
    assert sampled.statistics["samples"] == 1000
    with pytest.raises(da.InputError, match=r"continuous adaptive controller\. Pass a `period`"):
        smooth.ledger()


def test_saturation_survives_files_and_controllers_are_pickled(tmp_path):
    run = da.simulate(cart(most=5), [0], [0], [0, 1], parameters={"m": 1})
    run.save(tmp_path / "run.nc")
    assert da.Trajectory.load(tmp_path / "run.nc").saturation[0].actuator == "push"
    control = da.controller(cart(), parameters={"m": 1})
    inputs = control([0.0], [0.0])
    for other in (pickle.loads(pickle.dumps(control)), copy.deepcopy(control)):
        assert other([0.0], [0.0]) == inputs


ARGUMENTS = {
    "robust": ({"robust": 5}, "`robust` must be a `da.BoundedUncertainty`; got 5"),
    "adaptive": ({"adaptive": da.BoundedUncertainty(1, 1)}, "`adaptive` must be a `da.AdaptiveBound`"),
    "unknown parameter": ({"robust": da.BoundedUncertainty(c, 1)}, "must use parameters of the model; `c` is unknown"),
    "unknown coordinate": ({"robust": da.BoundedUncertainty(1 + y**2, 1)}, "must use only the system's coordinates"),
    "adaptive with a state": ({"adaptive": da.AdaptiveBound(1 + x**2, 1, 1)}, "must be a number or an expression of"),
    "noise": ({"period": 1, "noise": "a"}, "`noise` must be one, 1 or 2 standard deviations"),
    "infinite noise": ({"period": 1, "noise": np.inf}, "`noise` must be one, 1 or 2 standard deviations"),
    "seed": ({"period": 1, "seed": -1}, "`seed` must be a whole number, zero or positive; got -1"),
}


@pytest.mark.parametrize("case", ARGUMENTS)
def test_arguments_of_controllers_are_checked(case):
    given, message = ARGUMENTS[case]
    with pytest.raises(da.InputError, match=message):
        da.controller(cart(), parameters={"m": 1}, **given)


def test_a_limit_in_time_needs_a_continuous_controller():
    control = da.controller(cart(most=2 + t), parameters={"m": 1}, period=0.1)
    with pytest.raises(da.InputError, match="`limit` of actuator `push` must be a number or an expression of par"):
        da.simulate(cart(), [0], [0], [0, 1], parameters={"m": 1}, control=control)


def test_a_cost_that_is_not_positive_is_named():
    servo = da.Servo("s", x - 1, by=(push, da.Actuator("other", x)), settle=1, cost=(1, m))
    system = da.System((x,), [[1]], (0,), servos=servo)
    with pytest.raises(da.ConstraintError, match="`cost` of `s` must be positive definite; at t = 0 it is not"):
        da.motion(system, [0], [0], parameters={"m": -3})


@pytest.mark.parametrize("reverse", [False, True])
def test_a_crane_starts_with_a_vertical_rope(reverse: bool) -> None:
    """Where the trolley does not act on the load, and the winch alone determines the direction of the rope."""
    x, length, X, Z = da.coordinates("x l X Z")
    path = {X: sp.sin(da.t) / 2, Z: -4 + sp.Rational(3, 10) * sp.cos(2 * da.t)}
    rows = [coordinate - at for coordinate, at in path.items()]
    load = da.Servo(
        "load",
        rows[::-1] if reverse else rows,
        by=(da.Actuator("trolley", x), da.Actuator("winch", length)),
        settle=5,
    )
    rope = da.Constraint((X - x) ** 2 + Z**2 - length**2, "rope")
    crane = da.System((x, length, X, Z), sp.diag(5, 2, 1.3, 1.3), (0, 0, 0, -1.3 * 9.81), rope, servos=load)
    # the rope is parallel to the force on the load: closed form
    slope = path[X].diff(da.t, 2) / (path[Z].diff(da.t, 2) + 9.81)
    trolley, rope_length = path[X] - path[Z] * slope, -path[Z] * sp.sqrt(1 + slope**2)
    tension = 1.3 * (path[Z].diff(da.t, 2) + 9.81) * sp.sqrt(1 + slope**2)
    inputs = {
        "trolley": 5 * trolley.diff(da.t, 2) + 1.3 * path[X].diff(da.t, 2),
        "winch": 2 * rope_length.diff(da.t, 2) - tension,
    }
    motion = sp.Matrix([trolley, rope_length, path[X], path[Z]])
    q0, qd0 = (np.array(m.subs(da.t, 0), float).ravel() for m in (motion, motion.diff(da.t)))
    found = da.consistent_state(crane, (0.1, 4, 0.1, -4), (0, 0, 0, 0), servos=True)
    np.testing.assert_allclose(np.concatenate(found), np.concatenate([q0, qd0]), atol=1e-10)
    run = da.simulate(crane, q0, qd0, np.linspace(0, 4, 9))
    np.testing.assert_allclose(run.servo_error["load"], 0, atol=1e-9)
    for name, exact in inputs.items():
        np.testing.assert_allclose(run.inputs[name], [float(exact.subs(da.t, s)) for s in run.t], atol=1e-7)


@pytest.mark.parametrize("kind", ["servo", "continuous", "sampled"])
def test_a_motion_that_ends_at_a_singular_position_names_the_servo(kind):
    """A tip that must go farther than the arm reaches."""
    a, b = da.coordinates("a b")
    elbow = sp.Matrix([sp.cos(a), sp.sin(a)])
    tip = elbow + sp.Matrix([sp.cos(a + b), sp.sin(a + b)])
    energy = (elbow.diff(t).dot(elbow.diff(t)) + tip.diff(t).dot(tip.diff(t))) / 2
    motors = da.Actuator("shoulder", a), da.Actuator("elbow", b)
    servo = da.Servo("reach", (tip[0] - 1 - t, tip[1]), by=motors, settle=5)
    arm = da.System.from_lagrangian(energy, (a, b), servos=servo)
    control = {"servo": None, "continuous": da.controller(arm), "sampled": da.controller(arm, period=0.01)}[kind]
    pattern = r"inputs of `shoulder`, `elbow` grow without bound, from usually .* lose their effect on servo `reach`"
    with pytest.raises(da.SimulationError, match=pattern):
        da.simulate(arm, (np.pi / 3, -2 * np.pi / 3), (0, 0), [0, 2], control=control, max_steps=3000)
