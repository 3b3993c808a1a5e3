# SPDX-License-Identifier: BSD-3-Clause
"""The integrator as machine code: Dormand and Prince's method of order 8 with adaptive steps, a projection after each.

Written for LLVM rather than in Python because a step of a small system takes a microsecond: any interpreter, and the
bookkeeping of a general integrator, costs ten times the arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from dalembert.native.assembly import DOUBLE, POINTER, element, load, number, store, write_program
from dalembert.native.dormand_prince import ERROR_3, ERROR_5, FROM_EARLIER, NODES, RESULT, Factors
from dalembert.native.tape import Program
from dalembert.native.writer import LONG, Writer

STAGES = len(NODES)
MORE, FINISHED, DECLINED = range(3)
"""How a stretch of steps ends: no room for more of them, at the last time, or before a step that it will not take."""

INTEGRATE = (POINTER, POINTER, DOUBLE, POINTER, POINTER, POINTER, LONG, *[POINTER] * 4)
"""Arguments of ``integrate``: y, t, end, h, p, settings, room, times, states, rejected, work."""

SHORTEST, LONGEST, CAUTION = 0.2, 5.0, 0.9
"""Bounds for the ratio of two steps, and how much shorter than predicted to be on the safe side."""

LONGEST_AT_REST = 2.0
"""The bound on growth where the error estimate is exactly zero: nothing is known then about what lies ahead."""

ABRUPT = 1e3
"""A step is rejected if its projection moves the state by more than this multiple of the tolerance. Truncation errors
leave the state within a few tolerances of the constraints; what moves it farther is a jump of a constraint."""

INACCURATE = 10.0
"""An output is not accepted if its error estimate exceeds the tolerance by this factor. It is reached by a part of an
accepted step, so that in a smooth motion its error is below that of the step."""

UNRELIABLE = 0.25
"""What ``reached`` returns for such an output, instead of one."""


RTOL, LEAST_STEP, MOST_STEP, ATOL = range(4)
"""Places in the settings of an adaptive integration; the absolute tolerances of all components are the last."""


def settings_of(t: float, end: float, rtol: float, atol: Any, max_step: float, size: int) -> NDArray[np.float64]:
    """The settings of an integration from t to ``end``; ``atol`` is a number, or one for each component."""
    found = np.empty(ATOL + size)
    # time itself must still resolve a step
    found[:ATOL] = rtol, max(4 * np.spacing(abs(t)), 1e-18 * (end - t)), max_step
    found[ATOL:] = atol
    return found


@dataclass(frozen=True)
class Parts:
    """The straight-line functions that a stepper is made of; ``project`` and ``agree`` may be missing."""

    n: int
    accelerate: ir.Function
    project: ir.Function | None
    agree: ir.Function | None

    @property
    def size(self) -> int:
        return 2 * self.n

    @property
    def stride(self) -> int:
        """Doubles per stage: (q̇, q̈), and whether to trust them."""
        return self.size + 1

    @property
    def workspace(self) -> int:
        """Doubles of working memory: the stages, the state of a stage, the new state, one more."""
        return STAGES * self.stride + 3 * self.stride


def write_parts(
    module: ir.Module, n: int, accelerate: Program, project: Program | None, agree: Program | None
) -> Parts:
    """Programs as functions of a module."""

    def written(name: str, program: Program | None) -> ir.Function | None:
        return None if program is None else write_program(module, name, program, hot=True)

    return Parts(
        n,
        write_program(module, "accelerate", accelerate, hot=True),
        written("project", project),
        written("agree", agree),
    )


class Stepper(NamedTuple):
    """``integrate`` and ``reached``, as functions of a module."""

    integrate: ir.Function
    reached: ir.Function


def write_stepper(module: ir.Module, parts: Parts) -> Stepper:
    """Add ``integrate`` and ``reached`` to a module."""
    step, error, moved = _write_step(module, parts), _write_error(module, parts), _write_moved(module, parts)
    return Stepper(
        _write_integrate(module, parts, step, error, moved), _write_reached(module, parts, step, error, moved)
    )


def _blend(w: Writer, parts: Parts, k: Any, i: Any, factors: Factors) -> Any:
    """Component i of a combination of stages."""
    total: Any = number(0.0)
    for stage, factor in factors.items():
        slope = load(w.b, k, w.b.add(i, ir.Constant(LONG, stage * parts.stride)))
        total = w.b.fadd(total, w.b.fmul(number(factor), slope, flags=("contract",)), flags=("contract",))
    return total


def evaluate(w: Writer, parts: Parts, y: Any, t: Any, p: Any, k: Any) -> None:
    """k = (q̇, q̈, trusted) at a state."""
    for i in w.each(parts.n):
        store(w.b, load(w.b, y, w.b.add(i, ir.Constant(LONG, parts.n))), k, i)
    w.b.call(parts.accelerate, [y, t, p, element(w.b, k, parts.n)])


def _write_step(module: ir.Module, parts: Parts) -> ir.Function:
    """step(y, t, h, p, k, stage, y1): y1 after one step from y; k holds the first stage already."""
    w = Writer(module, "step", (POINTER, DOUBLE, DOUBLE, POINTER, POINTER, POINTER, POINTER))
    y, t, h, p, k, stage, y1 = w.function.args

    def combine(factors: Factors, to: Any) -> None:
        for i in w.each(parts.size):
            moved = w.b.fmul(h, _blend(w, parts, k, i, factors), flags=("contract",))
            store(w.b, w.b.fadd(load(w.b, y, i), moved, flags=("contract",)), to, i)

    for s in range(1, STAGES):
        combine(FROM_EARLIER[s], stage)
        time = w.b.fadd(t, w.b.fmul(number(NODES[s]), h))
        evaluate(w, parts, stage, time, p, element(w.b, k, s * parts.stride))
    combine(RESULT, y1)
    w.b.ret_void()
    return w.function


def allowed(w: Writer, settings: Any, i: Any, size: Any) -> Any:
    """The tolerance of component i, whose absolute value is ``size``."""
    atol = load(w.b, settings, w.b.add(i, ir.Constant(LONG, ATOL)))
    return w.b.fadd(atol, w.b.fmul(load(w.b, settings, RTOL), size))


def _write_error(module: ir.Module, parts: Parts) -> ir.Function:
    """error(y, y1, h, k, settings): the estimated error of a step over the tolerance, NaN if a stage is not valid.

    Two estimates are combined as by Hairer, Nørsett and Wanner.
    """
    w = Writer(module, "error", (POINTER, POINTER, DOUBLE, POINTER, POINTER), DOUBLE)
    y, y1, h, k, settings = w.function.args
    with w.b.if_then(w.b.not_(_all_trusted(w, parts, k)), likely=False):
        w.b.ret(number(float("nan")))
    sums = [w.variable(DOUBLE, number(0.0)) for _ in range(2)]
    for i in w.each(parts.size):
        largest = w.intrinsic("maxnum", *(w.intrinsic("fabs", load(w.b, x, i)) for x in (y, y1)))
        tolerance = allowed(w, settings, i, largest)
        for total, factors in zip(sums, (ERROR_5, ERROR_3), strict=True):
            share = w.b.fdiv(_blend(w, parts, k, i, factors), tolerance)
            w.b.store(w.b.fadd(w.get(total), w.b.fmul(share, share)), total)
    fifth, third = map(w.get, sums)
    both = w.b.fadd(fifth, w.b.fmul(number(0.01), third))
    size = w.intrinsic("sqrt", w.b.fmul(both, number(parts.size)))
    quotient = w.b.fdiv(w.b.fmul(w.intrinsic("fabs", h), fifth), size)
    w.b.ret(w.b.select(w.b.fcmp_ordered("==", fifth, number(0.0)), number(0.0), quotient))
    return w.function


def _write_moved(module: ir.Module, parts: Parts) -> ir.Function | None:
    """moved(y1, y, settings): how far a projection moved the state, as the largest multiple of a tolerance."""
    if parts.project is None:
        return None
    w = Writer(module, "moved", (POINTER, POINTER, POINTER), DOUBLE)
    y1, y, settings = w.function.args
    most = w.variable(DOUBLE, number(0.0))
    for i in w.each(parts.size):
        before, after = load(w.b, y1, i), load(w.b, y, i)
        size = w.intrinsic("maxnum", *(w.intrinsic("fabs", x) for x in (before, after)))
        share = w.b.fdiv(w.intrinsic("fabs", w.b.fsub(after, before)), allowed(w, settings, i, size))
        # not "maxnum", which would lose a NaN
        w.b.store(w.b.select(w.b.fcmp_ordered("<=", share, w.get(most)), w.get(most), share), most)
    w.b.ret(w.get(most))
    return w.function


def _all_trusted(w: Writer, parts: Parts, k: Any) -> Any:
    """Whether every stage of a step is to be trusted."""
    least: Any = number(1.0)
    for stage in range(STAGES):
        least = w.intrinsic("minnum", least, load(w.b, k, stage * parts.stride + parts.size))
    return w.b.fcmp_ordered(">", least, number(0.5))


def _write_integrate(
    module: ir.Module, parts: Parts, step: ir.Function, error_of: ir.Function, moved: ir.Function | None
) -> ir.Function:
    """integrate(…) -> steps · 3 + ending, with arguments as in ``INTEGRATE``.

    y, t[0] and h[0] are where to start and the step to try; they are kept up to date, for the next stretch.
    """
    w = Writer(module, "integrate", INTEGRATE, LONG)
    y, t, end, h, p, settings, room, times, states, rejected, work = w.function.args
    k = work
    stage, y1, said = (element(w.b, work, (STAGES + j) * parts.stride) for j in range(3))
    taken = w.variable(LONG, ir.Constant(LONG, 0))
    most = w.variable(DOUBLE, number(LONGEST))

    def leave(ending: int) -> None:
        w.b.ret(w.b.add(w.b.mul(w.get(taken, LONG), ir.Constant(LONG, 3)), ir.Constant(LONG, ending)))

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
        root = w.intrinsic("sqrt", w.intrinsic("sqrt", w.intrinsic("sqrt", error)))
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
                _keep(w, parts, y, reached, times, states, taken)
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


def _keep(w: Writer, parts: Parts, y: Any, t: Any, times: Any, states: Any, taken: Any) -> None:
    """One more step in the record."""
    count = w.get(taken, LONG)
    store(w.b, t, times, count)
    for i in w.each(parts.size):
        store(w.b, load(w.b, y, i), states, w.b.add(w.b.mul(count, ir.Constant(LONG, parts.size)), i))
    w.b.store(w.b.add(count, ir.Constant(LONG, 1)), taken)


def arrive(w: Writer, parts: Parts, y: Any, y1: Any, t: Any, p: Any) -> None:
    """y becomes y1, on the constraints."""
    if parts.project is not None:
        w.b.call(parts.project, [y1, t, p, y])
        return
    for i in w.each(parts.size):
        store(w.b, load(w.b, y1, i), y, i)


def _write_reached(
    module: ir.Module, parts: Parts, step: ir.Function, error_of: ir.Function, moved: ir.Function | None
) -> ir.Function:
    """reached(y0, t0, time, p, settings, y, work): the state at a time, by one full step, and whether to trust it.

    It returns one, zero where the motion is not to be trusted, or ``UNRELIABLE`` where the step itself is not accurate.
    Interpolating between steps instead would lose several orders.
    """
    w = Writer(module, "reached", (POINTER, DOUBLE, DOUBLE, *[POINTER] * 4), DOUBLE)
    start, now, time, p, settings, state, k = w.function.args
    stage, y1, said = (element(w.b, k, (STAGES + j) * parts.stride) for j in range(3))
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


def write_sample(module: ir.Module, parts: Parts, reached: ir.Function, account: ir.Function, told: int) -> None:
    """sample(count, t0, y0, times, p, settings, states, told, trusted, work): state and account at each time."""
    w = Writer(module, "sample", (LONG, *[POINTER] * 9))
    count, t0, y0, times, p, settings, states, accounts, trusted, work = w.function.args
    for i in w.each(count):
        row = w.b.mul(i, ir.Constant(LONG, parts.size))
        state, time = element(w.b, states, row), load(w.b, times, i)
        sure = w.b.call(reached, [element(w.b, y0, row), load(w.b, t0, i), time, p, settings, state, work])
        store(w.b, sure, trusted, i)
        w.b.call(account, [state, time, p, element(w.b, accounts, w.b.mul(i, ir.Constant(LONG, told)))])
    w.b.ret_void()
