"""Verdicts come within seconds and without an error, however hard the algebra that would only adorn them."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import pytest
import sympy as sp

import dalembert as da
from dalembert.analysis import bounded
from helpers import quick_first

D = lambda q: q.diff(da.t)  # noqa: E731
x, y, z = da.coordinates("x y z")


NO_HANG = 30
"""Seconds of processor time that tell a slow machine, which needs up to six, from a search without end."""


def seconds(verb: Callable[[da.System], Any], system: da.System) -> tuple[Any, float]:
    """Return the answer of a function, and the processor time it takes."""
    start = time.process_time()
    found = verb(system)
    return found, time.process_time() - start


def chain(lengths: list[float], masses: list[float]) -> da.System:
    """A pendulum of several links, by the angles from the vertical."""
    q = da.coordinates(" ".join(f"q{k}" for k in range(len(lengths))))
    across = down = lagrangian = sp.S.Zero
    for angle, length, mass in zip(q, lengths, masses, strict=True):
        across, down = across + length * sp.sin(angle), down + length * sp.cos(angle)
        lagrangian += mass * (D(across) ** 2 + D(down) ** 2) / 2 + mass * 9.81 * down
    return da.System.from_lagrangian(lagrangian, q)


def test_four_links_with_decimal_lengths() -> None:
    """The determinant of M has no zero, but its factors were looked for during more than 400 s."""
    verdict, taken = seconds(da.check, chain([0.53, 0.37, 0.71, 0.29], [1.1, 0.7, 1.3, 0.9]))
    assert verdict.well_posed and verdict.mass_matrix == "positive definite"
    assert taken < NO_HANG


def test_transcendental_mass() -> None:
    verdict, taken = seconds(da.check, da.System((x, y), [[2 + sp.exp(-((0.53 * x) ** 2)), 0], [0, 1]], (0, 0)))
    assert verdict.well_posed and taken < NO_HANG


@pytest.mark.parametrize("trouble", [sp.PolynomialError, NotImplementedError, NameError, RecursionError])
def test_no_error_of_sympy_spoils_a_verdict(trouble: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> None:
        raise trouble("no")

    monkeypatch.setattr(sp, "factor_list", fails)
    verdict = da.check(da.System((x, y), [[x - 1, 0], [0, 1]], (0, 0)))
    assert verdict.well_posed
    assert f"no equation is given for them: SymPy fails ({trouble.__name__})" in str(verdict)


def test_what_is_not_shown_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded, "DEFAULT_SECONDS", 0.0)
    mass = da.check(da.System((x, y), [[x - 1, 0], [0, 1]], (0, 0)))
    assert "singular at some states; no equation is given for them: it would take longer than" in str(mass)
    leaf = da.classify(da.System((x, y), sp.eye(2), (0, 0), da.Constraint(y * D(x) + x * D(y), name="leaf")))
    assert leaf.constraints[0].holonomic
    assert "leaf: its integral is not shown: it would take longer than" in str(leaf)
    assert "the derived flag is not confirmed by symbols: it would take longer than" in str(leaf)


def test_integrals_made_of_special_functions() -> None:
    """∫ exp(−x)/x² dx is an exponential integral, for which neither NumPy nor SciPy has SymPy's name."""
    found = da.classify(da.System((x, y), sp.eye(2), (0, 0), da.Constraint(sp.exp(-x) / x**2 * D(x) + D(y))))
    (row,) = found.constraints
    assert row.holonomic and found.integrals == (row.integral,)
    u = sp.Symbol("u", positive=True)
    slope = row.integral.subs(x, u).diff(u)
    assert float((slope - sp.exp(-u) / u**2).subs(u, 0.7)) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("verb", [da.check, da.classify, da.reduce])
def test_functions_that_cannot_be_computed_are_refused_by_name(verb: Any) -> None:
    system = da.System((x, y), sp.eye(2), (0, 0), da.Constraint(sp.zeta(2 + x**2) * D(x) + D(y)))
    with pytest.raises(da.ModelError, match=r"needs functions that SymPy can differentiate.*zeta"):
        verb(system)


def number(draw: random.Random) -> Any:
    return draw.choice([round(draw.uniform(0.1, 3), draw.randint(1, 4)), draw.randint(1, 5), draw.uniform(0.1, 2)])


def term(draw: random.Random, q: Any, p: Any) -> Any:
    """A random function of random coordinates and parameters with decimal coefficients."""
    u, v, c = draw.choice(q), draw.choice(q), number(draw)
    made = [
        lambda: sp.exp(-((c * u) ** 2)),
        lambda: sp.sin(c * u + number(draw) * v),
        lambda: draw.choice(p) * sp.cos(c * u),
        lambda: sp.sqrt(1 + c * u**2),
        lambda: sp.log(2 + u**2),
        lambda: sp.tanh(c * u),
        lambda: c * u * v,
        lambda: 1 / (c + u**2),
        lambda: sp.erf(c * u),
        lambda: (1 + u**2) ** 0.37,
        lambda: draw.choice(p) * u**3,
    ]
    return draw.choice(made)()


def constraint(draw: random.Random, q: Any, p: Any) -> Any:
    f = sp.Add(*(number(draw) * term(draw, q, p) for _ in range(draw.randint(1, 3))))
    made = [
        lambda: f - number(draw) * draw.choice(q) - number(draw),
        lambda: sp.Add(*(term(draw, q, p) * D(v) for v in q)) - draw.choice([0, 1]) * number(draw),
        lambda: sp.expand((number(draw) + draw.choice(q) ** 2) * D(f + q[0])),
        lambda: D(q[0]) ** 2 + number(draw) * D(q[1]) ** 2 - number(draw),
    ]
    return draw.choice(made)()


def random_system(seed: int) -> da.System:
    draw = random.Random(seed)
    n = draw.randint(2, 4)
    q, p = da.coordinates(" ".join("xyzu"[:n])), da.parameters("a b c k m")
    constraints = [da.Constraint(constraint(draw, q, p), name=f"c{k}") for k in range(draw.randint(0, 2))]
    if seed % 3 == 0:
        lagrangian = sp.S.Zero
        for v in q:
            place = number(draw) * v + number(draw) * term(draw, q, p) + number(draw) * term(draw, q, p)
            lagrangian += number(draw) * D(place) ** 2 / 2 - number(draw) * place
        return da.System.from_lagrangian(lagrangian, q, constraints=constraints)
    G = sp.Matrix(n, n, lambda i, j: term(draw, q, p) if draw.random() < 0.4 else 0)
    M = sp.diag(*(number(draw) + term(draw, q, p) ** 2 for _ in range(n))) + (G * G.T if seed % 3 == 1 else sp.zeros(n))
    return da.System(q, M, [term(draw, q, p) for _ in range(n)], constraints)


@pytest.mark.parametrize("seed", quick_first(range(24), range(6)))
def test_random_systems_are_judged_in_time(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded, "DEFAULT_SECONDS", 0.1)
    monkeypatch.setattr(bounded, "BUDGET", 0.3)
    system = random_system(seed)
    for verb in (da.check, da.classify):
        found, taken = seconds(verb, system)
        assert str(found)
        assert taken < NO_HANG
