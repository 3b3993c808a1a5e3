"""Claims of the papers beyond the cases of the gallery; labels as in their equations."""

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from helpers import ALL_FORMULATIONS, label, pendulum

x, y = da.coordinates("x y")


SELDOM = (da.PseudoInverse, da.ExtendedDAlembert, da.Multipliers, da.SingularMass, da.StackedLeastSquares)
"""Other ways to the same acceleration, which laws/test_equation.py compares: here they are only slow to compile."""


@pytest.mark.parametrize(
    "formulation",
    [pytest.param(f, marks=pytest.mark.slow) if isinstance(f, SELDOM) else f for f in ALL_FORMULATIONS],
    ids=label,
)
def test_nonideal_particle_to_all_printed_digits(formulation: da.Factored) -> None:
    """Udwadia & Kalaba 2001, section 5: the gallery's case, with every formulation."""
    case = replace(da.gallery.case("particle"), formulation=formulation)
    assert all(outcome.passed for outcome in case.verify(case.simulate()))


def test_indefinite_mass_is_refused_by_formulations_that_need_a_metric() -> None:
    case = da.gallery.case("indefinite-mass")
    with pytest.raises(da.MassMatrixError, match=r"indefinite.*formulation=da.Multipliers\(\)`"):
        da.simulate(case.system, case.q0, case.qd0, case.times)


def test_redundant_rods_share_the_load_in_the_ratio_of_their_gradients() -> None:
    """The shortest λ with λ₁ + 3λ₂ given."""
    twin = pendulum(da.Constraint(3 * (x**2 + y**2) - 3, name="rod again"))
    point = da.motion(twin, (1, 0), (0, 0.5), parameters={"g": 9.81})
    np.testing.assert_allclose(point.multipliers[1], 3 * point.multipliers[0], rtol=1e-12)
    assert not point.unique_multipliers.any()


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
