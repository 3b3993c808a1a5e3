# SPDX-License-Identifier: BSD-3-Clause
"""The slider crank of Flores, Leine and Glocker: the slider has clearance in its guide, with impacts and friction."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.gallery.bodies import start_of
from dalembert.gallery.contact_cases import PHASES, audit
from dalembert.gallery.definition import Case, Check, Curve, Picture, si
from dalembert.integration.trajectory import Trajectory
from dalembert.mechanisms.contact_joints import PlaneContact
from dalembert.mechanisms.forces import Gravity
from dalembert.mechanisms.frames import ground
from dalembert.mechanisms.joints import Revolute
from dalembert.mechanisms.mechanism import Mechanism
from dalembert.mechanisms.planar_body import PlanarBody
from dalembert.model.friction import Coulomb

CRANK, ROD = 0.153, 0.306
HALF_LENGTH, HALF_HEIGHT, CLEARANCE = 0.05, 0.025, 0.001
SPEED = 150.0

SICONOS = "Siconos, steps of 1 and 0.2 µs, extrapolated"


def clearance(name: str, title: str) -> Case:
    mechanism = slider_crank()
    q0, qd0 = start_of(mechanism)
    return Case(
        name=name,
        title=title,
        about=(
            "Nothing drives the crank after its start at 150 rad/s. There is 1 mm between the slider and each side of "
            "its guide. It hits a side with two corners at once, rebounds infinitely often within milliseconds, slides "
            "along the side, and leaves it where both reactions vanish together. Friction acts in the impacts by "
            "Moreau's law, as in the paper. Siconos confirms the motion; with steps of 0.1 ms, which its example has, "
            "it misses the angle of the crank at the end by 1 rad."
        ),
        source="Flores, Leine and Glocker 2010",
        system=mechanism.system,
        mechanism=mechanism,
        q0=q0,
        qd0=qd0,
        times=np.linspace(0, 0.2, 1001),
        rtol=1e-11,
        atol=None,
        checks=(
            Check("angle of the crank at the end", lambda run: run["theta_crank"][-1], 18.08374, 1e-4, SICONOS),
            Check("speed of the crank at the end", lambda run: run["theta_crank'"][-1], 70.899, 1e-2, SICONOS),
            Check("rotation of the slider", lambda run: run["theta_slider"], 0, 1e-11, "both corners hit at once"),
            Check("events of the two corners of a side", _between_corners, 0, 1e-9, "both corners hit at once"),
            Check("balance of energy", audit, 0, 1e-8, "the ledger"),
            Check("penetration", lambda run: run.violation, 0, 1e-11, "the sides of the guide"),
        ),
        units=si(metres="x_crank y_crank x_rod y_rod x_slider y_slider", radians="theta_crank theta_rod theta_slider"),
        pictures=(
            Picture(
                "clearance",
                "Slider in its clearance",
                "revolutions of the crank",
                "y / mm",
                (Curve("", _revolutions, lambda run: 1e3 * run["y_slider"]),),
            ),
            Picture(
                "speed",
                "Speed of the crank",
                "revolutions of the crank",
                "speed / (rad/s)",
                (Curve("", _revolutions, lambda run: run["theta_crank'"]),),
            ),
        ),
        no_closed_form=PHASES,
    )


def slider_crank() -> Mechanism:
    """Return crank, connecting rod and slider, whose four corners may touch the two sides of the guide."""
    crank = PlanarBody("crank", 0.038, 7.4e-5, (CRANK / 2, 0), velocity=(0, CRANK / 2 * SPEED), spin=SPEED)
    # so that the slider is at rest
    rod = PlanarBody("rod", 0.038, 5.9e-4, (CRANK + ROD / 2, 0), velocity=(0, CRANK * SPEED / 2), spin=-SPEED / 2)
    slider = PlanarBody("slider", 0.076, 2.7e-6, (CRANK + ROD, 0))
    pins = (
        Revolute("shaft", ground.at(0, 0), crank.at(-CRANK / 2, 0)),
        Revolute("crank pin", crank.at(CRANK / 2, 0), rod.at(-ROD / 2, 0)),
        Revolute("slider pin", rod.at(ROD / 2, 0), slider),
    )
    corners = (
        PlaneContact(
            f"{side} {end} corner",
            ground.at(0, up * (HALF_HEIGHT + CLEARANCE)),
            slider.at(along * HALF_LENGTH, up * HALF_HEIGHT),
            normal=(0, -up),
            restitution=0.4,
            impact="moreau",
            nonideal=Coulomb(0.01),
        )
        for side, up in (("upper", 1), ("lower", -1))
        for end, along in (("rear", -1), ("front", 1))
    )
    return Mechanism((crank, rod, slider), (*pins, *corners), Gravity((0, -9.81)))


def _revolutions(run: Trajectory) -> Any:
    return run["theta_crank"] / (2 * np.pi)


def _between_corners(run: Trajectory) -> Any:
    """Return the times between the events of the rear and of the front corner of the same side."""
    pairs = [(e.t, e.kind, e.name.split()[0]) for e in run.events if e.name.split()[1] == "rear"]
    others = [(e.t, e.kind, e.name.split()[0]) for e in run.events if e.name.split()[1] == "front"]
    matched = [one[1:] == other[1:] for one, other in zip(pairs, others, strict=True)]
    return np.array([one[0] - other[0] for one, other in zip(pairs, others, strict=True)]) if all(matched) else np.inf
