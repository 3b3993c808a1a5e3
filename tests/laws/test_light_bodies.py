"""A light coordinate tied to a heavy one moves with it, however light it is and in whatever units."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da

x, y = da.coordinates("x y")


def tied(mass: float, unit: float = 1.0) -> da.System:
    """x = u y, masses 1 and m u², forces 1 and u: both are accelerated as one body of mass 1 + m by a force of 2."""
    M = sp.diag(1, sp.Float(mass * unit**2))
    return da.System((x, y), M, (1, unit), da.Constraint(x - sp.Float(unit) * y, name="tie"))


@pytest.mark.parametrize("unit", [1.0, 1e-6, 1e6])
@pytest.mark.parametrize("mass", [1e-6, 1e-9, 1e-12, 1e-16, 1e-20])
def test_all_verbs_agree_on_a_tied_light_mass(mass: float, unit: float) -> None:
    system, a = tied(mass, unit), 2 / (1 + mass)
    expected = np.array([a, a / unit])
    M, A = np.diag([1, mass * unit**2]), [[1, -unit]]
    np.testing.assert_allclose(da.constrained_motion(M, [1, unit], A, [0]).acceleration, expected, rtol=1e-12)
    np.testing.assert_allclose(da.motion(system, (0, 0), (0, 0)).acceleration, expected, rtol=1e-12)
    run = da.simulate(system, (0, 0), (0, 0), [0, 1])
    np.testing.assert_allclose(run.q[-1], expected / 2, rtol=1e-12)
    np.testing.assert_allclose(run.acceleration[-1], expected, rtol=1e-9)
    np.testing.assert_allclose(run.multipliers[-1], a - 1, rtol=1e-12)
    assert run.statistics["steps"] < 20
    assert da.check(system).findings


def test_members_of_an_ensemble_with_a_light_mass() -> None:
    many = da.simulate_ensemble(tied(1e-16), (0, 0), np.zeros((3, 2)), [0, 1])
    np.testing.assert_allclose(many["q"].values[:, -1], 1.0, rtol=1e-12)
    assert many.attrs["handed_over"] == 0


def test_a_light_body_under_friction() -> None:
    """A mass of 1e-14 tied to one of 2 that slides on a floor with μ = 0.2, and pushed by a force of 1."""
    a, b, c = da.coordinates("a b c")
    floor = da.Constraint(c, name="floor", nonideal=da.Coulomb(0.2, velocity=(a.diff(da.t),)))
    tie = da.Constraint(a - b, name="tie")
    pair = da.System((a, b, c), sp.diag(2, sp.Float(1e-14), 2), (3, 1, -10), [floor, tie])
    run = da.simulate(pair, (0, 0, 0), (5, 5, 0), [0, 0.5])
    acceleration = (3 + 1 - 0.2 * 10) / 2
    np.testing.assert_allclose(run.q[-1, :2], 5 * 0.5 + acceleration * 0.125, rtol=1e-11)
    np.testing.assert_allclose(run.acceleration[-1, :2], acceleration, rtol=1e-9)
    assert run.statistics["program"] == "machine code"


@pytest.mark.parametrize("mass", [1e-6, 1e-9, 1e-13, 1e-16])
def test_a_light_pulley_between_two_ropes_is_well_posed(mass: float) -> None:
    """Three loads and a light pulley; relative to it the two ropes are nearly parallel in the mass metric."""
    a, b, c, d = da.coordinates("a b c d")
    ropes = da.Constraint(a + d, name="first"), da.Constraint(b + c - 2 * d, name="second")
    M, Q = np.diag([1, 2, 3, mass]), -9.81 * np.array([1, 2, 3, mass])
    system = da.System((a, b, c, d), M, Q, ropes)
    verdict = da.check(system)
    assert verdict.well_posed, str(verdict)
    free = np.array([[1, 0], [0, 1], [-2, -1], [-1, 0]])  # d = −a, c = −b − 2a
    expected = free @ np.linalg.solve(free.T @ M @ free, free.T @ Q)
    np.testing.assert_allclose(da.motion(system, [0] * 4, [0] * 4).acceleration, expected, rtol=1e-13)
