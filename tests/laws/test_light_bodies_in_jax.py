"""Light coordinates tied to heavy ones keep their digits in the functions that diffrax's solvers call."""

import diffrax
import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.equation.dynamics import Dynamics

a, b, c = da.coordinates("a b c")


def tied(mass: float, unit: float = 1.0) -> da.System:
    """a = u b, masses 1 and m u², forces 1 and u: both are accelerated as one body of mass 1 + m by a force of 2."""
    M = sp.diag(1, sp.Float(mass * unit**2))
    return da.System((a, b), M, (1, unit), da.Constraint(a - sp.Float(unit) * b, name="tie"))


def acceleration(dynamics: Dynamics, q: tuple, qd: tuple) -> np.ndarray:
    state = np.array(q, float), np.array(qd, float), 0.0, ()
    return np.asarray(dynamics.engine.acceleration(*state, dynamics.engine.select_rows(*state).rows, None))


@pytest.mark.parametrize(("mass", "unit"), [(1e-6, 1.0), (1e-12, 1e6), (1e-16, 1e-6), (1e-20, 1.0)])
def test_the_acceleration(mass: float, unit: float) -> None:
    """One body of mass 1 + m under a force of 2."""
    expected = 2 / (1 + mass) * np.array([1, 1 / unit])
    found = acceleration(da.build(tied(mass, unit)), (0.3, 0.3 / unit), (0.1, 0.1 / unit))
    np.testing.assert_allclose(found, expected, rtol=1e-14)


@pytest.mark.slow
def test_under_friction() -> None:
    """A mass of 1e-14 tied to one of 2 that slides with μ = 0.2, and pushed by a force of 1: (3 + 1 − 2)/2."""
    floor = da.Constraint(c, name="floor", nonideal=da.Coulomb(0.2, velocity=(a.diff(da.t),)))
    tie = da.Constraint(a - b, name="tie")
    pair = da.System((a, b, c), sp.diag(2, sp.Float(1e-14), 2), (3, 1, -10), [floor, tie])
    np.testing.assert_allclose(acceleration(da.build(pair), (0, 0, 0), (5, 5, 0)), [1, 1, 0], atol=1e-13)


@pytest.mark.slow
def test_a_run() -> None:
    run = da.simulate(tied(1e-16), (0, 0), (0, 0), [0, 1], solver=diffrax.Tsit5())
    np.testing.assert_allclose(run.q[-1], [1, 1], rtol=1e-13)
    assert run.statistics["steps"] < 20
