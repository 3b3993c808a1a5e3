# SPDX-License-Identifier: BSD-3-Clause
"""The planar chain of point masses on rods: as a system, as a reader of the papers writes it, and to more digits."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import sympy as sp
from scipy.integrate import solve_ivp
from scipy.linalg import solveh_banded

import dalembert as da

NUMBERS = {"m": 1.0, "g": 9.81, "l": 1.0}


def chain(links: int) -> da.System:
    """A planar chain of point masses on rods: 2·links coordinates, one constraint per link."""
    q = da.coordinates([f"{axis}{k}" for k in range(links) for axis in "xy"])
    m, g, length = da.parameters("m g l")
    points = [(sp.S.Zero, sp.S.Zero), *zip(q[::2], q[1::2], strict=True)]
    rods = tuple(
        da.Constraint((b[0] - a[0]) ** 2 + (b[1] - a[1]) ** 2 - length**2, name=f"rod {k}")
        for k, (a, b) in enumerate(pairwise(points))
    )
    return da.System(q, m * sp.eye(2 * links), [0, -m * g] * links, rods)


def chain_state(links: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A consistent state of the chain: links at random angles, turning at random rates."""
    rng = np.random.default_rng(seed)
    angle, rate = rng.uniform(-3, 3, links), rng.normal(size=links)
    steps = np.stack([np.sin(angle), -np.cos(angle)], axis=1)
    speeds = np.stack([np.cos(angle), np.sin(angle)], axis=1) * rate[:, None]
    return np.cumsum(steps, axis=0).ravel(), np.cumsum(speeds, axis=0).ravel()


def stretched(links: int) -> tuple[np.ndarray, np.ndarray]:
    """The chain stretched out sideways and at rest."""
    q = np.stack([np.arange(1.0, links + 1), np.zeros(links)], axis=1).ravel()
    return q, np.zeros(2 * links)


def numpy_acceleration(q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """q̈ = a + M^(-1/2) B⁺ (b − A a), literally, with NumPy's eigenvalues and pseudo-inverse."""
    m, g = NUMBERS["m"], NUMBERS["g"]
    n = len(q)
    M = m * np.eye(n)
    Q = np.tile([0.0, -m * g], n // 2)
    steps, speeds = np.diff(q.reshape(-1, 2), axis=0, prepend=0.0), np.diff(qd.reshape(-1, 2), axis=0, prepend=0.0)
    A = np.zeros((n // 2, n))
    for k, step in enumerate(steps):
        A[k, 2 * k : 2 * k + 2] = 2 * step
        if k:
            A[k, 2 * k - 2 : 2 * k] = -2 * step
    b = -2 * np.sum(speeds**2, axis=1)
    values, vectors = np.linalg.eigh(M)
    inverse_root = (vectors / np.sqrt(values)) @ vectors.T
    a = np.linalg.solve(M, Q)
    return a + inverse_root @ np.linalg.pinv(A @ inverse_root) @ (b - A @ a)


def exact_acceleration(q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """The same to more digits than a double has, by elimination of the rods' tensions from neighbour to neighbour."""
    return _by_tensions(q.astype(np.longdouble), qd.astype(np.longdouble), _eliminated)


def exact_positions(q: np.ndarray, qd: np.ndarray, end: float) -> np.ndarray:
    """Return the coordinates of the chain after some time."""
    return exact_state(q, qd, end)[0]


def exact_state(q: np.ndarray, qd: np.ndarray, end: float) -> tuple[np.ndarray, np.ndarray]:
    """Positions and velocities after some time, by SciPy's integrator at its tightest; nothing of ours is in it."""
    n = len(q)

    def rates(_: float, y: np.ndarray) -> np.ndarray:
        return np.concatenate([y[n:], _by_tensions(y[:n], y[n:], _banded)])

    start = np.concatenate([q, qd])
    last = solve_ivp(rates, (0.0, end), start, method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
    return last[:n], last[n:]


def _by_tensions(q: Any, qd: Any, solve: Any) -> Any:
    """q̈ from the tensions τ of the rods: point k is pulled back by its own rod and on by the next one.

    Twice differentiated, dₖ² = l² says dₖ·d̈ₖ = −ḋₖ², a tridiagonal system for τ.
    """
    m, g = NUMBERS["m"], NUMBERS["g"]
    d, speeds = np.diff(q.reshape(-1, 2), axis=0, prepend=0), np.diff(qd.reshape(-1, 2), axis=0, prepend=0)
    diagonal = 2 * np.sum(d**2, axis=1) / m
    diagonal[0] /= 2  # its other end is held
    beside = -np.sum(d[1:] * d[:-1], axis=1) / m
    right = np.sum(speeds**2, axis=1)
    right[0] -= d[0, 1] * g
    pull = solve(diagonal, beside, right)[:, None] * d
    force = -pull
    force[:-1] += pull[1:]
    force[:, 1] -= m * g
    return (force / m).ravel()


def _banded(diagonal: Any, beside: Any, right: Any) -> Any:
    if len(diagonal) == 1:
        return right / diagonal
    return solveh_banded(np.stack([diagonal, np.append(beside, 0.0)]), right, lower=True, check_finite=False)


def _eliminated(diagonal: Any, beside: Any, right: Any) -> Any:
    """Gauss's elimination of a tridiagonal matrix, in any precision."""
    diagonal, right = diagonal.copy(), right.copy()
    for k in range(1, len(diagonal)):
        factor = beside[k - 1] / diagonal[k - 1]
        diagonal[k] -= factor * beside[k - 1]
        right[k] -= factor * right[k - 1]
    for k in reversed(range(len(diagonal))):
        if k + 1 < len(diagonal):
            right[k] -= beside[k] * right[k + 1]
        right[k] /= diagonal[k]
    return right
