# SPDX-License-Identifier: BSD-3-Clause
"""Contacts that open and close: a bouncing ball, and bodies that leave a sphere, a moving hemisphere and a wall."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from dalembert.gallery.definition import Case, Check, Picture, coordinate, histories, path, si
from dalembert.integration.trajectory import Trajectory
from dalembert.model.constraint import Constraint
from dalembert.model.symbols import coordinates, parameters, t
from dalembert.model.system import System

PHASES = "Contacts open and close: each phase of the motion has the equations of the contacts that are closed in it."
"""The reason why a case with contacts has no closed form."""


def times_of(run: Trajectory, kind: str) -> Any:
    """Return the times of the events of a kind."""
    return np.array([event.t for event in run.events if event.kind == kind])


def audit(run: Trajectory) -> Any:
    """Return the error of the energy balance, with the work of all impulses."""
    return run.ledger().audit


def bouncing_ball(name: str, title: str) -> Case:
    x, y = coordinates("x y")
    m, g, e = parameters("m g e")
    numbers = {"m": 1.0, "g": 10.0, "e": 0.5}
    floor = Constraint(sp.Ge(y, 0), name="floor", restitution=e)
    lagrangian = m * (x.diff(t) ** 2 + y.diff(t) ** 2) / 2 - m * g * y
    rebounds = 1 + 2 * (1 - 0.5 ** np.arange(8))
    return Case(
        name=name,
        title=title,
        about=(
            "It falls from 5 m and rebounds with half of its speed, infinitely often within three seconds. Then the "
            "contact closes, and the ball slides on. The work of the floor is the energy of all impacts."
        ),
        source="closed form: rest at √(2h/g) (1 + e)/(1 − e)",
        system=System.from_lagrangian(lagrangian, (x, y), constraints=floor),
        parameters=numbers,
        q0=(0, 5),
        qd0=(1, 0),
        times=np.linspace(0, 4, 401),
        checks=(
            Check("times of the first eight impacts", lambda run: times_of(run, "impact")[:8], rebounds, 1e-12, "fall"),
            Check("t at rest", lambda run: times_of(run, "rests"), 3, 1e-10, "closed form"),
            Check("force of the floor at rest", lambda run: run["floor"][run.t > 3.01], 10, 1e-10, "m g"),
            Check("work of the floor", lambda run: run.ledger()["floor"][-1], -50, 1e-8, "−m g h"),
            Check("balance of energy", audit, 0, 1e-10, "the ledger"),
            Check("penetration", lambda run: run.violation, 0, 1e-12, "y ≥ 0"),
        ),
        units=si(metres="x y"),
        pictures=(path("Path of the ball"),),
        no_closed_form=PHASES,
        points=lambda run: {"ball": (run["x"], run["y"])},
    )


def falling_bead(name: str, title: str) -> Case:
    x, y = coordinates("x y")
    m, g, R = parameters("m g R")
    start, radius = 0.5, 2.0
    sphere = Constraint(sp.Ge((x**2 + y**2 - R**2) / (2 * R), 0), name="sphere", restitution=0)
    lagrangian = m * (x.diff(t) ** 2 + y.diff(t) ** 2) / 2 - m * g * y
    return Case(
        name=name,
        title=title,
        about=(
            "Released at rest at the angle 0.5 from the top, it slides down the sphere and leaves it where the normal "
            "force vanishes, at two thirds of its initial height above the centre."
        ),
        source="closed form: it leaves at cos θ = (2/3) cos θ₀",
        system=System.from_lagrangian(lagrangian, (x, y), constraints=sphere),
        parameters={"m": 1.0, "g": 9.81, "R": radius},
        q0=(radius * np.sin(start), radius * np.cos(start)),
        qd0=(0, 0),
        times=np.linspace(0, 1.25, 251),
        checks=(
            Check("y where it leaves", _at_opening(1), 2 / 3 * radius * np.cos(start), 1e-10, "closed form"),
            Check("normal force", _normal_force(radius, start), 0, 1e-8, "m g (3 cos θ − 2 cos θ₀)"),
            Check("balance of energy", audit, 0, 1e-9, "the ledger"),
        ),
        units=si(metres="x y"),
        pictures=(
            path("Path of the bead"),
            Picture("force", "Normal force", "time t / s", "N / N", histories({"N": coordinate("sphere")})),
        ),
        no_closed_form=PHASES,
        points=lambda run: {"centre": (0 * run.t, 0 * run.t), "bead": (run["x"], run["y"])},
    )


def _at_opening(place: int) -> Any:
    return lambda run: next(event for event in run.events if event.kind == "opens").before[place]


def _normal_force(radius: float, start: float) -> Any:
    def difference(run: Trajectory) -> Any:
        expected = 9.81 * (3 * run["y"] / radius - 2 * np.cos(start))
        return run["sphere"] - np.where(run.t <= times_of(run, "opens")[0], expected, 0.0)

    return difference


def hemisphere(name: str, title: str) -> Case:
    X, x, y = coordinates("X x y")
    M, m, g, R = parameters("M m g R")
    start = 0.4
    surface = Constraint(sp.Ge(((x - X) ** 2 + y**2 - R**2) / (2 * R), 0), name="surface", restitution=0)
    kinetic = (M * X.diff(t) ** 2 + m * (x.diff(t) ** 2 + y.diff(t) ** 2)) / 2
    return Case(
        name=name,
        title=title,
        about=(
            "The block slides down a hemisphere that moves freely on the ground and is pushed away by it. It leaves "
            "earlier than it would a fixed one, at the root of a cubic equation."
        ),
        source="Lineros 2021: k c³ − 3 c + 2 c₀ = 0 with c = cos θ, k = m/(M + m)",
        system=System.from_lagrangian(kinetic - m * g * y, (X, x, y), constraints=surface),
        parameters={"M": 2.0, "m": 1.0, "g": 1.0, "R": 1.0},
        q0=(0, np.sin(start), np.cos(start)),
        qd0=(0, 0, 0),
        times=np.linspace(0, 2.5, 251),
        checks=(
            Check("k c³ − 3 c + 2 c₀ where it leaves", _cubic(start), 0, 1e-10, "Lineros 2021"),
            Check("momentum", lambda run: 2 * run["X'"] + run["x'"], 0, 1e-12, "no force along x"),
            Check("balance of energy", audit, 0, 1e-10, "the ledger"),
        ),
        units=si(metres="X x y"),
        pictures=(
            Picture(
                "positions",
                "Hemisphere and block",
                "time t / s",
                "position / m",
                histories({"X": coordinate("X"), "x": coordinate("x"), "y": coordinate("y")}),
            ),
        ),
        no_closed_form=PHASES,
        points=lambda run: {"hemisphere": (run["X"], 0 * run.t), "block": (run["x"], run["y"])},
        links=(("hemisphere", "block"),),
    )


def _cubic(start: float) -> Any:
    def residual(run: Trajectory) -> Any:
        c = _at_opening(2)(run)
        return c**3 / 3 - 3 * c + 2 * np.cos(start)

    return residual


def ladder(name: str, title: str) -> Case:
    x, y, a = coordinates("x y theta")
    m, g, half = parameters("m g l")
    start = 0.6
    wall = Constraint(sp.Ge(x - half * sp.sin(a), 0), name="wall", restitution=0)
    ground = Constraint(sp.Ge(y - half * sp.cos(a), 0), name="ground", restitution=0)
    kinetic = m * (x.diff(t) ** 2 + y.diff(t) ** 2) / 2 + m * half**2 * a.diff(t) ** 2 / 6
    return Case(
        name=name,
        title=title,
        about=(
            "A ladder without friction slides down a wall. Its upper end leaves the wall at two thirds of its initial "
            "height; from then on its centre keeps its horizontal velocity."
        ),
        source="closed form: cos θ = (2/3) cos θ₀, a classic of textbooks",
        system=System.from_lagrangian(kinetic - m * g * y, (x, y, a), constraints=(wall, ground)),
        parameters={"m": 3.0, "g": 1.0, "l": 1.0},
        q0=(np.sin(start), np.cos(start), start),
        qd0=(0, 0, 0),
        times=np.linspace(0, 1.6, 161),
        checks=(
            Check("cos θ where it leaves", _cos_at_opening, 2 / 3 * np.cos(start), 1e-10, "closed form"),
            Check("ẋ after that", _later_speeds, _speed_at_opening, 1e-10, "no force along x", "as there"),
            Check("balance of energy", audit, 0, 1e-9, "the ledger"),
        ),
        units=si(metres="x y", radians="theta"),
        pictures=(
            Picture(
                "forces",
                "Forces of the wall and of the ground",
                "time t / s",
                "force / N",
                histories({"wall": coordinate("wall"), "ground": coordinate("ground")}),
            ),
        ),
        no_closed_form=PHASES,
        points=lambda run: {
            "top": (run["x"] - np.sin(run["theta"]), run["y"] + np.cos(run["theta"])),
            "foot": (run["x"] + np.sin(run["theta"]), run["y"] - np.cos(run["theta"])),
        },
        links=(("top", "foot"),),
    )


def _cos_at_opening(run: Trajectory) -> Any:
    return np.cos(_at_opening(2)(run))


def _later_speeds(run: Trajectory) -> Any:
    return run["x'"][run.t > times_of(run, "opens")[0]]


def _speed_at_opening(run: Trajectory) -> Any:
    return _at_opening(3)(run)
