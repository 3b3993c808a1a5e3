# SPDX-License-Identifier: BSD-3-Clause
"""Arms whose tip follows a circle: redundant motors with two costs, and controllers whose model has wrong masses."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import sympy as sp

from dalembert.control.controller import Controller, controller
from dalembert.ensembles.ensemble import simulate_ensemble
from dalembert.gallery.definition import Case, Check, Curve, Picture, histories, si
from dalembert.integration.trajectory import Trajectory
from dalembert.model.servo import Actuator, Servo
from dalembert.model.symbols import coordinates, parameters, t
from dalembert.model.system import System
from dalembert.model.uncertainty import BoundedUncertainty
from dalembert.verbs import consistent_state

CENTRE, RADIUS = (1.2, 0.4), 0.3
LENGTHS = (1.0, 0.8, 0.5)
MASSES = (2.0, 1.5, 1.0)
SHOWN = 1e-5
"""Distance, in metres, below which the figure of the ensemble shows no differences."""
PLANTS = 1000
"""Plants of the ensemble, with masses of up to 20 % more or less than those of the model."""


def least_torques(name: str, title: str) -> Case:
    return _three_links(
        name, title, "The three motors share the task with the least sum of squared torques, N = I.", motors=True
    )


def least_inertia(name: str, title: str) -> Case:
    about = (
        "The three motors share the task with N = M⁻¹: the torques are those of the fundamental equation, as if nature "
        "kept the tip on its circle."
    )
    return _three_links(name, title, about, motors=False)


def _three_links(name: str, title: str, about: str, *, motors: bool) -> Case:
    q = coordinates("q1 q2 q3")
    lagrangian, tip = _arm(q, MASSES)
    by = tuple(Actuator(f"motor {k}", angle) for k, angle in enumerate(q, start=1)) if motors else None
    rows = tuple(e - e_wanted for e, e_wanted in zip(tip, _circle(), strict=True))
    names = [f"motor {k}" for k in (1, 2, 3)] if motors else ["q1", "q2", "q3"]
    system = System.from_lagrangian(lagrangian, q, servos=Servo("tip", rows, by=by, settle=4))
    q0, qd0 = consistent_state(system, (0.6, -0.8, -0.6), (0, 0, 0), servos=True)
    return Case(
        name=name,
        title=title,
        about=(
            f"The tip of a three-link arm follows a circle in the plane of gravity. {about} The motion that the circle "
            f"leaves free is not damped: a cost that is least at each instant lets the joints swing fast."
        ),
        source="redundant inputs: Udwadia 2003; published values: none, compared with a quadratic program in the tests",
        system=system,
        q0=tuple(map(float, q0)),
        qd0=tuple(map(float, qd0)),
        times=np.linspace(0, np.pi, 158),
        checks=(
            Check("tip − its circle", _off_circle, 0, 1e-9, "the requirement"),
            Check("work of the motors − gained energy", _balance, 0, 1e-7, "energy"),
            Check(
                "slope of the cost along inputs without effect on the tip",
                _slope(system, tip, names, motors=motors),
                0,
                1e-9,
                "least cost: N u is orthogonal to all inputs without effect",
            ),
        ),
        units=si(radians="q1 q2 q3"),
        pictures=(
            Picture("path", "Path of the tip", "x / m", "y / m", (Curve("", _tip(0), _tip(1)),), equal=True),
            Picture(
                "torques",
                "Torques of the motors",
                "time t / s",
                "torque / (N m)",
                histories({f"motor {k}": lambda run, n=n: run.inputs[n] for k, n in enumerate(names, start=1)}),
            ),
        ),
        points=_joints,
        links=(("base", "elbow"), ("elbow", "wrist"), ("wrist", "tip")),
    )


def _slope(system: System, tip: tuple[Any, Any], names: list[str], *, motors: bool) -> Any:
    """Return the function of a run that gives the cosine of the angle between N u and inputs that do not move the tip.

    These are M n, where the tip does not move along n: the cost has no slope along them where it is least.
    """
    q = system.coordinates
    J = sp.Matrix(tip).jacobian(q)
    still = J.row(0).cross(J.row(1)).T
    along = sp.lambdify([q], [*(system.mass_matrix * still if motors else still)])

    def cosine(run: Trajectory) -> Any:
        v = np.array(along(run.q.T))
        u = np.array([run.inputs[name] for name in names])
        return (u * v).sum(axis=0) / (np.linalg.norm(u, axis=0) * np.linalg.norm(v, axis=0))

    return cosine


def _arm(q: Any, masses: Any) -> tuple[Any, tuple[Any, Any]]:
    """Return the Lagrangian of an arm of uniform rods, and the position of its tip."""
    x = y = angle = kinetic = potential = sp.S.Zero
    for joint, measured, mass in zip(q, LENGTHS, masses, strict=False):
        # exact, so that the derivation shows mass · length² / 12 without rounding errors
        length = sp.Rational(str(measured))
        mass = sp.Rational(str(mass)) if isinstance(mass, float) else mass
        angle += joint
        middle = x + length / 2 * sp.cos(angle), y + length / 2 * sp.sin(angle)
        kinetic += mass * (middle[0].diff(t) ** 2 + middle[1].diff(t) ** 2) / 2
        kinetic += mass * length**2 / 24 * angle.diff(t) ** 2
        potential += mass * sp.Float("9.81") * middle[1]
        x, y = x + length * sp.cos(angle), y + length * sp.sin(angle)
    return (kinetic - potential).doit(), (x, y)


def _circle() -> tuple[Any, Any]:
    return CENTRE[0] + RADIUS * sp.cos(2 * t), CENTRE[1] + RADIUS * sp.sin(2 * t)


def _tip(axis: int) -> Any:
    return lambda run: _joints(run)["tip"][axis]


def _joints(run: Trajectory) -> dict[str, tuple[Any, Any]]:
    names = ("elbow", "wrist", "tip") if run.q.shape[1] == 3 else ("elbow", "tip")
    found: dict[str, tuple[Any, Any]] = {"base": (0 * run.t, 0 * run.t)}
    x = y = angle = 0.0
    for k, name in enumerate(names):
        angle = angle + run.q[:, k]
        x, y = x + LENGTHS[k] * np.cos(angle), y + LENGTHS[k] * np.sin(angle)
        found[name] = (x, y)
    return found


def _off_circle(run: Trajectory) -> Any:
    x, y = _joints(run)["tip"]
    return np.array([x - CENTRE[0] - RADIUS * np.cos(2 * run.t), y - CENTRE[1] - RADIUS * np.sin(2 * run.t)])


def _balance(run: Trajectory) -> Any:
    assert run.energy is not None
    ledger = run.ledger()
    inputs = [i for i, entry in enumerate(ledger.entries) if entry.kind == "input"]
    return (ledger.work[:, inputs].sum(axis=1) - run.energy + run.energy[0]) / ledger.turnover


def wrong_masses(name: str, title: str) -> Case:
    """Return a two-link arm whose controller assumes other masses; its figure shows an ensemble of plants."""
    plant = _two_links(settle=10)
    actual = {f"m{k}": 1.2 * mass for k, mass in enumerate(MASSES[:2], start=1)}
    q0, qd0 = _two_link_start()
    layers = {"nominal": _controllers()[0], "settling": _controllers()[1], "robust": _controllers()[2]}
    return Case(
        name=name,
        title=title,
        about=(
            "The plant's links are 20 % heavier than the model's. The nominal control (R-71) loses the circle, a "
            "settling term (R-72) keeps a finite error, and a robust layer holds it within a ball of stated size. "
            f"The figure shows the error that 95 % of {PLANTS} plants stay below, with masses within ±20 %."
        ),
        source="Udwadia and Wanichanon 2013; Chen and Zhang 2010",
        system=plant,
        parameters=actual,
        q0=q0,
        qd0=qd0,
        times=np.linspace(0, 3, 151),
        control=layers["robust"],
        rtol=1e-9,
        atol=1e-11,
        checks=(
            Check("‖β‖ beyond ε/ω, robust layer", lambda run: max(_error(run).max() - 0.05 / 10, 0), 0, 0, "the bound"),
            Check(
                "plants of the ensemble beyond ε/ω",
                lambda run: (_errors(2) > 0.05 / 10).any(axis=1).sum(),
                0,
                0,
                "the bound",
            ),
        ),
        units=si(radians="q1 q2"),
        pictures=(
            Picture(
                "bands",
                f"Error that 95 % of {PLANTS} plants stay below",
                "time t / s",
                "‖β‖ / m",
                tuple(Curve(label, lambda run: run.t, _band(k)) for k, label in enumerate(layers)),
                log=True,
            ),
        ),
        points=_joints,
        links=(("base", "elbow"), ("elbow", "tip")),
    )


def _two_links(settle: Any) -> System:
    q = coordinates("q1 q2")
    lagrangian, tip = _arm(q, parameters("m1 m2"))
    motors = tuple(Actuator(f"motor {k}", angle) for k, angle in enumerate(q, start=1))
    rows = tuple(e - e_wanted for e, e_wanted in zip(tip, _circle(), strict=True))
    return System.from_lagrangian(lagrangian, q, servos=Servo("tip", rows, by=motors, settle=settle))


@cache
def _controllers() -> tuple[Controller, Controller, Controller]:
    """Return the nominal controller, one with settling, and one with a robust layer."""
    model = {f"m{k}": mass for k, mass in enumerate(MASSES[:2], start=1)}
    robust = BoundedUncertainty(rho=15, epsilon=0.05)
    return (
        controller(_two_links(None), parameters=model),
        controller(_two_links(10), parameters=model),
        controller(_two_links(10), parameters=model, robust=robust),
    )


def _two_link_start() -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the state with the tip on the circle, elbow below, by the cosine theorem."""
    (x, y), (l1, l2) = (CENTRE[0] + RADIUS, CENTRE[1]), LENGTHS[:2]
    elbow = -float(np.arccos((x**2 + y**2 - l1**2 - l2**2) / (2 * l1 * l2)))
    base = float(np.arctan2(y, x) - np.arctan2(l2 * np.sin(elbow), l1 + l2 * np.cos(elbow)))
    outer = l2 * np.array([-np.sin(base + elbow), np.cos(base + elbow)])
    inner = l1 * np.array([-np.sin(base), np.cos(base)])
    speeds = np.linalg.solve(np.column_stack([inner + outer, outer]), [0.0, 2 * RADIUS])
    return (base, elbow), (float(speeds[0]), float(speeds[1]))


def _error(run: Trajectory) -> Any:
    return np.linalg.norm(run.servo_error["tip"], axis=1)


@cache
def _errors(kind: int) -> Any:
    """Return ‖β‖ (plants, times) of the ensemble under one of the controllers."""
    draw = np.random.default_rng(3)
    masses = {f"m{k}": mass * draw.uniform(0.8, 1.2, PLANTS) for k, mass in enumerate(MASSES[:2], start=1)}
    times = np.linspace(0, 3, 151)
    q0, qd0 = _two_link_start()
    many = simulate_ensemble(_two_links(10), q0, qd0, times, parameters=masses, control=_controllers()[kind], rtol=1e-7)
    q = many["q"].values
    angles = np.cumsum(q, axis=2)
    x = sum(LENGTHS[k] * np.cos(angles[:, :, k]) for k in range(2)) - CENTRE[0] - RADIUS * np.cos(2 * times)
    y = sum(LENGTHS[k] * np.sin(angles[:, :, k]) for k in range(2)) - CENTRE[1] - RADIUS * np.sin(2 * times)
    return np.hypot(x, y)


def _band(kind: int) -> Any:
    return lambda run: np.interp(run.t, np.linspace(0, 3, 151), np.quantile(_errors(kind), 0.95, axis=0) + SHOWN)
