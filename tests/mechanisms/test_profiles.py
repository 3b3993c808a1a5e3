"""Wheels on profiles and cams, against Lagrange's equations in one coordinate and closed forms."""

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

import dalembert as da
from mechanisms.test_rolling_on_round import disc_in, swinging
from mechanisms.work import assert_own_work, simulated

G = 9.81
EXACT = {"rtol": 1e-12, "atol": 1e-13}


def test_a_circle_as_a_profile_is_a_circle():
    """The same pendulum as in ``RollingOnCircle``, with the point of contact as a coordinate."""
    joint = lambda disc: da.RollingOnProfile(  # noqa: E731
        *("track", da.ground.at(0, 0), disc), radius=0.2, profile=lambda s: (sp.sin(s), -sp.cos(s)), start=1.9
    )
    _, mechanism = disc_in(joint, 2.0)
    assert mechanism.system.coordinate_names[-1] == "s_track"
    run = da.simulate(mechanism.system, *mechanism.assemble(), np.linspace(0, 2, 11), **EXACT)
    phi = swinging(2.0, np.sqrt(2 * G / (3 * 0.8)), run.t)
    np.testing.assert_allclose(run["s_track"], phi, atol=1e-9)
    np.testing.assert_allclose(run["track: contact"], 3 * G * (7 * np.cos(phi) - 4 * np.cos(2.0)) / 3, atol=1e-7)
    np.testing.assert_allclose(run["track: foot"], 0, atol=1e-9)


def lagrange_in_one_coordinate(profile, radius, mass, inertia, start, times):
    """The parameter of the point of contact of a wheel on the left of a profile under gravity."""
    s, v = sp.symbols("s v", real=True)
    c = sp.Matrix(profile(s))
    slope = c.diff(s)
    normal = sp.Matrix([-slope[1], slope[0]]) / sp.sqrt(slope.dot(slope))
    centre = c + radius * normal
    squared = centre.diff(s).dot(centre.diff(s))
    kinetic = (mass + inertia / radius**2) * squared * v**2 / 2
    bend = (-mass * G * centre[1] - kinetic).diff(s) / kinetic.diff(v, 2)
    rate = sp.lambdify((s, v), bend)
    found = solve_ivp(
        lambda _, y: [y[1], rate(*y)], (0, times[-1]), start, t_eval=times, rtol=1e-12, atol=1e-13, method="DOP853"
    )
    return found.y[0], sp.lambdify(s, centre)


@pytest.mark.slow
def test_a_wheel_in_a_parabola_follows_lagranges_equation():
    profile, times = (lambda s: (s, s**2)), np.linspace(0, 2, 21)
    s, centre = lagrange_in_one_coordinate(profile, 0.2, 2, 0.05, (0.7, 0), times)
    wheel = da.PlanarBody("wheel", 2, 0.05, position=centre(0.7).ravel())
    joint = da.RollingOnProfile("rolls in", da.ground.at(0, 0), wheel, radius=0.2, profile=profile, start=0.6)
    mechanism = da.Mechanism(wheel, joint, da.Gravity((0, -G)))
    run = da.simulate(mechanism.system, *mechanism.assemble(), times, **EXACT)
    np.testing.assert_allclose(run["s_rolls_in"], s, atol=1e-9)
    np.testing.assert_allclose(run.q[:, :2], [centre(own).ravel() for own in s], atol=1e-9)
    np.testing.assert_allclose(run.energy, run.energy[0], atol=1e-9)


def driven_cam(profile, *, rate=3.0, height=1.1, **follower):
    """A cam that turns evenly under a follower that moves up and down, with a mass of 2."""
    cam = da.PlanarBody("cam", 1, 0.1)
    rod = da.PlanarBody("rod", 2, 0.1, position=(0, height))
    axle, guide = (
        da.Revolute("axle", da.ground.at(0, 0), cam),
        da.Prismatic("guide", da.ground.at(0, 0), rod, axis=(0, 1)),
    )
    joint = da.Cam("cam", cam, rod, profile=profile, start=np.pi / 2, **follower)
    joints = axle, guide, joint, da.Drive("motor", axle, rate * da.t)
    return da.Mechanism((cam, rod), joints, da.Gravity((0, -G)))


def assert_height(mechanism, expected, rate=3.0):
    """The height of the follower, the force that lifts it, and the torque that its power needs."""
    times = np.linspace(0, 2.5, 11)
    run = da.simulate(mechanism.system, *mechanism.assemble(), times, **EXACT)
    heights = [sp.lambdify(da.t, sp.diff(expected, da.t, k))(times) for k in range(3)]
    np.testing.assert_allclose(run["y_rod"], heights[0], atol=1e-9)
    np.testing.assert_allclose(run.acceleration[:, 4], heights[2], atol=1e-7)
    reactions = mechanism.reactions(run)
    lift = 2 * (G + heights[2])
    np.testing.assert_allclose(reactions["cam"].force[:, 1], lift, atol=1e-7)
    np.testing.assert_allclose(reactions["motor"].torque, lift * heights[1] / rate, atol=1e-7)
    np.testing.assert_allclose(run["cam: foot"], 0, atol=1e-8)
    return run


@pytest.mark.slow
def test_a_harmonic_cam_with_a_pointed_follower():
    """The radius 1 + cos(s)/10 in the direction of the follower is its height: 1 + sin(Ωt)/10."""
    run = assert_height(driven_cam(lambda s: 1 + sp.cos(s) / 10), 1 + sp.sin(3 * da.t) / 10)
    np.testing.assert_allclose(run["s_cam"], np.pi / 2 - 3 * run.t, atol=1e-9)


def circle_off_centre(s):
    """The radius of a circle of radius one in a direction, from a point 0.2 off its centre."""
    return sp.cos(s) / 5 + sp.sqrt(1 - sp.sin(s) ** 2 / 25)


@pytest.mark.slow
def test_an_eccentric_cam_with_a_roller():
    """The distance of the two centres is the sum of the radii."""
    mechanism = driven_cam(circle_off_centre, radius=0.3, height=1.3)
    assert_height(mechanism, sp.sin(3 * da.t) / 5 + sp.sqrt(1.3**2 - sp.cos(3 * da.t) ** 2 / 25))


def test_an_eccentric_cam_with_a_flat_face():
    """The face is above the centre of the circle by its radius: harmonic motion."""
    mechanism = driven_cam(circle_off_centre, face=(1, 0), height=1.0)
    assert_height(mechanism, 1 + sp.sin(3 * da.t) / 5)


@pytest.mark.slow
def test_friction_of_a_flat_face():
    """A flat follower that is held at rest on an eccentric circle is pushed sideways by μ times the normal force."""
    mechanism = driven_cam(lambda s: sp.Integer(1), face=(1, 0), height=1.0, nonideal=da.Coulomb(0.1))
    run = da.simulate(mechanism.system, *mechanism.assemble(), [0, 0.1])
    force = mechanism.reactions(run)["cam"].force
    np.testing.assert_allclose(force, [[-0.1 * 2 * G, 2 * G]] * 2, atol=1e-8)
    np.testing.assert_allclose(mechanism.reactions(run)["motor"].torque, 0.1 * 2 * G, atol=1e-8)


@pytest.mark.slow
def test_the_ledger_has_the_work_of_friction_on_a_cam():
    """Every joint's entries are the work of its reaction, and all of them are the change of energy."""
    mechanism = driven_cam(circle_off_centre, face=(1, 0), height=1.0, nonideal=da.Coulomb(0.1))
    run, weights = simulated(mechanism, 1.0, intervals=20)
    ledger = assert_own_work(mechanism, run, weights)
    assert ledger.work[-1, [entry.constraint == "cam: contact" for entry in ledger.entries]].sum() < -1


def test_drawings_show_profiles_and_rollers():
    wheel = da.PlanarBody("wheel", 1, 0.1, position=(0, 1.3))
    joint = da.RollingOnProfile(
        *("hill", da.ground.at(0, 1), wheel), radius=0.3, profile=lambda s: (s, s**2), span=(-1, 2)
    )
    mechanism = da.Mechanism(wheel, joint)
    run = da.simulate(mechanism.system, *mechanism.assemble(), [0, 0.1])
    lines = [line.get_xydata() for line in mechanism.plot(run, positions=1).axes[0].lines]
    (track,) = [line for line in lines if len(line) == 61]
    np.testing.assert_allclose(track[:, 1], 1 + track[:, 0] ** 2, atol=1e-12)
    assert (track[0, 0], track[-1, 0]) == (-1, 2)
    rim = next(line for line in lines if len(line) == 26)[1:]
    assert np.linalg.norm(rim - [0, 1.3], axis=1) == pytest.approx(0.3)
    outline, roller = driven_cam(circle_off_centre, radius=0.3, height=1.3).joints[2].outlines
    reach = [np.linalg.norm(np.asarray(place, float).ravel() - [0.2, 0]) for place in outline.points]
    assert reach == pytest.approx([1] * 61)
    assert [float(part) for part in roller.points[0]] == pytest.approx([0.3, 0])
    _, face = driven_cam(circle_off_centre, face=(1, 0)).joints[2].outlines
    assert [tuple(map(float, place)) for place in face.points] == [(-1.2, 0), (1.2, 0)]


A, ROD = da.PlanarBody("a", 1, 1), da.PlanarBody("rod", 1, 1)
O2, O3 = da.ground.at(0, 0), da.ground.at(0, 0, 0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: da.Cam("c", A, ROD), "joint `c` must be given its `profile`, such as `lambda s: 1 + sp.cos(s) / 10`"),
        (lambda: da.Cam("c", A, ROD, profile=lambda s: (s, s)), "`profile of joint c` must be a finite number or an"),
        (lambda: da.Cam("c", A, ROD, profile=lambda s: 1 + da.t), "`profile of joint c` must be of numbers and para"),
        (lambda: da.Cam("c", A, ROD, profile=lambda: 1), "must be a function of one parameter, with SymPy's functions"),
        (lambda: da.Cam("c", A, ROD, profile=lambda s: 1, radius=-1), "`radius of joint c` must not be negative"),
        (
            lambda: da.Cam("c", A, ROD, profile=lambda s: 1, radius=1, face=(1, 0)),
            "joint `c` must have the `radius` of a roller or a flat `face`, not both",
        ),
        (
            lambda: (
                da.Mechanism(
                    (A, ROD), da.Cam("c", A, ROD, profile=lambda s: 2, radius=1, nonideal=da.Viscous(1))
                ).system
            ),
            "The roller turns freely; only a tip or a flat face slides on the cam",
        ),
        (
            lambda: da.Cam("c", O3, da.Body("d", 1, (1, 1, 1))),
            "joint `c` exists in the plane only; got points of space",
        ),
        (
            lambda: da.RollingOnProfile("w", O2, A, radius=1),
            "must be given its `profile`, such as `lambda s: (s, s**2)`",
        ),
        (
            lambda: da.RollingOnProfile("w", O2, A, radius=1, profile=lambda s: s),
            "`profile of joint w` must be 2 finite numbers or expressions",
        ),
        (
            lambda: da.RollingOnProfile("w", O2, A, profile=lambda s: (s, 0)),
            "`radius of joint w` must be given; it is missing. Pass `radius=...`.",
        ),
        (
            lambda: da.RollingOnProfile("w", O2, A, radius=1, profile=lambda s: (s, 0), start="here"),
            "`start of joint w` must be 1 finite number",
        ),
    ],
)
def test_refused(make, message):
    with pytest.raises(da.ModelError) as refusal:
        make()
    assert message in str(refusal.value)
