"""Stick-slip motion of systems without other constraints."""

import numpy as np
import pytest

import dalembert as da


@pytest.mark.parametrize(("force", "end"), [(7.0, 0.0), (9.0, 0.5 * (9.0 - 8.0) * 2.0**2)])
def test_contacts_that_share_a_load_hold_up_to_the_sum_of_their_limits(force: float, end: float) -> None:
    """Two equal contacts, each with 4 N: a unit mass stays at rest under 7 N, and accelerates by 1 N under 9 N."""
    x = da.coordinates("x")
    law = da.Coulomb(0.4, velocity=(x.diff(da.t),), normal_force=10)
    run = da.simulate(da.System((x,), [[1]], (force,), nonideal=(law, law)), (0,), (0,), [0, 1, 2])
    assert run["x"][-1] == pytest.approx(end, rel=1e-12, abs=1e-15)
    np.testing.assert_array_equal(run.rank, 0)
    np.testing.assert_allclose(run.nonideal_force[:, 0], -min(force, 8.0), rtol=1e-12)
