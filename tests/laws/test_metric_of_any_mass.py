"""Where M may be singular, rank, projection and consistency do not depend on the units of the coordinates."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.integration.run import corrected_start, suited_to
from dalembert.settings import method_of

x, y, z = da.coordinates("x y z")
CLOSE = 1e-5  # the angle between the two constraints of x and y
UNITS = [(1, 1, 1), (1, 1e6, 1), (1e-6, 1, 1), (1, 1, 1e6), (1e6, 1, 1e-6)]
"""One coordinate in units a million times larger or smaller, and two of them."""


def system(units: tuple, *, masses: tuple = (1, 2, 0)) -> da.System:
    """Return two constraints that are nearly parallel and one of a coordinate z, massless or not, in given units."""
    X, Y, Z = (unit * q for unit, q in zip(units, (x, y, z), strict=True))
    M = sp.diag(*(m * unit**2 for m, unit in zip(masses, units, strict=True)))
    rows = X + Y - 1, X + (1 + CLOSE) * Y - 1, Z - X * X
    return da.System((x, y, z), M, (0, 0, -units[2]), [da.Constraint(e, name=f"c{i}") for i, e in enumerate(rows)])


def engine_at(units: tuple, masses: tuple, q: np.ndarray, qd: np.ndarray):
    dynamics = suited_to(da.build(system(units, masses=masses)), da.SingularMass())
    return dynamics.engine, (q / units, qd / units, 0.0, ())


@pytest.mark.parametrize("masses", [(1, 2, 0), (1, -2, 3)])
def test_rank_and_projection(masses: tuple) -> None:
    q, qd = np.array([1.0, 0, 1]), np.zeros(3)
    off = q + np.array([1e-9, 2e-9, -1e-9]), np.array([2e-9, 0, 1e-9])
    moves = []
    for units in (UNITS[0], UNITS[1], UNITS[-1]):
        engine, on = engine_at(units, masses, q, qd)
        found = engine.select_rows(*on)
        assert int(found.rank) == 3
        assert bool(found.valid)
        _, beside = engine_at(units, masses, *off)
        steps = engine.position_step(*beside, found.rows), engine.velocity_step(*beside, found.rows)
        moves.append([np.asarray(step) * units for step in steps])
    np.testing.assert_allclose(moves, np.broadcast_to(moves[0], np.shape(moves)), rtol=1e-4, atol=1e-14)


@pytest.mark.parametrize("masses", [(1, 2, 0), (1, 0, 0)])
def test_the_projected_start(masses: tuple) -> None:
    """The start of z = x² alone, where the nearest state depends on the metric."""
    found = []
    for units in UNITS:
        X, Z = units[0] * x, units[2] * z
        M = sp.diag(*(m * unit**2 for m, unit in zip(masses, units, strict=True)))
        own = da.System((x, y, z), M, (0, 0, 0), da.Constraint(Z - X * X, name="parabola"))
        method = method_of(da.SingularMass(), da.Projection(), None, 1e-9, 1e-11, None, 100, None)
        start = np.array([1.0, 0, 1 + 3e-3]) / units, np.array([0, 0, 1.0]) / units
        state = corrected_start(da.build(own), method, *start, 0.0, ())
        found.append(state * np.concatenate([units, units]))
        assert found[-1][2] == pytest.approx(found[-1][0] ** 2, rel=1e-14)
        assert found[-1][5] == pytest.approx(2 * found[-1][0] * found[-1][3], rel=1e-12)
    np.testing.assert_allclose(found, np.broadcast_to(found[0], np.shape(found)), rtol=1e-9, atol=1e-14)


def test_where_m_is_positive_the_metric_is_that_of_the_masses() -> None:
    """On x + y = 1 a miss is shared in proportion to the inverse masses."""
    line = da.System((x, y), sp.diag(1, 3), (0, 0), da.Constraint(x + y - 1, name="line"))
    method = method_of(da.Multipliers(), da.Projection(), None, 1e-9, 1e-11, None, 100, None)
    state = corrected_start(da.build(line), method, np.array([1.004, 0]), np.zeros(2), 0.0, ())
    np.testing.assert_allclose(state, [1.001, -0.001, 0, 0], atol=1e-15)
