"""Particles over floors, bobs on ropes and wheels beside SciPy with events, with the laws of contact applied by hand.

Nothing of the library is used: every phase has equations of its own, which DOP853 integrates between events that SciPy
locates; the laws of unilateral contact, of impact and of dry friction decide by hand what follows.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fuzz.contact_problems import STICKY, Ball, Bobs, Wheel
from fuzz.oscillators import LEAST_SPEED, Motion, piecewise

JUST_OPENED = 1e-2
"""Time after the opening of a contact within which its gap is too small to tell its sign from rounding."""

ROUNDED_GAP = 1e-9


class Gap:
    """The event of a gap that closes, which just after its opening is positive but for rounding."""

    def __init__(self) -> None:
        self.opened = -np.inf

    def of(self, t: float, gap: float) -> float:
        return gap + (ROUNDED_GAP if t - self.opened < JUST_OPENED else 0.0)


def ball_reference(ball: Ball, start: np.ndarray, rtol: float) -> Motion | None:
    """Motion of a ball, by (along, across the floor): "free", or on the floor where it slips (±1) or sticks (0)."""
    m, mu, gap = ball.pushed.mass, ball.friction, Gap()
    phase: list[float | None] = [None]

    def force(t: float, y: np.ndarray) -> np.ndarray:
        return ball.pushed.force(t, y[:2], y[2:])

    def rates(t: float, y: np.ndarray) -> np.ndarray:
        f, (slip,) = force(t, y), phase
        if slip is None:
            return np.concatenate([y[2:], f / m])
        along = 0.0 if slip == 0 else f[0] + mu * f[1] * slip  # the normal force is −f[1]
        return np.array([y[2], 0, along / m, 0])

    def floor(t: float, y: np.ndarray) -> float:
        return gap.of(t, y[1]) if phase[0] is None else 1.0

    def lifts(t: float, y: np.ndarray) -> float:
        return 1.0 if phase[0] is None else -force(t, y)[1]

    def friction(t: float, y: np.ndarray) -> float:
        (slip,) = phase
        if slip is None:
            return 1.0
        return slip * y[2] if slip else -mu * force(t, y)[1] - abs(force(t, y)[0])

    def wall(t: float, y: np.ndarray) -> float:
        return y[0] + ball.wall

    def settled(t: float, y: np.ndarray) -> np.ndarray | None:
        """The state on the floor, in its phase there or above it."""
        f = force(t, y)
        y[1] = y[3] = 0.0
        if f[1] >= 0:
            phase[0], gap.opened = None, t
        elif abs(y[2]) > 0:
            phase[0] = float(np.sign(y[2]))
        else:
            phase[0] = 0.0 if abs(f[0]) < -mu * f[1] * (1 - STICKY) else float(np.sign(f[0]))
        return y

    def after(t: float, y: np.ndarray, event: int) -> np.ndarray | None:
        if event == 0:
            if y[3] > -LEAST_SPEED:
                return None
            impulse = -(1 + ball.restitution) * y[3]
            held = min(mu * impulse, abs(y[2]))
            y[1], y[2] = 0.0, y[2] - np.sign(y[2]) * held if held < abs(y[2]) else 0.0
            y[3] *= -ball.restitution
            return settled(t, y) if ball.restitution == 0 else y
        if event == 1:
            y[1] = y[3] = 0.0
            phase[0], gap.opened = None, t
            return y
        if event == 2:
            y[2] = 0.0 if phase[0] else y[2]
            return settled(t, y)
        if y[2] > -LEAST_SPEED:
            return None
        y[0], y[2] = -ball.wall, -ball.wall_restitution * y[2]
        return y if phase[0] is None else settled(t, y)

    return piecewise(rates, [floor, lifts, friction, wall], after, start, rtol)


def bobs_reference(bobs: Bobs, start: np.ndarray, rtol: float) -> Motion | None:
    """Motion of bobs, each on a taut or on a slack rope."""
    n, masses = bobs.n, np.array([own.mass for own in bobs.pushed])
    gaps = [Gap() for _ in range(n)]

    def parts(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x, v = np.split(y, 2)
        return x.reshape(n, 2), v.reshape(n, 2)

    def tensions(t: float, y: np.ndarray) -> np.ndarray:
        """The tension in each rope if it is taut: m (v² + x·f/m)/L."""
        x, v = parts(y)
        return ((v * v).sum(axis=1) * masses + (x * bobs.forces(t, x, v)).sum(axis=1)) / bobs.lengths

    x, _ = parts(start)
    at_end = np.abs(np.linalg.norm(x, axis=1) - bobs.lengths) < STICKY
    taut = at_end & (tensions(0.0, start) > 0)
    for k in np.flatnonzero(at_end & ~taut):
        gaps[k].opened = 0.0

    def rates(t: float, y: np.ndarray) -> np.ndarray:
        x, v = parts(y)
        pull = np.where(taut, tensions(t, y) / bobs.lengths, 0)[:, None] * x
        return np.concatenate([v.ravel(), ((bobs.forces(t, x, v) - pull) / masses[:, None]).ravel()])

    def tightens(k: int) -> Callable[[float, np.ndarray], float]:
        def gap(t: float, y: np.ndarray) -> float:
            own = (bobs.lengths[k] ** 2 - (parts(y)[0][k] ** 2).sum()) / (2 * bobs.lengths[k])
            return 1.0 if taut[k] else gaps[k].of(t, own)

        return gap

    def slackens(k: int) -> Callable[[float, np.ndarray], float]:
        return lambda t, y: float(tensions(t, y)[k]) if taut[k] else 1.0

    def after(t: float, y: np.ndarray, event: int) -> np.ndarray | None:
        (x, v), k = parts(y), event % n
        away = x[k] / np.linalg.norm(x[k])
        speed = float(v[k] @ away)
        x[k] = bobs.lengths[k] * away
        if event >= n:
            v[k] -= speed * away
            taut[k], gaps[k].opened = False, t
            return y
        if speed < LEAST_SPEED:
            return None
        e = bobs.restitution[k]
        v[k] -= (1 + e) * speed * away
        if e == 0:
            taut[k] = tensions(t, y)[k] > 0
            gaps[k].opened = gaps[k].opened if taut[k] else t
        return y

    events = [*(tightens(k) for k in range(n)), *(slackens(k) for k in range(n))]
    return piecewise(rates, events, after, start, rtol)


def wheel_reference(wheel: Wheel, start: np.ndarray, rtol: float) -> Motion | None:
    """Motion of a wheel by its way and its angle: it rolls (0), or slips to one side (±1)."""
    m, J, R, mu = wheel.pushed.mass, wheel.inertia, wheel.radius, wheel.friction

    def loads(t: float, y: np.ndarray) -> tuple[float, float, float]:
        """Force along the line, normal force, and torque."""
        along, across = wheel.pushed.force(t, np.array([y[0], R]), np.array([y[2], 0]))
        return float(along), float(-across), wheel.twist(t, y[3])

    def holding(t: float, y: np.ndarray) -> float:
        """The friction that rolling takes: f/m + F/m + R (T + R f)/J = 0."""
        along, _, twist = loads(t, y)
        return -(along / m + R * twist / J) / (1 / m + R**2 / J)

    def chosen(t: float, y: np.ndarray) -> float:
        velocity = y[2] + R * y[3]
        if abs(velocity) > 1e-12:
            return float(np.sign(velocity))
        needed = holding(t, y)
        return 0.0 if abs(needed) < mu * loads(t, y)[1] * (1 - STICKY) else float(-np.sign(needed))

    phase = [chosen(0.0, start)]

    def rates(t: float, y: np.ndarray) -> np.ndarray:
        along, normal, twist = loads(t, y)
        f = -mu * normal * phase[0] if phase[0] else holding(t, y)
        return np.array([y[2], y[3], (along + f) / m, (twist + R * f) / J])

    def change(t: float, y: np.ndarray) -> float:
        if phase[0]:
            return phase[0] * (y[2] + R * y[3])
        return mu * loads(t, y)[1] - abs(holding(t, y))

    def after(t: float, y: np.ndarray, event: int) -> np.ndarray | None:
        if loads(t, y)[1] <= 0:
            return None
        y[3] = -y[2] / R
        phase[0] = chosen(t, y)
        return y

    return piecewise(rates, [change], after, start, rtol)
