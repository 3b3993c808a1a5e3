# SPDX-License-Identifier: BSD-3-Clause
"""Sticking friction: a block that stays where it stops, and a block that sticks and slips periodically."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from dalembert.gallery.definition import Case, Check, Picture, coordinate, histories, si, velocity
from dalembert.integration.trajectory import Trajectory
from dalembert.model.constraint import Constraint
from dalembert.model.friction import Coulomb
from dalembert.model.symbols import coordinates, multiplier, parameters, t
from dalembert.model.system import System

G = 9.81


def incline(name: str, title: str) -> Case:
    x, y = coordinates("x y")
    m, g, angle, mu, mu_static = parameters("m g alpha mu mu_s")
    plane = Constraint(y, name="plane", nonideal=Coulomb(mu, mu_static=mu_static))
    numbers = {"m": 2.0, "g": G, "alpha": 0.3, "mu": 0.3, "mu_s": 0.35}
    start = -2.0
    slowing = G * (np.sin(0.3) + 0.3 * np.cos(0.3))
    stop = -start / slowing
    return Case(
        name=name,
        title=title,
        about=(
            "Pushed up the incline, x pointing down it, the block slides, stops and stays: tan α = 0.309 is less than "
            "μₛ = 0.35. An additional constraint then holds it, and its force is reported as friction."
        ),
        source="closed form: it stops at t = v₀/(g (sin α + μ cos α))",
        system=System((x, y), m * sp.eye(2), (m * g * sp.sin(angle), -m * g * sp.cos(angle)), plane),
        parameters=numbers,
        q0=(0, 0),
        qd0=(start, 0),
        times=np.linspace(0, 2, 201),
        checks=(
            Check("t at rest", lambda run: [event[0] for event in run.events], stop, 1e-9, "closed form"),
            Check("x at the end", lambda run: run["x"][-1], -(start**2) / 2 / slowing, 1e-9, "closed form"),
            Check("ẋ after that", lambda run: velocity("x")(run)[run.t > stop], 0, 1e-12, "it stays"),
            Check(
                "friction after that", lambda run: _friction(run)[run.t > stop], -2 * G * np.sin(0.3), 1e-9, "−mg sin α"
            ),
        ),
        units=si(metres="x y"),
        pictures=(
            Picture(
                "friction",
                "Friction along the incline",
                "time t / s",
                "force / N",
                histories({"friction": _friction, "gravity": lambda run: 2 * G * np.sin(0.3) + 0 * run.t}),
            ),
        ),
        points=lambda run: {
            "block": (run["x"] * np.cos(0.3) + run["y"] * np.sin(0.3), -run["x"] * np.sin(0.3)),
        },
    )


def _friction(run: Trajectory) -> Any:
    return run.nonideal_force[:, 0]


def belt(name: str, title: str) -> Case:
    x, y = coordinates("x y")
    m, g, k, belt_speed, mu, mu_static = parameters("m g k V mu mu_s")
    numbers = {"m": 1.0, "g": G, "k": 4.0, "V": 0.5, "mu": 0.2, "mu_s": 0.4}
    friction = Coulomb(mu, velocity=x.diff(t) - belt_speed, normal_force=multiplier("belt"), mu_static=mu_static)
    # sliding is an oscillation about μmg/k; μₛ − μ determines its initial distance, and it ends at the belt's speed
    frequency = np.sqrt(numbers["k"] / numbers["m"])
    jump = (numbers["mu_s"] - numbers["mu"]) * G
    sliding = 2 / frequency * (np.pi - np.arctan(jump / (frequency * numbers["V"])))
    sticking = 2 * jump * numbers["m"] / (numbers["k"] * numbers["V"])
    return Case(
        name=name,
        title=title,
        about=(
            "A spring holds the block back, the belt carries it along until the spring is too strong, it slips back "
            "and sticks again. The law uses the velocity relative to the belt."
        ),
        source="closed form: period 2(π − arctan(Δ/ωV))/ω + 2Δ/(ω²V), Δ = (μₛ − μ) g, ω² = k/m",
        system=System((x, y), m * sp.eye(2), (-k * x, -m * g), Constraint(y, name="belt", nonideal=friction)),
        parameters=numbers,
        q0=(0, 0),
        qd0=(numbers["V"], 0),
        times=np.linspace(0, 20, 801),
        checks=(
            Check("periods", _periods, sliding + sticking, 1e-8, "closed form"),
            Check("times of sliding", _lengths("slips", "sticks"), sliding, 1e-8, "closed form"),
            Check("largest extension", lambda run: _at_slip(run) * 4 - 0.4 * G, 0, 1e-8, "k x = μₛ m g where it slips"),
        ),
        units=si(metres="x y"),
        pictures=(
            Picture(
                "velocity",
                "Velocity of the block and of the belt",
                "time t / s",
                "velocity / (m/s)",
                histories({"block": velocity("x"), "belt": lambda run: 0.5 + 0 * run.t}),
            ),
            Picture("extension", "Extension of the spring", "time t / s", "x / m", histories({"x": coordinate("x")})),
        ),
        points=lambda run: {"block": (run["x"], run["y"])},
    )


def _times(run: Trajectory, kind: str) -> Any:
    return np.array([event[0] for event in run.events if event[2] == kind])


def _periods(run: Trajectory) -> Any:
    return np.diff(_times(run, "slips"))


def _lengths(begin: str, end: str) -> Any:
    def lengths(run: Trajectory) -> Any:
        first, last = _times(run, begin), _times(run, end)
        last = last[last > first[0]]
        return last - first[: len(last)]

    return lengths


def _at_slip(run: Trajectory) -> Any:
    """Return the extension at which slipping begins, reached at the speed of the belt."""
    slips, sticks = _times(run, "slips"), np.append(0.0, _times(run, "sticks"))
    start = np.interp(sticks, run.t, run["x"])
    return (start + 0.5 * (slips[: len(start)] - sticks[: len(slips)]))[:1]
