# SPDX-License-Identifier: BSD-3-Clause
"""Mechanisms with results published by other programs: a heavy top (Exudyn), a four-bar linkage (SymPy)."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.gallery.bodies import own_spin, start_of
from dalembert.gallery.definition import Case, Check, Picture, gained_energy, histories, path, si
from dalembert.integration.trajectory import Trajectory
from dalembert.mechanisms.forces import Gravity
from dalembert.mechanisms.frames import ground
from dalembert.mechanisms.joints import Revolute
from dalembert.mechanisms.mechanism import Mechanism
from dalembert.mechanisms.planar_body import PlanarBody
from dalembert.mechanisms.spatial_body import Body
from dalembert.mechanisms.spatial_joints import Spherical

HEAVY_TOP = "Exudyn's verification of a heavy top, by Runge and Kutta's method"
# quaternion, ω in body axes and centre of mass at t = 0.2 and 2; to five digits those that are published
TOP_PUBLISHED = ((-0.70828, 0.43878, 0.54573, 0.0894), (0.12223, 150, -5.8556))
TOP_QUATERNIONS = (
    (-0.7082791529742296, 0.4387810881267057, 0.5457283961453977, 0.08939975282417868),
    (0.12294713504122837, -0.49107989254561046, 0.3504300303445157, -0.7879868875528895),
)
TOP_SPINS = (
    (-2.6915909121512094, 150.0, 4.917260989890429),
    (0.12223321956149277, 150.0, -5.8556245892110805),
)
TOP_CENTRES = (
    (0.6055505613770359, 0.5989576817948132, -0.5239830274300629),
    (-0.15041682278007026, -0.7241655915991131, -0.6730222695868049),
)
LINKAGE = "SymPy's test_jointsmethod"
LINKAGE_LENGTHS, LINKAGE_DENSITY = (0.13, 0.24, 0.21, 0.34), 997.0
LINKAGE_ANGLES = (2.1, 0.6655470375077588, 2.527408138024188)
LINKAGE_RATES = (0.2, -0.17963733938852067, 0.1309060540601612)
# published as a matrix and a right side: their quotient is the acceleration of the three angles
LINKAGE_MATRIX = (
    (3.452709815256506e01, 7.003948798374735e00, -4.939690970641498e00),
    (-2.203792703880936e-14, 2.071702479957077e-01, 2.842917573033711e-01),
    (-1.300000000000123e-01, -8.836934896046506e-03, 1.864891330060847e-01),
)
LINKAGE_FORCING = (-0.031211821321648, -0.00066022608181, 0.001813559741243)


def heavy_top(name: str, title: str) -> Case:
    spin = np.array([0, 150, -4.61538])
    top = Body(
        "top", 15, (0.234375, 0.46875, 0.234375), position=(0, 1, 0), velocity=np.cross(spin, (0, 1, 0)), spin=spin
    )
    mechanism = Mechanism(top, Spherical("pivot", ground.at(0, 0, 0), top.at(0, -1, 0)), Gravity((0, 0, -9.81)))
    q0, qd0 = start_of(mechanism)
    ours = "computed by us, by two methods"
    samples = (40, 400)

    def quaternions(run: Trajectory) -> Any:
        """Return the quaternion at both times, with the sign of the reference."""
        found = run.q[[*samples], 3:7]
        return found * np.sign(found[:, :1] * np.array(TOP_QUATERNIONS)[:, :1])

    return Case(
        name=name,
        title=title,
        about="A fast top with the six degrees of freedom of a free body, held at a point. No Euler angles are needed.",
        source=HEAVY_TOP,
        system=mechanism.system,
        mechanism=mechanism,
        q0=q0,
        qd0=qd0,
        times=np.linspace(0, 2, 401),
        checks=(
            Check(
                "quaternion at t = 0.2",
                lambda run: quaternions(run)[0],
                TOP_PUBLISHED[0],
                1e-5,
                f"published: {HEAVY_TOP}",
            ),
            Check(
                "ω in body axes at t = 2",
                lambda run: own_spin(run)[samples[1]],
                TOP_PUBLISHED[1],
                5e-5,
                f"published in five digits: {HEAVY_TOP}",
            ),
            Check("quaternion at t = 0.2 and 2", quaternions, TOP_QUATERNIONS, 1e-7, ours),
            Check("ω in body axes at t = 0.2 and 2", lambda run: own_spin(run)[[*samples]], TOP_SPINS, 1e-7, ours),
            Check("centre of mass at t = 0.2 and 2", lambda run: run.q[[*samples], :3], TOP_CENTRES, 1e-7, ours),
            Check("spin about the axis", lambda run: own_spin(run)[:, 1], 150, 1e-8, "conservation"),
            Check("energy − energy at the start", gained_energy, 0, 1e-5, "conservation"),
        ),
        units=si(metres="x_top y_top z_top"),
        pictures=(path("The centre of mass, from above", "x_top", "y_top"),),
        rtol=1e-12,
        histories=False,
    )


def linkage(name: str, title: str) -> Case:
    mechanism = linkage_mechanism()
    q0, qd0 = start_of(mechanism)

    def bending(run: Trajectory) -> Any:
        """Return the accelerations of the angles between the bars."""
        return np.diff(run.acceleration[0, [2, 5, 8]], prepend=0)

    return Case(
        name=name,
        title=title,
        about="Three uniform bars between two fixed pins, without gravity; the speed of the crank changes anyway.",
        source=LINKAGE,
        system=mechanism.system,
        mechanism=mechanism,
        q0=q0,
        qd0=qd0,
        times=np.linspace(0, 20, 401),
        checks=(
            Check(
                "accelerations of the three angles at the start",
                bending,
                np.linalg.solve(LINKAGE_MATRIX, LINKAGE_FORCING),
                1e-11,
                f"published: {LINKAGE}",
            ),
            Check("energy − energy at the start", gained_energy, 0, 1e-9, "conservation"),
            Check("rank", lambda run: run.rank, 8, 0, "9 coordinates, one degree of freedom"),
        ),
        units=si(
            metres=" ".join(f"{a}_bar{k}" for k in (2, 3, 4) for a in "xy"),
            radians=" ".join(f"theta_bar{k}" for k in (2, 3, 4)),
        ),
        pictures=(
            Picture(
                "rates",
                "How fast the bars turn",
                "time t / s",
                "angular velocity / (rad/s)",
                histories({f"bar {k}": _rate(3 * k - 4) for k in (2, 3, 4)}),
            ),
        ),
        points=_linkage_points,
        links=(("A", "B"), ("B", "C"), ("C", "D")),
    )


def _rate(column: int) -> Any:
    return lambda run: run.qd[:, column]


def linkage_mechanism() -> Mechanism:
    """Return a chain of bars from (l₁, 0) back to the origin."""
    base, *lengths = LINKAGE_LENGTHS
    pin, drift = np.array([base, 0.0]), np.zeros(2)
    bars: list[PlanarBody] = []
    joints: list[Revolute] = []
    before: Any = ground.at(base, 0)
    angles, rates = np.cumsum(LINKAGE_ANGLES), np.cumsum(LINKAGE_RATES)
    for k, (length, angle, rate) in enumerate(zip(lengths, angles, rates, strict=True), start=2):
        half = length / 2 * np.array([np.cos(angle), np.sin(angle)])
        turn = rate * np.array([-half[1], half[0]])
        mass = LINKAGE_DENSITY * length
        bar = PlanarBody(
            *(f"bar{k}", mass, mass * length**2 / 12),
            position=pin + half,
            angle=float(angle),
            velocity=drift + turn,
            spin=float(rate),
        )
        joints.append(Revolute(f"pin {k - 1}", before, bar.at(-length / 2, 0)))
        bars.append(bar)
        pin, drift, before = pin + 2 * half, drift + 2 * turn, bar.at(length / 2, 0)
    joints.append(Revolute("pin 4", before, ground.at(0, 0)))
    return Mechanism(bars, joints)


def _linkage_points(run: Trajectory) -> dict[str, tuple[Any, Any]]:
    base, second, third, _ = LINKAGE_LENGTHS
    x, y = np.full(len(run), base), np.zeros(len(run))
    places: dict[str, tuple[Any, Any]] = {"A": (x, y)}
    for pin, length, angle in (("B", second, run["theta_bar2"]), ("C", third, run["theta_bar3"])):
        x, y = x + length * np.cos(angle), y + length * np.sin(angle)
        places[pin] = (x, y)
    return {**places, "D": (0, 0)}
