# SPDX-License-Identifier: BSD-3-Clause
"""The simplest walking model: two legs without mass that walk down a slope, with a change of legs at every step."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from dalembert.gallery.definition import Case, Check, Curve, Picture, coordinate, histories, velocity
from dalembert.integration.trajectory import Trajectory
from dalembert.model.event import Change, Event
from dalembert.model.symbols import coordinates, parameters, t
from dalembert.model.system import System

ANGLE, RATE = 0.200310900544287, -0.199832473004977
"""Angle and rate of the stance leg at the start of a step, for a slope of 0.009: Bhounsule 2014."""


def model() -> tuple[System, Event]:
    """Return the motion between two steps, in the angle θ of the stance leg and φ between the legs, and the step."""
    theta, phi = coordinates("theta phi")
    slope = parameters("gamma")
    rate = theta.diff(t)
    fall = sp.sin(theta - slope)
    swing = fall + (rate**2 - sp.cos(theta - slope)) * sp.sin(phi)
    cosine = sp.cos(2 * theta)
    legs = {theta: -theta, phi: -2 * theta, rate: cosine * rate, phi.diff(t): cosine * (1 - cosine) * rate}
    # the foot also passes the ground where the legs are parallel, with the opposite direction; that is ignored
    strike = Event(phi - 2 * theta, direction=1, name="heel strike", then=Change(legs))
    return System((theta, phi), sp.eye(2), (fall, swing)), strike


def simplest(name: str, title: str) -> Case:
    system, strike = model()
    return Case(
        name=name,
        title=title,
        about=(
            "A mass on two legs walks down a slope of 0.009 rad without a motor. The stance leg falls as an inverted "
            "pendulum, the other one swings; where its foot hits the ground, the legs change their roles, with the "
            "impulse of an impact without rebound. The gait is a stable fixed point of the map from step to step."
        ),
        source="Garcia, Chatterjee, Ruina and Coleman 1998; Bhounsule 2014",
        system=system,
        parameters={"gamma": 0.009},
        q0=(ANGLE, 2 * ANGLE),
        qd0=(RATE, (1 - np.cos(2 * ANGLE)) * RATE),
        times=np.linspace(0, 16, 401),
        settings={"events": (strike,)},
        checks=(
            Check("θ at the start of steps", lambda run: _states(run)[:, 0], ANGLE, 1e-10, "Bhounsule 2014"),
            Check("θ̇ at the start of steps", lambda run: _states(run)[:, 2], RATE, 1e-10, "Bhounsule 2014"),
            Check("differences of their lengths", _differences, 0, 1e-9, "period one"),
        ),
        units={"theta": "rad", "phi": "rad"},
        pictures=(
            Picture(
                "portrait",
                "Phase portrait of the stance leg",
                "θ / rad",
                "θ̇",
                (Curve("", coordinate("theta"), velocity("theta")),),
            ),
            Picture(
                "legs",
                "Angles of the legs",
                "time t",
                "angle / rad",
                histories({"stance leg θ": coordinate("theta"), "θ − φ": lambda run: run["theta"] - run["phi"]}),
            ),
        ),
    )


def _states(run: Trajectory) -> Any:
    return np.array([event.after for event in run.events if event.name == "heel strike"])


def _differences(run: Trajectory) -> Any:
    return np.diff([event.t for event in run.events if event.name == "heel strike"], n=2)
