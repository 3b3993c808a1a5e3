# SPDX-License-Identifier: BSD-3-Clause
"""Five robots that follow an interaction law from inconsistent initial data, with and without a stabilising term."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from dalembert.gallery.definition import Case, Check, Curve, Picture, coordinate, histories, si
from dalembert.integration.drift import Baumgarte
from dalembert.integration.trajectory import Trajectory
from dalembert.model.constraint import Constraint
from dalembert.model.servo import Servo
from dalembert.model.symbols import coordinates, parameters, t
from dalembert.model.system import System

SOURCE = "Zhao et al. 2018, section 8.2"
RATE = 2.0
START = 46.289831739115
"""‖β‖ of the initial data."""


def as_printed(name: str, title: str) -> Case:
    return Case(
        name=name,
        title=title,
        about=(
            "The initial velocities violate the constraint. Equation 64 alone keeps β̇ = 0: the error remains "
            "constant, so the figure in the paper, where it falls below 0.01, cannot result from it."
        ),
        drift=None,
        checks=(Check("‖β‖ at all times", error, START, 1e-9, "β̇ = 0"),),
        **_common(),
    )


def stabilised(name: str, title: str) -> Case:
    return Case(
        name=name,
        title=title,
        about=(
            "b ← b − kβ with k = 2 makes the error decay like e^(−kt), as the paper's figure 8 shows. The robots "
            "gather without colliding."
        ),
        drift=Baumgarte(RATE, RATE),
        checks=(
            Check("‖β‖ e^(kt) at all times", lambda run: error(run) * np.exp(RATE * run.t), START, 1e-6, "β̇ = −kβ"),
            Check("‖β‖ at the end, to 0.01", lambda run: error(run)[-1], 0, 0.01, f"{SOURCE}, figure 8"),
            Check(
                "pairs nearer than 0.3 m", lambda run: (_distances(run) < 0.3).sum(), 0, 0, f"{SOURCE}: no collision"
            ),
        ),
        **_common(),
    )


def as_control(name: str, title: str) -> Case:
    common = _common()
    rows = common["system"].constraints
    servo = Servo("law", tuple(row.expression for row in rows), settle=RATE)
    system = common["system"]
    thrust = {f"robot {k}": lambda run, k=k: np.hypot(*(run.inputs[f"{c}{k}"] for c in "xy")) for k in range(1, 6)}
    forces = Picture("forces", "Forces of the robots' motors", "time t / s", "force / N", histories(thrust), log=True)
    common |= {
        "system": System(system.coordinates, system.mass_matrix, system.applied_force, servos=servo),
        "pictures": (common["pictures"][0], forces),
        "allow_violation": False,
    }
    return Case(
        name=name,
        title=title,
        about=(
            "The interaction law as a requirement that the robots' own motors meet: it is never projected, its error "
            "decays like e^(−kt) by the forces of the motors, and these forces are reported with every answer."
        ),
        checks=(
            Check("‖β‖ e^(kt) at all times", _servo_error, START, 1e-6, "β̇ = −kβ"),
            Check("motion less that of Baumgarte's terms", _beside_baumgarte, 0, 1e-9, "the same equation"),
        ),
        **common,
    )


def _servo_error(run: Trajectory) -> Any:
    return np.linalg.norm(run.servo_error["law"], axis=1) * np.exp(RATE * run.t)


def _beside_baumgarte(run: Trajectory) -> Any:
    other = stabilised("", "").simulate(parameters=run.parameters, times=run.t[::25])
    return run.q[::25] - other.q


def _common() -> dict[str, Any]:
    q = coordinates([f"{axis}{k}" for k in range(1, 6) for axis in "xy"])
    m = parameters("m")
    places = [sp.Matrix(q[2 * k : 2 * k + 2]) for k in range(5)]
    rows: list[Constraint] = []
    for k, place in enumerate(places, start=1):
        law: Any = place.diff(t) + sp.Add(*(_gradient(place - other) for other in places if other != place)).doit()
        rows += [Constraint(row, name=f"robot {k} {axis}") for row, axis in zip(law, "xy", strict=True)]
    return {
        "source": SOURCE,
        "system": System(q, m * sp.eye(10), [0] * 10, rows),
        "parameters": {"m": 2.0},
        "q0": (0, 0, 2, 9, 5, 8, 6, 4, 5, 0),
        "qd0": (0.1, 0.1, 0.2, 0.2, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3),
        "times": np.linspace(0, 5, 251),
        "allow_violation": True,
        "points": lambda run: {f"robot {k}": (run[f"x{k}"], run[f"y{k}"]) for k in range(1, 6)},
        "units": si(metres=" ".join(f"{axis}{k}" for k in range(1, 6) for axis in "xy")),
        "pictures": (
            Picture(
                "figure 7",
                "Figure 7 of the review: paths of the five robots",
                "x / m",
                "y / m",
                tuple(Curve(f"robot {k}", coordinate(f"x{k}"), coordinate(f"y{k}")) for k in range(1, 6)),
                equal=True,
            ),
            Picture(
                "figure 8",
                "Figure 8 of the review: how far the robots are from their law",
                "time t / s",
                "‖β‖ / (m/s)",
                histories({"": error}),
                log=True,
            ),
        ),
    }


def _gradient(d: Any) -> Any:
    """Return ∇G of one pair: attraction d, repulsion 0.5 d/‖d‖."""
    return d * (1 - sp.Rational(1, 2) / sp.sqrt(d.dot(d)))


def _distances(run: Trajectory) -> Any:
    """Return the distances of all pairs of robots, at all times."""
    places = run.q.reshape(len(run), 5, 2)
    return np.stack([np.linalg.norm(places[:, i] - places[:, j], axis=1) for i in range(5) for j in range(i)])


def error(run: Trajectory) -> Any:
    """Return ‖β‖, the residual of the constraints at velocity level."""
    return np.linalg.norm(run.violation, axis=1)
