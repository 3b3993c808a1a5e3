"""``solver=da.Implicit()`` for systems stated by arrays."""

from typing import Any

import numpy as np
import pytest
from benchmarks.large_systems import bodies, stiff_net, truss
from scipy.sparse import csr_array

import dalembert as da
from dalembert.integration.sparse_steps import SparseSteps, step_ratio
from dalembert.lowering.large_system import compiled
from dalembert.native.assembly import MachineCode
from dalembert.native.stepper import MOST_RATIO_AT_REST
from dalembert.settings import method_of

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


def test_further_calls_compile_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    system = chain(1e3)

    def calls() -> None:
        da.motion(system, Q0, QD0)
        for solver in (None, da.Implicit()):
            da.simulate(system, Q0, QD0, (0, 1e-4), solver=solver).ledger()

    calls()
    compiled_again: list[Any] = []
    monkeypatch.setattr(MachineCode, "__init__", lambda self, *given: compiled_again.append(given))
    calls()
    assert not compiled_again


def test_ledger_and_laws() -> None:
    """The work of all forces, integrated at the stages of the implicit steps, is the change of the energy."""
    law = da.Coulomb(0.1, velocity=(v - z).diff(da.t), normal_force=da.multiplier("rod"), smoothing=0.1)
    run = da.simulate(chain(10.0, nonideal=law), Q0, QD0, (0, 0.03), solver=da.Implicit(), rtol=1e-7)
    explicit = da.simulate(chain(10.0, nonideal=law), Q0, QD0, (0, 0.03), rtol=1e-9)
    np.testing.assert_allclose(run.q, explicit.q, atol=1e-7)
    assert "audit" in str(run.ledger())
    np.testing.assert_allclose(run.ledger()["rod[3]"][-1], explicit.ledger()["rod[3]"][-1], atol=1e-6)


def test_a_stiff_net_takes_few_steps() -> None:
    """From a flat state, where entries of A are zero: a solver that exchanges rows lost the sparsity there."""
    net = stiff_net(9, 1e5)
    runs = [da.simulate(*net, (0, 0.02), solver=s, rtol=1e-6) for s in (None, da.Implicit())]
    np.testing.assert_allclose(runs[1].q, runs[0].q, atol=1e-8)
    assert np.abs(runs[1].violation).max() < 1e-13
    assert 4 * runs[1].statistics["steps"] < runs[0].statistics["steps"]


def test_redundant_rods_are_left_out_of_the_equations() -> None:
    case = truss(60)
    runs = [da.simulate(*case, (0, 0.3), solver=s, rtol=1e-8) for s in (None, da.Implicit())]
    np.testing.assert_allclose(runs[1].q, runs[0].q, atol=1e-7)
    np.testing.assert_allclose(runs[1].multipliers, runs[0].multipliers, atol=1e-6)


@pytest.mark.parametrize("g", [1e-3, 0.02 - 0.03j])
def test_stages_have_the_solution_of_dense_equations(g: complex) -> None:
    """Off a flat state, to the digits that Newton's method needs: constraints are soft in the elimination."""
    net = stiff_net(6, 1e5)
    dynamics = compiled(net.system.statement)
    method = method_of(None, da.Projection(), da.Implicit(), 1e-6, 1e-6, None, 100_000)
    steps = SparseSteps(dynamics, method, dynamics.numbers(np.zeros(0)))
    rng = np.random.default_rng(0)
    n, y = len(net.q), np.concatenate([net.q, net.qd]) + 0.05 * rng.normal(size=2 * len(net.q))
    steps.slope(y, 0.0)
    steps._implicit._linearise(y, 0.0)
    equations, lu = steps._implicit._equations, steps._implicit._equations._lu
    r, s = rng.normal(size=(2, n))
    C0, C1, C2 = (
        csr_array((C, lu.columns, lu.starts), shape=(lu.size, lu.size)).toarray()
        for C in (equations._C0, equations._C1, equations._C2)
    )
    whole, zeros = np.argsort(lu.order), np.zeros(lu.size - n)
    C0, C1, C2 = (C[np.ix_(whole, whole)] for C in (C0, C1, C2))
    right = g * (C0 @ np.append(s, zeros) + g * C2 @ np.append(r, zeros))
    dv = np.linalg.solve(C0 - g * C1 - g**2 * C2, right)[:n]
    found = equations.solver(g)(np.append(r, s))
    np.testing.assert_allclose(found, np.append(g * (r + dv), dv), rtol=0, atol=1e-6 * np.abs(dv).max())


def test_bodies_in_space() -> None:
    """Their mass matrix consists of blocks whose entries vanish at the start."""
    case = bodies(40)
    runs = [da.simulate(*case, (0, 0.1), solver=s, rtol=1e-8) for s in (None, da.Implicit())]
    np.testing.assert_allclose(runs[1].q, runs[0].q, atol=1e-7)


def test_a_step_that_fails_is_followed_by_a_shorter_one() -> None:
    """Also if its error is not a number: the same step was repeated for ever."""
    assert step_ratio(np.nan, 5) == step_ratio(np.inf, 5) == 0
    assert step_ratio(0.0, 5) == MOST_RATIO_AT_REST
    assert step_ratio(32.0, 5) == pytest.approx(0.45)
