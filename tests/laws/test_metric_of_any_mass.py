"""Where M may be singular, rank, projection and consistency do not depend on the units of the coordinates."""

import jax
import jax.numpy as jnp
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


def system() -> da.System:
    """Two constraints that are nearly parallel and one of a coordinate z; masses and units are parameters."""
    units, masses = da.parameters("u0 u1 u2"), da.parameters("m0 m1 m2")
    X, Y, Z = (unit * q for unit, q in zip(units, (x, y, z), strict=True))
    M = sp.diag(*(m * unit**2 for m, unit in zip(masses, units, strict=True)))
    rows = X + Y - 1, X + (1 + CLOSE) * Y - 1, Z - X * X
    return da.System((x, y, z), M, (0, 0, -units[2]), [da.Constraint(e, name=f"c{i}") for i, e in enumerate(rows)])


def test_rank_and_projection() -> None:
    engine = suited_to(da.build(system()), da.SingularMass()).engine

    @jax.jit  # one program for all masses and units
    def selected_and_moved(on, off, p):
        found = engine.select_rows(*on, 0.0, p)
        steps = engine.position_step(*off, 0.0, p, found.rows), engine.velocity_step(*off, 0.0, p, found.rows)
        return found.rank, found.valid, jnp.stack(steps)

    on = np.array([[1.0, 0, 1], [0, 0, 0]])
    off = on + np.array([[1e-9, 2e-9, -1e-9], [2e-9, 0, 1e-9]])
    for masses in ((1.0, 2.0, 0.0), (1.0, -2.0, 3.0)):
        moves = []
        for units in np.array(UNITS):
            rank, valid, steps = selected_and_moved(on / units, off / units, (*masses, *units))
            assert int(rank) == 3
            assert bool(valid)
            moves.append(np.asarray(steps) * units)
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
