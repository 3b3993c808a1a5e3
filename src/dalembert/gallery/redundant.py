# SPDX-License-Identifier: BSD-3-Clause
"""A four-bar in space whose revolute joints are redundant only where they are satisfied."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from dalembert.gallery.definition import Case, Check, Curve, Picture, si
from dalembert.integration.trajectory import Trajectory
from dalembert.model.constraint import Constraint
from dalembert.model.symbols import coordinates, parameters, t
from dalembert.model.system import System
from dalembert.verbs import simulate

CRANK, COUPLER, ROCKER, BASE = 0.5, 1.2, 1.0, 1.3
MASSES = (2.0, 1.0)
NUMBERS = {"m1": MASSES[0], "m2": MASSES[1], "J": 0.1, "g": 9.81, "a": CRANK, "b": COUPLER, "c": ROCKER, "d": BASE}
ANGLE, RATE = 1.0, 3.0


def four_bar(name: str, title: str) -> Case:
    start, speed = _start()
    axes = (0.0, 0.0, 1.0) * 3
    return Case(
        name=name,
        title=title,
        about=(
            "Two masses B and C on three bars in space, each bar with an axis of its own; four revolute joints equate "
            "the axes. 21 equations for 15 coordinates, of rank 14: one degree of freedom, as in the plane."
        ),
        source="a planar mechanism modelled in space",
        system=_spatial(),
        parameters=NUMBERS,
        q0=(start[0], start[1], 0, start[2], start[3], 0, *axes),
        qd0=(speed[0], speed[1], 0, speed[2], speed[3], 0, *(0.0,) * 9),
        times=np.linspace(0, 2, 101),
        checks=(
            Check("rank", lambda run: run.rank, 14, 0, "15 coordinates, one degree of freedom"),
            Check("difference from one angle's motion", _difference, 0, 1e-9, "minimal description"),
            Check("out of the plane", lambda run: run.q[:, [2, 5]], 0, 1e-12, "symmetry"),
        ),
        units=si(metres="xB yB zB xC yC zC"),
        pictures=(
            Picture(
                "paths",
                "Paths of the two joints",
                "x / m",
                "y / m",
                (
                    Curve("B", lambda run: run["xB"], lambda run: run["yB"]),
                    Curve("C", lambda run: run["xC"], lambda run: run["yC"]),
                ),
                equal=True,
            ),
        ),
        points=lambda run: {"A": (0, 0), "B": (run["xB"], run["yB"]), "C": (run["xC"], run["yC"]), "D": (BASE, 0)},
        links=(("A", "B"), ("B", "C"), ("C", "D")),
    )


def _spatial() -> System:
    q = coordinates("xB yB zB xC yC zC u1 v1 w1 u2 v2 w2 u3 v3 w3")
    m1, m2, j, g, a, b, c, d = parameters("m1 m2 J g a b c d")
    B, C, *axes = (sp.Matrix(q[k : k + 3]) for k in range(0, 15, 3))
    up = sp.Matrix([0, 0, 1])
    bars = {"crank": (B, a), "coupler": (C - B, b), "rocker": (C - sp.Matrix([d, 0, 0]), c)}
    rows = [Constraint(bar.dot(bar) - length**2, name=f"length of the {name}") for name, (bar, length) in bars.items()]
    for (name, (bar, _)), axis in zip(bars.items(), axes, strict=True):
        rows.append(Constraint(axis.dot(axis) - 1, name=f"axis of the {name}"))
        rows.append(Constraint(axis.dot(bar), name=f"{name} square to its axis"))
    for joint, one, other in zip("ABCD", (up, *axes), (*axes, up), strict=True):
        rows += [Constraint(e, name=f"joint {joint} {n}") for n, e in zip("xyz", other - one, strict=True)]
    mass = sp.diag(*[m1] * 3, *[m2] * 3, *[j] * 9)
    return System(q, mass, (0, -m1 * g, 0, 0, -m2 * g, 0, *[0] * 9), rows)


def _pose(angle: Any) -> Any:
    """Return B and C of the planar mechanism, C on the upper branch, from the angle of the crank."""
    B = CRANK * sp.Matrix([sp.cos(angle), sp.sin(angle)])
    to_D = sp.Matrix([BASE, 0]) - B
    far = sp.sqrt(to_D.dot(to_D))
    along = (COUPLER**2 - ROCKER**2 + far**2) / (2 * far)
    across = sp.sqrt(COUPLER**2 - along**2)
    return sp.Matrix([B, B + (along * to_D + across * sp.Matrix([-to_D[1], to_D[0]])) / far])


def _start() -> tuple[list[float], list[float]]:
    """Return B and C at the start, and their velocities."""
    angle = sp.Symbol("angle")
    place = _pose(angle)
    return [float(x) for x in place.subs(angle, ANGLE)], [float(x) * RATE for x in place.diff(angle).subs(angle, ANGLE)]


def _difference(run: Trajectory) -> Any:
    """Return B and C minus those of the mechanism described by the angle of its crank alone."""
    theta = coordinates("theta")
    place = _pose(theta)
    speed = place.diff(t)
    m = sp.diag(MASSES[0], MASSES[0], MASSES[1], MASSES[1])
    lagrangian = (speed.T * m * speed)[0] / 2 - 9.81 * (MASSES[0] * place[1] + MASSES[1] * place[3])
    minimal = System.from_lagrangian(lagrangian, (theta,))
    angles = simulate(minimal, [ANGLE], [RATE], run.t, rtol=1e-12, atol=1e-13).q[:, 0]
    where: Any = sp.lambdify(theta, list(place))
    return run.q[:, [0, 1, 3, 4]] - np.array(where(angles)).T
