"""Multipliers of runs with redundant constraints, whose rows may differ in length by any factor."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.integration.native_steps import shortest_multipliers


@pytest.mark.parametrize("factor", [1.0, 1e-7, 1e-11, 1e11])
def test_the_unit_of_a_constraint_does_not_change_the_reactions_of_others(factor):
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


def test_multipliers_are_the_shortest_ones():
    draw = np.random.default_rng(0)
    A = draw.normal(size=(5, 3, 4))
    A = np.concatenate([A, np.einsum("ij,kjn->kin", draw.normal(size=(2, 3)), A)], axis=1)
    expected = np.linalg.pinv(np.swapaxes(A, 1, 2))
    np.testing.assert_allclose(shortest_multipliers(A), expected, rtol=0, atol=1e-12)
    assert shortest_multipliers(np.zeros((2, 0, 3))).shape == (2, 0, 3)
