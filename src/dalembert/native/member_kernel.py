# SPDX-License-Identifier: BSD-3-Clause
"""The compiled integration of ensemble members through all times, for a processor or a GPU.

Some members are integrated side by side, one in each lane of the processor's vectors; on a GPU there is one member for
each thread. Every member takes steps of its own: a condition that differs between members selects values instead of
branching. Each attempt of a step and each output between two steps is one Runge–Kutta step, so that the same code
computes both, whichever a member needs. Members that have ended repeat their last state until all others have ended.

The numbers of a member are neighbours in memory. Neighbouring threads of a GPU thus read and write addresses that are
apart, but only at starts and outputs; the transposition of all results would take longer than the motions themselves.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from llvmlite import ir

from dalembert.native.assembly import POINTER, load, store, write_program
from dalembert.native.initial_step import write_first_step
from dalembert.native.integrator_parts import Parts, write_parts
from dalembert.native.lane_step import LaneStep, StepStart
from dalembert.native.lanes import DOUBLE, joined, lane, lanes_of, same, spread, width_of
from dalembert.native.step_control import ATOL, INACCURATE, LEAST_STEP, MOST_STEP, root_of_order
from dalembert.native.stepper import (
    CAUTION,
    FINISHED,
    HAND_OVER,
    LAST_STEP_SLACK,
    LEAST_RATIO,
    MORE,
    MOST_RATIO,
    MOST_RATIO_AT_REST,
)
from dalembert.native.tableau import Tableau
from dalembert.native.tape import Program
from dalembert.native.writer import LONG, Writer, whole

MEMBER = (POINTER, POINTER, LONG, LONG, POINTER, LONG, LONG, POINTER, POINTER, LONG, POINTER)
"""Arguments of ``member``: y, p, own, present, times, outputs, every, out, settings, room, endings.

There are ``present`` members side by side; further lanes repeat the last of them. Each has parameters of its own if
``own`` is one; if it is zero, all share the same ones. States at ``outputs`` times go to
``out``: all of them if ``every`` is one, only the last if it is zero. For adaptive steps ``settings`` are those of
``step_control.settings_of`` and one more number, which is one if absolute tolerances are multiplied by the scales of
the member's start; for fixed steps they are the length of the step. ``room`` is the largest number of steps.
"""

WHOLE_STEPS_SLACK = 1e-12
"""The number of steps in a span is rounded up after it is reduced by this fraction: rounding of the quotient must not
add a step to a whole number of them."""

UNDER_WAY = -1.0
"""The ending of a member that has not ended yet."""

EXACT_START = 4.0
"""Added to the ending of a member whose start misses the constraints by rounding only."""


class MemberPrograms(NamedTuple):
    """The programs that integrate a member with n coordinates and some parameters; see ``Parts``.

    start       its first output is one if a motion may start at a state, else zero; its second output is one if the
                constraints hold up to rounding; the scales (2n) of the state follow
    sliding     the sliding velocity of each contact that can stick, and its time derivative; None without such contacts
    contacts    the number of components of each of these velocities
    """

    n: int
    parameters: int
    accelerate: Program
    project: Program | None
    agree: Program | None
    start: Program
    sliding: Program | None = None
    contacts: tuple[int, ...] = ()


def write_member(module: ir.Module, programs: MemberPrograms, tableau: Tableau) -> ir.Function:
    """Write member(…) with the steps of a method, fixed or adaptive.

    It stores how each motion ended: FINISHED, MORE or HAND_OVER of ``stepper``, and whether its start was exact.
    """
    parts = write_parts(module, programs.n, tableau, programs.accelerate, programs.project, programs.agree)
    start = write_program(module, "start", programs.start, hot=True)
    sliding = None if programs.sliding is None else write_program(module, "sliding", programs.sliding, hot=True)
    first_step = write_first_step(module, parts) if tableau.is_adaptive else None
    member = _MemberWriter(module, parts, programs, start, sliding)
    if first_step is None:
        _FixedMemberSteps(member).write()
    else:
        _AdaptiveMemberSteps(member, first_step).write()
    return member.w.function


class _MemberWriter:
    """Writes what members do alike with fixed and adaptive steps: starts, checks, outputs and endings."""

    def __init__(
        self,
        module: ir.Module,
        parts: Parts,
        programs: MemberPrograms,
        start: ir.Function,
        sliding: ir.Function | None,
    ):
        self.module, self.parts, self.width = module, parts, width_of(module)
        self.sliding, self.contacts = sliding, programs.contacts
        self.w = w = Writer(module, "member", MEMBER)
        y, p, own_parameters, self.present, self.times, self.outputs, self.every, self.out, *rest = w.function.args
        self.settings, self.room, self.endings = rest
        size = parts.size
        self.state, self.p, self.work = w.array(size), w.array(programs.parameters), w.array(parts.workspace)
        # the last of the members that are present stands in for those that are not: it takes the same steps twice
        self.lanes = [self._present(k) for k in range(self.width)]
        apart = w.b.mul(own_parameters, whole(programs.parameters))
        arrays = (y, self.state, size, whole(size)), (p, self.p, programs.parameters, apart)
        for source, own, count, stride in arrays:
            for j in w.each(count):
                store(w.b, self._gathered(source, j, stride), own, j)
        self.step = LaneStep(w, parts)
        self.ending = w.variable(w.real, w.number(UNDER_WAY))
        self.begin = spread(w.b, self.scalar(self.times, 0))
        w.b.call(start, [self.state, self.begin, self.p, self.work])
        self.end_unless(load(w.b, self.work, 0))
        self.exact = w.b.fmul(w.number(EXACT_START), load(w.b, self.work, 1))

    def _present(self, k: int) -> Any:
        last = self.w.b.sub(self.present, whole(1))
        return self.w.b.select(self.w.b.icmp_signed("<", whole(k), last), whole(k), last)

    def scalar(self, array: Any, place: Any) -> Any:
        """Return one double of an array that all members share, or of one member."""
        index = whole(place) if isinstance(place, int) else place
        return self.w.b.load(self.w.b.gep(array, [index], source_etype=DOUBLE), typ=DOUBLE)

    def _gathered(self, array: Any, j: Any, stride: Any) -> Any:
        """Return number j of each member; ``stride`` is the distance between two members."""
        b = self.w.b
        return joined(b, [self.scalar(array, b.add(b.mul(k, stride), j)) for k in self.lanes])

    def variable(self, value: Any) -> Any:
        """Allocate a variable of the type of a value."""
        return self.w.variable(value.type, value)

    def read(self, place: Any) -> Any:
        return self.w.get(place, place.type.pointee)

    @property
    def under_way(self) -> Any:
        """A condition: which members have not ended."""
        return self.w.b.fcmp_ordered("<", self.read(self.ending), self.w.number(0.0))

    def end(self, condition: Any, how: int) -> None:
        """End the members under way for which a condition holds."""
        w = self.w
        ended = w.b.select(w.b.and_(condition, self.under_way), w.number(float(how)), self.read(self.ending))
        w.b.store(ended, self.ending)

    def end_unless(self, flag: Any) -> None:
        """Hand over members whose flag is not one."""
        # unordered: a flag of NaN hands over as well
        self.end(self.w.b.fcmp_unordered("<", flag, self.w.number(0.5)), HAND_OVER)

    def validity(self, state: Any, time: Any) -> Any:
        """Return one if the acceleration is well conditioned and the rows left out agree, else zero."""
        w, parts = self.w, self.parts
        w.b.call(parts.accelerate, [state, time, self.p, self.work])
        valid = load(w.b, self.work, parts.n)
        return valid if parts.agree is None else w.b.fmul(valid, self.agreement(state, time))

    def agreement(self, state: Any, time: Any) -> Any:
        """Return one if the rows left out agree with those in use, else zero."""
        w = self.w
        w.b.call(self.parts.agree, [state, time, self.p, self.work])
        return load(w.b, self.work, 0)

    def has_turned(self, before: Any, then: Any, after: Any, now: Any, *, controlled: bool) -> Any:
        """Return whether a contact may have come to rest or reversed in a step between two states.

        The sliding velocity is nearly the cubic with its values and derivatives at both ends. The cubic lies in the
        convex hull of its four Bézier control points, which must all point in the direction of sliding at the start.
        A step that is not ``controlled`` by an error estimate does not notice a jump of friction inside it; there the
        velocity extrapolated linearly to the end of the step must keep its direction as well.
        """
        w, total = self.w, sum(self.contacts)
        first, last = w.array(2 * total), w.array(2 * total)
        w.b.call(self.sliding, [before, then, self.p, first])
        w.b.call(self.sliding, [after, now, self.p, last])
        third = w.b.fdiv(w.b.fsub(now, then), w.number(3.0))
        place, turned = 0, w.number(False)
        for count in self.contacts:
            along: list[Any] = [w.number(0.0)] * 4
            for i in range(place, place + count):
                v0, a0, v1, a1 = (load(w.b, x, j) for x in (first, last) for j in (i, i + count))
                ahead = w.b.fmul(third if controlled else w.b.fsub(now, then), a0)
                points = v0, w.b.fadd(v0, ahead), w.b.fsub(v1, w.b.fmul(third, a1)), v1
                along = [w.b.fadd(x, w.b.fmul(v0, point)) for x, point in zip(along, points, strict=True)]
            place += 2 * count
            for x in along:
                turned = w.b.or_(turned, w.b.fcmp_unordered("<=", x, w.number(0.0)))
        return turned

    def put(self, state: Any, index: Any, chosen: Any) -> None:
        """Store a state of the chosen members as their output of an index; hand over those that are not finite."""
        w, b, size = self.w, self.w.b, self.parts.size
        nothing = self.variable(w.number(0.0))
        for j in w.each(size):  # x − x is NaN unless x is finite
            x = load(b, state, j)
            b.store(b.fadd(self.read(nothing), b.fsub(x, x)), nothing)
        kept = b.select(b.icmp_signed("==", self.every, whole(0)), whole(1), self.outputs)
        for k, member in enumerate(self.lanes):
            with b.if_then(lane(b, chosen, k)):
                place = b.mul(b.mul(lane(b, index, k), self.every), whole(size))
                own = b.mul(b.mul(member, kept), whole(size))
                for j in w.each(size):
                    at = b.add(own, b.add(place, j))
                    b.store(lane(b, load(b, state, j), k), b.gep(self.out, [at], source_etype=DOUBLE))
        infinite = b.fcmp_unordered("!=", self.read(nothing), w.number(0.0))
        self.end(b.and_(chosen, infinite), HAND_OVER)

    def finish(self) -> None:
        """Store the endings and return."""
        b = self.w.b
        endings = b.fadd(self.read(self.ending), self.exact)
        for k, member in enumerate(self.lanes):
            b.store(lane(b, endings, k), b.gep(self.endings, [member], source_etype=DOUBLE))
        b.ret_void()


class _AdaptiveMemberSteps:
    """Writes adaptive steps; each output is one full step from the last step before it, as in a single run."""

    def __init__(self, member: _MemberWriter, first_step: ir.Function):
        self.member, self.w, self.step, size = member, member.w, member.step, member.parts.size
        w, m = member.w, member
        self.before, self.origin = w.array(size), w.array(size)
        self.settings = self._own_settings()
        self.end = spread(w.b, m.scalar(m.times, w.b.sub(m.outputs, whole(1))))
        guess = w.b.call(first_step, [m.state, m.begin, self.end, m.p, self.settings, m.work])
        self.h, self.growth = m.variable(guess), m.variable(w.number(MOST_RATIO))
        self.clock, self.then = m.variable(m.begin), m.variable(m.begin)
        self.taken = m.variable(same(w.module, whole(0)))
        for j in w.each(size):
            store(w.b, load(w.b, m.state, j), self.before, j)
        # only the last output is kept: the others need not be computed
        self.last = w.b.sub(m.outputs, whole(1))
        first = w.b.select(w.b.icmp_signed("==", m.every, whole(0)), self.last, whole(1))
        with w.b.if_then(w.b.icmp_signed("!=", m.every, whole(0))):
            m.put(m.state, spread(w.b, whole(0)), w.number(True))
        self.index = m.variable(spread(w.b, first))
        self.wanted = m.variable(spread(w.b, m.scalar(m.times, first)))

    def _own_settings(self) -> Any:
        """Return the settings of the members; the scales of their starts are in the working memory."""
        w, m, size = self.w, self.member, self.member.parts.size
        own, scaled = w.array(ATOL + size), m.scalar(m.settings, ATOL + size)
        for i in range(ATOL):
            store(w.b, spread(w.b, m.scalar(m.settings, i)), own, i)
        by_scale = w.b.fcmp_ordered(">", spread(w.b, scaled), w.number(0.5))
        for i in w.each(size):
            place = w.b.add(i, whole(ATOL))
            scale = w.b.select(by_scale, load(w.b, m.work, w.b.add(i, whole(2))), w.number(1.0))
            store(w.b, w.b.fmul(spread(w.b, m.scalar(m.settings, place)), scale), own, place)
        return own

    def write(self) -> None:
        """Write the loop over attempts of steps and outputs, and what follows it."""
        w, m = self.w, self.member
        with w.during(lambda: w.any(m.under_way)):
            self._attempt()
        m.finish()

    def _attempt(self) -> None:
        """Take one Runge–Kutta step in each member: the next step of its motion, or its next output."""
        w, m, b = self.w, self.member, self.w.b
        clock, wanted = m.read(self.clock), m.read(self.wanted)
        passed = b.fcmp_ordered("<", wanted, clock)
        outputs, moving = b.and_(passed, m.under_way), b.not_(passed)
        start = b.select(outputs, m.read(self.then), clock)
        for j in w.each(m.parts.size):
            origin = b.select(outputs, load(b, self.before, j), load(b, m.state, j))
            store(b, origin, self.origin, j)
        size, is_last = self._length(moving, clock)
        h = b.select(outputs, b.fsub(wanted, start), size)
        begin = StepStart(self.origin, start, h, m.p)
        first_valid, valid = self.step.write(begin)
        m.end(b.not_(first_valid), HAND_OVER)
        if m.parts.agree is not None:
            m.end_unless(m.agreement(self.origin, start))
        error = b.select(valid, self.step.error(begin, self.settings), w.number(float("nan")))
        ahead = b.select(is_last, self.end, b.fadd(clock, size))
        reached = b.select(outputs, wanted, ahead)
        self.step.project(reached, m.p)
        near = self.step.moved_little(self.settings)
        # ordered: an error of NaN rejects the step
        good = b.and_(b.fcmp_ordered("<", error, w.number(1.0)), near)
        moving = b.and_(moving, m.under_way)
        self._control(moving, b.and_(moving, good), error, near, size)
        self._advance(b.and_(moving, good), reached)
        with b.if_then(w.any(outputs), likely=False):
            self._output(outputs, b.and_(b.fcmp_ordered("<=", error, w.number(INACCURATE)), near))
        self._finish_members()

    def _length(self, moving: Any, clock: Any) -> tuple[Any, Any]:
        """Return the length of the next step of each motion, and whether it is the last one."""
        w, m, b = self.w, self.member, self.w.b
        planned = w.intrinsic("minnum", m.read(self.h), load(b, self.settings, MOST_STEP))
        left = b.fsub(self.end, clock)
        is_last = b.fcmp_ordered(">=", b.fmul(planned, w.number(1 + LAST_STEP_SLACK)), left)
        # the planned step is tested, since the last one may be as short as the time that is left
        short = b.fcmp_unordered("<", planned, load(b, self.settings, LEAST_STEP))
        m.end(b.and_(moving, short), HAND_OVER)
        m.end(b.and_(moving, b.icmp_signed(">=", m.read(self.taken), spread(b, m.room))), MORE)
        return b.select(is_last, left, planned), is_last

    def _control(self, moving: Any, accepted: Any, error: Any, near: Any, size: Any) -> None:
        """Choose the length of the next step."""
        w, m, b = self.w, self.member, self.w.b
        ratio = b.fdiv(w.number(CAUTION), root_of_order(w, m.parts, error))
        # a constraint jumps within the step: it is shortened as much as possible, whatever its error is
        ratio = b.select(near, ratio, w.number(0.0))
        at_rest = b.fcmp_ordered("==", error, w.number(0.0))
        bound = b.select(at_rest, w.number(MOST_RATIO_AT_REST), m.read(self.growth))
        grown = w.intrinsic("minnum", ratio, bound)
        shorter = w.intrinsic("maxnum", ratio, w.number(LEAST_RATIO))  # `maxnum` ignores a ratio of NaN
        following = b.fmul(size, b.select(accepted, grown, shorter))
        b.store(b.select(moving, following, m.read(self.h)), self.h)
        # the step after a rejected one must not grow
        growth = b.select(accepted, w.number(MOST_RATIO), w.number(1.0))
        b.store(b.select(moving, growth, m.read(self.growth)), self.growth)

    def _advance(self, accepted: Any, reached: Any) -> None:
        """Move the members whose step is accepted to its end."""
        w, m, b = self.w, self.member, self.w.b
        clock, arrived = m.read(self.clock), self.step.memory.arrived
        if m.sliding is not None:
            turned = m.has_turned(self.origin, clock, arrived, reached, controlled=True)
            m.end(b.and_(accepted, turned), HAND_OVER)
        for j in w.each(m.parts.size):
            old = load(b, m.state, j)
            store(b, b.select(accepted, old, load(b, self.before, j)), self.before, j)
            store(b, b.select(accepted, load(b, arrived, j), old), m.state, j)
        b.store(b.select(accepted, clock, m.read(self.then)), self.then)
        b.store(b.select(accepted, reached, clock), self.clock)
        one = b.zext(accepted, lanes_of(w.module, LONG))
        b.store(b.add(m.read(self.taken), one), self.taken)

    def _output(self, outputs: Any, accurate: Any) -> None:
        """Store the states of the members that have reached an output, and find their next ones."""
        w, m, b = self.w, self.member, self.w.b
        arrived = self.step.memory.arrived
        m.end(b.and_(outputs, b.not_(accurate)), HAND_OVER)
        valid = m.validity(arrived, m.read(self.wanted))
        m.end(b.and_(outputs, b.fcmp_unordered("<", valid, w.number(0.5))), HAND_OVER)
        index = m.read(self.index)
        m.put(arrived, index, outputs)
        following = b.add(index, b.zext(outputs, lanes_of(w.module, LONG)))
        b.store(following, self.index)
        times = [m.scalar(m.times, lane(b, following, k)) for k in range(m.width)]
        b.store(joined(b, times), self.wanted)

    def _finish_members(self) -> None:
        """End the members that have reached the last time and have no output before it left."""
        w, m, b = self.w, self.member, self.w.b
        reached = b.fcmp_ordered(">=", m.read(self.clock), self.end)
        last = spread(b, self.last)
        done = b.and_(b.and_(reached, m.under_way), b.icmp_signed("==", m.read(self.index), last))
        with b.if_then(w.any(done), likely=False):
            valid = m.validity(m.state, self.end)
            m.end(b.and_(done, b.fcmp_unordered("<", valid, w.number(0.5))), HAND_OVER)
            m.put(m.state, last, done)
            m.end(done, FINISHED)


class _FixedMemberSteps:
    """Writes fixed steps: each span between two outputs is divided equally, into steps of at most the length set."""

    def __init__(self, member: _MemberWriter):
        self.member, self.w, self.step = member, member.w, member.step

    def write(self) -> None:
        w, m, b = self.w, self.member, self.w.b
        wanted, taken = m.scalar(m.settings, 0), m.variable(whole(0))
        everyone = w.number(True)
        m.put(m.state, spread(b, whole(0)), everyone)
        for i in w.each(b.sub(m.outputs, whole(1))):
            begin, end = m.scalar(m.times, i), m.scalar(m.times, b.add(i, whole(1)))
            span = b.fsub(end, begin)
            count = self._count(b.fdiv(span, wanted))
            room = b.sitofp(b.sub(m.room, m.read(taken)), DOUBLE)
            # compared as numbers: the conversion of a number too large for an integer is undefined
            m.end(spread(b, b.fcmp_unordered(">", count, room)), MORE)
            # no steps once all members have ended
            count = b.select(w.any(m.under_way), count, ir.Constant(DOUBLE, 0.0))
            h = b.fdiv(span, count)
            for j in w.each(b.fptosi(count, LONG)):
                # not a running sum, whose rounding would grow with the number of steps
                self._step(b.fadd(begin, b.fmul(b.sitofp(j, DOUBLE), h)), h)
            b.store(b.add(m.read(taken), b.fptosi(count, LONG)), taken)
            # the stages test every step but not its end, which here becomes an output
            m.end_unless(m.validity(m.state, spread(b, end)))
            m.put(m.state, spread(b, b.add(i, whole(1))), m.under_way)
        m.end(everyone, FINISHED)
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
        m.end(b.not_(good), HAND_OVER)
        arrived = self.step.memory.arrived
        if m.sliding is not None:
            m.end(m.has_turned(m.state, now, arrived, later, controlled=False), HAND_OVER)
        for j in w.each(m.parts.size):
            store(b, load(b, arrived, j), m.state, j)
