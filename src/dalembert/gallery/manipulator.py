# SPDX-License-Identifier: BSD-3-Clause
"""A two-link manipulator with flexible joints under the servo constraint q̇₂ + q̇₄ = 0.

Notation: links q1 = (q2, q4), motors (q1, q3);  D q̈ + C q̇ + G + K (links − motors) = 0,  J q̈ − K (links − motors) = u.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from dalembert.gallery.definition import Case, Check, Measure, Picture, histories, si, velocity
from dalembert.integration.trajectory import Trajectory
from dalembert.model.servo import Actuator, Servo
from dalembert.model.symbols import coordinates, parameters, t
from dalembert.model.system import System

SOURCE = "Zhao et al. 2018, section 8.3"
P = 0.4
"""Not printed in the paper; consistent with its "no more than 2 s" to satisfy the constraint."""
NUMBERS = {"m1": 1.0, "m2": 1.0, "l1": 1.0, "lc1": 0.5, "lc2": 0.5, "I1": 1.0, "I2": 1.0, "K": 1.0, "g": 9.81, "P": P}
THIRD_ORDER = 0.2
"""P of the whole plant, whose error settles by a polynomial of third order."""
PRINTED = {name: sp.nsimplify(NUMBERS[name]) for name in ("m1", "m2", "l1", "lc1", "lc2", "I1", "I2")}
"""Values substituted in the whole plant, whose constraint is differentiated three times: in symbols it fills pages."""
SPEEDS = (1.0, -0.1)
"""Initial velocities of the links, which violate the constraint by 0.9."""


def links(name: str, title: str) -> Case:
    """Return the links alone: the spring torque K·(motor angle) is the control, as in equation 72."""
    q = coordinates("q2 q4")
    D, forces, K = _links(q)
    # in the Euclidean metric the settling term is the paper's −D Aᵀ(AAᵀ)⁻¹β/P
    servo = Servo("servo", _requirement(q), settle=1 / parameters("P"), metric="euclidean")
    torques = {"u₁": lambda run: run.inputs["q2"], "u₂": lambda run: run.inputs["q4"]}
    return Case(
        name=name,
        title=title,
        about=(
            "The control of the review's equations 71 and 72 makes the error of q̇₂ + q̇₄ = 0 decay like e^(−t/P). "
            "It acts on the links as the torque of the springs would."
        ),
        system=System(q, D, forces - K * sp.Matrix(q), servos=servo),
        parameters=NUMBERS,
        q0=(0, 0),
        qd0=SPEEDS,
        checks=(
            Check("β(t) − 0.9 e^(−t/P)", lambda run: _error(run) - 0.9 * np.exp(-run.t / P), 0, 1e-9, "β̇ = −β/P"),
            Check(
                "β at 2 s, to 0.01", lambda run: _error(run)[np.searchsorted(run.t, 2)], 0, 0.01, f"{SOURCE}, figure 10"
            ),
        ),
        **_common("q2 q4", torques),
    )


def plant(name: str, title: str) -> Case:
    """Return links and motors: inputs appear in the third derivative of the requirement."""
    q = q2, q4, q1, q3 = coordinates("q2 q4 q1 q3")
    J = parameters("J")
    D, forces, K = (part.subs(PRINTED) for part in _links((q2, q4)))
    pull = K * (sp.Matrix([q2, q4]) - sp.Matrix([q1, q3]))
    motors = (Actuator("motor 1", q1), Actuator("motor 2", q3))
    servo = Servo("servo", _requirement((q2, q4)), by=motors, settle=1 / parameters("P"))
    torques = {"u₁": lambda run: run.inputs["motor 1"], "u₂": lambda run: run.inputs["motor 2"]}
    return Case(
        name=name,
        title=title,
        about=(
            "The torque must come from the motors, which act on the links through two integrations. So the error "
            "settles by a polynomial of third order, (d/dt + 1/P)³ β = 0, and the least torques that do this are "
            "computed."
        ),
        system=System(q, sp.diag(D, J, J), sp.Matrix.vstack(forces - pull, pull), servos=servo),
        parameters={"J": 1.0, "P": THIRD_ORDER, **{name: NUMBERS[name] for name in ("K", "g")}},
        q0=(0, 0, 0, 0),
        qd0=(*SPEEDS, 0, 0),
        checks=(
            Check("β(t) − e^(−t/P)(β₀ + β₁t + β₂t²/2)", _third_order, 0, 1e-9, "(d/dt + 1/P)³ β = 0"),
            Check(
                "β at 2 s, to 0.01", lambda run: _error(run)[np.searchsorted(run.t, 2)], 0, 0.01, f"{SOURCE}, figure 10"
            ),
        ),
        **_common("q2 q4 q1 q3", torques),
    )


def _requirement(q: tuple[Any, Any]) -> Any:
    return q[0].diff(t) + q[1].diff(t)


def _third_order(run: Trajectory) -> Any:
    """Return the difference between the error and the solution e^(−t/P)(β₀ + β₁t + β₂t²/2) of its equation."""
    omega, beta = 1 / run.parameters["P"], _error(run)
    slope = run.acceleration[0, 0] + run.acceleration[0, 1]
    rest = beta * np.exp(omega * run.t) - beta[0] - (slope + omega * beta[0]) * run.t
    # the last coefficient is taken from one later time; the others are those of the start
    k = len(run) // 5
    return (rest - rest[k] * (run.t / run.t[k]) ** 2) * np.exp(-omega * run.t)


def review_terms(q: tuple[Any, Any]) -> tuple[System, Any, Any, Any, Any]:
    """Return the links as a system, and D, C, G and the requirement in the review's letters [equations 67 to 69]."""
    D, C, G, _ = _review(q)
    return System(q, D, -G), D, C, G, _requirement(q)


def _links(q: tuple[Any, Any]) -> tuple[Any, Any, Any]:
    """Return D, −(C q̇ + G) and K of the links."""
    D, C, G, k = _review(q)
    return D, -(C * sp.Matrix(q).diff(t)) - G, k


def _review(q: tuple[Any, Any]) -> tuple[Any, Any, Any, Any]:
    """Return D, C, G and K of the links [equations 67 and 68, with m₂ in c₁₁]."""
    q2, q4 = q
    v2, v4 = q2.diff(t), q4.diff(t)
    m1, m2, l1, lc1, lc2, i1, i2, k, g = parameters("m1 m2 l1 lc1 lc2 I1 I2 K g")
    d22 = m2 * lc2**2 + i2
    d12 = d22 + m2 * l1 * lc2 * sp.cos(q4)
    D = sp.Matrix([[m2 * (l1**2 + lc2**2 + 2 * l1 * lc2 * sp.cos(q4)) + m1 * lc1**2 + i1 + i2, d12], [d12, d22]])
    h = m2 * l1 * lc2 * sp.sin(q4)
    C = sp.Matrix([[-h * v4, -h * (v4 + v2)], [h * v2, 0]])
    outer = m2 * lc2 * g * sp.sin(q2 + q4)
    weight = sp.Matrix([(m1 * lc1 + m2 * l1) * g * sp.sin(q2) + outer, outer])
    return D, C, weight, k


def _error(run: Trajectory) -> Any:
    return velocity("q2")(run) + velocity("q4")(run)


def _common(names: str, torques: dict[str, Measure]) -> dict[str, Any]:
    speeds = {"q̇₂": velocity("q2"), "q̇₄": velocity("q4")}
    return {
        "source": SOURCE,
        "times": np.linspace(0, 5, 251),
        "units": si(radians=names),
        "pictures": (
            Picture(
                "figure 10",
                "Figure 10 of the review: violation of the servo constraint",
                "time t / s",
                "β / (rad/s)",
                histories({"": _error}),
            ),
            Picture(
                "figure 11",
                "Figure 11 of the review: speeds of the links",
                "time t / s",
                "speed / (rad/s)",
                histories(speeds),
            ),
            Picture("torque", "Torque of the control", "time t / s", "u / (N m)", histories(torques)),
        ),
        "points": _points,
        "links": (("base", "elbow"), ("elbow", "hand")),
    }


def _points(run: Trajectory) -> dict[str, tuple[Any, Any]]:
    """Return the points of the arm; angles are measured from the downward vertical, and both links are equally long."""
    length, both = run.parameters.get("l1", 1.0), run["q2"] + run["q4"]
    elbow = length * np.sin(run["q2"]), -length * np.cos(run["q2"])
    return {
        "base": (0, 0),
        "elbow": elbow,
        "hand": (elbow[0] + length * np.sin(both), elbow[1] - length * np.cos(both)),
    }
