"""Servo constraints beside closed forms, the fundamental equation and optimisation by other libraries."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy as sp
from scipy.optimize import minimize

import dalembert as da
from dalembert.lowering.build import build

t = da.t


def d(e, order=1):
    return e.diff(t, order)


def two_masses(reference, settle=2.0):
    """Two masses and a spring; the second one must follow a reference, and a force acts on the first."""
    x1, x2 = da.coordinates("x1 x2")
    m1, m2, k = da.parameters("m1 m2 k")
    follow = da.Servo("follow", x2 - reference, by=da.Actuator("push", x1), settle=settle)
    return da.System((x1, x2), sp.diag(m1, m2), (-k * (x1 - x2), k * (x1 - x2)), servos=follow)


MASSES = {"m1": 2.0, "m2": 3.0, "k": 7.0}


def test_two_masses_and_a_spring_have_relative_degree_four():
    # u = (m1 + m2) s'' + (m1 m2/k) s'''', x1 = s + (m2/k) s''
    m1, m2, k = MASSES.values()
    system = two_masses(sp.sin(t))
    ratio = 1 - m2 / k
    run = da.simulate(system, (0, 0), (ratio, 1), np.linspace(0, 5, 26), parameters=MASSES)
    s = np.sin(run.t)
    assert np.abs(run["x2"] - s).max() < 1e-12
    assert np.abs(run["x1"] - ratio * s).max() < 1e-12
    assert np.abs(run.inputs["push"] - (-(m1 + m2) + m1 * m2 / k) * s).max() < 1e-10
    assert build(system).native.source.structure.orders == (4,)


def test_an_error_of_order_four_settles_with_all_poles_at_the_rate():
    omega = 2.0
    system = two_masses(0, omega)
    run = da.simulate(system, (0.3, 0.1), (0, 0), np.linspace(0, 4, 9), parameters=MASSES)
    # β = e^{−ωt} times a cubic polynomial through the first four derivatives at the start
    m2, k = MASSES["m2"], MASSES["k"]
    beta = [0.1, 0.0, k * (0.3 - 0.1) / m2, 0.0]
    shifted = [sum(math.comb(j, i) * omega ** (j - i) * beta[i] for i in range(j + 1)) for j in range(4)]
    expected = sum(shifted[j] * run.t**j / math.factorial(j) for j in range(4)) * np.exp(-omega * run.t)
    assert np.abs(run.servo_error["follow"] - expected).max() < 1e-10


def test_matrices_settle_an_error_of_order_four_like_the_rate_they_belong_to():
    omega = 2.0
    gains = tuple(sp.Matrix([[math.comb(4, j) * omega ** (4 - j)]]) for j in (3, 2, 1, 0))
    arguments = ((0.3, 0.1), (0, 0), np.linspace(0, 2, 5))
    by_rate, by_matrices = (
        da.simulate(two_masses(0, settle), *arguments, parameters=MASSES).q for settle in (omega, gains)
    )
    assert np.abs(by_rate - by_matrices).max() < 1e-10


def crane(path, settle=3.0):
    """A trolley, a winch and a load on a rope, whose position must follow a path."""
    x, length, theta = da.coordinates("x l theta")
    X, Z = x + length * sp.sin(theta), -length * sp.cos(theta)
    kinetic = 5 * d(x) ** 2 / 2 + d(length) ** 2 / 4 + (d(X) ** 2 + d(Z) ** 2) / 2
    lagrangian = (kinetic - sp.Float("9.81") * Z).doit()
    by = (da.Actuator("trolley", x), da.Actuator("winch", length))
    servo = da.Servo("load", (X - path[0], Z - path[1]), by=by, settle=settle)
    return lagrangian, da.System.from_lagrangian(lagrangian, (x, length, theta), servos=servo)


@pytest.fixture(scope="module")
def crane_on_a_path():
    path = (0.3 * sp.sin(t), -2 + 0.2 * sp.cos(2 * t))
    lagrangian, system = crane(path)
    # flatness: the rope is parallel to the load's acceleration less gravity
    slope = d(path[0], 2) / (d(path[1], 2) + sp.Float("9.81"))
    x = path[0] - path[1] * slope
    known = (x, -path[1] * sp.sqrt(1 + slope**2), -sp.atan(slope))
    start = [[float(e.diff(t, k).subs(t, 0)) for e in known] for k in (0, 1)]
    return lagrangian, system, known, da.simulate(system, *start, np.linspace(0, 6, 31))


def test_a_crane_moves_its_load_along_a_path_as_its_flat_output_says(crane_on_a_path):
    _, system, known, run = crane_on_a_path
    for name, expression in zip(("x", "l", "theta"), known, strict=True):
        expected = sp.lambdify(t, expression)(run.t)
        assert np.abs(run[name] - expected).max() < 1e-11
    assert np.abs(run.servo_error["load"]).max() < 1e-11
    assert max(build(system).native.source.structure.orders) == 4


def test_the_forces_of_the_crane_are_those_of_its_equations_of_motion(crane_on_a_path):
    lagrangian, system, known, run = crane_on_a_path
    on_path = dict(zip(system.coordinates, known, strict=True))
    for name, q in zip(("trolley", "winch"), system.coordinates, strict=False):
        equation = lagrangian.diff(q.diff(t)).diff(t) - lagrangian.diff(q)
        expected = sp.lambdify(t, equation.subs(on_path).doit())(run.t)
        assert np.abs(run.inputs[name] - expected).max() < 1e-9


def arm(cost=None, requirement=True, constraints=(), links=3):
    """An arm of links in the plane under gravity, whose tip must follow a circle."""
    q = da.coordinates([f"q{i}" for i in range(links)])
    x = y = angle = kinetic = potential = sp.S.Zero
    for i, joint in enumerate(q):
        length, mass = 1 - sp.Rational(i, 5), 2 - sp.Rational(i, 2)
        angle += joint
        middle = (x + length / 2 * sp.cos(angle), y + length / 2 * sp.sin(angle))
        kinetic += mass * (d(middle[0]) ** 2 + d(middle[1]) ** 2) / 2 + mass * length**2 / 24 * d(angle) ** 2
        potential += mass * sp.Float("9.81") * middle[1]
        x, y = x + length * sp.cos(angle), y + length * sp.sin(angle)
    tip = (x - 1.2 - 0.3 * sp.cos(t), y - 0.3 * sp.sin(t))
    motors = tuple(da.Actuator(f"motor {i}", joint) for i, joint in enumerate(q))
    servos = (da.Servo("tip", tip, by=motors, settle=4.0, cost=cost),) if requirement else ()
    own = tip if constraints == "tip" else constraints
    rows = tuple(da.Constraint(e, name=f"c{i}") for i, e in enumerate(own))
    return da.System.from_lagrangian((kinetic - potential).doit(), q, servos=servos, constraints=rows)


COST = np.array([[2, 0.3, 0], [0.3, 1, 0.1], [0, 0.1, 0.5]])


def test_redundant_motors_take_the_least_cost_at_a_thousand_states():
    """u = N^(-1/2)(G N^(-1/2))⁺ e with G and e from the terms of the constrained arm, and SciPy at some states."""
    system, constrained = arm(COST), arm(requirement=False, constraints="tip")
    terms, control = build(constrained).native, build(system).native
    draw = np.random.default_rng(4)
    y, times = draw.normal(size=(1000, 6)), draw.uniform(0, 6, 1000)
    M, Q, A, b, position, velocity = terms.terms_of_many(y, times, np.zeros((1000, 0)))
    target = b - 8 * velocity - 16 * position
    inverse = np.linalg.inv(M)
    G, e = A @ inverse, target - np.einsum("kij,kjl,kl->ki", A, inverse, Q)
    root = np.linalg.cholesky(np.linalg.inv(COST))
    expected = np.einsum("ij,kjl,kl->ki", root, np.linalg.pinv(G @ root), e)
    found = control.control(y, times, ()).inputs
    size = np.abs(expected).max(axis=1) * np.linalg.cond(G @ root)
    assert (np.abs(found - expected).max(axis=1) < 1e-13 * size).all()
    # in u = root·w the cost is that of a sphere, for which SciPy's sequential quadratic programs need no exact Hessian
    for k in range(len(y)):
        unit = np.linalg.norm(e[k])
        solved = minimize(
            lambda w: w @ w / 2,
            np.zeros(3),
            jac=lambda w: w,
            method="SLSQP",
            constraints={
                "type": "eq",
                "fun": lambda w, k=k: G[k] @ root @ w - e[k] / np.linalg.norm(e[k]),
                "jac": lambda w, k=k: G[k] @ root,
            },
            options={"ftol": 1e-20, "maxiter": 50},
        )
        assert np.abs(found[k] - unit * root @ solved.x).max() < 1e-9 * size[k]


def test_the_power_of_motors_is_in_the_ledger_and_the_audit_closes():
    run = da.simulate(arm(links=2), (0.3, 1.2), (0, 0), np.linspace(0, 2, 41))
    ledger = run.ledger()
    for i in range(2):
        column = ledger.names.index(f"motor {i}")
        assert ledger.entries[column].kind == "input"
        assert np.allclose(ledger.power[:, column], run.inputs[f"motor {i}"] * run.qd[:, i], rtol=1e-12)
    assert np.abs(ledger.audit).max() < 1e-7 * ledger.turnover
    assert ledger.closure < 100


def test_a_force_on_every_coordinate_is_the_constraint_force_of_the_fundamental_equation():
    servo = arm(requirement=False)
    constrained = arm(requirement=False, constraints="tip")
    rows = tuple(c.expression for c in constrained.constraints)
    system = da.System(servo.coordinates, servo.mass_matrix, servo.applied_force, servos=da.Servo("tip", rows))
    state = ((0.3, 0.6, 0.7), (0.1, -0.2, 0.3), 0.4)
    point, by_nature = da.motion(system, *state), da.motion(constrained, *state)
    inputs = np.array([point.inputs[name] for name in system.coordinate_names])
    assert np.abs(point.acceleration - by_nature.acceleration).max() < 1e-12
    assert np.abs(inputs - by_nature.ideal_force).max() < 1e-12 * np.abs(inputs).max()


def test_the_euclidean_metric_settles_as_the_review_prints_it():
    """R-72: the acceleration that settles errors is Aᵀ(AAᵀ)⁻¹(−P β), whatever the masses are."""
    x, y = da.coordinates("x y")
    speed = d(x) ** 2 + d(y) ** 2 - 4
    settled, nominal = (
        da.System((x, y), [[3, 1], [1, 2]], (-x, 5), servos=da.Servo("speed", speed, settle=rate, metric="euclidean"))
        for rate in (1.5, None)
    )
    state = ((0.4, 0.2), (1.0, -0.5))
    change = da.motion(settled, *state).acceleration - da.motion(nominal, *state).acceleration
    A, beta = 2 * np.array(state[1]), 1.0 + 0.25 - 4
    assert np.abs(change - A / (A @ A) * (-1.5 * beta)).max() < 1e-14


def test_energy_held_by_a_motor_decays_to_its_value_at_the_rate():
    theta = da.coordinates("theta")
    energy = d(theta) ** 2 / 2 - 9.81 * sp.cos(theta)
    servo = da.Servo("energy", energy - 15, by=da.Actuator("motor", theta), settle=0.7)
    pendulum = da.System((theta,), [[1]], (-9.81 * sp.sin(theta),), servos=servo)
    run = da.simulate(pendulum, [0.3], [8.0], np.linspace(0, 3, 16))
    start = run.servo_error["energy"][0]
    assert np.abs(run.servo_error["energy"] - start * np.exp(-0.7 * run.t)).max() < 1e-9 * abs(start)


def satellites(count, radius=2.0, rate=0.6):
    """Satellites in a Kepler field that must stay on a ring, turning at a rate that is not that of the orbit."""
    names = [f"{c}{i}" for i in range(count) for c in "xy"]
    q = da.coordinates(names)
    pairs = [q[2 * i : 2 * i + 2] for i in range(count)]
    force = [-(i + 1) * c / (x**2 + y**2) ** sp.Rational(3, 2) for i, (x, y) in enumerate(pairs) for c in (x, y)]
    place = [
        c - radius * f(rate * t + 2 * sp.pi * i / count)
        for i, pair in enumerate(pairs)
        for c, f in zip(pair, (sp.cos, sp.sin), strict=True)
    ]
    thrusters = tuple(da.Actuator(f"thrust {name}", c) for name, c in zip(names, q, strict=True))
    M = sp.diag(*(i + 1 for i in range(count) for _ in range(2)))
    return da.System(q, M, force, servos=da.Servo("ring", tuple(place), by=thrusters, settle=2.0))


def test_satellites_on_a_ring_need_the_thrust_of_their_acceleration_less_gravity():
    count, radius, rate = 3, 2.0, 0.6
    angles = 2 * np.pi * np.arange(count) / count
    q0 = np.column_stack([radius * np.cos(angles), radius * np.sin(angles)]).ravel()
    qd0 = rate * np.column_stack([-radius * np.sin(angles), radius * np.cos(angles)]).ravel()
    run = da.simulate(satellites(count), q0, qd0, np.linspace(0, 5, 11))
    for i in range(count):
        for c in "xy":
            wanted = (i + 1) * (1 / radius**3 - rate**2) * run[f"{c}{i}"]
            assert np.abs(run.inputs[f"thrust {c}{i}"] - wanted).max() < 1e-10


@pytest.mark.parametrize("count", [3, 6])
def test_synchronised_pendulums_follow_the_first_one_at_the_rate(count):
    """After Udwadia and Mylapilli: pendulums of different lengths are made to swing like a free one."""
    q = da.coordinates([f"a{i}" for i in range(count)])
    M = sp.diag(*((1 + i / 10) ** 2 for i in range(count)))
    force = [-9.81 * (1 + i / 10) * sp.sin(a) for i, a in enumerate(q)]
    motors = tuple(da.Actuator(f"m{i}", a) for i, a in enumerate(q[1:], start=1))
    servo = da.Servo("together", tuple(a - q[0] for a in q[1:]), by=motors, settle=3.0)
    system = da.System(q, M, force, servos=servo)
    start = np.linspace(0.5, 1.0, count)
    run = da.simulate(system, start, np.zeros(count), np.linspace(0, 2, 11))
    decay = (1 + 3 * run.t) * np.exp(-3 * run.t)
    assert np.abs(run.servo_error["together"] - np.outer(decay, start[1:] - start[0])).max() < 1e-9


def test_servo_rows_that_follow_from_others_are_left_out():
    x, y = da.coordinates("x y")
    rows = (x - sp.sin(t), y, 3 * x - 3 * sp.sin(t) + 2 * y)
    by = (da.Actuator("fx", x), da.Actuator("fy", y))
    systems = [
        da.System((x, y), [[2, 1], [1, 3]], (0, -9), servos=da.Servo("s", own, by=by)) for own in (rows[:2], rows)
    ]
    least, all_rows = (da.motion(system, (0.1, 0.2), (0.3, 0.1)) for system in systems)
    assert np.abs(least.acceleration - all_rows.acceleration).max() < 1e-13
    assert least.inputs == pytest.approx(all_rows.inputs, rel=1e-13)


def test_inputs_act_within_physical_constraints_of_any_rank():
    """A bead on a circle, stated once and three times, driven along x: the tangential force is all that matters."""
    x, y = da.coordinates("x y")
    circle = x**2 + y**2 - 1
    push = da.Actuator("push", x)
    angle = sp.Float(0.7) + t / 2
    servo = da.Servo("turn", x - sp.cos(angle), by=push, settle=2.0)
    for rows in ((circle,), (circle, 2 * circle, -circle / 3)):
        constraints = tuple(da.Constraint(e, name=f"wire {i}") for i, e in enumerate(rows))
        bead = da.System((x, y), sp.eye(2), (0, -9.81), constraints, servos=servo, nonideal=da.Viscous(0.3))
        start = np.array([np.cos(0.7), np.sin(0.7)]), np.array([-np.sin(0.7), np.cos(0.7)]) / 2
        run = da.simulate(bead, *start, np.linspace(0, 1, 6))
        phi = 0.7 + run.t / 2
        # m φ'' = 0 = −g cos φ − c φ' − u sin φ
        assert np.abs(run.inputs["push"] + (9.81 * np.cos(phi) + 0.3 / 2) / np.sin(phi)).max() < 1e-9
        assert np.abs(run.violation).max() < 1e-12
        assert np.abs(run.ledger().audit).max() < 1e-8


def test_other_solvers_and_ensembles_move_alike():
    import diffrax

    system, start, times = arm(links=2), ((0.3, 1.2), (0, 0)), np.linspace(0, 1, 3)
    run = da.simulate(system, *start, times)
    by_diffrax = da.simulate(system, *start, times, solver=diffrax.Dopri8())
    many = da.simulate_ensemble(system, np.ones((2, 1)) * start[0], start[1], times)
    assert np.abs(run.q - by_diffrax.q).max() < 1e-8
    assert np.abs(run.q - many["q"].values).max() < 1e-8
    assert by_diffrax.inputs["motor 0"] == pytest.approx(run.inputs["motor 0"], rel=1e-6)


@pytest.mark.slow  # 20 s to compile; guards the derivative of the recorded control law by JAX
def test_a_flow_under_control_has_derivatives():
    import jax

    m = da.parameters("m")
    x = da.coordinates("x")
    servo = da.Servo("hold", x - 1, by=da.Actuator("push", x, limit=m), settle=2.0)
    system = da.System((x,), [[1]], (-x,), servos=servo)
    flow = da.flow(system, [0, 1])
    slope = jax.jacfwd(lambda m: flow((0.0,), (0.0,), {"m": m})[0][-1, 0])(0.5)
    above, below = (da.simulate(system, [0], [0], [0, 1], parameters={"m": 0.5 + h}).q[-1, 0] for h in (1e-4, -1e-4))
    assert float(slope) == pytest.approx((above - below) / 2e-4, rel=1e-6)


def test_inputs_and_errors_are_kept_in_files(tmp_path):
    run = da.simulate(arm(links=2), (0.3, 1.2), (0, 0), np.linspace(0, 1, 4))
    run.save(tmp_path / "arm.nc")
    again = da.Trajectory.load(tmp_path / "arm.nc")
    for name in run.inputs:
        assert np.array_equal(run.inputs[name], again.inputs[name])
    assert np.array_equal(run.servo_error["tip"], again.servo_error["tip"])
    run.save(tmp_path / "arm.csv")
    assert "input(motor 0)" in (tmp_path / "arm.csv").read_text().splitlines()[0]
    assert len(run.until(2).inputs["motor 0"]) == 2


def test_inputs_include_the_friction_that_they_cause_by_the_reaction():
    """A block pulled at an angle: the pull presses it on the floor, and its friction depends on the pull.

    u cos a − μ|N| tanh(v/ε) = m x'', N = m g − u sin a with the pull upwards: linear in u while N > 0.
    """
    x, y = da.coordinates("x y")
    mu, angle, mass, g, eps = 0.3, 0.6, 2.0, 9.81, 0.01
    pull = da.Actuator("pull", {x: math.cos(angle), y: math.sin(angle)})
    smooth = sp.tanh(d(x) / eps)
    law = (-mu * sp.Abs(da.multiplier("floor")) * smooth, 0)
    floor = da.Constraint(y, name="floor", nonideal=law)
    servo = da.Servo("move", x - sp.sin(t), by=pull, settle=3.0)
    block = da.System((x, y), sp.diag(mass, mass), (0, -mass * g), floor, servos=servo)
    run = da.simulate(block, (0.05, 0), (1.0, 0), np.linspace(0, 3, 31))
    v, a = run.qd[:, 0], run.acceleration[:, 0]
    expected = (mass * a + mu * mass * g * np.tanh(v / eps)) / (
        math.cos(angle) + mu * math.sin(angle) * np.tanh(v / eps)
    )
    assert np.abs(run.inputs["pull"] - expected).max() < 1e-9
    beta = (0.05 + (0.05 * 3 + 0) * run.t) * np.exp(-3 * run.t)
    assert np.abs(run.servo_error["move"] - beta).max() < 1e-7


def test_an_arm_with_elastic_joints_needs_the_fourth_derivative_of_its_links():
    """u = J m'' + K (m − q) with the motor angles m = q + (D q'' + C + G)/K that the motion of the links implies."""
    links = q1, q2 = da.coordinates("q1 q2")
    motors = m1, m2 = da.coordinates("m1 m2")
    stiffness, inertia = 40, sp.Rational(1, 5)
    kinetic = 3 * d(q1) ** 2 / 4 + (d(q1) + d(q2)) ** 2 / 6 + d(q1) * (d(q1) + d(q2)) * sp.cos(q2) / 2
    weight = sp.Float("9.81") * (sp.Rational(3, 2) * sp.sin(q1) + sp.sin(q1 + q2) / 2)
    springs = sum(stiffness * (q - m) ** 2 / 2 for q, m in zip(links, motors, strict=True))
    lagrangian = kinetic - weight - springs + sum(inertia * d(m) ** 2 / 2 for m in motors)
    wanted = (sp.sin(t) / 2, sp.Rational(3, 10) + sp.cos(2 * t) / 4)
    by = (da.Actuator("u1", m1), da.Actuator("u2", m2))
    servo = da.Servo("links", tuple(q - w for q, w in zip(links, wanted, strict=True)), by=by, settle=5)
    system = da.System.from_lagrangian(lagrangian, (*links, *motors), servos=servo)
    on_path = dict(zip(links, wanted, strict=True))
    rigid = kinetic - weight
    known, torques = [], []
    for q, w in zip(links, wanted, strict=True):
        load = (rigid.diff(d(q)).diff(t) - rigid.diff(q)).subs(on_path).doit()
        known.append(w + load / stiffness)
        torques.append(inertia * known[-1].diff(t, 2) + load)
    start = [[float(e.diff(t, k).subs(t, 0)) for e in (*wanted, *known)] for k in (0, 1)]
    run = da.simulate(system, *start, np.linspace(0, 3, 16))
    assert np.abs(run.servo_error["links"]).max() < 1e-11
    for name, torque in zip(("u1", "u2"), torques, strict=True):
        assert np.abs(run.inputs[name] - sp.lambdify(t, torque)(run.t)).max() < 1e-9
