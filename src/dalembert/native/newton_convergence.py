# SPDX-License-Identifier: BSD-3-Clause
"""The end of Newton's iteration for the stages of an implicit step: one rule, for numbers and in compiled code.

A change of the stages is followed by further ones whose sum is rate / (1 − rate) times its own size, if all become
smaller at one rate. The iteration ends where this is a small share of the tolerance. The rate is the slowest one of the
step: a single ratio of two changes may be far below it. The ratio of the first two is no rate at all. The first change
is the step itself, and its size says nothing of the error that it leaves: with a coordinate near zero, whose tolerance
is small, that ratio was 3e-6 for a pendulum, and those after it were 2e-4. An iteration that ended there left a hundred
times the error that it was allowed.

Changes that become no smaller are rounding, if the fastest rate before promised less than the share: then the iteration
has converged as well. The rounding of the force of a stiff spring exceeds that of the state by far.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.native.assembly import DOUBLE, load, number, store
from dalembert.native.step_control import RTOL, SAFETY_FACTOR
from dalembert.native.writer import LONG, Writer, whole

MOST_NEWTON_ITERATIONS = 10
"""Most Newton iterations of a step; one that needs more is rejected."""

WANTED_RATE, MOST_SLOWNESS = 0.5, 0.9
"""The rate of convergence at which the next step is planned, and the largest error that stands for a slower one."""

UNKNOWN_RATE = 0.5
"""The least rate that is assumed after two changes: the second one itself must then be within the share below."""

NEWTON_SHARE = 1e-4
"""The iteration ends at an error of this share of a tolerance. RADAU5 of Hairer and Wanner allows up to 0.03; for stiff
springs the errors that this leaves add up to a hundred tolerances."""

STATE_ROUNDING = 10 * float(np.finfo(float).eps)
"""The rounding of a state relative to its size, at which the iteration ends as well."""


class NewtonConvergence:
    """The iteration of one step, for a method whose error estimate grows with the power ``order`` of the step.

    slowness    the error estimate for which the next step is so long that its rate of convergence is ``WANTED_RATE``,
                which is in proportion to the step; below one, since this step need not be repeated
    """

    def __init__(self, rtol: float, order: int):
        self._rounding, self._order = STATE_ROUNDING / rtol, order
        self._count, self._before, self._slowest, self._fastest = 0, 0.0, 0.0, 1.0
        self.slowness = 0.0

    def after(self, change: float) -> bool | None:
        """Return whether the iteration has converged after a change, given in tolerances; None if it goes on."""
        if not np.isfinite(change):
            return False
        rate = change / self._before if self._before > 0 else 0.0
        # from the first ratio alone: later ones are of rounding once the iteration has converged
        if self._count == 1:
            self.slowness = min((rate * SAFETY_FACTOR / WANTED_RATE) ** self._order, MOST_SLOWNESS)
        enough = max(NEWTON_SHARE, self._rounding)
        assumed = max(rate, UNKNOWN_RATE if self._count == 1 else self._slowest)
        is_near = self._count > 0 and rate < 1 and assumed / (1 - assumed) * change < enough
        stagnates = rate >= 1 and self._fastest * change < enough
        # a change of rounding size ends the iteration, whatever its rate
        if is_near or stagnates or change <= self._rounding:
            return True
        if self._count > 0:
            self._slowest, self._fastest = max(rate, self._slowest), min(rate, self._fastest)
        self._count, self._before = self._count + 1, change
        return None if rate < 1 and self._count < MOST_NEWTON_ITERATIONS else False


class CompiledNewtonConvergence:
    """The same in compiled code; ``slowness`` is the address at which it is stored."""

    def __init__(self, w: Writer, settings: Any, order: int, slowness: Any):
        self._w, self._order, self._slowness = w, order, slowness
        self._rounding = w.b.fdiv(number(STATE_ROUNDING), load(w.b, settings, RTOL))
        self._enough = w.intrinsic("maxnum", number(NEWTON_SHARE), self._rounding)
        self._state = w.variable(DOUBLE, number(0.5))  # one after convergence, zero after failure
        self._count = w.variable(LONG, whole(0))
        self._before, self._slowest = (w.variable(DOUBLE, number(0.0)) for _ in range(2))
        self._fastest = w.variable(DOUBLE, number(1.0))
        store(w.b, number(0.0), slowness, 0)

    def goes_on(self) -> Any:
        return self._w.b.fcmp_ordered("==", self._w.get(self._state), number(0.5))

    def converged(self) -> Any:
        """Return one if the iteration converged, else zero."""
        return self._w.get(self._state)

    def after(self, change: Any) -> None:
        """Decide how the iteration continues after a change."""
        w, b, count, slowest = self._w, self._w.b, self._w.get(self._count, LONG), self._w.get(self._slowest)
        rate = b.fdiv(change, w.get(self._before))  # infinite at first
        is_first, is_second = (b.icmp_signed("==", count, whole(k)) for k in range(2))
        with b.if_then(is_second):
            self._limit_next_step(rate)
        assumed = w.intrinsic("maxnum", rate, b.select(is_second, number(UNKNOWN_RATE), slowest))
        left = b.fmul(b.fdiv(assumed, b.fsub(number(1.0), assumed)), change)
        converges = b.fcmp_ordered("<", rate, number(1.0))
        is_near = b.and_(converges, b.fcmp_ordered("<", left, self._enough))
        small = b.fcmp_ordered("<", b.fmul(w.get(self._fastest), change), self._enough)
        stagnates = b.and_(b.and_(b.not_(is_first), b.fcmp_ordered(">=", rate, number(1.0))), small)
        is_done = b.or_(b.or_(is_near, stagnates), b.fcmp_ordered("<=", change, self._rounding))
        goes_on = b.and_(b.or_(is_first, converges), b.fcmp_ordered("<", change, number(float("inf"))))
        following = b.add(count, whole(1))
        goes_on = b.and_(goes_on, b.icmp_signed("<", following, whole(MOST_NEWTON_ITERATIONS)))
        b.store(b.select(is_done, number(1.0), b.select(goes_on, number(0.5), number(0.0))), self._state)
        b.store(following, self._count)
        b.store(change, self._before)
        b.store(b.select(is_first, number(0.0), w.intrinsic("maxnum", rate, slowest)), self._slowest)
        b.store(w.intrinsic("minnum", rate, w.get(self._fastest)), self._fastest)

    def _limit_next_step(self, rate: Any) -> None:
        b, error = self._w.b, number((SAFETY_FACTOR / WANTED_RATE) ** self._order)
        for _ in range(self._order):
            error = b.fmul(error, rate)
        store(b, self._w.intrinsic("minnum", error, number(MOST_SLOWNESS)), self._slowness, 0)
