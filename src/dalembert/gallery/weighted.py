# SPDX-License-Identifier: BSD-3-Clause
"""Measured constraints that contradict one another, reconciled by their weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from dalembert.equation.stacked_least_squares import StackedLeastSquares
from dalembert.gallery.definition import Case, Check, Picture, coordinate, histories, si
from dalembert.model.constraint import Constraint
from dalembert.model.symbols import coordinates, parameters, t
from dalembert.model.system import System
from dalembert.verbs import motion

FIRST, SECOND = 1.0, 1.1
WEIGHTS = 1 / 0.1**2, 1 / 0.05**2
"""Two measurements of one acceleration, and the inverse squares of their standard deviations."""
MEAN = (WEIGHTS[0] * FIRST + WEIGHTS[1] * SECOND) / sum(WEIGHTS)


def measured(name: str, title: str) -> Case:
    x, y = coordinates("x y")
    m, g, one, two = parameters("m g s1 s2")
    system = System(
        (x, y),
        sp.diag(m, m),
        (0, -m * g),
        (Constraint(x.diff(t, 2) - one, name="first sensor"), Constraint(x.diff(t, 2) - two, name="second sensor")),
    )
    method = StackedLeastSquares(weight=np.array([1.0, 1.0, *WEIGHTS]))
    numbers = {"m": 2.0, "g": 9.81, "s1": FIRST, "s2": SECOND}

    return Case(
        name=name,
        title=title,
        about=(
            "ẍ was measured twice, as 1.00 ± 0.10 and 1.10 ± 0.05. No motion satisfies both; weighted least squares "
            "weights them by the inverse variances, and reports the residuals and the covariance of the result."
        ),
        source="Udwadia, Kalaba & Eun 1997, equations 37 and 38",
        system=system,
        parameters=numbers,
        q0=(0, 0),
        qd0=(0, 0),
        times=np.linspace(0, 1, 51),
        formulation=method,
        no_closed_form="Constraints that contradict one another have no closed form.",
        checks=_checks(system, numbers, method),
        points=lambda run: {"particle": (run["x"], run["y"])},
        units=si(metres="x y"),
        pictures=(
            Picture(
                "motion",
                "The compromise",
                "time t / s",
                "coordinates / m",
                histories({"x": coordinate("x"), "y": coordinate("y")}),
            ),
        ),
    )


def _checks(system: System, numbers: dict[str, float], method: StackedLeastSquares) -> tuple[Check, ...]:
    """Return the known results: the weighted mean of the measurements, its residuals and its standard deviation."""

    def at_start(**changed: float) -> Any:
        return motion(system, (0, 0), (0, 0), parameters={**numbers, **changed}, formulation=method)

    return (
        Check("ẍ", lambda run: run.acceleration[:, 0], MEAN, 1e-12, "weighted mean"),
        Check("x − ẍ t²/2", lambda run: run["x"] - MEAN * run.t**2 / 2, 0, 1e-11, "closed form"),
        Check(
            "residuals of the sensors",
            lambda run: at_start().residuals[2:],
            (MEAN - FIRST, MEAN - SECOND),
            1e-12,
            "closed form",
        ),
        Check(
            "standard deviation of ẍ",
            lambda run: np.sqrt(at_start().acceleration_covariance[0, 0]),
            sum(WEIGHTS) ** -0.5,
            1e-12,
            "closed form",
        ),
        Check(
            "ẍ when both read 1.1",
            lambda run: at_start(s1=SECOND).acceleration[0],
            SECOND,
            1e-12,
            "weights cannot matter",
        ),
    )
