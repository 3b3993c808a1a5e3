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
        pictures=(_forces(("push",)),),
        points=lambda run: {"first": (run["x1"], 0 * run.t), "second": (2 + run["x2"], 0 * run.t)},
        links=(("first", "second"),),
    )


def crane(name: str, title: str) -> Case:
    """Return an overhead crane whose load is carried over an obstacle, from rest to rest."""
    q = x, length, theta = coordinates("x l theta")
    X, Z = x + length * sp.sin(theta), -length * sp.cos(theta)
    kinetic = 5 * x.diff(t) ** 2 / 2 + length.diff(t) ** 2 / 4 + (X.diff(t) ** 2 + Z.diff(t) ** 2) / 2
    way = _flat_path()
    by = (Actuator("trolley", x), Actuator("winch", length))
    servo = Servo("load", (X - way[0], Z - way[1]), by=by, settle=3)
    ahead, up = map(_second_derivative, way)
    slope = ahead / (up + G)
    known = (way[0] - way[1] * slope, -way[1] * sp.sqrt(1 + slope**2), -sp.atan(slope))
    measured = [sp.lambdify(t, e) for e in known]
    forces = {
        "trolley": 5 * _second_derivative(known[0]) + ahead,
        "winch": _second_derivative(known[1]) / 2 - sp.sqrt(ahead**2 + (up + G) ** 2),
    }
    place = [sp.lambdify(t, e) for e in way]
    return Case(
        name=name,
        title=title,
        about=(
            "Trolley and winch carry a load from rest to rest, over an obstacle. Both act on the load only along the "
            "rope, so that one combination of the requirements must be differentiated four times. The crane is "
            "differentially flat: trolley, rope and forces follow from the path of the load."
        ),
        source="Blajer and Kołodziejczyk 2007; Fliess et al. 1995 for the closed form",
        system=System.from_lagrangian((kinetic - G * Z).doit(), q, servos=servo),
        q0=tuple(float(f(0.0)) for f in measured),
        qd0=(0, 0, 0),
        times=np.linspace(0, 4, 201),
        checks=(
            Check("load − its path", _off_path(place), 0, 1e-9, "the requirement"),
            *(
                Check(f"{label} − closed form", lambda run, k=k: run.q[:, k] - measured[k](run.t), 0, 1e-9, "flatness")
                for k, label in enumerate(("trolley", "rope", "angle"))
            ),
            *(
                Check(f"force of {n} − closed form", _off_force(n, exact), 0, 1e-7, "flatness")
                for n, exact in forces.items()
            ),
            Check("swing at the end", lambda run: np.abs(run.qd[-1]).max(), 0, 1e-8, "rest to rest"),
        ),
        units=si(metres="x l", radians="theta"),
        pictures=(
            Picture(
                "path",
                "Path of the load over the obstacle",
                "x / m",
                "z / m",
                (Curve("", _load(0), _load(1)),),
                equal=True,
            ),
            _forces(("trolley", "winch")),
        ),
        points=lambda run: {"trolley": (run["x"], 0 * run.t), "load": (_load(0)(run), _load(1)(run))},
        links=(("trolley", "load"),),
        readable=False,
    )


def _flat_path() -> tuple[Any, Any]:
    """Return a path of four seconds, of which the first four derivatives vanish at both ends."""
    s = t / 4
    rise = s**5 * (126 - 420 * s + 540 * s**2 - 315 * s**3 + 70 * s**4)  # from 0 to 1
    return 3 * rise, sp.Rational(-5, 2) + 5 * rise * (1 - rise)


def _second_derivative(expression: Any) -> Any:
    return expression.diff(t).diff(t)  # `diff(t, 2)` factors its result, which takes seconds here


def _load(axis: int) -> Any:
    return lambda run: run["x"] + run["l"] * np.sin(run["theta"]) if axis == 0 else -run["l"] * np.cos(run["theta"])


def _off_force(name: str, exact: Any) -> Any:
    value = sp.lambdify(t, exact, cse=True)
    return lambda run: run.inputs[name] - value(run.t)


def _off_path(place: list[Any]) -> Any:
    return lambda run: np.array([_load(k)(run) - place[k](run.t) for k in range(2)])


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
        source="Udwadia, Schutte and Lam 2008; closed form m(q̈ − gravity)",
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
            _forces(("motor",)),
        ),
        points=_cart_and_pole,
        links=(("cart", "pole"),),
    )


def _cart_and_pole(run: Trajectory) -> dict[str, tuple[Any, Any]]:
    return {"cart": (run["x"], 0 * run.t), "pole": (run["x"] + np.sin(run["theta"]), -np.cos(run["theta"]))}


def _forces(names: tuple[str, ...]) -> Picture:
    curves = {name: lambda run, name=name: run.inputs[name] for name in names}
    return Picture("inputs", "Inputs of the actuators", "time t / s", "force / N", histories(curves))
