# SPDX-License-Identifier: BSD-3-Clause
"""Constraint forces that do work: a particle under a nonholonomic constraint, a bead with sliding friction."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from dalembert.gallery.definition import Case, Check, Picture, histories, path, si, velocity
from dalembert.integration.trajectory import Trajectory
from dalembert.model.constraint import Constraint
from dalembert.model.friction import Coulomb
from dalembert.model.laws import Quadratic
from dalembert.model.symbols import coordinates, parameters, t
from dalembert.model.system import System

SOURCE = "Udwadia & Kalaba 2001, section 5"


def particle(name: str, title: str) -> Case:
    x, y, z = coordinates("x y z")
    a0, g = parameters("a0 g")
    numbers = {"a0": 0.1, "g": 9.81}
    skate = Constraint(y.diff(t) - z**2 * x.diff(t), name="skate")
    return Case(
        name=name,
        title=title,
        about="The constraint force has an ideal part and, from C = −a₀|u|u, a nonideal one; both have closed forms.",
        source=SOURCE,
        system=System((x, y, z), sp.eye(3), (0, 0, -g), skate, Quadratic(a0)),
        parameters=numbers,
        q0=(0, 0, 1),
        qd0=(1, 1, 0),
        times=np.linspace(0, 2, 201),
        checks=(
            # to half a unit of the last known digit of each number
            Check("x at t = 2", lambda run: run["x"][-1], 0.882333427, 5e-10, "reference solution"),
            Check("y at t = 2", lambda run: run["y"][-1], 1.25524666, 5e-9, "reference solution"),
            Check("z at t = 2", lambda run: run["z"][-1], -12.0145652, 5e-8, "reference solution"),
            Check("ẋ at t = 2", lambda run: velocity("x")(run)[-1], 0.00258471329, 5e-12, "reference solution"),
            Check("ẏ at t = 2", lambda run: velocity("y")(run)[-1], 0.373102786, 5e-10, "reference solution"),
            Check("ż at t = 2", lambda run: velocity("z")(run)[-1], -9.52126780, 5e-9, "reference solution"),
            Check(
                "ideal force − closed form",
                lambda run: run.ideal_force - _ideal(run),
                0,
                1e-12,
                f"{SOURCE}, equation 15",
            ),
            Check(
                "nonideal force − closed form",
                lambda run: run.nonideal_force - _nonideal(run, 0.1),
                0,
                1e-12,
                f"{SOURCE}, equation 16",
            ),
            Check(
                "q̈ − (f + both forces)",
                lambda run: run.acceleration - run.constraint_force - [0, 0, -9.81],
                0,
                1e-12,
                f"{SOURCE}, equation 17",
            ),
        ),
        units=si(metres="x y z"),
        pictures=(path("The path seen from above"),),
        points=lambda run: {"particle": (run["x"], run["y"])},
    )


def _ideal(run: Trajectory) -> Any:
    z, (u, _, w) = run["z"], run.qd.T
    return (2 * z * u * w / (1 + z**4))[:, None] * np.stack([-(z**2), np.ones_like(z), np.zeros_like(z)], axis=1)


def _nonideal(run: Trajectory, a0: float) -> Any:
    z, (u, v, w) = run["z"], run.qd.T
    along = (u + z**2 * v) / (1 + z**4)
    return -a0 * np.linalg.norm(run.qd, axis=1)[:, None] * np.stack([along, z**2 * along, w], axis=1)


def bead(name: str, title: str) -> Case:
    x, z = coordinates("x z")
    mu, g = parameters("mu g")
    return Case(
        name=name,
        title=title,
        about="A law that depends on the magnitude of the ideal constraint force: C = −μ |N| q̇/|q̇| on the wire z = x².",
        source="Udwadia & Kalaba 2001, their reference 10",
        system=System(
            (x, z), sp.eye(2), (0, -g), Constraint(z - x**2, name="wire", nonideal=Coulomb(mu, normal="ideal"))
        ),
        parameters={"mu": 0.2, "g": 9.81},
        q0=(-1, 1),
        qd0=(0.5, -1),
        times=np.linspace(0, 0.5, 101),
        checks=(
            Check("x at t = 0.5", lambda run: run["x"][-1], -0.08829871, 5e-9, "reference solution"),
            Check("ẋ at t = 0.5", lambda run: velocity("x")(run)[-1], 3.508493, 5e-7, "reference solution"),
            Check(
                "|nonideal| − μ |ideal|",
                lambda run: _size(run.nonideal_force) - 0.2 * _size(run.ideal_force),
                0,
                1e-11,
                "the law, on a tangential C",
            ),
        ),
        units=si(metres="x z"),
        pictures=(
            path("Down the wire", "x", "z"),
            Picture(
                "forces",
                "Size of the constraint force, ideal and nonideal part",
                "time t / s",
                "force / N",
                histories(
                    {"ideal": lambda run: _size(run.ideal_force), "nonideal": lambda run: _size(run.nonideal_force)}
                ),
            ),
        ),
        points=lambda run: {"bead": (run["x"], run["z"])},
    )


def _size(vectors: Any) -> Any:
    return np.linalg.norm(vectors, axis=1)
