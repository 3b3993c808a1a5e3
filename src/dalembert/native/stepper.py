# SPDX-License-Identifier: BSD-3-Clause
"""The compiled adaptive integrator: a Runge–Kutta method with a projection after each step.

It is generated through LLVM rather than written in Python because a step of a small system takes a microsecond: an
interpreter, or the overhead of a general integrator, costs ten times as much as the arithmetic.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from llvmlite import ir

from dalembert.native.assembly import DOUBLE, POINTER, element, load, number, store
from dalembert.native.integrator_parts import Parts, arrive, resolves
from dalembert.native.step_control import (
    ABRUPT_DISTANCE,
    INACCURACY_FACTOR,
    LEAST_STEP,
    MOST_STEP,
    SAFETY_FACTOR,
    UNRELIABLE_OUTPUT,
    root_of_order,
    write_error,
    write_moved,
)
from dalembert.native.step_functions import StepFunctions
from dalembert.native.writer import LONG, Writer

MORE, FINISHED, HAND_OVER = range(3)
"""The endings of a batch of steps: its room is used up, the last time is reached, or no step can be taken and the
compiled integrator hands over to the general one."""

INTEGRATE = (POINTER, POINTER, DOUBLE, POINTER, POINTER, POINTER, LONG, *[POINTER] * 4)
"""Arguments of ``integrate``: y, t, end, h, p, settings, room, times, states, rejected, work."""

REACHED = (POINTER, DOUBLE, DOUBLE, *[POINTER] * 4, ir.IntType(1))
"""Arguments of ``reached``: y0, t0, time, p, settings, y, work, begun."""

LEAST_RATIO, MOST_RATIO = 0.2, 5.0
"""Bounds of the ratio of two successive steps."""

MOST_RATIO_AT_REST = 2.0
"""Upper bound of that ratio if the error estimate is exactly zero, which carries no information on the next step."""

LAST_STEP_SLACK = 1e-9
"""A step is stretched by up to this fraction to end at the last time: rounding must not leave a tiny step over."""


class Stepper(NamedTuple):
    """``integrate`` and ``reached``, as functions of a module."""

    integrate: ir.Function
    reached: ir.Function


def write_stepper(module: ir.Module, parts: Parts, step: StepFunctions) -> Stepper:
    """Add ``integrate`` and ``reached`` to a module."""
    error, moved = write_error(module, parts), write_moved(module, parts)
    return Stepper(
        _IntegrateWriter(module, parts, step, error, moved).write(),
        _write_reached(module, parts, step, error, moved),
    )


class _Attempt(NamedTuple):
    """A step that has been computed: its length, the time and state it leads to, its error and the proposed ratio of
    the next step to it, and whether it is the last one and is accepted."""

    size: Any
    reached: Any
    state: Any
    error: Any
    ratio: Any
    is_last: Any
    is_accepted: Any


class _IntegrateWriter:
    """Writes integrate(…) -> steps · 3 + ending, with arguments as in ``INTEGRATE``.

    y, t[0] and h[0] are the initial state, the initial time and the first step to try. They are updated with every
    step, for the next batch.
    """

    def __init__(
        self, module: ir.Module, parts: Parts, step: StepFunctions, error_of: ir.Function, moved: ir.Function | None
    ):
        self.parts, self.step, self.error_of, self.moved = parts, step, error_of, moved
        self.w = w = Writer(module, "integrate", INTEGRATE, LONG)
        self.y, self.t, self.end, self.h, self.p, self.settings, self.room, *kept, self.rejected, work = w.function.args
        self.times, self.states = kept
        self.k = work
        self.stage, self.y1, self.flag = (element(w.b, work, (parts.stages + j) * parts.stride) for j in range(3))
        self.taken = w.variable(LONG, ir.Constant(LONG, 0))
        self.growth = w.variable(DOUBLE, number(MOST_RATIO))  # the largest ratio of the next step to this one

    def write(self) -> ir.Function:
        """Write the loop over steps."""
        w = self.w
        self._evaluate_first_stage()
        with w.endless_loop():
            attempt = self._attempt()
            with w.b.if_else(attempt.is_accepted) as (then, otherwise):
                with then:
                    self._accept(attempt)
                with otherwise:
                    self._reject(attempt)
        return w.function

    def _return(self, how: int) -> None:
        self.w.b.ret(ending(self.w, self.taken, how))

    def _hand_over_unless(self, flag: Any) -> None:
        # unordered: a flag of NaN hands over as well
        with self.w.b.if_then(self.w.b.fcmp_unordered("<", flag, number(0.5)), likely=False):
            self._return(HAND_OVER)

    def _evaluate_first_stage(self) -> None:
        """Evaluate the first stage, and hand over if it is not well conditioned or the rows left out disagree."""
        w, parts = self.w, self.parts
        self.step.begin(w, parts, self.y, load(w.b, self.t, 0), self.p, self.k)
        self._hand_over_unless(load(w.b, self.k, parts.size))
        if parts.agree is not None:
            w.b.call(parts.agree, [self.y, load(w.b, self.t, 0), self.p, self.flag])
            self._hand_over_unless(load(w.b, self.flag, 0))

    def _attempt(self) -> _Attempt:
        """Compute one step, its error and its projection; hand over if the step has become too short."""
        w, p, settings = self.w, self.p, self.settings
        now = load(w.b, self.t, 0)
        planned = w.intrinsic("minnum", load(w.b, self.h, 0), load(w.b, settings, MOST_STEP))
        left = w.b.fsub(self.end, now)
        last = w.b.fcmp_ordered(">=", w.b.fmul(planned, number(1 + LAST_STEP_SLACK)), left)
        size = w.b.select(last, left, planned)
        # the planned step is tested, since the last one may be as short as the time that is left
        with w.b.if_then(w.b.fcmp_unordered("<", planned, load(w.b, settings, LEAST_STEP)), likely=False):
            self._return(HAND_OVER)
        w.b.call(self.step.step, [self.y, now, size, p, self.k, self.stage, self.y1, settings])
        error = w.b.call(self.error_of, [self.y, self.y1, size, self.k, settings])
        root = root_of_order(w, self.parts, error)
        ratio = w.b.fdiv(number(SAFETY_FACTOR), root)  # NaN if a stage left the domain of the equations
        reached = w.b.select(last, self.end, w.b.fadd(now, size))
        # ordered: an error of NaN rejects the step
        accepted = w.b.fcmp_ordered("<", error, number(1.0))
        arrived = self.y1
        if self.moved is not None:
            arrived = self.stage  # the stages are no longer needed, so their memory is reused
            w.b.call(self.parts.project, [self.y1, reached, p, arrived])
            distance = w.b.call(self.moved, [self.y1, arrived, settings])
            near = w.b.fcmp_ordered("<=", distance, number(ABRUPT_DISTANCE))
            # a constraint jumps within the step: it is shortened as much as possible, whatever its error is
            ratio = w.b.select(near, ratio, number(0.0))
            accepted = w.b.and_(accepted, near)
        if self.parts.resolve is not None:
            fine = resolves(w, self.parts, self.y, now, arrived, reached, p)
            ratio = w.b.select(fine, ratio, number(0.0))
            accepted = w.b.and_(accepted, fine)
        return _Attempt(size, reached, arrived, error, ratio, last, accepted)

    def _accept(self, attempt: _Attempt) -> None:
        """Record the step, choose the length of the next one, and return at the end of the batch."""
        w, parts = self.w, self.parts
        at_rest = w.b.fcmp_ordered("==", attempt.error, number(0.0))
        bound = w.b.select(at_rest, number(MOST_RATIO_AT_REST), w.get(self.growth))
        ratio = w.intrinsic("minnum", attempt.ratio, bound)
        w.b.store(number(MOST_RATIO), self.growth)
        store(w.b, w.b.fmul(attempt.size, ratio), self.h, 0)
        for i in w.each(parts.size):
            store(w.b, load(w.b, attempt.state, i), self.y, i)
        store(w.b, attempt.reached, self.t, 0)
        keep_step(w, parts, self.y, attempt.reached, self.times, self.states, self.taken)
        with w.b.if_then(attempt.is_last, likely=False):
            self._return(FINISHED)
        with w.b.if_then(w.b.icmp_signed(">=", w.get(self.taken, LONG), self.room), likely=False):
            self._return(MORE)
        # no stage can be reused: the step ends at the projected state
        self._evaluate_first_stage()

    def _reject(self, attempt: _Attempt) -> None:
        """Shorten the step and count the rejection; the next accepted step must not grow."""
        w = self.w
        # `maxnum` ignores a ratio of NaN
        shorter = w.intrinsic("maxnum", attempt.ratio, number(LEAST_RATIO))
        store(w.b, w.b.fmul(attempt.size, shorter), self.h, 0)
        w.b.store(number(1.0), self.growth)
        store(w.b, w.b.fadd(load(w.b, self.rejected, 0), number(1.0)), self.rejected, 0)


def ending(w: Writer, taken: Any, how: int) -> Any:
    """Return the result of ``integrate``: steps · 3 + how it ended."""
    return w.b.add(w.b.mul(w.get(taken, LONG), ir.Constant(LONG, 3)), ir.Constant(LONG, how))


def keep_step(w: Writer, parts: Parts, y: Any, t: Any, times: Any, states: Any, taken: Any) -> None:
    """Append a step to the times and states of a batch."""
    count = w.get(taken, LONG)
    store(w.b, t, times, count)
    for i in w.each(parts.size):
        store(w.b, load(w.b, y, i), states, w.b.add(w.b.mul(count, ir.Constant(LONG, parts.size)), i))
    w.b.store(w.b.add(count, ir.Constant(LONG, 1)), taken)


def _write_reached(
    module: ir.Module, parts: Parts, step: StepFunctions, error_of: ir.Function, moved: ir.Function | None
) -> ir.Function:
    """Write reached(y0, t0, time, p, settings, y, work, begun): y is the state at a time, by one full step from
    (t0, y0).

    It returns one, or ``UNRELIABLE_OUTPUT`` if the step is not accurate. Interpolation between steps would lose several
    orders. If the last call was for the same start, the first stage is ``begun`` already.
    """
    w = Writer(module, "reached", REACHED, DOUBLE)
    start, now, time, p, settings, state, k, begun = w.function.args
    stage, y1 = (element(w.b, k, (parts.stages + j) * parts.stride) for j in range(2))
    accurate = w.variable(DOUBLE, number(1.0))
    with w.b.if_else(w.b.fcmp_ordered(">", time, now)) as (later, at_once):
        with later:
            length = w.b.fsub(time, now)
            with w.b.if_then(w.b.not_(begun)):
                step.begin(w, parts, start, now, p, k)
            w.b.call(step.step, [start, now, length, p, k, stage, y1, settings])
            fine = w.b.fcmp_ordered(
                "<=", w.b.call(error_of, [start, y1, length, k, settings]), number(INACCURACY_FACTOR)
            )
            arrive(w, parts, state, y1, time, p)
            if moved is not None:
                near = w.b.fcmp_ordered("<=", w.b.call(moved, [y1, state, settings]), number(ABRUPT_DISTANCE))
                fine = w.b.and_(fine, near)
            w.b.store(w.b.select(fine, number(1.0), number(UNRELIABLE_OUTPUT)), accurate)
        with at_once:
            for j in w.each(parts.size):
                store(w.b, load(w.b, start, j), state, j)
    w.b.ret(w.get(accurate))
    return w.function
