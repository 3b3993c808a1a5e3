"""Small random systems in symbols, for laws that must hold for all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

import dalembert as da

LEVELS = ("position", "velocity", "acceleration")


def random_system(seed: int, *, off: float = 0.0, redundant: bool = True) -> tuple[da.System, np.ndarray, np.ndarray]:
    """A system of two to four coordinates and a start; constraints and laws of all kinds take turns with the seed.

    Rows that depend on one another do so everywhere, not only where the constraints hold. The start misses the
    constraints by about ``off``.
    """
    rng = np.random.default_rng((17, seed))
    n = 2 + seed % 2 + (seed % 10 == 0)
    q = da.coordinates([f"q{i}" for i in range(n)])
    q0, qd0 = rng.normal(size=n), rng.normal(size=n)
    constraints: list[da.Constraint] = []
    for k in range(1 + seed % (n - 1)):
        level = LEVELS[(seed // 2 + k) % 3]
        name = f"{level} {k}"
        residual = _met_by(_residual(rng, q, level), dict(zip(q, zip(q0, qd0, strict=True), strict=True)), level)
        constraints.append(da.Constraint(residual, name=name, nonideal=() if k else _law(seed, rng, q, name)))
    if redundant and seed % 3 == 2 and not any(isinstance(law, da.Coulomb) for law in constraints[0].nonideal):
        # with redundant rows machine code leaves multipliers, which friction needs, to the general integrator
        constraints.append(da.Constraint(3 * constraints[-1].expression, name="once more"))
    system = da.System(q, _mass(rng, q), _force(rng, q), constraints, nonideal=_whole(seed, rng))
    return system, q0 + off * rng.normal(size=n), qd0 + off * rng.normal(size=n)


def _rounded(values: Any) -> list[Any]:
    return [sp.Rational(round(1000 * float(v)), 1000) for v in np.ravel(values)]


def _mass(rng: np.random.Generator, q: Any) -> Any:
    basis = sp.Matrix(len(q), len(q), _rounded(0.4 * rng.normal(size=len(q) ** 2)))
    return basis * basis.T + sp.eye(len(q)) + sp.diag(*(sp.sin(x) / 4 for x in q))


def _force(rng: np.random.Generator, q: Any) -> list[Any]:
    given = zip(q, *(_rounded(rng.normal(size=len(q))) for _ in range(3)), strict=True)
    return [-x - u * x**3 / 10 + v * sp.sin(2 * da.t) - abs(w) * x.diff(da.t) / 5 for x, u, v, w in given]


def _residual(rng: np.random.Generator, q: Any, level: str) -> Any:
    """A sum of the highest derivatives, something nonlinear, and something that changes with time."""
    a, (b, c) = _rounded(rng.uniform(0.4, 1.2, len(q)) * rng.choice([-1, 1], len(q))), _rounded(rng.normal(size=2))
    order = LEVELS.index(level)
    top = sum(u * (x.diff(da.t, order) if order else x) for u, x in zip(a, q, strict=True))
    bent = {
        "position": q[0] ** 2 / 4,
        "velocity": sp.sin(q[0]) * q[1].diff(da.t) / 3,
        "acceleration": q[0].diff(da.t) * q[1].diff(da.t) / 3,
    }[level]
    return top + b * bent + c * sp.sin(da.t) / 3


def _met_by(residual: Any, state: dict[Any, tuple[float, float]], level: str) -> Any:
    """The residual less what makes it vanish, with its time derivative, at t = 0 and a state (q, q̇) by coordinate."""
    if level == "acceleration":
        return residual

    def value(expression: Any) -> float:
        known = {x.diff(da.t): rate for x, (_, rate) in state.items()}
        return float(expression.xreplace(known).xreplace({x: place for x, (place, _) in state.items()} | {da.t: 0}))

    offset = value(residual)
    return residual - offset - (value(residual.diff(da.t)) * da.t if level == "position" else 0)


def _law(seed: int, rng: np.random.Generator, q: Any, name: str) -> Any:
    (mu,) = _rounded(rng.uniform(0.05, 0.3, 1))
    v = q[0].diff(da.t) + q[1].diff(da.t) / 2
    friction: dict[str, Any] = {"velocity": v, "normal_force": da.multiplier(name), "smoothing": sp.Rational(1, 2)}
    laws: list[Any] = [
        (),
        da.Viscous(mu, velocity=v),
        da.Quadratic(mu, velocity=(v, q[1].diff(da.t))),
        da.Coulomb(mu, normal="ideal", **friction),
        da.Coulomb(mu, normal="actual", **friction),
        da.Prescribed([mu * sp.cos(da.t) * x for x in q]),
    ]
    return laws[(seed // 3) % len(laws)]


def _whole(seed: int, rng: np.random.Generator) -> Any:
    """A law of the whole system, sometimes."""
    (a0,) = _rounded(rng.uniform(0.05, 0.3, 1))
    return {0: da.Quadratic(a0), 1: da.Viscous(a0)}.get(seed % 5, ())
