"""Published numbers beyond those that the cases of the gallery check themselves."""

import numpy as np
import pytest
import sympy as sp
from scipy.optimize import brentq

import dalembert as da
from dalembert.gallery import bicycle, iftomm, rolling_bodies
from dalembert.gallery.bodies import start_of


def first_sample(mechanism):
    """One state with its accelerations, by machine code."""
    return da.simulate(mechanism.system, *start_of(mechanism), [0, 1e-9], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("loops", [1, pytest.param(40, marks=pytest.mark.slow)])
def test_four_bar_windows_through_singular_positions_at_default_settings(loops):
    """IFToMM A02: against the motion of one angle; for N = 40 also the digits that we computed from it to 1e-13."""
    case = iftomm.four_bars("", "", loops)
    run = da.simulate(case.system, case.q0, case.qd0, [0, 10])
    np.testing.assert_allclose(run.q[-1, :2], iftomm._reduced_motion(loops, run.t)[-1], atol=1e-6)
    if loops == 40:
        np.testing.assert_allclose(run.q[-1, :2], (0.1805122266821, 0.9835727405832), atol=1e-6)


@pytest.mark.parametrize("state", [0, 1])
def test_rolling_disc_accelerations_of_sympy(state):
    angles, spin = rolling_bodies.DISC_STATES[state]
    run = first_sample(rolling_bodies.disc_mechanism(angles, spin))
    got = rolling_bodies.kane_rates(run, angles)
    np.testing.assert_allclose(got, rolling_bodies.DISC_PUBLISHED[state], atol=1e-12)


def test_rolling_disc_obeys_its_closed_form_at_random_states():
    rng = np.random.default_rng(3)
    for _ in range(20):
        angles, spin = rng.uniform(-1, 1, 3), rng.normal(scale=3, size=3)
        run = first_sample(rolling_bodies.disc_mechanism(angles, spin))
        assert np.abs(rolling_bodies.disc_imbalance(run)[:, 0]).max() < 1e-10


def test_rolling_disc_returns_from_a_steady_circle():
    lean, turn, r = 0.4, 2.5, rolling_bodies.DISC["radius"]
    roll = (turn**2 * np.tan(lean) - 4 * 9.81 / r * np.sin(lean)) / (6 * turn)
    mechanism = rolling_bodies.disc_mechanism((0, lean, 0), (0, roll, turn))
    period = 2 * np.pi * np.cos(lean) / turn
    run = da.simulate(mechanism.system, *start_of(mechanism), np.linspace(0, period, 5), rtol=1e-12, atol=1e-13)
    axle = mechanism.bodies[0].axes_along(run.q)[:, :, 1]
    np.testing.assert_allclose(run.q[-1, :3], run.q[0, :3], atol=1e-10)
    np.testing.assert_allclose(axle[-1], axle[0], atol=1e-10)
    assert np.abs(run.q[2, :2] - run.q[0, :2]).max() > 0.1


def test_an_upright_disc_is_stable_from_its_critical_spin_on():
    """SymPy's test_linearize: all eigenvalues vanish where spin² = g/(3r)."""
    r, g = rolling_bodies.DISC["radius"], 9.81
    mechanism = rolling_bodies.disc_mechanism((0, 0, 0), (0, 1, 0))
    q, qd = start_of(mechanism)
    disc = mechanism.bodies[0]
    axle, spin = sp.Matrix(disc.turn(sp.Matrix([0, 1, 0]))), sp.Matrix(disc.turning)
    outputs = {"lean": axle[2], "lean rate": spin.cross(axle)[2], "yaw rate": spin[2], "spin": spin.dot(axle)}
    for part in (0.5, 1.0, 2.0):
        fast = np.sqrt(part * g / (3 * r)) * np.array(qd)
        A = da.linearize(mechanism.system, q, fast, outputs=outputs).matrix
        square = 4 * g / (5 * r) * (1 - part)  # λ² of the two eigenvalues that are not zero
        np.testing.assert_allclose(np.poly(A), [1, 0, -square, 0, 0], atol=1e-10 * (1 + abs(square)))


def test_upright_disc_on_the_flat():
    """The circle of radius RΩ/ω, by the system of the rolling coin."""
    system = da.gallery.case("rolling-coin").system
    numbers = {"m": 1, "R": 0.3, "I": 0.02, "J": 0.01}
    run = da.simulate(system, (0, 0, 0, 0), (1.2, 0, 1.5, 4), [0, 5], parameters=numbers, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(run.q[-1], (0.750399981419791, 0.5226917457319793, 7.5, 20), atol=1e-10)


def test_appell_hamel():
    system = da.gallery.case("appell-hamel").system
    run = da.simulate(system, (0, 0, 0), (0.3, 0.4, -1), [0, 2], parameters={"g": 9.81, "k": 0.5})
    np.testing.assert_allclose(run.q[-1], (5.3088, 7.0784, -17.696), atol=1e-10)
    np.testing.assert_allclose(run.qd[-1], (5.0088, 6.6784, -16.696), atol=1e-10)


@pytest.fixture(scope="module")
def small_motions():
    """Roll and steer of the bicycle by its speed: matrices that are quadratic in it, from three linearisations."""
    mechanism = bicycle.bicycle_mechanism()
    q, qd = start_of(mechanism)
    outputs = bicycle.roll_and_steer(mechanism)

    def linearised(speed):
        return da.linearize(mechanism.system, q, speed * np.array(qd), outputs=outputs).matrix

    speeds = np.array([0.0, 5.0, 10.0])
    parts = np.tensordot(np.linalg.inv(np.vander(speeds)), np.stack([linearised(v) for v in speeds]), 1)
    return linearised, lambda speed: parts[0] * speed**2 + parts[1] * speed + parts[2]


def test_bicycle_has_the_published_linear_equations(small_motions):
    """Meijaard et al. 2007 and SymPy's test_kane3, from the nonlinear mechanism of four bodies."""
    linearised, at = small_motions
    np.testing.assert_allclose(linearised(7.0), at(7.0), atol=1e-10)
    for speed in (0, 1, 4.292, 5, 7, 10):
        np.testing.assert_allclose(at(speed), bicycle.published_matrix(speed), atol=1e-10)
        np.testing.assert_allclose(at(speed)[2:], bicycle.sympy_rows(speed), atol=1e-10)


def test_bicycle_has_the_published_eigenvalues(small_motions):
    _, at = small_motions
    for speed, published in enumerate(bicycle.EIGENVALUES):
        got = bicycle.both_of_each_pair(np.linalg.eigvals(at(speed)))
        np.testing.assert_allclose(got, bicycle.both_of_each_pair(published), atol=1e-10)


def test_bicycle_has_the_published_critical_speeds(small_motions):
    _, at = small_motions

    speed = brentq(lambda v: bicycle.weave(at(v)).real, 3, 5, xtol=1e-14)
    assert speed == pytest.approx(bicycle.WEAVE_SPEED, abs=1e-10)
    assert bicycle.weave(at(speed)).imag == pytest.approx(bicycle.WEAVE_FREQUENCY, abs=1e-10)
    capsize = brentq(lambda v: np.linalg.det(at(v)), 5.5, 7, xtol=1e-14)
    assert capsize == pytest.approx(bicycle.CAPSIZE_SPEED, abs=1e-10)


def test_bicycle_has_the_published_double_eigenvalue(small_motions):
    _, at = small_motions
    speed = brentq(lambda v: bicycle.meeting(at(v))[0], 0.6, 0.8, xtol=1e-14)
    assert speed == pytest.approx(bicycle.BIFURCATION_SPEED, abs=1e-10)
    assert bicycle.meeting(at(speed))[1] == pytest.approx(bicycle.BIFURCATION_EIGENVALUE, abs=1e-10)


@pytest.mark.slow  # some two hundred events
def test_slider_that_does_not_turn_moves_as_a_pin_in_a_slot():
    """The two corners of a side share one load: the same motion has one contact for each side, and two coordinates."""
    a, b = da.coordinates("a b")
    crank, rod = 0.153, 0.306
    pin = sp.Matrix([crank * sp.cos(a) + rod * sp.cos(b), crank * sp.sin(a) + rod * sp.sin(b)])
    middle = pin - rod / 2 * sp.Matrix([sp.cos(b), sp.sin(b)])
    va, vb, v, w = (p.diff(da.t) for p in (a, b, pin, middle))
    kinetic = ((7.4e-5 + 0.038 * crank**2 / 4) * va**2 + 5.9e-4 * vb**2 + 0.038 * w.dot(w) + 0.076 * v.dot(v)) / 2
    height = 0.038 * crank / 2 * sp.sin(a) + 0.038 * middle[1] + 0.076 * pin[1]
    sides = [
        da.Constraint(
            sp.Ge(0.001 - side * pin[1], 0),
            name=name,
            restitution=0.4,
            impact="moreau",
            nonideal=da.Coulomb(0.01, velocity=v[0], normal_force=da.multiplier(name)),
        )
        for name, side in (("upper", 1), ("lower", -1))
    ]
    simple = da.System.from_lagrangian(kinetic - 9.81 * height, (a, b), constraints=sides)
    times = np.linspace(0, 0.2, 21)
    expected = da.simulate(simple, (0, 0), (150, -75), times, rtol=1e-11)
    run = da.gallery.case("slider-clearance").simulate(times=times)
    np.testing.assert_allclose(run["theta_crank"], expected["a"], atol=2e-9)
    np.testing.assert_allclose(run["theta_rod"], expected["b"], atol=2e-9)
