# SPDX-License-Identifier: BSD-3-Clause
"""Adaptive steps of ensemble members side by side, each up to the first time at which a guard function vanishes.

All members have one active system, but each begins at a time of its own. Whatever a member needs next is one
Runge–Kutta step from the beginning of its current step: the step itself, a check of the guards inside it, a trial that
locates the end of the phase, or an output. The rules are those of ``stick_slip.segment``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

from llvmlite import ir

from dalembert.native.assembly import POINTER, load, store, write_program
from dalembert.native.guard_checks import GuardChecks
from dalembert.native.initial_step import write_first_step
from dalembert.native.integrator_parts import Parts, write_parts
from dalembert.native.lane_step import LaneStep, StepStart
from dalembert.native.lanes import DOUBLE, joined, lane, lanes_of, spread, width_of
from dalembert.native.member_lanes import MemberLanes
from dalembert.native.step_control import ATOL, INACCURACY_FACTOR, LEAST_STEP, MOST_STEP, RTOL
from dalembert.native.step_length import StepLength
from dalembert.native.stepper import FINISHED, HAND_OVER, MORE
from dalembert.native.tableau import Tableau
from dalembert.native.tape import HotPrograms, Program
from dalembert.native.writer import LONG, Writer, whole

FIRED = 3
"""The ending of a member whose phase was ended by a guard, beside those of ``stepper``."""

TAKE_STEP, CHECK, LOCATE, OUTPUT = map(float, range(4))
"""The tasks of a member: to take a step, to check the guards inside it, to locate their zero, to compute outputs."""

I64 = LONG.as_pointer()

GUARDED = (*[POINTER] * 3, LONG, POINTER, I64, I64, LONG, POINTER, LONG, LONG, *[POINTER] * 5)
"""Arguments of ``guarded``: y, t, p, own, tolerances, first, rows, present, times, outputs, every, out, settings,
steps, room, endings.

There are ``present`` members side by side. Each starts at its state y and time t, which are replaced by those at the
end; ``first`` is the index of its first output, ``rows`` its number in ``out``. Its ``tolerances`` are the shortest
step and the absolute tolerances (2n). ``settings`` are the relative tolerance, the longest step and the longest time
between two checks of the guards. ``steps`` is the number of steps so far, which must stay below ``room``; once another
thread writes zero there, as for Ctrl-C, all members end.
"""


class GuardedPrograms(NamedTuple):
    """The programs of a phase with n coordinates and some parameters: see ``Parts``.

    guards      the values of the guards, which are positive during the phase
    at_zero     for each guard whether the phase ends where it is zero, or only where it is negative
    scales      for each guard the size relative to which it is small, or zero if this is its largest value so far
    """

    n: int
    parameters: int
    hot: HotPrograms
    guards: Program
    at_zero: tuple[bool, ...]
    scales: tuple[float, ...]


def write_guarded(module: ir.Module, programs: GuardedPrograms, tableau: Tableau) -> ir.Function:
    """Write guarded(…) with the adaptive steps of a method; it stores how the phase of each member ended."""
    parts = write_parts(module, programs.n, tableau, programs.hot)
    guards = write_program(module, "guards", programs.guards, hot=True)
    return _GuardedWriter(module, parts, programs, guards, write_first_step(module, parts)).write()


class _GuardedWriter:
    """Writes ``guarded``."""

    def __init__(
        self, module: ir.Module, parts: Parts, programs: GuardedPrograms, guards: ir.Function, first_step: ir.Function
    ):
        self.module, self.parts, self.guards = module, parts, guards
        self.w = w = Writer(module, "guarded", GUARDED)
        (self.y, self.t, p, own, tolerances, first, self.rows, present, self.times, self.outputs) = w.function.args[:10]
        self.every, self.out, settings, self.steps, room, self.endings = w.function.args[10:]
        self.members = m = MemberLanes(w, present)
        size = parts.size
        self.before, self.after = w.array(size), w.array(size)
        self.p, self.settings = w.array(programs.parameters), w.array(ATOL + size)
        for j in w.each(size):
            store(w.b, m.gathered(self.y, j, whole(size)), self.before, j)
        for j in w.each(programs.parameters):
            store(w.b, m.gathered(p, j, w.b.mul(own, whole(programs.parameters))), self.p, j)
        self._store_settings(settings, tolerances)
        # members come from phases that ended at different times
        self.begin = m.gathered(self.t, whole(0), whole(1))
        self.last = w.b.sub(self.outputs, whole(1))
        self.end = spread(w.b, m.scalar(self.times, self.last))
        self.room = room
        self.step = LaneStep(w, parts)
        work = w.array(parts.workspace)
        guess = w.b.call(first_step, [self.before, self.begin, self.end, self.p, self.settings, work])
        self.length = StepLength(w, parts, self.settings, guess)
        self.task, self.fired = m.variable(w.number(TAKE_STEP)), m.variable(w.number(0.0))
        self.then, self.ahead, self.trial = (m.variable(self.begin) for _ in range(3))
        self.taken = m.variable(m.gathered(self.steps, whole(0), whole(1)))
        self.index = m.variable(
            joined(w.b, [w.b.load(w.b.gep(first, [k], source_etype=LONG), typ=LONG) for k in m.lanes])
        )
        self.wanted = m.variable(w.number(0.0))
        self._find_wanted()
        self.checks = GuardChecks(w, m, programs.at_zero, programs.scales, m.scalar(settings, 2))
        w.b.call(guards, [self.before, self.begin, self.p, self.checks.newer])
        self.checks.start()

    def _store_settings(self, settings: Any, tolerances: Any) -> None:
        w, m, stride = self.w, self.members, whole(1 + self.parts.size)
        for place, value in ((RTOL, m.scalar(settings, 0)), (MOST_STEP, m.scalar(settings, 1))):
            store(w.b, spread(w.b, value), self.settings, place)
        store(w.b, m.gathered(tolerances, whole(0), stride), self.settings, LEAST_STEP)
        for j in w.each(self.parts.size):
            own = m.gathered(tolerances, w.b.add(j, whole(1)), stride)
            store(w.b, own, self.settings, w.b.add(j, whole(ATOL)))

    def write(self) -> ir.Function:
        """Write the loop over Runge–Kutta steps and what follows it."""
        w, m = self.w, self.members
        with w.during(lambda: w.any(m.under_way)):
            self._attempt()
        for k, member in enumerate(m.lanes):
            for j in w.each(self.parts.size):
                value = lane(w.b, load(w.b, self.after, j), k)
                place = w.b.add(w.b.mul(member, whole(self.parts.size)), j)
                w.b.store(value, w.b.gep(self.y, [place], source_etype=DOUBLE))
            found = (self.t, self.ahead), (self.steps, self.taken), (self.endings, m.ending)
            for array, variable in found:
                w.b.store(lane(w.b, m.read(variable), k), w.b.gep(array, [member], source_etype=DOUBLE))
        w.b.ret_void()
        return w.function

    def _attempt(self) -> None:
        """Take one Runge–Kutta step in each member, as its task requires."""
        w, m, b = self.w, self.members, self.w.b
        tasks = m.read(self.task)
        stepping, checking, locating, output = (
            b.and_(b.fcmp_ordered("==", tasks, w.number(task)), m.under_way)
            for task in (TAKE_STEP, CHECK, LOCATE, OUTPUT)
        )
        then = m.read(self.then)
        length, is_last, short = self.length.next(then, self.end)
        m.end(b.and_(stepping, short), HAND_OVER)
        # atomic, so that the optimiser does not read it once for all steps
        room = spread(b, b.load_atomic(self.room, "monotonic", 8, typ=DOUBLE))
        m.end(b.and_(stepping, b.fcmp_ordered(">=", m.read(self.taken), room)), MORE)
        # exactly the end: the sum may miss it by rounding, and one more step would follow
        reached = b.select(is_last, self.end, b.fadd(then, length))
        inside = b.select(output, m.read(self.wanted), m.read(self.trial))
        reached = b.select(stepping, reached, inside)
        start = StepStart(self.before, then, b.select(stepping, length, b.fsub(reached, then)), self.p)
        first_valid, valid = self.step.write(start)
        m.end(b.not_(first_valid), HAND_OVER)
        if self.parts.agree is not None:
            m.end(b.not_(self._agrees(self.before, then)), HAND_OVER)
        # a shorter step may avoid a state at which the equations are not well conditioned
        error = b.select(valid, self.step.error(start, self.settings), w.number(float("nan")))
        self.step.project(reached, self.p)
        near = self.step.moved_little(self.settings)
        # a part of a step that is resolved is resolved
        near = b.and_(near, b.or_(self.step.resolves(start, reached), b.not_(stepping)))
        # ordered: an error of NaN rejects the step
        accepted = b.and_(stepping, b.and_(b.fcmp_ordered("<", error, w.number(1.0)), near))
        self.length.control(stepping, accepted, error, near, length)
        self._evaluate_guards(b.or_(accepted, b.or_(checking, locating)), reached)
        self._accept(accepted, reached)
        with b.if_then(w.any(checking)):
            self._check(checking, reached)
        with b.if_then(w.any(locating), likely=False):
            self._locate(locating, reached)
        with b.if_then(w.any(output), likely=False):
            self._output(output, b.and_(b.fcmp_ordered("<=", error, w.number(INACCURACY_FACTOR)), near))
        self._continue()

    def _agrees(self, state: Any, time: Any) -> Any:
        """Return whether the rows left out agree with those in use."""
        w = self.w
        flag = w.array(1)
        w.b.call(self.parts.agree, [state, time, self.p, flag])
        return w.b.fcmp_ordered(">=", load(w.b, flag, 0), w.number(0.5))

    def _evaluate_guards(self, needed: Any, time: Any) -> None:
        """Store the guards at the new state; hand over members for which they are undefined."""
        w, m, b = self.w, self.members, self.w.b
        # the guards cost about as much as a stage, and outputs do without them
        with b.if_then(w.any(needed)):
            b.call(self.guards, [self.step.memory.arrived, time, self.p, self.checks.now])
            m.end(b.and_(needed, self.checks.undefined()), HAND_OVER)

    def _accept(self, accepted: Any, reached: Any) -> None:
        """Keep the end of an accepted step, inside which the guards are checked next."""
        w, m, b = self.w, self.members, self.w.b
        m.copy(self.step.memory.arrived, self.after, self.parts.size, accepted)
        m.assign(self.ahead, reached, accepted)
        m.assign(self.taken, b.fadd(m.read(self.taken), w.number(1.0)), accepted)
        self.checks.begin_step(accepted, b.fsub(reached, m.read(self.then)))
        m.assign(self.task, w.number(CHECK), accepted)
        m.assign(self.trial, self._place_of(self.checks.following()), accepted)

    def _place_of(self, fraction: Any) -> Any:
        """Return the time at a fraction of the current step."""
        m, b = self.members, self.w.b
        then = m.read(self.then)
        return b.fadd(then, b.fmul(fraction, b.fsub(m.read(self.ahead), then)))

    def _check(self, checking: Any, time: Any) -> None:
        """Examine the guards inside a step and, after the last check before its end, those at its end."""
        w, m, b = self.w, self.members, self.w.b
        checks = self.checks
        ended = checks.examine(checking, checks.now)
        self._bracket(ended, time, checks.now, self.step.memory.arrived)
        at_end = b.and_(b.and_(checking, b.not_(ended)), checks.only_end_left())
        with b.if_then(w.any(at_end)):
            ended = checks.examine(at_end, checks.end)
            self._bracket(ended, m.read(self.ahead), checks.end, self.after)
        still = b.and_(checking, b.fcmp_ordered("==", m.read(self.task), w.number(CHECK)))
        m.assign(self.task, w.number(OUTPUT), b.and_(still, checks.complete()))
        m.assign(self.trial, self._place_of(checks.following()), b.and_(still, b.not_(checks.complete())))

    def _bracket(self, ended: Any, time: Any, values: Any, state: Any) -> None:
        """Begin to locate the end of a phase between the last two checks."""
        w, m = self.w, self.members
        low = self._place_of(self.checks.last())
        # from here on the end of the step is where the guard was found to have ended the phase
        m.copy(state, self.after, self.parts.size, ended)
        m.assign(self.ahead, time, ended)
        m.assign(self.task, w.number(LOCATE), ended)
        self._after_trial(ended, self.checks.begin_locating(ended, low, time, values, m.read(self.then), self.begin))

    def _locate(self, locating: Any, time: Any) -> None:
        """Narrow the bracket of the end of a phase by a trial."""
        m = self.members
        ended, found = self.checks.narrow(locating, time)
        m.copy(self.step.memory.arrived, self.after, self.parts.size, ended)
        m.assign(self.ahead, time, ended)
        self._after_trial(locating, found)

    def _after_trial(self, chosen: Any, found: Any) -> None:
        """Store the next trial, or that the bracket is as narrow as rounding allows."""
        w, m, b = self.w, self.members, self.w.b
        done, trial = found
        m.assign(self.trial, trial, chosen)
        located = b.and_(chosen, done)
        m.assign(self.task, w.number(OUTPUT), located)
        m.assign(self.fired, w.number(1.0), located)

    def _output(self, output: Any, accurate: Any) -> None:
        """Store the states of members that have reached an output, and find their next ones."""
        m, b = self.members, self.w.b
        arrived, time = self.step.memory.arrived, m.read(self.wanted)
        self._put(b.and_(output, self._valid(output, accurate, arrived, time)), arrived)
        following = b.add(m.read(self.index), b.zext(output, lanes_of(self.module, LONG)))
        b.store(following, self.index)
        self._find_wanted()

    def _valid(self, chosen: Any, accurate: Any, state: Any, time: Any) -> Any:
        """Return whether states may be outputs; hand over the other members."""
        w, m, b = self.w, self.members, self.w.b
        found = w.array(self.parts.n + 1)
        b.call(self.parts.accelerate, [state, time, self.p, found])
        good = b.and_(accurate, b.fcmp_ordered(">=", load(b, found, self.parts.n), w.number(0.5)))
        if self.parts.agree is not None:
            good = b.and_(good, self._agrees(state, time))
        # x − x is zero only for a finite x
        rest: Sequence[Any] = [b.fsub(x, x) for x in (load(b, state, j) for j in range(self.parts.size))]
        total = reduce(b.fadd, rest)
        good = b.and_(good, b.fcmp_ordered("==", total, w.number(0.0)))
        m.end(b.and_(chosen, b.not_(good)), HAND_OVER)
        return good

    def _find_wanted(self) -> None:
        """Find the times of the next outputs; infinity after the last one."""
        m, b = self.members, self.w.b
        index = m.read(self.index)
        there = b.icmp_signed("<=", index, spread(b, self.last))
        # lanes whose last output is done must not read beyond the array
        safe = b.select(there, index, spread(b, self.last))
        times = joined(b, [m.scalar(self.times, lane(b, safe, k)) for k in range(width_of(self.module))])
        b.store(b.select(there, times, self.w.number(float("inf"))), self.wanted)

    def _put(self, chosen: Any, state: Any) -> None:
        """Store a state of the chosen members as their next output."""
        w, b, size = self.w, self.w.b, self.parts.size
        kept = b.select(b.icmp_signed("==", self.every, whole(0)), whole(1), self.outputs)
        index = self.members.read(self.index)
        for k, member in enumerate(self.members.lanes):
            with b.if_then(lane(b, chosen, k)):
                row = b.load(b.gep(self.rows, [member], source_etype=LONG), typ=LONG)
                place = b.mul(b.add(b.mul(row, kept), b.mul(lane(b, index, k), self.every)), whole(size))
                for j in w.each(size):
                    b.store(lane(b, load(b, state, j), k), b.gep(self.out, [b.add(place, j)], source_etype=DOUBLE))

    def _continue(self) -> None:
        """End the phase, or begin the next step, in members without an output before the end of their step."""
        w, m, b = self.w, self.members, self.w.b
        ahead, wanted, fired = m.read(self.ahead), m.read(self.wanted), m.read(self.fired)
        has_fired = b.fcmp_ordered(">", fired, w.number(0.5))
        idle = b.and_(b.fcmp_ordered("==", m.read(self.task), w.number(OUTPUT)), m.under_way)
        # an output at the instant of a transition belongs to the phase before it
        due = b.or_(b.fcmp_ordered("<", wanted, ahead), b.and_(has_fired, b.fcmp_ordered("<=", wanted, ahead)))
        idle = b.and_(idle, b.not_(due))
        m.end(b.and_(idle, has_fired), FIRED)
        idle = b.and_(idle, b.not_(has_fired))
        finished = b.and_(idle, b.fcmp_ordered(">=", ahead, self.end))
        with b.if_then(w.any(finished), likely=False):
            self._put(b.and_(finished, self._valid(finished, w.number(True), self.after, ahead)), self.after)
            m.end(finished, FINISHED)
        moving = b.and_(idle, b.not_(finished))
        m.copy(self.after, self.before, self.parts.size, moving)
        m.assign(self.then, ahead, moving)
        m.assign(self.task, w.number(TAKE_STEP), moving)
