# SPDX-License-Identifier: BSD-3-Clause
"""The integrator as machine code: an explicit Runge–Kutta method with adaptive steps, a projection after each.

Written for LLVM rather than in Python because a step of a small system takes a microsecond: any interpreter, and the
bookkeeping of a general integrator, costs ten times the arithmetic.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from llvmlite import ir

from dalembert.native.assembly import DOUBLE, POINTER, element, load, number, store
from dalembert.native.integrator_parts import Parts, arrive, evaluate
from dalembert.native.step_control import (
    ABRUPT,
    INACCURATE,
    LEAST_STEP,
    MOST_STEP,
    UNRELIABLE,
    blend,
    root_of_order,
    write_error,
    write_moved,
)
from dalembert.native.tableau import Factors
from dalembert.native.writer import LONG, Writer

MORE, FINISHED, DECLINED = range(3)
"""How a batch of steps ends: no room for more of them, at the last time, or before a step that it will not take."""

INTEGRATE = (POINTER, POINTER, DOUBLE, POINTER, POINTER, POINTER, LONG, *[POINTER] * 4)
"""Arguments of ``integrate``: y, t, end, h, p, settings, room, times, states, rejected, work."""

SHORTEST, LONGEST, CAUTION = 0.2, 5.0, 0.9
"""Bounds for the ratio of two steps, and how much shorter than predicted to be on the safe side."""

LONGEST_AT_REST = 2.0
"""The bound on growth where the error estimate is exactly zero: nothing is known then about what lies ahead."""


class Stepper(NamedTuple):
    """``integrate`` and ``reached``, as functions of a module."""

    integrate: ir.Function
    reached: ir.Function


def write_stepper(module: ir.Module, parts: Parts) -> Stepper:
    """Add ``integrate`` and ``reached`` to a module."""
    step, error, moved = _write_step(module, parts), write_error(module, parts), write_moved(module, parts)
    return Stepper(
        _write_integrate(module, parts, step, error, moved), _write_reached(module, parts, step, error, moved)
    )


def _write_step(module: ir.Module, parts: Parts) -> ir.Function:
    """step(y, t, h, p, k, stage, y1): y1 after one step from y; k holds the first stage already."""
    w = Writer(module, "step", (POINTER, DOUBLE, DOUBLE, POINTER, POINTER, POINTER, POINTER))
    y, t, h, p, k, stage, y1 = w.function.args

    def combine(factors: Factors, to: Any) -> None:
        for i in w.each(parts.size):
            moved = w.b.fmul(h, blend(w, parts, k, i, factors), flags=("contract",))
            store(w.b, w.b.fadd(load(w.b, y, i), moved, flags=("contract",)), to, i)

    tableau = parts.tableau
    for s in range(1, parts.stages):
        combine(tableau.stages[s], stage)
        time = w.b.fadd(t, w.b.fmul(number(tableau.nodes[s]), h))
        evaluate(w, parts, stage, time, p, element(w.b, k, s * parts.stride))
    combine(tableau.result, y1)
    w.b.ret_void()
    return w.function


def _write_integrate(
    module: ir.Module, parts: Parts, step: ir.Function, error_of: ir.Function, moved: ir.Function | None
) -> ir.Function:
    """integrate(…) -> steps · 3 + ending, with arguments as in ``INTEGRATE``.

    y, t[0] and h[0] are where to start and the step to try; they are kept up to date, for the next batch.
    """
    w = Writer(module, "integrate", INTEGRATE, LONG)
    y, t, end, h, p, settings, room, times, states, rejected, work = w.function.args
    k = work
    stage, y1, said = (element(w.b, work, (parts.stages + j) * parts.stride) for j in range(3))
    taken = w.variable(LONG, ir.Constant(LONG, 0))
    most = w.variable(DOUBLE, number(LONGEST))

    def leave(how: int) -> None:
        w.b.ret(ending(w, taken, how))

    def decline_unless(flag: Any) -> None:
        with w.b.if_then(w.b.fcmp_unordered("<", flag, number(0.5)), likely=False):
            leave(DECLINED)

    def look() -> None:
        """Find the first stage and decline where it is not to be trusted."""
        evaluate(w, parts, y, load(w.b, t, 0), p, k)
        decline_unless(load(w.b, k, parts.size))
        if parts.agree is not None:
            w.b.call(parts.agree, [y, load(w.b, t, 0), p, said])
            decline_unless(load(w.b, said, 0))

    look()
    with w.forever():
        now = load(w.b, t, 0)
        planned = w.intrinsic("minnum", load(w.b, h, 0), load(w.b, settings, MOST_STEP))
        left = w.b.fsub(end, now)
        last = w.b.fcmp_ordered(">=", w.b.fmul(planned, number(1 + 1e-9)), left)
        size = w.b.select(last, left, planned)
        with w.b.if_then(w.b.fcmp_unordered("<", planned, load(w.b, settings, LEAST_STEP)), likely=False):
            leave(DECLINED)
        w.b.call(step, [y, now, size, p, k, stage, y1])
        error = w.b.call(error_of, [y, y1, size, k, settings])
        root = root_of_order(w, parts, error)
        wanted = w.b.fdiv(number(CAUTION), root)  # NaN where a stage left the domain of the equations
        reached = w.b.select(last, end, w.b.fadd(now, size))
        accepted = w.b.fcmp_ordered("<", error, number(1.0))
        arrived = y1
        if moved is not None:
            arrived = stage  # the stages are not needed any more
            w.b.call(parts.project, [y1, reached, p, arrived])
            far = w.b.call(moved, [y1, arrived, settings])
            near = w.b.fcmp_ordered("<=", far, number(ABRUPT))
            wanted = w.b.select(near, wanted, number(0.0))
            accepted = w.b.and_(accepted, near)
        with w.b.if_else(accepted) as (then, otherwise):
            with then:
                at_rest = w.b.fcmp_ordered("==", error, number(0.0))
                bound = w.b.select(at_rest, number(LONGEST_AT_REST), w.get(most))
                ratio = w.intrinsic("minnum", wanted, bound)
                w.b.store(number(LONGEST), most)
                store(w.b, w.b.fmul(size, ratio), h, 0)
                for i in w.each(parts.size):
                    store(w.b, load(w.b, arrived, i), y, i)
                store(w.b, reached, t, 0)
                keep_step(w, parts, y, reached, times, states, taken)
                with w.b.if_then(last, likely=False):
                    leave(FINISHED)
                with w.b.if_then(w.b.icmp_signed(">=", w.get(taken, LONG), room), likely=False):
                    leave(MORE)
                look()
            with otherwise:
                shorter = w.intrinsic("maxnum", wanted, number(SHORTEST))
                store(w.b, w.b.fmul(size, shorter), h, 0)
                w.b.store(number(1.0), most)  # no growth right after a failure
                store(w.b, w.b.fadd(load(w.b, rejected, 0), number(1.0)), rejected, 0)
    return w.function


def ending(w: Writer, taken: Any, how: int) -> Any:
    """What ``integrate`` returns: steps · 3 + how it ended."""
    return w.b.add(w.b.mul(w.get(taken, LONG), ir.Constant(LONG, 3)), ir.Constant(LONG, how))


def keep_step(w: Writer, parts: Parts, y: Any, t: Any, times: Any, states: Any, taken: Any) -> None:
    """One more step in the record."""
    count = w.get(taken, LONG)
    store(w.b, t, times, count)
    for i in w.each(parts.size):
        store(w.b, load(w.b, y, i), states, w.b.add(w.b.mul(count, ir.Constant(LONG, parts.size)), i))
    w.b.store(w.b.add(count, ir.Constant(LONG, 1)), taken)


def _write_reached(
    module: ir.Module, parts: Parts, step: ir.Function, error_of: ir.Function, moved: ir.Function | None
) -> ir.Function:
    """reached(y0, t0, time, p, settings, y, work): the state at a time, by one full step, and whether to trust it.

    It returns one, zero where the motion is not to be trusted, or ``UNRELIABLE`` where the step itself is not accurate.
    Interpolating between steps instead would lose several orders.
    """
    w = Writer(module, "reached", (POINTER, DOUBLE, DOUBLE, *[POINTER] * 4), DOUBLE)
    start, now, time, p, settings, state, k = w.function.args
    stage, y1, said = (element(w.b, k, (parts.stages + j) * parts.stride) for j in range(3))
    accurate = w.variable(DOUBLE, number(1.0))
    with w.b.if_else(w.b.fcmp_ordered(">", time, now)) as (later, at_once):
        with later:
            length = w.b.fsub(time, now)
            evaluate(w, parts, start, now, p, k)
            w.b.call(step, [start, now, length, p, k, stage, y1])
            fine = w.b.fcmp_ordered("<=", w.b.call(error_of, [start, y1, length, k, settings]), number(INACCURATE))
            arrive(w, parts, state, y1, time, p)
            if moved is not None:
                near = w.b.fcmp_ordered("<=", w.b.call(moved, [y1, state, settings]), number(ABRUPT))
                fine = w.b.and_(fine, near)
            w.b.store(w.b.select(fine, number(1.0), number(UNRELIABLE)), accurate)
        with at_once:
            for j in w.each(parts.size):
                store(w.b, load(w.b, start, j), state, j)
    evaluate(w, parts, state, time, p, k)
    trusted = load(w.b, k, parts.size)
    if parts.agree is not None:
        w.b.call(parts.agree, [state, time, p, said])
        trusted = w.b.fmul(trusted, load(w.b, said, 0))
    w.b.ret(w.b.fmul(trusted, w.get(accurate)))
    return w.function


def write_sample(module: ir.Module, parts: Parts, reached: ir.Function, outputs: ir.Function, length: int) -> None:
    """sample(count, t0, y0, times, p, settings, states, outputs, trusted, work): state and account at each time."""
    w = Writer(module, "sample", (LONG, *[POINTER] * 9))
    count, t0, y0, times, p, settings, states, ledger_source, trusted, work = w.function.args
    for i in w.each(count):
        row = w.b.mul(i, ir.Constant(LONG, parts.size))
        state, time = element(w.b, states, row), load(w.b, times, i)
        sure = w.b.call(reached, [element(w.b, y0, row), load(w.b, t0, i), time, p, settings, state, work])
        store(w.b, sure, trusted, i)
        w.b.call(outputs, [state, time, p, element(w.b, ledger_source, w.b.mul(i, ir.Constant(LONG, length)))])
    w.b.ret_void()
