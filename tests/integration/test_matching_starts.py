"""Matching starts: states from which the errors of servo constraints are zero from the beginning."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import dalembert as da

t = da.t


def two_masses(settle: object = 2.0) -> da.System:
    x1, x2 = da.coordinates("x1 x2")
    m1, m2, k = da.parameters("m1 m2 k")
    force = k * (x1 - x2)
    servo = da.Servo("follow", x2 - sp.sin(t), by=da.Actuator("u", x1), settle=settle)
    return da.System((x1, x2), sp.diag(m1, m2), (-force, force), servos=servo)


def crane(x_load: object, z_load: object) -> da.System:
    x, rope, theta = da.coordinates("x l theta")
    X, Z = x + rope * sp.sin(theta), -rope * sp.cos(theta)
    L = 5 * x.diff(t) ** 2 / 2 + rope.diff(t) ** 2 / 4 + (X.diff(t) ** 2 + Z.diff(t) ** 2) / 2 - 9.81 * Z
    by = da.Actuator("trolley", x), da.Actuator("winch", rope)
    servo = da.Servo("load", (X - x_load, Z - z_load), by=by, settle=3.0)
    return da.System.from_lagrangian(L, (x, rope, theta), servos=servo)


@pytest.mark.parametrize("settle", [2.0, None, ((4.0,), (6.0,), (4.0,), (1.0,))], ids=["rate", "none", "gains"])
def test_two_masses_and_a_spring(settle):
    if isinstance(settle, tuple):
        settle = tuple([list(gain)] for gain in settle)
    numbers = {"m1": 2.0, "m2": 3.0, "k": 7.0}
    at = 0.4
    q, qd = da.consistent_state(two_masses(settle), (0, 0), (0, 0), at, parameters=numbers, servos=True)
    share = 1 - numbers["m2"] / numbers["k"]  # x1 = s + (m2/k) s̈ and s̈ = −s
    np.testing.assert_allclose(q, (share * np.sin(at), np.sin(at)), atol=1e-12)
    np.testing.assert_allclose(qd, (share * np.cos(at), np.cos(at)), atol=1e-12)


def test_crane():
    x_load, z_load, at, g = 0.3 * sp.sin(t), -2 + 0.2 * sp.cos(2 * t), 0.35, 9.81
    system = crane(x_load, z_load)
    q, qd = da.consistent_state(system, (0, 2, 0), (0, 0, 0), at, servos=True)
    slope = x_load.diff(t, 2) / (z_load.diff(t, 2) + g)
    flat = (x_load - z_load * slope, -z_load * sp.sqrt(1 + slope**2), sp.atan(slope * -1))
    for i, e in enumerate(flat):
        assert q[i] == pytest.approx(float(e.subs(t, at)), abs=1e-12)
        assert qd[i] == pytest.approx(float(e.diff(t).subs(t, at)), abs=1e-12)
    assert np.abs(da.simulate(system, q, qd, [at, 2.0]).servo_error["load"]).max() < 1e-10


def pendulum(kind: str) -> da.System:
    """A particle on a rod whose height follows a sine, by a force along x and y of which two-thirds are along x."""
    x, y = da.coordinates("x y")
    rod = da.Constraint(x**2 + y**2 - 4, name="rod")
    height = y + 1 - sp.sin(t) / 3
    if kind == "constraint":
        return da.System((x, y), [[2, 0], [0, 3]], (0, -9.81), (rod, da.Constraint(height, name="height")))
    thrust = da.Actuator("thrust", {x: 2, y: 1})
    return da.System((x, y), [[2, 0], [0, 3]], (0, -9.81), rod, servos=da.Servo("height", height, by=thrust, settle=4))


def test_at_relative_degree_two_the_start_is_that_of_the_same_constraint():
    given = ((1.5, -0.6), (0.2, 0.1))
    wanted = da.consistent_state(pendulum("constraint"), *given, 0.5)
    found = da.consistent_state(pendulum("servo"), *given, 0.5, servos=True)
    np.testing.assert_allclose(found, wanted, atol=1e-13)
    x, y = found.q
    assert y == pytest.approx(np.sin(0.5) / 3 - 1, abs=1e-13)
    assert x**2 + y**2 == pytest.approx(4, abs=1e-12)
    # without servos only the rod holds
    q, _ = da.consistent_state(pendulum("servo"), *given, 0.5)
    np.testing.assert_allclose(np.linalg.norm(q), 2, atol=1e-13)
    assert abs(q[1] - y) > 0.01


def test_what_is_left_free_stays_nearest():
    """Two masses as above and a third on its own: the start keeps the third, and a matching one is unchanged."""
    x1, x2, x3 = da.coordinates("x1 x2 x3")
    servo = da.Servo("follow", x2 - sp.cos(t), by=da.Actuator("u", x1), settle=2.0)
    system = da.System((x1, x2, x3), sp.eye(3), (x2 - x1, x1 - x2, -x3), servos=servo)
    q, qd = da.consistent_state(system, (0.3, 0.4, 0.7), (0, 0, 0.2), servos=True)
    np.testing.assert_allclose([*q, *qd], [0, 1, 0.7, 0, 0, 0.2], atol=1e-12)
    again = da.consistent_state(system, q, qd, servos=True)
    np.testing.assert_allclose(again, (q, qd), atol=1e-13)


def test_a_start_that_does_not_match_settles():
    numbers = {"m1": 2.0, "m2": 3.0, "k": 7.0}
    run = da.simulate(two_masses(), (0.1, 0.2), (0, 0), [0, 1, 12], parameters=numbers)
    error = np.abs(run.servo_error["follow"])
    assert error[0] > 0.1 > 1e-5 > error[-1]


def test_messages():
    x1, x2 = da.coordinates("x1 x2")
    plain = da.System((x1, x2), sp.eye(2), (0, 0))
    with pytest.raises(da.InputError, match=r"`servos=True` needs a system with servo constraints; got one without"):
        da.consistent_state(plain, (0, 0), (0, 0), servos=True)
    push = da.Actuator("push", x1)
    far = da.System((x1, x2), sp.eye(2), (0, 0), servos=da.Servo("reach", sp.cos(x1) - 2, by=push, settle=1))
    with pytest.raises(da.StateError, match=r"some state near `q0` must satisfy the constraints; `reach` remains"):
        da.consistent_state(far, (0.5, 0), (0, 0), servos=True)
    root = da.System((x1, x2), sp.eye(2), (0, 0), servos=da.Servo("root", sp.sqrt(x1) - 1, by=push, settle=1))
    with pytest.raises(da.StateError, match=r"requirements and their derivatives must be finite .*`root` is not"):
        da.consistent_state(root, (-1, 0), (0, 0), servos=True)
