# SPDX-License-Identifier: BSD-3-Clause
"""Control by servo constraints: underactuated systems, formations and a sampled controller with a limit."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from dalembert.control.controller import controller
from dalembert.gallery.definition import Case, Check, Curve, Picture, coordinate, histories, si
from dalembert.integration.trajectory import Trajectory
from dalembert.model.servo import Actuator, Servo
from dalembert.model.symbols import coordinates, parameters, t
from dalembert.model.system import System

G = 9.81


def two_masses(name: str, title: str) -> Case:
    """Return two masses joined by a spring, of which the second must follow a reference."""
    q = x1, x2 = coordinates("x1 x2")
    m1, m2, k = parameters("m1 m2 k")
    numbers = {"m1": 2.0, "m2": 3.0, "k": 7.0}
    servo = Servo("follow", x2 - sp.sin(t), by=Actuator("push", x1), settle=2)
    ratio = 1 - numbers["m2"] / numbers["k"]

    def force(run: Trajectory) -> Any:
        return (numbers["m1"] * numbers["m2"] / numbers["k"] - numbers["m1"] - numbers["m2"]) * np.sin(run.t)

    return Case(
        name=name,
        title=title,
        about=(
            "A force on the first mass makes the second one follow sin t. The force appears only in the fourth "
            "derivative of the requirement, and the first mass must start at the place and speed that this implies."
        ),
        source="Blajer and Kołodziejczyk 2004; closed form u = (m₁ + m₂)s̈ + (m₁m₂/k)s⁗",
        system=System(q, sp.diag(m1, m2), (-k * (x1 - x2), k * (x1 - x2)), servos=servo),
        parameters=numbers,
        q0=(0, 0),
        qd0=(ratio, 1),
        times=np.linspace(0, 10, 201),
        checks=(
            Check("x₂ − sin t", lambda run: run["x2"] - np.sin(run.t), 0, 1e-10, "the requirement"),
            Check("x₁ − (1 − m₂/k) sin t", lambda run: run["x1"] - ratio * np.sin(run.t), 0, 1e-10, "x₁ = s + m₂s̈/k"),
            Check("force − closed form", lambda run: run.inputs["push"] - force(run), 0, 1e-8, "closed form"),
        ),
        units=si(metres="x1 x2"),
        pictures=(force_histories(("push",)),),
        points=lambda run: {"first": (run["x1"], 0 * run.t), "second": (2 + run["x2"], 0 * run.t)},
        links=(("first", "second"),),
    )


def satellites(name: str, title: str) -> Case:
    """Return five satellites in a Kepler field that stay on a ring and turn faster than their orbit."""
    count, radius, rate = 5, 2.0, 0.6
    names = [f"{axis}{k}" for k in range(1, count + 1) for axis in "xy"]
    q = coordinates(names)
    force, rows = [], []
    for k in range(count):
        x, y = q[2 * k : 2 * k + 2]
        angle = rate * t + 2 * sp.pi * k / count
        force += [-c / (x**2 + y**2) ** sp.Rational(3, 2) for c in (x, y)]
        rows += [x - radius * sp.cos(angle), y - radius * sp.sin(angle)]
    thrusters = tuple(Actuator(f"thrust {name}", c) for name, c in zip(names, q, strict=True))
    angles = 2 * np.pi * np.arange(count) / count
    start = 1.05 * radius * np.column_stack([np.cos(angles), np.sin(angles)]).ravel()
    speed = rate * radius * np.column_stack([-np.sin(angles), np.cos(angles)]).ravel()

    def off(run: Trajectory) -> Any:
        # on the ring the thrust is the acceleration of the turning ring less gravity
        late = run.t > 10
        wanted = (1 / radius**3 - rate**2) * run.q[late]
        return np.column_stack([run.inputs[f"thrust {name}"][late] for name in names]) - wanted

    return Case(
        name=name,
        title=title,
        about="The satellites start 5 % outside their ring, settle on it, and then need a constant thrust.",
        source="tracking control after Udwadia 2003; closed form m(q̈ − gravity)",
        system=System(q, sp.eye(2 * count), force, servos=Servo("ring", tuple(rows), by=thrusters, settle=2)),
        q0=tuple(start),
        qd0=tuple(speed),
        times=np.linspace(0, 20, 201),
        checks=(
            Check("radius error − 0.1(1 + 2t)e^(−2t)", _ring_error(radius), 0, 1e-9, "both poles at −2"),
            Check("thrust on the ring − closed form", off, 0, 1e-6, "closed form"),
        ),
        units=si(metres=" ".join(names)),
        pictures=(
            Picture(
                "paths",
                "The satellites settle on their ring",
                "x / m",
                "y / m",
                tuple(Curve(f"satellite {k}", coordinate(f"x{k}"), coordinate(f"y{k}")) for k in range(1, count + 1)),
                equal=True,
            ),
        ),
        points=lambda run: {f"satellite {k}": (run[f"x{k}"], run[f"y{k}"]) for k in range(1, count + 1)},
        readable=False,
    )


def _ring_error(radius: float) -> Any:
    def error(run: Trajectory) -> Any:
        size = np.linalg.norm(run.servo_error["ring"].reshape(len(run), -1, 2), axis=2)
        return size - (0.05 * radius * (1 + 2 * run.t) * np.exp(-2 * run.t))[:, None]

    return error


def pendulums(name: str, title: str) -> Case:
    """Return pendulums of different lengths that must swing like the first, which is free."""
    count = 5
    q = coordinates([f"a{k}" for k in range(1, count + 1)])
    lengths = [1 + k / 10 for k in range(count)]
    M = sp.diag(*(length**2 for length in lengths))
    force = [-G * length * sp.sin(a) for length, a in zip(lengths, q, strict=True)]
    motors = tuple(Actuator(f"motor {k}", a) for k, a in enumerate(q[1:], start=2))
    servo = Servo("together", tuple(a - q[0] for a in q[1:]), by=motors, settle=1.5)
    start = np.linspace(1.0, -1.0, count)

    def off(run: Trajectory) -> Any:
        decay = (1 + 1.5 * run.t) * np.exp(-1.5 * run.t)
        return run.servo_error["together"] - np.outer(decay, start[1:] - start[0])

    return Case(
        name=name,
        title=title,
        about="Motors on four pendulums of different lengths make them swing in phase with a fifth, which is free.",
        source="Udwadia and Mylapilli 2015",
        system=System(q, M, force, servos=servo),
        q0=tuple(start),
        qd0=(0,) * count,
        times=np.linspace(0, 8, 401),
        checks=(Check("differences − their decay", off, 0, 1e-9, "both poles at −1.5"),),
        units=si(radians=" ".join(f"a{k}" for k in range(1, count + 1))),
        pictures=(
            Picture(
                "angles",
                "Five pendulums swing as one",
                "time t / s",
                "angle / rad",
                histories({f"pendulum {k}": coordinate(f"a{k}") for k in range(1, count + 1)}),
            ),
        ),
        points=lambda run: {
            **{f"pivot {k}": (k, 0) for k in range(count)},
            **{
                f"bob {k}": (k + lengths[k] * np.sin(run[f"a{k + 1}"]), -lengths[k] * np.cos(run[f"a{k + 1}"]))
                for k in range(count)
            },
        },
        links=tuple((f"pivot {k}", f"bob {k}") for k in range(count)),
    )


def cart_pole(name: str, title: str) -> Case:
    """Return a cart-pole whose pole is given the energy of its upright position by a force on the cart."""
    q = x, theta = coordinates("x theta")
    kinetic = x.diff(t) ** 2 / 2 + 0.05 * ((x.diff(t) + theta.diff(t) * sp.cos(theta)) ** 2)
    kinetic += 0.05 * theta.diff(t) ** 2 * sp.sin(theta) ** 2
    potential = -0.1 * G * sp.cos(theta)
    energy = theta.diff(t) ** 2 / 2 - G * sp.cos(theta)
    servo = Servo("energy", energy - G, by=Actuator("motor", x, limit=5), settle=2)
    model = System.from_lagrangian((kinetic - potential).expand(), q, servos=servo)

    def missing(run: Trajectory) -> Any:
        return run.servo_error["energy"]

    return Case(
        name=name,
        title=title,
        about=(
            "A force on the cart, limited to 5 N and computed a thousand times a second, gives the pole the energy "
            "of its upright position. The force has no effect where the pole stops or is level, so that its limit is "
            "reached there again and again."
        ),
        source="Åström and Furuta 2000",
        system=model,
        q0=(0, 0),
        qd0=(0, 0.1),
        times=np.linspace(0, 8, 401),
        control=controller(model, period=1e-3),
        rtol=1e-9,
        atol=1e-11,
        checks=(
            Check("energy missing at the end, to 1e-3", lambda run: missing(run)[-1], 0, 1e-3, "the requirement"),
            Check("largest force", lambda run: np.abs(run.inputs["motor"]).max(), 5, 0, "the limit"),
            Check("first time at the limit", lambda run: run.saturation[0].start, 0, 0.01, "the pole starts at rest"),
        ),
        units=si(metres="x", radians="theta"),
        pictures=(
            Picture(
                "energy",
                "Energy of the pole less that of its upright position",
                "time t / s",
                "J/kg",
                histories({"": missing}),
            ),
            force_histories(("motor",)),
        ),
        points=_cart_and_pole,
        links=(("cart", "pole"),),
    )


def _cart_and_pole(run: Trajectory) -> dict[str, tuple[Any, Any]]:
    return {"cart": (run["x"], 0 * run.t), "pole": (run["x"] + np.sin(run["theta"]), -np.cos(run["theta"]))}


def force_histories(names: tuple[str, ...]) -> Picture:
    curves = {name: lambda run, name=name: run.inputs[name] for name in names}
    return Picture("inputs", "Inputs of the actuators", "time t / s", "force / N", histories(curves))
