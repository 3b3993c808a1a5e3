"""Friction by the reaction that it changes itself, against Newton's equations by hand, and what happens at rest."""

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import simpson, solve_ivp

import dalembert as da

x, y, theta = da.coordinates("x y theta")
xd, yd, rate = (q.diff(da.t) for q in (x, y, theta))
G = 9.81


def engine(guide: object, motion: object = 7 * da.t) -> da.Mechanism:
    """A slider crank driven at 7 rad/s, crank 1 m, rod 3 m."""
    crank = da.PlanarBody("crank", mass=1, inertia=1 / 12, position=(0.5, 0))
    rod = da.PlanarBody("rod", mass=2, inertia=1.5, position=(2.5, 0))
    slider = da.PlanarBody("slider", mass=1, inertia=0.1, position=(4, 0))
    bearing = da.Revolute("bearing", da.ground.at(0, 0), crank.at(-0.5, 0))
    joints = (
        bearing,
        da.Revolute("crank pin", crank.at(0.5, 0), rod.at(-1.5, 0)),
        da.Revolute("wrist pin", rod.at(1.5, 0), slider),
        da.Prismatic("guide", da.ground.at(0, 0), slider, nonideal=guide),
        da.Drive("motor", bearing, motion),
    )
    return da.Mechanism((crank, rod, slider), joints, da.Gravity((0, -G)))


def by_hand(mu: float, angle: np.ndarray, *, actual: bool) -> np.ndarray:
    """Power that friction takes in that guide, from the equations of rod and slider: N = N₀ + a F, |F| = μ |N|."""
    turn, length, mass, inertia, own = 7.0, 3.0, 2.0, 1.5, 1.0
    phi = -np.arcsin(np.sin(angle) / length)
    c, s = np.cos(phi), np.sin(phi)
    phid = -np.cos(angle) * turn / (length * c)
    phidd = (np.sin(angle) * turn**2 + length * s * phid**2) / (length * c)
    ax, ay = -np.cos(angle) * turn**2, -np.sin(angle) * turn**2
    rod = ax + length / 2 * (-s * phidd - c * phid**2), ay + length / 2 * (c * phidd - s * phid**2)
    slider = ax + length * (-s * phidd - c * phid**2)
    v = -np.sin(angle) * turn - length * s * phid

    def normal(friction: np.ndarray) -> np.ndarray:
        wrist = own * slider - friction
        up = -inertia * phidd * 2 / length + s * wrist - c * mass * (rod[1] + G) + s * (mass * rod[0] + wrist)
        return own * G - up / (2 * c)

    smooth, way = normal(0 * v), -np.sign(v)
    a = mu * way * (normal(1 + 0 * v) - smooth)
    N = np.where(smooth >= 0, smooth / (1 - a), smooth / (1 + a)) if actual else smooth
    return mu * np.abs(N * v)


@pytest.mark.parametrize("normal", ["actual", "ideal"])
def test_what_a_turn_of_a_driven_slider_crank_costs(normal: str) -> None:
    """The guide takes μ∫|N v| dt by the actual N, and the motor gives exactly that; dead centres are no obstacle."""
    mechanism = engine(da.Coulomb(0.2) if normal == "actual" else da.Coulomb(0.2, normal="ideal"))
    times = np.linspace(0, 2 * np.pi / 7, 4001)
    run = da.simulate(mechanism.system, *mechanism.assemble(), times)
    assert run.statistics["program"] == "machine code"
    assert run.events == ()
    reactions = mechanism.reactions(run)
    spent = simpson(7 * np.ravel(reactions["motor"].torque), x=times)
    lost = simpson(by_hand(0.2, 7 * times, actual=normal == "actual"), x=times)
    felt = simpson(0.2 * np.abs(reactions["guide"].force[:, 1] * run.qd[:, 6]), x=times)
    if normal == "actual":
        np.testing.assert_allclose([spent, felt], lost, rtol=1e-6)  # of Simpson's rule across the dead centres
    else:
        np.testing.assert_allclose(spent, lost, rtol=1e-6)
        assert abs(felt - lost) > 1e-3 * lost  # the guide feels another force than that of the law


def pendulum(**law: object) -> da.System:
    """A body pinned at the origin, 0.7 from its centre of mass, with friction at the pin's radius 0.05."""
    pull = da.multiplier("pin x"), da.multiplier("pin y")
    friction = da.Coulomb(0.4, sp.Rational(1, 20) * rate, **({"normal_force": pull} | law))
    pin = (
        da.Constraint(x - 0.7 * sp.sin(theta), name="pin x"),
        da.Constraint(y + 0.7 * sp.cos(theta), name="pin y", nonideal=friction),
    )
    return da.System((x, y, theta), sp.diag(2, 2, 0.3), (0, -2 * G, 0), pin)


def swing(angle: float, turn: float) -> float:
    """Its angular acceleration: (J + m l²) θ̈ = −m g l sin θ − μ r |N| sgn θ̇, |N|² a quadratic in θ̈."""
    m, length, whole, k = 2.0, 0.7, 0.3 + 2 * 0.7**2, 0.4 * 0.05 * np.sign(turn)
    smooth = -m * G * length * np.sin(angle) / whole
    pull = [m * (length * turn**2 + G * np.cos(angle)), m * G * np.sin(angle)]  # along the rod, and across at θ̈ = 0
    s = 0.0
    for _ in range(100):  # plain iteration: |N| changes by m l k/(J + m l²) of what it was off
        s = np.hypot(pull[0], pull[1] + m * length * (smooth - k * s / whole))
    return smooth - k * s / whole


STATE = {"q": (0.7 * np.sin(0.8), -0.7 * np.cos(0.8), 0.8), "qd": (-1.05 * np.cos(0.8), -1.05 * np.sin(0.8), -1.5)}


@pytest.mark.parametrize("form", ["tuple", "length"])
def test_friction_in_a_pin_by_the_force_that_the_pin_has(form: str) -> None:
    """A root of squares is recognised as the length of a vector."""
    length = sp.sqrt(da.multiplier("pin x") ** 2 + da.multiplier("pin y") ** 2)
    system = pendulum(**({"normal_force": length} if form == "length" else {}))
    assert len(system.laws[0].law.normal_force) == 2
    run = da.simulate(system, *STATE.values(), (0, 0.3))
    assert run.statistics["program"] == "machine code"
    assert run.acceleration[0, 2] == pytest.approx(swing(0.8, -1.5), rel=1e-13)
    exact = solve_ivp(lambda t, u: [u[1], swing(*u)], (0, 0.3), (0.8, -1.5), method="DOP853", rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose([run.q[-1, 2], run.qd[-1, 2]], exact.y[:, -1], atol=1e-9)


def test_general_and_compiled_answers_agree_and_strong_friction_in_a_pin_is_refused() -> None:
    system = pendulum()
    point = da.motion(system, **STATE)
    assert point.normals.solutions == 1
    assert point.acceleration[2] == pytest.approx(swing(0.8, -1.5), rel=1e-13)
    strong = pendulum(normal_force=tuple(100 * da.multiplier(f"pin {axis}") for axis in "xy"))
    with pytest.raises(da.PainleveError, match=r"cannot be guaranteed that there is one only.*`pin y` is 0.4") as e:
        da.motion(strong, **STATE)
    assert e.value.critical_mu == pytest.approx((0.3 + 2 * 0.7**2) / (5 * 2 * 0.7), rel=1e-12)
    with pytest.raises(da.PainleveError, match="cannot be guaranteed"):
        da.simulate(strong, *STATE.values(), (0, 0.1))


def test_three_bearings_with_friction_in_machine_code() -> None:
    """Each joint's torque is −μ r |F| against its rate, F and torque being what Newton and Euler ask for."""
    names, mass, length = ("a", "b", "c"), np.array([1.0, 2.0, 3.0]), 0.8
    bars = [
        da.PlanarBody(n, mass=i + 1, inertia=0.2, position=(length * (i + 0.5), 0), spin=3 - 2 * i)
        for i, n in enumerate(names)
    ]
    before = [da.ground.at(0, 0), *(bar.at(length / 2, 0) for bar in bars[:2])]
    pins = [
        da.Revolute(f"pin {i}", one, bar.at(-length / 2, 0), radius=0.2, nonideal=da.Coulomb(0.3 + 0.1 * i))
        for i, (one, bar) in enumerate(zip(before, bars, strict=True))
    ]
    chain = da.Mechanism(tuple(bars), tuple(pins), da.Gravity((0, -G)))
    run = da.simulate(chain.system, *chain.assemble(keep=("theta_a", "theta_b", "theta_c")), (0, 0.02, 0.04))
    assert run.statistics["program"] == "machine code"
    turning = np.diff(run.qd[:, 2::3], axis=1, prepend=0)
    acceleration = run.acceleration.reshape(3, 3, 3)  # by time, bar, coordinate
    angle = run.q[:, 2::3]
    weight = np.array([0, -G])
    force, torque = np.zeros((3, 2)), np.zeros(3)  # on the outer end of a bar
    for i in (2, 1, 0):
        arm = length / 2 * np.stack([np.cos(angle[:, i]), np.sin(angle[:, i])], axis=1)
        pull = mass[i] * (acceleration[:, i, :2] - weight) - force
        friction = -(0.3 + 0.1 * i) * 0.2 * np.linalg.norm(pull, axis=1) * np.sign(turning[:, i])
        cross = arm[:, 0] * (force - pull)[:, 1] - arm[:, 1] * (force - pull)[:, 0]
        np.testing.assert_allclose(0.2 * acceleration[:, i, 2], friction + torque + cross, atol=1e-10)
        force, torque = -pull, -friction


def test_eleven_contacts_are_not_too_many() -> None:
    """Feet of a block on eleven floors, one for each axis of its own space: each law knows its own normal force."""
    heights = [da.coordinates(f"h{i}") for i in range(11)]
    laws = [da.Coulomb(0.01 * i, velocity=xd, normal_force=da.multiplier(f"floor {i}")) for i in range(11)]
    floors = [da.Constraint(h - x * i / 50, name=f"floor {i}", nonideal=laws[i]) for i, h in enumerate(heights)]
    system = da.System((x, *heights), sp.eye(12), (0, *(-G for _ in heights)), floors)
    run = da.simulate(system, np.zeros(12), [2, *(2 * i / 50 for i in range(11))], (0, 0.01))
    slope = np.arange(11) / 50  # ẍ = −Σ Nᵢ (μᵢ + slope), Nᵢ = g + slope ẍ, all of them pressed on
    mu = 0.01 * np.arange(11)
    expected = -np.sum(G * (mu + slope)) / (1 + np.sum(slope * (mu + slope)))
    assert run.acceleration[0, 0] == pytest.approx(expected, rel=1e-13)
    point = da.motion(system, np.zeros(12), [2, *(2 * i / 50 for i in range(11))])
    assert point.acceleration[0] == pytest.approx(expected, rel=1e-13)


def block(pull: object, law: object) -> da.System:
    return da.System((x, y), sp.eye(2), (pull, -10), da.Constraint(y, name="floor", nonideal=law))


def test_the_classic_block_stops() -> None:
    """x = v₀²/(2 μ g), at rest ever after, without a static coefficient."""
    run = da.simulate(block(0, da.Coulomb(0.3)), (0, 0), (2, 0), (0, 0.5, 100))
    assert [(event.kind, event.t) for event in run.events] == [("sticks", pytest.approx(2 / 3, abs=1e-13))]
    assert run["x"][-1] == pytest.approx(4 / 6, abs=1e-13)
    np.testing.assert_array_equal(run.qd[-1], 0)
    assert run.statistics["steps"] < 100


@pytest.mark.parametrize(("pull", "law", "expected"), [(2, 0.3, (0, -2)), (5, 0.3, (2, -3)), (-5, 0.3, (-2, 3))])
def test_motion_at_rest_is_what_happens_next(pull: float, law: float, expected: tuple[float, float]) -> None:
    """Held as long as friction can, else friction against the way it starts."""
    point = da.motion(block(pull, da.Coulomb(law)), (0, 0), (0, 0))
    np.testing.assert_allclose([point.acceleration[0], point.nonideal_force[0]], expected, atol=1e-14)
    np.testing.assert_allclose(point.virtual_work([1, 0], of="floor"), expected[1], atol=1e-14)
    np.testing.assert_allclose(point.law_forces.sum(axis=0), point.nonideal_force, atol=1e-14)


def test_motion_at_rest_with_another_static_coefficient() -> None:
    law = da.Coulomb(0.3, mu_static=0.6)
    assert da.motion(block(5, law), (0, 0), (0, 0)).acceleration[0] == pytest.approx(0, abs=1e-14)
    assert da.motion(block(7, law), (0, 0), (0, 0)).acceleration[0] == pytest.approx(4, abs=1e-13)


def test_a_drive_that_waits_and_sets_off() -> None:
    """The slider is kept at rest by the motor; friction is counted as none until it moves, and a note says so."""
    waits = sp.Piecewise((0, da.t < 1), ((da.t - 1) ** 3, True))
    mechanism = engine(da.Coulomb(0.2), motion=sp.Rational(1, 2) + waits)
    q, qd = mechanism.assemble(keep=())
    run = da.simulate(mechanism.system, q, qd, (0, 0.9, 2.0))
    assert run.q[-1, 2] == pytest.approx(1.5, abs=1e-8)
    np.testing.assert_array_equal(run.nonideal_force[:2], 0)
    assert any("`guide: across` is kept at rest by constraints" in note for note in run.notes)


def test_normal_forces_that_are_no_vectors_are_refused() -> None:
    for force in (da.multiplier("floor") ** 2, sp.sqrt(da.multiplier("floor") ** 2 + da.multiplier("floor"))):
        message = (
            r"must be linear in `da.multiplier`s, or the length of a vector.*as a tuple, or use `normal=\"ideal\"`"
        )
        with pytest.raises(da.ModelError, match=message):
            block(0, da.Coulomb(0.3, normal_force=force))
    with pytest.raises(da.ModelError, match=r"`normal_force` must be an expression, or a sequence of components; got"):
        da.Coulomb(0.3, normal_force=())


def test_a_known_normal_force_needs_no_reaction() -> None:
    """A preload adds to the reaction, or is all there is."""
    both = block(0, da.Coulomb(0.3, normal_force=da.multiplier("floor") + 4))
    assert da.motion(both, (0, 0), (1, 0)).acceleration[0] == pytest.approx(-0.3 * 14, rel=1e-14)
    alone = block(0, da.Coulomb(0.3, normal_force=4))
    assert da.motion(alone, (0, 0), (1, 0)).acceleration[0] == pytest.approx(-0.3 * 4, rel=1e-14)
