# SPDX-License-Identifier: BSD-3-Clause
"""Systems of which many members are simulated: a double pendulum, a four-bar loop, a rolling disc, and a double
pendulum in space."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import sympy as sp

import dalembert as da
from benchmarks.chains import NUMBERS, chain

G = 9.81
BARS = {"crank": 1.0, "coupler": 2.5, "rocker": 2.0}
BASE = 2.5
"""Lengths of the four-bar, a mass of 1 kg per metre: the crank turns all the way round, and never folds."""
PIVOT, SHAKING = 0.1, 5.0
"""Amplitude and angular frequency of the pivot of the pendulum in space."""
DISC = {"m": 3.43, "r": 0.26, "g": G}


@dataclass(frozen=True)
class Problem:
    """A system, its numbers, and how its members start.

    spread    from a share of each member in [0, 1), shape (count,), to q and qd, each (n, count)
    h, steps  of the fixed steps
    by_hand   whether the other programs have it, by equations written for it
    """

    name: str
    system: da.System
    numbers: Mapping[str, float]
    spread: Callable[[Any], tuple[Any, Any]]
    h: float = 1e-3
    steps: int = 1000
    by_hand: bool = True

    @property
    def n(self) -> int:
        return len(self.system.coordinates)

    @property
    def m(self) -> int:
        return len(self.system.constraints)

    @property
    def holonomic(self) -> bool:
        return all(constraint.level == "position" for constraint in self.system.constraints)

    @property
    def end(self) -> float:
        return self.h * self.steps

    def starts(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Consistent starts of so many members, all different, as a struct of arrays: q and qd of shape (n, count)."""
        q, qd = self.spread(shares(np.arange(count)))
        return np.ascontiguousarray(q), np.ascontiguousarray(qd)

    def start(self, member: int) -> tuple[np.ndarray, np.ndarray]:
        q, qd = self.spread(shares(np.array([member])))
        return q[:, 0], qd[:, 0]


def shares(member: np.ndarray) -> np.ndarray:
    """Return multiples of the golden section: evenly spread, and equal for a member in ensembles of all sizes."""
    return member * ((np.sqrt(5) - 1) / 2) % 1.0


def _hanging(share: Any) -> tuple[Any, Any]:
    """Two rods stretched out at an angle, at rest."""
    angle = 0.1 + 2.7 * share
    rod = np.stack([np.sin(angle), -np.cos(angle)])
    return np.concatenate([rod, 2 * rod]), np.zeros((4, len(share)))


def four_bar() -> da.System:
    """Three uniform bars in the plane, four pins."""
    crank, coupler, rocker = (da.PlanarBody(name, mass=size, inertia=size**3 / 12) for name, size in BARS.items())
    pins = (
        da.Revolute("bearing", da.ground.at(0, 0), crank.at(-BARS["crank"] / 2, 0)),
        da.Revolute("crank pin", crank.at(BARS["crank"] / 2, 0), coupler.at(-BARS["coupler"] / 2, 0)),
        da.Revolute("rocker pin", coupler.at(BARS["coupler"] / 2, 0), rocker.at(BARS["rocker"] / 2, 0)),
        da.Revolute("base", da.ground.at(BASE, 0), rocker.at(-BARS["rocker"] / 2, 0)),
    )
    return da.Mechanism((crank, coupler, rocker), pins, da.Gravity((0, -G))).system


def _turning(share: Any) -> tuple[Any, Any]:
    """The crank at any angle, turning at 3 rad/s; the loop closed by the law of cosines."""
    a, b, c = BARS.values()
    first = 2 * np.pi * share
    pin = np.stack([a * np.cos(first), a * np.sin(first)])
    across = np.array([[BASE], [0.0]]) - pin
    gap = np.hypot(*across)
    second = np.arctan2(across[1], across[0]) + np.arccos((b**2 + gap**2 - c**2) / (2 * b * gap))
    tip = pin + b * np.stack([np.cos(second), np.sin(second)])
    third = np.arctan2(tip[1], tip[0] - BASE)
    u1, u2, u3 = (np.stack([np.cos(x), np.sin(x)]) for x in (first, second, third))
    # b θ̇₂ n₂ − c θ̇₃ n₃ = −a θ̇₁ n₁, n the normals of the bars: multiply by u₃ and by u₂
    rate = 3.0 + 0 * share
    cross = u2[0] * u3[1] - u2[1] * u3[0]
    rates = (
        rate,
        -a * rate * (u1[0] * u3[1] - u1[1] * u3[0]) / (b * cross),
        -a * rate * (u1[0] * u2[1] - u1[1] * u2[0]) / (c * cross),
    )
    ends = (0 * pin, pin, np.array([[BASE], [0.0]]) + 0 * pin)
    speed = a * rate * _normal(u1)
    begun = (0 * pin, speed, 0 * pin)
    q, qd = [], []
    for end, v, u, angle, turn, length in zip(
        ends, begun, (u1, u2, u3), (first, second, third), rates, (a, b, c), strict=True
    ):
        q += [*(end + length / 2 * u), angle]
        qd += [*(v + length / 2 * turn * _normal(u)), turn]
    return np.stack(q), np.stack(qd)


def _normal(u: Any) -> Any:
    return np.stack([-u[1], u[0]])


def rolling_disc() -> da.System:
    """A thin uniform disc by x and y of its centre, yaw, lean, and turn about its axle; the lean gives the height."""
    q = da.coordinates("x y yaw lean turn")
    yaw, lean = q[2:4]
    m, r, g = da.parameters("m r g")
    dx, dy, dyaw, dlean, dturn = (c.diff(da.t) for c in q)
    about_axle = dturn + dyaw * sp.sin(lean)
    across = (dlean**2 + (dyaw * sp.cos(lean)) ** 2) / 4 + about_axle**2 / 2
    kinetic = m * (dx**2 + dy**2 + (r * dlean * sp.sin(lean)) ** 2 + r**2 * across) / 2
    rolling = (
        da.Constraint(dx - r * (about_axle * sp.cos(yaw) + dlean * sp.sin(yaw) * sp.cos(lean)), name="rolling x"),
        da.Constraint(dy - r * (about_axle * sp.sin(yaw) - dlean * sp.cos(yaw) * sp.cos(lean)), name="rolling y"),
    )
    return da.System.from_lagrangian(kinetic - m * g * r * sp.cos(lean), q, constraints=rolling)


def _rolling(share: Any) -> tuple[Any, Any]:
    """Leaning by up to 0.3 either way, fast enough not to fall."""
    r, lean = DISC["r"], 0.6 * share - 0.3
    yaw = 2 * np.pi * shares(1000 * share)
    dyaw, dlean, dturn = 0.5 - share, 0.2 * share, 8.0 + 2 * share
    about_axle = dturn + dyaw * np.sin(lean)
    dx = r * (about_axle * np.cos(yaw) + dlean * np.sin(yaw) * np.cos(lean))
    dy = r * (about_axle * np.sin(yaw) - dlean * np.cos(yaw) * np.cos(lean))
    return np.stack([0 * yaw, 0 * yaw, yaw, lean, 0 * yaw]), np.stack([dx, dy, dyaw, dlean, dturn])


def spatial_pendulum() -> da.System:
    """Two spheres in space on rods of length one, the first on a pivot that moves to and fro; a viscous law acts
    on the first sphere."""
    q = da.coordinates("x1 y1 z1 x2 y2 z2")
    (x1, y1, z1, *_), pivot = q, PIVOT * sp.sin(SHAKING * da.t)
    first = (x1 - pivot, y1, z1)
    viscous = da.Viscous(0.1, velocity=tuple(sp.diff(place, da.t) for place in first))
    rods = (
        da.Constraint(sum(place**2 for place in first) - 1, name="upper rod", nonideal=viscous),
        da.Constraint(sum((b - a) ** 2 for a, b in zip(q[:3], q[3:], strict=True)) - 1, name="lower rod"),
    )
    return da.System(q, sp.eye(6), (0, 0, -G, 0, 0, -G), rods)


def _turning_in_space(share: Any) -> tuple[Any, Any]:
    """Two rods stretched out at an angle; they turn about the vertical, and the pivot has its first velocity."""
    angle, direction = 0.1 + 2.7 * share, 2 * np.pi * shares(1000 * share)
    rod = np.stack([np.sin(angle) * np.cos(direction), np.sin(angle) * np.sin(direction), -np.cos(angle)])
    moving = np.stack([PIVOT * SHAKING + 0 * share, 0 * share, 0 * share])
    spin = np.stack([-rod[1], rod[0], 0 * share])
    return np.concatenate([rod, 2 * rod]), np.concatenate([moving + spin, moving + 2 * spin])


@cache
def problems() -> tuple[Problem, ...]:
    return (
        Problem("double pendulum", chain(2), dict(NUMBERS), _hanging),
        Problem("rolling disc", rolling_disc(), DISC, _rolling),
        Problem("four-bar", four_bar(), {}, _turning),
        Problem("pendulum in space", spatial_pendulum(), {}, _turning_in_space, by_hand=False),
    )


def named(name: str) -> Problem:
    return next(problem for problem in problems() if problem.name == name)
