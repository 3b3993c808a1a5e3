"""Rows that are left out as redundant must go on to hold."""

import diffrax
import numpy as np
import pytest
import sympy as sp

import dalembert as da

x, y = da.coordinates("x y")


@pytest.mark.parametrize("drift", [da.Projection(), da.Baumgarte(5, 5)], ids=["projection", "baumgarte"])
def test_a_conflict_that_grows_slowly_is_found(drift: object) -> None:
    """y = 0 and y = 25e-9 t² agree at the start to all tolerances, and differ by 2.5 at t = 10⁴."""
    rows = (da.Constraint(y, name="floor"), da.Constraint(y - 25e-9 * da.t**2, name="lift"))
    system = da.System((x, y), sp.eye(2), (0, -9.81), rows)
    with pytest.raises(da.SimulationError, match=r"`(floor|lift)`, violated by .*, contradicts the others"):
        da.simulate(system, (0, 0), (1, 0), [0, 1e4], drift=drift)


def test_the_general_integrator_finds_it_too() -> None:
    rows = (da.Constraint(y, name="floor"), da.Constraint(y - 25e-9 * da.t**2, name="lift"))
    system = da.System((x, y), sp.eye(2), (0, -9.81), rows)
    with pytest.raises(da.SimulationError, match="contradicts the others"):
        da.simulate(system, (0, 0), (1, 0), [0, 1e4], solver=diffrax.Tsit5())


@pytest.mark.parametrize("drift", [None, da.Projection(), da.Baumgarte(5, 5)], ids=["none", "projection", "baumgarte"])
def test_redundant_rows_that_hold_are_left_alone(drift: object) -> None:
    """The rod given twice, once squared out differently: the motion is that of one rod, however far both drift."""
    rods = (da.Constraint(x**2 + y**2 - 1, name="rod"), da.Constraint(2 * x**2 + 2 * y**2 - 2, name="again"))
    times = np.linspace(0, 20, 5)
    twice = da.simulate(da.System((x, y), sp.eye(2), (0, -9.81), rods), (1, 0), (0, 0), times, drift=drift)
    once = da.simulate(da.System((x, y), sp.eye(2), (0, -9.81), rods[:1]), (1, 0), (0, 0), times, drift=drift)
    np.testing.assert_allclose(twice.q, once.q, atol=1e-12)
