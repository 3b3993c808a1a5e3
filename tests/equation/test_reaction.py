"""Friction by the actual reaction: the absolute-value equation, Painlevé's rod, several contacts."""

import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.equation.painleve import critical_coefficients
from dalembert.equation.reaction import Normals, signs, solve_absolute
from dalembert.gallery.friction_cases import painleve_system
from helpers import ALL_FORMULATIONS, label

NUMBERS = {"m": 1.3, "l": 0.7, "g": 9.81}


def by_hand(G: np.ndarray, u0: np.ndarray) -> list[np.ndarray]:
    """All solutions of u − G|u| = u₀, sign by sign."""
    found = []
    for sigma in signs(len(u0)):
        u = np.linalg.solve(np.eye(len(u0)) - G * sigma, u0)
        if (sigma * u > 0).all():
            found.append(u)
    return found


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_all_solutions_are_counted_and_the_only_one_is_found(k: int) -> None:
    rng = np.random.default_rng(k)
    G, u0 = rng.normal(size=(300, k, k)), rng.normal(size=(300, k))
    u, solutions = jax.jit(jax.vmap(solve_absolute))(jnp.asarray(G), jnp.asarray(u0))
    counts = [len(by_hand(*problem)) for problem in zip(G, u0, strict=True)]
    np.testing.assert_array_equal(solutions, counts)
    assert {0, 1, 2} <= set(counts)
    one = np.array(counts) == 1
    residual = u - np.einsum("bij,bj->bi", G, np.abs(u)) - u0
    assert np.abs(residual[one]).max() < 1e-11
    assert np.isnan(u[~one]).all()


def test_small_friction_always_has_one_solution_even_at_a_vanishing_normal_force() -> None:
    """Every row sum of |G| below one: a contraction."""
    rng = np.random.default_rng(0)
    G = rng.uniform(-0.3, 0.3, size=(200, 3, 3))
    u0 = rng.normal(size=(200, 3)) * rng.choice([0.0, 1e-18, 1.0], size=(200, 3))
    u, solutions = jax.jit(jax.vmap(solve_absolute))(jnp.asarray(G), jnp.asarray(u0))
    assert (np.asarray(solutions) == 1).all()
    np.testing.assert_allclose(u - np.einsum("bij,bj->bi", G, np.abs(u)), u0, atol=1e-15)


def test_a_contact_that_presses_has_no_second_solution_that_pulls() -> None:
    """u − G |u| = 1: for G < −1 a negative u solves it as well; for G > 1 there is none, or with −1 an open contact."""
    for G, u0, expected, count in ((-3.0, 1.0, 0.25, 1), (3.0, 1.0, np.nan, 0), (3.0, -1.0, np.nan, 2)):
        u, solutions = solve_absolute(np.array([[G]]), np.array([u0]), (True,))
        assert solutions == count
        np.testing.assert_allclose(u, [expected])
    assert solve_absolute(np.array([[-3.0]]), np.array([1.0]))[1] == 2
    # beside a force of either sign, which keeps its own
    G, u0 = np.array([[-3.0, 0.1], [0.2, 0.3]]), np.array([-1.0, -2.0])
    u, solutions = solve_absolute(G, u0, (True, False))
    np.testing.assert_allclose(u - G @ np.array([u[0], abs(u[1])]), u0)
    assert solutions == 1 and (u < 0).all()


def test_critical_coefficients_of_coupled_contacts() -> None:
    """The limit for one contact, the others as they are; for all together where no single one is to blame."""
    coupled = Normals(jnp.zeros(2), jnp.array(2), jnp.array([[0.0, 2], [2, 0]]), jnp.ones(2), jnp.array([0.4, 0.6]))
    np.testing.assert_allclose(critical_coefficients(coupled), [0.1, 0.15])
    both = coupled._replace(coupling=jnp.diag(jnp.array([2.0, 4.0])))
    np.testing.assert_allclose(critical_coefficients(both), [0.1, 0.15])
    apart = coupled._replace(coupling=jnp.diag(jnp.array([0.5, 2.0])))
    np.testing.assert_allclose(critical_coefficients(apart), [np.inf, 0.3])


def critical(angle: float) -> float:
    """Painlevé's critical coefficient of a slender uniform rod, from its textbook equations."""
    return (1 + 3 * np.cos(angle) ** 2) / (3 * np.sin(angle) * np.cos(angle))


def rod_state(angle: float, slip: float, rate: float) -> tuple[list[float], list[float]]:
    length = NUMBERS["l"]
    q = [0.3, length * np.sin(angle), angle]
    return q, [slip - length * np.sin(angle) * rate, length * np.cos(angle) * rate, rate]


def test_critical_coefficient_is_least_at_four_thirds() -> None:
    angles = np.linspace(0.01, np.pi / 2 - 0.01, 100_001)
    assert abs(min(critical(angles)) - 4 / 3) < 1e-8
    q, qd = rod_state(np.arctan(2.0), 1.0, 0.0)
    with pytest.raises(da.PainleveError) as caught:
        da.motion(painleve_system(), q, qd, parameters=NUMBERS | {"mu": 1.334})
    assert abs(caught.value.critical_mu - 4 / 3) < 1e-12


def test_painleve_is_detected_on_the_right_side_at_200_points() -> None:
    """And the explicit law of the ideal normal force never notices."""
    rng = np.random.default_rng(1895)
    rods = {normal: painleve_system(normal) for normal in ("actual", "ideal")}
    seen = {0: 0, 1: 0, 2: 0}
    for _ in range(200):
        angle, mu = rng.uniform(0.05, np.pi / 2 - 0.05), rng.uniform(0.1, 5)
        q, qd = rod_state(angle, rng.choice([-1, 1]) * rng.uniform(0.1, 3), rng.normal())
        numbers = NUMBERS | {"mu": mu}
        point = da.motion(rods["actual"], q, qd, parameters=numbers, throw=False)
        solutions = int(point.normals.solutions)
        seen[solutions] += 1
        assert (solutions == 1) == (mu < critical(angle))
        if solutions == 1:
            da.motion(rods["actual"], q, qd, parameters=numbers)
        else:
            with pytest.raises(da.PainleveError, match=r"Painlevé's paradox.*`floor`") as caught:
                da.motion(rods["actual"], q, qd, parameters=numbers)
            np.testing.assert_allclose(caught.value.critical_mu, critical(angle), rtol=1e-12)
            assert caught.value.constraint == "floor"
        ideal = da.motion(rods["ideal"], q, qd, parameters=numbers)
        N = float(ideal.multipliers[0])  # of the rod without friction
        slip = np.sign(qd[0] + NUMBERS["l"] * np.sin(angle) * qd[2])
        np.testing.assert_allclose(ideal.nonideal[0], -mu * abs(N) * slip, atol=1e-11)
    assert min(seen.values()) >= 20


def test_reaction_against_newtons_equations_of_the_rod() -> None:
    """N (1 + 3 cos²θ + 3μ s sin θ cos θ) = m (g − lθ̇² sin θ), s the direction of sliding, while N > 0."""
    m, length, g, mu = 1.3, 0.7, 9.81, 1.1
    for angle, slip, rate in ((1.0, 2.0, 0.5), (1.2, -1.0, -0.7), (0.4, 0.3, 1.0)):
        q, qd = rod_state(angle, slip, rate)
        point = da.motion(painleve_system(), q, qd, parameters=NUMBERS | {"mu": mu})
        sine, cosine, way = np.sin(angle), np.cos(angle), np.sign(slip)
        N = m * (g - length * rate**2 * sine) / (1 + 3 * cosine**2 + 3 * mu * way * sine * cosine)
        assert N > 0
        np.testing.assert_allclose(point.normals.forces, [N], rtol=1e-12)
        np.testing.assert_allclose(point.acceleration[:2], [-mu * N * way / m, N / m - g], rtol=1e-11)


@pytest.mark.parametrize("formulation", ALL_FORMULATIONS, ids=label)
def test_ladder_with_friction_at_both_ends(formulation: da.Factored) -> None:
    """A rod on floor and wall, both rough: two contacts coupled by two reactions, against Newton's equations."""
    x, y, theta = da.coordinates("x y theta")
    xd, yd, rate = (q.diff(da.t) for q in (x, y, theta))
    sine, cosine = sp.sin(theta), sp.cos(theta)
    floor = da.Constraint(
        y - sine,
        name="floor",
        nonideal=da.Coulomb(0.3, xd - sine * rate, da.multiplier("floor"), "actual"),
    )
    wall = da.Constraint(
        x - cosine,
        name="wall",
        nonideal=da.Coulomb(0.2, yd + cosine * rate, da.multiplier("wall"), "actual"),
    )
    # the foot is at (x + cos θ, 0), the top at (0, y + sin θ)
    ladder = da.System((x, y, theta), sp.diag(1, 1, sp.Rational(1, 3)), (0, -10, 0), (floor, wall))
    angle, turn = 0.9, -0.8
    s, c = np.sin(angle), np.cos(angle)
    q, qd = (c, s, angle), (-s * turn, c * turn, turn)
    point = da.motion(ladder, q, qd, formulation=formulation)
    F, W = point.normals.forces
    assert F > 0
    assert W > 0
    foot, top = np.sign(-2 * s * turn), np.sign(2 * c * turn)
    # forces: at the foot (−0.3 F foot, F), at the wall (W, −0.2 W top)
    force = np.array([-0.3 * F * foot + W, F - 0.2 * W * top - 10])
    moment = c * F - (-s) * (-0.3 * F * foot)  # foot at (c, −s) from the centre
    moment += (-c) * (-0.2 * W * top) - s * W  # top at (−c, s)
    # θ runs clockwise
    np.testing.assert_allclose(point.acceleration, [*force, -3 * moment], atol=1e-11)


def test_a_run_does_not_start_in_the_paradox() -> None:
    q, qd = rod_state(np.arctan(2.0), 1.0, 0.0)
    with pytest.raises(da.PainleveError, match=r"at t = 2, .*there are 2.*critical there is 1.33333"):
        da.simulate(painleve_system(), q, qd, (2, 3), parameters=NUMBERS | {"mu": 1.4})


def test_a_run_that_meets_the_paradox_says_so_and_keeps_the_motion() -> None:
    """The rod falls onto angles where its coefficient is past the critical one."""
    numbers = NUMBERS | {"mu": 1.4}
    angle = 1.45
    assert critical(angle) > 1.4
    q, qd = rod_state(angle, 6.0, -2.0)
    with pytest.raises(da.PainleveError, match="critical there is") as caught:
        da.simulate(painleve_system(), q, qd, np.linspace(0, 1, 101), parameters=numbers)
    error = caught.value
    assert error.trajectory is not None
    assert len(error.trajectory) > 1
    assert abs(error.critical_mu - 1.4) < 1e-2
    np.testing.assert_array_equal(error.state["q"], error.trajectory.q[-1])
    np.testing.assert_allclose(error.critical_mu, critical(error.state["q"][2]), rtol=1e-9)
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert again.constraint == "floor"
