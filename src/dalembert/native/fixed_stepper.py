# SPDX-License-Identifier: BSD-3-Clause
"""The compiled integrator with fixed steps, each followed by a projection."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from dalembert.native.assembly import DOUBLE, POINTER, element, load, number, store
from dalembert.native.integrator_parts import Parts, arrive, evaluate
from dalembert.native.step_control import FIXED_ABRUPT, FIXED_ROUNDING
from dalembert.native.step_functions import StepFunctions
from dalembert.native.stepper import (
    FINISHED,
    HAND_OVER,
    INTEGRATE,
    LAST_STEP_SLACK,
    MORE,
    REACHED,
    Stepper,
    ending,
    keep_step,
)
from dalembert.native.tableau import Tableau
from dalembert.native.writer import LONG, Writer


def write_fixed_stepper(module: ir.Module, parts: Parts, functions: StepFunctions) -> Stepper:
    """Add ``integrate`` and ``reached`` to a module, with the same arguments as for adaptive steps."""
    step = write_fixed_step(module, parts, functions)
    return Stepper(_write_integrate(module, parts, step), _write_reached(module, parts, step))


def write_fixed_step(module: ir.Module, parts: Parts, functions: StepFunctions) -> ir.Function:
    """Write fixed_step(y, t, h, p, settings, work), which replaces y by the projected state after one step.

    It returns one if all stages are well conditioned and the projection is small, else zero.
    """
    w = Writer(module, "fixed_step", (POINTER, DOUBLE, DOUBLE, *[POINTER] * 3), DOUBLE)
    y, t, h, p, settings, work = w.function.args
    slopes, stage, y1 = (element(w.b, work, k * parts.stride) for k in (0, parts.stages, parts.stages + 1))
    valid = number(1.0)
    if parts.agree is not None:
        w.b.call(parts.agree, [y, t, p, stage])
        valid = load(w.b, stage, 0)
    if isinstance(parts.tableau, Tableau) and parts.tableau.is_chain:
        valid = _accumulate(w, parts, parts.tableau, valid, (y, t, h, p), (slopes, stage, y1))
    else:
        functions.begin(w, parts, y, t, p, slopes)
        w.b.call(functions.step, [y, t, h, p, slopes, stage, y1, settings])
        for s in range(parts.stages):
            valid = w.intrinsic("minnum", valid, load(w.b, slopes, s * parts.stride + parts.size))
    later = w.b.fadd(t, h)
    if parts.project is None:
        arrive(w, parts, y, y1, later, p)
        zero = w.variable(DOUBLE, number(0.0))
        for i in w.each(parts.size):  # x − x is zero only for finite numbers
            x = load(w.b, y, i)
            w.b.store(w.b.fadd(w.get(zero), w.b.fsub(x, x)), zero)
        is_finite = w.b.fcmp_ordered("==", w.get(zero), number(0.0))
        w.b.ret(w.b.select(is_finite, valid, number(0.0)))
        return w.function
    w.b.call(parts.project, [y1, later, p, stage])
    # compare the distance of the projection with the step and with the rounding of the state, all squared
    moved, step, size = (w.variable(DOUBLE, number(0.0)) for _ in range(3))
    for i in w.each(parts.size):
        for total, a, b in ((moved, stage, y1), (step, y1, y), (size, y1, None)):
            change = load(w.b, a, i) if b is None else w.b.fsub(load(w.b, a, i), load(w.b, b, i))
            w.b.store(w.b.fadd(w.get(total), w.b.fmul(change, change)), total)
    most = w.b.fadd(w.b.fmul(number(FIXED_ABRUPT), w.get(step)), w.b.fmul(number(FIXED_ROUNDING), w.get(size)))
    near = w.b.fcmp_ordered("<=", w.get(moved), most)
    for i in w.each(parts.size):
        store(w.b, load(w.b, stage, i), y, i)
    w.b.ret(w.b.select(near, valid, number(0.0)))
    return w.function


def _accumulate(w: Writer, parts: Parts, tableau: Tableau, valid: Any, inputs: Any, memory: Any) -> Any:
    """Compute y1 by a method whose stages depend only on the previous one, and return the validity.

    Only one slope is kept, which a GPU can hold in registers.
    """
    (y, t, h, p), (slope, stage, y1) = inputs, memory
    for s, node in enumerate(tableau.nodes):
        if s:
            _move(w, parts, y, w.b.fmul(number(tableau.stages[s][s - 1]), h), slope, stage)
        evaluate(w, parts, stage if s else y, w.b.fadd(t, w.b.fmul(number(node), h)), p, slope)
        valid = w.intrinsic("minnum", valid, load(w.b, slope, parts.size))
        _move(w, parts, y1 if s else y, w.b.fmul(number(tableau.result.get(s, 0.0)), h), slope, y1)
    return valid


def _move(w: Writer, parts: Parts, y: Any, h: Any, slope: Any, to: Any) -> None:
    """Store y + h · slope."""
    for i in w.each(parts.size):
        moved = w.b.fmul(h, load(w.b, slope, i), flags=("contract",))
        store(w.b, w.b.fadd(load(w.b, y, i), moved, flags=("contract",)), to, i)


def _write_integrate(module: ir.Module, parts: Parts, step: ir.Function) -> ir.Function:
    """Write integrate(…) as for adaptive steps; h[0] is the length of all steps, of which the last may be shorter."""
    w = Writer(module, "integrate", INTEGRATE, LONG)
    y, t, end, h, p, settings, room, times, states, _, work = w.function.args
    taken = w.variable(LONG, ir.Constant(LONG, 0))
    wanted = load(w.b, h, 0)
    before = element(w.b, work, (parts.stages + 2) * parts.stride)
    with w.endless_loop():
        now = load(w.b, t, 0)
        left = w.b.fsub(end, now)
        last = w.b.fcmp_ordered(">=", w.b.fmul(wanted, number(1 + LAST_STEP_SLACK)), left)
        # the state before the step is kept: a refused step must leave y unchanged for the general integrator
        for i in w.each(parts.size):
            store(w.b, load(w.b, y, i), before, i)
        valid = w.b.call(step, [y, now, w.b.select(last, left, wanted), p, settings, work])
        # unordered: a validity of NaN counts as zero
        with w.b.if_then(w.b.fcmp_unordered("<", valid, number(0.5)), likely=False):
            for i in w.each(parts.size):
                store(w.b, load(w.b, before, i), y, i)
            w.b.ret(ending(w, taken, HAND_OVER))
        # exactly the end: rounding of the sum would leave a tiny step over
        reached = w.b.select(last, end, w.b.fadd(now, wanted))
        store(w.b, reached, t, 0)
        keep_step(w, parts, y, reached, times, states, taken)
        with w.b.if_then(last, likely=False):
            w.b.ret(ending(w, taken, FINISHED))
        with w.b.if_then(w.b.icmp_signed(">=", w.get(taken, LONG), room), likely=False):
            w.b.ret(ending(w, taken, MORE))
    return w.function


def _write_reached(module: ir.Module, parts: Parts, step: ir.Function) -> ir.Function:
    """Write reached(y0, t0, time, p, settings, y, work, begun): y is the state at a time, by one step from (t0, y0).

    It returns one if the step is well conditioned, else zero. Fixed steps have no error estimate: outputs are as
    accurate as steps. All stages are computed, ``begun`` or not: there are few outputs within a fixed step.
    """
    w = Writer(module, "reached", REACHED, DOUBLE)
    start, now, time, p, settings, state, work, _ = w.function.args
    for i in w.each(parts.size):
        store(w.b, load(w.b, start, i), state, i)
    well_conditioned = w.variable(DOUBLE, number(1.0))
    with w.b.if_then(w.b.fcmp_ordered(">", time, now)):
        w.b.store(w.b.call(step, [state, now, w.b.fsub(time, now), p, settings, work]), well_conditioned)
    w.b.ret(w.get(well_conditioned))
    return w.function
