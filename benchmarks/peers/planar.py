# SPDX-License-Identifier: BSD-3-Clause
"""The planar problems as links on hinges with closed loops, for programs that want bodies and joints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.peers.problems import CannotError, Problem
from dalembert.gallery.ivp_test_set import ANDREWS_NUMBERS

Place = tuple[float, float]
GROUND = -1


class Link(NamedTuple):
    """A body that turns about a point of its parent, which comes before it; angles and rates relative to the parent.

    at        the hinge, in the parent's axes
    com       centre of mass, in its own axes, from the hinge
    """

    parent: int
    at: Place
    mass: float
    com: Place
    inertia: float
    angle: float
    rate: float


class Loop(NamedTuple):
    """Points of two links that stay together."""

    first: int
    at_first: Place
    second: int
    at_second: Place


class Spring(NamedTuple):
    """From a point of a link to a point of the ground."""

    link: int
    at: Place
    anchor: Place
    stiffness: float
    length: float


class Planar(NamedTuple):
    """A mechanism in the plane; ``seen`` tells from the relative angles what is compared."""

    links: list[Link]
    loops: list[Loop]
    seen: Callable[[Any], np.ndarray]
    gravity: float = 0.0
    spring: Spring | None = None
    torque: float = 0.0

    @property
    def start(self) -> tuple[np.ndarray, np.ndarray]:
        """Relative angles and their rates."""
        return np.array([link.angle for link in self.links]), np.array([link.rate for link in self.links])

    def absolute(self, relative: Any) -> np.ndarray:
        """Angles against the ground, or their rates, from those against the parents."""
        found: list[float] = []
        for link, angle in zip(self.links, relative, strict=True):
            found.append(angle + (found[link.parent] if link.parent != GROUND else 0.0))
        return np.array(found)

    def relative(self, absolute: Any) -> np.ndarray:
        parents = [absolute[link.parent] if link.parent != GROUND else 0.0 for link in self.links]
        return np.asarray(absolute) - parents


def planar(problem: Problem) -> Planar:
    if problem.name == "double pendulum":
        return _double_pendulum()
    if problem.name == "andrews":
        return _andrews()
    if "four-bar" in problem.name:
        return _four_bars(len(problem.q) // 2 - 1)
    raise CannotError("not a mechanism in the plane")


def _double_pendulum() -> Planar:
    bob = ((1.0, 0.0), 0.0, 0.0, 0.0)

    def seen(angles: Any) -> np.ndarray:
        a, b = angles[0], angles[0] + angles[1]
        return np.array([np.cos(a), np.sin(a), np.cos(a) + np.cos(b), np.sin(a) + np.sin(b)])

    return Planar([Link(GROUND, (0.0, 0.0), 1.0, *bob), Link(0, (1.0, 0.0), 1.0, *bob)], [], seen, gravity=9.81)


def _four_bars(loops: int) -> Planar:
    """Upright, coupler, upright, …; each coupler hangs on the upright to its left and meets the one to its right."""
    bar = (1.0, (0.5, 0.0), 1 / 12)
    links: list[Link] = []
    for i in range(loops + 1):
        links.append(Link(GROUND, (float(i), 0.0), *bar, -np.pi / 2, 3.0))
        links += [Link(2 * i, (1.0, 0.0), *bar, np.pi / 2, -3.0)] if i < loops else []
    end = (1.0, 0.0)

    def seen(angles: Any) -> np.ndarray:
        uprights = np.asarray(angles)[::2]
        return np.stack([np.arange(loops + 1) + np.cos(uprights), np.sin(uprights)], axis=1).ravel()

    return Planar(links, [Loop(2 * i + 1, end, 2 * i + 2, end) for i in range(loops)], seen, gravity=9.81)


def _andrews() -> Planar:
    from dalembert.gallery.ivp_test_set import ANDREWS_START

    n = ANDREWS_NUMBERS
    beta, theta, gamma, phi, delta, omega, epsilon = map(float, ANDREWS_START)
    e, f, a, b = n["e"] - n["ea"], n["zf"] - n["fa"], (n["xa"], n["ya"]), (n["xb"], n["yb"])
    links = [
        Link(GROUND, (0.0, 0.0), n["m1"], (n["ra"], 0.0), n["i1"], beta, 0.0),
        Link(0, (n["rr"], 0.0), n["m2"], (-n["da"], 0.0), n["i2"], theta, 0.0),
        Link(GROUND, b, n["m3"], (n["sa"], n["sb"]), n["i3"], gamma, 0.0),
        Link(GROUND, a, n["m5"], (n["ta"], n["tb"]), n["i5"], delta, 0.0),
        Link(3, (n["zt"], 0.0), n["m4"], (0.0, -e), n["i4"], phi, 0.0),
        Link(GROUND, a, n["m7"], (n["ua"], n["ub"]), n["i7"], epsilon, 0.0),
        Link(5, (0.0, -n["u"]), n["m6"], (f, 0.0), n["i6"], omega, 0.0),
    ]
    meet = (-n["d"], 0.0)
    loops = [
        Loop(1, meet, 2, (0.0, -n["ss"])),
        Loop(1, meet, 4, (0.0, -n["e"])),
        Loop(1, meet, 6, (n["zf"], 0.0)),
    ]
    spring = Spring(2, (n["sd"], -n["sc"]), (n["xc"], n["yc"]), n["c0"], n["l0"])
    order = [0, 1, 2, 4, 3, 6, 5]
    return Planar(links, loops, lambda angles: np.asarray(angles)[order], spring=spring, torque=n["mom"])
