"""Contacts of bodies, limits of joints, and rolling that begins and ends, against closed forms."""

from typing import Any

import numpy as np
import pytest
import sympy as sp

import dalembert as da

TIGHT = {"rtol": 1e-12, "atol": 1e-14}


def simulate(mechanism: da.Mechanism, times: Any, **options: Any) -> da.Trajectory:
    run = da.simulate(mechanism.system, *mechanism.assemble(), times, **options)
    assert np.abs(run.ledger().audit).max() < 1e-8
    assert run.violation.min() > -1e-12
    return run


def kinds(run: da.Trajectory) -> list[tuple[str, str]]:
    return [(event.name, event.kind) for event in run.events]


def test_a_driven_wheel_rolls_until_its_friction_is_too_weak() -> None:
    """A torque k t accelerates it by the friction k t m r/(m r² + I), which is μ m g when the wheel begins to slip."""
    wheel = da.PlanarBody("wheel", mass=2, inertia=1, position=(0, 1))
    floor = da.PlaneContact("floor", da.ground, wheel, radius=1, restitution=0, nonideal=da.Coulomb(0.3))
    mechanism = da.Mechanism(wheel, floor, (da.Gravity((0, -10)), da.Torque(wheel, -4 * da.t)))
    run = simulate(mechanism, [0, 1, 3], **TIGHT)
    assert kinds(run) == [("floor: gap", "slips")]
    slips = 0.3 * 2 * 10 * 3 / (4 * 2)
    assert run.events[0].t == pytest.approx(slips, rel=2e-12)  # the static limit allows for rounding
    rolled = 4 * slips**2 / 2 / 3
    np.testing.assert_allclose(run.qd[-1, 0], rolled + 3 * (3 - slips), atol=1e-11)
    spin = rolled + 4 * (9 - slips**2) / 2 - 6 * (3 - slips)
    np.testing.assert_allclose(run.qd[-1, 2], -spin, atol=1e-11)
    force = mechanism.reactions(run)["floor"]
    np.testing.assert_allclose(force.force, [[0, 20], [8 / 3, 20], [6, 20]], atol=1e-10)


def test_a_plane_that_moves_and_one_that_is_tilted() -> None:
    """A box slides down its own incline: corners against a plane whose normal is given in the axes of a body."""
    slope, mu = 0.5, 0.2
    box = da.PlanarBody("box", mass=1, inertia=1, position=(0, 0), angle=-slope)
    normal = (sp.sin(sp.Rational(1, 2)), sp.cos(sp.Rational(1, 2)))
    feet = [
        da.PlaneContact(name, da.ground, box.at(x, 0), normal=normal, restitution=0, nonideal=da.Coulomb(mu))
        for name, x in (("left", -1), ("right", 1))
    ]
    run = simulate(da.Mechanism(box, feet, da.Gravity((0, -10))), [0, 1])
    down = 10 * (np.sin(slope) - mu * np.cos(slope))
    np.testing.assert_allclose(run.q[-1, :2], down / 2 * np.array([np.cos(slope), -np.sin(slope)]), atol=1e-10)
    np.testing.assert_allclose(run["left: gap"] + run["right: gap"], 10 * np.cos(slope), atol=1e-10)


@pytest.mark.parametrize("e", [0.0, 0.7])
def test_an_ellipse_is_turned_by_its_impact(e: float) -> None:
    """Height h(θ) = √(a² sin² θ + b² cos² θ): the impulse (1 + e) v/(1/m + h′²/I) changes velocity and spin."""
    a, b, m, inertia, angle, v = 2.0, 1.0, 3.0, 1.5, 0.4, 1.0
    height = np.sqrt(a**2 * np.sin(angle) ** 2 + b**2 * np.cos(angle) ** 2)
    slope = (a**2 - b**2) * np.sin(angle) * np.cos(angle) / height
    body = da.PlanarBody("egg", m, inertia, position=(0, height + 0.1), angle=angle, velocity=(0.5, -v))
    floor = da.PlaneContact("floor", da.ground, body, axes=(a, b), restitution=e)
    run = simulate(da.Mechanism(body, floor), [0, 0.11], **TIGHT)
    impulse = (1 + e) * v / (1 / m + slope**2 / inertia)
    assert run.events[0].t == pytest.approx(0.1, abs=1e-13)
    np.testing.assert_allclose(run.events[0].after[3:], [0.5, -v + impulse / m, -slope * impulse / inertia], atol=1e-12)


def test_a_thin_disc_in_space_rebounds_on_its_rim() -> None:
    """With its axle tilted from the horizontal by β, the rim is r cos β below the centre, and an impact turns it."""
    r, tilt, m, across, e, v = 0.5, 0.6, 2.0, 0.125, 0.5, 1.0
    orientation = da.quaternion((1, 0, 0), tilt)
    height = r * np.cos(tilt)
    disc = da.Body("disc", m, (across, 0.25, across), (0, 0, height + 0.1), orientation, velocity=(0, 0, -v))
    floor = da.PlaneContact("floor", da.ground, disc, radius=r, axle=(0, 1, 0), restitution=e)
    run = simulate(da.Mechanism(disc, floor), [0, 0.1001])
    lever = r * np.sin(tilt)
    impulse = (1 + e) * v / (1 / m + lever**2 / across)
    np.testing.assert_allclose(run.qd[-1, 2], -v + impulse / m, rtol=1e-9)
    spin = 2 * np.linalg.norm(run.qd[-1, 3:])
    np.testing.assert_allclose(spin, lever * impulse / across, rtol=1e-9)


@pytest.mark.slow  # as below
@pytest.mark.parametrize(("mu", "speed", "rim"), [(0.3, 2.4, 2.4), (0.1, 2.7, 1.2)])
def test_a_disc_that_rebounds_rolls_or_slips_after_it(mu: float, speed: float, rim: float) -> None:
    """Routh's construction: the impulse is 3 m; friction ends the slip at 2/(2 + ½) of 3, or takes 0.1 · 3."""
    disc = da.Body("disc", 2, (0.25, 0.5, 0.25), position=(0, 0, 1.2), velocity=(3, 0, 0))
    floor = da.PlaneContact(
        "floor", da.ground, disc, radius=1, axle=(0, 1, 0), restitution=0.5, nonideal=da.Coulomb(mu)
    )
    run = simulate(da.Mechanism(disc, floor, da.Gravity((0, 0, -10))), [0, 0.2001])
    after = run.events[0].after
    np.testing.assert_allclose(after[7:10], [speed, 0, 1], atol=1e-11)
    np.testing.assert_allclose(2 * after[12], rim, atol=1e-11)  # of the quaternion about y: half the spin


@pytest.mark.slow  # a body in space with all combinations of rolling and bouncing takes seconds to compile
def test_a_ball_thrown_in_space_bounces_and_rolls() -> None:
    ball = da.Body("ball", 1, (0.4,) * 3, position=(0, 0, 1.2), velocity=(3, 4, 0))
    floor = da.PlaneContact("floor", da.ground, ball, radius=1, restitution=0.5, nonideal=da.Coulomb(0.2))
    mechanism = da.Mechanism(ball, floor, da.Gravity((0, 0, -10)))
    run = simulate(mechanism, [0, 1, 2])
    assert kinds(run)[-1] == ("floor: gap", "sticks")
    np.testing.assert_allclose(run.qd[-1, :3], [15 / 7, 20 / 7, 0], atol=1e-9)
    np.testing.assert_allclose(mechanism.reactions(run)["floor"].force[1:], [[0, 0, 10], [0, 0, 10]], atol=1e-9)


def test_balls_collide_along_the_line_of_their_centres() -> None:
    m, M, e = 1.0, 3.0, 0.6
    one = da.Particle("one", m, position=(-2, 0, 0), velocity=(2, 0, 0))
    other = da.Particle("other", M, position=(0, 0.3, 0.4))
    hit = da.RoundContact("hit", other, one, radius=0.25, other=0.5, restitution=e)
    run = simulate(da.Mechanism((one, other), hit), [0, 2])
    q = np.array(run.events[0].before[:6])
    normal = (q[:3] - q[3:]) / 0.75
    np.testing.assert_allclose(np.linalg.norm(q[:3] - q[3:]), 0.75, atol=1e-13)
    impulse = (1 + e) * -(normal @ [2, 0, 0]) * m * M / (m + M)
    expected = np.concatenate([np.array([2, 0, 0]) + impulse / m * normal, -impulse / M * normal])
    np.testing.assert_allclose(run.qd[-1], expected, atol=1e-12)


def test_a_pin_in_its_bearing_bounces_and_slides_in_the_clearance() -> None:
    """It falls through the clearance of 0.1 and slides in the hollow like a pendulum of that length."""
    pin = da.PlanarBody("pin", 1, 1, position=(0, 0))
    bearing = da.RoundContact("bearing", da.ground, pin, radius=0.9, other=1, inside=True, restitution=0)
    run = simulate(da.Mechanism(pin, bearing, da.Gravity((0.2, -1))), [0, 0.3, 3], **TIGHT)
    impact, closes = run.events[:2]
    gravity = np.hypot(0.2, 1)
    assert (impact.kind, closes.kind) == ("impact", "closes")
    assert impact.t == pytest.approx(np.sqrt(0.2 / gravity), abs=1e-12)
    np.testing.assert_allclose(run.q[-1, :2], 0.1 / gravity * np.array([0.2, -1]), atol=1e-11)
    np.testing.assert_allclose(run["bearing: gap"], [0, 0, gravity], atol=1e-10)


def test_limits_of_joints() -> None:
    """A slider flies between its stops, losing half of its speed at each."""
    body = da.PlanarBody("body", 1, 1, velocity=(1, 0))
    rail = da.Prismatic("rail", da.ground.at(0, 0), body, limits=(-1, 2), restitution=0.5)
    run = simulate(da.Mechanism(body, rail), [0, 10, 30])
    assert [event.name for event in run.events] == ["rail: upper limit", "rail: lower limit", "rail: upper limit"]
    np.testing.assert_allclose([event.t for event in run.events], [2, 8, 20], atol=1e-12)
    np.testing.assert_allclose(run.qd[-1, 0], -1 / 8, rtol=1e-13)


@pytest.mark.parametrize("space", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_bar_rests_on_the_limit_of_its_hinge(*, space: bool) -> None:
    """The stop carries the moment of the weight; the joint has it as its torque."""
    if space:
        bar: Any = da.Body("bar", 1, (1, 1, sp.Rational(1, 12)), position=(0.5, 0, 0))
        points: Any = (da.ground.at(0, 0, 0), bar.at(-0.5, 0, 0))
        further, gravity = {"axis": (0, 0, 1)}, (0, -10, 0)
    else:
        bar = da.PlanarBody("bar", 1, sp.Rational(1, 12), position=(0.5, 0))
        points, further, gravity = (da.ground.at(0, 0), bar.at(-0.5, 0)), {}, (0, -10)
    pin = da.Revolute("pin", *points, **further, limits=(-sp.pi / 4, None), restitution=0)
    mechanism = da.Mechanism(bar, pin, da.Gravity(gravity))
    run = simulate(mechanism, [0, 1])
    assert kinds(run) == [("pin: lower limit", "impact"), ("pin: lower limit", "closes")]
    np.testing.assert_allclose(run["pin: lower limit"][-1], 5 * np.cos(np.pi / 4), rtol=1e-9)
    torque = mechanism.reactions(run)["pin"].torque[-1]
    np.testing.assert_allclose(torque, [0, 0, 5 * np.sqrt(0.5)] if space else 5 * np.sqrt(0.5), atol=1e-8)


def test_contacts_in_a_file(tmp_path) -> None:
    box = da.PlanarBody("box", 1, 1, position=(0, 2))
    ball = da.PlanarBody("ball", 1, 1, position=(3, 2))
    joints = (
        da.PlaneContact("corner", da.ground, box.at(0.5, -0.5), normal=(0, 1), restitution=0.2, impact="poisson"),
        da.PlaneContact("egg", da.ground, ball, axes=(1, 2), restitution=0.2, nonideal=da.Coulomb(0.1)),
        da.RoundContact("hit", ball, box, radius=0.5, other=1, restitution=1),
        da.Prismatic("rail", da.ground.at(0, 2), box, limits=(None, 2), restitution=0.5),
    )
    mechanism = da.Mechanism((box, ball), joints, da.Gravity((0, -1)))
    again = da.load(mechanism.save(tmp_path / "contacts.toml")).mechanism
    assert again is not None and again.system.constraints == mechanism.system.constraints


PLANE = {"restitution": 0}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda b: da.PlaneContact("c", da.ground, b, radius=-1, **PLANE), "`radius of joint c` must be positive"),
        (lambda b: da.PlaneContact("c", da.ground, b, radius=1, axes=(1, 2), **PLANE), "`radius` or half `axes`, not"),
        (lambda b: da.PlaneContact("c", da.ground, b, radius=1, axle=(0, 1, 0), **PLANE), "a disc has no `axle`"),
        (lambda b: da.PlaneContact("c", da.ground, b).constraints, "constraint `c: gap`: an inequality needs a `rest"),
        (
            lambda b: da.RoundContact("c", da.ground, b, radius=2, other=1, inside=True, restitution=0),
            "`radius of joint c` must be smaller than `other`",
        ),
        (
            lambda b: da.RoundContact(
                "c", da.ground.at(0, 0, 0), da.Body("d", 1, (1, 1, 1)), radius=1, other=1, restitution=0,
                nonideal=da.Coulomb(0.1),
            ).constraints,
            "Coulomb of joint `c` must be given its `velocity`. No pair of directions is tangent to a whole sphere",
        ),
        (lambda b: da.Revolute("c", da.ground, b, limits=(0, 1)).constraints, "an inequality needs a `restitution`"),
        (lambda b: da.Revolute("c", da.ground, b, limits=1, **PLANE), r"must be a pair \(least, greatest\)"),
        (lambda b: da.Revolute("c", da.ground, b, limits=(1, 0), **PLANE), r"must be given as \(least, greatest\)"),
        (lambda b: da.Prismatic("c", da.ground, b, **PLANE), "is that of its `limits`; it has none"),
        (
            lambda b: da.Revolute(
                "c", da.ground, da.Body("d", 1, (1, 1, 1)), axis=(0, 0, 1), limits=(0, 4), **PLANE
            ),
            "must be within ± π in space",
        ),
    ],
)  # fmt: skip
def test_what_is_refused(make, message: str) -> None:
    with pytest.raises(da.ModelError, match=message):
        make(da.PlanarBody("b", 1, 1))
