"""Numbers and closed forms of the source papers; labels as in their equations."""

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

import dalembert as da
from helpers import ALL_FORMULATIONS, SKATE_NUMBERS, angle_pendulum, label, pendulum, skate_particle

x, y, z = da.coordinates("x y z")
xd, yd, zd = (q.diff(da.t) for q in (x, y, z))
g = da.parameters("g")


@pytest.mark.parametrize("formulation", ALL_FORMULATIONS, ids=label)
def test_nonideal_particle_to_all_printed_digits(formulation: da.Factored) -> None:
    """Udwadia & Kalaba 2001, section 5, with the numbers of our problem sheet."""
    run = da.simulate(
        skate_particle(), (0, 0, 1), (1, 1, 0), (0, 2), parameters=SKATE_NUMBERS, formulation=formulation, rtol=1e-11
    )
    printed = {"q": ("0.882333427", "1.25524666", "-12.0145652"), "qd": ("0.00258471329", "0.373102786", "-9.52126780")}
    for field, digits in printed.items():
        for value, text in zip(getattr(run, field)[-1], digits, strict=True):
            places = len(text.split(".")[1])
            assert f"{value:.{places}f}" == text


def test_nonideal_particle_closed_forms() -> None:
    """[N-15 … N-17] at random states: ideal force, nonideal force and acceleration, written out by hand."""
    rng = np.random.default_rng(15)
    for _ in range(20):
        q, qd = rng.normal(size=(2, 3))
        a0, gravity = rng.uniform(0, 1, 2)
        point = da.motion(skate_particle(), q, qd, parameters={"a0": a0, "g": gravity})
        (_, _, zz), (u, v, w) = q, qd
        lam = 2 * zz * u * w / (1 + zz**4)
        along = (u + zz**2 * v) / (1 + zz**4)
        speed = np.linalg.norm(qd)
        np.testing.assert_allclose(point.ideal_force, lam * np.array([-(zz**2), 1, 0]), atol=1e-13)
        np.testing.assert_allclose(point.nonideal_force, -a0 * speed * np.array([along, zz**2 * along, w]), atol=1e-13)
        np.testing.assert_allclose(point.acceleration, point.constraint_force + np.array([0, 0, -gravity]), atol=1e-13)


def test_rod_given_twice_equals_the_minimal_description() -> None:
    """Rank 1 of 2: the same motion as the pendulum in its angle, over 10 s."""
    twin = pendulum(da.Constraint(3 * (x**2 + y**2) - 3, name="rod again"))
    times = np.linspace(0, 10, 51)
    run = da.simulate(twin, (1, 0), (0, 0.5), times, parameters={"g": 9.81}, rtol=1e-13, atol=1e-14)
    minimal = da.simulate(angle_pendulum(), [np.pi / 2], [0.5], times, parameters={"g": 9.81}, rtol=1e-13, atol=1e-14)
    assert (run.rank == 1).all()
    assert np.abs(run["x"] - np.sin(minimal["theta"])).max() < 1e-10
    assert np.abs(run["y"] + np.cos(minimal["theta"])).max() < 1e-10
    # the two multipliers share the load in the ratio of their gradients: the shortest λ with λ₁ + 3λ₂ given
    np.testing.assert_allclose(run["rod again"], 3 * run["rod"], rtol=1e-9)


def test_constant_speed_under_gravity() -> None:
    """ẋ²+ẏ²+ż² = v², nonlinear in velocity: sin θ = sech s, s = gt/v + s₀, θ from the upward vertical."""
    system = da.System((x, y, z), sp.eye(3), (0, 0, -g), da.Constraint(xd**2 + yd**2 + zd**2 - 4, name="speed"))
    speed, gravity, s0 = 2.0, 9.81, -1.5
    start = (speed / np.cosh(s0), 0, -speed * np.tanh(s0))
    times = np.linspace(0, 1, 11)
    run = da.simulate(system, (0, 0, 0), start, times, parameters={"g": gravity}, rtol=1e-12, atol=1e-13)
    s = gravity * times / speed + s0
    gudermann = 2 * np.arctan(np.tanh(s / 2)) - 2 * np.arctan(np.tanh(s0 / 2))
    length = speed**2 / gravity
    np.testing.assert_allclose(run["x"], length * gudermann, atol=1e-11)
    np.testing.assert_allclose(run["z"], -length * np.log(np.cosh(s) / np.cosh(s0)), atol=1e-11)
    assert np.abs(run.violation).max() < 1e-13


def test_perpendicular_velocities() -> None:
    """v₁·v₂ = 0 for two particles under gravity, against an independent integration of the hand-derived equation."""
    coordinates = da.coordinates("x1 y1 x2 y2")
    v = [q.diff(da.t) for q in coordinates]
    perpendicular = da.Constraint(v[0] * v[2] + v[1] * v[3], name="perpendicular")
    system = da.System(coordinates, sp.diag(1, 1, 2, 2), (0, -g, 0, -2 * g), perpendicular)
    start, speeds = (0, 0, 1, 0), (1, 0.5, -0.5, 1)

    def rates(_: float, state: np.ndarray) -> np.ndarray:
        u = state[4:]
        row, inverse, free = u[[2, 3, 0, 1]], np.array([1, 1, 0.5, 0.5]), np.array([0, -9.81, 0, -9.81])
        return np.concatenate([u, free - inverse * row * (row @ free) / (row @ (inverse * row))])

    run = da.simulate(system, start, speeds, (0, 1, 2), parameters={"g": 9.81}, rtol=1e-12, atol=1e-13)
    reference = solve_ivp(rates, (0, 2), [*start, *speeds], rtol=1e-12, atol=1e-13, method="DOP853").y[:, -1]
    np.testing.assert_allclose(run.q[-1], reference[:4], atol=1e-9)
    np.testing.assert_allclose(run.qd[-1], reference[4:], atol=1e-9)
    assert np.abs(run.violation).max() < 1e-12
    # homogeneous in velocity, so the ideal force does no work and energy is kept
    energy = run.qd**2 @ [0.5, 0.5, 1, 1] + 9.81 * run.q @ [0, 1, 0, 2]
    np.testing.assert_allclose(energy, energy[0], atol=1e-9)


def test_indefinite_mass_with_multipliers() -> None:
    """Lemos et al., example 2: W is indefinite, the saddle matrix regular; q at t = 2 and λ in closed form."""
    q = q1, q2, q3 = da.coordinates("q1 q2 q3")
    v1, v2, v3 = (c.diff(da.t) for c in q)
    L = (v1**2 + v2**2 - v3**2) / 2 - (q1**2 + q2**2 + q3**2) / 2
    system = da.System.from_lagrangian(L, q, constraints=da.Constraint(v1 + q3 * v2, name="pfaff"))
    run = da.simulate(
        system, (1, 0.5, 0.3), (-0.21, 0.7, 0.2), np.linspace(0, 2, 5), formulation=da.Multipliers(), rtol=1e-11
    )
    np.testing.assert_allclose(run.q[-1], [0.60828498, 1.18001569, 1.85403079], atol=5e-9)
    closed = (run["q1"] + run["q2"] * run["q3"] - run.qd[:, 1] * run.qd[:, 2]) / (1 + run["q3"] ** 2)
    np.testing.assert_allclose(run["pfaff"], closed, rtol=1e-10)
    np.testing.assert_allclose(run.energy, run.energy[0], atol=1e-9)
    with pytest.raises(da.MassMatrixError, match=r"indefinite.*formulation=da.Multipliers\(\)`"):
        da.simulate(system, (1, 0.5, 0.3), (-0.21, 0.7, 0.2), (0, 1))


def test_bead_on_a_wire_with_friction_from_the_ideal_force() -> None:
    """Theory, 7.6: wire z = x², μ = 0.2, unit mass, C = −μ|N| q̇/|q̇| with N the size of the ideal force."""
    mu = da.parameters("mu")
    normal = sp.sqrt(da.ideal_force(x) ** 2 + da.ideal_force(z) ** 2)
    speed = sp.sqrt(xd**2 + zd**2)
    law = (-mu * normal * xd / speed, -mu * normal * zd / speed)
    bead = da.System((x, z), sp.eye(2), (0, -g), da.Constraint(z - x**2, name="wire"), law)
    run = da.simulate(bead, (-1, 1), (0.5, -1), (0, 0.5), parameters={"mu": 0.2, "g": 9.81}, rtol=1e-11)
    assert run["x"][-1] == pytest.approx(-0.08829871, abs=5e-9)
    assert run.qd[-1, 0] == pytest.approx(3.508493, abs=5e-7)


def test_force_proportional_to_the_ideal_one_has_no_effect() -> None:
    """[N, remark 5]: the paper's third law, taken literally, does nothing."""
    ideal = pendulum()
    same = da.System(ideal.coordinates, ideal.mass_matrix, ideal.applied_force, ideal.constraints, da.Proportional(3))
    point = da.motion(same, (0.6, -0.8), (0.8, 0.6), parameters={"g": 9.81})
    assert np.abs(point.nonideal_force).max() < 1e-14
    assert np.abs(point.nonideal).max() > 1
    np.testing.assert_allclose(
        point.acceleration, da.motion(ideal, (0.6, -0.8), (0.8, 0.6), parameters={"g": 9.81}).acceleration, atol=1e-14
    )


def test_geometry_of_constrained_motion() -> None:
    """[N-18 … N-24]: scaled accelerations split into two orthogonal parts, N(aₛ + cₛ) and B⁺b."""
    rng = np.random.default_rng(18)
    M, A = np.diag([1.0, 4.0, 9.0]), rng.normal(size=(2, 3))
    Q, C, b = rng.normal(size=3), rng.normal(size=3), rng.normal(size=2)
    point = da.constrained_motion(M, Q, A, b, C)
    half = np.sqrt(M)
    B = A @ np.linalg.inv(half)
    N = np.eye(3) - np.linalg.pinv(B) @ B
    scaled = half @ point.acceleration
    one, two = N @ np.linalg.solve(half, Q + C), np.linalg.pinv(B) @ b
    np.testing.assert_allclose(scaled, one + two, atol=1e-13)
    assert abs(one @ two) < 1e-13


def test_singular_mass() -> None:
    """Udwadia & Phohomsiri 2006: a massless coordinate tied to a heavy one by a rheonomic constraint."""
    m = da.parameters("m")
    system = da.System((x, y), sp.diag(m, 0), (1, 2), da.Constraint(y - x - da.t**2, name="tie"))
    point = da.motion(system, (0, 0), (0, 0), parameters={"m": 3}, formulation=da.SingularMass())
    np.testing.assert_allclose(point.acceleration, [1, 3], atol=1e-14)  # 3ẍ = 1 + 2, ÿ = ẍ + 2
    np.testing.assert_allclose(point.constraint_force, [2, -2], atol=1e-14)
    assert point.free_acceleration is None
    assert point.gauss is None
    both = da.motion(system, (0, 0), (0, 0), parameters={"m": 3}, formulation=da.Multipliers())
    np.testing.assert_allclose(both.acceleration, point.acceleration, atol=1e-14)
    run = da.simulate(
        system, (0, 0), (0, 0), (0, 1, 2), parameters={"m": 3}, formulation=da.SingularMass(), rtol=1e-12, atol=1e-12
    )
    np.testing.assert_allclose(run["x"], run.t**2 / 2, atol=1e-12)
    np.testing.assert_allclose(run["y"], 1.5 * run.t**2, atol=1e-12)
