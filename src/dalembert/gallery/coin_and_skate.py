# SPDX-License-Identifier: BSD-3-Clause
"""Nonholonomic constraints linear in velocity: an upright rolling coin, a skate on an incline."""

from __future__ import annotations

import numpy as np
import sympy as sp

from dalembert.gallery.definition import Case, Check, path, si
from dalembert.integration.trajectory import Trajectory
from dalembert.model.constraint import Constraint
from dalembert.model.symbols import coordinates, parameters, t
from dalembert.model.system import System


def coin(name: str, title: str) -> Case:
    q = x, y, theta, phi = coordinates("x y theta phi")
    m, i, j, radius = parameters("m I J R")
    roll = phi.diff(t) * radius
    numbers = {"m": 0.5, "I": 0.02, "J": 0.01, "R": 0.3}
    turn, spin = 0.7, 4.0
    reach = numbers["R"] * spin / turn
    return Case(
        name=name,
        title=title,
        about="Two nonholonomic constraints, rank 2 everywhere: the coin rolls at constant rates, in a circle.",
        source="Lemos et al., the rolling coin",
        system=System(
            q,
            sp.diag(m, m, j, i),
            (0, 0, 0, 0),
            (
                Constraint(x.diff(t) - roll * sp.cos(theta), name="rolling x"),
                Constraint(y.diff(t) - roll * sp.sin(theta), name="rolling y"),
            ),
        ),
        parameters=numbers,
        q0=(0, 0, 0, 0),
        qd0=(numbers["R"] * spin, 0, turn, spin),
        times=np.linspace(0, 10, 201),
        checks=(
            Check("x − (RΩ/ω) sin ωt", lambda run: run["x"] - reach * np.sin(turn * run.t), 0, 1e-10, "closed form"),
            Check(
                "y − (RΩ/ω)(1 − cos ωt)",
                lambda run: run["y"] - reach * (1 - np.cos(turn * run.t)),
                0,
                1e-10,
                "closed form",
            ),
            Check(
                "force at the contact − m v²/r",
                lambda run: np.hypot(run["rolling x"], run["rolling y"]) - 0.5 * reach * turn**2,
                0,
                1e-10,
                "closed form",
            ),
            Check("rank", lambda run: run.rank, 2, 0, "Lemos et al."),
        ),
        units=si(metres="x y", radians="theta phi"),
        pictures=(path("The path of the coin"),),
        points=_coin_points,
        links=(("rear", "front"),),
    )


def skate(name: str, title: str) -> Case:
    q = x, y, theta = coordinates("x y theta")
    m, j, g, alpha = parameters("m J g alpha")
    kinetic = m * (x.diff(t) ** 2 + y.diff(t) ** 2) / 2 + j * theta.diff(t) ** 2 / 2
    blade = Constraint(x.diff(t) * sp.sin(theta) - y.diff(t) * sp.cos(theta), name="blade")
    slope, turn = 0.3, 2.0
    reach = 9.81 * np.sin(slope) / (2 * turn**2)
    return Case(
        name=name,
        title=title,
        about=(
            "x points down the slope. The blade keeps the skate from slipping sideways; spinning, it does not slide "
            "down but runs along a cycloid across the slope."
        ),
        source="a classic of nonholonomic mechanics",
        system=System.from_lagrangian(kinetic + m * g * sp.sin(alpha) * x, q, constraints=blade),
        parameters={"m": 1.0, "J": 0.1, "g": 9.81, "alpha": slope},
        q0=(0, 0, 0),
        qd0=(0, 0, turn),
        times=np.linspace(0, 8, 321),
        checks=(
            Check("x − a sin² ωt", lambda run: run["x"] - reach * np.sin(turn * run.t) ** 2, 0, 1e-10, "closed form"),
            Check(
                "y − a (ωt − ½ sin 2ωt)",
                lambda run: run["y"] - reach * (turn * run.t - np.sin(2 * turn * run.t) / 2),
                0,
                1e-10,
                "closed form",
            ),
            Check("energy", lambda run: run.energy, 0.5 * 0.1 * turn**2, 1e-10, "conservation"),
        ),
        units=si(metres="x y", radians="theta"),
        pictures=(path("The path of the skate, x down the slope"),),
        points=_skate_points,
        links=(("rear", "front"),),
    )


def _blade(run: Trajectory, half: float) -> dict[str, tuple[object, object]]:
    dx, dy = half * np.cos(run["theta"]), half * np.sin(run["theta"])
    return {"rear": (run["x"] - dx, run["y"] - dy), "front": (run["x"] + dx, run["y"] + dy)}


def _coin_points(run: Trajectory) -> dict[str, tuple[object, object]]:
    return _blade(run, 0.3)


def _skate_points(run: Trajectory) -> dict[str, tuple[object, object]]:
    return _blade(run, 0.15)
