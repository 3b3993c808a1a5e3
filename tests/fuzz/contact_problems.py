"""Random particles over floors, bobs on ropes, and wheels, as the library sees them; see ``contact_references``.

Quantities here are of the order of one; the library sees them in other units of length, time and mass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

import dalembert as da
from fuzz.oscillators import Units, random_units

STICKY = 1e-9
"""Relative distance from a limit within which a reference takes the other side: it is at the limit to rounding."""


@dataclass
class Pushed:
    """A point under forces, per axis: weight, spring, damper and a wave, −m g − k x − c v + f sin(ω t + φ)."""

    mass: float
    weight: np.ndarray
    stiffness: np.ndarray
    damping: float
    push: np.ndarray
    rate: float
    phase: np.ndarray

    def force(self, t: float, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        wave = self.push * np.sin(self.rate * t + self.phase)
        return -self.weight - self.stiffness * x - self.damping * v + wave

    def symbols(self, units: Units, q: tuple[Any, ...]) -> list[Any]:
        """The force in the units of the library, of coordinates with the dimension of a length."""
        length, time, mass = (sp.Float(unit) for unit in units)
        x = [c / length for c in q]
        v = [c.diff(da.t) * time / length for c in q]
        wave = [f * sp.sin(self.rate * da.t / time + p) for f, p in zip(self.push, self.phase, strict=True)]
        parts = zip(self.weight, self.stiffness, x, v, wave, strict=True)
        return [mass * length / time**2 * (-w - k * a - self.damping * b + f) for w, k, a, b, f in parts]


def _pushed(rng: np.random.Generator, weight: tuple[float, float]) -> Pushed:
    return Pushed(
        mass=float(10.0 ** rng.uniform(-0.5, 0.5)),
        weight=np.array([0.0, rng.uniform(*weight)]),
        stiffness=rng.uniform(0, 4, 2) * np.array([1, 0.3]),
        damping=float(rng.uniform(0, 0.4)),
        push=rng.normal(size=2) * rng.uniform(0.5, 5),
        rate=float(rng.uniform(1, 6)),
        phase=rng.uniform(0, 6, 2),
    )


@dataclass
class Ball:
    """A particle over a rough inclined floor, beside a smooth wall; it bounces, lands, slides, sticks and lifts off.

    ``pushed`` acts along the floor and across it.
    """

    units: Units
    pushed: Pushed
    friction: float
    restitution: float
    wall: float
    wall_restitution: float
    slope: float
    impact: Any

    def system(self) -> da.System:
        length, _, mass = (sp.Float(unit) for unit in self.units)
        x, y = q = da.coordinates("x y")
        c, s = sp.cos(self.slope), sp.sin(self.slope)
        along, across = c * x + s * y, c * y - s * x
        given = tuple(da.coordinates("a b"))
        force = self.pushed.symbols(self.units, given)
        state = {given[0]: along, given[1]: across}
        f, g = (part.subs(state).doit() for part in force)
        floor = da.Constraint(
            sp.Ge(across, 0),
            name="floor",
            restitution=self.restitution,
            impact=self.impact,
            nonideal=da.Coulomb(self.friction, velocity=along.diff(da.t)),
        )
        wall = da.Constraint(sp.Ge(along + length * self.wall, 0), name="wall", restitution=self.wall_restitution)
        M = mass * self.pushed.mass * sp.eye(2)
        return da.System(tuple(q), M, (c * f - s * g, s * f + c * g), (floor, wall))

    def given(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The state of the library for one of the reference."""
        return self.units.state(*(self._turned(part, self.slope) for part in np.split(y, 2)))

    def natural(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """The states of the reference for those of the library."""
        found = self.units.natural(q, qd)
        return np.concatenate([self._turned(part.T, -self.slope).T for part in np.split(found, 2, axis=1)], axis=1)

    @staticmethod
    def _turned(x: np.ndarray, angle: float) -> np.ndarray:
        c, s = np.cos(angle), np.sin(angle)
        return np.array([c * x[0] - s * x[1], s * x[0] + c * x[1]])


def random_ball(seed: int) -> tuple[Ball, np.ndarray]:
    """A ball and a start; a third of them land and stay on the floor until they are pulled off."""
    rng = np.random.default_rng((5, seed))
    ball = Ball(
        units=random_units(rng),
        pushed=_pushed(rng, (1, 6)),
        friction=float(rng.uniform(0.05, 0.8)),
        restitution=0.0 if rng.random() < 0.4 else float(rng.uniform(0.4, 1)),
        wall=float(rng.uniform(0.3, 2)),
        wall_restitution=float(rng.uniform(0.4, 1)),
        slope=float(rng.uniform(-1, 1)),
        impact=str(rng.choice(["newton", "poisson"])),
    )
    return ball, np.concatenate([[0, rng.uniform(0.1, 1)], rng.normal(size=2)])


@dataclass
class Bobs:
    """One or two bobs, each on a rope from its own point, joined by a spring if there are two."""

    units: Units
    pushed: list[Pushed]
    lengths: np.ndarray
    restitution: np.ndarray
    spring: float

    @property
    def n(self) -> int:
        return len(self.pushed)

    def forces(self, t: float, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The force (n, 2) on each bob without its rope."""
        found = np.array([own.force(t, *state) for own, state in zip(self.pushed, zip(x, v, strict=True), strict=True)])
        if self.n > 1:
            pull = self.spring * (x[1] - x[0])
            found += np.array([pull, -pull])
        return found

    def system(self) -> da.System:
        length, time, mass = (sp.Float(unit) for unit in self.units)
        bobs = [
            da.Particle(f"bob{k}", mass * own.mass, position=(0, -float(length * a)))
            for k, (own, a) in enumerate(zip(self.pushed, self.lengths, strict=True))
        ]
        ropes = [
            da.Rope(f"rope{k}", da.ground.at(0, 0), bob, length=float(length * a), restitution=float(e))
            for k, (bob, a, e) in enumerate(zip(bobs, self.lengths, self.restitution, strict=True))
        ]
        forces = [da.Force(b, own.symbols(self.units, b.coordinates)) for b, own in zip(bobs, self.pushed, strict=True)]
        if self.n > 1:
            first, second = bobs
            pull = [
                mass / time**2 * self.spring * (b - a)
                for a, b in zip(first.coordinates, second.coordinates, strict=True)
            ]
            forces += [da.Force(first, pull), da.Force(second, [-f for f in pull])]
        return da.Mechanism(bobs, ropes, forces).system

    def given(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.units.state(*np.split(y, 2))

    def natural(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return self.units.natural(q, qd)


def random_bobs(seed: int) -> tuple[Bobs, np.ndarray]:
    """Bobs and a start, half of them on a taut rope."""
    rng = np.random.default_rng((6, seed))
    n = int(rng.integers(1, 3))
    bobs = Bobs(
        units=random_units(rng),
        pushed=[_pushed(rng, (2, 8)) for _ in range(n)],
        lengths=rng.uniform(0.5, 1.5, n),
        restitution=np.where(rng.random(n) < 0.5, 0.0, rng.uniform(0.2, 1, n)),
        spring=float(rng.uniform(0, 3)),
    )
    angle, taut = rng.uniform(-2.5, 2.5, n), rng.random(n) < 0.5
    away = np.stack([np.sin(angle), -np.cos(angle)], axis=1)
    x = away * (bobs.lengths * np.where(taut, 1, rng.uniform(0.3, 0.9, n)))[:, None]
    v = rng.normal(size=(n, 2)) * 2
    v -= np.where(taut, (v * away).sum(axis=1), 0)[:, None] * away
    return bobs, np.concatenate([x.ravel(), v.ravel()])


@dataclass
class Wheel:
    """A wheel on a rough line, under a force on its centre and a torque, which rolls and slips.

    ``pushed`` acts along the line and across it, and into the line; its second axis has no spring and no damper.
    """

    units: Units
    pushed: Pushed
    inertia: float
    radius: float
    friction: float
    torque: tuple[float, float, float]
    leaves: bool

    def twist(self, t: float, spin: float) -> float:
        size, rate, damping = self.torque
        return float(size * np.sin(rate * t) - damping * spin)

    def system(self) -> da.System:
        length, time, mass = (sp.Float(unit) for unit in self.units)
        wheel = da.PlanarBody(
            "wheel",
            mass * self.pushed.mass,
            mass * length**2 * self.inertia,
            position=(0, float(length * self.radius)),
        )
        size, rate, damping = self.torque
        spin = wheel.coordinates[2].diff(da.t) * time
        twist = mass * (length / time) ** 2 * (size * sp.sin(rate * da.t / time) - damping * spin)
        rough, radius = da.Coulomb(self.friction), float(length * self.radius)
        if self.leaves:
            joint: Any = da.PlaneContact("line", da.ground, wheel, radius=radius, restitution=0, nonideal=rough)
        else:
            joint = da.RollingOnLine("line", da.ground, wheel, radius=radius, nonideal=rough)
        force = self.pushed.symbols(self.units, tuple(wheel.coordinates[:2]))
        return da.Mechanism(wheel, joint, [da.Force(wheel, tuple(force)), da.Torque(wheel, twist)]).system

    def given(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        (x, angle, v, spin), (length, time, _) = y, self.units
        return np.array([length * x, length * self.radius, angle]), np.array([length / time * v, 0, spin / time])

    def natural(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        length, time, _ = self.units
        return np.stack([q[:, 0] / length, q[:, 2], qd[:, 0] * time / length, qd[:, 2] * time], axis=1)


def random_wheel(seed: int) -> tuple[Wheel, np.ndarray]:
    """A wheel and a start; half of them roll at first."""
    rng = np.random.default_rng((7, seed))
    pushed = _pushed(rng, (5, 12))
    pushed.stiffness[1] = 0
    # it always presses: what lifts it is less than its weight
    pushed.push[1] = np.clip(pushed.push[1], -0.8 * pushed.weight[1], 0.8 * pushed.weight[1])
    wheel = Wheel(
        units=random_units(rng),
        pushed=pushed,
        inertia=float(rng.uniform(0.1, 1)),
        radius=float(rng.uniform(0.3, 1)),
        friction=float(rng.uniform(0.05, 0.6)),
        torque=(float(rng.normal() * 4), float(rng.uniform(1, 6)), float(rng.uniform(0, 0.3))),
        leaves=bool(rng.random() < 0.5),
    )
    v, spin = rng.normal(size=2) * 2
    spin = -v / wheel.radius if rng.random() < 0.5 else spin
    return wheel, np.array([0, 0, v, spin])
