"""Expressions of bodies and joints along a run: positions, velocities, rotations, angles, points of contact."""

import copy
import dataclasses
import pickle

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.live.scene import scene_of_points

T = np.linspace(0, 1, 11)


def run_of(*parts):
    mechanism = da.Mechanism(*parts)
    return da.simulate(mechanism.system, *mechanism.assemble(), T)


def test_points_of_a_planar_body():
    bar = da.PlanarBody("bar", 2, 1, angle=0.3, velocity=(1, 2), spin=3.0, center=(0.1, 0.2))
    run = run_of((bar,))
    tip = bar.at(0.5, 0.1)
    fine = np.linspace(0, 1, 2001)
    place, speed = run.evaluate(tip.position, t=fine), run.evaluate(tip.velocity, t=fine)
    step = 2 * (fine[1] - fine[0])
    assert np.allclose((place[2:] - place[:-2]) / step, speed[1:-1], atol=1e-5)
    assert np.allclose((speed[2:] - speed[:-2]) / step, run.evaluate(tip.acceleration, t=fine)[1:-1], atol=1e-4)
    assert np.allclose(run.evaluate(bar.angular_velocity), 3.0)
    turned = run.evaluate(bar.rotation)
    assert turned.shape == (11, 2, 2) and np.allclose(turned @ turned.transpose(0, 2, 1), np.eye(2))
    moved = run.evaluate(bar.at(0, 0).position) + turned @ [0.5, 0.1]
    assert np.allclose(moved, run.evaluate(tip.position))


def test_a_body_in_space():
    top = da.Body("top", 1, (1, 2, 3), orientation=da.quaternion((1, 1, 0), 0.4), spin=(0.3, 2, 1))
    run = run_of((top,))
    turned, spin = run.evaluate(top.rotation), run.evaluate(top.angular_velocity)
    assert turned.shape == (11, 3, 3) and np.allclose(np.linalg.det(turned), 1)
    # angular momentum in world axes is constant
    momentum = turned @ np.diag([1, 2, 3]) @ turned.transpose(0, 2, 1) @ spin[:, :, None]
    assert np.allclose(momentum, momentum[0], atol=1e-8)
    assert np.allclose(spin[0], (0.3, 2, 1))


def test_a_cylindrical_joint():
    nut = da.Body("nut", 1, (1, 1, 2), velocity=(0, 0, 0.5), spin=(0, 0, 20))
    joint = da.Cylindrical("bolt", da.ground.at(0, 0, 0), nut, axis=(0, 0, 1))
    run = run_of((nut,), (joint,))
    assert np.allclose(run.evaluate(joint.displacement), 0.5 * T, atol=1e-9)
    assert np.allclose(run.evaluate(joint.angle, unwrap=True), 20 * T, atol=1e-7)


def test_points_of_contact_do_not_slip():
    """A rolling disc: the material point in contact is at rest, and the point of contact is in the plane."""
    disc = da.Body("disc", 1, (0.1, 0.2, 0.1), position=(0, 0, 0.5), velocity=(1, 0, 0), spin=(0, 2, 0))
    edge = da.RollingDisc("edge", da.ground.at(0, 0, 0), disc, radius=0.5)
    run = run_of((disc,), (edge,), (da.Gravity((0, 0, -9.81)),))
    contact = run.evaluate(edge.contact_point)
    assert np.allclose(contact[:, 2], 0, atol=1e-10) and np.allclose(contact[:, 0], T, atol=1e-8)
    lever = contact - run.evaluate(disc.at(0, 0, 0).position)
    material = run.evaluate(disc.at(0, 0, 0).velocity) + np.cross(run.evaluate(disc.angular_velocity), lever)
    assert np.allclose(material, 0, atol=1e-9)


def test_a_wheel_on_a_line():
    wheel = da.PlanarBody("wheel", 1, 1, position=(0, 0.5), velocity=(1, 0), spin=-2)
    road = da.RollingOnLine("road", da.ground.at(0, 0), wheel, radius=0.5)
    contact = run_of((wheel,), (road,)).evaluate(road.contact_point)
    assert np.allclose(contact, np.stack([T, 0 * T], axis=1), atol=1e-9)


def test_the_extension_of_a_spring():
    ball = da.Particle("ball", 1, (2.0, 0))
    spring = da.Spring(da.ground.at(0, 0), ball, stiffness=4, length=1.5)
    run = run_of((ball,), (), (spring,))
    assert np.allclose(run.evaluate(spring.extension), 0.5 * np.cos(2 * T), atol=1e-8)


def test_expressions_of_several_parts_at_once():
    bar = da.PlanarBody("bar", mass=2, inertia=2 / 12, position=(0.5, 0))
    pin = da.Revolute("pin", da.ground.at(0, 0), bar.at(-0.5, 0))
    run = run_of((bar,), (pin,), (da.Gravity((0, -9.81)),))
    found = run.evaluate([pin.angle, pin.rate, sp.sqrt(sum(c**2 for c in bar.at(0.5, 0).velocity))])
    assert np.allclose(found[:, 0], run["theta_bar"]) and np.allclose(found[:, 1], run["theta_bar'"])
    assert np.allclose(found[:, 2], np.abs(run["theta_bar'"]))


def test_quantities_of_a_planar_body_whose_start_is_given():
    """``bar.velocity`` prints as the numbers of the start; along a run it is that of the reference point."""
    bar = da.PlanarBody("bar", 2, 1, position=(1, 2), angle=0.3, velocity=(1, 2), spin=3.0, center=(0.1, 0.2))
    run = run_of((bar,))
    assert bar.velocity == (1, 2) and bar.angle == 0.3 and repr(bar.spin) == "3.0"
    reference = bar.at(0, 0)
    assert np.array_equal(run.evaluate(bar.position), run.evaluate(reference.position))
    assert np.array_equal(run.evaluate(bar.velocity), run.evaluate(reference.velocity))
    assert np.array_equal(run.evaluate(bar.angle), run["theta_bar"])
    assert np.array_equal(run.evaluate(bar.spin), run["theta_bar'"])
    assert run.evaluate([bar.position, bar.velocity], t=0.35).shape == (2, 2)
    assert np.allclose(run.evaluate(bar.angle, t=0.35), 0.3 + 3 * 0.35, atol=1e-9)


def test_quantities_of_a_body_in_space_whose_start_is_given():
    turned = da.quaternion((1, 1, 0), 0.4)
    top = da.Body("top", 1, (1, 2, 3), position=(1, 2, 3), orientation=turned, velocity=(4, 5, 6), spin=(0.3, 2, 1))
    run = run_of((top,))
    expected = np.array([1, 2, 3]) + np.outer(T, [4, 5, 6])
    assert np.allclose(run.evaluate(top.position), expected, atol=1e-9)
    assert np.allclose(run.evaluate(top.velocity), [4, 5, 6], atol=1e-9)
    assert np.array_equal(run.evaluate(top.spin), run.evaluate(top.angular_velocity))
    assert np.array_equal(run.evaluate(top.orientation), run.q[:, 3:]) and np.allclose(run.q[0, 3:], turned)


def test_the_path_of_a_particle():
    ball = da.Particle("ball", 1, (1.0, 2.0), (3, 4))
    run = run_of((ball,))
    assert np.allclose(run.evaluate(ball.position), np.array([1, 2]) + np.outer(T, [3, 4]), atol=1e-12)
    assert np.allclose(run.evaluate(ball.velocity), [3, 4])


def test_poses_as_matrices():
    top = da.Body("top", 1, (1, 2, 3), position=(1, 2, 3), spin=(0.3, 2, 1))
    bar = da.PlanarBody("bar", 2, 1, position=(1, 2), spin=3.0)
    for body, point in ((top, (0.1, 0.2, 0.3)), (bar, (0.1, 0.2))):
        run = run_of((body,))
        poses = run.evaluate(body.pose)
        assert poses.shape == (11, len(point) + 1, len(point) + 1)
        moved = poses @ np.array([*point, 1.0])
        assert np.allclose(moved[:, :-1], run.evaluate(body.at(*point).position)) and np.all(moved[:, -1] == 1)


def test_given_starts_survive_copies():
    bar = da.PlanarBody("bar", 2, 1, velocity=(1, 2))
    run = run_of((bar,))
    for copied in (pickle.loads(pickle.dumps(bar)), copy.deepcopy(bar), dataclasses.replace(bar, mass=3)):
        assert copied.velocity == bar.velocity
        assert np.array_equal(run.evaluate(copied.velocity), run.evaluate(bar.velocity))


def test_a_component_of_a_given_start_is_a_number():
    bar = da.PlanarBody("bar", 2, 1, velocity=(1, 2))
    with pytest.raises(da.InputError, match=r"evaluate `body.velocity` and take the column"):
        run_of((bar,)).evaluate(bar.velocity[0])


def test_points_of_animations_and_pages_may_be_those_of_bodies(tmp_path):
    """A body's position is where it moves, not the numbers with which it was made."""
    bar = da.PlanarBody("bar", 2, 1, velocity=(1, 2), spin=3.0)
    run = run_of((bar,))
    animation = run.animate(points={"bar": bar.position, "tip": bar.at(1, 0).position, "origin": (0, 0)})
    assert np.allclose(animation.positions["bar"], np.outer(T, [1, 2]))
    assert np.allclose(animation.positions["tip"], run.evaluate(bar.at(1, 0).position))
    assert np.allclose(animation.positions["origin"], 0)
    scene = scene_of_points(da.Mechanism(bar).system, {"bar": bar.position, "tip": bar.at(1, 0).position}, ())
    assert scene.points["bar"] == bar.coordinates[:2] and len(scene.points["tip"]) == 2
