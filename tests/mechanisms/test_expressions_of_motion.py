"""Expressions of bodies and joints along a run: positions, velocities, rotations, angles, points of contact."""

import numpy as np
import sympy as sp

import dalembert as da

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
