# SPDX-License-Identifier: BSD-3-Clause
"""A two-link manipulator with flexible joints under the servo constraint q̇₂ + q̇₄ = 0.

Notation: links q1 = (q2, q4), motors (q1, q3);  D q̈ + C q̇ + G + K (links − motors) = 0,  J q̈ − K (links − motors) = u.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from dalembert.gallery.definition import Case, Check, Picture, histories, si, velocity
from dalembert.integration.trajectory import Trajectory
from dalembert.model.constraint import Constraint
from dalembert.model.standard_form import gradient, time_derivative
from dalembert.model.symbols import StateSymbols, coordinates, parameters, t
from dalembert.model.system import System

SOURCE = "Zhao et al. 2018, section 8.3"
P = 0.4
"""Not printed in the paper; consistent with its "no more than 2 s" to satisfy the constraint."""
NUMBERS = {"m1": 1.0, "m2": 1.0, "l1": 1.0, "lc1": 0.5, "lc2": 0.5, "I1": 1.0, "I2": 1.0, "K": 1.0, "g": 9.81, "P": P}
PRINTED = {name: sp.nsimplify(NUMBERS[name]) for name in ("m1", "m2", "l1", "lc1", "lc2", "I1", "I2")}
"""Values substituted in the whole plant, whose constraint is differentiated three times: in symbols it fills pages."""
SPEEDS = (1.0, -0.1)
"""Initial velocities of the links, which violate the constraint by 0.9."""


def links(name: str, title: str) -> Case:
    """Return the links alone: the spring torque K·(motor angle) is the control, as in equation 72."""
    q = q2, q4 = coordinates("q2 q4")
    D, forces, K = _links(q)
    p = parameters("P")
    error = q2.diff(t) + q4.diff(t)
    # The paper's correction −D Aᵀ(AAᵀ)⁻¹β/P is an applied force; the constraint force on top of it is equation 71.
    correction = -D * sp.Matrix([1, 1]) * error / (2 * p)
    servo = Constraint(error.diff(t) + error / p, name="servo")
    return Case(
        name=name,
        title=title,
        about=(
            "The control of the review's equations 71 and 72 makes the error of q̇₂ + q̇₄ = 0 decay like e^(−t/P). "
            "It acts on the links as the torque of the springs would."
        ),
        system=System(q, D, forces - K * sp.Matrix(q) + correction, servo),
        parameters=NUMBERS,
        q0=(0, 0),
        qd0=SPEEDS,
        checks=_checks(),
        **_common(),
    )


def plant(name: str, title: str) -> Case:
    """Return links and motors: the constraint is differentiated until the motor torque appears."""
    q = q2, q4, q1, q3 = coordinates("q2 q4 q1 q3")
    J, rate = parameters("J c")
    D, forces, K = (part.subs(PRINTED) for part in _links((q2, q4)))
    pull = K * (sp.Matrix([q2, q4]) - sp.Matrix([q1, q3]))
    mass = sp.diag(D, J, J)
    force = sp.Matrix.vstack(forces - pull, pull)
    servo, phi, chi = _cascade(q, D.adjugate() * (forces - pull) / D.det(), rate)
    numbers = {"J": 1.0, "c": 10.0, **{name: NUMBERS[name] for name in ("K", "g", "P")}}
    start = _matched_start(q, phi, chi, numbers)
    return Case(
        name=name,
        title=title,
        about=(
            "The torque must come from the motors, which act on the links through two integrations: β̇ + β/P is a "
            "function φ of links and motor angles, and φ̈ + 2cφ̇ + c²φ = 0 contains the motors' accelerations. The "
            "constraint force is then the motor torque u, and acts only on the motors. Motor angles and speeds start "
            "where φ = φ̇ = 0."
        ),
        system=System(q, mass, force, Constraint(servo, name="servo")),
        parameters=numbers,
        q0=(0, 0, *start[0]),
        qd0=(*SPEEDS, *start[1]),
        checks=(
            *_checks(),
            Check("torque on the links", lambda run: run.ideal_force[:, :2], 0, 1e-12, "the motors are between"),
        ),
        **_common(torque=True),
    )


def _links(q: tuple[Any, Any]) -> tuple[Any, Any, Any]:
    """Return D, −(C q̇ + G) and K of the links [equations 67 and 68, with m₂ in c₁₁]."""
    q2, q4 = q
    v2, v4 = q2.diff(t), q4.diff(t)
    m1, m2, l1, lc1, lc2, i1, i2, k, g = parameters("m1 m2 l1 lc1 lc2 I1 I2 K g")
    d22 = m2 * lc2**2 + i2
    d12 = d22 + m2 * l1 * lc2 * sp.cos(q4)
    D = sp.Matrix([[m2 * (l1**2 + lc2**2 + 2 * l1 * lc2 * sp.cos(q4)) + m1 * lc1**2 + i1 + i2, d12], [d12, d22]])
    h = m2 * l1 * lc2 * sp.sin(q4)
    coriolis = sp.Matrix([-h * v4 * v2 - h * (v4 + v2) * v4, h * v2**2])
    outer = m2 * lc2 * g * sp.sin(q2 + q4)
    weight = sp.Matrix([(m1 * lc1 + m2 * l1) * g * sp.sin(q2) + outer, outer])
    return D, -coriolis - weight, k


def _cascade(q: tuple[Any, ...], link_acceleration: Any, rate: Any) -> tuple[Any, Any, Any]:
    """Return φ = β̇ + β/P by the links' own equation, χ = φ̇ + cφ, and the constraint χ̇ + cχ = 0.

    The links' accelerations are replaced using their equation of motion, so that the row of the constraint, and with it
    its force, has no component in the links.
    """
    symbols = StateSymbols(q)
    known = dict(zip(symbols.qdd[:2], [symbols.plain(a) for a in link_acceleration], strict=True))
    error = symbols.qd[0] + symbols.qd[1]
    phi = sum(known.values()) + error / sp.Symbol("P", real=True)
    c = sp.Symbol(rate.name, real=True)

    def derivative(expression: Any) -> Any:
        slopes = gradient(expression, symbols.qd)
        moving = [slope * known.get(a, a) for slope, a in zip(slopes, symbols.qdd, strict=True)]
        return time_derivative(expression, symbols) + sp.Add(*moving)

    chi = derivative(phi) + c * phi
    return symbols.restore(derivative(chi) + c * chi), symbols.restore(phi), symbols.restore(chi)


def _matched_start(q: tuple[Any, ...], phi: Any, chi: Any, numbers: dict[str, float]) -> tuple[Any, Any]:
    """Return motor angles and speeds, equal for both motors, with φ = 0 and χ = 0; both are linear in them."""
    symbols = StateSymbols(q)
    names = sp.symbols(list(numbers), real=True)
    function = sp.lambdify((symbols.q, symbols.qd, names), [symbols.plain(phi), symbols.plain(chi)])

    def at(angle: float, speed: float) -> Any:
        return np.array(function((0, 0, angle, angle), (*SPEEDS, speed, speed), list(numbers.values())))

    slopes = np.stack([at(1, 0) - at(0, 0), at(0, 1) - at(0, 0)], axis=1)
    angle, speed = np.linalg.solve(slopes, -at(0, 0))
    return (angle, angle), (speed, speed)


def _error(run: Trajectory) -> Any:
    return velocity("q2")(run) + velocity("q4")(run)


def _checks() -> tuple[Check, ...]:
    return (
        Check("β(t) − 0.9 e^(−t/P)", lambda run: _error(run) - 0.9 * np.exp(-run.t / P), 0, 1e-9, "β̇ = −β/P"),
        Check("β at 2 s, to 0.01", lambda run: _error(run)[np.searchsorted(run.t, 2)], 0, 0.01, f"{SOURCE}, figure 10"),
    )


def _common(*, torque: bool = False) -> dict[str, Any]:
    torques = {"u₁": lambda run: run.ideal_force[:, 2], "u₂": lambda run: run.ideal_force[:, 3]}
    extra = (Picture("torque", "Motor torque", "time t / s", "u / (N m)", histories(torques)),) if torque else ()
    speeds = {"q̇₂": velocity("q2"), "q̇₄": velocity("q4")}
    return {
        "source": SOURCE,
        "times": np.linspace(0, 5, 251),
        "units": si(radians="q1 q2 q3 q4" if torque else "q2 q4"),
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
            *extra,
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
