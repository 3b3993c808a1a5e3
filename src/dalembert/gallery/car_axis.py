# SPDX-License-Identifier: BSD-3-Clause
"""The car axis of the test set for solvers of initial value problems."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp
from sympy import sin, sqrt

from dalembert.gallery.definition import Case, Check, Curve, Measure, Picture, coordinate, digits, histories, si
from dalembert.gallery.ivp_test_set import PUBLISHED, TEST_SET
from dalembert.integration.trajectory import Trajectory
from dalembert.model.constraint import Constraint
from dalembert.model.symbols import coordinates, t
from dalembert.model.system import System

CAR_NUMBERS = {"eps": 1e-2, "M": 10.0, "L": 1.0, "L0": 0.5, "r": 0.1, "w": 10.0, "g": 1.0}


# positions, velocities and multipliers at t = 3; about 12 of the 21 published digits are correct
CAR_PUBLISHED = (
    digits("0.493455784275402809122e-1 0.496989460230171153861 0.104174252488542151681e1 0.373911027265361256927"),
    digits("-0.770583684040972357970e-1 0.744686658723778553466e-2 0.175568157537232222276e-1 0.770341043779251976443"),
    digits("-0.473688659084893324729e-2 -0.110468033125734368808e-2"),
)


def car_axis(name: str, title: str) -> Case:
    q = xl, yl, xr, yr = coordinates("xl yl xr yr")
    eps, M, L, L0, r, w, g = (sp.Symbol(key, real=True) for key in CAR_NUMBERS)
    k = M * eps**2 / 2
    yb = r * sin(w * t)
    xb = sqrt(L**2 - yb**2)
    left, right = sp.Matrix([xl, yl]), sp.Matrix([xr - xb, yr - yb])
    pulls: list[Any] = [(L0 / sqrt(s.dot(s)) - 1) * s - sp.Matrix([0, k * g]) for s in (left, right)]
    axis = sp.Matrix([xl - xr, yl - yr])
    rows = (
        Constraint(xb * xl + yb * yl, name="left wheel square to the road"),
        Constraint(axis.dot(axis) - L**2, name="axis"),
    )
    parts: tuple[tuple[str, Measure, float], ...] = (
        ("positions at t = 3", lambda run: run.q[-1], 1e-11),
        ("velocities at t = 3", lambda run: run.qd[-1], 1e-10),
        ("multipliers at t = 3", lambda run: run.multipliers[-1], 5e-12),
    )
    return Case(
        name=name,
        title=title,
        about=(
            "A car's axis on two springs crosses a bumpy road: one wheel rolls on a flat surface, the other goes up "
            "and down with it. One constraint depends on time; the springs are stiff against the small mass."
        ),
        source=f"{TEST_SET}, problem caraxis",
        system=System(q, k * sp.eye(4), [*pulls[0], *pulls[1]], rows),
        parameters=CAR_NUMBERS,
        q0=(0, 0.5, 1, 0.5),
        qd0=(-0.5, 0, -0.5, 0),
        times=np.linspace(0, 3, 301),
        checks=tuple(
            Check(what, measure, values, tolerance, f"{PUBLISHED}; about 12 of its 21 digits hold")
            for (what, measure, tolerance), values in zip(parts, CAR_PUBLISHED, strict=True)
        ),
        units=si(metres="xl yl xr yr"),
        pictures=(
            Picture(
                "heights",
                "Heights of the two ends of the axis",
                "time t / s",
                "height / m",
                histories({"left": coordinate("yl"), "right": coordinate("yr")}),
            ),
            Picture(
                "paths",
                "Paths of the two ends of the axis",
                "x / m",
                "y / m",
                (Curve("left", coordinate("xl"), coordinate("yl")), Curve("right", coordinate("xr"), coordinate("yr"))),
                equal=True,
            ),
        ),
        points=_car_points,
        links=(("left wheel", "left end"), ("left end", "right end"), ("right end", "right wheel")),
        rtol=1e-12,
    )


def _car_points(run: Trajectory) -> dict[str, tuple[Any, Any]]:
    height = CAR_NUMBERS["r"] * np.sin(CAR_NUMBERS["w"] * run.t)
    return {
        "left wheel": (0, 0),
        "left end": (run["xl"], run["yl"]),
        "right end": (run["xr"], run["yr"]),
        "right wheel": (np.sqrt(CAR_NUMBERS["L"] ** 2 - height**2), height),
    }
