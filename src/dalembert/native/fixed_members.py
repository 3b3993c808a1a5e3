# SPDX-License-Identifier: BSD-3-Clause
"""Fixed steps of ensemble members side by side."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from dalembert.native.assembly import load, store
from dalembert.native.lane_step import StepStart
from dalembert.native.lanes import DOUBLE, spread
from dalembert.native.member_writer import MemberWriter
from dalembert.native.stepper import FINISHED, HAND_OVER, MORE
from dalembert.native.writer import LONG, whole

WHOLE_STEPS_SLACK = 1e-12
"""The number of steps in a span is rounded up after it is reduced by this fraction: rounding of the quotient must not
add a step to a whole number of them."""


STEPS_AT_ONCE = 1024
"""Steps between two looks at whether all members must end."""


class FixedMemberSteps:
    """Writes fixed steps: each span between two outputs is divided equally, into steps of at most the length set."""

    def __init__(self, member: MemberWriter):
        self.member, self.w, self.step = member, member.w, member.step

    def write(self) -> None:
        w, m, b = self.w, self.member, self.w.b
        wanted, taken = m.members.scalar(m.settings, 0), m.members.variable(whole(0))
        all_members = w.number(True)
        m.put(m.state, spread(b, whole(0)), all_members)
        for i in w.each(b.sub(m.outputs, whole(1))):
            begin, end = m.members.scalar(m.times, i), m.members.scalar(m.times, b.add(i, whole(1)))
            span = b.fsub(end, begin)
            count = self._count(b.fdiv(span, wanted))
            room = b.sitofp(b.sub(m.room, m.members.read(taken)), DOUBLE)
            # compared as numbers: the conversion of a number too large for an integer is undefined
            m.members.end(spread(b, b.fcmp_unordered(">", count, room)), MORE)
            # no steps once all members have ended
            count = b.select(w.any(m.members.under_way), count, ir.Constant(DOUBLE, 0.0))
            h = b.fdiv(span, count)
            steps = b.fptosi(count, LONG)
            for k in w.each(b.sdiv(b.add(steps, whole(STEPS_AT_ONCE - 1)), whole(STEPS_AT_ONCE))):
                first = b.mul(k, whole(STEPS_AT_ONCE))
                left = b.sub(steps, first)
                some = b.select(b.icmp_signed("<", left, whole(STEPS_AT_ONCE)), left, whole(STEPS_AT_ONCE))
                for j in w.each(b.select(b.icmp_signed(">", m.room, whole(0)), some, whole(0))):
                    # not a running sum, whose rounding would grow with the number of steps
                    self._step(b.fadd(begin, b.fmul(b.sitofp(b.add(first, j), DOUBLE), h)), h)
            b.store(b.add(m.members.read(taken), b.fptosi(count, LONG)), taken)
            # the stages test every step but not its end, which here becomes an output
            m.end_unless(m.validity(m.state, spread(b, end)))
            m.put(m.state, spread(b, b.add(i, whole(1))), m.members.under_way)
        m.members.end(all_members, FINISHED)
        m.finish()

    def _count(self, quotient: Any) -> Any:
        """Return the number of equal steps in a span, as a double."""
        reduced = self.w.b.fmul(quotient, ir.Constant(DOUBLE, 1 - WHOLE_STEPS_SLACK))
        name = "llvm.ceil.f64"
        if name not in self.w.module.globals:
            ir.Function(self.w.module, ir.FunctionType(DOUBLE, [DOUBLE]), name)
        return self.w.b.call(self.w.module.globals[name], [reduced])

    def _step(self, time: Any, h: Any) -> None:
        """Take one step in all members."""
        w, m, b = self.w, self.member, self.w.b
        now, length = spread(b, time), spread(b, h)
        later = b.fadd(now, length)
        if m.parts.agree is not None:
            m.end_unless(m.agreement(m.state, now))
        start = StepStart(m.state, now, length, m.p)
        _, valid = self.step.write(start)
        self.step.project(later, m.p)
        good = b.and_(valid, self.step.moved_less_than_step(start))
        # simulated by itself, such a member has a note on these steps
        good = b.and_(good, self.step.resolves(start, later))
        m.members.end(b.not_(good), HAND_OVER)
        arrived = self.step.memory.arrived
        if m.sliding is not None:
            m.members.end(m.has_turned(m.state, now, arrived, later, controlled=False), HAND_OVER)
        for j in w.each(m.parts.size):
            store(b, load(b, arrived, j), m.state, j)
