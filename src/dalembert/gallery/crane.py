# SPDX-License-Identifier: BSD-3-Clause
"""An overhead crane whose inputs have a closed form, because it is differentially flat."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from dalembert.gallery.control_cases import G, force_histories
from dalembert.gallery.definition import Case, Check, Curve, Picture, si
from dalembert.model.servo import Actuator, Servo
from dalembert.model.symbols import coordinates, t
from dalembert.model.system import System


def crane(name: str, title: str) -> Case:
    """Return an overhead crane whose load is carried over an obstacle, from rest to rest."""
    q = x, length, theta = coordinates("x l theta")
    X, Z = x + length * sp.sin(theta), -length * sp.cos(theta)
    kinetic = 5 * x.diff(t) ** 2 / 2 + length.diff(t) ** 2 / 4 + (X.diff(t) ** 2 + Z.diff(t) ** 2) / 2
    way = _flat_path()
    by = (Actuator("trolley", x), Actuator("winch", length))
    servo = Servo("load", (X - way[0], Z - way[1]), by=by, settle=3)
    ahead, up = map(_second_derivative, way)
    slope = ahead / (up + G)
    known = (way[0] - way[1] * slope, -way[1] * sp.sqrt(1 + slope**2), -sp.atan(slope))
    measured = [sp.lambdify(t, e) for e in known]
    forces = {
        "trolley": 5 * _second_derivative(known[0]) + ahead,
        "winch": _second_derivative(known[1]) / 2 - sp.sqrt(ahead**2 + (up + G) ** 2),
    }
    place = [sp.lambdify(t, e) for e in way]
    return Case(
        name=name,
        title=title,
        about=(
            "Trolley and winch carry a load from rest to rest, over an obstacle. Both act on the load only along the "
            "rope, so that one combination of the requirements must be differentiated four times. The crane is "
            "differentially flat: trolley, rope and forces follow from the path of the load."
        ),
        source="Blajer and Kołodziejczyk 2007; Fliess et al. 1995 for the closed form",
        system=System.from_lagrangian((kinetic - G * Z).doit(), q, servos=servo),
        q0=tuple(float(f(0.0)) for f in measured),
        qd0=(0, 0, 0),
        times=np.linspace(0, 4, 201),
        checks=(
            Check("load − its path", _off_path(place), 0, 1e-9, "the requirement"),
            *(
                Check(f"{label} − closed form", lambda run, k=k: run.q[:, k] - measured[k](run.t), 0, 1e-9, "flatness")
                for k, label in enumerate(("trolley", "rope", "angle"))
            ),
            *(
                Check(f"force of {n} − closed form", _off_force(n, exact), 0, 1e-7, "flatness")
                for n, exact in forces.items()
            ),
            Check("swing at the end", lambda run: np.abs(run.qd[-1]).max(), 0, 1e-8, "rest to rest"),
        ),
        units=si(metres="x l", radians="theta"),
        pictures=(
            Picture(
                "path",
                "Path of the load over the obstacle",
                "x / m",
                "z / m",
                (Curve("", _load(0), _load(1)),),
                equal=True,
            ),
            force_histories(("trolley", "winch")),
        ),
        points=lambda run: {"trolley": (run["x"], 0 * run.t), "load": (_load(0)(run), _load(1)(run))},
        links=(("trolley", "load"),),
        readable=False,
    )


def _flat_path() -> tuple[Any, Any]:
    """Return a path of four seconds, of which the first four derivatives vanish at both ends."""
    s = t / 4
    rise = s**5 * (126 - 420 * s + 540 * s**2 - 315 * s**3 + 70 * s**4)  # from 0 to 1
    return 3 * rise, sp.Rational(-5, 2) + 5 * rise * (1 - rise)


def _second_derivative(expression: Any) -> Any:
    return expression.diff(t).diff(t)  # `diff(t, 2)` factors its result, which takes seconds here


def _load(axis: int) -> Any:
    return lambda run: run["x"] + run["l"] * np.sin(run["theta"]) if axis == 0 else -run["l"] * np.cos(run["theta"])


def _off_force(name: str, exact: Any) -> Any:
    value = sp.lambdify(t, exact, cse=True)
    return lambda run: run.inputs[name] - value(run.t)


def _off_path(place: list[Any]) -> Any:
    return lambda run: np.array([_load(k)(run) - place[k](run.t) for k in range(2)])
