"""Planar joints and screws, points on curves and surfaces in space, against closed forms."""

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

import dalembert as da

G = 9.81
EXACT = {"rtol": 1e-12, "atol": 1e-13}
O3 = da.ground.at(0, 0, 0)


def nut(pitch, mass=2.0, inertia=0.003, **options):
    body = da.Body("nut", mass, (inertia,) * 3)
    screw = da.Screw("screw", O3, body, axis=(0, 0, 1), pitch=pitch, **options)
    return da.Mechanism(body, screw, da.Gravity((0, 0, -G)))


@pytest.mark.parametrize("pitch", [0.05, pytest.param(-0.3, marks=pytest.mark.slow)])
def test_a_nut_turns_down_a_screw(pitch):
    """z̈ = −g h²/(h² + k²), with h the displacement per radian and k the radius of gyration, over many turns."""
    mechanism = nut(pitch)
    run = da.simulate(mechanism.system, *mechanism.assemble(), np.linspace(0, 4, 9), **EXACT)
    h, k2 = pitch / (2 * np.pi), 0.003 / 2
    fall = G * h**2 / (h**2 + k2)
    np.testing.assert_allclose(run["z_nut"], -fall * run.t**2 / 2, atol=1e-9)
    assert abs(run["z_nut"][-1] / pitch) > 4  # turns
    (screw,) = mechanism.joints
    spin = run.evaluate(mechanism.bodies[0].angular_velocity)
    np.testing.assert_allclose(spin, np.outer(-fall * run.t / h, [0, 0, 1]), atol=1e-8)
    np.testing.assert_allclose(run.evaluate(screw.angle), -fall * run.t**2 / (2 * h), atol=1e-8)
    reaction = mechanism.reactions(run)["screw"]
    np.testing.assert_allclose(reaction.torque[:, 2], -0.003 * fall / h, atol=1e-9)
    np.testing.assert_allclose(reaction.force[:, 2], 2 * (G - fall), atol=1e-9)
    np.testing.assert_allclose(run["screw: thread"], -0.003 * fall / h, atol=1e-9)


@pytest.mark.slow
def test_a_screw_with_viscous_friction_has_a_limit_speed():
    """The torque −c ω balances the torque m g h of the weight."""
    c, h = 0.02, 0.05 / (2 * np.pi)
    mechanism = nut(0.05, nonideal=da.Viscous(c))
    run = da.simulate(mechanism.system, *mechanism.assemble(), [0, 5.0], **EXACT)
    inertia = 0.003 + 2 * h**2
    speed = -2 * G * h / c * (1 - np.exp(-c * 5 / inertia))
    np.testing.assert_allclose(run["z_nut'"][-1], h * speed, atol=1e-10)
    ledger = run.ledger()
    np.testing.assert_allclose(ledger.work.sum(axis=1), ledger.energy - ledger.energy[0], atol=1e-9)


@pytest.mark.slow
def test_a_driven_screw_lifts_its_nut():
    body = da.Body("nut", 2, (0.003,) * 3)
    screw = da.Screw("screw", O3, body, axis=(0, 0, 1), pitch=0.02)
    mechanism = da.Mechanism(body, (screw, da.Drive("motor", screw, 40 * da.t)), da.Gravity((0, 0, -G)))
    run = da.simulate(mechanism.system, *mechanism.assemble(), [0, 1.0], **EXACT)
    np.testing.assert_allclose(run["z_nut"][-1], 0.02 * 40 / (2 * np.pi), atol=1e-10)
    # of the joint and its drive together: the torque m g h
    torque = sum(mechanism.reactions(run)[name].torque[:, 2] for name in ("screw", "motor"))
    np.testing.assert_allclose(torque, 0, atol=1e-9)


@pytest.mark.slow
def test_a_motor_in_a_screw_holds_its_nut():
    """Its torque is m g h at rest, and it is an entry of its own beside the reaction of the screw."""
    body = da.Body("nut", 2, (0.003,) * 3)
    screw = da.Screw("screw", O3, body, axis=(0, 0, 1), pitch=0.02)
    hold = da.Servo("hold", screw.displacement, by=da.Actuator("motor", screw))
    mechanism = da.Mechanism(body, screw, da.Gravity((0, 0, -G)), servos=hold)
    run = da.simulate(mechanism.system, *mechanism.assemble(), [0, 0.1])
    np.testing.assert_allclose(run.inputs["motor"], 2 * G * 0.02 / (2 * np.pi), atol=1e-9)
    np.testing.assert_allclose(mechanism.reactions(run)["motor"].torque[:, 2], 2 * G * 0.02 / (2 * np.pi), atol=1e-9)


def test_a_plate_on_an_inclined_plane_slides_and_spins():
    tilt = 0.5
    normal, down = np.array([np.sin(tilt), 0, np.cos(tilt)]), np.array([np.cos(tilt), 0, -np.sin(tilt)])
    plate = da.Body(
        *("plate", 3, (0.1, 0.2, 0.25)),
        orientation=da.quaternion((0, 1, 0), tilt),
        velocity=(0, 1, 0),
        spin=2 * normal,
    )
    joint = da.Planar("plane", O3, plate, normal=(normal.tolist(), (0, 0, 1)))
    mechanism = da.Mechanism(plate, joint, da.Gravity((0, 0, -G)))
    start = mechanism.assemble()
    assert start.changes == ()
    run = da.simulate(mechanism.system, *start, np.linspace(0, 1, 6), **EXACT)
    expected = np.outer(G * np.sin(tilt) * run.t**2 / 2, down) + np.outer(run.t, [0, 1, 0])
    np.testing.assert_allclose(run.q[:, :3], expected, atol=1e-9)
    np.testing.assert_allclose(run.evaluate(joint.angle, unwrap=True), 2 * run.t, atol=1e-9)
    reaction = mechanism.reactions(run)["plane"]
    np.testing.assert_allclose(reaction.force, np.tile(3 * G * np.cos(tilt) * normal, (6, 1)), atol=1e-9)
    np.testing.assert_allclose(run["plane: plane"], 3 * G * np.cos(tilt), atol=1e-9)


def test_a_bead_on_a_bowl_circles_at_a_frequency_that_does_not_depend_on_its_size():
    """On z = a (x² + y²) the frequency is √(2 a g)."""
    a, size = 1.5, 0.4
    rate = np.sqrt(2 * a * G)
    bead = da.Particle("bead", 1, (size, 0, a * size**2), velocity=(0, rate * size, 0))
    bowl = da.PointOnSurface("bowl", O3, bead, surface=lambda x, y, z: z - a * (x**2 + y**2))
    mechanism = da.Mechanism(bead, bowl, da.Gravity((0, 0, -G)))
    run = da.simulate(mechanism.system, *mechanism.assemble(), np.linspace(0, 3, 13), **EXACT)
    np.testing.assert_allclose(run["x_bead"], size * np.cos(rate * run.t), atol=1e-9)
    np.testing.assert_allclose(mechanism.reactions(run)["bowl"].force[:, 2], G, atol=1e-9)


def test_a_bead_on_a_tilted_ellipse():
    """x = cos φ, y = sin φ, z = x/2, by Lagrange's equation in φ."""
    bead = da.Particle("bead", 1, (np.cos(0.4), np.sin(0.4), np.cos(0.4) / 2))
    wire = da.PointOnCurve("wire", O3, bead, curve=lambda x, y, z: (x**2 + y**2 - 1, z - x / 2))
    mechanism = da.Mechanism(bead, wire, da.Gravity((0, 0, -G)))
    assert mechanism.system.constraint_names == ("wire: on the curve 1", "wire: on the curve 2")
    times = np.linspace(0, 3, 13)
    run = da.simulate(mechanism.system, *mechanism.assemble(), times, **EXACT)
    phi, v = sp.symbols("phi v")
    kinetic, potential = (1 + sp.sin(phi) ** 2 / 4) * v**2 / 2, G * sp.cos(phi) / 2
    bend = sp.lambdify((phi, v), (-potential - kinetic).diff(phi) / kinetic.diff(v, 2))
    found = solve_ivp(lambda _, y: [y[1], bend(*y)], (0, 3), [0.4, 0], t_eval=times, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(run.q[:, :2], np.array([np.cos(found.y[0]), np.sin(found.y[0])]).T, atol=1e-8)


BODY, FLAT = da.Body("b", 1, (1, 1, 1)), da.PlanarBody("a", 1, 1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: da.Screw("s", O3, BODY, axis=(0, 0, 1)),
            "`pitch of joint s` must be given: the displacement per turn",
        ),
        (lambda: da.Screw("s", O3, BODY, axis=(0, 0, 1), pitch=0), "a joint without displacement is a `da.Revolute`"),
        (lambda: da.Screw("s", O3, BODY, pitch=1), "joint `s` must be given its `axis`"),
        (lambda: da.Screw("s", O3, BODY, axis=(0, 0, 1), pitch=da.t), "`pitch of joint s` must be of numbers and para"),
        (lambda: da.Planar("p", O3, BODY, normal=(0, 0, 0)), "`normal of joint p` must not be zero"),
        (lambda: da.Planar("p", da.ground.at(0, 0), FLAT), "joint `p` must join points of space"),
        (
            lambda: da.PointOnSurface("p", da.ground.at(0, 0), FLAT, surface=len),
            "joint `p` exists in space only; in the plane use `da.PointOnCurve`",
        ),
        (lambda: da.PointOnSurface("p", O3, BODY), "must be given its `surface`, such as `lambda x, y, z: z - x * y`"),
        (
            lambda: da.PointOnCurve("p", O3, BODY, curve=lambda x, y, z: (x, y, z)).rows(),
            "`curve of joint p` must return one expression in the plane, one or two in space; got 3",
        ),
        (
            lambda: da.PointOnSurface("p", O3, BODY, surface=lambda x, y, z: "[].append(1)").rows(),
            "`surface of joint p` must be a finite number or an expression; got '[].append(1)'",
        ),
        (
            lambda: da.PointOnSurface("p", O3, BODY, surface=lambda x, y, z: "[].append(1)").normal_force,
            "`value of a curve or surface` must be a finite number or an expression; got '[].append(1)'",
        ),
    ],
)
def test_refused(make, message):
    with pytest.raises(da.ModelError) as refusal:
        make()
    assert message in str(refusal.value)
