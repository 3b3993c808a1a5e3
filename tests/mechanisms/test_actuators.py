"""Motors in joints: their torques, powers and reactions, against joint coordinates and Newton's and Euler's laws."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.mechanisms.frames import Marker
from helpers import quick_first
from mechanisms.balance import imbalance

G = 9.81
LENGTHS, MASSES, ANGLES = (1.0, 0.8, 0.5), (2.0, 1.5, 1.0), (0.3, 0.9, 1.6)
COST = [[2, 0.3, 0], [0.3, 1, 0.1], [0, 0.1, 0.5]]
CIRCLE = sp.Matrix([1.2 + 0.3 * sp.cos(da.t), 0.5 + 0.3 * sp.sin(da.t)])
SETTLE, DRAG = 4.0, 3.0


def arm(angles: Any = ANGLES) -> da.Mechanism:
    """Three bars in the plane with a motor in every pin, whose tip follows a circle."""
    bars, place, marker = [], np.zeros(2), da.ground.at(0, 0)
    pins: list[da.Revolute] = []
    for k, (length, mass, angle) in enumerate(zip(LENGTHS, MASSES, angles, strict=True)):
        along = length / 2 * np.array([np.cos(angle), np.sin(angle)])
        bars.append(da.PlanarBody(f"bar{k}", mass, mass * length**2 / 12, position=place + along, angle=angle))
        pins.append(da.Revolute(f"pin {k}", marker, bars[-1].at(-length / 2, 0), nonideal=da.Viscous(DRAG)))
        place, marker = place + 2 * along, bars[-1].at(length / 2, 0)
    motors = [da.Actuator(f"motor {k}", pin) for k, pin in enumerate(pins)]
    tip = da.Servo("tip", marker.position - CIRCLE, by=motors, settle=SETTLE, cost=COST)
    return da.Mechanism(bars, pins, da.Gravity((0, -G)), servos=tip)


def arm_in_joint_coordinates() -> da.System:
    q = da.coordinates("a b c")
    tip, angle, L = sp.zeros(2, 1), sp.S.Zero, sp.S.Zero
    for own, length, mass in zip(q, LENGTHS, MASSES, strict=True):
        angle = angle + own
        along = length * sp.Matrix([sp.cos(angle), sp.sin(angle)])
        speed = (tip + along / 2).diff(da.t)
        L += mass * (speed.dot(speed) + length**2 / 12 * angle.diff(da.t) ** 2) / 2 - mass * G * (tip + along / 2)[1]
        tip = tip + along
    motors = [da.Actuator(f"motor {k}", own) for k, own in enumerate(q)]
    servo = da.Servo("tip", tip - CIRCLE, by=motors, settle=SETTLE, cost=COST)
    return da.System.from_lagrangian(L, q, applied_force=[-DRAG * own.diff(da.t) for own in q], servos=servo)


def simulated(mechanism: da.Mechanism, end: float = 1.0, **start: Any) -> da.Trajectory:
    q, qd = mechanism.assemble(**start)
    return da.simulate(mechanism.system, q, qd, np.linspace(0, end, 21), rtol=1e-11, atol=1e-12)


def values(expression: Any, times: Any) -> np.ndarray:
    return np.array([sp.lambdify(da.t, expression)(t) for t in times])


def assert_power(run: da.Trajectory, rates: dict[str, Any]) -> None:
    """The power of each motor is its input times the rate of its joint, and work and energy balance."""
    ledger = run.ledger()
    for name, rate in rates.items():
        power = ledger.power[:, ledger.names.index(name)]
        np.testing.assert_allclose(power, run.inputs[name] * rate, rtol=0, atol=1e-11 * (1 + np.abs(power).max()))
        assert [entry.kind for entry in ledger.entries if entry.name == name] == ["input"]
    np.testing.assert_allclose(
        ledger.work.sum(axis=1), ledger.energy - ledger.energy[0], rtol=0, atol=1e-8 * (1 + np.abs(ledger.work).max())
    )
    assert ledger.closure < 10


def test_an_arm_of_bodies_has_the_torques_of_the_arm_in_joint_coordinates() -> None:
    mechanism = arm()
    run = simulated(mechanism, end=0.3, servos=True)  # later the least torques let it swing through singular positions
    assert np.abs(run.servo_error["tip"]).max() < 1e-9
    theta, rates = (x[:, 2::3] for x in (run.q, run.qd))
    joint, joint_rates = (np.diff(x, axis=1, prepend=0.0) for x in (theta, rates))
    other = da.simulate(arm_in_joint_coordinates(), joint[0], joint_rates[0], run.t, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(joint, other.q, atol=1e-8)
    for k in range(3):
        np.testing.assert_allclose(run.inputs[f"motor {k}"], other.inputs[f"motor {k}"], rtol=0, atol=1e-8)
    assert imbalance(mechanism, run, (0, -G)) < 1e-10
    assert_power(run, {f"motor {k}": joint_rates[:, k] for k in range(3)})


def test_off_the_path_the_torques_agree_as_well() -> None:
    """At states with errors that settle, each state by itself."""
    mechanism, other = arm(), arm_in_joint_coordinates()
    draw = np.random.default_rng(3)
    for _ in range(3):
        angles, rates = ANGLES + draw.uniform(-1, 1, 3), draw.uniform(-1, 1, 3)
        state = _bars(angles, rates)
        mine = da.motion(mechanism.system, *state, 0.4).inputs
        theirs = da.motion(other, *(np.diff(x, prepend=0.0) for x in (angles, rates)), 0.4).inputs
        for name, value in theirs.items():
            assert mine[name] == pytest.approx(value, rel=1e-10, abs=1e-10)


def _bars(angles: Any, rates: Any) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates and velocities of the bars of the arm."""
    place, speed, q, qd = np.zeros(2), np.zeros(2), [], []
    for length, angle, rate in zip(LENGTHS, angles, rates, strict=True):
        half = length / 2 * np.array([np.cos(angle), np.sin(angle)])
        turned = rate * np.array([-half[1], half[0]])
        q += [*(place + half), angle]
        qd += [*(speed + turned), rate]
        place, speed = place + 2 * half, speed + 2 * turned
    return np.array(q), np.array(qd)


@pytest.mark.slow  # 5 s to lower a mechanism in space; the arm in space below is the quick instance
def test_motors_of_a_slide_on_a_turntable_in_space() -> None:
    """A slide moves along a rotating table: force m (r̈ − r ω²), torque d/dt ((J + m r²) ω)."""
    table = da.Body("table", 3, (1, 1, 2.0))
    slide = da.Body("slide", 1.5, (0.2, 0.2, 0.3), position=(0.7, 0, 0.2))
    pivot = da.Revolute("pivot", da.ground.at(0, 0, 0), table, axis=(0, 0, 1))
    rail = da.Prismatic("rail", table.at(0.1, 0, 0.2), slide, axis=(1, 0, 0))
    r, angle = 0.7 + 0.2 * da.t**2, da.t + da.t**3 / 3
    path = r * sp.Matrix([sp.cos(angle), sp.sin(angle)])
    turn, push = da.Actuator("turn", pivot), da.Actuator("push", rail)
    servo = da.Servo("path", sp.Matrix(slide.coordinates[:2]) - path, by=(turn, push), settle=5)
    mechanism = da.Mechanism((table, slide), (pivot, rail), da.Gravity((0, 0, -G)), servos=servo)
    run = simulated(mechanism, servos=True)
    momentum = (2.0 + 0.3 + 1.5 * r**2) * angle.diff(da.t)
    force = 1.5 * (r.diff(da.t, 2) - r * angle.diff(da.t) ** 2)
    expected = {"turn": momentum.diff(da.t), "push": force}
    for name, expression in expected.items():
        exact = values(expression, run.t)
        np.testing.assert_allclose(run.inputs[name], exact, rtol=0, atol=1e-8)
    reactions = mechanism.reactions(run)
    np.testing.assert_allclose(reactions["turn"].torque[:, 2], run.inputs["turn"], atol=1e-10)
    np.testing.assert_allclose(
        mechanism.reactions(run, axes="body")["push"].force, np.outer(run.inputs["push"], [1, 0, 0]), atol=1e-10
    )
    assert imbalance(mechanism, run, (0, 0, -G)) < 1e-10
    rates = {"turn": values(angle.diff(da.t), run.t)}
    rates["push"] = values(r.diff(da.t), run.t)
    assert_power(run, rates)


def test_motors_of_two_slides_in_the_plane() -> None:
    """A lift on an inclined cart, whose forces follow from Newton's law along the two axes."""
    cart = da.PlanarBody("cart", 2, 1, position=(1, 0.5), angle=0.3)
    cage = da.PlanarBody("cage", 1, 0.1, position=(1, 1), angle=0.3)
    rail = da.Prismatic("rail", da.ground.at(0, 0), cart, axis=(2, 1))
    shaft = da.Prismatic("shaft", cart.at(0.1, 0.2), cage.at(0, -0.3), axis=(-0.2, 1))
    motors = (da.Actuator("winch", rail), da.Actuator("hoist", shaft))
    path = sp.Matrix([1.2 + 0.2 * sp.sin(da.t), 1.3 + 0.1 * da.t**2])
    servo = da.Servo("cage", cage.at(0.1, 0.2).position - path, by=motors, settle=6)
    mechanism = da.Mechanism((cart, cage), (rail, shaft), da.Gravity((0, -G)), servos=servo)
    run = simulated(mechanism, servos=True)
    along = np.array([2, 1]) / np.sqrt(5)
    up = np.array([[np.cos(0.3), -np.sin(0.3)], [np.sin(0.3), np.cos(0.3)]]) @ [-0.2, 1] / np.sqrt(1.04)
    a = np.array([-0.2 * np.sin(run.t), 0.2 + 0 * run.t])  # of the cage; its part along the rail is the cart's
    rates = np.linalg.solve(np.array([along, up]).T, [0.2 * np.cos(run.t), 0.2 * run.t])
    of_cart = along[:, None] * np.linalg.solve(np.array([along, up]).T, a)[0]
    weight = np.array([[0], [-G]])
    np.testing.assert_allclose(run.inputs["hoist"], up @ (a - weight), atol=1e-9)
    np.testing.assert_allclose(run.inputs["winch"], along @ (2 * of_cart + a - 3 * weight), atol=1e-9)
    np.testing.assert_allclose(mechanism.reactions(run)["hoist"].force, np.outer(run.inputs["hoist"], up), atol=1e-9)
    assert imbalance(mechanism, run, (0, -G)) < 1e-11
    assert_power(run, {"winch": rates[0], "hoist": rates[1]})


def test_motors_of_an_arm_in_space_whose_axes_move() -> None:
    inner = da.Body("inner", 2, (0.1, 0.2, 0.25), position=(0.5, 0, 0), spin=(0, 0, 0.8), velocity=(0, 0.4, 0))
    outer = da.Body(
        "outer",
        1,
        (0.05, 0.12, 0.1),
        position=(1.4, 0, 0),
        center=(0.02, 0.01, 0.03),
        spin=(0, 0.5, 0.8),
        velocity=(0, 1.12, -0.2),
    )
    base = da.Revolute("base", da.ground.at(0, 0, 0), inner.at(-0.5, 0, 0), axis=(0, 0, 1))
    elbow = da.Revolute("elbow", inner.at(0.5, 0, 0), outer.at(-0.4, 0, 0), axis=(0, 1, 0))
    motors = (da.Actuator("m1", base), da.Actuator("m2", elbow))
    goal = sp.Matrix([0.2 * sp.sin(da.t), 0.3 * sp.cos(da.t)])
    servo = da.Servo("tip", sp.Matrix(outer.at(0.4, 0, 0).position[1:]) - goal, by=motors, settle=5)
    mechanism = da.Mechanism((inner, outer), (base, elbow), da.Gravity((0, 0, -G)), servos=servo)
    q, qd = mechanism.assemble()
    assert qd[3:7] @ [0, 0, 0, 2] == pytest.approx(0.8)
    # the same arm by azimuth and elevation
    phi, psi = da.coordinates("phi psi")
    about_z = sp.Matrix([[sp.cos(phi), -sp.sin(phi), 0], [sp.sin(phi), sp.cos(phi), 0], [0, 0, 1]])
    about_y = sp.Matrix([[sp.cos(psi), 0, sp.sin(psi)], [0, 1, 0], [-sp.sin(psi), 0, sp.cos(psi)]])

    def place(*point: float) -> Any:
        return about_z * (sp.Matrix([1, 0, 0]) + about_y * sp.Matrix(point))

    w = about_y.T * sp.Matrix([0, 0, phi.diff(da.t)]) + sp.Matrix([0, psi.diff(da.t), 0])
    v = place(0.42, 0.01, 0.03).diff(da.t)
    inertia = sp.diag(0.05, 0.12, 0.1)
    L = (
        (0.25 + 2 * 0.25) * phi.diff(da.t) ** 2 / 2
        + (v.dot(v) + w.dot(inertia * w)) / 2
        - G * place(0.42, 0.01, 0.03)[2]
    )
    by = (da.Actuator("m1", phi), da.Actuator("m2", psi))
    servo = da.Servo("tip", sp.Matrix(place(0.8, 0, 0)[1:]) - goal, by=by, settle=5)
    other = da.System.from_lagrangian(L, (phi, psi), servos=servo)
    mine, theirs = da.motion(mechanism.system, q, qd, 0.3), da.motion(other, (0, 0), (0.8, 0.5), 0.3)
    assert mine.inputs == pytest.approx(theirs.inputs, rel=1e-10)
    # the motor accelerates the joint
    assert 2 * mine.acceleration[6] == pytest.approx(theirs.acceleration[0], rel=1e-10)


def test_a_motor_moves_a_redundant_parallelogram() -> None:
    """Three cranks carry a table; one of their twelve equations follows from the others."""
    cranks = [
        da.PlanarBody(f"crank{x}", 1, 1 / 12, position=(x + np.cos(1) / 2, np.sin(1) / 2), angle=1) for x in range(3)
    ]
    table = da.PlanarBody("table", 2, 2 / 3, position=(1 + np.cos(1), np.sin(1)))
    joints = [da.Revolute(f"base {x}", da.ground.at(x, 0), crank.at(-0.5, 0)) for x, crank in enumerate(cranks)]
    joints += [da.Revolute(f"end {x}", crank.at(0.5, 0), table.at(x - 1, 0)) for x, crank in enumerate(cranks)]
    height = 0.8 + 0.1 * sp.sin(3 * da.t)
    lift = da.Servo("height", table.coordinates[1] - height, by=da.Actuator("motor", joints[1], limit=200), settle=8)
    mechanism = da.Mechanism((*cranks, table), joints, da.Gravity((0, -G)), servos=lift)
    run = simulated(mechanism, servos=True)
    assert (run.rank == 11).all()
    theta = sp.asin(height)
    torque = (3 / 3 + 2) * theta.diff(da.t, 2) + (3 / 2 + 2) * G * sp.cos(theta)
    exact = values(torque, run.t)
    np.testing.assert_allclose(run.inputs["motor"], exact, rtol=0, atol=1e-8)
    assert imbalance(mechanism, run, (0, -G)) < 1e-10
    reactions = mechanism.reactions(run)
    assert reactions["motor"].unique.all()
    assert not reactions["base 1"].unique.any()
    assert_power(run, {"motor": values(theta.diff(da.t), run.t)})


def slider_crank(motored: bool) -> da.Mechanism:
    crank = da.PlanarBody("crank", 1, 1 / 12, position=(0.5, 0))
    rod = da.PlanarBody("rod", 2, 1.5, position=(2.4, 0.3))
    slider = da.PlanarBody("slider", 1, 0.1, position=(4, 0))
    joints = (
        da.Revolute("bearing", da.ground.at(0, 0), crank.at(-0.5, 0)),
        da.Revolute("crank pin", crank.at(0.5, 0), rod.at(-1.5, 0), nonideal=da.Viscous(0.2)),
        da.Revolute("wrist pin", rod.at(1.5, 0), slider),
        da.Prismatic("guide", da.ground.at(0, 0), slider, nonideal=da.Viscous(0.5)),
    )
    return moved((crank, rod, slider), joints, (0, -G), joints[0], 1 + 2 * da.t + sp.sin(da.t), motored)


def piston(motored: bool) -> da.Mechanism:
    """The same engine moved at its guide, the ground being the second body."""
    crank = da.PlanarBody("crank", 1, 1 / 12, position=(0.1, 0.5), angle=1.4)
    rod = da.PlanarBody("rod", 2, 1.5, position=(1.5, 0.5), angle=-0.3)
    slider = da.PlanarBody("slider", 1, 0.1, position=(3, 0))
    joints = (
        da.Revolute("bearing", crank.at(-0.5, 0), da.ground.at(0, 0)),
        da.Revolute("crank pin", rod.at(-1.5, 0), crank.at(0.5, 0)),
        da.Revolute("wrist pin", slider, rod.at(1.5, 0)),
        da.Prismatic("guide", slider, da.ground.at(0, 0)),
    )
    return moved((crank, rod, slider), joints, (0, -G), joints[3], -3 - 0.2 * sp.sin(2 * da.t), motored)


def swinging_hinge(motored: bool) -> da.Mechanism:
    """A hinge in space whose axis is carried by a body that swings."""
    frame = da.Body("frame", 2, (0.3, 0.2, 0.25), position=(0, 0.4, 0))
    blade = da.Body("blade", 1, (0.05, 0.12, 0.1), position=(0.3, 0.8, 0), center=(0.1, 0.02, 0.05))
    joints = (
        da.Revolute("pivot", da.ground.at(0, 0, 0), frame.at(0, -0.4, 0), axis=(1, 0, 0)),
        da.Revolute("hinge", frame.at(0, 0.4, 0), blade.at(-0.3, 0, 0), axis=(0, 1, 1)),
    )
    return moved((frame, blade), joints, (0, 0, -G), joints[1], 0.3 * da.t + da.t**2, motored)


def moved(bodies: Any, joints: Any, gravity: Any, joint: Any, motion: Any, motored: bool) -> da.Mechanism:
    """A mechanism in which a motor or a drive moves a joint."""
    if not motored:
        return da.Mechanism(bodies, (*joints, da.Drive("motor", joint, motion)), da.Gravity(gravity))
    own = joint.angle if isinstance(joint, da.Revolute) else joint.displacement
    servo = da.Servo("motion", own - motion, by=da.Actuator("motor", joint), settle=5)
    return da.Mechanism(bodies, joints, da.Gravity(gravity), servos=servo)


@pytest.mark.parametrize("make", quick_first([slider_crank, piston, swinging_hinge], [slider_crank, piston]))
def test_a_motor_has_the_torque_of_a_drive_that_prescribes_the_same_motion(make: Any) -> None:
    driven, motored = make(False), make(True)
    start = driven.assemble()
    runs = [da.simulate(m.system, *start, np.linspace(0, 0.5, 6), rtol=1e-11, atol=1e-12) for m in (driven, motored)]
    np.testing.assert_allclose(runs[1].q, runs[0].q, atol=1e-9)
    drive, motor = (m.reactions(run) for m, run in zip((driven, motored), runs, strict=True))
    assert list(drive) == list(motor)
    for name in drive:
        np.testing.assert_allclose(motor[name].force, drive[name].force, atol=1e-8)
        np.testing.assert_allclose(motor[name].torque, drive[name].torque, atol=1e-8)


BAR, OTHER = da.PlanarBody("bar", 1, 1, position=(1, 0)), da.PlanarBody("other", 1, 1)
PIN = da.Revolute("pin", da.ground.at(0, 0), BAR.at(-1, 0))
SHAFT = da.Cylindrical("shaft", da.ground.at(0, 0, 0), da.Body("d", 1, (1, 1, 1)), axis=(0, 0, 1))


def lever(*actuators: da.Actuator, **options: Any) -> da.Mechanism:
    require = da.Servo("angle", BAR.coordinates[2] - da.parameters("rate") * da.t, by=actuators, settle=2)
    return da.Mechanism(BAR, PIN, servos=require, **options)


def test_actuators_on_coordinates_and_expressions_remain_possible() -> None:
    """A torque on theta and one in the pin are the same here, and each is given by a mapping or by expressions."""
    theta = BAR.coordinates[2]
    q, qd = lever(da.Actuator("motor", PIN)).assemble(parameters={"rate": 1})
    found = [
        da.motion(lever(da.Actuator("motor", along)).system, q, qd, parameters={"rate": 1}).inputs["motor"]
        for along in (PIN, theta, {theta: 1}, (0, 0, 1))
    ]
    assert found == pytest.approx([2 * (1 + 1) * 2 * 1] * 4)  # β̈ + 4 β̇ + 4 β = 0 with β̇ = −1, and J = 2
    mechanism = lever(da.Actuator("torque", theta))
    run = da.simulate(mechanism.system, q, qd, [0, 1], parameters={"rate": 1})
    assert list(mechanism.reactions(run)) == ["pin"]


def test_assembly_holds_coordinates_and_meets_requirements() -> None:
    mechanism = lever(da.Actuator("motor", PIN, limit=da.parameters("strongest")))
    numbers = {"rate": 0.5, "strongest": 20}
    q, qd = mechanism.assemble(keep="theta_bar", t=1.0, parameters=numbers)
    assert (q[2], qd[2]) == pytest.approx((0, 0))
    q, qd = mechanism.assemble(t=1.0, parameters=numbers, servos=True)
    np.testing.assert_allclose(q, [np.cos(0.5), np.sin(0.5), 0.5], atol=1e-12)
    np.testing.assert_allclose(qd, [-0.5 * np.sin(0.5), 0.5 * np.cos(0.5), 0.5], atol=1e-12)
    q, qd = mechanism.assemble(keep="x_bar", t=0.0, parameters=numbers, servos=True)
    np.testing.assert_allclose([*q, *qd], [1, 0, 0, 0, 0.5, 0.5], atol=1e-12)
    with pytest.raises(da.InputError, match="`servos=True` needs a mechanism with servo constraints"):
        da.Mechanism(BAR, PIN).assemble(servos=True)
    with pytest.raises(da.InputError, match="missing: `strongest`"):
        mechanism.assemble(parameters={"rate": 1})
    far = da.Servo("far", BAR.coordinates[0] - 3, by=da.Actuator("motor", PIN))
    with pytest.raises(da.StateError, match=r"cannot be assembled .*`far` remains violated"):
        da.Mechanism(BAR, PIN, servos=far).assemble(servos=True)


def test_a_motor_behind_an_elastic_joint() -> None:
    """The link's fourth derivative determines the torque; its second and third one restrict the start."""
    rotor = da.PlanarBody("rotor", 1, 0.4)
    link = da.PlanarBody("link", 2, 0.3, position=(0.5, 0))
    bearing = da.Revolute("bearing", da.ground.at(0, 0), rotor)
    spring = da.Revolute("spring", rotor, link.at(-0.5, 0))
    goal = 0.5 * sp.sin(2 * da.t)
    servo = da.Servo("link", link.coordinates[2] - goal, by=da.Actuator("motor", bearing), settle=4)
    forces = (da.Gravity((0, -G)), da.TorsionSpring(spring, 30))
    mechanism = da.Mechanism((rotor, link), (bearing, spring), forces, servos=servo)
    run = simulated(mechanism, servos=True)
    assert np.abs(run.servo_error["link"]).max() < 1e-9
    torque = (0.3 + 2 / 4) * goal.diff(da.t, 2) + 2 * G / 2 * sp.cos(goal)
    turned = goal + torque / 30
    np.testing.assert_allclose(run["theta_rotor"], values(turned, run.t), atol=1e-8)
    np.testing.assert_allclose(run.inputs["motor"], values(0.4 * turned.diff(da.t, 2) + torque, run.t), atol=1e-7)


def test_a_limited_motor_gives_its_limit() -> None:
    mechanism = lever(da.Actuator("motor", PIN, limit=3))
    q, qd = mechanism.assemble(parameters={"rate": 1})
    run = da.simulate(mechanism.system, q, qd, [0, 0.1], parameters={"rate": 1})
    assert mechanism.reactions(run)["motor"].torque[0] == pytest.approx(3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: da.Mechanism(
                SHAFT.second.body,
                SHAFT,
                servos=da.Servo("s", SHAFT.second.body.coordinates[2], da.Actuator("m", SHAFT)),
            ),
            "actuator `m` must act on a joint with one motion, such as `da.Revolute` or `da.Prismatic`; got `shaft`, a "
            "`da.Cylindrical`",
        ),
        (
            lambda: lever(da.Actuator("m", da.Weld("weld", da.ground.at(0, 0), BAR))),
            "actuator `m` must act on a joint with one motion, .* got `weld`, a `da.Weld`",
        ),
        (
            lambda: lever(da.Actuator("m", da.Revolute("bolt", da.ground.at(0, 0), OTHER))),
            "actuator `m` must act on a joint of the mechanism; `bolt` is not among its `joints`",
        ),
        (
            lambda: lever(da.Actuator("m", da.Drive("drive", PIN, da.t))),
            "actuator `m` must act on a joint with one motion, .* got `drive`, a `da.Drive`",
        ),
        (lambda: lever(da.Actuator("pin", PIN)), "an actuator must not have the name of a joint; got `pin`"),
        (lambda: da.Mechanism(BAR, PIN, servos=PIN), "`servos` must hold `da.Servo` objects; got Revolute"),
        (
            lambda: da.System(
                (BAR.coordinates[0],), [[1]], [0], servos=da.Servo("s", BAR.coordinates[0], da.Actuator("m", PIN))
            ),
            "`along` of actuator `m` must be a coordinate of the system .* got `pin`. Joints are known in a "
            "`da.Mechanism`",
        ),
    ],
)
def test_motors_that_cannot_be(make: Any, message: str) -> None:
    with pytest.raises(da.ModelError, match=message):
        make()


def test_two_motors_of_one_name_are_refused() -> None:
    with pytest.raises(da.ModelError, match="two different actuators are called `m`"):
        _ = lever(da.Actuator("m", PIN), da.Actuator("m", BAR.coordinates[2])).system


def test_a_run_without_the_motors_has_no_reactions() -> None:
    mechanism = lever(da.Actuator("motor", PIN))
    q, qd = mechanism.assemble(parameters={"rate": 1})
    run = da.simulate(lever(da.Actuator("servo", PIN)).system, q, qd, [0, 0.1], parameters={"rate": 1})
    with pytest.raises(da.InputError, match="must have the inputs of the mechanism's motors; missing: `motor`"):
        mechanism.reactions(run)


def test_reactions_of_a_plant_under_a_controller() -> None:
    """The inputs are those of a model with another mass; the reactions are those of the plant."""
    model = arm()
    first, *others = model.bodies
    heavier = replace(first, mass=3)
    pins = [
        replace(pin, **{place: Marker(heavier, marker.point) for place, marker in ends.items() if marker.body == first})
        for pin in model.joints
        for ends in [{"first": pin.first, "second": pin.second}]
    ]
    by = [da.Actuator(f"motor {k}", pin) for k, pin in enumerate(pins)]
    plant = replace(model, bodies=(heavier, *others), joints=pins, servos=replace(model.servos[0], by=by))
    q, qd = model.assemble(servos=True)
    controller = da.controller(model.system)
    run = da.simulate(plant.system, q, qd, np.linspace(0, 0.2, 5), control=controller)
    torques = controller(run.q[2], run.qd[2], run.t[2])
    for name, torque in torques.items():
        assert plant.reactions(run)[name].torque[2] == pytest.approx(torque, rel=1e-12)
    assert imbalance(plant, run, (0, -G)) < 1e-10
