"""First integrals that the projection conserves, beside closed forms, accurate runs and NumPy's shortest change."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp
from scipy.optimize import brentq

import dalembert as da
from dalembert.integration.drift import NoCure
from dalembert.model.first_integrals import conserving

t = da.t
CONSERVE = da.Projection(conserve="energy")
X = da.coordinates("x1 y1 x2 y2")
START = np.array([np.sin(2), -np.cos(2), np.sin(2) + np.sin(1), -np.cos(2) - np.cos(1)])


def joint_pendulum():
    """A double pendulum in its angles."""
    a, b = da.coordinates("a b")
    bobs = (sp.sin(a), -sp.cos(a), sp.sin(a) + sp.sin(b), -sp.cos(a) - sp.cos(b))
    kinetic = sum(e.diff(t) ** 2 for e in bobs) / 2
    return da.System.from_lagrangian(kinetic - 9.81 * (bobs[1] + bobs[3]), (a, b))


def cartesian_pendulum():
    """The same with two rods."""
    x1, y1, x2, y2 = X
    lagrangian = sum(e.diff(t) ** 2 for e in X) / 2 - 9.81 * (y1 + y2)
    rods = (
        da.Constraint(x1**2 + y1**2 - 1, name="upper"),
        da.Constraint((x2 - x1) ** 2 + (y2 - y1) ** 2 - 1, name="lower"),
    )
    return da.System.from_lagrangian(lagrangian, X, constraints=rods)


def cartesian_energy(q, qd):
    return (qd**2).sum(axis=-1) / 2 + 9.81 * (q[..., 1] + q[..., 3])


x, y, z = da.coordinates("x y z")
MOMENTUM = x * y.diff(t) - y * x.diff(t)


def kepler():
    return da.System.from_lagrangian((x.diff(t) ** 2 + y.diff(t) ** 2) / 2 + 1 / sp.sqrt(x**2 + y**2), (x, y))


def kepler_at(times, e):
    """The closed form from perihelion, by Kepler's equation."""
    anomaly = np.array([brentq(lambda E, M=M: E - e * np.sin(E) - M, M - 1, M + 1, xtol=1e-15) for M in times])
    return np.stack([np.cos(anomaly) - e, np.sqrt(1 - e**2) * np.sin(anomaly)], axis=1)


@pytest.mark.parametrize("coordinates", ["angles", "rods"])
def test_the_energy_of_a_double_pendulum_is_kept_to_rounding(coordinates):
    system, q0 = (joint_pendulum(), (2, 1)) if coordinates == "angles" else (cartesian_pendulum(), START)
    times = np.linspace(0, 500, 501)
    run, plain = (da.simulate(system, q0, np.zeros(len(q0)), times, drift=d) for d in (CONSERVE, da.Projection()))
    energy = run.energy if coordinates == "angles" else cartesian_energy(run.q, run.qd)
    assert abs(energy / energy[0] - 1).max() < 1e-12
    assert abs(plain.energy / plain.energy[0] - 1).max() > 1e-8
    assert abs(run.violation).max(initial=0) < 1e-12 > abs(run.velocity_violation).max(initial=0)
    assert run.statistics["program"] == "machine code"
    assert run.notes == (
        "The projection keeps `energy` at the initial value, so that the error of the integration does not show there.",
    )


@pytest.mark.parametrize(("system", "q0"), [(joint_pendulum(), (2, 1)), (cartesian_pendulum(), START)])
def test_the_motion_is_as_accurate_as_without(system, q0):
    times = np.linspace(0, 3, 13)
    exact = da.simulate(system, q0, np.zeros(len(q0)), times, rtol=1e-13, atol=1e-15)
    run, plain = (da.simulate(system, q0, np.zeros(len(q0)), times, drift=d) for d in (CONSERVE, da.Projection()))
    off, usual = (np.hypot(r.q - exact.q, r.qd - exact.qd).max() for r in (run, plain))
    assert off < 2 * usual < 1e-6


def test_energy_and_angular_momentum_of_an_orbit_beside_its_closed_form():
    """The period depends on the energy alone, so that conservation makes a long orbit more accurate."""
    e, times = 0.6, np.linspace(0, 600, 1201)
    start = (1 - e, 0), (0, np.sqrt((1 + e) / (1 - e)))
    both = da.Projection(conserve=("energy", MOMENTUM))
    run, plain = (da.simulate(kepler(), *start, times, drift=drift) for drift in (both, da.Projection()))
    momentum = run["x"] * run.qd[:, 1] - run["y"] * run.qd[:, 0]
    energy = (run.qd**2).sum(axis=1) / 2 - 1 / np.hypot(*run.q.T)
    assert abs(momentum - np.sqrt(1 - e**2)).max() < 1e-14
    assert abs(energy + 0.5).max() < 1e-13
    off, usual = (abs(r.q - kepler_at(times, e)).max() for r in (run, plain))
    assert off < usual / 10


def test_gradients_that_depend_on_one_another():
    """On a circular orbit dE = ω dp: the two gradients are parallel, and an integral given twice is so everywhere."""
    times = np.linspace(0, 100, 41)
    for conserve in (("energy", MOMENTUM), ("energy", "energy"), (MOMENTUM, 2 * MOMENTUM, "energy")):
        run = da.simulate(kepler(), (1, 0), (0, 1), times, drift=da.Projection(conserve=conserve))
        np.testing.assert_allclose(run.q, np.stack([np.cos(times), np.sin(times)], axis=1), rtol=0, atol=1e-6)
        assert abs(run.energy + 0.5).max() < 1e-14


def test_constraints_and_a_linear_integral_together():
    """A spherical pendulum conserves its energy and its angular momentum about the vertical."""
    lagrangian = sum(u.diff(t) ** 2 for u in (x, y, z)) / 2 - 9.81 * z
    system = da.System.from_lagrangian(lagrangian, (x, y, z), constraints=da.Constraint(x**2 + y**2 + z**2 - 1))
    drift = da.Projection(conserve=("energy", MOMENTUM))
    run = da.simulate(system, (0.6, 0, -0.8), (0, 0.5, 0), np.linspace(0, 300, 301), drift=drift)
    energy = (run.qd**2).sum(axis=1) / 2 + 9.81 * run["z"]
    assert abs(energy - energy[0]).max() < 1e-12 * 9.81
    assert abs(run["x"] * run.qd[:, 1] - run["y"] * run.qd[:, 0] - 0.3).max() < 1e-13
    assert max(abs(run.violation).max(), abs(run.velocity_violation).max()) < 1e-12


@pytest.mark.parametrize("amplitude", [1e-2, 1e-5, 1e-8])
def test_rounding_of_the_energy_does_not_move_small_oscillations(amplitude):
    """cos θ resolves an amplitude of 1e-8 no more: corrections would be as large as the motion."""
    lagrangian = x.diff(t) ** 2 / 2 + 9.81 * sp.cos(x)
    pendulum = da.System.from_lagrangian(lagrangian, (x,))
    times = np.linspace(0, 100, 101)
    run, plain = (da.simulate(pendulum, (amplitude,), (0,), times, drift=d) for d in (CONSERVE, da.Projection()))
    exact = da.simulate(pendulum, (amplitude,), (0,), times, rtol=1e-13, atol=1e-13 * amplitude)
    off, usual = (abs(r.q - exact.q).max() for r in (run, plain))
    assert off < 1.5 * usual < 1e-6 * amplitude


def skewed(q, qd):
    return qd[0] * q[3] + q[2] ** 2 * qd[1]


@pytest.mark.parametrize(
    ("integral", "value"), [("energy", cartesian_energy), (skewed(X, [u.diff(t) for u in X]), skewed)]
)
def test_the_change_is_the_shortest_one_on_the_constraints(integral, value):
    """Beside NumPy: in an orthonormal basis Z of the tangent space, δq = τ Z u and δq̇ = Z w with the least u² + w².

    Unlike the energy, the other function changes with the part of q̇ that follows δq along the constraints.
    """
    system = conserving(cartesian_pendulum(), (integral,))
    native = da.build(system).native
    assert native is not None
    q = START
    A = native.terms(q, q, 0.0, np.zeros(2))[2]
    Z = np.linalg.svd(A)[2][2:].T
    qd, scale = Z @ [0.7, -1.1], 0.3

    def on_constraints(u, w):
        """The state at coordinates (u, w) of the tangent space."""
        state = da.consistent_state(cartesian_pendulum(), q + scale * Z @ u, qd)
        near = da.consistent_state(cartesian_pendulum(), state.q, state.qd + Z @ w)
        return np.concatenate(near)

    h = 1e-5
    slopes = np.array(
        [
            value(*np.split(on_constraints(*np.split(d, 2)), 2)) - value(*np.split(on_constraints(*np.split(-d, 2)), 2))
            for d in h * np.eye(4)
        ]
    ) / (2 * h)
    miss = 1e-6
    names = dict(zip(system.conserved.parameters, (value(q, qd) + miss, scale), strict=True))
    p = np.array([names[name] for name in system.parameter_names])
    moved = native.engine((0, 1), 2, None, False, da.native.dormand_prince.DORMAND_PRINCE).projected(
        np.concatenate([q, qd]), 0.0, p
    )
    expected = miss * slopes / (slopes @ slopes)
    change_q, change_qd = np.split(moved, 2) - np.array([q, qd])
    np.testing.assert_allclose(Z.T @ change_q / scale, expected[:2], rtol=0, atol=1e-6 * miss)
    np.testing.assert_allclose(Z.T @ change_qd, expected[2:], rtol=0, atol=1e-6 * miss)
    assert value(*np.split(moved, 2)) == pytest.approx(value(q, qd) + miss, abs=1e-13)


def test_another_start_compiles_nothing():
    system = joint_pendulum()
    first = da.simulate(system, (2, 1), (0, 0), [0, 1], drift=CONSERVE)
    native = da.build(conserving(system, ("energy",))).native
    assert native is not None
    before = native.engine.cache_info().misses  # pyright: ignore
    other = da.simulate(system, (1, 1), (0.5, 0), [0, 1], drift=CONSERVE)
    assert native.engine.cache_info().misses == before == 1  # pyright: ignore
    assert other.energy == pytest.approx(other.energy[0], rel=1e-14)
    assert first.energy[0] != other.energy[0]


def test_parameters_and_ledger_are_those_of_the_system():
    g = da.parameters("g")
    pendulum = da.System.from_lagrangian(x.diff(t) ** 2 / 2 + g * sp.cos(x), (x,))
    run = da.simulate(pendulum, (2,), (0,), np.linspace(0, 20, 41), parameters={"g": 9.81}, drift=CONSERVE)
    assert run.parameters == {"g": 9.81}
    assert run.ledger().closure < 100
    assert not run.ledger().notes


def test_a_start_off_the_constraints_keeps_the_energy_of_the_projected_start():
    run = da.simulate(cartesian_pendulum(), 1.01 * START, np.zeros(4), [0, 1, 2], drift=CONSERVE, allow_violation=True)
    q, qd = da.consistent_state(cartesian_pendulum(), 1.01 * START, np.zeros(4))
    assert run.energy[1:] == pytest.approx(cartesian_energy(q, qd), rel=1e-13)
    assert abs(run.energy[0] - run.energy[1]) > 1e-2


def test_fixed_steps_keep_the_energy_as_well():
    """A step too long for the usual accuracy: without conservation the energy is lost."""
    options = {"q0": (2, 1), "qd0": (0, 0), "times": np.linspace(0, 50, 51), "step": 0.02}
    keep = da.Projection(conserve="energy", iterations=3)  # such a step leaves an error too large for two iterations
    run, plain = (da.simulate(joint_pendulum(), **options, drift=drift) for drift in (keep, None))
    assert abs(run.energy - run.energy[0]).max() < 1e-12
    assert abs(plain.energy - plain.energy[0]).max() > 1e-3


def test_members_of_an_ensemble_conserve_their_own_energies():
    q0 = np.array([[2.0, 1.0], [1.0, 0.5], [0.3, 0.2]])
    times = np.linspace(0, 100, 11)
    many = da.simulate_ensemble(joint_pendulum(), q0, (0, 0), times, drift=CONSERVE)
    plain = da.simulate_ensemble(joint_pendulum(), q0, (0, 0), times)

    def energy(run):
        a, b = np.moveaxis(run["q"].values, -1, 0)
        va, vb = np.moveaxis(run["qd"].values, -1, 0)
        kinetic = va**2 + vb**2 / 2 + va * vb * np.cos(a - b)
        return kinetic - 9.81 * (2 * np.cos(a) + np.cos(b))

    assert abs(energy(many) / energy(many)[:, :1] - 1).max() < 1e-12
    assert abs(energy(plain) / energy(plain)[:, :1] - 1).max() > 1e-9
    single = da.simulate(joint_pendulum(), q0[2], (0, 0), times, drift=CONSERVE)
    np.testing.assert_allclose(many["q"].values[2], single.q, rtol=0, atol=1e-9)


def test_a_user_s_own_cure_without_integrals_conserves_none():
    assert NoCure().integrals == () == da.Projection().integrals
    assert replace(CONSERVE, conserve=["energy", MOMENTUM]).integrals == ("energy", MOMENTUM)
