# SPDX-License-Identifier: BSD-3-Clause
"""Mechanisms with contacts: a bowling ball that begins to roll, and a pendulum whose rope goes slack."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.gallery.bodies import start_of
from dalembert.gallery.contact_cases import PHASES, audit, times_of
from dalembert.gallery.definition import Case, Check, Picture, coordinate, histories, path, si, velocity
from dalembert.integration.trajectory import Trajectory
from dalembert.mechanisms.contact_joints import PlaneContact
from dalembert.mechanisms.forces import Gravity
from dalembert.mechanisms.frames import ground
from dalembert.mechanisms.joints import Rope
from dalembert.mechanisms.mechanism import Mechanism
from dalembert.mechanisms.particle import Particle
from dalembert.mechanisms.planar_body import PlanarBody
from dalembert.model.friction import Coulomb


def bowling_ball(name: str, title: str) -> Case:
    radius, mass, mu, g, speed = 0.1, 6.0, 0.2, 9.81, 7.0
    ball = PlanarBody("ball", mass, 2 / 5 * mass * radius**2, (0, radius), velocity=(speed, 0))
    lane = PlaneContact("lane", ground.at(0, 0), ball, radius=radius, restitution=0.5, nonideal=Coulomb(mu))
    mechanism = Mechanism(ball, lane, Gravity((0, -g)))
    q0, qd0 = start_of(mechanism)
    rolls = 2 * speed / (7 * mu * g)
    return Case(
        name=name,
        title=title,
        about=(
            "Laid down without spin, it slides, and friction turns it until it rolls, at 5/7 of its initial speed. "
            "Rolling is sticking friction at the point of contact."
        ),
        source="closed form: it rolls at t = 2 v₀/(7 μ g)",
        system=mechanism.system,
        mechanism=mechanism,
        q0=q0,
        qd0=qd0,
        times=np.linspace(0, 2, 201),
        checks=(
            Check("t of rolling", lambda run: times_of(run, "sticks"), rolls, 1e-10, "closed form"),
            Check("speed after that", lambda run: run["x_ball'"][run.t > rolls], 5 / 7 * speed, 1e-10, "5/7 v₀"),
            Check("work of friction", _lost, -mass * speed**2 / 7, 1e-8, "−m v₀²/7"),
            Check("balance of energy", audit, 0, 1e-8, "the ledger"),
        ),
        units=si(metres="x_ball y_ball", radians="theta_ball"),
        pictures=(
            Picture(
                "speed",
                "Speed of the centre and of the rim",
                "time t / s",
                "speed / (m/s)",
                histories({"centre": velocity("x_ball"), "rim": lambda run: -radius * run["theta_ball'"]}),
            ),
        ),
        no_closed_form=PHASES,
    )


def _lost(run: Trajectory) -> Any:
    return run.ledger()["lane: Coulomb"][-1]


def slack_rope(name: str, title: str) -> Case:
    g, length, speed = 1.0, 1.0, np.sqrt(3.5)
    bob = Particle("bob", 2, (0, -length), velocity=(speed, 0))
    rope = Rope("rope", ground.at(0, 0), bob, length=length, restitution=0)
    mechanism = Mechanism(bob, rope, Gravity((0, -g)))
    q0, qd0 = start_of(mechanism)
    height = (speed**2 - 2 * g) / (3 * g)
    flight = 4 * np.sqrt(height / g) * np.sqrt(1 - height**2)
    return Case(
        name=name,
        title=title,
        about=(
            "Pushed at √3.5, too slow to go round, the bob leaves its circle where the tension vanishes, flies on a "
            "parabola, and is caught by the rope, which takes the radial velocity."
        ),
        source="closed form: slack at y = (v₀² − 2 g l)/(3 g), taut again after 4 √(h/g) cos φ, sin φ = h = y/l",
        system=mechanism.system,
        mechanism=mechanism,
        q0=q0,
        qd0=qd0,
        times=np.linspace(0, 5, 251),
        checks=(
            Check("y where it goes slack", lambda run: run.events[0].before[1], height, 1e-10, "closed form"),
            Check("flight", lambda run: run.events[1].t - run.events[0].t, flight, 1e-9, "closed form"),
            Check("velocity when it is caught", _tangential, 0, 1e-10, "the tangential part stays"),
            Check(
                "tension at the start", lambda run: run["rope: length"][0], 2 * (g + speed**2), 1e-10, "m (g + v²/l)"
            ),
            Check("balance of energy", audit, 0, 1e-9, "the ledger"),
        ),
        units=si(metres="x_bob y_bob"),
        pictures=(
            path("Path of the bob", "x_bob", "y_bob"),
            Picture("tension", "Tension", "time t", "force", histories({"tension": coordinate("rope: length")})),
        ),
        no_closed_form=PHASES,
    )


def _tangential(run: Trajectory) -> Any:
    caught = run.events[1]
    q, qd = np.split(np.array(caught.before), 2)
    return np.array(caught.after[2:]) - (qd - (qd @ q) * q)
