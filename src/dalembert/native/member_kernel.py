# SPDX-License-Identifier: BSD-3-Clause
"""The compiled integration of one ensemble member through all times, for a processor or a GPU.

The numbers of a member have the stride ``apart``. On a processor it is one; on a GPU it is the number of members, so
that neighbouring threads read neighbouring addresses.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from llvmlite import ir

from dalembert.native.assembly import DOUBLE, POINTER, load, number, store, write_program
from dalembert.native.fixed_stepper import write_fixed_step
from dalembert.native.initial_step import write_first_step
from dalembert.native.integrator_parts import Parts, evaluate, write_parts
from dalembert.native.step_control import ATOL
from dalembert.native.stepper import FINISHED, HAND_OVER, MORE, write_stepper
from dalembert.native.tableau import Tableau
from dalembert.native.tape import Program
from dalembert.native.writer import LONG, Writer, whole

MEMBER = (POINTER, POINTER, LONG, POINTER, LONG, LONG, POINTER, POINTER, LONG)
"""Arguments of ``member``: y, p, apart, times, outputs, every, out, settings, room.

States at ``outputs`` times go to ``out``: all of them if ``every`` is one, only the last if it is zero. For adaptive
steps ``settings`` are those of ``step_control.settings_of`` and one more number, which is one if absolute tolerances
are multiplied by the scales of the member's start; for fixed steps they are the length of the step. ``room`` is the
largest number of steps.
"""

WHOLE_STEPS_SLACK = 1e-12
"""The number of steps in a span is rounded up after it is reduced by this fraction: rounding of the quotient must not
add a step to a whole number of them."""


class MemberPrograms(NamedTuple):
    """The programs that integrate a member with n coordinates and some parameters; see ``Parts``.

    start       its first output is one if a motion may start at a state, else zero
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
    """Write member(…) with the steps of a method, fixed or adaptive; it returns how the motion ended, as a double."""
    parts = write_parts(module, programs.n, tableau, programs.accelerate, programs.project, programs.agree)
    start = write_program(module, "start", programs.start, hot=True)
    member = _MemberWriter(module, parts, programs.parameters, start)
    if programs.sliding is not None:
        member.sliding = write_program(module, "sliding", programs.sliding, hot=True)
        member.contacts = programs.contacts
    return member.write_adaptive() if tableau.is_adaptive else member.write_fixed()


class _MemberWriter:
    """Writes the function ``member``."""

    def __init__(self, module: ir.Module, parts: Parts, parameters: int, start: ir.Function):
        self.module, self.parts, self.start, self.parameters = module, parts, start, parameters
        self.sliding: ir.Function | None = None
        self.contacts: tuple[int, ...] = ()

    def _begin(self) -> None:
        """Copy the member's numbers to local memory, and return at once if the start is invalid."""
        self.w = w = Writer(self.module, "member", MEMBER, DOUBLE)
        y, p, self.apart, self.times, self.outputs, self.every, self.out, self.settings, self.room = w.function.args
        self.state, self.p = w.array(self.parts.size), w.array(self.parameters)
        self.work = w.array(self.parts.workspace)
        # local arrays may be held in registers, and on a GPU the numbers of one member are far apart
        for source, own, count in ((y, self.state, self.parts.size), (p, self.p, self.parameters)):
            for i in w.each(count):
                store(w.b, load(w.b, source, w.b.mul(i, self.apart)), own, i)
        self.clock = w.variable(DOUBLE, load(w.b, self.times, 0))
        w.b.call(self.start, [self.state, w.get(self.clock), self.p, self.work])
        self._hand_over_unless(load(w.b, self.work, 0))

    def _hand_over_unless(self, flag: Any) -> None:
        # unordered: a flag of NaN hands over as well
        with self.w.b.if_then(self.w.b.fcmp_unordered("<", flag, number(0.5)), likely=False):
            self.w.b.ret(number(float(HAND_OVER)))

    def _hand_over_unless_valid(self, time: Any) -> None:
        """Hand over if the acceleration at a time is not well conditioned, or the rows left out disagree."""
        w, parts = self.w, self.parts
        evaluate(w, parts, self.state, time, self.p, self.work)
        self._hand_over_unless(load(w.b, self.work, parts.size))
        if parts.agree is not None:
            w.b.call(parts.agree, [self.state, time, self.p, self.work])
            self._hand_over_unless(load(w.b, self.work, 0))

    def _count_step(self, room: Any, taken: Any) -> None:
        """Count a step, and return if there is no room for it."""
        w = self.w
        with w.b.if_then(w.b.icmp_signed(">=", w.get(taken, LONG), room), likely=False):
            w.b.ret(number(float(MORE)))
        w.b.store(w.b.add(w.get(taken, LONG), whole(1)), taken)

    def _hand_over_if_turned(self, before: Any, then: Any, now: Any, *, controlled: bool) -> None:
        """Hand over if a contact may have come to rest or reversed in the step from the state ``before``.

        The sliding velocity is nearly the cubic with its values and derivatives at both ends. The cubic lies in the
        convex hull of its four Bézier control points, which must all point in the direction of sliding at the start.
        A step that is not ``controlled`` by an error estimate does not notice a jump of friction inside it; there the
        velocity extrapolated linearly to the end of the step must keep its direction as well.
        """
        if self.sliding is None:
            return
        w, total = self.w, sum(self.contacts)
        first, last = w.array(2 * total), w.array(2 * total)
        w.b.call(self.sliding, [before, then, self.p, first])
        w.b.call(self.sliding, [self.state, now, self.p, last])
        third = w.b.fdiv(w.b.fsub(now, then), number(3.0))
        place = 0
        for count in self.contacts:
            along: list[Any] = [number(0.0)] * 4
            for i in range(place, place + count):
                v0, a0, v1, a1 = (load(w.b, x, j) for x in (first, last) for j in (i, i + count))
                ahead = w.b.fmul(third if controlled else w.b.fsub(now, then), a0)
                points = v0, w.b.fadd(v0, ahead), w.b.fsub(v1, w.b.fmul(third, a1)), v1
                along = [w.b.fadd(x, w.b.fmul(v0, point)) for x, point in zip(along, points, strict=True)]
            place += 2 * count
            for x in along:
                with w.b.if_then(w.b.fcmp_unordered("<=", x, number(0.0)), likely=False):
                    w.b.ret(number(float(HAND_OVER)))

    def _put(self, state: Any, i: Any) -> None:
        """Store a state as output i, and hand over if it is not finite."""
        w = self.w
        place, nothing = w.b.mul(w.b.mul(i, self.every), whole(self.parts.size)), w.variable(DOUBLE, number(0.0))
        for j in w.each(self.parts.size):
            x = load(w.b, state, j)
            store(w.b, x, self.out, w.b.mul(w.b.add(place, j), self.apart))
            w.b.store(w.b.fadd(w.get(nothing), w.b.fsub(x, x)), nothing)  # x − x is NaN unless x is finite
        with w.b.if_then(w.b.fcmp_unordered("!=", w.get(nothing), number(0.0)), likely=False):
            w.b.ret(number(float(HAND_OVER)))

    def write_adaptive(self) -> ir.Function:
        """Write adaptive steps; each output is one full step from the last step before it, as in a single run."""
        stepper, first_step = write_stepper(self.module, self.parts), write_first_step(self.module, self.parts)
        self._begin()
        w, size = self.w, self.parts.size
        before, reached, origin = (w.array(size) for _ in range(3))
        settings = self._own_settings()
        step, rejected, kept = w.array(1), w.array(1), w.array(1)
        then = w.variable(DOUBLE, w.get(self.clock))
        ending, taken = w.variable(LONG, whole(MORE)), w.variable(LONG, whole(0))
        end = load(w.b, self.times, w.b.sub(self.outputs, whole(1)))
        begin = [self.state, w.get(self.clock), end, self.p, settings, self.work]
        store(w.b, w.b.call(first_step, begin), step, 0)
        for i in w.each(self.outputs):
            time = load(w.b, self.times, i)
            with w.during(lambda time=time: w.b.and_(self._going_on(ending), self._not_after(time))):
                self._count_step(self.room, taken)
                for j in w.each(size):
                    store(w.b, load(w.b, self.state, j), before, j)
                w.b.store(w.get(self.clock), then)
                # one step per call: the state before it is needed for the outputs within the step
                arguments = [self.state, self.clock, end, step, self.p, settings, whole(1)]
                code = w.b.call(stepper.integrate, [*arguments, kept, reached, rejected, self.work])
                w.b.store(w.b.srem(code, whole(3)), ending)
                self._hand_over_if_turned(before, w.get(then), w.get(self.clock), controlled=True)
            with w.b.if_then(w.b.icmp_signed("==", w.get(ending, LONG), whole(HAND_OVER)), likely=False):
                w.b.ret(number(float(HAND_OVER)))
            here = self._not_after(time)
            for j in w.each(size):  # select values, not addresses: arrays behind a selected address need memory
                store(w.b, w.b.select(here, load(w.b, self.state, j), load(w.b, before, j)), origin, j)
            start = w.b.select(here, w.get(self.clock), w.get(then))
            valid = w.b.call(stepper.reached, [origin, start, time, self.p, settings, reached, self.work])
            self._hand_over_unless(valid)
            self._put(reached, i)
        w.b.ret(number(float(FINISHED)))
        return w.function

    def _own_settings(self) -> Any:
        """Return the settings of this member; the scales of its start are in the working memory."""
        w, size = self.w, self.parts.size
        own, scaled = w.array(ATOL + size), load(w.b, self.settings, ATOL + size)
        for i in range(ATOL):
            store(w.b, load(w.b, self.settings, i), own, i)
        by_scale = w.b.fcmp_ordered(">", scaled, number(0.5))
        for i in w.each(size):
            place = w.b.add(i, whole(ATOL))
            scale = w.b.select(by_scale, load(w.b, self.work, w.b.add(i, whole(2))), number(1.0))
            store(w.b, w.b.fmul(load(w.b, self.settings, place), scale), own, place)
        return own

    def _going_on(self, ending: Any) -> Any:
        return self.w.b.icmp_signed("==", self.w.get(ending, LONG), whole(MORE))

    def _not_after(self, time: Any) -> Any:
        return self.w.b.fcmp_ordered("<=", self.w.get(self.clock), time)

    def write_fixed(self) -> ir.Function:
        """Write fixed steps: each span between two outputs is divided equally, into steps of at most the length set."""
        fixed_step = write_fixed_step(self.module, self.parts)
        self._begin()
        w, wanted = self.w, load(self.w.b, self.settings, 0)
        taken, before = w.variable(LONG, whole(0)), w.array(self.parts.size)
        self._put(self.state, whole(0))
        for i in w.each(w.b.sub(self.outputs, whole(1))):
            start, end = load(w.b, self.times, i), load(w.b, self.times, w.b.add(i, whole(1)))
            span = w.b.fsub(end, start)
            count = w.intrinsic("ceil", w.b.fmul(w.b.fdiv(span, wanted), number(1 - WHOLE_STEPS_SLACK)))
            # compared as numbers: the conversion of a number too large for an integer is undefined
            with w.b.if_then(w.b.fcmp_unordered(">", count, w.b.sitofp(self.room, DOUBLE)), likely=False):
                w.b.ret(number(float(MORE)))
            h = w.b.fdiv(span, count)
            for j in w.each(w.b.fptosi(count, LONG)):
                self._count_step(self.room, taken)
                # not a running sum, whose rounding would grow with the number of steps
                now = w.b.fadd(start, w.b.fmul(w.b.sitofp(j, DOUBLE), h))
                if self.sliding is not None:
                    for k in w.each(self.parts.size):
                        store(w.b, load(w.b, self.state, k), before, k)
                self._hand_over_unless(w.b.call(fixed_step, [self.state, now, h, self.p, self.work]))
                self._hand_over_if_turned(before, now, w.b.fadd(now, h), controlled=False)
            # the stages test every step but not its end, which here becomes an output
            self._hand_over_unless_valid(end)
            self._put(self.state, w.b.add(i, whole(1)))
        w.b.ret(number(float(FINISHED)))
        return w.function
