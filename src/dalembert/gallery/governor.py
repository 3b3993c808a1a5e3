# SPDX-License-Identifier: BSD-3-Clause
"""The stiff flyball governor of the IFToMM library of benchmark problems."""

from __future__ import annotations

import numpy as np
import sympy as sp

from dalembert.gallery.definition import Case, Check, Picture, coordinate, histories, si
from dalembert.gallery.iftomm import LIBRARY, G
from dalembert.model.constraint import Constraint
from dalembert.model.symbols import coordinates, t
from dalembert.model.system import System

# height of the slider, angle of the rods and speed of the shaft at t = 1, 2, 5 and 10
FLYBALL_COMPUTED = (
    (0.5014209224, 0.5218333016, 6.2711257419),
    (0.5059092943, 0.5166637974, 6.2362236144),
    (0.5355631037, 0.4828745766, 6.0224964998),
    (0.6196229171, 0.3900737018, 5.5482036227),
)
GOVERNOR = {"offset": 0.05, "length": 1.0, "rod": 0.3, "ball": 5.0, "slider": 3.0, "K": 8e5, "C": 4e4, "g": G}


def flyball(name: str, title: str) -> Case:
    return Case(
        name=name,
        title=title,
        about=(
            "Watt's governor with springs and dampers so stiff that they settle in a fraction of a millisecond, while "
            "slider and balls rise over seconds. The coordinates, in the plane that rotates with the shaft by φ, are "
            "the height of the slider, and the position and angle of each rod; hinges connect them."
        ),
        source=f"{LIBRARY}, A05",
        system=_governor(),
        parameters=GOVERNOR,
        q0=(0, 0.5, *(0.05 + 0.5 * np.cos(np.pi / 6), 0.75, np.pi / 6) * 2),
        qd0=(2 * np.pi, *(0.0,) * 7),
        times=np.linspace(0, 10, 101),
        checks=(
            Check(
                "slider's height, rods' angle, shaft's speed at t = 1, 2, 5 and 10",
                lambda run: np.stack([run["s"], run["a1"], run.qd[:, 0]], axis=1)[[10, 20, 50, 100]],
                FLYBALL_COMPUTED,
                1e-7,
                "computed by us with Radau's method in three coordinates",
            ),
            Check("s at t = 10", lambda run: run["s"][-1], 0.62, 2e-3, f"published, read off a plot: {LIBRARY}"),
            Check("angle of one rod − that of the other", lambda run: run["a1"] - run["a2"], 0, 1e-9, "symmetry"),
        ),
        units=si(metres="s x1 z1 x2 z2", radians="phi a1 a2"),
        pictures=(
            Picture(
                "height", "Height of the slider", "time t / s", "height / m", histories({"slider": coordinate("s")})
            ),
        ),
        histories=False,
        readable=False,
    )


def _governor() -> System:
    q = phi, s, *arms = coordinates("phi s x1 z1 a1 x2 z2 a2")
    b, length, rod, ball, slider, K, C, g = (sp.Symbol(key, real=True) for key in GOVERNOR)
    thick, cube, turning = 0.01, 0.1, phi.diff(t)
    along, across = rod * 2 * thick**2 / 12, rod * (length**2 + thick**2) / 12
    kinetic = (along + slider * 2 * cube**2 / 12) * turning**2 / 2 + slider * s.diff(t) ** 2 / 2
    potential, damping, rows = slider * g * s, sp.zeros(len(q), 1), list[Constraint]()
    for k, (x, z, a) in enumerate((arms[:3], arms[3:]), start=1):
        reach, drop = length / 2 * sp.cos(a), length / 2 * sp.sin(a)
        for mass, radius, height in ((rod, x, z), (ball, x + reach, z - drop)):
            kinetic += mass * (radius.diff(t) ** 2 + height.diff(t) ** 2 + (radius * turning) ** 2) / 2
            potential += mass * g * height
        kinetic += (across * a.diff(t) ** 2 + (across * sp.cos(a) ** 2 + along * sp.sin(a) ** 2) * turning**2) / 2
        far = sp.sqrt((x - b) ** 2 + (z - s) ** 2)
        potential += K * (far - sp.Rational(1, 2)) ** 2 / 2
        damping -= C * far.diff(t) * sp.Matrix([far.diff(coordinate) for coordinate in q])
        rows += [
            Constraint(x - b - reach, name=f"hinge {k}, outwards"),
            Constraint(z - 1 + drop, name=f"hinge {k}, upwards"),
        ]
    return System.from_lagrangian(kinetic - potential, q, applied_force=damping, constraints=rows)
