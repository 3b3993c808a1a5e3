# SPDX-License-Identifier: BSD-3-Clause
"""A few problems with known answers, and the figure of the three drift cures: what ``dalembert demo`` shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

import dalembert as da

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Check:
    """One number with its known value."""

    problem: str
    what: str
    expected: str
    got: str
    passed: bool


def pendulum(copies: int = 1) -> da.System:
    """A planar pendulum in Cartesian coordinates, its rod stated ``copies`` times."""
    x, y = da.coordinates("x y")
    m, g, length = da.parameters("m g l")
    rods = tuple(da.Constraint(x**2 + y**2 - length**2, name=f"rod {k}" if k else "rod") for k in range(copies))
    lagrangian = m * (x.diff(da.t) ** 2 + y.diff(da.t) ** 2) / 2 - m * g * y
    return da.System.from_lagrangian(lagrangian, (x, y), constraints=rods)


def particle() -> da.System:
    """Udwadia & Kalaba 2001, section 5: a particle under ẏ = z²ẋ whose constraint force does work."""
    x, y, z = da.coordinates("x y z")
    a0, g = da.parameters("a0 g")
    skate = da.Constraint(y.diff(da.t) - z**2 * x.diff(da.t), name="skate")
    return da.System((x, y, z), sp.eye(3), (0, 0, -g), skate, da.Quadratic(a0))


def checks() -> Iterator[Check]:
    """All checks, one by one as they are done."""
    yield from _particle_checks()
    yield _redundancy_check()
    yield from _drift_checks()


def _particle_checks() -> Iterator[Check]:
    run = da.simulate(particle(), (0, 0, 1), (1, 1, 0), (0, 2), parameters={"a0": 0.1, "g": 9.81}, rtol=1e-11)
    known = np.array([0.882333427, 1.25524666, -12.0145652])
    off = float(np.abs(run.q[-1] / known - 1).max())
    yield Check("particle, nonideal", "position at t = 2", _row(known), _row(run.q[-1]), off < 1e-8)
    known = np.array([0.00258471329, 0.373102786, -9.52126780])
    off = float(np.abs(run.qd[-1] / known - 1).max())
    yield Check("particle, nonideal", "velocity at t = 2", _row(known), _row(run.qd[-1]), off < 1e-8)


def _redundancy_check() -> Check:
    numbers = {"m": 1.0, "g": 9.81, "l": 1.0}
    times = np.linspace(0, 10, 101)
    twice = da.simulate(pendulum(2), (1, 0), (0, 0), times, parameters=numbers, rtol=1e-13, atol=1e-14)
    theta = da.coordinates("theta")
    g = da.parameters("g")
    minimal = da.System((theta,), [[1]], [-g * sp.sin(theta)])
    angle = da.simulate(minimal, [np.pi / 2], [0], times, parameters={"g": 9.81}, rtol=1e-13, atol=1e-14)["theta"]
    off = float(np.abs(twice.q - np.stack([np.sin(angle), -np.cos(angle)], axis=1)).max())
    return Check("pendulum, rod twice", "difference from its angle", "< 1e-10", f"{off:.1e}", off < 1e-10)


def drift_runs() -> dict[str, da.Trajectory]:
    """The same long swing under each cure, at a loose tolerance; Baumgarte's from a start that is 1e-3 off."""
    numbers = {"m": 1.0, "g": 9.81, "l": 1.0}
    cures = {"None": None, "Baumgarte(2, 2)": da.Baumgarte(2, 2), "Projection()": da.Projection()}
    times = np.append(0, np.geomspace(0.1, 1000, 801))
    runs: dict[str, da.Trajectory] = {}
    for name, cure in cures.items():
        start = (1.001, 0) if isinstance(cure, da.Baumgarte) else (1, 0)
        options: dict[str, Any] = {"drift": cure, "rtol": 1e-6, "atol": 1e-8, "allow_violation": True}
        runs[name] = da.simulate(pendulum(), start, (0, 0), times, parameters=numbers, **options)
    return runs


def _drift_checks() -> Iterator[Check]:
    runs = {name: np.abs(run.violation[:, 0]) for name, run in drift_runs().items()}
    drifting, damped, projected = runs.values()
    yield Check("pendulum, 1000 s", "drift=None, end", "drifts: > 1e-3", f"{drifting[-1]:.1e}", drifting[-1] > 1e-3)
    told = f"{damped[0]:.1e} → {damped[-1]:.1e}"
    yield Check("pendulum, 1000 s", "drift=Baumgarte(2, 2)", "2e-3 decays to < 1e-5", told, bool(damped[-1] < 1e-5))
    yield Check("pendulum, 1000 s", "drift=Projection()", "< 1e-12", f"{projected.max():.1e}", projected.max() < 1e-12)


def figures() -> Iterator[tuple[str, Figure]]:
    """The figures, by file name."""
    yield (
        "particle",
        da.simulate(particle(), (0, 0, 1), (1, 1, 0), np.linspace(0, 2, 201), parameters={"a0": 0.1, "g": 9.81}).plot(),
    )
    yield "drift", drift_figure(drift_runs())


def drift_figure(runs: dict[str, da.Trajectory]) -> Figure:
    """Violation against time for each drift cure, on one logarithmic axis."""
    from matplotlib.figure import Figure

    from dalembert.integration.plotting import COLOURS

    figure = Figure(figsize=(7.6, 4.2), layout="constrained")
    axis = figure.subplots()
    for (name, run), colour in zip(runs.items(), COLOURS, strict=False):
        started = ", started 1e-3 off" if name.startswith("Baumgarte") else ""
        violation = np.maximum(np.abs(run.violation[1:, 0]), 1e-17)
        axis.loglog(run.t[1:], violation, color=colour, linewidth=1.1, label=f"drift={name}{started}")
    axis.set(xlabel="time t / s", ylabel="violation |x² + y² − l²| / m²", title="A pendulum over 1000 s, rtol = 1e-6")
    axis.grid(alpha=0.25)
    axis.margins(x=0)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=3, frameon=False, fontsize="small")
    return figure


def _row(values: Any) -> str:
    return ", ".join(f"{value:.9g}" for value in values)
