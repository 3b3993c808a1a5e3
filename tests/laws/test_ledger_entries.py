"""Every entry of a ledger is the work of its own force, on random systems: drives, laws, redundant constraints."""

from typing import Any

import numpy as np
import pytest
import sympy as sp

import dalembert as da
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
