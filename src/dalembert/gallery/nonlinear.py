# SPDX-License-Identifier: BSD-3-Clause
"""Constraints nonlinear in velocity, by Chetaev's rule: constant speed, Appell and Hamel's machine, v₁·v₂ = 0."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp
from scipy.integrate import solve_ivp

from dalembert.gallery.definition import Case, Check, Curve, Picture, coordinate, histories, path, si, velocity
from dalembert.integration.trajectory import Trajectory
from dalembert.model.constraint import Constraint
from dalembert.model.symbols import coordinates, parameters, t
from dalembert.model.system import System

G = 9.81


def constant_speed(name: str, title: str) -> Case:
    q = coordinates("x y z")
    g, speed = parameters("g v")
    size = sum(c.diff(t) ** 2 for c in q) - speed**2
    v, s0 = 2.0, -1.5
    return Case(
        name=name,
        title=title,
        about="ẋ² + ẏ² + ż² = v²: the particle turns downwards but cannot gain speed. The constraint force does work.",
        source="closed form: sin θ = sech s, s = gt/v + s₀, θ the angle to the vertical",
        system=System(q, sp.eye(3), (0, 0, -g), Constraint(size, name="speed")),
        parameters={"g": G, "v": v},
        q0=(0, 0, 0),
        qd0=(v / np.cosh(s0), 0, -v * np.tanh(s0)),
        times=np.linspace(0, 1, 101),
        checks=(
            Check(
                "x − closed form",
                lambda run: run["x"] - v**2 / G * (_gd(G * run.t / v + s0) - _gd(s0)),
                0,
                1e-10,
                "closed form",
            ),
            Check(
                "z − closed form",
                lambda run: run["z"] + v**2 / G * np.log(np.cosh(G * run.t / v + s0) / np.cosh(s0)),
                0,
                1e-10,
                "closed form",
            ),
            Check("speed", lambda run: np.linalg.norm(run.qd, axis=1), v, 1e-12, "the constraint"),
        ),
        units=si(metres="x y z"),
        pictures=(path("Up, over and down at one speed", "x", "z"),),
        points=lambda run: {"particle": (run["x"], run["z"])},
    )


def appell_hamel(name: str, title: str) -> Case:
    q = x, y, z = coordinates("x y z")
    g, k = parameters("g k")
    cone = Constraint(x.diff(t) ** 2 + y.diff(t) ** 2 - k**2 * z.diff(t) ** 2, name="machine")
    ratio, u0 = 0.5, 1.0
    gain = G * ratio / (1 + ratio**2)
    return Case(
        name=name,
        title=title,
        about="ẋ² + ẏ² = k²ż²: what falls must move sideways, in a fixed direction and at a growing rate.",
        source="Appell 1911, Hamel 1938: the limit of a vanishing wheel",
        system=System(q, sp.eye(3), (0, 0, -g), cone),
        parameters={"g": G, "k": ratio},
        q0=(0, 0, 0),
        qd0=(0.6 * u0, 0.8 * u0, -u0 / ratio),
        times=np.linspace(0, 2, 101),
        checks=(
            Check(
                "horizontal speed − (u₀ + gkt/(1 + k²))",
                lambda run: np.hypot(*run.qd[:, :2].T) - u0 - gain * run.t,
                0,
                1e-10,
                "closed form",
            ),
            Check("ż + u/k", lambda run: velocity("z")(run) + (u0 + gain * run.t) / ratio, 0, 1e-10, "closed form"),
            Check(
                "direction",
                lambda run: np.arctan2(run.qd[:, 1], run.qd[:, 0]),
                np.arctan2(0.8, 0.6),
                1e-12,
                "closed form",
            ),
        ),
        units=si(metres="x y z"),
        pictures=(
            Picture(
                "speeds",
                "Velocity components",
                "time t / s",
                "velocity / (m/s)",
                histories({"ẋ": velocity("x"), "ẏ": velocity("y"), "ż": velocity("z")}),
            ),
        ),
    )


def perpendicular(name: str, title: str) -> Case:
    q = coordinates("x1 y1 x2 y2")
    m1, m2, g = parameters("m1 m2 g")
    v = [c.diff(t) for c in q]
    square = Constraint(v[0] * v[2] + v[1] * v[3], name="square")
    return Case(
        name=name,
        title=title,
        about="v₁·v₂ = 0 is homogeneous of degree two in q̇, so its force does no work and energy is conserved.",
        source="against an integration of the equation derived by hand",
        system=System(q, sp.diag(m1, m1, m2, m2), (0, -m1 * g, 0, -m2 * g), square),
        parameters={"m1": 1.0, "m2": 2.0, "g": G},
        q0=(0, 0, 1, 0),
        qd0=(1, 0.5, -0.5, 1),
        times=np.linspace(0, 2, 101),
        checks=(
            Check(
                "state at t = 2 − by hand",
                lambda run: np.concatenate([run.q[-1], run.qd[-1]]) - _by_hand(run),
                0,
                1e-8,
                "SciPy's DOP853",
            ),
            Check("energy − energy at the start", lambda run: _energy(run) - _energy(run)[0], 0, 1e-9, "conservation"),
            Check("v₁·v₂", lambda run: run.violation, 0, 1e-12, "the constraint"),
        ),
        points=lambda run: {f"particle {k}": (run[f"x{k}"], run[f"y{k}"]) for k in (1, 2)},
        units=si(metres="x1 y1 x2 y2"),
        pictures=(
            Picture(
                "paths",
                "The two paths",
                "x / m",
                "y / m",
                tuple(Curve(f"particle {k}", coordinate(f"x{k}"), coordinate(f"y{k}")) for k in (1, 2)),
                equal=True,
            ),
        ),
    )


def _gd(s: Any) -> Any:
    """Return Gudermann's function."""
    return 2 * np.arctan(np.tanh(s / 2))


def _energy(run: Trajectory) -> Any:
    return run.qd**2 @ [0.5, 0.5, 1, 1] + G * run.q @ [0, 1, 0, 2]


def _by_hand(run: Trajectory) -> Any:
    def rates(_: float, state: Any) -> Any:
        u = state[4:]
        row, inverse, free = u[[2, 3, 0, 1]], np.array([1, 1, 0.5, 0.5]), np.array([0, -G, 0, -G])
        return np.concatenate([u, free - inverse * row * (row @ free) / (row @ (inverse * row))])

    start = np.concatenate([run.q[0], run.qd[0]])
    return solve_ivp(rates, (0, run.t[-1]), start, rtol=1e-12, atol=1e-13, method="DOP853").y[:, -1]
