# SPDX-License-Identifier: BSD-3-Clause
"""A pendulum in Cartesian coordinates: over a long time, and with its rod stated twice."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from dalembert.gallery.definition import Case, Check, Curve, Picture, coordinate, path, si, velocity
from dalembert.integration.trajectory import Trajectory
from dalembert.model.constraint import Constraint
from dalembert.model.symbols import coordinates, parameters, t
from dalembert.model.system import System
from dalembert.verbs import simulate

NUMBERS = {"m": 1.0, "g": 9.81, "l": 1.0}


def single(name: str, title: str) -> Case:
    return Case(
        name=name,
        title=title,
        about="Projection keeps the rod's length to rounding at a loose tolerance; a figure compares corrections.",
        system=_pendulum(1),
        times=np.append(0, np.geomspace(0.1, 1000, 801)),
        rtol=1e-6,
        atol=1e-8,
        checks=(Check("largest violation", lambda run: run.violation, 0, 1e-12, "stays on the constraint"),),
        histories=False,
        **_common(),
    )


def rod_twice(name: str, title: str) -> Case:
    return Case(
        name=name,
        title=title,
        about="Rank 1 of 2: the motion is that of the angle, and the two multipliers share the load.",
        system=_pendulum(2),
        times=np.linspace(0, 10, 201),
        rtol=1e-13,
        atol=1e-14,
        checks=(
            Check(
                "difference from the angle's motion",
                lambda run: run.q - _by_angle(run.t),
                0,
                1e-10,
                "minimal description",
            ),
            Check("rank", lambda run: run.rank, 1, 0, "one independent row"),
            Check("multiplier, rod − rod again", lambda run: run["rod"] - run["rod again"], 0, 1e-9, "shortest λ"),
        ),
        pictures=(
            path("The path of the bob"),
            Picture("phase", "Phase plane", "x / m", "ẋ / (m/s)", (Curve("", coordinate("x"), velocity("x")),)),
        ),
        **_common(),
    )


def _common() -> dict[str, Any]:
    return {
        "source": "the textbook pendulum, in Cartesian coordinates",
        "parameters": NUMBERS,
        "q0": (1, 0),
        "qd0": (0, 0),
        "units": si(metres="x y"),
        "points": lambda run: {"pivot": (0, 0), "bob": (run["x"], run["y"])},
        "links": (("pivot", "bob"),),
    }


def _pendulum(copies: int) -> System:
    x, y = coordinates("x y")
    m, g, length = parameters("m g l")
    rods = [Constraint(x**2 + y**2 - length**2, name=name) for name in ("rod", "rod again")[:copies]]
    return System.from_lagrangian(m * (x.diff(t) ** 2 + y.diff(t) ** 2) / 2 - m * g * y, (x, y), constraints=rods)


def _by_angle(times: Any) -> Any:
    theta = coordinates("theta")
    minimal = System((theta,), [[1]], [-parameters("g") * sp.sin(theta)])
    run: Trajectory = simulate(minimal, [np.pi / 2], [0], times, parameters={"g": 9.81}, rtol=1e-13, atol=1e-14)
    return np.stack([np.sin(run["theta"]), -np.cos(run["theta"])], axis=1)
