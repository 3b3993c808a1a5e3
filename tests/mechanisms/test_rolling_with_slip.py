"""Joints that roll, given dry friction: they roll within its limit and slip beyond it; against closed forms."""

from typing import Any

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from mechanisms.test_contact_joints import TIGHT, kinds, simulate

O2, O3 = da.ground.at(0, 0), da.ground.at(0, 0, 0)
DOWN = da.Gravity((0, -10))


def thrown(inertia: Any = 0.4, spin: float = 0) -> da.PlanarBody:
    return da.PlanarBody("b", 1, inertia, position=(0, 1), velocity=(7, 0), spin=spin)


@pytest.mark.parametrize(("inertia", "share"), [(0.5, 2 / 3), (0.4, 5 / 7)])
def test_a_body_thrown_without_spin_ends_rolling(inertia: float, share: float) -> None:
    """A disc rolls at 2/3 of its speed after v/(3 μ g), a ball at 5/7 after 2 v/(7 μ g)."""
    v, mu, body = 7, 0.2, thrown(inertia)
    mechanism = da.Mechanism(body, da.RollingOnLine("w", O2, body, radius=1, nonideal=da.Coulomb(mu)), DOWN)
    np.testing.assert_array_equal(mechanism.assemble().qd, [v, 0, 0])
    run = simulate(mechanism, [0, 0.5, 2], **TIGHT)
    assert kinds(run) == [("w: contact", "sticks")]
    assert run.events[0].t == pytest.approx((1 - share) * v / (mu * 10), rel=1e-13)
    np.testing.assert_allclose(run.qd[-1], [share * v, 0, -share * v], atol=1e-12)
    np.testing.assert_allclose(mechanism.reactions(run)["w"].force, [[-2, 10], [-2, 10], [0, 10]], atol=1e-12)
    assert run.ledger()["w: Coulomb"][-1] == pytest.approx((share - 1) * v**2 / 2, rel=1e-13)


def test_a_driven_wheel_slips_from_the_torque_that_its_friction_cannot_transmit() -> None:
    """A torque k t needs the friction k t m r/(m r² + I), which reaches μ m g at μ m g (m r² + I)/(k m r)."""
    m, inertia, r, k, mu = 2, 1, 0.5, 4, 0.3
    wheel = da.PlanarBody("wheel", m, inertia, position=(0, r))
    drive = (DOWN, da.Torque(wheel, -k * da.t))
    law = da.Coulomb(mu, mu_static=mu)
    mechanism = da.Mechanism(wheel, da.RollingOnLine("w", O2, wheel, radius=r, nonideal=law), drive)
    run = simulate(mechanism, [0, 1, 5], **TIGHT)
    slips = mu * m * 10 * (m * r**2 + inertia) / (k * m * r)
    assert kinds(run) == [("w: contact", "slips")]
    assert run.events[0].t == pytest.approx(slips, rel=2e-12)
    np.testing.assert_allclose(mechanism.reactions(run)["w"].force[-1], [mu * m * 10, m * 10], atol=1e-10)


@pytest.mark.parametrize("law", [da.Coulomb(0.3), da.Coulomb(0.2, mu_static=0.3), da.Stribeck(0.2, 0.3, 0.1)])
def test_a_disc_rolls_down_a_slope_up_to_three_times_its_angle_of_friction(law: Any) -> None:
    """It rolls where tan α ≤ 3 μ_static, with the acceleration 2/3 g sin α; beyond, friction is too weak."""
    for ratio in (0.999, 1.001):
        slope = np.arctan(3 * 0.3 * ratio)
        gravity = da.Gravity((10 * np.sin(slope), -10 * np.cos(slope)))
        disc = da.PlanarBody("b", 1, sp.Rational(1, 2), position=(0, 1))
        joint = da.RollingOnLine("w", O2, disc, radius=1, nonideal=law)
        run = simulate(da.Mechanism(disc, joint, gravity), [0, 1])
        rim = run.qd[-1, 0] + run.qd[-1, 2]
        rolling = run.qd[-1, 0] - 20 / 3 * np.sin(slope)
        assert (abs(rim) < 1e-11, abs(rolling) < 1e-11) == (ratio < 1,) * 2
        assert rim > -1e-11


def test_a_body_that_a_plank_carries() -> None:
    """The impulse J ends the slip v₀ at J (1/m + 1/M + r²/I) = v₀, on a plank that is free to move."""
    body, plank = thrown(), da.PlanarBody("plank", 3, 1)
    joints = da.Prismatic("rail", O2, plank), da.RollingOnLine("w", plank, body, radius=1, nonideal=da.Coulomb(0.2))
    run = simulate(da.Mechanism((body, plank), joints, DOWN), [0, 3], **TIGHT)
    impulse = 7 / (1 + 1 / 3 + 1 / 0.4)
    np.testing.assert_allclose(run.qd[-1], [7 - impulse, 0, -impulse / 0.4, impulse / 3, 0, 0], atol=1e-11)


def test_the_contact_also_pulls() -> None:
    """Above the line although gravity points upwards: friction by the size of the force, which pulls."""
    body = thrown()
    joint = da.RollingOnLine("w", O2, body, radius=1, nonideal=da.Coulomb(0.2))
    mechanism = da.Mechanism(body, joint, da.Gravity((0, 10)))
    run = simulate(mechanism, [0, 0.5, 2], **TIGHT)
    np.testing.assert_allclose(run.qd[-1], [5, 0, -5], atol=1e-12)
    np.testing.assert_allclose(mechanism.reactions(run)["w"].force, [[-2, -10], [-2, -10], [0, -10]], atol=1e-12)


def test_rolling_resistance_leaves_the_rolling_as_it_is() -> None:
    """A law with a velocity of its own: the torque 0.1 N brakes a ball with 0.1 g/(1 + I), without slip."""
    body = thrown(spin=-7)
    resistance = da.Coulomb(0.1, velocity=body.turning)
    for laws, count in ((resistance, 2), ([resistance, da.Coulomb(0.5)], 1)):
        joint = da.RollingOnLine("w", O2, body, radius=1, nonideal=laws)
        assert len(joint.rows()) == count
        run = simulate(da.Mechanism(body, joint, DOWN), [0, 1], **TIGHT)
        np.testing.assert_allclose(run.qd[-1], np.array([1, 0, -1]) * (7 - 1 / 1.4), atol=1e-11)


def test_a_viscous_law_lets_the_slip_decay() -> None:
    """The slip decreases at the rate c (1/m + r²/I)."""
    body = thrown()
    joint = da.RollingOnLine("w", O2, body, radius=1, nonideal=da.Viscous(2))
    run = simulate(da.Mechanism(body, joint, DOWN), [0, 0.5], **TIGHT)
    left = np.exp(-2 * 3.5 * 0.5)
    np.testing.assert_allclose(run.qd[-1], [5 + 2 * left, 0, -5 + 5 * left], atol=1e-11)


def test_members_of_an_ensemble_end_rolling() -> None:
    body, mu = thrown(), da.parameters("mu")
    joint = da.RollingOnLine("w", O2, body, radius=1, nonideal=da.Coulomb(mu))
    mechanism = da.Mechanism(body, joint, DOWN)
    start = mechanism.assemble(parameters={"mu": 1})
    q, qd = (np.tile(own, (3, 1)) for own in (start.q, start.qd))
    found = da.simulate_ensemble(mechanism.system, q, qd, [0, 0.8], parameters={"mu": np.array([0.1, 0.2, 0.5])})
    np.testing.assert_allclose(found.qd[:, -1, 0], [7 - 0.8, 7 - 1.6, 5], atol=1e-11)


def in_a_circle() -> Any:
    along = np.array([np.cos(0.3), np.sin(0.3)])
    disc = da.PlanarBody("b", 1, 0.02, position=(0.8 * along[1], -0.8 * along[0]), velocity=3 * along)
    round_bodies = {"radius": 0.2, "inside": True, "nonideal": da.Coulomb(0.2)}
    return (
        disc,
        da.RollingOnCircle("w", O2, disc, circle=1, **round_bodies),
        da.RoundContact("w", O2, disc, other=1, restitution=0, **round_bodies),
    )


def on_a_line() -> Any:
    body = thrown()
    shape = {"radius": 1, "nonideal": da.Coulomb(0.2)}
    return body, da.RollingOnLine("w", O2, body, **shape), da.PlaneContact("w", O2, body, restitution=0, **shape)


def tilted(velocity: Any = (3, 1, 0), spin: Any = (0, 2, 1)) -> da.Body:
    turned = da.quaternion((1, 0, 0), 0.2)
    return da.Body("b", 2, (0.25, 0.5, 0.25), (0, 0, np.cos(0.2)), turned, velocity=velocity, spin=spin)


def disc_in_space() -> Any:
    disc = tilted()
    shape = {"radius": 1, "axle": (0, 1, 0), "nonideal": da.Coulomb(0.3)}
    return disc, da.RollingDisc("w", O3, disc, **shape), da.PlaneContact("w", O3, disc, restitution=0, **shape)


def ellipsoid_in_space() -> Any:
    body = da.Body("b", 2, (0.25, 0.5, 0.35), (0, 0, 0.9), velocity=(3, 1, 0), spin=(0, 2, 1))
    shape = {"axes": (1, 0.8, 0.9), "nonideal": da.Coulomb(0.3)}
    return body, da.RollingEllipsoid("w", O3, body, **shape), da.PlaneContact("w", O3, body, restitution=0, **shape)


@pytest.mark.parametrize(
    ("bodies", "end", "events"),
    [
        (on_a_line, 2, ["sticks"]),
        (in_a_circle, 2, ["sticks", "slips", "sticks"]),
        pytest.param(disc_in_space, 0.5, ["sticks"], marks=pytest.mark.slow),
        pytest.param(ellipsoid_in_space, 0.5, ["sticks"], marks=pytest.mark.slow),
    ],
)
def test_it_moves_as_the_contact_that_can_open(bodies: Any, end: float, events: Any) -> None:
    body, *joints = bodies()
    forces = da.Gravity((0, 0, -10)[-body.dimension :])
    one, other = (simulate(da.Mechanism(body, joint, forces), [0, 0.1, 0.3, end], **TIGHT) for joint in joints)
    assert [event.kind for event in one.events] == [event.kind for event in other.events] == events
    np.testing.assert_allclose([event.t for event in one.events], [event.t for event in other.events], atol=1e-12)
    np.testing.assert_allclose(one.q, other.q, atol=1e-12)
    np.testing.assert_allclose(one.qd, other.qd, atol=1e-12)


def test_on_a_profile_that_is_a_line() -> None:
    body = thrown()
    flat = da.RollingOnProfile("w", O2, body, radius=1, profile=lambda s: (2 * s, 0), nonideal=da.Coulomb(0.2))
    run = simulate(da.Mechanism(body, flat, DOWN), [0, 0.5, 2], **TIGHT)
    np.testing.assert_allclose(run.qd[-1], [5, 0, -5, 2.5], atol=1e-11)


@pytest.mark.slow  # a body in space takes seconds to compile
def test_a_ball_in_space_keeps_its_angular_momentum_about_the_point_of_contact() -> None:
    """All components; and so the velocity at which it rolls in the end, v + (I/(m r² + I)) × the initial slip."""
    m, inertia, r, mu = 2.0, 0.4, 0.5, 0.2
    v, w = np.array([3.0, 4, 0]), np.array([1.0, -2, 3])
    ball = da.Body("ball", m, (inertia,) * 3, position=(0, 0, r), velocity=v, spin=w)
    joint = da.RollingBall("w", O3, ball, radius=r, nonideal=da.Coulomb(mu))
    mechanism = da.Mechanism(ball, joint, da.Gravity((0, 0, -10)))
    run = simulate(mechanism, [0, 0.2, 0.4, 2], **TIGHT)
    up = np.array([0, 0, r])
    spins = run.evaluate(ball.turning)
    momentum = inertia * spins + m * np.cross(up, run.qd[:, :3])
    np.testing.assert_allclose(momentum, np.tile(inertia * w + m * np.cross(up, v), (4, 1)), atol=1e-11)
    slip = v + np.cross(w, -up)
    rate = mu * 10 * (1 + m * r**2 / inertia)
    assert kinds(run) == [("w: contact", "sticks")]
    assert run.events[0].t == pytest.approx(np.linalg.norm(slip) / rate, abs=1e-9)
    np.testing.assert_allclose(run.qd[-1, :3], v - slip / (1 + m * r**2 / inertia), atol=1e-9)
    friction = mechanism.reactions(run)["w"].force[1]
    np.testing.assert_allclose(friction, [*(-mu * m * 10 * slip / np.linalg.norm(slip))[:2], 20], atol=1e-9)


@pytest.mark.slow  # a body in space takes seconds to compile
def test_with_much_friction_a_disc_rolls_as_without_slip() -> None:
    disc = tilted(velocity=(0, 0, 0), spin=(0, 2, 0.5))
    ideal = da.Mechanism(disc, da.RollingDisc("w", O3, disc, radius=1), da.Gravity((0, 0, -10)))
    start = ideal.assemble()
    rough = da.Mechanism(disc, da.RollingDisc("w", O3, disc, radius=1, nonideal=da.Coulomb(20)), ideal.forces)
    one, other = (da.simulate(own.system, start.q, start.qd, [0, 0.2, 0.4], **TIGHT) for own in (ideal, rough))
    assert not other.events
    np.testing.assert_allclose(other.q, one.q, atol=1e-11)
    forces = [own.reactions(run)["w"].force for own, run in ((ideal, one), (rough, other))]
    np.testing.assert_allclose(*forces, atol=1e-9)


@pytest.mark.slow  # a body in space takes seconds to compile
def test_a_ball_slides_along_a_cylinder() -> None:
    """It starts to roll at 5/7 of its speed, on the lowest line of a pipe."""
    ball = da.Body("ball", 1, (0.004,) * 3, position=(0, 0, -0.9), velocity=(7, 0, 0))
    law = da.Coulomb(0.2)
    joint = da.RollingOnCylinder("w", O3, ball, radius=0.1, cylinder=1, axis=(1, 0, 0), inside=True, nonideal=law)
    run = simulate(da.Mechanism(ball, joint, da.Gravity((0, 0, -10))), [0, 2])
    assert kinds(run) == [("w: contact", "sticks")]
    np.testing.assert_allclose(run.qd[-1, :3], [5, 0, 0], atol=1e-9)


def test_its_file_and_its_drawing(tmp_path: Any) -> None:
    body = thrown(da.parameters("inertia"))
    joint = da.RollingOnLine("w", O2, body, radius=1, nonideal=da.Coulomb(0.2, mu_static=0.3))
    mechanism = da.Mechanism(body, joint, DOWN)
    p = {"inertia": 0.4}
    run = da.simulate(mechanism.system, *mechanism.assemble(parameters=p), [0, 2], parameters=p)
    again = da.load(mechanism.save(tmp_path / "rolling.toml")).mechanism
    assert again is not None and again.system.constraints == mechanism.system.constraints
    same = da.simulate(again.system, *again.assemble(parameters=p), [0, 2], parameters=p)
    np.testing.assert_array_equal(same.q, run.q)
    pytest.importorskip("matplotlib")
    assert mechanism.plot(run) is not None


def test_files_of_joints_in_space(tmp_path: Any) -> None:
    body, law = tilted(), da.Coulomb(0.2)
    for joint in (
        da.RollingDisc("w", O3, body, radius=1, nonideal=law),
        da.RollingEllipsoid("w", O3, body, axes=(1, 2, 3), nonideal=law),
        da.RollingOnCylinder("w", O3, body, radius=0.1, cylinder=1, nonideal=law),
    ):
        mechanism = da.Mechanism(body, joint)
        assert [str(row.name) for row in joint.constraints] == ["w: contact"]
        again = da.load(mechanism.save(tmp_path / "rolling.toml")).mechanism
        assert again is not None and again.system.constraints == mechanism.system.constraints


def test_a_ball_on_a_sphere_is_refused() -> None:
    joint = da.RollingOnSphere("w", O3, tilted(), radius=0.1, sphere=1, nonideal=da.Coulomb(0.2))
    with pytest.raises(
        da.ModelError, match=r"rolls without slip\. A ball that may slip is a `da\.RoundContact` with a"
    ):
        _ = joint.constraints


@pytest.mark.parametrize("joint", [da.RollingDisc, da.RollingBall])
def test_joints_in_space_name_the_one_in_the_plane(joint: Any) -> None:
    with pytest.raises(da.ModelError, match=r"must join points of space; in the plane use `da\.RollingOnLine`"):
        joint("w", O2, thrown(), radius=1)
