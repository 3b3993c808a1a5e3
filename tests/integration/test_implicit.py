"""``solver=da.Implicit()``: order, stiff equations against closed forms and other programs, and what it refuses."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

import dalembert as da
from helpers import ALL_DRIFT_CURES, pendulum

t = da.t
x, y = da.coordinates("x y")
ROD = da.Constraint(x**2 + y**2 - 1, name="rod")
DRIVEN = da.System((x, y), sp.eye(2), (0, -9.81 - 3 * sp.sin(3 * t)), ROD)


def follows(target: sp.Expr, stiffness: float, damping: float) -> da.System:
    """A mass that a spring and a damper pull towards a prescribed motion, which is a solution."""
    pull = -stiffness * (x - target) - damping * (x.diff(t) - target.diff(t))
    return da.System((x,), [[1]], (pull + target.diff(t, 2),))


@pytest.mark.parametrize("drift", ALL_DRIFT_CURES, ids=lambda drift: type(drift).__name__)
def test_order(drift: Any) -> None:
    exact = da.simulate(DRIVEN, (1, 0), (0, 0), (0, 1), rtol=1e-13).q[-1]
    steps = np.array([1 / 40, 1 / 80, 1 / 160])
    # the tolerance is that of Newton's method
    given: dict[str, Any] = {"drift": drift, "solver": da.Implicit(), "rtol": 1e-13}
    runs = [da.simulate(DRIVEN, (1, 0), (0, 0), (0, 1), step=h, **given) for h in steps]
    errors = [np.abs(run.q[-1] - exact).max() for run in runs]
    assert np.polyfit(np.log(steps), np.log(errors), 1)[0] == pytest.approx(5, abs=0.4)


def test_order_of_stiff_equations() -> None:
    """Prothero and Robinson's example: the order is at least that of the stages, three."""
    system = follows(sp.cos(t), 1e8, 1e8)
    steps = np.array([0.2, 0.1, 0.05])
    runs = [da.simulate(system, (1,), (0,), (0, 4), step=h, solver=da.Implicit()) for h in steps]
    errors = [abs(run.q[-1, 0] - np.cos(4)) for run in runs]
    assert np.polyfit(np.log(steps), np.log(errors), 1)[0] > 2.8
    assert errors[-1] < 1e-6


@pytest.mark.parametrize("stiffness", [1e4, 1e8, 1e12])
def test_prescribed_motion_by_a_stiff_spring(stiffness: float) -> None:
    """The number of steps does not depend on the stiffness."""
    times = np.linspace(0, 10, 21)
    run = da.simulate(follows(sp.cos(t), stiffness, stiffness), (1,), (0,), times, solver=da.Implicit())
    np.testing.assert_allclose(run.q[:, 0], np.cos(times), atol=1e-8)
    assert run.statistics["steps"] < 400
    assert run.statistics["solver"] == "Radau5"
    assert run.statistics["program"] == "machine code"


def test_van_der_pol() -> None:
    """μ = 1000 to t = 2000: the reference solution of the test set for IVP solvers, Bari, problem VDPOL, scaled."""
    oscillator = da.System((x,), [[1]], (1000 * (1 - x**2) * x.diff(t) - x,))
    run = da.simulate(oscillator, (2,), (0,), (0, 2000), solver=da.Implicit(), rtol=1e-10)
    assert run.q[-1, 0] == pytest.approx(1.706167732170469, abs=1e-8)
    assert run.qd[-1, 0] == pytest.approx(-0.8928097010248125e-3, abs=1e-9)
    assert run.statistics["steps"] < 5000  # explicit steps would be shorter than 3e-3 or so


def radau(force: Any, q: np.ndarray, qd: np.ndarray, times: np.ndarray) -> np.ndarray:
    n = len(q)
    found = solve_ivp(
        lambda t, z: np.concatenate([z[n:], force(z[:n], z[n:])]),
        (times[0], times[-1]),
        np.concatenate([q, qd]),
        method="Radau",
        rtol=1e-11,
        atol=1e-13,
        t_eval=times,
    )
    return found.y[:n].T


def test_pendulum_on_a_stiff_damped_spring() -> None:
    k, c = 1e6, 2e4
    r = sp.sqrt(x**2 + y**2)
    pull = k * (r - 1) + c * (x * x.diff(t) + y * y.diff(t)) / r
    system = da.System((x, y), sp.eye(2), (-pull * x / r, -pull * y / r - 9.81))

    def force(q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        length = np.linalg.norm(q)
        along = q / length
        return -(k * (length - 1) + c * along @ qd) * along - np.array([0, 9.81])

    times = np.linspace(0, 0.5, 6)
    run = da.simulate(system, (1, 0), (0, 0), times, solver=da.Implicit())
    np.testing.assert_allclose(run.q, radau(force, np.array([1.0, 0]), np.zeros(2), times), atol=2e-8)
    explicit = da.simulate(system, (1, 0), (0, 0), times)
    assert 20 * run.statistics["steps"] < explicit.statistics["steps"]


def test_heavily_damped_net_that_hangs_from_two_corners() -> None:
    """Stiff springs and dampers between neighbours; two corners are held by constraints."""
    side, k, c = 3, 1e4, 1e4
    number = np.arange(side**2).reshape(side, side)
    pairs = [*zip(number[:, :-1].ravel(), number[:, 1:].ravel(), strict=True)]
    pairs += zip(number[:-1].ravel(), number[1:].ravel(), strict=True)
    xs, ys = da.coordinates("x", side**2), da.coordinates("y", side**2)
    q = np.concatenate([np.tile(np.arange(side), side), -np.repeat(np.arange(side), side)]).astype(float)
    forces = {v: sp.Integer(0) for v in (*xs, *ys)} | {v: sp.Float(-9.81) for v in ys}
    for i, j in pairs:
        for own in (xs, ys):
            difference = own[i] - own[j]
            start = 0 if own is xs else side**2
            rest = float(q[start + i] - q[start + j])
            pull = k * (difference - rest) + c * difference.diff(t)
            forces[own[i]] -= pull
            forces[own[j]] += pull
    held = [da.Constraint(v - float(q[i]), name=f"h{i}") for i, v in enumerate((*xs, *ys)) if i % side**2 in (0, 2)]
    system = da.System((*xs, *ys), sp.eye(2 * side**2), tuple(forces.values()), tuple(held))
    times = np.linspace(0, 1, 5)
    run = da.simulate(system, q, 0 * q, times, solver=da.Implicit())
    n = side**2
    free = np.array([i % n not in (0, 2) for i in range(2 * n)])
    gravity = np.concatenate([np.zeros(n), np.full(n, -9.81)])

    def force(moved: np.ndarray, rates: np.ndarray) -> np.ndarray:
        u, v = np.zeros(2 * n), np.zeros(2 * n)
        u[free], v[free] = moved - q[free], rates
        total = gravity.copy()
        for start in (0, n):
            for i, j in pairs:
                pull = k * (u[start + i] - u[start + j]) + c * (v[start + i] - v[start + j])
                total[start + i] -= pull
                total[start + j] += pull
        return total[free]

    np.testing.assert_allclose(run.q[:, free], radau(force, q[free], np.zeros(free.sum()), times), atol=1e-9)
    assert np.abs(run.violation).max() < 1e-15


def test_reports_are_those_of_the_explicit_integrator() -> None:
    times = np.linspace(0, 3, 31)
    given: dict[str, Any] = {"parameters": {"g": 9.81}}
    runs = [da.simulate(pendulum(), (1, 0), (0, 0), times, solver=s, **given) for s in (None, da.Implicit())]
    for name in ("q", "qd", "acceleration", "ideal_force", "multipliers", "energy"):
        np.testing.assert_allclose(getattr(runs[0], name), getattr(runs[1], name), rtol=1e-7, atol=1e-7)
    assert np.abs(runs[1].violation).max() < 1e-15
    assert np.abs(runs[1].velocity_violation).max() < 1e-14
    np.testing.assert_allclose(runs[1].at(1.234).q, runs[0].at(1.234).q, atol=1e-8)
    assert np.abs(runs[1].ledger()["rod"]).max() < 1e-12
    assert runs[1].notes == ()


def test_stabilised_constraints_may_be_as_stiff_as_one_likes() -> None:
    """A violation decays with rates of 10⁴ per second; explicit steps would be limited by them."""
    run = da.simulate(
        DRIVEN, (1.01, 0), (0, 0), (0, 1), drift=da.Baumgarte(1e4, 1e4), solver=da.Implicit(), allow_violation=True
    )
    assert abs(run.violation[-1, 0]) < 1e-10
    assert run.statistics["steps"] < 1000
    assert "Baumgarte" in run.notes[0]


def test_first_integrals_are_conserved() -> None:
    run = da.simulate(
        pendulum(),
        (1, 0),
        (0, 0),
        np.linspace(0, 20, 41),
        parameters={"g": 9.81},
        solver=da.Implicit(),
        drift=da.Projection(conserve="energy"),
    )
    assert run.energy is not None
    assert np.abs(run.energy - run.energy[0]).max() < 1e-13


def test_dry_friction_that_sticks() -> None:
    floor = da.Constraint(y, name="floor", nonideal=da.Coulomb(0.3))
    block = da.System((x, y), sp.eye(2), (4 * sp.sin(t), -9.81), floor)
    times = np.linspace(0, 5, 21)
    runs = [da.simulate(block, (0, 0), (1, 0), times, solver=s) for s in (None, da.Implicit())]
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-8)


def test_smoothed_friction_by_the_actual_reaction() -> None:
    """The derivatives include those of the reaction, on which the friction depends."""
    curve = da.Constraint(y - x**2, name="curve", nonideal=da.Coulomb(0.3, smoothing=1e-3))
    bead = da.System((x, y), sp.eye(2), (0, -9.81), curve)
    times = np.linspace(0, 3, 13)
    runs = [da.simulate(bead, (1, 1), (0, 0), times, solver=s) for s in (None, da.Implicit())]
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-7)
    assert runs[1].statistics["steps"] < runs[0].statistics["steps"]


def test_events_and_contacts() -> None:
    """A ball on a floor: impacts at t = √2 …, in the closed form."""
    ball = da.System((x, y), sp.eye(2), (0, -10), da.Constraint(sp.Ge(y, 0), name="floor", restitution=0.5))
    run = da.simulate(ball, (0, 5), (1, 0), np.linspace(0, 2.2, 12), solver=da.Implicit(), events=[da.Event(x - 0.5)])
    assert [event.t for event in run.events] == pytest.approx([0.5, 1.0, 2.0], abs=1e-11)


def test_redundant_constraints() -> None:
    a, b, c, d = coordinates = da.coordinates("a b c d")
    rods = (
        da.Constraint(a**2 + b**2 - 1, name="left"),
        da.Constraint((c - 2) ** 2 + d**2 - 1, name="right"),
        da.Constraint((a - c) ** 2 + (b - d) ** 2 - 4, name="coupler"),
        da.Constraint(b - d, name="level"),
    )
    system = da.System(coordinates, sp.eye(4), (0, -9.81, 0, -9.81), rods)
    start = (np.cos(2.5), -np.sin(2.5), 2 + np.cos(2.5), -np.sin(2.5))
    times = np.linspace(0, 0.3, 5)
    runs = [da.simulate(system, start, np.zeros(4), times, solver=s) for s in (None, da.Implicit())]
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-8)
    np.testing.assert_allclose(runs[0].multipliers, runs[1].multipliers, atol=1e-6)
    assert "redundant: `level`" in runs[1].notes[-1]


def test_servos_and_sampled_controllers() -> None:
    follow = da.Servo("follow", x - sp.sin(t), by=da.Actuator("motor", x), settle=5.0)
    cart = da.System((x,), [[2]], (-3 * x,), servos=follow)
    times = np.linspace(0, 2, 9)
    start = da.consistent_state(cart, (0,), (0,), servos=True)
    runs = [da.simulate(cart, *start, times, solver=s) for s in (None, da.Implicit())]
    np.testing.assert_allclose(runs[1].q[:, 0], np.sin(times), atol=1e-8)
    sampled = da.controller(cart, period=1e-2)
    runs = [da.simulate(cart, *start, times, solver=s, control=sampled) for s in (None, da.Implicit())]
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-8)


def test_what_needs_the_general_integrator_is_refused() -> None:
    with pytest.raises(da.InputError, match=r"`da.Implicit\(\)` must be .* the formulation Multipliers. Leave"):
        da.simulate(DRIVEN, (1, 0), (0, 0), (0, 1), solver=da.Implicit(), formulation=da.Multipliers())
    oscillator = da.FunctionSystem(mass_matrix=lambda q, qd, t, p: jnp.eye(1), applied_force=lambda q, qd, t, p: -q)
    with pytest.raises(da.InputError, match=r"a function that cannot be compiled.*`solver=diffrax.Kvaerno5\(\)`"):
        da.simulate(oscillator, (1,), (0,), (0, 1), solver=da.Implicit())
    with pytest.raises(da.InputError, match=r"`solver` of `da.flow` must be one of diffrax"):
        da.flow(DRIVEN, times=(0, 1), solver=da.Implicit())
    run = da.simulate(DRIVEN, (1, 0), (0, 0), (0, 1), solver=da.Implicit())
    with pytest.raises(da.InputError, match="got `solver` Implicit"):
        run.page("unused.html")


def test_a_motion_that_ends_does_not_advise_what_was_done() -> None:
    falling = da.System((x,), [[1]], (-1 / x**2,))
    with pytest.raises(da.SimulationError) as refusal:
        da.simulate(falling, (1,), (0,), (0, 2), solver=da.Implicit())
    assert "da.Implicit" not in str(refusal.value)
