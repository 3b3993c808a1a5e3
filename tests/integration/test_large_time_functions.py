"""Functions of time in large systems: pulses and signals that steps must not miss, against exact impulses."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da

N = 101
x, y = da.coordinates("x", N), da.coordinates("y", N)
u = da.coordinates("u")
t = da.t
HELD = da.Constraint(x[0], name="held")
REST = np.zeros(2 * N)


def pushed(force, **options) -> da.Trajectory:
    system = da.System((x, y), 2, force, HELD)
    assert system.is_large
    return da.simulate(system, REST, REST, [0, 50, 100], **options)


def test_a_pulse_after_a_long_rest_is_found() -> None:
    run = pushed({y: sp.exp(-(((t - 70) * 20) ** 2))})
    expected = np.sqrt(np.pi) / 20 / 2
    np.testing.assert_allclose(run.qd[:, N:], np.outer([0, 0, expected], np.ones(N)), rtol=1e-8)
    ledger = run.ledger()
    assert ledger["applied forces"][-1] == pytest.approx(N * expected**2, rel=1e-8)
    assert ledger.closure < 10


def test_pulses_of_copies_at_their_own_times_are_found() -> None:
    c = sp.Symbol("c")
    run = pushed(da.AppliedForce.over({u: sp.exp(-(((t - c) * 20) ** 2))}, {u: y[:8], c: np.linspace(10, 90, 8)}))
    np.testing.assert_allclose(run.qd[-1, N : N + 8], np.sqrt(np.pi) / 40, rtol=1e-8)


@pytest.mark.parametrize(("kind", "impulse"), [("previous", 3.0), ("linear", 3.0)])
def test_steps_end_at_the_times_of_a_signal(kind: str, impulse: float) -> None:
    knots = {"previous": ([0, 70, 70.003], [0, 1000, 0]), "linear": ([0, 70, 70.003, 70.006], [0, 0, 1000, 0])}[kind]
    run = pushed({y: da.signal(*knots, kind, extend="hold")})
    np.testing.assert_allclose(run.qd[-1, N:], impulse / 2, rtol=1e-11)
    np.testing.assert_allclose(run.at(70.5).qd[0, N:], impulse / 2, rtol=1e-11)


@pytest.mark.parametrize(
    ("force", "speed", "way"),
    [
        (sp.Heaviside(t - 70.1), 29.9, 29.9**2 / 2),
        (sp.Piecewise((1e6, (t > 70) & (t < 70.001)), (0, True)), 1000, 1000 * 29.9995),
        (1e4 * sp.cos(t) + sp.sign(t - 70.1), 1e4 * np.sin(100) - 40.2, 1e4 * (1 - np.cos(100)) - 4105.99),
        (sp.Abs(t - 70.1), (70.1**2 + 29.9**2) / 2, 70.1**2 * (70.1 / 3 + 29.9 / 2) + 29.9**3 / 6),
        (sp.floor(t / 40), 80, 2000),
    ],
    ids=["step", "pulse", "sign", "kink", "floor"],
)
def test_steps_end_at_jumps_and_kinks_of_forces(force, speed: float, way: float) -> None:
    run = pushed({y: 2 * force}, rtol=1e-12)
    np.testing.assert_allclose(run.qd[-1, N:], speed, rtol=1e-10)
    np.testing.assert_allclose(run.q[-1, N:], way, rtol=1e-10)
    assert run.statistics["steps"] < 500
    ledger = run.ledger()
    np.testing.assert_allclose(ledger["applied forces"][-1], N * speed**2, rtol=1e-9)
    assert not ledger.notes


def test_jumps_of_copies_at_their_own_times() -> None:
    c = sp.Symbol("c")
    over = {u: y[:8], c: np.linspace(10, 90, 8)}
    run = pushed(da.AppliedForce.over({u: 2 * sp.Heaviside(t - c) + sp.sin(t) - u.diff(t)}, over), rtol=1e-12)
    rest = 100 - over[c]
    # the solution of 2 v' = 2 H(t − c) + sin t − v
    v = 2 * (1 - np.exp(-rest / 2)) + (np.sin(100) - 2 * np.cos(100) + 2 * np.exp(-50)) / 5
    np.testing.assert_allclose(run.qd[-1, N : N + 8], v, rtol=1e-10)


def test_work_of_a_force_that_the_steps_do_not_feel() -> None:
    """Constraints carry it at constant speed, so that the steps are long: the ledger divides them."""
    carried = da.Constraint.over(u - 2 * t, {u: x}, name="carried")
    system = da.System((x, y), 1, {x: sp.cos(60 * t) ** 3}, carried)
    run = da.simulate(system, REST, np.concatenate([np.full(N, 2.0), np.zeros(N)]), [0, 0.35, 1])
    ledger = run.ledger()
    expected = 2 * (np.sin(60 * run.t) - np.sin(60 * run.t) ** 3 / 3) / 60
    assert run.statistics["steps"] < 20
    np.testing.assert_allclose(ledger["applied forces"], N * expected, rtol=0, atol=1e-9 * N)
    np.testing.assert_allclose(ledger["carried[7]"], -expected, rtol=0, atol=1e-9)
    assert not ledger.notes
