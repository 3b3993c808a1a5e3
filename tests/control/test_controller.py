"""Controllers on plants that differ from their model: layers, sampling, delay, limits and noise."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import dalembert as da

t = da.t
x, y = da.coordinates("x y")
m, c = da.parameters("m c")
RATE = 3.0


def cart(limit=None, reference=sp.S.One, requirement=True):
    """A mass on a rail with a damper; it must follow a reference."""
    motor = da.Actuator("motor", x, limit=limit)
    servos = (da.Servo("follow", x - reference, by=motor, settle=RATE),) if requirement else ()
    return da.System((x,), [[m]], (-c * x.diff(t),), servos=servos)


NOMINAL = {"m": 2.0, "c": 0.5}


def test_a_controller_is_a_function_of_the_state():
    control = da.controller(cart(), parameters=NOMINAL)
    expected = 2.0 * (9 * (1 - 0.25) - 6 * 0.5) + 0.5 * 0.5
    assert control([0.25], [0.5], 0.0) == pytest.approx({"motor": expected}, rel=1e-14)
    assert control({"x": 0.25}, {"x": 0.5}) == pytest.approx({"motor": expected}, rel=1e-14)
    many = control(np.array([[0.25], [0.0]]), np.array([[0.5], [0.0]]))
    assert many["motor"] == pytest.approx([expected, 18.0], rel=1e-14)


@pytest.mark.parametrize(
    "layer", [{"robust": da.BoundedUncertainty(2, 0.1)}, {"adaptive": da.AdaptiveBound(1, 1, 0.1)}]
)
def test_one_state_and_many_have_the_same_inputs(layer):
    control = da.controller(cart(), parameters=NOMINAL, **layer)
    states = np.random.default_rng(2).normal(size=(2, 5, 1))
    many = control(*states, bound=0.7)["motor"]
    assert many == pytest.approx([control(q, qd, bound=0.7)["motor"] for q, qd in zip(*states, strict=True)], rel=1e-14)
    # ρ z/‖z‖ outside the boundary layer and ρ z/ε within it, with z = β' + ωβ
    z = states[1, :, 0] + RATE * (states[0, :, 0] - 1)
    rho = 2 if "robust" in layer else 0.7
    nominal = da.controller(cart(), parameters=NOMINAL)(*states)["motor"]
    assert many == pytest.approx(nominal - 2.0 * rho * z / np.maximum(np.abs(z), 0.1), rel=1e-12)


def test_on_its_own_model_a_controller_moves_it_as_the_servo_does():
    times = np.linspace(0, 2, 9)
    own = da.simulate(cart(), [0], [0], times, parameters=NOMINAL)
    run = da.simulate(cart(), [0], [0], times, parameters=NOMINAL, control=da.controller(cart(), parameters=NOMINAL))
    assert np.abs(own.q - run.q).max() < 1e-12
    assert np.abs(own.inputs["motor"] - run.inputs["motor"]).max() < 1e-10
    assert np.abs(own.servo_error["follow"] - run.servo_error["follow"]).max() < 1e-12


def test_a_wrong_mass_moves_the_plant_as_its_closed_form_says():
    """m x'' = −c x' + u with u = m̂(−ω²(x − 1) − 2ω x') + ĉ x': a linear equation with constant coefficients."""
    actual = {"m": 2.4, "c": 0.9}
    control = da.controller(cart(), parameters=NOMINAL)
    run = da.simulate(cart(requirement=False), [0], [0], np.linspace(0, 3, 13), parameters=actual, control=control)
    stiffness, damping = 2.0 * RATE**2 / 2.4, (0.9 - 0.5 + 2 * 2.0 * RATE) / 2.4
    roots = np.roots([1, damping, stiffness]).astype(complex)
    a = np.linalg.solve([[1, 1], roots], [-1, 0])
    expected = (a[0] * np.exp(roots[0] * run.t) + a[1] * np.exp(roots[1] * run.t)).real
    assert np.abs(run.servo_error["follow"] - expected).max() < 1e-9


def test_a_plant_may_have_coordinates_that_the_model_does_not_know():
    plant = da.System((x, y), sp.diag(2, 1), (-10 * (x - y), 10 * (x - y)))
    control = da.controller(cart(), parameters=NOMINAL)
    run = da.simulate(plant, [0, 0], [0, 0], np.linspace(0, 1, 5), control=control)
    forces = np.einsum("ij,kj->ki", np.diag([2.0, 1.0]), run.acceleration)
    spring = 10 * (run["x"] - run["y"])
    assert np.abs(forces[:, 0] - (run.inputs["motor"] - spring)).max() < 1e-9
    assert np.abs(forces[:, 1] - spring).max() < 1e-9


def exact_sampled(period, delay, count, mass=2.0, damper=0.5, limit=np.inf):
    """The states after each period of the cart under held inputs, in closed form."""

    def moved(state, u, time):
        # exact for a constant force: v' = −(c/m) v + u/m
        rate = damper / mass
        end = u / damper
        v = end + (state[1] - end) * np.exp(-rate * time)
        return np.array([state[0] + end * time + (state[1] - end) * (1 - np.exp(-rate * time)) / rate, v])

    state, before, states = np.zeros(2), 0.0, [np.zeros(2)]
    for _ in range(count):
        u = np.clip(2.0 * (RATE**2 * (1 - state[0]) - 2 * RATE * state[1]) + 0.5 * state[1], -limit, limit)
        state = moved(moved(state, before, delay), u, period - delay)
        before = u
        states.append(state)
    return np.array(states)


@pytest.mark.parametrize(("delay", "limit"), [(0.0, None), (0.003, None), (0.0, 5.0)])
def test_a_sampled_controller_holds_its_inputs(delay, limit):
    period, count = 0.01, 100
    control = da.controller(cart(limit), parameters=NOMINAL, period=period, delay=delay)
    times = period * np.arange(count + 1)
    run = da.simulate(cart(), [0], [0], times, parameters=NOMINAL, control=control)
    expected = exact_sampled(period, delay, count, limit=np.inf if limit is None else limit)
    assert np.abs(np.column_stack([run["x"], run.qd[:, 0]]) - expected).max() < 1e-11
    assert np.abs(run.ledger().audit).max() < 1e-10


def test_a_delay_of_several_periods_keeps_the_order_of_the_inputs():
    control = da.controller(cart(), parameters=NOMINAL, period=0.01, delay=0.025)
    run = da.simulate(cart(), [0], [0], [0, 0.024, 0.026, 0.1], parameters=NOMINAL, control=control)
    assert run["x"][1] == 0.0  # nothing has reached the motor yet
    assert run.inputs["motor"][2] == pytest.approx(18.0, rel=1e-14)


def test_saturation_is_reported_with_its_times():
    run = da.simulate(cart(5.0), [0], [0], np.linspace(0, 2, 5), parameters={"m": 1.0, "c": 0.0})
    # u = 9(1 − x) − 6 v falls to 5 at x = 5 t²/2, v = 5 t
    end = (-30 + np.sqrt(900 + 360)) / 45
    ((name, start, stop),) = run.saturation
    assert (name, start) == ("motor", 0.0)
    assert stop == pytest.approx(end, abs=1e-9)
    assert any("`motor` was at its limit from t = 0 to 0.122144" in note for note in run.notes)
    assert run.inputs["motor"][0] == 5.0


def test_saturation_of_a_sampled_controller_is_reported():
    control = da.controller(cart(5.0), parameters={"m": 1.0, "c": 0.0}, period=0.01)
    run = da.simulate(cart(), [0], [0], [0, 1], parameters={"m": 1.0, "c": 0.0}, control=control)
    ((_, start, stop),) = run.saturation
    assert (start, round(stop, 9)) == (0.0, 0.13)


def wind():
    """The cart under a force that the model does not know."""
    return da.System((x,), [[m]], (-c * x.diff(t) + 3 * sp.sin(5 * t),))


@pytest.mark.parametrize("epsilon", [1e-1, 1e-2, 1e-3])
def test_a_robust_layer_keeps_the_error_in_a_ball_of_the_stated_size(epsilon):
    # the unknown acceleration of the requirement is at most 3/2 by the wind
    robust = da.BoundedUncertainty(rho=1.5, epsilon=epsilon)
    control = da.controller(cart(), parameters=NOMINAL, robust=robust)
    run = da.simulate(wind(), [1.0], [0], np.linspace(0, 6, 121), parameters=NOMINAL, control=control)
    error = run.servo_error["follow"]
    z = run.qd[:, 0] + RATE * error
    assert np.abs(z).max() < epsilon
    assert np.abs(error).max() < epsilon / RATE


def test_without_a_robust_layer_the_error_is_as_large_as_the_uncertainty_makes_it():
    """β'' + 2ωβ' + ω²β = (3/2) sin 5t: the amplitude is 1.5/(ω² + 25)."""
    control = da.controller(cart(), parameters=NOMINAL)
    run = da.simulate(wind(), [1.0], [0], np.linspace(0, 9, 901), parameters=NOMINAL, control=control)
    assert np.abs(run.servo_error["follow"][600:]).max() == pytest.approx(1.5 / (RATE**2 + 25), rel=1e-3)


def test_an_adaptive_bound_grows_until_the_error_is_small_and_obeys_its_equation():
    adaptive = da.AdaptiveBound(growth=200.0, leakage=0.5, epsilon=1e-2)
    control = da.controller(cart(), parameters=NOMINAL, adaptive=adaptive)
    times = np.linspace(0, 6, 2401)
    run = da.simulate(wind(), [1.0], [0], times, parameters=NOMINAL, control=control)
    assert run.coordinates == ("x",) and run.q.shape == (2401, 1)
    z = np.abs(run.qd[:, 0] + RATE * run.servo_error["follow"])
    alpha = run.estimated_bound
    rate = np.gradient(alpha, times, edge_order=2)
    assert np.abs(rate - (200 * z - 0.5 * alpha))[1:-1].max() < 1e-3 * np.abs(rate).max() + 0.02
    assert np.abs(run.servo_error["follow"][1200:]).max() < 0.01
    assert alpha[-1] > 0.5


def test_an_adaptive_bound_is_sampled_as_well():
    adaptive = da.AdaptiveBound(growth=200.0, leakage=0.5, epsilon=1e-2)
    times = np.linspace(0, 3, 31)
    smooth, sampled = (
        da.simulate(
            wind(),
            [1.0],
            [0],
            times,
            parameters=NOMINAL,
            control=da.controller(cart(), parameters=NOMINAL, adaptive=adaptive, period=period),
        )
        for period in (None, 1e-3)
    )
    assert np.abs(smooth["x"] - sampled["x"]).max() < 1e-3


def test_an_ensemble_of_plants_under_one_controller():
    masses, times = np.array([1.6, 2.0, 2.4]), np.linspace(0, 2, 5)
    control = da.controller(cart(), parameters=NOMINAL)
    many = da.simulate_ensemble(cart(), [0], [0], times, parameters={"m": masses, "c": 0.5}, control=control)
    for k, mass in enumerate(masses):
        one = da.simulate(cart(), [0], [0], times, parameters={"m": mass, "c": 0.5}, control=control)
        assert np.abs(many["q"].values[k] - one.q).max() < 1e-12


def test_noise_is_drawn_from_the_seed():
    times = np.linspace(0, 1, 11)

    def run(seed):
        control = da.controller(cart(), parameters=NOMINAL, period=0.01, noise=(0.01, 0.1), seed=seed)
        return da.simulate(cart(), [0], [0], times, parameters=NOMINAL, control=control)

    assert np.array_equal(run(1).q, run(1).q)
    assert not np.array_equal(run(1).q, run(2).q)


def test_a_controller_acts_on_a_plant_with_dry_friction():
    """The friction of a floor under the cart is unknown to the controller; the cart sticks beside its target."""
    floor = da.Constraint(y, name="floor", nonideal=da.Coulomb(0.1, velocity=(x.diff(t),)))
    plant = da.System((x, y), sp.diag(2, 2), (0, -19.62), floor)
    control = da.controller(cart(), parameters={"m": 2.0, "c": 0.0})
    run = da.simulate(plant, [0.95, 0], [0.3, 0], np.linspace(0, 1, 11), control=control)
    assert run.events and run.events[-1].kind == "sticks"
    assert run.qd[-1, 0] == 0.0
    # it sticks where the input no longer exceeds the friction
    assert 0 < abs(run.inputs["motor"][-1]) <= 0.1 * 19.62 * (1 + 1e-9)


REFUSALS = {
    "without servos": (lambda: da.controller(cart(requirement=False), parameters=NOMINAL), "with `servos`"),
    "period": (lambda: da.controller(cart(), parameters=NOMINAL, period=0), "`period` must be positive; got 0"),
    "delay": (lambda: da.controller(cart(), parameters=NOMINAL, period=1, delay=-1), "`delay` must not be negative"),
    "delay alone": (lambda: da.controller(cart(), parameters=NOMINAL, delay=1), "sampled controller; pass a `period`"),
    "noise": (
        lambda: da.controller(cart(), parameters=NOMINAL, period=1, noise=(1, 2, 3)),
        "`noise` must be one, 1 or 2 standard deviations",
    ),
    "two layers": (
        lambda: da.controller(
            cart(), parameters=NOMINAL, robust=da.BoundedUncertainty(1, 1), adaptive=da.AdaptiveBound(1, 1, 1)
        ),
        "must not be given together",
    ),
    "parameters": (lambda: da.controller(cart(), parameters={"m": 1}), "missing: `c`"),
    "other coordinates": (
        lambda: da.simulate(
            da.System((y,), [[1]], (0,)), [0], [0], [0, 1], control=da.controller(cart(), parameters=NOMINAL)
        ),
        "its model has `x`, which the plant has not",
    ),
    "not a controller": (
        lambda: da.simulate(cart(), [0], [0], [0, 1], parameters=NOMINAL, control=3),
        "`control` must be a controller made by `da.controller`; got 3",
    ),
    "shape": (lambda: da.controller(cart(), parameters=NOMINAL)([1, 2], [3]), "must hold 1 numbers each"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_refusals(case):
    call, message = REFUSALS[case]
    with pytest.raises(da.InputError, match=message.replace("(", r"\(")):
        call()


LAYERS = {
    "rho": (lambda: da.BoundedUncertainty(0, 1), "`rho` of BoundedUncertainty must be positive; got 0"),
    "epsilon": (lambda: da.BoundedUncertainty(1, -1), "`epsilon` of BoundedUncertainty must be positive; got -1"),
    "growth": (lambda: da.AdaptiveBound(0, 1, 1), "`growth` of AdaptiveBound must be positive; got 0"),
    "start": (lambda: da.AdaptiveBound(1, 1, 1, -1), "`start` of AdaptiveBound must be a number, zero or positive"),
}


@pytest.mark.parametrize("case", LAYERS)
def test_layers_with_invalid_numbers_are_refused(case):
    call, message = LAYERS[case]
    with pytest.raises(da.ModelError, match=message):
        call()


def test_a_reference_that_is_not_finite_is_named():
    system = cart(reference=sp.log(t - 1))
    with pytest.raises(da.ConstraintError, match="requirement of servo `follow` must be finite"):
        da.simulate(system, [0], [0], [0, 1], parameters=NOMINAL)
    control = da.controller(system, parameters=NOMINAL)
    with pytest.raises(da.ConstraintError, match="requirement of servo `follow` must be finite"):
        control([0.0], [0.0], 0.0)


@pytest.mark.parametrize("keep", ["times", "end"])
@pytest.mark.parametrize("controlled", [False, True])
def test_an_ensemble_has_the_inputs_and_errors_of_single_runs(controlled, keep):
    u, t = da.coordinates("u"), da.t
    mass = da.parameters("mass")
    by = (da.Actuator("push", x, limit=4), da.Actuator("pull", {x: 1, u: -1}))
    servo = da.Servo("both", (x - sp.sin(t), u - 1), by=by, settle=3)
    plant = da.System((x, u), sp.diag(mass, 2), (0, -u), servos=servo)
    control = da.controller(plant, parameters={"mass": 1.5}) if controlled else None
    masses, times = np.array([1.0, 2.0, 3.0]), np.linspace(0, 2, 5)
    starts = np.array([[0, 1], [0, 0.9], [1, 0]])
    many = da.simulate_ensemble(plant, starts, (1, 0), times, parameters={"mass": masses}, control=control, keep=keep)
    for k, mass_k in enumerate(masses):
        one = da.simulate(plant, starts[k], (1, 0), times, parameters={"mass": mass_k}, control=control)
        kept = slice(None) if keep == "times" else slice(-1, None)
        for name, values in one.inputs.items():
            np.testing.assert_allclose(many[f"input({name})"][k], values[kept], atol=1e-6)
        np.testing.assert_allclose(many["error(both)"][k], one.servo_error["both"][kept], atol=1e-6)
    assert ("`push` was at its limit" in many.attrs["notes"]) == (keep == "times")


def test_a_summary_notes_inputs_at_their_limits():
    many = da.simulate_ensemble(cart(limit=1), [[0.0], [1.0]], [0], [0, 1], parameters=NOMINAL, keep="summary")
    assert "`motor` was at its limit at outputs of" in many.attrs["notes"]


def test_inputs_that_depend_on_sticking_contacts_are_left_out_of_ensembles():
    y = da.coordinates("y")
    floor = da.Constraint(y, "floor", nonideal=da.Coulomb(0.1))
    servo = da.Servo("go", x - da.t, by=da.Actuator("motor", x), settle=2)
    rough = da.System((x, y), sp.eye(2), (0, -9.81), floor, servos=servo)
    many = da.simulate_ensemble(rough, [[0, 0], [0.1, 0]], (1, 0), [0, 1])
    assert "Inputs are not reported, because they depend on which contacts stick" in many.attrs["notes"]
    assert "input(motor)" not in many and many["error(go)"].shape == (2, 2)


@pytest.mark.parametrize("extra", ["", "robust", "adaptive"])
def test_layers_sum_up_to_the_inputs_before_limits(extra):
    """Two masses and a spring: by hand u = (m₁ + m₂) s̈ + (m₁ m₂/k) s⁗ + settling terms of order four."""
    m1, m2, k, rate, rho, epsilon = 2.0, 3.0, 7.0, 2.0, 5.0, 0.1
    servo = da.Servo("second", y - sp.sin(t), by=da.Actuator("push", x, limit=1e-3), settle=rate)
    system = da.System((x, y), sp.diag(m1, m2), (-k * (x - y), k * (x - y)), servos=servo)
    layer = {
        "": {},
        "robust": {"robust": da.BoundedUncertainty(rho, epsilon)},
        "adaptive": {"adaptive": da.AdaptiveBound(1, 1, epsilon)},
    }[extra]
    control = da.controller(system, **layer)
    q, qd, at = np.array([0.3, -0.2]), np.array([0.1, 0.4]), 0.6
    spring, slope = k * (q[0] - q[1]) / m2, k * (qd[0] - qd[1]) / m2  # ÿ and its rate
    errors = [q[1] - np.sin(at), qd[1] - np.cos(at), spring + np.sin(at), slope + np.cos(at)]
    # y⁗ = (k/m₂)(ẍ − ÿ), with m₁ ẍ = u − m₂ ÿ
    nominal = m1 * (m2 / k * np.sin(at) + spring) + m2 * spring
    z = errors[3] + 3 * rate * errors[2] + 3 * rate**2 * errors[1] + rate**3 * errors[0]
    settling = (
        -m1 * m2 / k * sum(c * rate ** (4 - j) * e for j, (c, e) in enumerate(zip((1, 4, 6, 4), errors, strict=True)))
    )
    found = control.layers(q, qd, at, **({"bound": rho} if extra == "adaptive" else {}))
    assert found["nominal"]["push"] == pytest.approx(nominal, rel=1e-10)
    assert found["settling"]["push"] == pytest.approx(settling, rel=1e-10)
    assert list(found) == ["nominal", "settling", *(["robust"] if extra else [])]
    if extra:
        robust = -m1 * m2 / k * rho * z / max(abs(z), epsilon)
        assert found["robust"]["push"] == pytest.approx(robust, rel=1e-10)
    many = control.layers(np.stack([q, q]), np.stack([qd, qd]), at, bound=np.full(2, rho))
    np.testing.assert_allclose(many["nominal"]["push"], nominal, rtol=1e-10)


def test_layers_check_their_arguments():
    with pytest.raises(da.InputError, match="must hold 1 numbers, or k rows of 1"):
        da.controller(cart(), parameters=NOMINAL).layers([0.0, 1.0], [0.0, 1.0])
