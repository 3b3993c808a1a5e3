"""Nonlinear springs: their motion against quadratures and closed forms, their energy, and what is refused."""

import numpy as np
import pytest
import sympy as sp
from scipy.special import ellipj

import dalembert as da

EXACT = {"rtol": 1e-12, "atol": 1e-13}
O2 = da.ground.at(0, 0)
A = da.PlanarBody("a", 1, 1)
PIN = da.Revolute("pin", O2, A)


def test_a_cubic_spring_makes_duffings_oscillator():
    """ẍ + 4 x + 30 x³ = 0 from rest, by Jacobi's cosine; the motion stays on one line."""
    size, k, c = 0.5, 4.0, 30.0
    bead = da.Particle("bead", 1, (2 + size, 0))
    spring = da.Spring(O2, bead, length=2, force=lambda e: k * e + c * e**3)
    mechanism = da.Mechanism(bead, (), spring)
    run = da.simulate(mechanism.system, *mechanism.assemble(), np.linspace(0, 5, 26), **EXACT)
    rate = np.sqrt(k + c * size**2)
    _, cosine, _, _ = ellipj(rate * run.t, c * size**2 / (2 * rate**2))
    np.testing.assert_allclose(run["x_bead"], 2 + size * cosine, atol=1e-10)
    np.testing.assert_allclose(run.evaluate(spring.extension), size * cosine, atol=1e-10)
    assert run.energy[0] == pytest.approx(k * size**2 / 2 + c * size**4 / 4)
    np.testing.assert_allclose(run.energy, run.energy[0], atol=1e-11)


def test_the_ledger_has_the_work_of_the_damper_of_a_nonlinear_spring():
    bead = da.Particle("bead", 2, (1.4, 0), velocity=(0.3, 0.5))
    k = da.parameters("k")
    spring = da.Spring(O2, bead, length=1, damping=0.4, force=lambda e: k * sp.sinh(3 * e))
    mechanism = da.Mechanism(bead, (), spring)
    run = da.simulate(
        mechanism.system, *mechanism.assemble(parameters={"k": 5}), np.linspace(0, 2, 21), parameters={"k": 5}, **EXACT
    )
    ledger = run.ledger()
    np.testing.assert_allclose(ledger.work.sum(axis=1), ledger.energy - ledger.energy[0], atol=1e-9)
    extension = np.hypot(run["x_bead"], run["y_bead"]) - 1
    kinetic = np.sum(run.qd**2, axis=1)
    np.testing.assert_allclose(run.energy, kinetic + 5 * (np.cosh(3 * extension) - 1) / 3, atol=1e-10)
    assert run.energy[-1] < run.energy[0]


def test_a_torsion_spring_with_a_sine_is_a_pendulum():
    """J θ̈ = −5 sin θ, as a pendulum without gravity."""
    wheel = da.PlanarBody("wheel", 1, 2.0, angle=0.0, spin=1.5)
    pin = da.Revolute("pin", O2, wheel)
    mechanism = da.Mechanism(wheel, pin, da.TorsionSpring(pin, torque=lambda a: 5 * sp.sin(a)))
    run = da.simulate(mechanism.system, *mechanism.assemble(), np.linspace(0, 4, 11), **EXACT)
    np.testing.assert_allclose(run.qd[:, 2] ** 2, 1.5**2 - 5 * (1 - np.cos(run["theta_wheel"])), atol=1e-9)
    np.testing.assert_allclose(run.energy, run.energy[0], atol=1e-11)


def test_a_bump_stop_has_an_integral():
    """A force that begins at a clearance of 0.1 and grows with the square of the rest; and one by ``Max``."""
    stop = lambda e: sp.Piecewise((0, e < 0.1), (1000 * (e - 0.1) ** 2, True))  # noqa: E731
    spring = da.Spring(O2, A, length=1, force=stop)
    energy = spring.potential((A,))
    at = lambda x: float(energy.subs({A.coordinates[0]: x, A.coordinates[1]: 0}))  # noqa: E731
    assert [at(0.9), at(1.05)] == [0, 0]
    assert at(1.3) == pytest.approx(1000 * 0.2**3 / 3)
    law = da.Spring(O2, A, length=1, force=lambda e: 50 * e + 800 * sp.Max(0, e - 0.1)).potential((A,))
    assert float(law.subs({A.coordinates[0]: 1.3, A.coordinates[1]: 0})) == pytest.approx(25 * 0.3**2 + 400 * 0.2**2)


def test_a_given_energy_is_compared_with_the_force():
    law = lambda e: 3 * sp.Abs(e) * e  # noqa: E731
    spring = da.Spring(O2, A, force=law, potential_energy=lambda e: sp.Abs(e) ** 3)
    assert float(spring.potential((A,)).subs({A.coordinates[0]: 2, A.coordinates[1]: 0})) == 8


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: da.Spring(O2, A), "a spring must be given its `stiffness`, or its `force` as a function; got neither"),
        (lambda: da.Spring(O2, A, 1, force=lambda e: e), "or its `force` as a function; got both"),
        (
            lambda: da.TorsionSpring(PIN),
            "a torsion spring must be given its `stiffness`, or its `torque` as a function",
        ),
        (lambda: da.Spring(O2, A, 1, potential_energy=lambda e: e), "with a `stiffness` has its energy; leave out"),
        (lambda: da.Spring(O2, A, force=3), "`force of a spring` must be a function, such as `lambda e: 100 * e"),
        (
            lambda: da.Spring(O2, A, force=lambda e: None),
            "`force of a spring` must be a finite number or an expression",
        ),
        (
            lambda: da.Spring(O2, A, force=lambda: 1),
            "must be a function of one number, with SymPy's functions; it fails",
        ),
        (lambda: da.Spring(O2, A, force=lambda e: e * da.t), "`force of a spring` must be of numbers and parameters"),
        (
            lambda: da.Spring(O2, A, force=lambda e: sp.exp(sp.sin(e))),
            "the `force` of a spring must have an integral from zero in elementary functions; none was found. Give its",
        ),
        (
            lambda: da.Spring(O2, A, force=lambda e: 1 / e),
            "the `force` of a spring must have an integral from zero in elementary functions",
        ),
        (
            lambda: da.TorsionSpring(PIN, torque=lambda a: 2 * a, potential_energy=lambda a: 2 * a**2),
            "`potential_energy` of a torsion spring must have the `torque` as its derivative; they differ by",
        ),
    ],
)
def test_refused(make, message):
    with pytest.raises(da.ModelError) as refusal:
        make()
    assert message in str(refusal.value)
