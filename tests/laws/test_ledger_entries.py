"""Every entry of a ledger is the work of its own force, on random systems: drives, laws, redundant constraints."""

from typing import Any

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.analysis import run_ledger
from dalembert.analysis.energy_terms import ledger_terms
from dalembert.model.symbols import plain_multiplier
from random_systems import random_system

INTERVALS = 40


def gauss_times(end: float) -> tuple[np.ndarray, np.ndarray]:
    """Times with both ends of every interval among them, and their weights in an integral."""
    place, weight = np.polynomial.legendre.leggauss(5)
    half = end / INTERVALS / 2
    starts = np.linspace(0, end, INTERVALS + 1)[:-1, None]
    times = np.concatenate([starts, starts + half * (1 + place)], axis=1).ravel()
    return np.append(times, end), np.append(np.tile(np.append(0.0, half * weight), INTERVALS), 0.0)


def powers_of(system: da.System, run: da.Trajectory) -> np.ndarray:
    """By SymPy and NumPy: a constraint's is −λ ∂φ/∂t, or −λ ψ at q̇ = 0; a law's is C·q̇, with the λ that it asks for."""
    symbols = system.symbols
    ideal = [plain_multiplier(name) for name in system.constraint_names]
    actual = [sp.Symbol(f"actual{k}") for k in range(len(ideal))]
    rates = dict.fromkeys(symbols.qd, 0)
    found: list[Any] = []
    for constraint, reaction in zip(system.constraints, actual, strict=True):
        residual = symbols.plain(constraint.expression)
        if constraint.level == "acceleration":
            slopes = [residual.diff(a) for a in symbols.qdd]
            found.append(reaction * sum(s * v for s, v in zip(slopes, symbols.qd, strict=True)))
        else:
            moving = residual.diff(symbols.time) if constraint.level == "position" else residual.xreplace(rates)
            found.append(-reaction * moving)
    for placed in system.laws:
        C = [symbols.plain(sp.sympify(c)) for c in placed.law.components(system.coordinates)]
        power = sum(c * v for c, v in zip(C, symbols.qd, strict=True))
        found.append(power.xreplace(dict(zip(ideal, actual, strict=True))) if placed.actual else power)
    arguments = [symbols.time, *symbols.q, *symbols.qd, *ideal, *actual]
    compute: Any = sp.lambdify(arguments, found, cse=True)
    values = compute(run.t, *run.q.T, *run.qd.T, *run.multipliers.T, *run.reactions.T)
    return np.stack([np.broadcast_to(value, run.t.shape) for value in values], axis=1)


@pytest.mark.parametrize("chunk", [0, 1, *(pytest.param(chunk, marks=pytest.mark.slow) for chunk in (2, 3))])
def test_random_systems(chunk: int) -> None:
    for seed in range(9 * chunk, 9 * chunk + 9):
        system, q0, qd0 = random_system(seed)
        times, weights = gauss_times(1.0)
        run = da.simulate(system, q0, qd0, times, rtol=1e-11, atol=1e-12)
        ledger = run.ledger()
        powers = powers_of(system, run)
        scale = 1 + np.abs(powers).max()
        np.testing.assert_allclose(ledger.power[:, 1:], powers, rtol=0, atol=1e-9 * scale, err_msg=str(seed))
        # |N| has a kink where N changes its sign, which no quadrature over equal intervals knows
        bent = any(isinstance(placed.law, da.Coulomb) for placed in system.laws)
        np.testing.assert_allclose(ledger.work[-1, 1:], weights @ powers, rtol=0, atol=(1e-6 if bent else 1e-9) * scale)
        forces = np.sum((run.ideal_force, run.nonideal_force), axis=0)
        np.testing.assert_allclose(ledger.force[:, 1:].sum(axis=1), forces, rtol=0, atol=1e-9 * scale)
        both = np.stack([ledger.ideal_power, ledger.nonideal_power])
        papers = [np.sum(force * run.qd, axis=1) for force in (run.ideal_force, run.nonideal_force)]
        np.testing.assert_allclose(both, papers, rtol=0, atol=1e-9 * scale)
        np.testing.assert_allclose(ledger.split_work.sum(axis=1), ledger.work.sum(axis=1), rtol=0, atol=1e-9 * scale)
        assert np.abs(ledger.audit).max() < (1e-6 if bent else 1e-8) * scale


RIPPLE, PULSE, SHARP = (
    -5 * sp.sin(40 * da.t),
    -100 * sp.exp(-100 * (da.t - 5) ** 2),
    -100 * sp.exp(-1e4 * (da.t - 5) ** 2),
)


@pytest.mark.parametrize(
    ("load", "work"),
    [
        (RIPPLE, 5 * (1 - np.cos(404)) / 40),
        (PULSE, 100 * np.sqrt(np.pi / 100)),
        (SHARP, 100 * np.sqrt(np.pi / 1e4)),
    ],
)
@pytest.mark.parametrize("by", ["drive", "servo", "implicit"])
def test_work_where_the_motion_is_prescribed(load: Any, work: float, by: str) -> None:
    """x = t takes six steps, whatever the load on it is; in closed form, and in an audit the errors would cancel."""
    x = da.coordinates("x")
    servo = da.Servo("course", x - da.t, by=da.Actuator("motor", x), settle=1)
    rows: dict[str, Any] = (
        {"servos": servo} if by == "servo" else {"constraints": da.Constraint(x - da.t, name="motor")}
    )
    system = da.System((x,), [[1]], (load.subs(da.t, x),), **rows)
    run = da.simulate(system, (0,), (1,), [0, 10.1], solver=da.Implicit() if by == "implicit" else None)
    ledger = run.ledger()
    assert run.statistics["steps"] < 100
    np.testing.assert_allclose([ledger["motor"][-1], -ledger["applied forces"][-1]], work, rtol=1e-9)
    assert ledger.notes == ()


def test_work_of_friction_whose_normal_force_changes_its_sign() -> None:
    """A guide pressed by 10 cos 3x; |cos| is integrated piece by piece."""
    x, y = da.coordinates("x y")
    friction = da.Coulomb(0.5, velocity=x.diff(da.t), normal_force=da.multiplier("guide"))
    rows = da.Constraint(x - da.t, name="motor"), da.Constraint(y, name="guide", nonideal=friction)
    system = da.System((x, y), sp.eye(2), (0, -10 * sp.cos(3 * x)), rows)
    ledger = da.simulate(system, (0, 0), (1, 0), [0, 4, 10]).ledger()
    signs = int(30 / np.pi + 0.5)  # of the cosine, from 0 to 10
    expected = 5 / 3 * (2 * signs + (-1) ** signs * np.sin(30))
    np.testing.assert_allclose([ledger["motor"][-1], -ledger["guide: Coulomb"][-1]], expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("push", "work"),
    [
        (sp.Heaviside(da.t - 1.2345678), np.sin(5) - np.sin(1.2345678)),
        (
            sp.Piecewise((1, da.t < 0.7), (-3, da.t < 2.9), (10, True)),
            4 * np.sin(0.7) - 13 * np.sin(2.9) + 10 * np.sin(5),
        ),
    ],
)
def test_jumps_that_the_motion_does_not_feel(push: Any, work: float) -> None:
    """x = sin t is prescribed; the integral of cos t times a step."""
    x = da.coordinates("x")
    system = da.System((x,), [[1]], {"push": (push,)}, da.Constraint(x - sp.sin(da.t), name="drive"))
    ledger = da.simulate(system, (0,), (1,), [0, 5]).ledger()
    np.testing.assert_allclose(ledger["push"][-1], work, atol=1e-11)
    assert ledger.notes == ()


def test_named_forces_that_cancel_are_integrated_one_by_one() -> None:
    x = da.coordinates("x")
    ripple = -5 * sp.sin(40 * x)
    system = da.System((x,), [[1]], {"load": (ripple,), "help": (-ripple,)})
    ledger = da.simulate(system, (0,), (1,), [0, 10.1]).ledger()
    np.testing.assert_allclose([-ledger["load"][-1], ledger["help"][-1]], 5 * (1 - np.cos(404)) / 40, rtol=1e-9)


def test_large_systems_say_that_the_powers_vary_faster_than_the_motion() -> None:
    x, u = da.coordinates("x", 400), da.coordinates("u")
    drives = da.Constraint.over(u - da.t, {u: x}, name="motor")
    for rate, notes in ((40, 0), (4000, 1)):
        load = da.AppliedForce.over({u: -5 * sp.sin(rate * u)}, {u: x})
        system = da.System((x,), 1, load, drives)
        ledger = da.simulate(system, np.zeros(400), np.ones(400), [0, 10.1]).ledger()
        assert len(ledger.notes) == notes
        if not notes:
            np.testing.assert_allclose(ledger["motor[7]"][-1], 5 * (1 - np.cos(404)) / 40, rtol=1e-7)
    assert "may be off by" in ledger.notes[0] and "Pass a smaller `max_step`." in ledger.notes[0]


def block_on_an_incline() -> da.Trajectory:
    x, y = da.coordinates("x y")
    plane = da.Constraint(y - x / 3, name="plane", nonideal=da.Coulomb(0.6))
    return da.simulate(da.System((x, y), sp.eye(2), (0, -9.81), plane), (1.0, 1 / 3), (0, 0), [0, 1, 3])


def rod_that_falls_flat() -> da.Trajectory:
    """Without motion at both outputs; in the end it sticks at both ends."""
    x, y, a = da.coordinates("x y a")
    ends = []
    for name, side in (("left", -1), ("right", 1)):
        tip = (x + side * sp.cos(a), y + side * sp.sin(a))
        friction = da.Coulomb(0.5, velocity=tip[0].diff(da.t), normal_force=da.multiplier(name))
        ends.append(da.Constraint(sp.Ge(tip[1], 0), name=name, restitution=0, nonideal=friction, impact="poisson"))
    rod = da.System((x, y, a), sp.diag(1, 1, sp.Rational(1, 3)), (0, -10, 0), ends)
    return da.simulate(rod, (0, 1, 0.2), (0, 0, 0), [0, 3])


@pytest.mark.parametrize("at_rest", [block_on_an_incline, rod_that_falls_flat])
def test_work_of_rounding_at_rest_is_not_refined(at_rest: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Powers of 1e-42 W were integrated to eight digits, at two million states."""
    run, states = at_rest(), list[int]()
    monkeypatch.setattr(run_ledger, "ledger_terms", lambda *given: states.append(len(given[2])) or ledger_terms(*given))
    ledger = run.ledger()
    assert sum(states) < 20_000
    assert ledger.closure < 1
