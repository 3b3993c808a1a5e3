# SPDX-License-Identifier: BSD-3-Clause
"""Unique multipliers: one criterion, whatever path computes the dependencies."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.model.similar_terms import grouped_terms
from dalembert.numerics.linear_algebra import dependence_shares, determined, null_space, unit_rows
from dalembert.runs.large_runs import large_motion

SCALES = [(1, 1, 1, 1), (1, 1e8, 1, 1), (1e8, 1, 1, 1e-8), (1e-9, 1, 1e9, 1)]
ROWS = np.array([[1, 0, 0, 0], [1, 0, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1]])


@pytest.mark.parametrize("scales", SCALES)
def test_scales_of_rows_do_not_change_which_multipliers_are_unique(scales: tuple[float, ...]) -> None:
    """Two rows repeat one another in other units: neither multiplier is determined, and the other two are."""
    A = np.array(scales)[:, None] * ROWS
    assert determined(A) == (False, False, True, True)
    assert da.constrained_motion(np.eye(4), np.ones(4), A, np.zeros(4)).unique_multipliers.tolist() == [*determined(A)]
    x = da.coordinates("x0 x1 x2 x3")
    rows = [da.Constraint(expression, name=f"row{i}") for i, expression in enumerate(sp.Matrix(A) * sp.Matrix(x))]
    system = da.System(x, sp.eye(4), (1,) * 4, rows)
    large = large_motion(grouped_terms(system), np.zeros(4), np.zeros(4), 0.0, None, None, throw=True)
    assert np.asarray(large.unique_multipliers).tolist() == [*determined(A)]


def test_shares_are_projections_onto_the_null_space() -> None:
    """The shares of the rows are lengths of the projections of unit vectors, here by singular values."""
    A = np.random.default_rng(3).normal(size=(6, 3)) @ np.random.default_rng(4).normal(size=(3, 5))
    expected = np.linalg.norm(null_space(unit_rows(A)[0].T), axis=0)
    np.testing.assert_allclose(dependence_shares(A), expected, atol=1e-12)
    assert not dependence_shares(A[:3]).any()
