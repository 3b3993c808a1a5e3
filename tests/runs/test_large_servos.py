"""Servo constraints of large systems: against constraints that prescribe the same motion, and straight-line code."""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.model.similar_terms import grouped_terms
from dalembert.runs.large_runs import large_consistent_state, large_motion, large_simulation
from dalembert.settings import method_of

N = 101
CIRCLE = (0.3 * (1 - sp.cos(2 * da.t)), 0.3 * sp.sin(2 * da.t))
T = {"parameters": {"rate": 5.0}}


def bridge(count=N, by=None, **servo):
    """A rope bridge, of which the first particle is led around a circle by two actuators."""
    x, y = da.coordinates("x", count), da.coordinates("y", count)
    u, v, w, z = da.coordinates("u v w z")
    rods = da.Constraint.over((u - w) ** 2 + (v - z) ** 2 - 1, {u: x[:-1], v: y[:-1], w: x[1:], z: y[1:]}, name="rod")
    ends = (da.Constraint(x[count - 1] - 0.9 * (count - 1), name="right"), da.Constraint(y[count - 1], name="height"))
    path = tuple(q - c for q, c in zip((x[0], y[0]), CIRCLE, strict=True))
    by = by or (da.Actuator("across", x[0]), da.Actuator("up", {y[0]: 2, y[1]: 1}))
    servo = da.Servo("circle", servo.pop("requirement", path), by=by, **servo)
    common = ((x, y), 1.0, {y: -9.81})
    prescribed = tuple(da.Constraint(row, name=f"path {i}") for i, row in enumerate(path))
    return (
        da.System(*common, (*ends, rods), nonideal=da.Viscous(0.5), servos=servo),
        da.System(*common, (*ends, rods, *prescribed), nonideal=da.Viscous(0.5)),
    )


def zigzag(count=N):
    return np.concatenate([0.9 * np.arange(count), np.sqrt(1 - 0.81) * (np.arange(count) % 2)]), np.zeros(2 * count)


def test_servo_leads_a_large_system_as_a_constraint_of_the_same_path():
    """Two forces on one particle that meet a requirement are those of a constraint which prescribes its path."""
    x, y = da.coordinates("x", N), da.coordinates("y", N)
    led, prescribed = bridge(by=(da.Actuator("across", x[0]), da.Actuator("up", y[0])), settle=sp.Symbol("rate"))
    state = da.consistent_state(led, *zigzag(), servos=True, **T)
    for found, wanted in zip(state, da.consistent_state(prescribed, *zigzag()), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-12)
    found, wanted = da.motion(led, *state, **T), da.motion(prescribed, *state)
    np.testing.assert_allclose(found.acceleration, wanted.acceleration, atol=1e-10)
    np.testing.assert_allclose([*found.inputs.values()], wanted.reactions[-2:], rtol=1e-10)
    run = da.simulate(led, *state, [0, 0.1, 0.2], rtol=1e-7, **T)
    other = da.simulate(prescribed, *state, [0, 0.1, 0.2], rtol=1e-7)
    np.testing.assert_allclose(run.q, other.q, atol=1e-6)
    assert np.abs(run.servo_error["circle"]).max() < 1e-7
    assert np.abs(run.violation).max() < 1e-11
    np.testing.assert_allclose(run.input_force[:, [0, N]], np.transpose([*run.inputs.values()]))


def test_errors_of_a_large_system_settle_at_their_rate():
    led, _ = bridge(settle=5.0)
    state = da.consistent_state(led, *zigzag())
    run = da.simulate(led, *state, [0, 0.1, 0.3], rtol=1e-8)
    position = np.array([float(c.subs(da.t, 0)) for c in CIRCLE])
    speed = np.array([float(c.diff(da.t).subs(da.t, 0)) for c in CIRCLE])
    error, rate = state.q[[0, N]] - position, state.qd[[0, N]] - speed
    assert np.abs(rate).max() > 0.5
    t = run.t[:, None]
    np.testing.assert_allclose(
        run.servo_error["circle"], (error + (rate + 5 * error) * t) * np.exp(-5 * t), rtol=0, atol=1e-7
    )


def arm(limit=None, **servo):
    """Three particles on two rods, with an oblique actuator, a cost with coupling, and a rate as parameter."""
    x, y = da.coordinates("x", 3), da.coordinates("y", 3)
    rods = [da.Constraint((x[i] - x[i + 1]) ** 2 + (y[i] - y[i + 1]) ** 2 - 1, name=f"rod{i}") for i in range(2)]
    by = da.Actuator("fx", x[0], limit=limit), da.Actuator("fy", {y[0]: 1, y[1]: 0.5})
    path = (x[0] - 0.2 * sp.sin(da.t), y[0] - 0.1 * da.t**2)
    given = {"by": by, "settle": da.parameters("rate"), "cost": [[2, 0.5], [0.5, 1]]}
    servos = da.Servo("path", path, **(given | servo))
    masses = [1, 2, 1]
    force = [0] * 3 + [-9.8 * m for m in masses]
    system = da.System([*x, *y], sp.diag(*masses, *masses), force, rods, nonideal=da.Viscous(0.3), servos=servos)
    return system, da.consistent_state(system, [0.1, 1, 2, 0.1, 0, 0], np.zeros(6), **T)


@cache
def groups_of(system):
    return grouped_terms(system)


def by_groups(system, state, times, **others):
    method = method_of(None, da.Projection(), others.get("solver"), others.get("rtol", 1e-11), None, None, 100_000)
    options = {"allow_violation": False, "control": None, "progress": False}
    return large_simulation(groups_of(system), method, *state, times, **T, **options)


@pytest.mark.parametrize("solver", [None, da.Implicit()])
def test_runs_with_servos_are_those_of_straight_line_code(solver):
    system, state = arm()
    found = by_groups(system, state, [0, 0.1, 0.2], solver=solver)
    wanted = da.simulate(system, *state, [0, 0.1, 0.2], rtol=1e-11, solver=solver, **T)
    for name in ("q", "qd", "acceleration", "input_force", "nonideal_force", "reactions"):
        np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), rtol=0, atol=1e-8)
    np.testing.assert_allclose(found.servo_error["path"], wanted.servo_error["path"], rtol=0, atol=1e-10)
    assert list(found.inputs) == list(wanted.inputs)
    for one, other in zip(found.split_input_force(), wanted.split_input_force(), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-8)


def test_work_of_inputs_is_that_of_straight_line_code():
    system, state = arm()
    found = by_groups(system, state, [0, 0.1], rtol=1e-6).ledger()
    wanted = da.simulate(system, *state, [0, 0.1], rtol=1e-9, **T).ledger()
    assert found.entries == wanted.entries
    for name in ("work", "split_work", "power", "audit"):
        np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), rtol=0, atol=1e-7)
    np.testing.assert_allclose(found.force[-1].toarray(), wanted.force[-1], rtol=0, atol=1e-7)


def test_inputs_that_act_on_higher_derivatives_have_their_closed_form():
    """Two masses and a spring: u = (m₁ + m₂)s̈ + (m₁m₂/k)s⁗ keeps the second one on s(t) = sin t."""
    case = da.gallery.case("two-masses")
    method = method_of(None, da.Projection(), None, 1e-11, None, None, 100_000)
    options = {"parameters": case.parameters, "allow_violation": False, "control": None, "progress": False}
    run = large_simulation(groups_of(case.system), method, case.q0, case.qd0, [0, 0.5, 1], **options)
    for check in case.checks:
        np.testing.assert_allclose(check.measure(run), 0, rtol=0, atol=check.tolerance, err_msg=check.what)
    with pytest.raises(da.errors.InputError, match="those of `follow` act on a derivative of order 4"):
        large_consistent_state(groups_of(case.system), case.q0, case.qd0, 0.0, case.parameters, "mass", servos=True)


def springs(count, settle):
    """Masses in a row, joined by hardening springs; a force on the first one must move the last one."""
    x = da.coordinates([f"x{i}" for i in range(count)])
    stretched = [b - a + (b - a) ** 3 / 5 for a, b in pairwise(x)]
    force = [ahead - behind for ahead, behind in zip([*stretched, 0], [0, *stretched], strict=True)]
    servo = da.Servo("last", x[-1] - sp.sin(da.t), by=da.Actuator("push", x[0]), settle=settle)
    return da.System(x, sp.diag(*range(1, count + 1)), force, servos=servo)


def matrices(*coefficients):
    return [[[p]] for p in coefficients]


@pytest.mark.parametrize(
    ("count", "settle"),
    [(2, 3.0), (2, matrices(12, 54, 108, 81)), (3, 2.0), (3, matrices(9, 30, 50, 40, 24, 7))],
)
def test_rates_and_matrices_of_higher_orders_agree_with_straight_line_code(count, settle):
    same_inputs(springs(count, settle), *np.split(np.cos(np.arange(2.0 * count)), 2))


def same_inputs(system, q, qd):
    found = large_motion(grouped_terms(system), q, qd, 0.2, None, None, throw=True)
    wanted = da.motion(system, q, qd, 0.2)
    assert found.inputs == pytest.approx(wanted.inputs, rel=1e-12)
    np.testing.assert_allclose(found.acceleration, wanted.acceleration, rtol=1e-12, atol=1e-12)


def test_higher_orders_with_constraints_laws_and_coupled_masses_agree_with_straight_line_code():
    """A motor pulls, by a spring, a cart on which a pendulum hangs; masses, direction and rate depend on the state."""
    a, b, x, y = da.coordinates("a b x y")
    rod = da.Constraint((x - b) ** 2 + y**2 - 1, name="rod", nonideal=[0, 0, -x.diff(da.t) * y, -y.diff(da.t)])
    masses = sp.diag(2 + sp.cos(a) / 2, sp.Matrix([[1, 0.3, 0], [0.3, 1, sp.sin(x) / 9], [0, sp.sin(x) / 9, 1]]))
    spring = 5 * (a - b) + (a - b) ** 3
    by = da.Actuator("motor", {a: 1 + a**2 / 5})
    servo = da.Servo("cart", b - sp.sin(da.t), by=by, settle=2 + sp.cos(da.t) / 2)
    force = (-spring, spring, 0, -9.81 - y.diff(da.t) * da.t)
    system = da.System((a, b, x, y), masses, force, rod, nonideal=da.Viscous(0.3), servos=servo)
    same_inputs(system, *da.consistent_state(system, (0.3, -0.1, 0.5, -0.8), (0.4, 0.2, 0.1, 0.3)))


@pytest.mark.parametrize(
    ("count", "settle", "message"),
    [
        (2, matrices(2, 1), "must hold 4 matrices, one per derivative below the order 4"),
        (4, 2.0, "must be influenced by its actuators; `push` does not act on its derivatives up to order 6"),
    ],
)
def test_inputs_that_act_too_late_are_named(count, settle, message):
    groups = grouped_terms(springs(count, settle))
    with pytest.raises(da.ModelError, match=message):
        large_motion(groups, np.zeros(count), np.ones(count), 0.0, None, None, throw=True)


def test_limits_of_large_systems_are_noted():
    system, state = arm(limit=2)
    found = by_groups(system, state, [0, 0.2], rtol=1e-9)
    wanted = da.simulate(system, *state, [0, 0.2], rtol=1e-9, **T)
    assert found.notes == wanted.notes
    assert "was at its limit" in found.notes[-1]
    for one, other in zip(found.saturation, wanted.saturation, strict=True):
        assert one == (other.actuator, pytest.approx(other.start, abs=1e-7), pytest.approx(other.end, abs=1e-7))


def test_matching_start_is_that_of_straight_line_code():
    system, state = arm()
    found = large_consistent_state(groups_of(system), *state, 0.0, T["parameters"], "mass", servos=True)
    wanted = da.consistent_state(system, *state, servos=True, **T)
    np.testing.assert_allclose(found.q, wanted.q, atol=1e-12)
    np.testing.assert_allclose(found.qd, wanted.qd, atol=1e-12)


def led_by(requirement, *along, laws=(), **servo):
    """A large chain whose servo has one or several requirements."""
    x, y = da.coordinates("x", N), da.coordinates("y", N)
    by = tuple(da.Actuator(f"u{i}", q, limit=servo.pop("limit", None)) for i, q in enumerate(along))
    u, v, w, z = da.coordinates("u v w z")
    ends = {u: x[:-1], v: y[:-1], w: x[1:], z: y[1:]}
    rods = da.Constraint.over((u - w) ** 2 + (v - z) ** 2 - 1, ends, name="rod", nonideal=laws)
    anchor = da.Constraint(x[N - 1] - 0.9 * (N - 1), name="anchor")
    servos = da.Servo("led", requirement, by=by, **({"settle": 1.0} | servo))
    return da.System((x, y), 1.0, {y: -9.81}, (anchor, rods), servos=servos)


X, Y = da.coordinates("x", N), da.coordinates("y", N)


def test_requirements_that_follow_from_others_are_left_out():
    path = (X[0] - da.t, Y[0])
    found = da.motion(led_by((*path, sum(path)), X[0], Y[0]), *zigzag(), 0.1)
    wanted = da.motion(led_by(path, X[0], Y[0]), *zigzag(), 0.1)
    assert found.inputs == pytest.approx(wanted.inputs, rel=1e-10)
    assert found.servo_error["led"][2] == pytest.approx(-0.1)


FRICTION = da.Coulomb(0.1, velocity=(X[0] - X[1]).diff(da.t), normal_force=da.multiplier("rod"), smoothing=0.1)


@pytest.mark.parametrize(
    ("system", "error", "message"),
    [
        (
            lambda: led_by(X[0], X[0], laws=FRICTION),
            da.ModelError,
            "servos of a large system must not be combined with laws that depend on reactions; got `Coulomb`",
        ),
        (
            lambda: led_by(X[N - 1] - 0.9 * (N - 1), X[0]),
            da.ModelError,
            "servo `led` must require something that constraints leave free; `anchor` determines it",
        ),
        (
            lambda: led_by((X[0], Y[0]), X[0]),
            da.ModelError,
            r"must be met by inputs that act on it independently of `led\[[01]\]`; `u0` does not",
        ),
        (lambda: led_by(X[0], X[0], settle=-da.parameters("c")), da.errors.InputError, "`settle` .* not be negative"),
        (lambda: led_by(X[0], X[0], limit=-da.parameters("c")), da.errors.InputError, "`limit` of .* be positive"),
        (lambda: led_by(X[0], da.coordinates("z")), da.ModelError, "`along` of actuator `u0` must be a coordinate"),
        (lambda: led_by(X[0], X[0], settle=X[0].diff(da.t, 2)), da.ModelError, "must not contain accelerations"),
        (lambda: led_by(X[0] - sp.Heaviside(da.t), X[0]), da.ModelError, "except in `applied_force`; `Heaviside`"),
        (
            lambda: led_by(X[0], X[0], cost=[[da.parameters("c") - 1]]),
            da.errors.ConstraintError,
            "`cost` of `led` must be positive definite",
        ),
        (
            lambda: led_by(sp.sqrt(X[0] - 10), X[0]),
            da.errors.ConstraintError,
            "the requirement of servo `led` must be finite; at t = 0 it is not",
        ),
    ],
)
def test_servos_that_are_not_met_are_named(system, error, message):
    def simulated():
        built = system()
        return da.simulate(built, *zigzag(), [0, 1], parameters=dict.fromkeys(built.parameter_names, 1.0))

    with pytest.raises(error, match=message):
        simulated()


def test_check_names_servos_of_large_systems():
    report = da.check(led_by((X[0], Y[0], X[0] + Y[0]), X[0], Y[0]), *zigzag())
    assert "`led[2]` follow from other requirements" in str(report)
    assert "inputs meet it; its error is 0.0e+00 here" in str(report)
    assert not da.check(led_by((X[0], Y[0]), X[0]), *zigzag()).well_posed


def test_servos_of_a_large_system_need_matching_arguments():
    with pytest.raises(da.errors.InputError, match="`servos=True` needs a system with servo constraints"):
        da.consistent_state(da.System(da.coordinates("x", 201), 1.0, 0), np.zeros(201), np.zeros(201), servos=True)
