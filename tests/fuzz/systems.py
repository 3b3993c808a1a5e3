"""Random constrained systems, each stated twice: to the library in symbols, and here in NumPy by hand.

Notation: u are coordinates of the order of one, s a time of the order of one; the library sees q = D u and t = T s,
with a diagonal D and a number T that change the units. All formulas here are for u and s: M u″ = Q + Qᶜ, A u″ = b.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sympy as sp

import dalembert as da

Row = tuple[np.ndarray, float, float, float]
"""A (n,), b, and the residuals at position and velocity level."""


@dataclass
class Problem:
    """A random system: its numbers, its constraints as (kind, numbers), and the units in which the library sees it."""

    seed: int
    units: np.ndarray
    time_unit: float
    inertia: np.ndarray
    coupling: np.ndarray
    stiffness: np.ndarray
    damping: float
    push: np.ndarray
    rows: list[tuple[str, Any]] = field(default_factory=list)
    factors: list[float] = field(default_factory=list)

    @property
    def n(self) -> int:
        return len(self.units)

    def mass(self, u: np.ndarray) -> np.ndarray:
        return np.diag(self.inertia * (1 + 0.3 * np.sin(u) ** 2)) + self.coupling

    def force(self, u: np.ndarray, v: np.ndarray, s: float) -> np.ndarray:
        return -self.stiffness @ u - self.damping * v + self.push * np.cos(2 * s)

    def terms(self, u: np.ndarray, v: np.ndarray, s: float) -> tuple[np.ndarray, ...]:
        """M, Q, A, b and both residuals."""
        found = [ROWS[kind][1](numbers, u, v, s) for kind, numbers in self.rows]
        A = np.array([row[0] for row in found]).reshape(-1, self.n)
        b, position, velocity = (np.array([row[k] for row in found], float) for k in (1, 2, 3))
        return self.mass(u), self.force(u, v, s), A, b, position, velocity

    def acceleration(self, u: np.ndarray, v: np.ndarray, s: float) -> np.ndarray:
        """u″, by singular values of the rows in the metric of the masses."""
        M, Q, A, b, *_ = self.terms(u, v, s)
        return acceleration(M, Q, A, b)

    def system(self) -> da.System:
        """Return the system as it is given to the library."""
        q = da.coordinates([f"q{i}" for i in range(self.n)])
        q = q if isinstance(q, tuple) else (q,)
        D = [sp.Float(float(unit)) for unit in self.units]
        T = sp.Float(self.time_unit)
        u = [coordinate / unit for coordinate, unit in zip(q, D, strict=True)]
        v = [coordinate.diff(da.t) * T / unit for coordinate, unit in zip(q, D, strict=True)]
        a = [coordinate.diff(da.t, 2) * T**2 / unit for coordinate, unit in zip(q, D, strict=True)]
        s = da.t / T
        # M u″ = Q in these coordinates, times the units of a force in those: M_q = D⁻¹ M D⁻¹ T², Q_q = D⁻¹ Q
        M = sp.diag(*(m * (1 + sp.Float(0.3) * sp.sin(x) ** 2) for m, x in zip(self.inertia, u, strict=True)))
        M = M + sp.Matrix(self.coupling)
        Q = -sp.Matrix(self.stiffness) * sp.Matrix(u) - self.damping * sp.Matrix(v)
        Q = Q + sp.Matrix(self.push) * sp.cos(2 * s)
        scale = sp.diag(*(1 / unit for unit in D))
        constraints = [
            da.Constraint(factor * ROWS[kind][0](numbers, u, v, a, s), name=f"{kind} {k}")
            for k, ((kind, numbers), factor) in enumerate(zip(self.rows, self.factors, strict=True))
        ]
        return da.System(q, scale * M * scale * T**2, list(scale * Q), constraints)

    def given(self, u: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A state in the units of the library."""
        return self.units * u, self.units * v / self.time_unit


def acceleration(M: np.ndarray, Q: np.ndarray, A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The fundamental equation, in coordinates of the order of one."""
    half = np.linalg.inv(np.linalg.cholesky(M)).T
    a = np.linalg.solve(M, Q)
    sizes = np.linalg.norm(A @ half, axis=1)
    sizes = np.where(sizes > 0, sizes, 1)
    y, *_ = np.linalg.lstsq(A @ half / sizes[:, None], (b - A @ a) / sizes, rcond=1e-9)
    return a + half @ y


def condition(M: np.ndarray, A: np.ndarray) -> float:
    """One over the smallest singular value, of those that are not zero, of the rows at unit length."""
    if not len(A):
        return 1.0
    half = np.linalg.inv(np.linalg.cholesky(M)).T
    B = A @ half
    values = np.linalg.svd(B / np.linalg.norm(B, axis=1, keepdims=True), compute_uv=False)
    return float(1 / values[values > 1e-9].min())


def _sphere(k: Any, u: Any, v: Any, a: Any, s: Any) -> Any:
    places, center, radius = k
    return sum((u[i] - c) ** 2 for i, c in zip(places, center, strict=True)) - radius**2


def _sphere_row(k: Any, u: np.ndarray, v: np.ndarray, s: float) -> Row:
    places, center, radius = k
    A = np.zeros_like(u)
    A[places] = 2 * (u[places] - center)
    return A, -2 * v[places] @ v[places], (u[places] - center) @ (u[places] - center) - radius**2, A @ v


def _drive(k: Any, u: Any, v: Any, a: Any, s: Any) -> Any:
    slopes, offset, size, rate = k
    return sum(c * x for c, x in zip(slopes, u, strict=True)) - offset - size * sp.sin(rate * s)


def _drive_row(k: Any, u: np.ndarray, v: np.ndarray, s: float) -> Row:
    slopes, offset, size, rate = k
    wave, speed = size * np.sin(rate * s), size * rate * np.cos(rate * s)
    return slopes, -(rate**2) * wave, slopes @ u - offset - wave, slopes @ v - speed


def _curve(k: Any, u: Any, v: Any, a: Any, s: Any) -> Any:
    i, j, offset = k
    return sp.sin(u[i]) + u[j] - offset


def _curve_row(k: Any, u: np.ndarray, v: np.ndarray, s: float) -> Row:
    i, j, offset = k
    A = np.zeros_like(u)
    A[i], A[j] = np.cos(u[i]), 1
    return A, np.sin(u[i]) * v[i] ** 2, np.sin(u[i]) + u[j] - offset, A @ v


def _skate(k: Any, u: Any, v: Any, a: Any, s: Any) -> Any:
    i, j, m, bend = k
    return v[i] - (bend + u[m]) * v[j]


def _skate_row(k: Any, u: np.ndarray, v: np.ndarray, s: float) -> Row:
    i, j, m, bend = k
    A = np.zeros_like(u)
    A[i], A[j] = 1, -(bend + u[m])
    return A, v[m] * v[j], 0.0, A @ v


def _speed(k: Any, u: Any, v: Any, a: Any, s: Any) -> Any:
    i, j, squared = k
    return v[i] ** 2 + v[j] ** 2 - squared


def _speed_row(k: Any, u: np.ndarray, v: np.ndarray, s: float) -> Row:
    i, j, squared = k
    A = np.zeros_like(u)
    A[i], A[j] = 2 * v[i], 2 * v[j]
    return A, 0.0, 0.0, v[i] ** 2 + v[j] ** 2 - squared


def _servo(k: Any, u: Any, v: Any, a: Any, s: Any) -> Any:
    slopes, size = k
    return sum(c * x for c, x in zip(slopes, a, strict=True)) - size * sp.cos(s)


def _servo_row(k: Any, u: np.ndarray, v: np.ndarray, s: float) -> Row:
    slopes, size = k
    return slopes, size * np.cos(s), 0.0, 0.0


ROWS = {
    "sphere": (_sphere, _sphere_row),
    "drive": (_drive, _drive_row),
    "curve": (_curve, _curve_row),
    "skate": (_skate, _skate_row),
    "speed": (_speed, _speed_row),
    "servo": (_servo, _servo_row),
}


def random_problem(seed: int) -> tuple[Problem, np.ndarray, np.ndarray]:
    """A problem and a state (u, v) that satisfies its constraints at s = 0, redundant rows among them."""
    rng = np.random.default_rng((20261116, seed))
    n = int(rng.integers(2, 6))
    basis = rng.normal(size=(n, n))
    wide = rng.random() < 0.7
    problem = Problem(
        seed=seed,
        units=10.0 ** rng.uniform(-9, 9, n) if wide else np.ones(n),
        time_unit=float(10.0 ** rng.uniform(-6, 6)) if wide else 1.0,
        inertia=10.0 ** rng.uniform(-1, 1, n),
        coupling=0.05 * basis @ basis.T * (rng.random() < 0.5),
        stiffness=np.diag(rng.uniform(0, 3, n)),
        damping=float(rng.uniform(0, 0.3)),
        push=rng.normal(size=n),
    )
    u, v = rng.uniform(-1, 1, n), rng.normal(size=n)
    for _ in range(int(rng.integers(1, n))):
        _add_row(problem, rng, u, v)
    if rng.random() < 0.4:  # a row once more, at another scale
        again = int(rng.integers(len(problem.rows)))
        problem.rows.append(problem.rows[again])
        problem.factors.append(float(10.0 ** rng.uniform(-6, 6)))
    return problem, u, _on_velocity_constraints(problem, u, v)


def _add_row(problem: Problem, rng: np.random.Generator, u: np.ndarray, v: np.ndarray) -> None:
    n = problem.n
    kind = str(rng.choice(["sphere", "drive", "curve", "skate", "servo", "speed"], p=[0.25, 0.2, 0.2, 0.15, 0.1, 0.1]))
    i, j, m = (int(k) for k in rng.permutation(max(n, 3))[:3] % n)
    j = j if j != i else (i + 1) % n
    if kind == "sphere":
        places = rng.permutation(n)[: min(n, 3)]
        center = u[places] + rng.normal(size=len(places)) + 0.3
        numbers: Any = (places, center, float(np.linalg.norm(u[places] - center)))
    elif kind == "drive":
        slopes = rng.normal(size=n)
        numbers = (slopes, float(slopes @ u), float(rng.uniform(0, 0.5)), float(rng.uniform(0.5, 3)))
    elif kind == "curve":
        numbers = (i, j, float(np.sin(u[i]) + u[j]))
    elif kind == "skate":
        numbers = (i, j, m, float(rng.uniform(1.5, 2.5)))
    elif kind == "speed":
        if any(other == "speed" for other, _ in problem.rows):
            return
        numbers = (i, j, None)
    else:
        numbers = (rng.normal(size=n), float(rng.normal()))
    problem.rows.append((kind, numbers))
    problem.factors.append(float(10.0 ** rng.uniform(-6, 6)))


def _on_velocity_constraints(problem: Problem, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The velocity projected on all rows that prescribe it; a prescribed speed is then what has come out."""
    linear = [(kind, k) for kind, k in problem.rows if kind not in ("speed", "servo")]
    found = [ROWS[kind][1](k, u, v, 0.0) for kind, k in linear]
    if found:
        A, miss = np.array([row[0] for row in found]), np.array([row[3] for row in found])
        for _ in range(3):
            v = v - np.linalg.pinv(A, rcond=1e-10) @ miss
            miss = np.array([ROWS[kind][1](k, u, v, 0.0)[3] for kind, k in linear])
    problem.rows = [
        (kind, (k[0], k[1], float(v[k[0]] ** 2 + v[k[1]] ** 2))) if kind == "speed" else (kind, k)
        for kind, k in problem.rows
    ]
    return v
