# SPDX-License-Identifier: BSD-3-Clause
"""Sliding with dry friction on named constraints: wires, a pin, a driven rod, Painlevé's rod."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from dalembert.gallery.definition import Case, Check, Picture, histories, path, si, velocity
from dalembert.integration.trajectory import Trajectory
from dalembert.model.constraint import Constraint
from dalembert.model.friction import Coulomb
from dalembert.model.symbols import coordinates, multiplier, parameters, t
from dalembert.model.system import System

G = 9.81


def circular_wire(name: str, title: str) -> Case:
    x, y = coordinates("x y")
    m, mu, radius = parameters("m mu R")
    wire = Constraint(x**2 + y**2 - radius**2, name="wire", nonideal=Coulomb(mu))
    numbers = {"m": 2.0, "mu": 0.3, "R": 0.5}
    start, rate = 4.0, numbers["mu"] / numbers["R"]
    return Case(
        name=name,
        title=title,
        about="The normal force is the centripetal one, m v²/R: friction slows the bead like 1/t; it never stops.",
        source="closed form: v = v₀/(1 + μv₀t/R)",
        system=System((x, y), m * sp.eye(2), (0, 0), wire),
        parameters=numbers,
        q0=(numbers["R"], 0),
        qd0=(0, start),
        times=np.linspace(0, 5, 201),
        checks=(
            Check(
                "v − v₀/(1 + μv₀t/R)",
                lambda run: np.linalg.norm(run.qd, axis=1) - start / (1 + rate * start * run.t),
                0,
                1e-9,
                "closed form",
            ),
        ),
        units=si(metres="x y"),
        pictures=(
            Picture(
                "speed",
                "Speed of the bead",
                "time t / s",
                "v / (m/s)",
                histories({"v": lambda run: np.linalg.norm(run.qd, axis=1)}),
            ),
        ),
        points=lambda run: {"bead": (run["x"], run["y"])},
    )


def hoop(name: str, title: str) -> Case:
    r, theta = coordinates("r theta")
    m, mu, radius, g = parameters("m mu R g")
    numbers = {"m": 1.5, "mu": 0.25, "R": 0.8, "g": G}
    kinetic = m * (r.diff(t) ** 2 + r**2 * theta.diff(t) ** 2) / 2
    friction = Coulomb(mu, velocity=r * theta.diff(t), normal_force=multiplier("hoop"))
    start, rate = -1.2, 0.5
    return Case(
        name=name,
        title=title,
        about=(
            "In polar coordinates, θ from the lowest point, the law has the sliding velocity rθ̇ and the normal "
            "force λ. The energy then obeys a linear equation in θ. The bead comes to rest soon after the last time."
        ),
        source="closed form: dθ̇²/dθ = −2(g/R) sin θ − 2μ (θ̇² + (g/R) cos θ)",
        system=System.from_lagrangian(
            kinetic + m * g * r * sp.cos(theta),
            (r, theta),
            constraints=Constraint(r - radius, name="hoop", nonideal=friction),
        ),
        parameters=numbers,
        q0=(numbers["R"], start),
        qd0=(0, rate),
        times=np.linspace(0, 0.8, 161),
        checks=(
            Check(
                "θ̇² − closed form of θ",
                lambda run: (
                    velocity("theta")(run) ** 2
                    - squared_rate(run["theta"], start, rate**2, numbers["mu"], G / numbers["R"])
                ),
                0,
                1e-9,
                "closed form",
            ),
            Check("sliding", lambda run: velocity("theta")(run).min() > 0, True, 0, "the closed form holds"),
        ),
        units=si(metres="r", radians="theta"),
        pictures=(_energy_picture(),),
        points=lambda run: {"bead": (run["r"] * np.sin(run["theta"]), -run["r"] * np.cos(run["theta"]))},
    )


def pin(name: str, title: str) -> Case:
    x, y = coordinates("x y")
    m, mu, length, radius, g = parameters("m mu l r g")
    numbers = {"m": 1.0, "mu": 0.4, "l": 1.0, "r": 0.05, "g": G}
    # in the pin, at its radius, the rod slides at r θ̇
    turning = radius * (x * y.diff(t) - y * x.diff(t)) / length**2
    rod = Constraint(x**2 + y**2 - length**2, name="rod", nonideal=Coulomb(mu, velocity=turning))
    start, rate = -1.0, 0.8
    return Case(
        name=name,
        title=title,
        about=(
            "Friction acts at the pin's radius r, in proportion to the force in the rod; in Cartesian coordinates "
            "that force is |λ||∂φ/∂q|. The energy obeys the hoop's equation with μr/l in place of μ."
        ),
        source="closed form: dθ̇²/dθ = −2(g/l) sin θ − 2(μr/l) (θ̇² + (g/l) cos θ)",
        system=System.from_lagrangian(m * (x.diff(t) ** 2 + y.diff(t) ** 2) / 2 - m * g * y, (x, y), constraints=rod),
        parameters=numbers,
        q0=(np.sin(start), -np.cos(start)),
        qd0=(rate * np.cos(start), rate * np.sin(start)),
        times=np.linspace(0, 0.9, 181),
        checks=(
            Check(
                "θ̇² − closed form of θ",
                lambda run: (
                    np.sum(run.qd**2, axis=1)
                    - squared_rate(np.arctan2(run["x"], -run["y"]), start, rate**2, 0.4 * 0.05, G)
                ),
                0,
                1e-9,
                "closed form",
            ),
        ),
        units=si(metres="x y"),
        pictures=(path("The path of the bob"), _energy_picture()),
        points=lambda run: {"pin": (0, 0), "bob": (run["x"], run["y"])},
        links=(("pin", "bob"),),
    )


def squared_rate(theta: Any, start: float, u0: float, k: float, g: float) -> Any:
    """Return the solution u(θ) of du/dθ = −2g sin θ − 2k (u + g cos θ) with u(start) = u0."""

    def particular(angle: Any) -> Any:
        return g * ((2 - 4 * k**2) * np.cos(angle) - 6 * k * np.sin(angle)) / (1 + 4 * k**2)

    return (u0 - particular(start)) * np.exp(-2 * k * (theta - start)) + particular(theta)


def _energy_picture() -> Picture:
    return Picture("energy", "Energy", "time t / s", "energy / J", histories({"E": lambda run: run.energy}))


def rotating_rod(name: str, title: str) -> Case:
    x, y = coordinates("x y")
    m, mu, omega = parameters("m mu omega")
    numbers = {"m": 0.5, "mu": 0.3, "omega": 2.0}
    c, s = sp.cos(omega * t), sp.sin(omega * t)
    friction = Coulomb(mu, velocity=c * x.diff(t) + s * y.diff(t))
    return Case(
        name=name,
        title=title,
        about=(
            "A rod turns at a given rate; a bead slides out along it. The ideal constraint force does real work, that "
            "of the motor, and friction dissipates a part of it: see the ledger."
        ),
        source="closed form: r̈ = ω²r − 2μωṙ",
        system=System((x, y), m * sp.eye(2), (0, 0), Constraint(y * c - x * s, name="rod", nonideal=friction)),
        parameters=numbers,
        q0=(1, 0),
        qd0=(0.5, 2.0),
        times=np.linspace(0, 1.5, 151),
        checks=(
            Check(
                "r − closed form",
                lambda run: np.hypot(run["x"], run["y"]) - _radius(run, numbers),
                0,
                1e-9,
                "closed form",
            ),
        ),
        units=si(metres="x y"),
        pictures=(path("The path of the bead"),),
        points=lambda run: {"axis": (0, 0), "bead": (run["x"], run["y"])},
    )


def _radius(run: Trajectory, numbers: dict[str, float]) -> Any:
    """Return r with r(0) = 1 and ṙ(0) = 1/2."""
    omega, mu = numbers["omega"], numbers["mu"]
    fast, slow = omega * (-mu + np.sqrt(mu**2 + 1)), omega * (-mu - np.sqrt(mu**2 + 1))
    share = (0.5 - slow) / (fast - slow)
    return share * np.exp(fast * run.t) + (1 - share) * np.exp(slow * run.t)


def painleve_rod(name: str, title: str) -> Case:
    numbers = {"m": 1.0, "l": 0.5, "mu": 1.0, "g": G}
    angle = 1.0
    return Case(
        name=name,
        title=title,
        about=(
            "A uniform rod slides with one end on a rough floor, on which it is kept. Friction depends on the reaction "
            "that it changes itself: N (1 + 3 cos²θ − 3μ sin θ cos θ) = m (g − lθ̇² sin θ). Beyond μ = "
            "(1 + 3 cos²θ)/(3 sin θ cos θ), at least 4/3, there is no such N, or there are two: Painlevé's paradox."
        ),
        source="Painlevé 1895; closed form of N",
        system=painleve_system(),
        parameters=numbers,
        q0=(0, numbers["l"] * np.sin(angle), angle),
        qd0=(-3, 0, 0),
        times=np.linspace(0, 0.08, 101),
        checks=(
            Check("friction − μN along x", _friction_error, 0, 1e-10, "closed form"),
            Check("sliding to the left", lambda run: _slip(run).max() < 0, True, 0, "the closed form holds"),
        ),
        units=si(metres="x y", radians="theta"),
        pictures=(
            Picture(
                "slip",
                "Velocity of the end on the floor",
                "time t / s",
                "v / (m/s)",
                histories({"v": _slip}),
            ),
        ),
        no_closed_form="Friction by the actual reaction has no closed form.",
        points=lambda run: {
            "end": (run["x"] - 0.5 * np.cos(run["theta"]), run["y"] - 0.5 * np.sin(run["theta"])),
            "other end": (run["x"] + 0.5 * np.cos(run["theta"]), run["y"] + 0.5 * np.sin(run["theta"])),
        },
        links=(("end", "other end"),),
    )


def painleve_system(normal: Any = "actual") -> System:
    """Return a uniform rod of length 2l and mass m, at angle θ to the floor, its left end sliding on the floor."""
    x, y, theta = coordinates("x y theta")
    m, length, mu, g = parameters("m l mu g")
    slip = x.diff(t) + length * sp.sin(theta) * theta.diff(t)
    friction = Coulomb(mu, velocity=slip, normal_force=multiplier("floor"), normal=normal)
    floor = Constraint(y - length * sp.sin(theta), name="floor", nonideal=friction)
    return System((x, y, theta), sp.diag(m, m, m * length**2 / 3), (0, -m * g, 0), floor)


def _slip(run: Trajectory) -> Any:
    return run.qd[:, 0] + 0.5 * np.sin(run["theta"]) * run.qd[:, 2]


def _friction_error(run: Trajectory) -> Any:
    """Return the force along x minus μN, sliding to the left, with N by hand from Newton's equations."""
    theta, rate = run["theta"], run.qd[:, 2]
    sine, cosine = np.sin(theta), np.cos(theta)
    normal = (G - 0.5 * rate**2 * sine) / (1 + 3 * cosine**2 - 3 * 1.0 * sine * cosine)
    return run.constraint_force[:, 0] - 1.0 * normal
