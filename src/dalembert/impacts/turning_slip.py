# SPDX-License-Identifier: BSD-3-Clause
"""Impulses of one contact in space whose slip turns during the impact: the equations of Darboux and Keller.

While the normal impulse P grows, friction has the impulse dF = −μ s dP against the unit vector s of the slip u, so that
du/dP = a − μ B s. In polar form, with dP = |u| dσ, the direction has an equation of its own, dθ/dσ = h(θ), and
d ln|u|/dσ = g(θ). Both are smooth where the slip vanishes, which happens at σ → ∞. Where the direction has become
constant, and after the slip has vanished, all velocities are linear in P.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import atan2, cos, exp, hypot, inf, log, sin
from typing import Any, Literal, NamedTuple

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.errors import ConstraintError
from dalembert.impacts.impulse_shares import ImpulseContact
from dalembert.impacts.impulses import Impulses, endless_impact
from dalembert.numerics.tolerances import TINY

TOLERANCE = 3e-14
"""Relative tolerance of the integration."""

CONSTANT = 1e-15
"""Rate of the direction, relative to its terms, or angle to a constant direction, that is rounding."""

NEAR = 0.1
"""Angle to a constant direction below which the direction is followed relative to it."""

LEAST_ANGLE = 1e-30
"""Angle to a constant direction below which its relative accuracy does not matter: the directions are equal."""

VANISHED = 1e-17
"""Slip, relative to the velocities before the impact, that counts as zero."""

FASTEST = 1e15
"""Slip, relative to the velocities before the impact, above which the impact does not end."""

SINGULAR = 1e-13
"""Mobility of the slip in one direction, relative to that in another, that is rounding."""


class _ImpactState(NamedTuple):
    """The impulses P and F (2,) so far, and the slip: its angle, None if it is zero, and its size."""

    P: float
    F: Floats
    angle: float | None
    speed: float


class _Target(NamedTuple):
    """The end of a part of the impact: a velocity of the gap, or a normal impulse."""

    kind: Literal["velocity", "impulse"]
    value: float


def turning_impulses(contact: ImpulseContact, slip: Floats, W: Floats) -> Impulses:
    """Return the normal impulse (1,) and the tangential ones (2,) of a contact with a slip (2,).

    W (3, 3) has the changes of the velocities, of the gap and then of the slip, per unit of each impulse.

    Raises
    ------
    ConstraintError    if friction presses the bodies together faster than they rebound
    """
    # a contact that is held like an equation may pull: its normal impulse then grows to the other side
    side = -1.0 if contact.two_sided and contact.approach > 0 else 1.0
    approach = side * contact.approach
    if approach >= 0 or W[0, 0] <= 0:
        return Impulses(np.zeros(1), np.zeros(2))
    # one unit for both tangents: the coefficient of friction is the same in all directions
    normal, tangential = float(np.sqrt(W[0, 0])), float(np.sqrt(np.trace(W[1:, 1:]) / 2)) or 1.0
    scale = max(-approach / normal, float(np.hypot(*slip)) / tangential)
    problem = _Problem(
        name=contact.name,
        approach=approach / normal / scale,
        slip=slip / tangential / scale,
        driven=side * W[1:, 0] / normal / tangential,
        own=W[1:, 1:] / tangential / tangential,
        friction=abs(contact.friction) * tangential / normal,
        restitution=0.0 if contact.two_sided else contact.restitution,
        law=contact.law,
    )
    P, F = problem.solve()
    return Impulses(np.array([side * P]) * (scale / normal), F * (scale / tangential))


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Return where a function that grows from a negative value is zero, at most the upper bound."""
    from scipy import optimize

    if function(high) <= 0:  # it would be zero there without rounding
        return high
    brentq: Any = optimize.brentq
    return float(brentq(function, low, high, xtol=TINY, rtol=4 * np.finfo(float).eps))


@dataclass(frozen=True)
class _Problem:
    """An impact in units in which the mobilities of the contact and the larger velocity are one.

    driven    (2,) a, the change of the slip per unit of the normal impulse
    own       (2, 2) B, its change per unit of the tangential impulses
    """

    name: str
    approach: float
    slip: Floats
    driven: Floats
    own: Floats
    friction: float
    restitution: float
    law: str

    def solve(self) -> tuple[float, Floats]:
        """Return the impulses P and F (2,)."""
        speed = hypot(*self.slip)
        angle = atan2(self.slip[1], self.slip[0]) if speed > VANISHED else None
        state = _ImpactState(0.0, np.zeros(2), angle, speed if angle is not None else 0.0)
        if self.law != "poisson":
            state = self._reach(state, _Target("velocity", -self.restitution * self.approach))
            return state.P, state.F
        while True:
            # the end of compression, which Poisson's law refers to
            state = self._reach(state, _Target("velocity", 0.0))
            if self.restitution == 0:
                return state.P, state.F
            state = self._reach(state, _Target("impulse", (1 + self.restitution) * state.P))
            # friction may have pressed the bodies together again
            if self._approach(state.P, state.F) >= 0:
                return state.P, state.F

    def _approach(self, P: float, F: Floats) -> float:
        return float(self.approach + P + self.driven @ F)

    def _distance(self, P: float, F: Floats, target: _Target) -> float:
        """Return how far the impact is beyond its target, negative before it."""
        return (P if target.kind == "impulse" else self._approach(P, F)) - target.value

    def _speed(self, P: float, F: Floats, target: _Target) -> float:
        """Return the rate of the distance from a target for rates of the impulses."""
        return P if target.kind == "impulse" else float(P + self.driven @ F)

    def _reach(self, state: _ImpactState, target: _Target) -> _ImpactState:
        """Return the state at the target."""
        if self._distance(state.P, state.F, target) >= 0:
            return state
        state, ended = self._turn(state, target)
        return state if ended else self._follow(state, target)

    def _rates(self, angle: float) -> tuple[float, float, float]:
        """Return g, h, and the derivative of h, at a direction of the slip."""
        s, t = np.array([cos(angle), sin(angle)]), np.array([-sin(angle), cos(angle)])
        along, aside = self.driven @ s, self.driven @ t
        ss, st, tt = s @ self.own @ s, t @ self.own @ s, t @ self.own @ t
        mu = self.friction
        return float(along - mu * ss), float(aside - mu * st), float(-along - mu * (tt - ss))

    # slip that turns

    def _turn(self, state: _ImpactState, target: _Target) -> tuple[_ImpactState, bool]:
        """Return the state at the target and True, or that in which the direction becomes constant and False."""
        size = hypot(*self.driven) + self.friction * float(np.linalg.norm(self.own))
        while state.angle is not None:
            limit = self._limit(state.angle)
            if limit is not None and abs(state.angle - limit) <= CONSTANT:
                return state._replace(angle=limit), False
            if abs(self._rates(state.angle)[1]) <= CONSTANT * size:
                return state, False
            state, ended = self._integrate(state, target, limit)
            if ended:
                return state, True
        return state, False

    def _limit(self, angle: float) -> float | None:
        """Return the constant direction that a direction approaches, None if it is not near."""
        limit = angle
        for _ in range(60):
            _, h, slope = self._rates(limit)
            if slope >= 0 or abs(h) > -slope * NEAR:
                return None
            limit -= h / slope
            if abs(limit - angle) > NEAR:
                return None
            if abs(h) <= -slope * CONSTANT / 4:
                break
        return limit

    def _integrate(self, state: _ImpactState, target: _Target, limit: float | None) -> tuple[_ImpactState, bool]:
        """Follow the slip to the target, until it vanishes, or until its direction is near or at a limit."""
        from scipy import integrate

        assert state.angle is not None
        centre = state.angle if limit is None else limit
        right = self._turning(centre, self._rates(centre)[1] if limit is None else 0.0)
        # an angle to a limit decays, and is followed to a relative accuracy
        impulse = TOLERANCE / 10 * abs(self.approach)
        allowed = np.array([TOLERANCE if limit is None else LEAST_ANGLE, TOLERANCE, *(impulse,) * 3])

        def solver(sigma: float, y: Floats, end: float) -> Any:
            method: Any = integrate.DOP853
            return method(right, sigma, y, end, rtol=TOLERANCE, atol=allowed)

        def beyond(y: Floats) -> float:
            return self._distance(float(y[2]), y[3:], target)

        def state_of(y: Floats) -> _ImpactState:
            return _ImpactState(float(y[2]), y[3:].copy(), float(centre + y[0]), exp(y[1]))

        steps = solver(0.0, np.array([state.angle - centre, log(state.speed), state.P, *state.F]), inf)
        while True:
            sigma, y = steps.t, steps.y.copy()
            steps.step()
            if beyond(steps.y) >= 0:
                dense = steps.dense_output()
                end = _root(lambda at, dense=dense: beyond(dense(at)), sigma, steps.t)
                # again to the end, since interpolation is less accurate than steps
                last = solver(sigma, y, end)
                while last.status == "running":
                    last.step()
                rate = right(end, last.y)
                speed = self._speed(float(rate[2]), rate[3:], target)
                return state_of(last.y - rate * (beyond(last.y) / speed if speed > 0 else 0.0)), True
            x, size = float(steps.y[0]), float(steps.y[1])
            if steps.status == "failed" or size > log(FASTEST):
                raise ConstraintError(endless_impact(self.name))
            if size <= log(VANISHED):
                return self._stopped(float(steps.y[2]), steps.y[3:]), False
            if abs(x) <= CONSTANT if limit is not None else self._limit(centre + x) is not None:
                return state_of(steps.y), False

    def _turning(self, centre: float, rate: float) -> Any:
        """Return the right side for (θ − centre, ln|u|, P, F); ``rate`` is h at the centre."""
        (a, b), mu, B = self.driven.tolist(), self.friction, self.own.tolist()
        half, mixed = (B[1][1] - B[0][0]) / 2, B[0][1]

        def right(_: float, y: Floats) -> Floats:
            x = float(y[0])
            speed, c, s, middle = exp(min(float(y[1]), 100.0)), cos(centre + x), sin(centre + x), centre + x / 2
            # the difference of h to its value at the centre, without cancellation
            change = -2 * sin(x / 2) * (a * cos(middle) + b * sin(middle))
            change -= 2 * mu * sin(x) * (half * cos(2 * middle) - mixed * sin(2 * middle))
            g = a * c + b * s - mu * (B[0][0] * c * c + 2 * mixed * c * s + B[1][1] * s * s)
            return np.array([rate + change, g, speed, -mu * speed * c, -mu * speed * s])

        return right

    def _stopped(self, P: float, F: Floats) -> _ImpactState:
        """Return the state without slip, which the tangential impulses are adjusted to by their rounding."""
        slip = self.slip + self.driven * P + self.own @ F
        return _ImpactState(P, F - np.linalg.pinv(self.own, SINGULAR, hermitian=True) @ slip, None, 0.0)

    # slip in a constant direction, and none

    def _follow(self, state: _ImpactState, target: _Target) -> _ImpactState:
        """Return the state at the target, which is reached with slip in a constant direction, or without slip."""
        for _ in range(2):  # slip, then sticking or slip in another direction
            P, F, angle, speed = state
            friction, angle, growth = self._leaving() if angle is None else self._sliding(angle)
            rate = self._speed(1.0, friction, target)
            ahead = max(-self._distance(P, F, target), 0.0)
            end = ahead / rate if rate > 0 else inf
            rest = -speed / growth if growth < 0 else inf
            length = min(end, rest)
            if not np.isfinite(length):
                break
            P, F = P + length, F + length * friction
            if length == end:
                return _ImpactState(P, F, angle, speed + length * growth)
            state = self._stopped(P, F)
        raise ConstraintError(endless_impact(self.name))

    def _sliding(self, angle: float) -> tuple[Floats, float | None, float]:
        """Return the tangential per normal impulse, the direction of the slip, and the growth of its size."""
        return -self.friction * np.array([cos(angle), sin(angle)]), angle, self._rates(angle)[0]

    def _leaving(self) -> tuple[Floats, float | None, float]:
        """Return the same for a contact without slip, which sticks, or slips on in the only possible direction s.

        Its slip grows at the rate λ > 0 with a − μ B s = λ s. So |(μ B + λ)⁻¹ a| = 1, which decreases with λ.
        """
        sizes, axes = np.linalg.eigh(self.own)
        sizes = np.where(sizes > SINGULAR * sizes[-1], sizes, 0.0)
        part = axes.T @ self.driven
        part = np.where((sizes > 0) | (np.abs(part) > SINGULAR), part, 0.0)

        def ratio(sizes: Floats) -> Floats:
            with np.errstate(divide="ignore"):
                return np.divide(part, sizes, out=np.zeros(2), where=part != 0)

        holding = ratio(sizes)
        if hypot(*holding) <= self.friction:
            return -axes @ holding, None, 0.0

        def excess(growth: float) -> float:
            return 1 / hypot(*ratio(self.friction * sizes + growth)) - 1

        most = hypot(*part)
        growth = _root(excess, 0.0, most)
        s = axes @ ratio(self.friction * sizes + growth)
        return self._sliding(atan2(s[1], s[0]))
