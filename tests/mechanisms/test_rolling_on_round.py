"""Bodies that roll on and in circles, cylinders and spheres, against closed forms and Newton's and Euler's laws."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import ellipj, ellipk

import dalembert as da

G = 9.81
EXACT = {"rtol": 1e-12, "atol": 1e-13}


def swinging(start, frequency, times):
    """The angle of a pendulum φ̈ = −frequency² sin φ from rest, by Jacobi's functions."""
    k = np.sin(start / 2)
    _, cn, dn, _ = ellipj(frequency * times, k**2)
    return 2 * np.arcsin(k * cn / dn)


def disc_in(joint, angle):
    """A disc of radius 0.2 with its centre at 0.8 below the origin, turned by an angle."""
    disc = da.PlanarBody("disc", 3, 3 * 0.2**2 / 2, position=(0.8 * np.sin(angle), -0.8 * np.cos(angle)))
    return disc, da.Mechanism(disc, joint(disc), da.Gravity((0, -G)))


def test_a_disc_in_a_circle_is_a_pendulum_with_its_rotation_as_half_more_mass():
    """(3/2) (R − r) φ̈ = −g sin φ, at an amplitude of 2 radians."""
    joint = lambda disc: da.RollingOnCircle("track", da.ground.at(0, 0), disc, radius=0.2, circle=1, inside=True)  # noqa: E731
    _, mechanism = disc_in(joint, 2.0)
    frequency = np.sqrt(2 * G / (3 * 0.8))
    times = np.linspace(0, 2 * 4 * ellipk(np.sin(1.0) ** 2) / frequency, 41)  # two periods
    run = da.simulate(mechanism.system, *mechanism.assemble(), times, **EXACT)
    phi = swinging(2.0, frequency, times)
    np.testing.assert_allclose(run.q[:, 0], 0.8 * np.sin(phi), atol=1e-9)
    np.testing.assert_allclose(run.q[:, 2] - run.q[0, 2], -(1 - 0.2) / 0.2 * (phi - 2.0), atol=1e-8)
    # the normal force: m g cos φ + m (R − r) φ̇² with (3/4) (R − r) φ̇² = g (cos φ − cos φ₀)
    normal = 3 * G * (np.cos(phi) + (4 / 3) * (np.cos(phi) - np.cos(2.0)))
    np.testing.assert_allclose(run["track: contact"], normal, atol=1e-7)


def test_a_disc_leaves_a_circle_where_its_normal_force_vanishes():
    """m g (7 cos φ − 4 cos φ₀) / 3, counted from the top."""
    start = 0.3
    disc = da.PlanarBody("disc", 2, 2 * 0.25**2 / 2, position=(1.25 * np.sin(start), 1.25 * np.cos(start)))
    joint = da.RollingOnCircle("track", da.ground.at(0, 0), disc, radius=0.25, circle=1)
    mechanism = da.Mechanism(disc, joint, da.Gravity((0, -G)))
    run = da.simulate(mechanism.system, *mechanism.assemble(), np.linspace(0, 1, 21), **EXACT)
    phi = np.arctan2(run["x_disc"], run["y_disc"])
    np.testing.assert_allclose(run["track: contact"], 2 * G * (7 * np.cos(phi) - 4 * np.cos(start)) / 3, atol=1e-9)
    assert run["track: contact"][0] > 0 > run["track: contact"][-1]
    force = mechanism.reactions(run)["track"].force
    np.testing.assert_allclose(force, 2 * run.acceleration[:, :2] - [0, -2 * G], atol=1e-9)
    path = run.evaluate(joint.contact_point)
    np.testing.assert_allclose(np.linalg.norm(path, axis=1), 1, atol=1e-10)


def test_a_wheel_on_a_turning_wheel_is_a_gear():
    """Two wheels on fixed axles, the rim of one on the rim of the other, turn in the ratio of their radii."""
    big, small = da.PlanarBody("big", 1, 0.5, spin=3), da.PlanarBody("small", 1, 0.1, position=(1.5, 0))
    pins = da.Revolute("a", da.ground.at(0, 0), big), da.Revolute("b", da.ground.at(1.5, 0), small)
    joint = da.RollingOnCircle("rims", big, small, radius=0.5, circle=1)
    mechanism = da.Mechanism((big, small), (*pins, joint), da.Torque(big, 0.7))
    run = da.simulate(mechanism.system, *mechanism.assemble(), [0, 0.5, 1], **EXACT)
    np.testing.assert_allclose(run["theta_small'"], -2 * run["theta_big'"], atol=1e-10)
    np.testing.assert_allclose(run.acceleration[:, 2], 0.7 / (0.5 + 4 * 0.1), atol=1e-10)


def test_a_ball_in_an_upright_cylinder_does_not_fall():
    """It oscillates √(2/7) times per turn: (7/5) z̈ = −g − (2/5) Ω (r ω₀ + Ω z)."""
    r, far, rate, spin = 0.05, 0.45, 4.0, 3.0
    ball = da.Body(
        *("ball", 1, (0.4 * r**2,) * 3),
        position=(far, 0, 0),
        velocity=(0, far * rate, 0),
        spin=(spin, 0, -far * rate / r),
    )
    tube = da.RollingOnCylinder("tube", da.ground.at(0, 0, 0), ball, radius=r, cylinder=0.5, inside=True)
    mechanism = da.Mechanism(ball, tube, da.Gravity((0, 0, -G)))
    run = da.simulate(mechanism.system, *mechanism.assemble(), np.linspace(0, 4, 41), **EXACT)
    middle = -(G + 0.4 * rate * r * spin) / (0.4 * rate**2)
    np.testing.assert_allclose(run["z_ball"], middle * (1 - np.cos(np.sqrt(2 / 7) * rate * run.t)), atol=1e-9)
    np.testing.assert_allclose(run["x_ball"], far * np.cos(rate * run.t), atol=1e-10)
    np.testing.assert_allclose(run["tube: contact"], far * rate**2, atol=1e-8)  # the wall turns it round


@pytest.mark.slow
def test_a_ball_rolls_down_beside_a_tilted_cylinder_axis():
    """Along the top line of a cylinder that is tilted by an angle: (7/5) a = g sin(angle)."""
    tilt, r = 0.4, 0.1
    axis, up = np.array([np.cos(tilt), 0, -np.sin(tilt)]), np.array([np.sin(tilt), 0, np.cos(tilt)])
    ball = da.Body("ball", 2, (0.4 * 2 * r**2,) * 3, position=1.1 * up)
    pipe = da.RollingOnCylinder("pipe", da.ground.at(0, 0, 0), ball, radius=r, cylinder=1, axis=axis.tolist())
    mechanism = da.Mechanism(ball, pipe, da.Gravity((0, 0, -G)))
    run = da.simulate(mechanism.system, *mechanism.assemble(), np.linspace(0, 0.5, 6), **EXACT)
    expected = 1.1 * up + np.outer(5 / 7 * G * np.sin(tilt) * run.t**2 / 2, axis)
    np.testing.assert_allclose(run.q[:, :3], expected, atol=1e-9)
    np.testing.assert_allclose(run["pipe: contact"], 2 * G * np.cos(tilt), atol=1e-9)


def newton_and_euler(u, omega, times, reach, lever, gravity):
    """u and ω of a homogeneous ball: its centre at reach·u, the contact at lever·u from it, which does not slip.

    From I ω̇ = lever u × F, F = m (v̇ − g) and v = lever u × ω, for unit mass and I = (2/5) lever².
    """
    inertia = 0.4 * lever**2

    def rates(_, y):
        u, w = y[:3], y[3:]
        ud = lever * np.cross(u, w) / reach
        right = lever**2 * np.cross(u, np.cross(ud, w)) - lever * np.cross(u, gravity)
        matrix = (inertia + lever**2) * np.eye(3) - lever**2 * np.outer(u, u)
        return np.concatenate([ud, np.linalg.solve(matrix, right)])

    found = solve_ivp(rates, (0, times[-1]), [*u, *omega], t_eval=times, rtol=1e-12, atol=1e-13, method="DOP853")
    return found.y[:3].T, found.y[3:].T


@pytest.mark.parametrize("inside", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_ball_in_and_on_a_sphere_follows_newtons_and_eulers_laws(inside):
    r, times = 0.2, np.linspace(0, 1.5 if inside else 0.4, 11)
    reach, lever = (0.8, r) if inside else (1.2, -r)
    u = np.array([0.6, 0, -0.8 if inside else 0.8])
    omega = np.array([1.0, 4.0, 2.0])
    velocity = lever * np.cross(u, omega)
    ball = da.Body("ball", 1, (0.4 * r**2,) * 3, position=reach * u, velocity=velocity, spin=omega)
    joint = da.RollingOnSphere("bowl", da.ground.at(0, 0, 0), ball, radius=r, sphere=1, inside=inside)
    mechanism = da.Mechanism(ball, joint, da.Gravity((0, 0, -G)))
    start = mechanism.assemble()
    assert start.changes == ()
    run = da.simulate(mechanism.system, *start, times, **EXACT)
    places, spins = newton_and_euler(u, omega, times, reach, lever, np.array([0, 0, -G]))
    np.testing.assert_allclose(run.q[:, :3], reach * places, atol=1e-9)
    np.testing.assert_allclose(run.evaluate(ball.angular_velocity), spins, atol=1e-8)
    reaction = mechanism.reactions(run)["bowl"]
    assert reaction.unique.all()
    np.testing.assert_allclose(reaction.force, run.acceleration[:, :3] - [0, 0, -G], atol=1e-9)


@pytest.mark.slow
def test_a_ball_loops_through_all_directions_of_a_sphere():
    """In a vertical plane, over the top, where no fixed pair of tangents would do: φ̈ = −(5/7) g/(R − r) sin φ."""
    r, speed = 0.1, 9.0
    ball = da.Body("ball", 1, (0.4 * r**2,) * 3, position=(0, 0, -0.9), velocity=(speed, 0, 0), spin=(0, speed / r, 0))
    joint = da.RollingOnSphere("bowl", da.ground.at(0, 0, 0), ball, radius=r, sphere=1, inside=True)
    mechanism = da.Mechanism(ball, joint, da.Gravity((0, 0, -G)))
    times = np.linspace(0, 2, 21)
    run = da.simulate(mechanism.system, *mechanism.assemble(), times, **EXACT)
    pull = 5 * G / (7 * 0.9)
    found = solve_ivp(
        lambda _, y: [y[1], -pull * np.sin(y[0])], (0, 2), [0, speed / 0.9], t_eval=times, rtol=1e-12, atol=1e-13
    )
    assert found.y[0, -1] > 4 * np.pi
    np.testing.assert_allclose(run["x_ball"], 0.9 * np.sin(found.y[0]), atol=1e-7)
    np.testing.assert_allclose(run["z_ball"], -0.9 * np.cos(found.y[0]), atol=1e-7)


DISC, BALL = da.PlanarBody("disc", 1, 1), da.Body("ball", 1, (1, 1, 1))
O2, O3 = da.ground.at(0, 0), da.ground.at(0, 0, 0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: da.RollingOnCircle("w", O2, DISC, radius=1), "`circle of joint w` must be given; it is missing."),
        (
            lambda: da.RollingOnCircle("w", O2, DISC, radius=-1, circle=1),
            "`radius of joint w` must be positive; got -1",
        ),
        (
            lambda: da.RollingOnCircle("w", O2, DISC, radius=2, circle=1, inside=True),
            "`radius of joint w` must be smaller than `circle` for rolling inside; got 2",
        ),
        (
            lambda: da.RollingOnCircle("w", O2, DISC, radius=1, circle=1 + da.t),
            "`circle of joint w` must be of numbers and parameters",
        ),
        (
            lambda: da.RollingOnCircle("w", O2, DISC, radius=1, circle=2, inside="yes"),
            "`inside` of joint w must be True or False; got 'yes'",
        ),
        (
            lambda: da.RollingOnCircle("w", O3, BALL, radius=1, circle=2),
            "joint `w` exists in the plane only; in space use `da.RollingOnCylinder`",
        ),
        (lambda: da.RollingOnSphere("w", O2, DISC, radius=1, sphere=2), "joint `w` must join points of space"),
        (lambda: da.RollingOnCylinder("w", O3, BALL, radius=1, cylinder=0), "`cylinder of joint w` must be positive"),
    ],
)
def test_refused(make, message):
    with pytest.raises(da.ModelError) as refusal:
        make()
    assert message in str(refusal.value)
