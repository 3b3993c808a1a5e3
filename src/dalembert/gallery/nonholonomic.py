# SPDX-License-Identifier: BSD-3-Clause
"""Nonholonomic systems in the plane: Chaplygin's sleigh, a disc on an incline, the snakeboard."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp
from scipy.integrate import quad, solve_ivp

from dalembert.gallery.bodies import start_of
from dalembert.gallery.definition import Case, Check, Picture, histories, path, si, velocity
from dalembert.integration.trajectory import Trajectory
from dalembert.mechanisms.couplings import Drive
from dalembert.mechanisms.frames import ground
from dalembert.mechanisms.joints import Revolute
from dalembert.mechanisms.mechanism import Mechanism
from dalembert.mechanisms.planar_body import PlanarBody
from dalembert.mechanisms.planar_rolling import KnifeEdge
from dalembert.model.constraint import Constraint
from dalembert.model.symbols import coordinates, parameters, t
from dalembert.model.system import System

CLASSIC = "closed form: Neimark and Fufaev; Bloch, Nonholonomic Mechanics and Control"
# x, y, θ, forward speed and spin of the sleigh at t = 10
SLEIGH_ANALYTIC = (0.39112451455710395, 2.0734764120042017, 1.8218266132280547)
SLEIGH_SPEEDS = (0.28542666139244216, 0.06531317235582809)
# x, y, θ, φ of the disc at t = 5
INCLINE_ANALYTIC = (0.4373433975061459, 3.5664005096365297, 2.165116725683679, 7.5)


def sleigh(name: str, title: str) -> Case:
    forward, turn, angle = 0.1, 0.2, np.pi / 6
    heading = np.array([np.cos(angle), np.sin(angle)])
    body = PlanarBody("sleigh", 1, 1, angle=angle, velocity=forward * heading, spin=turn, center=(1, 0))
    mechanism = Mechanism(body, KnifeEdge("blade", ground.at(0, 0), body))
    q0, qd0 = start_of(mechanism)

    def speeds(run: Trajectory) -> Any:
        theta = run["theta_sleigh"]
        return np.stack([np.cos(theta) * run.qd[:, 0] + np.sin(theta) * run.qd[:, 1], run.qd[:, 2]], axis=1)

    return Case(
        name=name,
        title=title,
        about=(
            "A rigid body on a blade, its centre of mass ahead of it. Energy is conserved, and yet the sleigh stops "
            "turning: in the limit it moves straight, with the blade behind."
        ),
        source=CLASSIC,
        system=mechanism.system,
        mechanism=mechanism,
        q0=q0,
        qd0=qd0,
        times=np.linspace(0, 10, 201),
        checks=(
            Check("x, y, θ at t = 10", lambda run: run.q[-1], SLEIGH_ANALYTIC, 1e-10, CLASSIC),
            Check("forward speed and spin at t = 10", lambda run: speeds(run)[-1], SLEIGH_SPEEDS, 1e-10, CLASSIC),
            Check("speeds − closed form", lambda run: speeds(run) - _sleigh_speeds(run.t), 0, 1e-10, CLASSIC),
            Check("x − its quadrature", lambda run: run.q[-1, 0] - _sleigh_x(run.t[-1]), 0, 1e-10, CLASSIC),
            Check("energy", lambda run: run.energy, 0.5 * (0.1**2 + 2 * 0.2**2), 1e-10, "conservation"),
        ),
        units=si(metres="x_sleigh y_sleigh", radians="theta_sleigh"),
        pictures=(
            path("The path of the blade", "x_sleigh", "y_sleigh"),
            Picture(
                "speeds",
                "Rotation is converted to translation",
                "time t / s",
                "forward speed / (m/s), spin / (rad/s)",
                histories({"forward": lambda run: speeds(run)[:, 0], "spin": lambda run: speeds(run)[:, 1]}),
            ),
        ),
    )


def _sleigh_course(time: Any) -> tuple[Any, Any, Any]:
    """Return u, ω and θ for a = m = I = 1: κ² = 2, V² = u² + κ²ω²."""
    kappa, start = np.sqrt(2), 0.1
    V = np.sqrt(start**2 + 2 * 0.2**2)
    s0 = np.arctanh(start / V)
    s = V * np.asarray(time) / 2 + s0
    angle = np.pi / 6 + kappa * 2 * (np.arctan(np.tanh(s / 2)) - np.arctan(np.tanh(s0 / 2)))
    return V * np.tanh(s), V / kappa / np.cosh(s), angle


def _sleigh_speeds(time: Any) -> Any:
    return np.stack(_sleigh_course(time)[:2], axis=1)


def _sleigh_x(end: float) -> float:
    def rate(time: float) -> Any:
        u, _, angle = _sleigh_course(time)
        return u * np.cos(angle)

    return quad(rate, 0, end, epsabs=1e-13, epsrel=1e-13)[0]


def incline(name: str, title: str) -> Case:
    q = x, y, theta, phi = coordinates("x y theta phi")
    m, radius, g, alpha = parameters("m R g alpha")
    rolled = radius * theta.diff(t)
    slope, turn, R = np.pi / 9, 1.5, 0.3
    K = 9.81 * np.sin(slope) / (1.5 * R)
    across = R * K / (2 * turn**2)

    def closed_form(time: Any) -> Any:
        w = turn * time
        down, aside = across * np.sin(w) ** 2, across * (w - np.sin(2 * w) / 2)
        return np.stack([down, aside, K / turn**2 * (1 - np.cos(w)), w], axis=1)

    source = "closed form: Lemos, rolling coin on an inclined plane, arXiv 2105.02113; Neimark and Fufaev"
    return Case(
        name=name,
        title=title,
        about="x points down the slope. While it turns about the vertical, the disc does not roll down but sideways.",
        source=source,
        system=System(
            q,
            sp.diag(m, m, m * radius**2 / 2, m * radius**2 / 4),
            (m * g * sp.sin(alpha), 0, 0, 0),
            (
                Constraint(x.diff(t) - rolled * sp.cos(phi), name="rolling x"),
                Constraint(y.diff(t) - rolled * sp.sin(phi), name="rolling y"),
            ),
        ),
        parameters={"m": 1.0, "R": R, "g": 9.81, "alpha": slope},
        q0=(0, 0, 0, 0),
        qd0=(0, 0, 0, turn),
        times=np.linspace(0, 5, 201),
        checks=(
            Check("x, y, θ, φ at t = 5", lambda run: run.q[-1], INCLINE_ANALYTIC, 1e-10, source),
            Check("x, y, θ, φ − closed form", lambda run: run.q - closed_form(run.t), 0, 1e-10, source),
        ),
        units=si(metres="x y", radians="theta phi"),
        pictures=(path("A cycloid across the slope, x down it"),),
    )


BOARD = {"board": 3.0, "truck": 1.0, "J": 0.1, "rotor": 0.15, "wheels": 0.01, "half": 0.25}
GAIT = {"swing": 0.8, "steer": 0.4, "rate": 2.0}


def snakeboard_mechanism() -> Mechanism:
    """Return a board with a rotor and two trucks with a wheel each, steered in opposite directions; all are driven."""
    half, rate = BOARD["half"], GAIT["rate"]
    board = PlanarBody("board", BOARD["board"], BOARD["J"])
    rotor = PlanarBody("rotor", BOARD["truck"], BOARD["rotor"], spin=GAIT["swing"] * rate)
    front = PlanarBody("front", BOARD["truck"], BOARD["wheels"], position=(half, 0), spin=GAIT["steer"] * rate)
    rear = PlanarBody("rear", BOARD["truck"], BOARD["wheels"], position=(-half, 0), spin=-GAIT["steer"] * rate)
    pins = (
        Revolute("rotor pin", board, rotor),
        Revolute("front pin", board.at(half, 0), front),
        Revolute("rear pin", board.at(-half, 0), rear),
    )
    steer = GAIT["steer"] * sp.sin(rate * t)
    drives = (
        Drive("swing", pins[0], GAIT["swing"] * sp.sin(rate * t)),
        Drive("front steering", pins[1], steer),
        Drive("rear steering", pins[2], -steer),
    )
    blades = (KnifeEdge("front wheel", ground.at(0, 0), front), KnifeEdge("rear wheel", ground.at(0, 0), rear))
    return Mechanism((board, rotor, front, rear), (*pins, *drives, *blades))


def snakeboard(name: str, title: str) -> Case:
    mechanism = snakeboard_mechanism()
    q0, qd0 = start_of(mechanism)
    return Case(
        name=name,
        title=title,
        about=(
            "Swinging the rotor and steering both trucks against one another in step drives the board forward from "
            "rest, although no external force pushes it: the wheels convert the oscillation into translation."
        ),
        source="Lewis, Ostrowski, Burdick and Murray 1994; against an integration of the reduced equation",
        system=mechanism.system,
        mechanism=mechanism,
        q0=q0,
        qd0=qd0,
        times=np.linspace(0, 10, 201),
        checks=(
            Check(
                "x, y, θ of the board − reduced equation",
                lambda run: run.q[:, :3] - _reduced(run.t),
                0,
                1e-8,
                "one velocity by hand, SciPy's DOP853",
            ),
            Check("sideways velocity of the board's centre", _sideways, 0, 1e-10, "symmetry of the steering"),
        ),
        units=si(
            metres=" ".join(f"{a}_{b.name}" for b in mechanism.bodies for a in "xy"),
            radians=" ".join(f"theta_{b.name}" for b in mechanism.bodies),
        ),
        pictures=(
            path("The path of the board's centre", "x_board", "y_board"),
            Picture(
                "speeds",
                "The board's velocity",
                "time t / s",
                "velocity / (m/s)",
                histories({"ẋ": velocity("x_board"), "ẏ": velocity("y_board")}),
            ),
        ),
        histories=False,
    )


def _sideways(run: Trajectory) -> Any:
    theta = run["theta_board"]
    return np.cos(theta) * run.qd[:, 1] - np.sin(theta) * run.qd[:, 0]


def _reduced(times: Any) -> Any:
    """Return x, y, θ from the forward speed v, since θ̇ = v tan φ / l: m v̇ + (tan φ / l)(J θ̈ + Jᵣ ψ̈) = 0."""
    half, rate, rotor = BOARD["half"], GAIT["rate"], BOARD["rotor"]
    mass = BOARD["board"] + 3 * BOARD["truck"]
    J = BOARD["J"] + rotor + 2 * BOARD["wheels"] + 2 * BOARD["truck"] * half**2

    def rates(time: float, state: Any) -> Any:
        _, _, theta, v = state
        phi, phi_rate = GAIT["steer"] * np.sin(rate * time), GAIT["steer"] * rate * np.cos(rate * time)
        lean = np.tan(phi) / half
        swing = -rotor * GAIT["swing"] * rate**2 * np.sin(rate * time)
        pushed = -lean * (J * v * phi_rate / (half * np.cos(phi) ** 2) + swing)
        return [v * np.cos(theta), v * np.sin(theta), v * lean, pushed / (mass + J * lean**2)]

    found = solve_ivp(rates, (times[0], times[-1]), [0.0] * 4, t_eval=times, rtol=1e-12, atol=1e-13, method="DOP853")
    return found.y[:3].T
