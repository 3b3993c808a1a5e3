"""Multipliers of runs with redundant constraints, whose rows may differ in length by any factor."""

import numpy as np
import pytest
import sympy as sp
from mpmath import diag, lu_solve, matrix, mpf, workdps

import dalembert as da
from dalembert.integration.native_steps import shortest_multipliers


@pytest.mark.parametrize("factor", [1.0, 1e-7, 1e-11, 1e11])
def test_the_unit_of_a_constraint_does_not_change_the_reactions_of_others(factor: float) -> None:
    x, y, z = da.coordinates("x y z")
    surface = z - x * y
    rows = (factor * (x**2 + y**2 - 1), surface, 2 * surface)
    names = ("cylinder", "surface", "again")
    system = da.System(
        (x, y, z),
        sp.eye(3),
        (0, -1, -9.81),
        [da.Constraint(row, name=name) for row, name in zip(rows, names, strict=True)],
    )
    q, qd, units = (0.6, 0.8, 0.48), (0.8, -0.6, 0.28), np.array([factor, 1, 1])
    alone, run = da.motion(system, q, qd), da.simulate(system, q, qd, [0, 0.5])
    expected = np.linalg.lstsq((alone.constraint_matrix[:2] / units[:2, None]).T, alone.ideal_force)[0]
    expected = [expected[0], expected[1] / 5, 2 * expected[1] / 5]
    np.testing.assert_allclose(units * alone.multipliers, expected, rtol=1e-9)
    np.testing.assert_allclose(units * run.multipliers[0], expected, rtol=1e-9)
    together = da.simulate_ensemble(system, [q], [qd], [0, 0.5], outputs=["multipliers"])
    np.testing.assert_allclose(units * together["multipliers"].values[0], units * run.multipliers, rtol=1e-9)


def test_multipliers_are_the_shortest_ones() -> None:
    draw = np.random.default_rng(0)
    A = draw.normal(size=(5, 3, 4))
    A = np.concatenate([A, np.einsum("ij,kjn->kin", draw.normal(size=(2, 3)), A)], axis=1)
    expected = np.linalg.pinv(np.swapaxes(A, 1, 2))
    np.testing.assert_allclose(shortest_multipliers(A), expected, rtol=0, atol=1e-12)
    assert shortest_multipliers(np.zeros((2, 0, 3))).shape == (2, 0, 3)


@pytest.mark.parametrize("seed", range(12))
def test_shortest_multipliers_of_rows_in_units_that_differ_by_many_decades(seed: int) -> None:
    """Rows r₀a, r₁b and r₂(2a − b/2), and one independent of them: the reference has 60 digits.

    Along the direction without force, the λ of a short row is 1e18 times as large as those of long ones.
    """
    draw = np.random.default_rng(seed)
    a, b, other = draw.integers(-8, 9, (3, 4))
    weights = 2.0 ** draw.integers(-30, 31, 4)
    rows, Q, masses = np.array([a, b, 2 * a - b / 2, other]), draw.integers(-9, 10, 4), draw.integers(1, 5, 4)
    q = da.coordinates("a b c d")
    constraints = [
        da.Constraint(sp.Float(weights[k]) * sp.Matrix(rows[k]).dot(sp.Matrix(q)), name=f"c{k}") for k in range(4)
    ]
    system = da.System(q, sp.diag(*masses.tolist()), Q.tolist(), constraints)
    with workdps(60):
        A, inverse = matrix(rows[[0, 1, 3]].tolist()), diag([1 / mpf(int(m)) for m in masses])
        along_a, along_b, alone = lu_solve(A * inverse * A.T, -A * inverse * matrix(Q.tolist()))
        C = matrix([[weights[0], 0, 2 * weights[2]], [0, weights[1], -weights[2] / 2]])
        shared = C.T * lu_solve(C * C.T, matrix([along_a, along_b]))
        expected = np.array([*map(float, shared), float(alone / weights[3])])
    units = np.array([*[np.abs(expected[:3]).max()] * 3, abs(expected[3]) or 1.0])
    at_rest = np.zeros(4)
    one, run = da.motion(system, at_rest, at_rest), da.simulate(system, at_rest, at_rest, [0, 1e-3])
    for found in (one.multipliers, run.multipliers[0]):
        np.testing.assert_allclose(found / units, expected / units, rtol=0, atol=1e-12)
