# SPDX-License-Identifier: BSD-3-Clause
"""A projectile in Cartesian and polar coordinates, free and on a logarithmic spiral."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from dalembert.equation.constrained_motion import constrained_motion
from dalembert.gallery.definition import Case, Check, Curve, Picture, coordinate, histories, path, si, velocity
from dalembert.integration.trajectory import Trajectory
from dalembert.model.constraint import Constraint
from dalembert.model.symbols import coordinates, parameters, t
from dalembert.model.system import System

REVIEW = "Zhao et al. 2018"
GRAVITY = 9.81


def cartesian(name: str, title: str) -> Case:
    x, y = coordinates("x y")
    m, g = parameters("m g")
    return Case(
        name=name,
        title=title,
        about="Free flight: no constraint, a parabola.",
        source=f"{REVIEW}, equation 2",
        system=System((x, y), sp.diag(m, m), (0, -m * g)),
        parameters={"m": 1.0, "g": GRAVITY},
        q0=(1.0, 2.0),
        qd0=(3.0, 4.0),
        times=np.linspace(0, 1, 101),
        checks=(Check("distance from the parabola", lambda run: run.q - _parabola(run.t), 0, 1e-12, "closed form"),),
        points=lambda run: {"particle": (run["x"], run["y"])},
        units=si(metres="x y"),
        pictures=(path("The path of the projectile"),),
    )


def polar(name: str, title: str) -> Case:
    return Case(
        name=name,
        title=title,
        about="The same flight from the Lagrangian in r and θ, whose mass matrix is diag(m, m r²).",
        source=f"{REVIEW}, equation 9",
        system=_polar_system(),
        parameters={"m": 1.0, "g": GRAVITY},
        q0=(np.hypot(1, 2), np.arctan2(2, 1)),
        qd0=((1 * 3 + 2 * 4) / np.hypot(1, 2), (1 * 4 - 2 * 3) / 5),
        times=np.linspace(0, 1, 101),
        checks=(
            Check(
                "distance from the parabola",
                lambda run: np.stack([_x(run), _y(run)], axis=1) - _parabola(run.t),
                0,
                1e-10,
                "closed form",
            ),
        ),
        units=si(metres="r", radians="theta"),
        pictures=(Picture("path", "The path of the projectile", "x / m", "y / m", (Curve("", _x, _y),), equal=True),),
        points=lambda run: {"particle": (_x(run), _y(run))},
    )


def spiral(name: str, title: str) -> Case:
    r, theta = coordinates("r theta")
    curve = Constraint(r - sp.exp(theta / 10), name="spiral")
    clock = Constraint(theta + t - 30, name="clock")
    system = _polar_system().constrain(curve, clock)
    return Case(
        name=name,
        title=title,
        about=(
            "Two constraints, one of them in time, determine the motion: θ = 30 − t and r = e^(0.1θ). It is integrated "
            "without a drift cure, as in the paper, so the errors ε₁ and ε₂ show the drift of the equation."
        ),
        source=f"{REVIEW}, section 8.1",
        system=system,
        parameters={"m": 1.0, "g": GRAVITY},
        q0=(np.exp(3), 30.0),
        qd0=(-0.1 * np.exp(3), -1.0),
        times=np.linspace(0, 60, 601),
        drift=None,
        rtol=1e-12,
        checks=(
            Check("θ − (30 − t)", lambda run: run["theta"] - 30 + run.t, 0, 1e-10, "closed form"),
            Check("r − e^(0.1(30 − t))", lambda run: run["r"] - np.exp(3 - run.t / 10), 0, 1e-9, "closed form"),
            Check("ε₁, largest", _position_error, 0, 1e-9, f"{REVIEW}, equation 58"),
            Check("ε₂, largest", _velocity_error, 0, 1e-10, f"{REVIEW}, equation 59"),
            Check(
                "force with the printed mass matrix, over ours",
                _force_ratios,
                (1, np.exp(6)),
                1e-7,
                "1 and 1/r² = e⁶; see the errata",
            ),
        ),
        units=si(metres="r", radians="theta"),
        pictures=_spiral_figures(),
        points=lambda run: {"particle": (_x(run), _y(run))},
    )


def _spiral_figures() -> tuple[Picture, ...]:
    """Return figures 2 to 5 of the review."""
    return (
        Picture(
            "figure 2",
            "Figure 2 of the review: r against θ",
            "θ / rad",
            "r / m",
            (Curve("", coordinate("theta"), coordinate("r")),),
        ),
        Picture(
            "figure 3",
            "Figure 3 of the review: r and θ in time",
            "time t / s",
            "r / m, θ / rad",
            histories({"r": coordinate("r"), "θ": coordinate("theta")}),
        ),
        Picture(
            "figure 4",
            "Figure 4 of the review: the path, inwards",
            "x / m",
            "y / m",
            (Curve("", _x, _y),),
            equal=True,
        ),
        Picture(
            "figure 5",
            "Figure 5 of the review: errors without a drift cure",
            "time t / s",
            "ε₁ / m, ε₂ / (m/s)",
            histories({"ε₁": _position_error, "ε₂": _velocity_error}),
            log=True,
        ),
    )


def _polar_system() -> System:
    r, theta = coordinates("r theta")
    m, g = parameters("m g")
    kinetic = m * (r.diff(t) ** 2 + r**2 * theta.diff(t) ** 2) / 2
    return System.from_lagrangian(kinetic - m * g * r * sp.sin(theta), (r, theta))


def _force_ratios(run: Trajectory) -> Any:
    """Return the constraint force of the paper's equations, with M = diag(m, m), divided by ours, at the end.

    Both accelerations are the same, because two constraints on two coordinates determine the motion for any metric.
    """
    (r, theta), (rd, thetad) = run.q[-1], run.qd[-1]
    free = [r * thetad**2 - GRAVITY * np.sin(theta), (-2 * rd * thetad - GRAVITY * np.cos(theta)) / r]
    slope = np.exp(theta / 10) / 10
    printed = constrained_motion(np.eye(2), free, [[1, -slope], [0, 1]], [slope * thetad**2 / 10, 0])
    return np.asarray(printed.ideal_force) / run.ideal_force[-1]


def _parabola(time: Any) -> Any:
    return np.stack([1 + 3 * time, 2 + 4 * time - GRAVITY * time**2 / 2], axis=1)


def _x(run: Trajectory) -> Any:
    return run["r"] * np.cos(run["theta"])


def _y(run: Trajectory) -> Any:
    return run["r"] * np.sin(run["theta"])


def _position_error(run: Trajectory) -> Any:
    return np.hypot(run["r"] - np.exp(run["theta"] / 10), run["theta"] + run.t - 30)


def _velocity_error(run: Trajectory) -> Any:
    rate = velocity("theta")(run)
    return np.hypot(velocity("r")(run) - np.exp(run["theta"] / 10) * rate / 10, rate + 1)
