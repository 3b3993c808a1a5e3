# SPDX-License-Identifier: BSD-3-Clause
"""Impacts with friction and of several bodies at once: a rod, a rocking block, rows of balls."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import sympy as sp

from dalembert.gallery.bodies import start_of
from dalembert.gallery.contact_cases import PHASES, audit
from dalembert.gallery.definition import Case, Check, Picture, coordinate, histories, si, velocity
from dalembert.integration.trajectory import Trajectory
from dalembert.mechanisms.contact_joints import PlaneContact
from dalembert.mechanisms.forces import Gravity
from dalembert.mechanisms.frames import ground
from dalembert.mechanisms.mechanism import Mechanism
from dalembert.mechanisms.planar_body import PlanarBody
from dalembert.model.constraint import Constraint
from dalembert.model.friction import Coulomb
from dalembert.model.symbols import coordinates, t
from dalembert.model.system import System


def rod_impact(name: str, title: str) -> Case:
    angle, mu, e, slip = 1.0, 0.2, 0.5, 0.1
    rod = PlanarBody(
        "rod", 1, sp.Rational(1, 3), (np.cos(angle), np.sin(angle) + 0.5), angle=angle, velocity=(slip, -1)
    )
    tip = PlaneContact("tip", ground.at(0, 0), rod.at(-1, 0), restitution=e, impact="poisson", nonideal=Coulomb(mu))
    mechanism = Mechanism(rod, tip)
    q0, qd0 = start_of(mechanism)
    return Case(
        name=name,
        title=title,
        about=(
            "The tip of a tilted rod hits the ground while it slips forwards. Friction is too weak to hold it: during "
            "the impact the slip stops and reverses. Routh's construction follows the impulse through both stages."
        ),
        source="Routh 1860: closed form for slip, stop and reversed slip",
        system=mechanism.system,
        mechanism=mechanism,
        q0=q0,
        qd0=qd0,
        times=np.linspace(0, 1, 101),
        checks=(
            Check("t of the impact", lambda run: run.events[0].t, 0.5, 1e-12, "fall of 0.5 at the speed 1"),
            Check(
                "velocities after it", lambda run: run.events[0].after[3:], _routh(angle, mu, e, slip), 1e-11, "Routh"
            ),
            Check("balance of energy", audit, 0, 1e-12, "the ledger"),
        ),
        units=si(metres="x_rod y_rod", radians="theta_rod"),
        pictures=(
            Picture(
                "slip",
                "Velocity of the tip along the ground",
                "time t",
                "velocity",
                histories({"slip": _tip_slip}),
            ),
        ),
        no_closed_form=PHASES,
    )


def _tip_slip(run: Trajectory) -> Any:
    return run["x_rod'"] + np.sin(run["theta_rod"]) * run["theta_rod'"]


def _routh(angle: float, mu: float, e: float, slip: float) -> Any:
    """Return ẋ, ẏ and θ̇ after the impact of a rod of mass 1 and half length 1 that falls at the speed 1."""
    s, c = np.sin(angle), np.cos(angle)
    # impulses P along the normal and F along the ground have the moment F s − P c about the centre
    normal, tangential, coupling = 1 + 3 * c**2, 1 + 3 * s**2, -3 * s * c
    stop = slip / (mu * tangential - coupling)
    at_stop = -1 + stop * (normal - mu * coupling)
    back = normal + mu * coupling  # the slip has reversed, and friction with it
    compression = stop - at_stop / back
    P = (1 + e) * compression
    F = -mu * stop + mu * (P - stop)
    return np.array([slip + F, -1 + P, 3 * (F * s - P * c)])


def rocking_block(name: str, title: str) -> Case:
    b, h, g, tilt = 0.25, 1.0, 9.81, 0.1
    size, alpha = np.hypot(b, h), np.arctan2(b, h)
    place = (-b + np.cos(tilt) * b - np.sin(tilt) * h, np.sin(tilt) * b + np.cos(tilt) * h)
    block = PlanarBody("block", 1, (b**2 + h**2) / 3, place, angle=tilt)
    corners = tuple(
        PlaneContact(side, ground.at(0, 0), block.at(x, -h), restitution=0, nonideal=Coulomb(2))
        for side, x in (("left", -b), ("right", b))
    )
    mechanism = Mechanism(block, corners, Gravity((0, -g)))
    q0, qd0 = start_of(mechanism)
    ratio = 1 - 1.5 * np.sin(alpha) ** 2
    speed = np.sqrt(2 * 0.75 * g / size * (np.cos(alpha - tilt) - np.cos(alpha)))
    return Case(
        name=name,
        title=title,
        about=(
            "A slender block is tilted and let go. It rocks from corner to corner, each of which friction holds. "
            "Every change of the corner is an impact that leaves the same part of its angular velocity."
        ),
        source="Housner 1963: θ̇⁺/θ̇⁻ = 1 − (3/2) sin² α",
        system=mechanism.system,
        mechanism=mechanism,
        q0=q0,
        qd0=qd0,
        times=np.linspace(0, 2.2, 221),
        checks=(
            Check("ratio of angular velocities", _ratios, ratio, 1e-11, "Housner 1963"),
            Check("θ̇ before the first impact", lambda run: _impacts(run)[0].before[5], -speed, 1e-9, "energy"),
            Check("balance of energy", audit, 0, 1e-9, "the ledger"),
        ),
        units=si(metres="x_block y_block", radians="theta_block"),
        pictures=(
            Picture("tilt", "Tilt", "time t / s", "θ / rad", histories({"θ": coordinate("theta_block")})),
            Picture("rate", "Rate", "time t / s", "θ̇ / (rad/s)", histories({"θ̇": velocity("theta_block")})),
        ),
        no_closed_form=PHASES,
    )


def _impacts(run: Trajectory) -> list[Any]:
    return [event for event in run.events if event.kind == "impact"]


def _ratios(run: Trajectory) -> Any:
    return np.array([event.after[5] / event.before[5] for event in _impacts(run)])


def cradle(name: str, title: str) -> Case:
    rows = {"touching": coordinates("x1 x2 x3"), "apart": coordinates("y1 y2 y3")}
    contacts = [
        Constraint(sp.Ge(two - one, 1), name=f"{row} {k}", restitution=1)
        for row, balls in rows.items()
        for k, (one, two) in enumerate(pairwise(balls), start=1)
    ]
    every = (*rows["touching"], *rows["apart"])
    kinetic = sp.Add(*(x.diff(t) ** 2 for x in every)) / 2
    return Case(
        name=name,
        title=title,
        about=(
            "The first of three equal balls hits the two others without loss. In the first row these touch: Newton's "
            "law for both contacts at once, a modelling choice, sends them off together at 2/3 of the speed, and the "
            "first ball back at 1/3. In the second row there is a gap: one impact follows the other, and the last ball "
            "alone moves off, as in the toy. Both keep momentum and energy."
        ),
        source="closed form: momentum, energy, and Newton's law for every contact",
        system=System.from_lagrangian(kinetic, every, constraints=contacts),
        q0=(-1, 1, 2, -1, 1, 2.1),
        qd0=(1, 0, 0, 1, 0, 0),
        times=np.linspace(0, 3, 61),
        checks=(
            Check("velocities, touching", lambda run: run.qd[-1, :3], np.array([-1, 2, 2]) / 3, 1e-13, "Newton's law"),
            Check("velocities, apart", lambda run: run.qd[-1, 3:], np.array([0, 0, 1]), 1e-13, "two impacts"),
            Check("energy", lambda run: run.energy, 1, 1e-13, "no loss"),
        ),
        pictures=(
            Picture(
                "positions",
                "Both rows of balls",
                "time t",
                "position",
                histories({name: coordinate(name) for name in ("x1", "x2", "x3", "y1", "y2", "y3")}),
            ),
        ),
        no_closed_form=PHASES,
        points=lambda run: {f"ball {x}": (run[x], 0 * run.t + (x[0] == "y")) for x in run.coordinates},
    )
