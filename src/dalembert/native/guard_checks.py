# SPDX-License-Identifier: BSD-3-Clause
"""Checks of guard functions inside the steps of ensemble members, and the location of their first zero."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from dalembert.native.assembly import load, store
from dalembert.native.lanes import spread
from dalembert.native.member_lanes import MemberLanes
from dalembert.native.writer import Writer
from dalembert.numerics.tolerances import TINY

CHECKS_PER_STEP = 4
"""Least number of times within a step at which transitions are checked; there may be several in one step."""

MAX_CHECKS_PER_STEP = 2**15

BEND_LIMIT, BEND_LIMIT_NEAR_ZERO = 0.05, 1e-4
"""Second difference of a guard between neighbouring checks, relative to its scale, above which a step is checked at
more times: anywhere, and where the guard comes near zero. During sticking the state does not change, so the step size
does not resolve the load."""

TIME_RESOLUTION = 4e-16
"""Length, relative to time, at which the bracket of a zero is no longer divided: two units in the last place."""

INITIAL_GUARD_RATIO = 1e-8
"""Value of a guard at the beginning of a bracket, relative to that at its end, below which the bracket is halved."""

MAX_INTERPOLATIONS = 30
"""Number of trials by interpolation, after which the bracket is halved each time."""


class GuardChecks:
    """The guards of members at the last checks of a step, and the bracket of a zero.

    older, newer, now, end    values of the guards at the last check but one, at the last one, at the state that has
                              just been computed, and at the end of the step
    """

    def __init__(
        self, w: Writer, members: MemberLanes, at_zero: Sequence[bool], scales: Sequence[float], interval: Any
    ):
        self.w, self.members, self.count = w, members, len(at_zero)
        self.at_zero, self.scales, self.interval = at_zero, scales, spread(w.b, interval)
        self.older, self.newer, self.now, self.end, self.peaks = (w.array(self.count) for _ in range(5))
        zero = w.number(0.0)
        # checks in the step, the number of the last one, and whether there is one before it in the same step
        self.checks, self.place, self.known = (members.variable(zero) for _ in range(3))
        self.low, self.high, self.at_low, self.at_high, self.side = (members.variable(zero) for _ in range(5))
        self.trials, self.resolution = members.variable(zero), members.variable(zero)

    def start(self) -> None:
        """Begin a phase with the guards at its start in ``newer``."""
        w = self.w
        for k, scale in enumerate(self.scales):
            own = w.number(scale) if scale else self._larger(w.number(TINY), self._size(self.newer, k))
            store(w.b, own, self.peaks, k)

    def _size(self, values: Any, k: int) -> Any:
        return self.w.intrinsic("fabs", load(self.w.b, values, k))

    def _larger(self, a: Any, b: Any) -> Any:
        return self.w.intrinsic("maxnum", a, b)

    def undefined(self) -> Any:
        """Return whether a guard is not a number at the state that has just been computed."""
        b = self.w.b
        values = [load(b, self.now, k) for k in range(self.count)]
        return reduce(b.or_, [b.fcmp_unordered("!=", x, x) for x in values], self.w.number(False))

    def begin_step(self, accepted: Any, length: Any) -> None:
        """Begin the checks of a step; its end has just been computed."""
        w, m = self.w, self.members
        m.copy(self.now, self.end, self.count, accepted)
        # long steps have more checks, since guards may vary on the scale of the load
        needed = w.intrinsic("ceil", w.b.fdiv(length, self.interval))
        needed = w.intrinsic("minnum", self._larger(needed, w.number(CHECKS_PER_STEP)), w.number(MAX_CHECKS_PER_STEP))
        m.assign(self.checks, needed, accepted)
        for variable in (self.place, self.known):
            m.assign(variable, w.number(0.0), accepted)

    def last(self) -> Any:
        """Return the fraction of the step at the last check."""
        return self.w.b.fdiv(self.members.read(self.place), self.members.read(self.checks))

    def following(self) -> Any:
        """Return the fraction of the step at the next check."""
        place = self.w.b.fadd(self.members.read(self.place), self.w.number(1.0))
        return self.w.b.fdiv(place, self.members.read(self.checks))

    def only_end_left(self) -> Any:
        """Return whether the next check is the one at the end of the step."""
        place = self.w.b.fadd(self.members.read(self.place), self.w.number(1.0))
        return self.w.b.fcmp_ordered("==", place, self.members.read(self.checks))

    def complete(self) -> Any:
        """Return whether all checks of the step are done."""
        return self.w.b.fcmp_ordered("==", self.members.read(self.place), self.members.read(self.checks))

    def examine(self, chosen: Any, values: Any) -> Any:
        """Examine the guards at the next check, and return for which of the chosen members the phase has ended.

        If the guards bend too much since the check before the last one, the checks are taken again from there, at half
        the distance.
        """
        w, m, b = self.w, self.members, self.w.b
        for k, scale in enumerate(self.scales):
            if not scale:
                peak = load(b, self.peaks, k)
                store(b, b.select(chosen, self._larger(peak, self._size(values, k)), peak), self.peaks, k)
        known = b.fcmp_ordered(">", m.read(self.known), w.number(0.5))
        room = b.fcmp_ordered("<", m.read(self.checks), w.number(MAX_CHECKS_PER_STEP))
        # three values are needed to see a curvature, all of one step
        coarse = b.and_(b.and_(chosen, self._bends(values)), b.and_(known, room))
        fine = b.and_(chosen, b.not_(coarse))
        ended = b.and_(fine, self._has_ended(values))
        passed = b.and_(fine, b.not_(ended))
        place, two = m.read(self.place), w.number(2.0)
        # the number of the check before the last one, counted in halves
        m.assign(self.place, b.fmul(two, b.fsub(place, w.number(1.0))), coarse)
        m.assign(self.place, b.fadd(place, w.number(1.0)), passed)
        m.assign(self.checks, b.fmul(two, m.read(self.checks)), coarse)
        m.assign(self.known, w.number(0.0), coarse)
        m.assign(self.known, w.number(1.0), passed)
        for k in range(self.count):
            older, newer, own = (load(b, x, k) for x in (self.older, self.newer, values))
            store(b, b.select(passed, newer, older), self.older, k)
            store(b, b.select(passed, own, b.select(coarse, older, newer)), self.newer, k)
        return ended

    def _bends(self, values: Any) -> Any:
        """Return whether a guard bends so much between the last checks that a transition may be missed."""
        w, b = self.w, self.w.b
        found = w.number(False)
        for k in range(self.count):
            older, newer, now = (
                b.fdiv(load(b, x, k), load(b, self.peaks, k)) for x in (self.older, self.newer, values)
            )
            mean = b.fmul(w.number(0.5), b.fadd(older, now))
            bend = w.intrinsic("fabs", b.fsub(newer, mean))
            near = b.fcmp_ordered("<=", newer, b.fmul(w.number(2.0), bend))
            near = b.and_(near, b.fcmp_ordered(">", newer, w.number(0.0)))
            near = b.and_(near, b.fcmp_ordered(">", bend, w.number(BEND_LIMIT_NEAR_ZERO)))
            found = b.or_(found, b.or_(near, b.fcmp_ordered(">", bend, w.number(BEND_LIMIT))))
        return found

    def _has_ended(self, values: Any) -> Any:
        b, found = self.w.b, self.w.number(False)
        for k, at_zero in enumerate(self.at_zero):
            relation = "<=" if at_zero else "<"
            found = b.or_(found, b.fcmp_ordered(relation, load(b, values, k), self.w.number(0.0)))
        return found

    def _least(self, values: Any) -> Any:
        """Return the least guard, relative to the scale of each."""
        w, b = self.w, self.w.b
        shares = [b.fdiv(load(b, values, k), load(b, self.peaks, k)) for k in range(self.count)]
        # without guards, as after the release of the only constraint, nothing ends a phase
        return reduce(lambda x, y: w.intrinsic("minnum", x, y), shares or [w.number(1.0)])

    def begin_locating(self, ended: Any, low: Any, high: Any, values: Any, then: Any, begin: Any) -> tuple[Any, Any]:
        """Begin to locate a zero between the last check, at ``low``, and a check at ``high``; see ``narrow``."""
        w, m, b = self.w, self.members, self.w.b
        m.assign(self.low, low, ended)
        m.assign(self.high, high, ended)
        m.assign(self.at_low, self._least(self.newer), ended)
        m.assign(self.at_high, self._least(values), ended)
        sizes = w.intrinsic("fabs", then), w.intrinsic("fabs", high), b.fsub(high, begin)
        resolution = b.fmul(w.number(TIME_RESOLUTION), reduce(self._larger, sizes))
        m.assign(self.resolution, resolution, ended)
        for variable in (self.trials, self.side):
            m.assign(variable, w.number(0.0), ended)
        return self._next_trial()

    def narrow(self, locating: Any, time: Any) -> tuple[Any, tuple[Any, Any]]:
        """Take a trial into account; return where it is after the zero, where the zero is located, and the next trial.

        The zero is interpolated by the Illinois variant of regula falsi: an end that stays gets half of its weight.
        """
        w, m, b = self.w, self.members, self.w.b
        has_ended, value = self._has_ended(self.now), self._least(self.now)
        after, before = b.and_(locating, has_ended), b.and_(locating, b.not_(has_ended))
        side = m.read(self.side)
        stays_low = b.and_(after, b.fcmp_ordered(">", side, w.number(0.5)))
        stays_high = b.and_(before, b.fcmp_ordered("<", side, w.number(-0.5)))
        half = w.number(0.5)
        m.assign(self.at_low, b.fmul(half, m.read(self.at_low)), stays_low)
        m.assign(self.at_high, b.fmul(half, m.read(self.at_high)), stays_high)
        for chosen, place, own, sign in (
            (after, self.high, self.at_high, 1.0),
            (before, self.low, self.at_low, -1.0),
        ):
            m.assign(place, time, chosen)
            m.assign(own, value, chosen)
            m.assign(self.side, w.number(sign), chosen)
        m.assign(self.trials, b.fadd(m.read(self.trials), w.number(1.0)), locating)
        return after, self._next_trial()

    def _next_trial(self) -> tuple[Any, Any]:
        """Return whether the bracket is as narrow as rounding allows, and the time to try next."""
        w, m, b = self.w, self.members, self.w.b
        low, high, at_low, at_high = map(m.read, (self.low, self.high, self.at_low, self.at_high))
        width, half = b.fsub(high, low), b.fmul(w.number(0.5), m.read(self.resolution))
        middle = b.fadd(low, b.fmul(w.number(0.5), width))
        between = b.fadd(low, b.fmul(width, b.fdiv(at_low, b.fsub(at_low, at_high))))
        # at least half of the resolution away from both ends, so that the bracket closes from both sides
        between = w.intrinsic("minnum", self._larger(between, b.fadd(low, half)), b.fsub(high, half))
        usable = b.and_(b.fcmp_ordered(">", between, low), b.fcmp_ordered("<", between, high))
        # a guard that begins at zero, as a gap after its impact, tells nothing about the zero of another: a first trial
        # that is interpolated from it would be so close to the beginning that its sign is rounding
        least = b.fmul(w.number(-INITIAL_GUARD_RATIO), at_high)
        usable = b.and_(usable, b.fcmp_ordered(">", at_low, w.intrinsic("maxnum", least, w.number(0.0))))
        # after that many trials the guard is not smooth, and bisection is safer
        usable = b.and_(usable, b.fcmp_ordered("<=", m.read(self.trials), w.number(MAX_INTERPOLATIONS)))
        inside = b.and_(b.fcmp_ordered(">", middle, low), b.fcmp_ordered("<", middle, high))
        done = b.or_(b.fcmp_ordered("<=", width, m.read(self.resolution)), b.not_(inside))
        return done, b.select(usable, between, middle)
