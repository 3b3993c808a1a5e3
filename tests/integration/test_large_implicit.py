"""``solver=da.Implicit()`` for systems stated by arrays."""

from typing import Any

import numpy as np
import pytest

import dalembert as da

N = 110
x, y = da.coordinates("x", N), da.coordinates("y", N)
u, v, w, z = da.coordinates("u v w z")
PAIRS = {u: x[:-1], v: y[:-1], w: x[1:], z: y[1:]}
Q0, QD0 = np.concatenate([np.arange(1.0, N + 1), np.zeros(N)]), np.zeros(2 * N)


def chain(damping: float, **law: Any) -> da.System:
    """A chain of rods whose neighbours have dampers between them, across and along the rods."""
    rods = da.Constraint.over((u - w) ** 2 + (v - z) ** 2 - 1, PAIRS, name="rod", **law)
    first = da.Constraint(x[0] ** 2 + y[0] ** 2 - 1, name="first")
    across, along = damping * (v - z).diff(da.t), damping * (u - w).diff(da.t)
    dampers = da.AppliedForce.over({v: -across, z: across, u: -along, w: along}, PAIRS)
    return da.System((x, y), 1, [{y: -9.81}, dampers], (first, rods))


@pytest.mark.parametrize("drift", [da.Projection(), da.Baumgarte(20, 20), None], ids=str)
def test_a_damped_chain_moves_as_by_explicit_steps(drift: Any) -> None:
    system, times = chain(1e3), (0, 0.02, 0.05)
    explicit, implicit = (
        da.simulate(system, Q0, QD0, times, solver=s, drift=drift, rtol=1e-8) for s in (None, da.Implicit())
    )
    np.testing.assert_allclose(implicit.q, explicit.q, atol=1e-8)
    np.testing.assert_allclose(implicit.multipliers, explicit.multipliers, atol=1e-3)
    assert implicit.statistics["solver"] == "Radau5"
    assert 2 * implicit.statistics["steps"] < explicit.statistics["steps"]
    if isinstance(drift, da.Projection):
        assert np.abs(implicit.violation).max() < 1e-12


def test_ledger_and_laws() -> None:
    """The work of all forces, integrated at the stages of the implicit steps, is the change of the energy."""
    law = da.Coulomb(0.1, velocity=(v - z).diff(da.t), normal_force=da.multiplier("rod"), smoothing=0.1)
    run = da.simulate(chain(10.0, nonideal=law), Q0, QD0, (0, 0.03), solver=da.Implicit(), rtol=1e-7)
    explicit = da.simulate(chain(10.0, nonideal=law), Q0, QD0, (0, 0.03), rtol=1e-9)
    np.testing.assert_allclose(run.q, explicit.q, atol=1e-7)
    assert "audit" in str(run.ledger())
    np.testing.assert_allclose(run.ledger()["rod[3]"][-1], explicit.ledger()["rod[3]"][-1], atol=1e-6)
