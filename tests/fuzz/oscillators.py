"""Random blocks on belts that stick and slip, and random particles that hit one another, beside SciPy with events.

Both references are written without the library: every phase is integrated by DOP853 between events that are located by
SciPy, and the laws of dry friction and of impact decide by hand what follows. Quantities here are of the order of one;
the library sees them in other units of length, time and mass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import sympy as sp
from scipy.integrate import solve_ivp

import dalembert as da

SPAN = 3.0
TIMES = np.linspace(0, SPAN, 7)
MOST_EVENTS = 60
LONGEST_STEPS = (0.02, 0.002, 0.0002)
"""Steps of the references. Two events of one kind within a step are missed, as where a force exceeds the limit of
sticking for an instant; shorter steps are taken where samples within the steps show that."""
SAMPLES, PASSED_OVER = 8, -1e-9
"""Samples within a step, and the value of an event's function below which an event was missed."""

LEAST_SPEED = 1e-2
"""Impacts at less than this speed may be the beginning of infinitely many; a reference ends there."""


class Motion(NamedTuple):
    """States (k, 2n) at the output times, and the times of events."""

    states: np.ndarray
    events: np.ndarray


class Units(NamedTuple):
    """The size of the library's units of length, time and mass."""

    length: float
    time: float
    mass: float

    def state(self, u: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.length * u, self.length / self.time * v

    def natural(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return np.concatenate([q / self.length, qd * self.time / self.length], axis=1)


def random_units(rng: np.random.Generator) -> Units:
    return Units(*(10.0 ** rng.uniform(-6, 6, 3))) if rng.random() < 0.7 else Units(1.0, 1.0, 1.0)


@dataclass
class Oscillators:
    """Masses in a row that springs, dampers and oscillating forces move: m x″ = −K x − c x′ + f sin(ω t + φ)."""

    units: Units
    masses: np.ndarray
    stiffness: np.ndarray
    damping: float
    push: np.ndarray
    rate: float
    phase: np.ndarray

    @property
    def n(self) -> int:
        return len(self.masses)

    def force(self, t: float, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        return -self.stiffness @ x - self.damping * v + self.push * np.sin(self.rate * t + self.phase)

    def symbols(self) -> tuple[tuple[Any, ...], list[Any], list[Any], sp.Matrix, list[Any]]:
        """Coordinates, positions and velocities of the order of one, and M and Q in the units of the library."""
        length, time, mass = (sp.Float(unit) for unit in self.units)
        q = tuple(da.coordinates([f"q{i}" for i in range(self.n)]))
        x = [c / length for c in q]
        v = [c.diff(da.t) * time / length for c in q]
        wave = [f * sp.sin(self.rate * da.t / time + p) for f, p in zip(self.push, self.phase, strict=True)]
        Q = -sp.Matrix(self.stiffness) * sp.Matrix(x) - self.damping * sp.Matrix(v) + sp.Matrix(wave)
        unit = mass * length / time**2
        return q, x, v, sp.diag(*(mass * m for m in self.masses)), [unit * force for force in Q]


def _oscillators(rng: np.random.Generator, n: int) -> dict[str, Any]:
    K = np.diag(rng.uniform(0.5, 6, n))
    for i in range(n - 1):
        K[i : i + 2, i : i + 2] += rng.uniform(0, 3) * np.array([[1, -1], [-1, 1]])
    return {
        "units": random_units(rng),
        "masses": 10.0 ** rng.uniform(-0.5, 0.5, n),
        "stiffness": K,
        "damping": float(rng.uniform(0, 0.3)),
        "push": rng.normal(size=n) * rng.uniform(0.5, 4),
        "rate": float(rng.uniform(1, 6)),
        "phase": rng.uniform(0, 6, n),
    }


@dataclass
class Blocks(Oscillators):
    """Blocks that belts of constant speed carry along, each under its own normal force."""

    load: np.ndarray
    kinetic: float
    static: float
    belt: np.ndarray

    def system(self, *, one_sided: bool = False) -> da.System:
        """As the library sees them; floors that may be left are one-sided, and their belts stand still."""
        q, _, _, M, Q = self.symbols()
        n, length, time, mass = self.n, *(sp.Float(unit) for unit in self.units)
        heights = tuple(da.coordinates([f"h{i}" for i in range(n)]))
        floors = []
        for i, height in enumerate(heights):
            slip = q[i].diff(da.t) - length / time * self.belt[i]
            law = da.Coulomb(
                self.kinetic, velocity=slip, normal_force=da.multiplier(f"floor {i}"), mu_static=self.static
            )
            options: dict[str, Any] = {"restitution": 0, "impact": "moreau"} if one_sided else {}
            expression = sp.Ge(height, 0) if one_sided else height
            floors.append(da.Constraint(expression, name=f"floor {i}", nonideal=law, **options))
        loads = [-mass * length / time**2 * load for load in self.load]
        return da.System((*q, *heights), sp.diag(M, M), (*Q, *loads), floors)

    def start(self, x: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        zero = np.zeros(self.n)
        return self.units.state(np.append(x, zero), np.append(v, zero))


def random_blocks(seed: int) -> tuple[Blocks, np.ndarray, np.ndarray]:
    """Blocks and a start; some stick at first."""
    rng = np.random.default_rng((3, seed))
    n = int(rng.integers(1, 4))
    kinetic = float(rng.uniform(0.1, 0.4))
    blocks = Blocks(
        **_oscillators(rng, n),
        load=rng.uniform(3, 10, n),
        kinetic=kinetic,
        static=kinetic * float(rng.choice([1.0, rng.uniform(1, 2)])),
        belt=rng.normal(size=n) * (rng.random() < 0.6),
    )
    x, v = rng.normal(size=n), rng.normal(size=n)
    return blocks, x, np.where(rng.random(n) < 0.3, blocks.belt, v)


def blocks_reference(blocks: Blocks, x: np.ndarray, v: np.ndarray, rtol: float) -> Motion | None:
    """Motion of blocks: every one sticks (0) or slips (±1), and changes where its own law says."""
    n, limit = blocks.n, blocks.static * blocks.load
    slip = np.array([_direction(blocks, i, 0.0, x, v) for i in range(n)])

    def rates(t: float, y: np.ndarray) -> np.ndarray:
        x, v = y[:n], y[n:]
        push = blocks.force(t, x, v) - blocks.kinetic * blocks.load * slip
        return np.concatenate([v, np.where(slip == 0, 0, push / blocks.masses)])

    def changes(i: int) -> Callable[[float, np.ndarray], float]:
        def change(t: float, y: np.ndarray) -> float:
            if slip[i]:
                return float(slip[i] * (y[n + i] - blocks.belt[i]))
            return float(limit[i] - abs(blocks.force(t, y[:n], y[n:])[i]))

        return change

    def decide(t: float, y: np.ndarray, i: int) -> np.ndarray:
        if slip[i]:
            y[n + i] = blocks.belt[i]
        slip[i] = _direction(blocks, i, t, y[:n], y[n:])
        return y

    return piecewise(rates, [changes(i) for i in range(n)], decide, np.concatenate([x, v]), rtol)


def _direction(blocks: Blocks, i: int, t: float, x: np.ndarray, v: np.ndarray) -> float:
    relative = v[i] - blocks.belt[i]
    push = blocks.force(t, x, v)[i]
    if relative:
        return float(np.sign(relative))
    # at the end of sticking the force is at its limit to rounding
    return 0.0 if abs(push) < blocks.static * blocks.load[i] * (1 - 1e-9) else float(np.sign(push))


@dataclass
class Beads(Oscillators):
    """Particles on a line between two walls, which hit the walls and one another."""

    restitution: np.ndarray

    def gaps(self, x: Any) -> list[Any]:
        """Distances between neighbours, the walls being at −1 and at n."""
        return [b - a for a, b in zip([-1, *x], [*x, self.n], strict=True)]

    def system(self) -> da.System:
        q, x, _, M, Q = self.symbols()
        rows = [
            da.Constraint(sp.Ge(gap, 0), name=f"gap {i}", restitution=float(e))
            for i, (gap, e) in enumerate(zip(self.gaps(x), self.restitution, strict=True))
        ]
        return da.System(q, M, Q, rows)

    def start(self, x: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.units.state(x, v)


def random_beads(seed: int) -> tuple[Beads, np.ndarray, np.ndarray]:
    rng = np.random.default_rng((4, seed))
    n = int(rng.integers(1, 5))
    beads = Beads(**_oscillators(rng, n), restitution=rng.uniform(0.5, 1, n + 1))
    return beads, np.arange(n) + rng.uniform(-0.3, 0.3, n), 2 * rng.normal(size=n)


def beads_reference(beads: Beads, x: np.ndarray, v: np.ndarray, rtol: float) -> Motion | None:
    """Motion of particles, by the impacts of two masses, of which a wall's is infinite; None if an impact is missed."""
    n = beads.n
    inverse = np.concatenate([[0], 1 / beads.masses, [0]])

    def rates(t: float, y: np.ndarray) -> np.ndarray:
        return np.concatenate([y[n:], beads.force(t, y[:n], y[n:]) / beads.masses])

    def closing(i: int) -> Callable[[float, np.ndarray], float]:
        return lambda t, y: float(beads.gaps(y[:n])[i])

    def hit(t: float, y: np.ndarray, i: int) -> np.ndarray | None:
        rate = np.concatenate([[0], y[n:], [0]])
        speed = rate[i + 1] - rate[i]
        if speed > -LEAST_SPEED:
            return None
        impulse = -(1 + beads.restitution[i]) * speed / (inverse[i] + inverse[i + 1])
        rate[i] -= impulse * inverse[i]
        rate[i + 1] += impulse * inverse[i + 1]
        return np.concatenate([y[:n], rate[1:-1]])

    found = piecewise(rates, [closing(i) for i in range(n + 1)], hit, np.concatenate([x, v]), rtol)
    # SciPy sees events by signs at the ends of steps: of rebounds shorter than a step it may miss two
    missed = found is not None and min(np.min(gap) for gap in beads.gaps(found.states[:, :n].T)) < -LEAST_SPEED
    return None if missed else found


def piecewise(
    rates: Callable[[float, np.ndarray], np.ndarray],
    events: Sequence[Callable[[float, np.ndarray], float]],
    after: Callable[[float, np.ndarray, int], np.ndarray | None],
    y: np.ndarray,
    rtol: float,
) -> Motion | None:
    """Integrate between events, each a function that falls through zero; None where too many follow one another."""
    for event in events:
        event.terminal, event.direction = True, -1  # type: ignore[attr-defined]
    t, found, times = 0.0, [y], list[float]()
    for _ in range(MOST_EVENTS):
        piece = _until_event(rates, events, t, y, rtol)
        if piece is None:
            return None
        found += [piece.sol(s) for s in TIMES if t < s <= piece.t[-1]]
        if piece.status == 0:
            return Motion(np.array(found), np.array(times))
        t, y = float(piece.t[-1]), piece.y[:, -1].copy()
        times.append(t)
        for i in [i for i, at in enumerate(piece.t_events) if len(at)]:
            changed = after(t, y, i)
            if changed is None:
                return None
            y = changed
    return None


def _until_event(
    rates: Callable[[float, np.ndarray], np.ndarray],
    events: Sequence[Callable[[float, np.ndarray], float]],
    t: float,
    y: np.ndarray,
    rtol: float,
) -> Any:
    """Integrate to the next event, with steps so short that none is missed; None if all of them are too long."""
    for step in LONGEST_STEPS:
        options: dict[str, Any] = {"rtol": rtol, "atol": rtol / 100, "method": "DOP853", "max_step": step}
        piece = solve_ivp(rates, (t, SPAN), y, events=list(events), dense_output=True, **options)
        shares = np.linspace(0, 1, SAMPLES, endpoint=False)
        within = (piece.t[:-1, None] + np.diff(piece.t)[:, None] * shares).ravel()
        if all(
            event(s, state) > PASSED_OVER
            for s, state in zip(within, piece.sol(within).T, strict=True)
            for event in events
        ):
            return piece
    return None
