"""Every joint: what it leaves free, that it does no work, and that Newton's and Euler's laws hold with its reaction."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.mechanisms.vectors import rotation
from mechanisms.balance import imbalance

G2, G3 = (0, -9.81), (0, 0, -9.81)
TENSOR = (0.05, 0.08, 0.1)
X, Y, Z = (1, 0, 0), (0, 1, 0), (0, 0, 1)


def bar(name, **pose):
    return da.PlanarBody(name, 2, 0.3, **pose)


def block(name, **pose):
    return da.Body(name, 2, TENSOR, **pose)


def revolute():
    a, b = bar("a", position=(0.5, 0), spin=1), bar("b", position=(1.5, 0), spin=-2)
    return (a, b), (da.Revolute("j", da.ground.at(0, 0), a.at(-0.5, 0)), da.Revolute("k", a.at(0.5, 0), b.at(-0.5, 0)))


def prismatic():
    a, b = bar("a", position=(0.5, 0), spin=2), bar("b", position=(0.8, 0.1), velocity=(1, 0))
    return (a, b), (
        da.Revolute("j", da.ground.at(0, 0), a.at(-0.5, 0)),
        da.Prismatic("k", a.at(0, 0.1), b, axis=(2, 0)),
    )


def weld():
    a, b = bar("a", position=(0.5, 0), spin=2), bar("b", position=(1.5, 0.2), angle=0.4)
    return (a, b), (da.Revolute("j", da.ground.at(0, 0), a.at(-0.5, 0)), da.Weld("k", a.at(1.0, 0.2), b))


def rod():
    a, b = bar("a", position=(0, 0), spin=3), da.Particle("b", 1, (2, 0), velocity=(0, 1))
    return (a, b), (da.Rod("j", a.at(0.5, 0), b, length=1.5),)


def gear():
    a, b, arm = bar("a", position=(0, 0), spin=4), bar("b", position=(1, 0)), bar("arm", position=(0.5, 0), spin=1)
    pins = (
        da.Revolute("i", da.ground.at(0, 0), arm.at(-0.5, 0)),
        da.Revolute("j", da.ground.at(0, 0), a),
        da.Revolute("k", arm.at(0.5, 0), b),
    )
    return (a, b, arm), (*pins, da.Gear("g", a, b, ratio=2, carrier=arm))


def wheel():
    return (bar("a", position=(0, 0.5), spin=-2),), ()


def rolling_on_line():
    a = bar("a", position=(0, 0.5), spin=-2, center=(0.1, 0))
    return (a,), (da.RollingOnLine("j", da.ground.at(0, 0), a, radius=0.5),)


def rolling_on_a_moving_line():
    plank, a = bar("plank", position=(0, 0), velocity=(1, 0)), bar("a", position=(0, 0.5), spin=-2)
    guide = da.Prismatic("guide", da.ground.at(0, 0), plank)
    return (plank, a), (guide, da.RollingOnLine("j", plank, a, radius=0.5))


def point_on_curve():
    a = bar("a", position=(0.5, 0.25), spin=1)
    return (a,), (da.PointOnCurve("j", da.ground.at(0, 0), a, curve=lambda x, y: y - x**2),)


def knife_edge():
    a = bar("a", position=(0, 0), velocity=(1, 0), spin=1, center=(0.2, 0))
    return (a,), (da.KnifeEdge("j", da.ground.at(0, 0), a),)


def spherical():
    a = block("a", position=(0.5, 0, 0), spin=(1, 2, 3))
    return (a,), (da.Spherical("j", da.ground.at(0, 0, 0), a.at(-0.5, 0, 0)),)


def spatial_revolute():
    a, b = block("a", position=(0.5, 0, 0), spin=(0, 2, 0)), block("b", position=(1.5, 0, 0), spin=(0, 2, 3))
    pins = (
        da.Revolute("j", da.ground.at(0, 0, 0), a.at(-0.5, 0, 0), axis=Y),
        da.Revolute("k", a.at(0.5, 0, 0), b.at(-0.5, 0, 0), axis=(0, 0.6, 0.8)),
    )
    return (a, b), pins


def spatial_prismatic():
    a = block("a", position=(0.5, 0, 0), spin=(0, 2, 0), orientation=da.quaternion((1, 1, 1), 0.3))
    b = block("b", position=(0.8, 0, 0), velocity=(1, 0, 0))
    pin = da.Revolute("j", da.ground.at(0, 0, 0), a.at(-0.5, 0, 0), axis=Y)
    return (a, b), (pin, da.Prismatic("k", a, b, axis=(1, 2, 0)))


def spatial_weld():
    a = block("a", position=(0.5, 0, 0), spin=(0, 2, 0))
    b = block("b", position=(1.0, 0.2, 0), orientation=da.quaternion(X, 0.5))
    pin = da.Revolute("j", da.ground.at(0, 0, 0), a.at(-0.5, 0, 0), axis=Y)
    return (a, b), (pin, da.Weld("k", a.at(0.5, 0.2, 0), b))


def cylindrical():
    a = block("a", position=(0, 0, 0.5), velocity=(0, 0, 1), spin=(0, 0, 3), center=(0.1, 0, 0))
    return (a,), (da.Cylindrical("j", da.ground.at(0, 0, 0), a, axis=(0, 0.6, 0.8)),)


def universal():
    a, b = block("a", position=(0.5, 0, 0), spin=(2, 0, 0)), block("b", position=(1.5, 0, 0), spin=(2, 0.5, 0))
    pin = da.Revolute("j", da.ground.at(0, 0, 0), a.at(-0.5, 0, 0), axis=X)
    return (a, b), (pin, da.Universal("k", a.at(0.5, 0, 0), b.at(-0.5, 0, 0), axis=(Y, Z)))


def spatial_gear():
    a, b = block("a", spin=(0, 0, 4)), block("b", position=(1, 0, 0))
    pins = [da.Revolute(f"p{c.name}", da.ground.at(x, 0, 0), c, axis=Z) for c, x in ((a, 0), (b, 1))]
    return (a, b), (*pins, da.Gear("g", a, b, ratio=2, axis=Z))


def spatial_knife_edge():
    a = block("a", velocity=(1, 0, 0), spin=(0, 0, 1), center=(0.2, 0, 0))
    plane = da.PointOnCurve("plane", da.ground.at(0, 0, 0), a, curve=lambda x, y, z: z)
    return (a,), (plane, da.KnifeEdge("j", da.ground.at(0, 0, 0), a))


def rolling_ball():
    a = block("a", position=(0, 0, 0.5), velocity=(1, 0, 0), spin=(0, 2, 1), center=(0, 0.05, 0.1))
    return (a,), (da.RollingBall("j", da.ground.at(0, 0, 0), a, radius=0.5, normal=(0.1, 0, 1)),)


def rolling_disc():
    a = block("a", position=(0, 0, 0.5), orientation=da.quaternion(X, 0.2), velocity=(1, 0, 0), spin=(0, 2, 1))
    return (a,), (da.RollingDisc("j", da.ground.at(0, 0, 0), a, radius=0.5),)


def rolling_ellipsoid():
    a = block("a", position=(0, 0, 0.5), orientation=da.quaternion(X, 0.2), spin=(0.5, 0, 1))
    return (a,), (da.RollingEllipsoid("j", da.ground.at(0, 0, 0), a, axes=(1, 0.6, 0.5)),)


def ball_on_a_free_plate():
    plate, ball = block("plate", spin=(0, 0, 1)), block("ball", position=(0.3, 0, 0.2), velocity=(0, 0.5, 0))
    joint = da.Spherical("pivot", da.ground.at(0, 0, 0), plate)
    return (plate, ball), (joint, da.RollingBall("j", plate, ball, radius=0.2))


def planar():
    a = block("a", velocity=(1, 0, 0), spin=(0, 0, 2), center=(0.1, 0, 0.1))
    return (a,), (da.Planar("j", da.ground.at(0, 0, 0), a),)


def planar_on_a_turning_plate():
    a, b = block("a", spin=(0, 2, 1)), block("b", position=(0.3, 0, 0), spin=(0, 2, 3), velocity=(0.5, 0, 0))
    return (a, b), (da.Spherical("k", da.ground.at(0, 0, 0), a), da.Planar("j", a, b))


def screw():
    a, b = block("a", position=(0.5, 0, 0), spin=(0, 2, 0)), block("b", position=(0.7, 0, 0), velocity=(0.3, 0, 0))
    pin = da.Revolute("j", da.ground.at(0, 0, 0), a.at(-0.5, 0, 0), axis=Y)
    return (a, b), (pin, da.Screw("k", a.at(0.2, 0, 0), b, axis=X, pitch=0.4))


def cam():
    a, b = bar("a", spin=3), bar("b", position=(0.1, 1.5))
    pin, guide = da.Revolute("i", da.ground.at(0, 0), a), da.Prismatic("k", da.ground.at(0.1, 0), b, axis=(0, 1))
    profile = lambda s: 1 + sp.cos(2 * s) / 8  # noqa: E731
    return (a, b), (pin, guide, da.Cam("j", a, b, profile=profile, radius=0.5, start=1.5))


def flat_cam():
    a, b = bar("a", spin=3), bar("b", position=(0.5, 1.1))
    pins = da.Revolute("i", da.ground.at(0, 0), a), da.Revolute("k", da.ground.at(2, 1.1), b.at(1.5, 0))
    return (a, b), (*pins, da.Cam("j", a, b, profile=lambda s: 1 + sp.cos(s) / 8, face=(1, 0), start=1.5))


def point_on_surface():
    a = block("a", position=(0.5, 0.2, 0.1), spin=(1, 0, 2), velocity=(0, 1, 0))
    return (a,), (da.PointOnSurface("j", da.ground.at(0, 0, 0), a.at(0.1, 0, 0), surface=lambda x, y, z: z - x * y),)


def point_on_a_curve_in_space():
    a = block("a", position=(1, 0, 0.5), spin=(1, 0, 2), velocity=(0, 1, 0))
    return (a,), (da.PointOnCurve("j", da.ground.at(0, 0, 0), a, curve=lambda x, y, z: (x**2 + y**2 - 1, z - x / 2)),)


def rolling_in_a_circle():
    a = bar("a", position=(0.6, -0.5), spin=-2, center=(0.1, 0))
    return (a,), (da.RollingOnCircle("j", da.ground.at(0, 0), a, radius=0.2, circle=1, inside=True),)


def rolling_on_a_free_circle():
    a, b = bar("a", spin=1), bar("b", position=(0.3, 1.2), spin=-2)
    return (a, b), (da.RollingOnCircle("j", a, b, radius=0.25, circle=1),)


def rolling_on_a_moving_profile():
    a, b = bar("a", velocity=(1, 0)), bar("b", position=(0.3, 0.4), spin=-2, center=(0.05, 0))
    guide = da.Prismatic("guide", da.ground.at(0, 0), a)
    return (a, b), (guide, da.RollingOnProfile("j", a, b, radius=0.3, profile=lambda s: (s, s**2 / 2), start=0.3))


def rolling_on_a_free_sphere():
    a = block("a", position=(0, 0, 0), spin=(0.5, 1, 0))
    b = block("b", position=(0.7, 0.2, 0.9), spin=(2, 0, 1), center=(0.02, 0, 0))
    return (a, b), (da.RollingOnSphere("j", a, b, radius=0.2, sphere=1),)


def rolling_in_a_turning_cylinder():
    a = block("a", spin=(0, 0.5, 1))
    b = block("b", position=(0.6, 0, 0.1), spin=(2, 0, 1), center=(0.02, 0, 0))
    pivot = da.Spherical("pivot", da.ground.at(0, 0, 0), a)
    return (a, b), (pivot, da.RollingOnCylinder("j", a, b, radius=0.2, cylinder=0.8, axis=(0, 0.6, 0.8), inside=True))


FREE = {
    revolute: 2, prismatic: 2, weld: 1, rod: 4, gear: 2, rolling_on_line: 1, rolling_on_a_moving_line: 2,
    point_on_curve: 2, knife_edge: 2, spherical: 3, spatial_revolute: 2, spatial_prismatic: 2, spatial_weld: 1,
    cylindrical: 2, universal: 3, spatial_gear: 1, spatial_knife_edge: 4, rolling_ball: 3, rolling_disc: 3,
    rolling_ellipsoid: 3, ball_on_a_free_plate: 6, planar: 3, planar_on_a_turning_plate: 6, screw: 2, cam: 1,
    flat_cam: 1, point_on_surface: 5, point_on_a_curve_in_space: 4, rolling_in_a_circle: 1, rolling_on_a_free_circle: 4,
    rolling_on_a_moving_profile: 2, rolling_on_a_free_sphere: 9, rolling_in_a_turning_cylinder: 6,
}  # fmt: skip
"""Degrees of freedom in velocity."""

LONG = {
    planar, planar_on_a_turning_plate, screw, cam, flat_cam, point_on_a_curve_in_space, rolling_on_a_free_circle,
    rolling_on_a_free_sphere, rolling_in_a_turning_cylinder,
}  # fmt: skip
"""Joints that other quick tests compare with closed forms."""


@pytest.mark.parametrize(
    ("make", "free"),
    [pytest.param(make, free, marks=pytest.mark.slow if make in LONG else ()) for make, free in FREE.items()],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_joint(make, free):
    bodies, joints = make()
    gravity = G2 if bodies[0].dimension == 2 else G3
    mechanism = da.Mechanism(bodies, joints, da.Gravity(gravity))
    run = da.simulate(mechanism.system, *mechanism.assemble(), np.linspace(0, 0.4, 5), rtol=1e-11, atol=1e-12)
    assert run.rank.tolist() == [len(run.coordinates) - free] * len(run)
    np.testing.assert_allclose(run.energy, run.energy[0], rtol=0, atol=2e-9)
    if not any(isinstance(joint, da.Gear) for joint in joints):  # whose torques are not opposite
        assert imbalance(mechanism, run, gravity) < 1e-8
    assert np.abs(run.violation).max() < 1e-11
    assert all(reaction.unique.all() for reaction in mechanism.reactions(run).values())


def test_a_driven_crank_turns_as_prescribed_and_takes_the_torque_it_needs():
    """In the plane and in space: torque of the drive = rate of angular momentum + moment of the weight."""
    angle = sp.sin(2 * da.t)
    for body, point, axis, gravity in (
        (da.PlanarBody("a", 2, 0.3, position=(0.5, 0)), (0, 0), None, G2),
        (da.Body("a", 2, (0.2, 0.3, 0.3), position=(0.5, 0, 0)), (0, 0, 0), Z, (0, -9.81, 0)),
    ):
        back = (-0.5, 0, 0)[: body.dimension]
        pin = da.Revolute("pin", da.ground.at(*point), body.at(*back), axis=axis)
        mechanism = da.Mechanism(body, (pin, da.Drive("motor", pin, angle)), da.Gravity(gravity))
        q, qd = mechanism.assemble()
        run = da.simulate(mechanism.system, q, qd, np.linspace(0, 1, 5), rtol=1e-11, atol=1e-13)
        theta, bend = np.sin(2 * run.t), -4 * np.sin(2 * run.t)
        np.testing.assert_allclose(run.q[:, 0], 0.5 * np.cos(theta), atol=1e-10)
        torque = mechanism.reactions(run)["motor"].torque
        expected = (0.3 + 2 * 0.25) * bend + 2 * 9.81 * 0.5 * np.cos(theta)
        np.testing.assert_allclose(torque if torque.ndim == 1 else torque[:, 2], expected, atol=1e-8)


@pytest.mark.parametrize("angle", [2.5, np.pi, -4.0])
def test_a_drive_in_space_starts_at_its_angle_however_far(angle):
    """Also between bodies that are given turned: the one turns against the other by the angle about the axis."""
    a = da.Body("a", 1, (1, 1, 1), orientation=da.quaternion((1, 2, 0), 0.7))
    b = da.Body("b", 1, (1, 1, 1), orientation=da.quaternion((1, 2, 0), 0.7))
    hinge = da.Revolute("hinge", a, b, axis=(1, 2, 2))
    start = da.Mechanism((a, b), (hinge, da.Drive("motor", hinge, angle + da.t))).assemble()
    first, second = (np.array(rotation(start.q[k : k + 4])) for k in (3, 10))
    expected = np.array(rotation(da.quaternion((1, 2, 2), angle)))
    np.testing.assert_allclose(first.T @ second, expected, atol=1e-9)


def test_a_driven_slide():
    body = da.PlanarBody("a", 2, 0.3)
    slide = da.Prismatic("slide", da.ground.at(0, 0), body, axis=(0, 1))
    mechanism = da.Mechanism(body, (slide, da.Drive("lift", slide, da.t**2)), da.Gravity(G2))
    run = da.simulate(mechanism.system, *mechanism.assemble(), [0, 1])
    np.testing.assert_allclose(run["y_a"], [0, 1], atol=1e-9)
    np.testing.assert_allclose(mechanism.reactions(run)["lift"].force, [[0, 2 * 11.81]] * 2, atol=1e-8)


def test_a_telescopic_rod():
    """A rod whose length is prescribed: r̈ − rθ̇² along it, angular momentum kept across it."""
    bob = da.Particle("b", 3, (1, 0), velocity=(0.5, 2))
    joint = da.Rod("rod", da.ground.at(0, 0), bob, length=1 + da.t / 2)
    mechanism = da.Mechanism(bob, joint)
    run = da.simulate(mechanism.system, *mechanism.assemble(), [0, 1], rtol=1e-11, atol=1e-13)
    momentum = run["x_b"] * run.qd[:, 1] - run["y_b"] * run.qd[:, 0]
    np.testing.assert_allclose(momentum, 2, atol=1e-9)
    np.testing.assert_allclose(run["rod: length"], -3 * (1 + run.t / 2) * (2 / (1 + run.t / 2) ** 2) ** 2, atol=1e-8)


def test_friction_on_a_curve_equals_that_of_the_same_bead_as_a_system() -> None:
    bead = da.Particle("bead", mass=2, position=(-1, 1), velocity=(1, -2))
    wire = da.PointOnCurve("wire", da.ground.at(0, 0), bead, curve=lambda x, y: y - x**2, nonideal=da.Coulomb(0.15))
    mechanism = da.Mechanism(bead, wire, da.Gravity((0, -9.81)))
    x, y = da.coordinates("x y")
    hill = da.Constraint(y - x**2, nonideal=da.Coulomb(0.15))
    system = da.System((x, y), 2 * sp.eye(2), (0, -2 * 9.81), (hill,))
    q, qd = mechanism.assemble()
    one, other = (da.motion(s, q, qd).acceleration for s in (mechanism.system, system))
    np.testing.assert_allclose(one, other, atol=1e-12)


def test_friction_in_a_slot_that_turns() -> None:
    """The slot presses with 2 m ω ṙ, so that r̈ = ω² r − 2 μ ω ṙ, and r = e^(kt) with k = ω (√(1 + μ²) − μ)."""
    mu, omega = 0.3, 2.0
    k = omega * (np.sqrt(1 + mu**2) - mu)
    disc = da.PlanarBody("disc", mass=1, inertia=1, spin=omega)
    bead = da.Particle("bead", mass=1, position=(1, 0), velocity=(k, omega))
    axle = da.Revolute("axle", da.ground.at(0, 0), disc)
    slot = da.PointOnCurve("slot", disc, bead, curve=lambda x, y: 5 * y, nonideal=da.Coulomb(mu))
    mechanism = da.Mechanism((disc, bead), (axle, slot, da.Drive("motor", axle, omega * da.t)))
    run = da.simulate(mechanism.system, *mechanism.assemble(), [0, 0.5, 1])
    np.testing.assert_allclose(np.hypot(run["x_bead"], run["y_bead"]), np.exp(k * run.t), rtol=1e-7)


def test_friction_on_a_helix() -> None:
    """Across the wire, the centripetal force m v²ₕ and the weight m g cos α are at right angles."""
    bead = da.Particle("bead", mass=2, position=(1, 0, 0), velocity=(0, 1, 0.5))
    helix = lambda x, y, z: (x**2 + y**2 - 1, z - sp.atan2(y, x) / 2)  # noqa: E731
    wire = da.PointOnCurve("wire", da.ground.at(0, 0, 0), bead, curve=helix, nonideal=da.Coulomb(0.15))
    mechanism = da.Mechanism(bead, wire, da.Gravity((0, 0, -9.81)))
    ledger = da.simulate(mechanism.system, *mechanism.assemble(), [0, 0.01]).ledger()
    normal = np.hypot(2 * 1.0, 2 * 9.81 / np.sqrt(1.25))
    power = ledger.power[0, ledger.names.index("wire: Coulomb")]
    assert power == pytest.approx(-0.15 * normal * np.sqrt(1.25), rel=1e-9)


def test_friction_on_a_surface_equals_that_of_the_same_particle_as_a_system() -> None:
    puck = da.Particle("puck", mass=1, position=(1, 0, 1), velocity=(0, 1, 0))
    bowl = da.PointOnSurface(
        "bowl", da.ground.at(0, 0, 0), puck, surface=lambda x, y, z: z - x**2 - y**2, nonideal=da.Coulomb(0.2)
    )
    mechanism = da.Mechanism(puck, bowl, da.Gravity((0, 0, -9.81)))
    q, qd = mechanism.assemble()
    x, y, z = da.coordinates("x y z")
    same = da.Constraint(z - x**2 - y**2, nonideal=da.Coulomb(0.2))
    system = da.System((x, y, z), sp.eye(3), (0, 0, -9.81), (same,))
    one, other = (da.motion(s, q, qd).acceleration for s in (mechanism.system, system))
    np.testing.assert_allclose(one, other, atol=1e-12)


def test_friction_that_cannot_be_derived_is_refused_with_the_mechanism() -> None:
    bead = da.Particle("bead", mass=1, position=(1, 0))
    at = da.ground.at(0, 0)
    for joint, match in (
        (
            da.PointOnCurve("wire", at, bead, curve=lambda x, y: y - da.t * x, nonideal=da.Coulomb(0.1)),
            "of joint `wire` must be given its `velocity`. It cannot be derived where the curve or the surface changes",
        ),
        (
            da.Rod("rod", at, bead, length=1, nonideal=da.Coulomb(0.1)),
            "of joint `rod` must be given its `velocity` and `normal_force`. They cannot be derived",
        ),
    ):
        with pytest.raises(da.ModelError, match=match):
            da.Mechanism(bead, joint)
