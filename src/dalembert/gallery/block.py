# SPDX-License-Identifier: BSD-3-Clause
"""A block on a rough horizontal plane, under the three laws that Udwadia and Kalaba name."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from dalembert.gallery.definition import Case, Check, Picture, coordinate, histories, si, velocity
from dalembert.model.constraint import Constraint
from dalembert.model.laws import Proportional, Quadratic, Viscous
from dalembert.model.symbols import coordinates, parameters
from dalembert.model.system import System

SOURCE = "Udwadia & Kalaba 2001, section 2.2"
MASS, A0, SPEED = 2.0, 0.5, 3.0


def viscous(name: str, title: str) -> Case:
    return _block(
        name,
        title,
        "C = −a₀ q̇: the speed decays exponentially.",
        Viscous(parameters("a0")),
        Check(
            "v(t) − v₀ e^(−a₀t/m)", lambda run: _speed(run) - SPEED * np.exp(-A0 * run.t / MASS), 0, 1e-9, "closed form"
        ),
    )


def quadratic(name: str, title: str) -> Case:
    return _block(
        name,
        title,
        "C = −a₀ |q̇| q̇: the speed decays like 1/t.",
        Quadratic(parameters("a0")),
        Check(
            "v(t) − v₀/(1 + a₀v₀t/m)",
            lambda run: _speed(run) - SPEED / (1 + A0 * SPEED * run.t / MASS),
            0,
            1e-9,
            "closed form",
        ),
    )


def proportional(name: str, title: str) -> Case:
    return _block(
        name,
        title,
        "C = −a₀ Qᶜᵢ, taken literally, has no effect: M^(-1/2)Qᶜᵢ lies in range(Bᵀ), where nothing counts. A "
        "friction law needs the magnitude of the ideal force, not its direction: see the bead.",
        Proportional(parameters("a0")),
        Check("v(t) − v₀", lambda run: _speed(run) - SPEED, 0, 1e-12, "their remark 5"),
        Check("nonideal force", lambda run: run.nonideal_force, 0, 1e-12, "their remark 5"),
    )


def _block(name: str, title: str, about: str, law: Any, *checks: Check) -> Case:
    x, y, z = coordinates("x y z")
    m, g = parameters("m g")
    weight = Check(
        "ideal force along z − m g", lambda run: run.ideal_force[:, 2] - MASS * 9.81, 0, 1e-11, "closed form"
    )
    return Case(
        name=name,
        title=title,
        about=about,
        source=SOURCE,
        system=System((x, y, z), m * sp.eye(3), (0, 0, -m * g), Constraint(z, name="plane"), law),
        parameters={"m": MASS, "g": 9.81, "a0": A0},
        q0=(0, 0, 0),
        qd0=(0.8 * SPEED, 0.6 * SPEED, 0),
        times=np.linspace(0, 10, 201),
        checks=(*checks, weight),
        units=si(metres="x y z"),
        pictures=(
            Picture(
                "speed",
                "Velocity components",
                "time t / s",
                "velocity / (m/s)",
                histories({"ẋ": velocity("x"), "ẏ": velocity("y")}),
            ),
        ),
        points=lambda run: {"block": (coordinate("x")(run), coordinate("y")(run))},
    )


def _speed(run: Any) -> Any:
    return np.linalg.norm(run.qd, axis=1)
