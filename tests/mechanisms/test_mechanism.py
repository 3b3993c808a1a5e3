"""Whole mechanisms: joint coordinates against those of all bodies, reactions, assembly, friction, pictures, errors."""

from pathlib import Path

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from mechanisms.balance import imbalance

GRAVITY = (0, -9.81)
TIMES = np.linspace(0, 0.6, 7)
EXACT = {"rtol": 1e-12, "atol": 1e-13}


def bar(name, length=1.0, mass=2.0, **pose):
    return da.PlanarBody(name, mass, mass * length**2 / 12, **pose)


def start_along(mechanism, keep):
    q, qd = mechanism.assemble(keep=keep)
    return da.simulate(mechanism.system, q, qd, TIMES, **EXACT)


def lagrangian_of(places, masses, inertias, angles):
    """Kinetic less potential energy of bodies in the plane, from expressions of joint coordinates."""
    total = 0
    for (x, y), m, inertia, angle in zip(places, masses, inertias, angles, strict=True):
        speed = sp.Matrix([x, y]).diff(da.t)
        total += m * speed.dot(speed) / 2 + inertia * sp.sympify(angle).diff(da.t) ** 2 / 2 - m * 9.81 * y
    return total


def along(expressions, system, run):
    """Expressions of joint coordinates, their rates and second rates, along a run: (T, k)."""
    q, qd, qdd = system.coordinates, system.velocities, system.accelerations
    function = sp.lambdify([q, qd, qdd], list(expressions), cse=True)
    return np.array([function(*state) for state in zip(run.q, run.qd, run.acceleration, strict=True)], float)


def double_pendulum():
    a, b = da.coordinates("a b")
    first = sp.Matrix([sp.cos(a), sp.sin(a)])
    second = first + sp.Matrix([sp.cos(b), sp.sin(b)])
    bodies = (bar("p", position=(0.5, 0), spin=1), bar("q", position=(1.5, 0), spin=-2))
    joints = (
        da.Revolute("pin", da.ground.at(0, 0), bodies[0].at(-0.5, 0)),
        da.Revolute("elbow", bodies[0].at(0.5, 0), bodies[1].at(-0.5, 0)),
    )
    places, angles = [first / 2, (first + second) / 2], [a, b]
    return bodies, joints, places, angles, (a, b), (0, 0), (1, -2), (), ("theta_p", "theta_q")


def cart():
    x, a = da.coordinates("x a")
    wagon, pole = bar("wagon", velocity=(0.5, 0)), bar("pole", position=(0.5, 0), spin=1)
    joints = (
        da.Prismatic("rail", da.ground.at(0, 0), wagon),
        da.Revolute("pin", wagon, pole.at(-0.5, 0)),
    )
    places = [sp.Matrix([x, 0]), sp.Matrix([x + sp.cos(a) / 2, sp.sin(a) / 2])]
    return (wagon, pole), joints, places, [0, a], (x, a), (0, 0), (0.5, 1), (), ("x_wagon", "theta_pole")


def slider_crank():
    a, b = da.coordinates("a b")
    crank = bar("crank", position=(0.5, 0), spin=6)
    rod, slider = bar("rod", 3.0, position=(2.4, 0.1)), bar("slider", position=(4, 0))
    joints = (
        da.Revolute("bearing", da.ground.at(0, 0), crank.at(-0.5, 0)),
        da.Revolute("crank pin", crank.at(0.5, 0), rod.at(-1.5, 0)),
        da.Revolute("wrist pin", rod.at(1.5, 0), slider),
        da.Prismatic("guide", da.ground.at(0, 0), slider),
    )
    tip = sp.Matrix([sp.cos(a), sp.sin(a)])
    end = tip + 3 * sp.Matrix([sp.cos(b), sp.sin(b)])
    closed = (da.Constraint(end[1], name="closed"),)
    places = [tip / 2, (tip + end) / 2, sp.Matrix([end[0], 0])]
    return (crank, rod, slider), joints, places, [a, b, 0], (a, b), (0, 0), (6, -2), closed, ("theta_crank",)


def four_bar():
    a, b, c = da.coordinates("a b c")
    lengths, base = (0.5, 1.2, 1.0), 1.3
    links = [sp.Matrix([sp.cos(x), sp.sin(x)]) * length for x, length in zip((a, b, c), lengths, strict=True)]
    A, B = links[0], links[0] + links[1]
    D = sp.Matrix([base, 0])
    gap = B - D - links[2]
    # angles of the closed position with the crank at one radian
    known = sp.nsolve(gap.subs(a, 1), (b, c), (0.6, 1.6), prec=30)
    angles = (1.0, float(known[0]), float(known[1]))
    tips = [np.cos(angles) * lengths, np.sin(angles) * lengths]
    start = np.array(tips).T
    crank = bar("crank", 0.5, position=start[0] / 2, angle=angles[0], spin=3)
    coupler = bar("coupler", 1.2, position=start[0] + start[1] / 2, angle=angles[1])
    rocker = bar("rocker", 1.0, position=(base + start[2, 0] / 2, start[2, 1] / 2), angle=angles[2])
    joints = (
        da.Revolute("a", da.ground.at(0, 0), crank.at(-0.25, 0)),
        da.Revolute("b", crank.at(0.25, 0), coupler.at(-0.6, 0)),
        da.Revolute("c", coupler.at(0.6, 0), rocker.at(0.5, 0)),
        da.Revolute("d", da.ground.at(base, 0), rocker.at(-0.5, 0)),
    )
    rows = tuple(da.Constraint(e, name=n) for n, e in zip("xy", gap, strict=True))
    places = [A / 2, (A + B) / 2, D + links[2] / 2]
    rates = _closing_rates(gap, (a, b, c), angles, 3.0)
    return (crank, coupler, rocker), joints, places, [a, b, c], (a, b, c), angles, rates, rows, ("theta_crank",)


def _closing_rates(gap, coordinates, angles, first):
    J = np.array(gap.jacobian(coordinates).subs(dict(zip(coordinates, angles, strict=True))), float)
    return (first, *(-np.linalg.solve(J[:, 1:], J[:, 0] * first)))


def wheel_with_a_pendulum():
    """A wheel that rolls on the ground, with a bar hanging from its axle."""
    phi, a = da.coordinates("phi a")
    wheel, rod = bar("wheel", position=(0, 0.5), spin=-2), bar("rod", position=(0, 0), angle=-np.pi / 2)
    joints = (
        da.RollingOnLine("tyre", da.ground.at(0, 0), wheel, radius=0.5),
        da.Revolute("axle", wheel, rod.at(-0.5, 0)),
    )
    axle = sp.Matrix([-phi / 2, sp.Rational(1, 2)])
    places = [axle, axle + sp.Matrix([sp.cos(a), sp.sin(a)]) / 2]
    keep = ("theta_wheel", "theta_rod")
    return (wheel, rod), joints, places, [phi, a], (phi, a), (0, -np.pi / 2), (-2, 0), (), keep


FIVE = (double_pendulum, cart, slider_crank, four_bar, wheel_with_a_pendulum)


@pytest.mark.parametrize("make", FIVE, ids=lambda make: make.__name__)
def test_joint_coordinates_give_the_same_motion_and_reactions(make):
    bodies, joints, places, angles, coordinates, q0, qd0, closing, keep = make()
    mechanism = da.Mechanism(bodies, joints, da.Gravity(GRAVITY))
    run = start_along(mechanism, keep)
    masses, inertias = [b.mass for b in bodies], [b.inertia for b in bodies]
    energy = lagrangian_of(places, masses, inertias, angles)
    few = da.System.from_lagrangian(energy, coordinates, constraints=closing)
    minimal = da.simulate(few, q0, qd0, TIMES, **EXACT)
    poses = [e for place, angle in zip(places, angles, strict=True) for e in (*place, sp.sympify(angle))]
    np.testing.assert_allclose(run.q, along(poses, few, minimal), atol=1e-8)
    # the accelerations of all bodies say what their joints must do, with no multipliers at all
    bends = [sp.sympify(e).diff(da.t, 2) for e in poses]
    np.testing.assert_allclose(run.acceleration, along(bends, few, minimal), atol=1e-7)
    assert imbalance(mechanism, run, GRAVITY) < 1e-8


def test_a_spatial_four_bar_with_revolute_joints_equals_its_planar_twin():
    """All axes parallel: three equations too many, and the forces in the plane are the same."""
    bodies, joints, *_ = four_bar()
    flat = da.Mechanism(bodies, joints, da.Gravity(GRAVITY))
    one = start_along(flat, ("theta_crank",))
    q = one.q[0].reshape(3, 3)
    qd = one.qd[0].reshape(3, 3)
    deep = {
        body.name: da.Body(
            body.name, body.mass, (0.01, body.inertia, body.inertia), (x, y, 0), da.quaternion((0, 0, 1), angle),
            (u, v, 0), (0, 0, spin),
        )
        for body, (x, y, angle), (u, v, spin) in zip(bodies, q, qd, strict=True)
    }  # fmt: skip

    def lifted(marker):
        point = [*marker.point, 0]
        return da.ground.at(*point) if marker.body.name == "ground" else deep[marker.body.name].at(*point)

    spatial = [da.Revolute(j.name, lifted(j.first), lifted(j.second), axis=(0, 0, 1)) for j in joints]
    mechanism = da.Mechanism(tuple(deep.values()), spatial, da.Gravity((*GRAVITY, 0)))
    other = da.simulate(mechanism.system, *mechanism.assemble(), TIMES, **EXACT)
    assert other.rank[0] == len(other.constraints) - 3
    np.testing.assert_allclose(other.q.reshape(-1, 3, 7)[:, :, :2], one.q.reshape(-1, 3, 3)[:, :, :2], atol=1e-8)
    verdict = da.check(mechanism.system, q=other.q[0], qd=other.qd[0])
    assert verdict.well_posed
    assert len(verdict.redundant) == 3
    found, expected = mechanism.reactions(other), flat.reactions(one)
    for name in "abcd":
        np.testing.assert_allclose(found[name].force[:, :2], expected[name].force, atol=1e-6)
        assert not found[name].unique.any()  # forces across the plane can be shared in many ways
        assert expected[name].unique.all()


def test_reactions_in_body_axes_and_as_a_dataset():
    rod = bar("rod", position=(0.5, 0), spin=2)
    mechanism = da.Mechanism(rod, da.Revolute("pin", da.ground.at(0, 0), rod.at(-0.5, 0)), da.Gravity(GRAVITY))
    run = da.simulate(mechanism.system, *mechanism.assemble(keep=("theta_rod",)), TIMES)
    world, own = mechanism.reactions(run), mechanism.reactions(run, axes="body")
    angle = run["theta_rod"]
    turned = world["pin"].force[:, 0] * np.cos(angle) + world["pin"].force[:, 1] * np.sin(angle)
    np.testing.assert_allclose(own["pin"].force[:, 0], turned, atol=1e-9)
    data = world.to_xarray()
    assert data["force"].sel(joint="pin").shape == (len(TIMES), 2)
    assert "pin  force" in str(world)
    with pytest.raises(da.InputError, match="`bolt` must be a joint of the mechanism; it has `pin`"):
        world["bolt"]
    with pytest.raises(da.InputError, match='`axes` must be "world" or "body"'):
        mechanism.reactions(run, axes="own")
    other = da.Mechanism(bar("q"), (), da.Gravity(GRAVITY))
    with pytest.raises(da.InputError, match="`run` must be a trajectory of the mechanism's own `system`"):
        other.reactions(run)


def test_friction_in_a_pin_and_a_damper_in_a_hinge():
    """Coulomb's torque is μ r |F|, the viscous one c θ̇: both are part of the joint's reaction."""
    rod = bar("rod", position=(0.5, 0), spin=2)
    laws = (da.Coulomb(0.3), da.Viscous(0.1))
    pin = da.Revolute("pin", da.ground.at(0, 0), rod.at(-0.5, 0), radius=0.05, nonideal=laws)
    mechanism = da.Mechanism(rod, pin, da.Gravity(GRAVITY))
    run = da.simulate(mechanism.system, *mechanism.assemble(keep=("theta_rod",)), np.linspace(0, 0.2, 5), **EXACT)
    assert imbalance(mechanism, run, GRAVITY) < 1e-8
    actual = np.hypot(*mechanism.reactions(run)["pin"].force.T)
    rate = run.qd[:, 2]
    expected = -0.3 * 0.05 * actual * np.sign(rate) - 0.1 * rate
    np.testing.assert_allclose(mechanism.reactions(run)["pin"].torque, expected, atol=1e-8)


def test_friction_on_a_slide_and_a_blade():
    block = bar("block", velocity=(2, 0))
    slide = da.Prismatic("slide", da.ground.at(0, 0), block, nonideal=da.Coulomb(0.5, mu_static=0.6))
    mechanism = da.Mechanism(block, slide, da.Gravity(GRAVITY))
    run = da.simulate(mechanism.system, *mechanism.assemble(), [0, 0.2, 1.0])
    np.testing.assert_allclose(run["x_block"][-1], 4 / (2 * 0.5 * 9.81), atol=1e-9)
    np.testing.assert_allclose(mechanism.reactions(run)["slide"].force[0], [-0.5 * 2 * 9.81, 2 * 9.81], atol=1e-9)
    skate = bar("skate", velocity=(2, 0), spin=1)
    blade = da.KnifeEdge("blade", da.ground.at(0, 0), skate, nonideal=da.Viscous(0.4))
    mechanism = da.Mechanism(skate, blade)
    run = da.simulate(mechanism.system, *mechanism.assemble(), [0, 1], **EXACT)
    np.testing.assert_allclose(np.hypot(*run.qd[-1, :2]), 2 * np.exp(-0.2), atol=1e-9)


def test_springs_dampers_drag_and_given_forces():
    """Each against the equation of a single mass or a single angle."""
    k, c = 7.0, 0.3
    mass = da.Particle("m", 2, (1.5, 0))
    line = da.Rod("line", da.ground.at(0, 5), mass, length=np.hypot(1.5, 5))
    assert da.Mechanism(mass, line).system.constraint_names == ("line: length",)
    spring = da.Spring(da.ground.at(0, 0), mass, k, length=1, damping=c)
    push = da.Force(mass, (0.5, 0))
    run = da.simulate(
        (m := da.Mechanism(mass, (), (spring, push, da.Drag(mass, 0.2)))).system, *m.assemble(), [0, 1], **EXACT
    )
    w = np.roots([2, c + 0.2, k])
    free = np.linalg.solve([[1, 1], w], [0.5 - 0.5 / k, 0])
    np.testing.assert_allclose(run["x_m"][-1], 1 + 0.5 / k + (free * np.exp(w)).sum().real, atol=1e-9)
    wheel = bar("wheel", spin=1)
    hinge = da.Revolute("hinge", da.ground.at(0, 0), wheel)
    twist = (da.TorsionSpring(hinge, k, angle=0.2, damping=c), da.Torque(wheel, 0.5))
    run = da.simulate(
        (m := da.Mechanism(wheel, hinge, twist)).system, *m.assemble(keep=("theta_wheel",)), [0, 1], **EXACT
    )
    w = np.roots([2 / 12, c, k])
    middle = 0.2 + 0.5 / k
    free = np.linalg.solve([[1, 1], w], [-middle, 1])
    np.testing.assert_allclose(run["theta_wheel"][-1], middle + (free * np.exp(w)).sum().real, atol=1e-9)
    deep = da.Body("w", 1, (0.1, 0.1, 0.1), spin=(0, 0, 1))
    hinge = da.Revolute("hinge", da.ground.at(0, 0, 0), deep, axis=(0, 0, 1))
    twist = (da.TorsionSpring(hinge, k, angle=0.2, damping=c), da.Torque(deep, (0, 0, 0.5), axes="body"))
    run = da.simulate((m := da.Mechanism(deep, hinge, twist)).system, *m.assemble(), [0, 0.3], **EXACT)
    w = np.roots([0.1, c, k])
    free = np.linalg.solve([[1, 1], w], [-middle, 1])
    angle = 2 * np.arctan2(run["e3_w"][-1], run["e0_w"][-1])
    np.testing.assert_allclose(angle, middle + (free * np.exp(0.3 * w)).sum().real, atol=1e-9)
    jet = da.PlanarBody("jet", 2, 0.5, angle=0.3)
    run = da.simulate(
        (m := da.Mechanism(jet, (), da.Force(jet.at(0, 0), (4, 0), axes="body"))).system, *m.assemble(), [0, 1]
    )
    np.testing.assert_allclose(run.q[-1, :2], [np.cos(0.3), np.sin(0.3)], atol=1e-9)
    fast = da.Particle("p", 2, (0, 0), velocity=(3, 4))
    run = da.simulate(
        (m := da.Mechanism(fast, (), da.Drag(fast, quadratic=0.8))).system, *m.assemble(), [0, 1], **EXACT
    )
    np.testing.assert_allclose(np.hypot(*run.qd[-1]), 5 / (1 + 0.4 * 5), atol=1e-9)


def test_parameters_in_a_mechanism():
    length, mass = da.parameters("l m")
    rod = da.PlanarBody("rod", mass, mass * length**2 / 12, position=(0.5, 0))
    pin = da.Revolute("pin", da.ground.at(0, 0), rod.at(-length / 2, 0))
    mechanism = da.Mechanism(rod, pin, da.Gravity((0, -da.parameters("g"))))
    numbers = {"l": 2.0, "m": 3.0, "g": 9.81}
    q, qd = mechanism.assemble(keep=("theta_rod",), parameters=numbers)
    np.testing.assert_allclose(q, [1, 0, 0], atol=1e-12)
    run = da.simulate(mechanism.system, q, qd, [0, 0.1], parameters=numbers)
    np.testing.assert_allclose(run.acceleration[0, 2], -9.81 * 1.5 / 2, atol=1e-9)
    np.testing.assert_allclose(mechanism.reactions(run)["pin"].torque, 0, atol=1e-9)


def test_a_loop_that_cannot_close_is_refused_by_name():
    bodies, joints, *_ = four_bar()
    far = da.Revolute("d", da.ground.at(9, 0), bodies[2].at(-0.5, 0))
    mechanism = da.Mechanism(bodies, (*joints[:3], far))
    with pytest.raises(da.StateError) as refusal:
        mechanism.assemble()
    assert "the mechanism cannot be assembled from the given poses of its bodies" in str(refusal.value)
    assert "`d: x` remains violated" in str(refusal.value)
    with pytest.raises(da.InputError, match=r"`theta_crnk` is unknown\. Did you mean `theta_crank`\?"):
        da.Mechanism(bodies, joints).assemble(keep=("theta_crnk",))


def test_pictures(tmp_path: Path):
    bodies, joints, *_ = slider_crank()
    mechanism = da.Mechanism(bodies, joints, (da.Gravity(GRAVITY), da.Spring(da.ground.at(0, 1), bodies[2], 1)))
    run = start_along(mechanism, ("theta_crank",))
    labels = [text.get_text() for text in mechanism.plot(run).legends[0].get_texts()]
    assert labels == ["crank pin", "wrist pin", "guide"]  # the bearing does not move
    drawn = mechanism.plot(run).axes[0]
    assert drawn.collections[0].get_offsets().tolist() == [[0, 0], [0, 1]]  # supports of bearing, guide and spring
    named = [text for text in drawn.texts if text.get_text()]
    assert [text.get_text() for text in named] == ["crank", "rod", "slider"]
    arrows = [text for text in drawn.texts if not text.get_text()]
    along = np.subtract(arrows[0].xy, arrows[0].xyann)
    assert np.arctan2(along[1], along[0]) == pytest.approx((run["theta_crank"][-1] + np.pi) % (2 * np.pi) - np.pi)
    assert len(arrows) == 6 and not mechanism.plot(run, axes=False).axes[0].texts
    assert mechanism.animate(run, tmp_path / "crank.gif").stat().st_size > 1000
    page = mechanism.animate(run, tmp_path / "crank.html").read_text()
    assert "http" not in page
    disc = da.Body("disc", 1, (0.1, 0.2, 0.1), position=(0, 0, 0.5), velocity=(1, 0, 0), spin=(0, 2, 0))
    edge = da.RollingDisc("edge", da.ground.at(0, 0, 0), disc, radius=0.5)
    deep = da.Mechanism(disc, (edge, da.Rod("rod", da.ground.at(0, -1, 0.5), disc, length=1.0)))
    run = da.simulate(deep.system, *deep.assemble(), [0, 0.2])
    assert "Drag the picture to rotate it" in deep.animate(run, tmp_path / "disc.html").read_text()
    assert deep.plot(run, positions=2).axes
    for path in (tmp_path / "disc.avi", tmp_path):
        with pytest.raises(da.InputError, match="`path` must end in"):
            deep.animate(run, path)
    with pytest.raises(da.InputError, match="`positions` must be a whole number of at least one; got 0"):
        deep.plot(run, positions=0)
    with pytest.raises(da.InputError, match="`view` must be an azimuth and an elevation in degrees; got 3"):
        deep.plot(run, view=3)
    with pytest.raises(da.InputError, match=r"`run` must be a trajectory returned by `da\.simulate`; got None"):
        deep.plot(None)
    with pytest.raises(da.InputError, match="`run` must be a trajectory of the mechanism's own `system`"):
        mechanism.animate(run, tmp_path / "other.gif")


A, B = bar("a"), bar("b")
PIN = da.Revolute("pin", A, B)
DEEP = da.Body("c", 1, (1, 1, 1))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: da.Revolute("pin", A.at(0, 0), A.at(1, 0)),
            "joint `pin` must join two bodies; both of its points are of `a`",
        ),
        (lambda: da.Revolute("pin", A, DEEP), "must join points of the plane or points of space, not one of each"),
        (lambda: da.Revolute("", A, B), "a joint's name must be a text that is not empty"),
        (lambda: da.Revolute("pin", A, "b"), "`pin` must be attached to points such as `body.at(...)`"),
        (lambda: da.Revolute("pin", A, B, axis=(0, 0, 1)), "joint `pin` is in the plane and has no `axis`"),
        (lambda: da.Revolute("pin", da.ground.at(0, 0, 0), DEEP), "joint `pin` must be given its `axis`"),
        (lambda: da.Revolute("pin", da.ground.at(0, 0, 0), DEEP, axis=(0, 0, 0)), "must not be zero"),
        (lambda: da.Spherical("s", A, B), "joint `s` must join points of space"),
        (lambda: da.Universal("u", da.ground, DEEP, axis=(0, 0, 1)), "`axis` of joint u must be a pair of directions"),
        (lambda: da.Rod("r", A, B), "`length of rod r` must be given; it is missing. Pass `length=...`."),
        (
            lambda: da.RollingOnLine("w", da.ground.at(0, 0), A),
            "`radius of joint w` must be given; it is missing. Pass `radius=...`.",
        ),
        (lambda: da.RollingOnLine("w", da.ground.at(0, 0, 0), DEEP, radius=1), "joint `w` exists in the plane only"),
        (lambda: da.RollingEllipsoid("w", da.ground.at(0, 0, 0), DEEP), "`axes of joint w` must be 3 finite numbers"),
        (lambda: da.PointOnCurve("c", A, B), "joint `c` must be given its `curve`"),
        (lambda: da.Force(A, (1, 2), axes="own"), '`axes` must be "world" or "body"'),
        (lambda: da.TorsionSpring(A, 1), "`joint` of a torsion spring must be a `da.Revolute`"),
        (lambda: da.Mechanism((A, B), (PIN, PIN)), "joints must differ in name; given twice: `pin`"),
        (lambda: da.Mechanism((A, bar("a", 2.0)), ()), "bodies must differ in name; given twice: `a`"),
        (
            lambda: da.Mechanism((A,), PIN),
            "joint `pin` must be of bodies of the mechanism; `b` is not among its `bodies`",
        ),
        (lambda: da.Mechanism((A, DEEP), ()), "bodies must be all in the plane or all in space"),
        (lambda: da.Mechanism(()), "`bodies` must hold at least one body"),
        (lambda: da.Mechanism((A, B), "pin"), "`joints` must hold joints such as `da.Revolute`"),
        (lambda: da.Mechanism((A, B), (), (da.Drive("d", PIN, 1),)), "`forces` must hold forces such as"),
        (lambda: da.Mechanism((A, B), (da.Drive("d", PIN, da.t),)), "drive `d` must drive a joint of the mechanism"),
        (
            lambda: da.Mechanism((A, B), (w := da.Weld("w", A, B), da.Drive("d", w, da.t))).system,
            "must be revolute, prismatic or a screw to be driven",
        ),
        (
            lambda: da.Mechanism((A, B), da.Revolute("p", A, B, nonideal=da.Coulomb(1))).system,
            "Give the joint the `radius` of its pin",
        ),
        (
            lambda: da.Mechanism((A, B), da.Rod("r", A, B, length=1, nonideal=da.Viscous(1))).system,
            "must be given its `velocity`",
        ),
        (
            lambda: da.Mechanism((A, B), da.Rod("r", A, B, length=1, nonideal=da.Proportional(1))).system,
            "laws of a joint must be",
        ),
        (lambda: da.Mechanism((da.Particle("p", 1, (0, 0)), A), da.Weld("w", "p", A)), "must be attached to points"),
        (
            lambda: da.Mechanism(p := da.Particle("p", 1, (0, 0)), da.KnifeEdge("k", da.ground.at(0, 0), p)).system,
            "the particle `p` has no axes",
        ),
    ],
)
def test_bad_mechanisms_are_refused(make, message):
    with pytest.raises(da.ModelError) as refusal:
        make()
    assert message in str(refusal.value)
