# SPDX-License-Identifier: BSD-3-Clause
"""The compiled outputs at times between steps, each reached by one step from the state before it."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from dalembert.native.assembly import DOUBLE, POINTER, element, load, number, store
from dalembert.native.integrator_parts import Parts
from dalembert.native.writer import LONG, Writer, whole


def write_sample(module: ir.Module, parts: Parts, reached: ir.Function, outputs: ir.Function, length: int) -> None:
    """Write sample(count, t0, y0, times, p, settings, states, outputs, validity, work): the outputs at each time.

    The last of ``outputs`` tells whether the equations are well conditioned. The validity is the product of that, of
    the result of ``reached``, and of the agreement of rows that are left out. The function returns at how many times
    the validity is one and all numbers are finite.
    """
    w = Writer(module, "sample", (LONG, *[POINTER] * 9), LONG)
    count, t0, y0, times, p, settings, states, values, validity, work = w.function.args
    complete = w.variable(LONG, whole(0))
    for i in w.each(count):
        row = w.b.mul(i, whole(parts.size))
        state, time = element(w.b, states, row), load(w.b, times, i)
        own = element(w.b, values, w.b.mul(i, whole(length)))
        # several outputs within one step share its first stage
        begun = _continues(w, parts, i, t0, y0, times)
        start = element(w.b, y0, row), load(w.b, t0, i)
        valid = w.b.call(reached, [*start, time, p, settings, state, work, begun])
        w.b.call(outputs, [state, time, p, own])
        valid = w.b.fmul(valid, load(w.b, own, length - 1))
        if parts.agree is not None:
            flag = element(w.b, work, (parts.stages + 2) * parts.stride)
            w.b.call(parts.agree, [state, time, p, flag])
            valid = w.b.fmul(valid, load(w.b, flag, 0))
        store(w.b, valid, validity, i)
        finite = w.b.and_(_are_finite(w, state, parts.size), _are_finite(w, own, length))
        good = w.b.and_(finite, w.b.fcmp_ordered("==", valid, number(1.0)))
        w.b.store(w.b.add(w.get(complete, LONG), w.b.zext(good, LONG)), complete)
    w.b.ret(w.get(complete, LONG))


def _continues(w: Writer, parts: Parts, i: Any, t0: Any, y0: Any, times: Any) -> Any:
    """Return whether a time is reached from the same state as the one before, to which a step was taken."""
    b = w.b
    # not −1 for the first time: the addresses below are read in any case
    before = b.select(b.icmp_signed(">", i, whole(0)), b.sub(i, whole(1)), i)
    now = load(b, t0, before)
    stepped = b.and_(b.icmp_signed(">", i, whole(0)), b.fcmp_ordered(">", load(b, times, before), now))
    same = w.variable(ir.IntType(1), b.and_(stepped, b.fcmp_ordered("==", load(b, t0, i), now)))
    with b.if_then(w.get(same, ir.IntType(1))):
        for j in w.each(parts.size):
            own, other = (load(b, y0, b.add(b.mul(k, whole(parts.size)), j)) for k in (i, before))
            b.store(b.and_(w.get(same, ir.IntType(1)), b.fcmp_ordered("==", own, other)), same)
    return w.get(same, ir.IntType(1))


def _are_finite(w: Writer, values: Any, count: int) -> Any:
    """Return whether all of some numbers are finite."""
    zero = w.variable(DOUBLE, number(0.0))
    for i in w.each(count):
        # 0·x is NaN unless x is finite: a sum without a branch
        w.b.store(w.b.fadd(w.get(zero), w.b.fmul(load(w.b, values, i), number(0.0))), zero)
    return w.b.fcmp_ordered("==", w.get(zero), number(0.0))
