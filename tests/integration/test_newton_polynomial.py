# SPDX-License-Identifier: BSD-3-Clause
"""Interpolating polynomials, against SciPy's and against functions whose derivatives are known."""

import numpy as np
import pytest
from scipy.interpolate import BarycentricInterpolator, KroghInterpolator

from dalembert.integration.newton_polynomial import interpolating_polynomial


@pytest.mark.parametrize("repeated", [1, 2, 3])
@pytest.mark.parametrize("count", [2, 5, 8])
def test_values_and_slopes_are_those_of_krogh(repeated, count):
    rng = np.random.default_rng(count)
    nodes = np.repeat(np.sort(rng.uniform(-1, 1, count)), repeated)
    given = rng.normal(size=(len(nodes), 3))
    places = np.linspace(-1, 1, 11)
    value, slope = interpolating_polynomial(nodes, given).with_slopes(places)
    expected = KroghInterpolator(nodes, given).derivatives(places, 2)
    size = np.abs(expected).max()
    np.testing.assert_allclose(value, expected[0], rtol=1e-9, atol=1e-13 * size)
    np.testing.assert_allclose(slope, expected[1], rtol=1e-9, atol=1e-12 * size)


def test_simple_nodes_are_those_of_lagrange():
    nodes = np.array([0.0, 0.25, 0.7, 1.0])
    given = np.stack([np.exp(nodes), nodes**3 - nodes], axis=1)
    places = np.linspace(0, 1, 7)
    found = interpolating_polynomial(nodes, given)(places)
    np.testing.assert_allclose(found, BarycentricInterpolator(nodes, given)(places), rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(found[:, 1], places**3 - places, atol=1e-15)  # a cubic is interpolated exactly


def test_position_velocity_and_acceleration_continue_a_smooth_motion():
    """The use of a crossing: at the nodes all three are matched, and beyond the last one the motion is continued."""
    nodes = -np.cos(np.pi * np.arange(8) / 7)
    given = np.stack([np.sin(nodes), np.cos(nodes), -np.sin(nodes)], axis=1).reshape(24, 1)
    value, slope = interpolating_polynomial(np.repeat(nodes, 3), given).with_slopes(np.array([*nodes, 1.1]))
    np.testing.assert_allclose(value[:, 0], np.sin([*nodes, 1.1]), atol=1e-14)
    np.testing.assert_allclose(slope[:, 0], np.cos([*nodes, 1.1]), atol=1e-12)
