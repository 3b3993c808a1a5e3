"""Servo constraints on systems with dry friction that can stick: inputs make up for it where they prescribe the motion.

Beside closed forms, and beside the same requirement as a physical constraint, whose reaction is then the input.
"""

from typing import Any

import numpy as np
import pytest
import sympy as sp

import dalembert as da

MU, MASS, G = 0.3, 2.0, 9.81
FRICTION = MU * MASS * G
RATE = 2.0


def block(path: Any, settle: float = 5.0) -> da.System:
    """A block on a rough floor that a force moves along a path."""
    x, y = da.coordinates("x y")
    floor = da.Constraint(y, name="floor", nonideal=da.Coulomb(MU))
    follow = da.Servo("follow", x - path, by=da.Actuator("F", x), settle=settle)
    return da.System((x, y), sp.eye(2) * MASS, (0, -MASS * G), floor, servos=follow)


def test_inputs_make_up_for_friction_also_where_the_velocity_changes_sign() -> None:
    times = np.linspace(0.05, 5.05, 101)
    start = (np.sin(RATE * times[0]), 0), (RATE * np.cos(RATE * times[0]), 0)
    run = da.simulate(block(sp.sin(RATE * da.t)), *start, times)
    np.testing.assert_allclose(run.q[:, 0], np.sin(RATE * times), atol=1e-9)
    expected = -MASS * RATE**2 * np.sin(RATE * times) + FRICTION * np.sign(np.cos(RATE * times))
    np.testing.assert_allclose(run.inputs["F"], expected, atol=2e-7)
    assert run.events == ()  # it never sticks
    assert abs(run.ledger().audit).max() < 1e-7


def test_a_block_at_rest_is_set_in_motion() -> None:
    point = da.motion(block(sp.sin(RATE * da.t)), (0, 0), (0, 0))
    acceleration = 2 * 5 * RATE  # 2ω(ẋ_path - ẋ), where the block is on its path and at rest
    np.testing.assert_allclose(point.acceleration, (acceleration, 0), atol=1e-13)
    assert point.inputs["F"] == pytest.approx(MASS * acceleration + FRICTION, rel=1e-14)
    np.testing.assert_allclose(point.nonideal_force, (-FRICTION, 0), atol=1e-13)
    run = da.simulate(block(sp.sin(RATE * da.t)), (0, 0), (0, 0), (0, 3))
    assert run.inputs["F"][0] == point.inputs["F"]
    assert abs(run.servo_error["follow"][-1]) < 1e-5


def test_a_block_that_waits_has_no_friction_until_it_moves() -> None:
    path = sp.Piecewise((0, da.t < 1), ((da.t - 1) ** 3, True))
    times = np.array([0, 0.5, 1, 1.5, 2])
    run = da.simulate(block(path), (0, 0), (0, 0), times)
    np.testing.assert_allclose(run.inputs["F"][[1, 3, 4]], [0, 3 * MASS + FRICTION, 6 * MASS + FRICTION], atol=1e-5)
    assert any("kept at rest" in note for note in run.notes)


def test_a_particle_on_a_rough_plane_turns_into_its_path() -> None:
    x, y, z = da.coordinates("x y z")
    plane = da.Constraint(z, name="plane", nonideal=da.Coulomb(MU))
    path = sp.Matrix([sp.cos(da.t) - 1, sp.sin(da.t)])
    pull = (da.Actuator("Fx", x), da.Actuator("Fy", y))
    follow = da.Servo("circle", (x - path[0], y - path[1]), by=pull, settle=4)
    system = da.System((x, y, z), sp.eye(3) * MASS, (0, 0, -MASS * G), plane, servos=follow)
    times = np.linspace(0, 6, 61)
    run = da.simulate(system, (0, 0, 0), (0, 0, 0), times)
    error = np.linalg.norm(run.servo_error["circle"], axis=1)
    np.testing.assert_allclose(error, times * np.exp(-4 * times), atol=1e-8)  # as without friction
    v = run.qd[-1, :2] / np.linalg.norm(run.qd[-1, :2])
    force = np.array([run.inputs["Fx"][-1], run.inputs["Fy"][-1]])
    np.testing.assert_allclose(force, MASS * run.acceleration[-1, :2] + FRICTION * v, atol=1e-9)


def two_blocks(**enforced: Any) -> da.System:
    """A block that moves to and fro pulls a second one, on a rough floor, by a spring."""
    x, u, w = da.coordinates("x u w")
    floor = da.Constraint(w, name="floor", nonideal=da.Coulomb(0.2, mu_static=0.35, velocity=u.diff(da.t)))
    spring = 30 * (u - x)
    requirement = x - sp.sin(da.t) / 2
    if "by" in enforced:
        servo = da.Servo("path", requirement, settle=None, **enforced)
        return da.System((x, u, w), sp.diag(3, 1, 1), (spring, -spring, -G), floor, servos=servo)
    drive = da.Constraint(requirement, name="path")
    return da.System((x, u, w), sp.diag(3, 1, 1), (spring, -spring, -G), (floor, drive))


def test_a_contact_that_inputs_do_not_prescribe_sticks_and_slips_as_under_a_drive() -> None:
    x = da.coordinates("x")
    times, start = np.linspace(0, 12, 121), ((0, 0, 0), (0.5, 0, 0))
    servo = da.simulate(two_blocks(by=da.Actuator("F", x)), *start, times)
    drive = da.simulate(two_blocks(), *start, times)
    assert len(servo.events) == len(drive.events) > 6
    np.testing.assert_allclose([e.t for e in servo.events], [e.t for e in drive.events], atol=1e-6)
    np.testing.assert_allclose(servo.q, drive.q, atol=1e-7)
    np.testing.assert_allclose(servo.inputs["F"], drive.ideal_force[:, 0], atol=1e-5)
    np.testing.assert_allclose(servo.ideal_force[:, 2], drive.ideal_force[:, 2], atol=1e-9)


def test_a_sampled_controller_that_does_not_know_of_friction_lets_the_block_stick() -> None:
    """With ever shorter periods the motion tends to that under the continuous controller, sticking included."""
    x, y = da.coordinates("x y")
    floor = da.Constraint(y, name="floor")
    follow = da.Servo("follow", x - sp.sin(RATE * da.t), by=da.Actuator("F", x), settle=15)
    model = da.System((x, y), sp.eye(2) * MASS, (0, -MASS * G), floor, servos=follow)
    rough = da.Constraint(y, name="floor", nonideal=da.Coulomb(MU))
    plant = da.System((x, y), sp.eye(2) * MASS, (0, -MASS * G), rough)
    times = np.linspace(0, 2, 21)

    def run(**options: Any) -> da.Trajectory:
        return da.simulate(plant, (0, 0), (RATE, 0), times, control=da.controller(model, **options))

    continuous = run()
    assert [event.kind for event in continuous.events] == ["sticks", "slips"]
    coarse, fine = run(period=0.01), run(period=0.0025)
    distances = [np.abs(sampled.q - continuous.q).max() for sampled in (coarse, fine)]
    assert distances[1] < 0.3 * distances[0] < 1e-3  # of first order in the period
    assert [event.kind for event in fine.events] == ["sticks", "slips"]
    assert abs(fine.events[0].t - continuous.events[0].t) < 1e-4
    assert np.abs(fine.ledger().audit).max() < 1e-10
    # between two samples the friction force is what holds the block, or what it slides under
    total = MASS * fine.acceleration[:, 0] - fine.inputs["F"]
    np.testing.assert_allclose(fine.nonideal_force[:, 0], total, atol=1e-9)
