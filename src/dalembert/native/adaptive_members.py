# SPDX-License-Identifier: BSD-3-Clause
"""Adaptive steps of ensemble members side by side."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from dalembert.native.assembly import load, store
from dalembert.native.lane_step import StepStart
from dalembert.native.lanes import joined, lane, lanes_of, same, spread
from dalembert.native.member_writer import MemberWriter
from dalembert.native.step_control import ATOL, INACCURACY_FACTOR
from dalembert.native.step_length import StepLength
from dalembert.native.stepper import FINISHED, HAND_OVER, MORE
from dalembert.native.writer import LONG, whole


class AdaptiveMemberSteps:
    """Writes adaptive steps; each output is one full step from the last step before it, as in a single run."""

    def __init__(self, member: MemberWriter, first_step: ir.Function):
        self.member, self.w, self.step, size = member, member.w, member.step, member.parts.size
        w, m = member.w, member
        # an output lies between the last two states, so that the earlier one is needed as well
        self.before, self.origin = w.array(size), w.array(size)
        self.settings = self._own_settings()
        self.end = spread(w.b, m.members.scalar(m.times, w.b.sub(m.outputs, whole(1))))
        guess = w.b.call(first_step, [m.state, m.begin, self.end, m.p, self.settings, m.work])
        self.length = StepLength(w, m.parts, self.settings, guess)
        self.clock, self.then = m.members.variable(m.begin), m.members.variable(m.begin)
        self.taken = m.members.variable(same(w.module, whole(0)))
        for j in w.each(size):
            store(w.b, load(w.b, m.state, j), self.before, j)
        # only the last output is kept: the others need not be computed
        self.last = w.b.sub(m.outputs, whole(1))
        first = w.b.select(w.b.icmp_signed("==", m.every, whole(0)), self.last, whole(1))
        with w.b.if_then(w.b.icmp_signed("!=", m.every, whole(0))):
            m.put(m.state, spread(w.b, whole(0)), w.number(True))
        self.index = m.members.variable(spread(w.b, first))
        self.wanted = m.members.variable(spread(w.b, m.members.scalar(m.times, first)))

    def _own_settings(self) -> Any:
        """Return the settings of the members; the scales of their starts are in the working memory."""
        w, m, size = self.w, self.member, self.member.parts.size
        own, scaled = w.array(ATOL + size), m.members.scalar(m.settings, ATOL + size)
        for i in range(ATOL):
            store(w.b, spread(w.b, m.members.scalar(m.settings, i)), own, i)
        by_scale = w.b.fcmp_ordered(">", spread(w.b, scaled), w.number(0.5))
        for i in w.each(size):
            place = w.b.add(i, whole(ATOL))
            scale = w.b.select(by_scale, load(w.b, m.work, w.b.add(i, whole(2))), w.number(1.0))
            store(w.b, w.b.fmul(spread(w.b, m.members.scalar(m.settings, place)), scale), own, place)
        return own

    def write(self) -> None:
        """Write the loop over attempts of steps and outputs, and what follows it."""
        w, m = self.w, self.member
        with w.during(lambda: w.any(m.members.under_way)):
            self._attempt()
        m.finish()

    def _attempt(self) -> None:
        """Take one Runge–Kutta step in each member: the next step of its motion, or its next output."""
        w, m, b = self.w, self.member, self.w.b
        clock, wanted = m.members.read(self.clock), m.members.read(self.wanted)
        # outputs of one member are computed while others step: both are one Runge–Kutta step, so no lane waits
        passed = b.fcmp_ordered("<", wanted, clock)
        outputs, moving = b.and_(passed, m.members.under_way), b.not_(passed)
        start = b.select(outputs, m.members.read(self.then), clock)
        for j in w.each(m.parts.size):
            origin = b.select(outputs, load(b, self.before, j), load(b, m.state, j))
            store(b, origin, self.origin, j)
        size, is_last, short = self.length.next(clock, self.end)
        m.members.end(b.and_(moving, short), HAND_OVER)
        m.members.end(b.and_(moving, b.icmp_signed(">=", m.members.read(self.taken), spread(b, m.room))), MORE)
        h = b.select(outputs, b.fsub(wanted, start), size)
        begin = StepStart(self.origin, start, h, m.p)
        first_valid, valid = self.step.write(begin)
        m.members.end(b.not_(first_valid), HAND_OVER)
        if m.parts.agree is not None:
            m.end_unless(m.agreement(self.origin, start))
        # a shorter step may avoid a state at which the equations are not well conditioned
        error = b.select(valid, self.step.error(begin, self.settings), w.number(float("nan")))
        # exactly the end: the sum may miss it by rounding, and one more step would follow
        ahead = b.select(is_last, self.end, b.fadd(clock, size))
        reached = b.select(outputs, wanted, ahead)
        self.step.project(reached, m.p)
        near = self.step.moved_little(self.settings)
        # a part of a step that is resolved is resolved
        near = b.and_(near, b.or_(self.step.resolves(begin, reached), outputs))
        # ordered: an error of NaN rejects the step
        good = b.and_(b.fcmp_ordered("<", error, w.number(1.0)), near)
        moving = b.and_(moving, m.members.under_way)
        self.length.control(moving, b.and_(moving, good), error, near, size)
        self._advance(b.and_(moving, good), reached)
        with b.if_then(w.any(outputs), likely=False):
            self._output(outputs, b.and_(b.fcmp_ordered("<=", error, w.number(INACCURACY_FACTOR)), near))
        self._finish_members()

    def _advance(self, accepted: Any, reached: Any) -> None:
        """Move the members whose step is accepted to its end."""
        w, m, b = self.w, self.member, self.w.b
        clock, arrived = m.members.read(self.clock), self.step.memory.arrived
        if m.sliding is not None:
            turned = m.has_turned(self.origin, clock, arrived, reached, controlled=True)
            m.members.end(b.and_(accepted, turned), HAND_OVER)
        for j in w.each(m.parts.size):
            old = load(b, m.state, j)
            store(b, b.select(accepted, old, load(b, self.before, j)), self.before, j)
            store(b, b.select(accepted, load(b, arrived, j), old), m.state, j)
        b.store(b.select(accepted, clock, m.members.read(self.then)), self.then)
        b.store(b.select(accepted, reached, clock), self.clock)
        one = b.zext(accepted, lanes_of(w.module, LONG))
        b.store(b.add(m.members.read(self.taken), one), self.taken)

    def _output(self, outputs: Any, accurate: Any) -> None:
        """Store the states of the members that have reached an output, and find their next ones."""
        w, m, b = self.w, self.member, self.w.b
        arrived = self.step.memory.arrived
        m.members.end(b.and_(outputs, b.not_(accurate)), HAND_OVER)
        valid = m.validity(arrived, m.members.read(self.wanted))
        m.members.end(b.and_(outputs, b.fcmp_unordered("<", valid, w.number(0.5))), HAND_OVER)
        index = m.members.read(self.index)
        m.put(arrived, index, outputs)
        following = b.add(index, b.zext(outputs, lanes_of(w.module, LONG)))
        b.store(following, self.index)
        times = [m.members.scalar(m.times, lane(b, following, k)) for k in range(m.width)]
        b.store(joined(b, times), self.wanted)

    def _finish_members(self) -> None:
        """End the members that have reached the last time and have no output before it left."""
        w, m, b = self.w, self.member, self.w.b
        reached = b.fcmp_ordered(">=", m.members.read(self.clock), self.end)
        last = spread(b, self.last)
        done = b.and_(b.and_(reached, m.members.under_way), b.icmp_signed("==", m.members.read(self.index), last))
        with b.if_then(w.any(done), likely=False):
            valid = m.validity(m.state, self.end)
            m.members.end(b.and_(done, b.fcmp_unordered("<", valid, w.number(0.5))), HAND_OVER)
            m.put(m.state, last, done)
            m.members.end(done, FINISHED)
