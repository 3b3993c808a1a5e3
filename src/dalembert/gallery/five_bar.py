# SPDX-License-Identifier: BSD-3-Clause
"""A five-bar robot: two motors at the base move its end point along an ellipse."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import sympy as sp

from dalembert.gallery.bodies import start_of
from dalembert.gallery.definition import Case, Check, Curve, Picture, histories, si
from dalembert.integration.trajectory import Trajectory
from dalembert.mechanisms.forces import Gravity
from dalembert.mechanisms.frames import ground
from dalembert.mechanisms.joints import Revolute
from dalembert.mechanisms.mechanism import Mechanism
from dalembert.mechanisms.planar_body import PlanarBody
from dalembert.model.servo import Actuator, Servo
from dalembert.model.symbols import t

G = 9.81
BASE = {"left": np.array([-0.15, 0.0]), "right": np.array([0.15, 0.0])}
ELBOWS = {"left": 1, "right": -1}  # both bend outwards
UPPER, FORE = 0.3, 0.4
UPPER_MASS, FORE_MASS = 1.2, 0.8
CENTRE, AXES, RATE = (0.0, 0.45), (0.15, 0.08), 3.0
START = (0.08, 0.4)
SETTLING = 5.0


def ellipse(name: str, title: str) -> Case:
    mechanism = five_bar()
    q0, qd0 = start_of(mechanism)
    bars = [body.name for body in mechanism.bodies]
    return Case(
        name=name,
        title=title,
        about=(
            "Two arms of two bars each stand on the ground and hold a common end point. Motors turn the lower bars. "
            "They bring the end point, at rest beside an ellipse, onto it and move it along."
        ),
        source="inverse dynamics of the two arms, by hand",
        system=mechanism.system,
        mechanism=mechanism,
        q0=q0,
        qd0=qd0,
        times=np.linspace(0, 3, 301),
        checks=_checks(),
        units=si(
            metres=" ".join(f"{axis}_{bar}" for bar in bars for axis in "xy"),
            radians=" ".join(f"theta_{bar}" for bar in bars),
        )
        | {f"{side} motor": "N m" for side in BASE}
        | {"ellipse": "m"},
        pictures=_pictures(),
        readable=False,
        points=_points,
        links=tuple(link for side in BASE for link in ((f"{side} base", f"{side} elbow"), (f"{side} elbow", "tool"))),
    )


def _checks() -> tuple[Check, ...]:
    return (
        Check(
            "end point − ellipse − settling error",
            lambda run: np.array(_end(run)).T - _motion(run.t)[0].T,
            0,
            1e-9,
            "closed form: (e₀ + (ė₀ + ωe₀) t) exp(−ωt)",
        ),
        Check(
            "torques of the motors − inverse dynamics",
            lambda run: np.array([run.inputs[f"{side} motor"] for side in BASE]) - _inverse_dynamics(run.t)[0],
            0,
            1e-9,
            "inverse dynamics of the two arms, by hand",
        ),
        Check(
            "force in the common pin − inverse dynamics",
            lambda run: np.array([run["tool: x"], run["tool: y"]]) - _inverse_dynamics(run.t)[1],
            0,
            1e-9,
            "inverse dynamics of the two arms, by hand",
        ),
    )


def _pictures() -> tuple[Picture, ...]:
    return (
        Picture(
            "path",
            "The end point and the ellipse",
            "x / m",
            "y / m",
            (
                Curve("end point", lambda run: _end(run)[0], lambda run: _end(run)[1]),
                Curve("ellipse", lambda run: _ellipse(run.t)[0][0], lambda run: _ellipse(run.t)[0][1]),
            ),
            equal=True,
        ),
        Picture(
            "torques",
            "Torques of the motors",
            "time t / s",
            "torque / (N m)",
            histories({side: _torque(side) for side in BASE}),
        ),
    )


def five_bar() -> Mechanism:
    """Return the robot, at rest with its end point at the start."""
    bodies: list[PlanarBody] = []
    joints: list[Revolute] = []
    motors: list[Actuator] = []
    for side, base in BASE.items():
        upper, fore = _arm(side, np.array(START))
        elbow = base + UPPER * _along(upper)
        parts = (("upper", UPPER, UPPER_MASS, upper, base), ("fore", FORE, FORE_MASS, fore, elbow))
        own = [
            PlanarBody(f"{side}_{part}", mass, mass * length**2 / 12, foot + length / 2 * _along(angle), float(angle))
            for part, length, mass, angle, foot in parts
        ]
        shoulder = Revolute(f"{side} shoulder", ground.at(*base), own[0].at(-UPPER / 2, 0))
        joints += [shoulder, Revolute(f"{side} elbow", own[0].at(UPPER / 2, 0), own[1].at(-FORE / 2, 0))]
        motors.append(Actuator(f"{side} motor", shoulder))
        bodies += own
    left, right = (body.at(FORE / 2, 0) for body in bodies[1::2])
    path = sp.Matrix([CENTRE[0] + AXES[0] * sp.cos(RATE * t), CENTRE[1] + AXES[1] * sp.sin(RATE * t)])
    follow = Servo("ellipse", left.position - path, by=motors, settle=SETTLING)
    return Mechanism(bodies, (*joints, Revolute("tool", left, right)), Gravity((0, -G)), servos=follow)


def _along(angle: Any) -> Any:
    return np.array([np.cos(angle), np.sin(angle)])


def _across(angle: Any) -> Any:
    return np.array([-np.sin(angle), np.cos(angle)])


def _arm(side: str, end: Any) -> tuple[Any, Any]:
    """Return the angles of both bars of an arm whose end is at a point, or at points (2, k)."""
    x, y = (end.T - BASE[side]).T
    distance = np.hypot(x, y)
    upper = np.arctan2(y, x) + ELBOWS[side] * np.arccos(
        (UPPER**2 + distance**2 - FORE**2) / (2 * UPPER * distance)
    )  # cosine theorem
    return upper, np.arctan2(y - UPPER * np.sin(upper), x - UPPER * np.cos(upper))


def _end(run: Trajectory) -> tuple[Any, Any]:
    """Return x and y of the end point."""
    angle = run["theta_right_fore"]
    return run["x_right_fore"] + FORE / 2 * np.cos(angle), run["y_right_fore"] + FORE / 2 * np.sin(angle)


def _ellipse(times: Any) -> tuple[Any, Any, Any]:
    """Return points (2, k) of the ellipse with their velocities and accelerations."""
    radii, turn = np.array(AXES)[:, None], RATE * np.asarray(times)
    away = radii * _along(turn)
    return np.array(CENTRE)[:, None] + away, RATE * radii * _across(turn), -(RATE**2) * away


def _motion(times: Any) -> tuple[Any, Any, Any]:
    """Return the end point (2, k), its velocity and acceleration: the ellipse, and an error with ë + 2ωė + ω²e = 0."""
    start, speed, _ = (x[:, :1] for x in _ellipse(np.zeros(1)))
    first, w = np.array(START)[:, None] - start, SETTLING
    slope = w * first - speed
    fade = np.exp(-w * times)
    error = (first + slope * times) * fade
    rate = slope * fade - w * error
    x, v, a = _ellipse(times)
    return x + error, v + rate, a - w * slope * fade - w * rate


class _ArmLoad(NamedTuple):
    """The force that moves an arm: torques (2, k) along the angles of its bars, and their angles."""

    torques: Any
    upper: Any
    fore: Any


def _arm_load(side: str, times: Any) -> _ArmLoad:
    """Return M θ̈ + h + ∂V/∂θ of one arm by itself, from Lagrange's equations in the angles of its two bars."""
    place, speed, bend = _motion(times)
    upper, fore = _arm(side, place)
    jacobian = np.stack([UPPER * _across(upper), FORE * _across(fore)], axis=1).transpose(2, 0, 1)
    rates = np.linalg.solve(jacobian, speed.T[:, :, None])[..., 0].T
    centripetal = UPPER * _along(upper) * rates[0] ** 2 + FORE * _along(fore) * rates[1] ** 2
    turns = np.linalg.solve(jacobian, (bend + centripetal).T[:, :, None])[..., 0].T
    coupling, between = FORE_MASS * UPPER * FORE / 2, upper - fore
    inertia = UPPER_MASS * UPPER**2 / 3 + FORE_MASS * UPPER**2, FORE_MASS * FORE**2 / 3
    weight = G * (UPPER_MASS / 2 + FORE_MASS) * UPPER, G * FORE_MASS / 2 * FORE
    torques = [
        inertia[0] * turns[0]
        + coupling * (np.cos(between) * turns[1] + np.sin(between) * rates[1] ** 2)
        + weight[0] * np.cos(upper),
        inertia[1] * turns[1]
        + coupling * (np.cos(between) * turns[0] - np.sin(between) * rates[0] ** 2)
        + weight[1] * np.cos(fore),
    ]
    return _ArmLoad(np.array(torques), upper, fore)


def _inverse_dynamics(times: Any) -> tuple[Any, Any]:
    """Return the torques (2, k) of both motors, and the force (2, k) of the left arm on the right one."""
    left, right = (_arm_load(side, times) for side in BASE)
    # no motor turns the upper two bars: the force F in the common pin does
    rows = np.stack([-FORE * _across(left.fore), FORE * _across(right.fore)]).transpose(2, 0, 1)
    force = np.linalg.solve(rows, np.stack([left.torques[1], right.torques[1]]).T[:, :, None])[..., 0].T
    arms = [UPPER * np.sum(_across(arm.upper) * force, axis=0) for arm in (left, right)]
    return np.array([left.torques[0] + arms[0], right.torques[0] - arms[1]]), force


def _torque(side: str) -> Any:
    return lambda run: run.inputs[f"{side} motor"]


def _points(run: Trajectory) -> dict[str, tuple[Any, Any]]:
    places: dict[str, tuple[Any, Any]] = {"tool": _end(run)}
    for side, base in BASE.items():
        angle = run[f"theta_{side}_upper"]
        places[f"{side} base"] = tuple(base)
        places[f"{side} elbow"] = (base[0] + UPPER * np.cos(angle), base[1] + UPPER * np.sin(angle))
    return places
