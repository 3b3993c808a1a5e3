# SPDX-License-Identifier: BSD-3-Clause
"""A double pendulum over 10 000 s, with and without conservation of its energy."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import sympy as sp
from scipy.special import ellipj, ellipk

import dalembert as da

TIMES = np.linspace(0, 1e4, 10_001)
GRAVITY = 9.81
REPEATS = 5


def joints() -> tuple[da.System, tuple[float, ...]]:
    """In its two angles."""
    a, b = da.coordinates("a b")
    bobs = (sp.sin(a), -sp.cos(a), sp.sin(a) + sp.sin(b), -sp.cos(a) - sp.cos(b))
    kinetic = sum(e.diff(da.t) ** 2 for e in bobs) / 2
    return da.System.from_lagrangian(kinetic - GRAVITY * (bobs[1] + bobs[3]), (a, b)), (2.0, 1.0)


def rods() -> tuple[da.System, tuple[float, ...]]:
    """In the four coordinates of its bobs, with two rods; the same start."""
    q = x1, y1, x2, y2 = da.coordinates("x1 y1 x2 y2")
    lagrangian = sum(e.diff(da.t) ** 2 for e in q) / 2 - GRAVITY * (y1 + y2)
    upper = da.Constraint(x1**2 + y1**2 - 1, name="upper rod")
    lower = da.Constraint((x2 - x1) ** 2 + (y2 - y1) ** 2 - 1, name="lower rod")
    start = np.sin(2), -np.cos(2), np.sin(2) + np.sin(1), -np.cos(2) - np.cos(1)
    return da.System.from_lagrangian(lagrangian, q, constraints=(upper, lower)), start


def measured(system: da.System, q0: Any, rtol: float) -> str:
    """Return the cells of one row: errors of the energy, violation and seconds, without and with conservation."""
    drifts = da.Projection(), da.Projection(conserve="energy")
    seconds, runs = [np.inf, np.inf], list[Any]([None, None])
    for _ in range(REPEATS):  # in turns, since other processes may be at work
        for k, drift in enumerate(drifts):
            began = time.perf_counter()
            runs[k] = da.simulate(system, q0, np.zeros(len(q0)), TIMES, drift=drift, rtol=rtol)
            seconds[k] = min(seconds[k], time.perf_counter() - began)
    errors = [float(abs(run.energy / run.energy[0] - 1).max()) for run in runs]
    violation = max(float(abs(run.violation).max(initial=0.0)) for run in runs)
    return f"{errors[0]:.0e} | {errors[1]:.0e} | {violation:.0e} | {seconds[0]:.2f} | {seconds[1]:.2f}"


def pendulum_errors() -> list[float]:
    """Return the largest error of the positions of a pendulum over 1000 s, without and with conservation.

    It starts horizontally: sin(θ/2) = k sn(K + √g t) with k² = 1/2.
    """
    x, y = da.coordinates("x y")
    lagrangian = (x.diff(da.t) ** 2 + y.diff(da.t) ** 2) / 2 - GRAVITY * y
    system = da.System.from_lagrangian(lagrangian, (x, y), constraints=da.Constraint(x**2 + y**2 - 1, name="rod"))
    times = np.linspace(0, 1000, 1001)
    half = np.sqrt(0.5) * ellipj(ellipk(0.5) + np.sqrt(GRAVITY) * times, 0.5)[0]
    exact = np.stack([2 * half * np.sqrt(1 - half**2), 2 * half**2 - 1], axis=1)
    drifts = da.Projection(), da.Projection(conserve="energy")
    return [float(abs(da.simulate(system, (1, 0), (0, 0), times, drift=drift).q - exact).max()) for drift in drifts]


def main() -> None:
    print("pendulum over 1000 s, errors of the positions: {:.0e} and {:.0e}".format(*pendulum_errors()))
    for name, (system, q0) in {"two angles": joints(), "four coordinates, two rods": rods()}.items():
        for rtol in (1e-9, 1e-12):
            print(f"| {name} | {rtol:.0e} | {measured(system, q0, rtol)} |", flush=True)


if __name__ == "__main__":
    main()
