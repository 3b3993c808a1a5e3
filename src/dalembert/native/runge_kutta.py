# SPDX-License-Identifier: BSD-3-Clause
"""One step of Runge and Kutta's classical method of order 4, as machine code."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from dalembert.native.assembly import DOUBLE, POINTER, element, load, number, store
from dalembert.native.parts import Parts, arrive, evaluate
from dalembert.native.step_control import FIXED_ABRUPT, FIXED_ROUNDING
from dalembert.native.writer import Writer

STAGES = ((0.0, 1 / 6), (0.5, 1 / 3), (0.5, 1 / 3), (1.0, 1 / 6))
"""How far along the slope before it each stage is taken, and its weight in the step."""


def write_runge_kutta(module: ir.Module, parts: Parts) -> ir.Function:
    """runge_kutta(y, t, h, p, work): y after one step, on the constraints; returns one if it is to be trusted."""
    w = Writer(module, "runge_kutta", (POINTER, DOUBLE, DOUBLE, POINTER, POINTER), DOUBLE)
    y, t, h, p, work = w.function.args
    slope, stage, y1 = (element(w.b, work, k * parts.stride) for k in range(3))
    sure = number(1.0)
    if parts.agree is not None:
        w.b.call(parts.agree, [y, t, p, slope])
        sure = load(w.b, slope, 0)
    for k, (along, weight) in enumerate(STAGES):
        if k:
            _move(w, parts, y, w.b.fmul(number(along), h), slope, stage)
        evaluate(w, parts, stage if k else y, w.b.fadd(t, w.b.fmul(number(along), h)), p, slope)
        sure = w.intrinsic("minnum", sure, load(w.b, slope, parts.size))
        _move(w, parts, y1 if k else y, w.b.fmul(number(weight), h), slope, y1)
    if parts.project is None:
        arrive(w, parts, y, y1, w.b.fadd(t, h), p)
        w.b.ret(sure)
        return w.function
    w.b.call(parts.project, [y1, w.b.fadd(t, h), p, stage])
    moved, step, size = (w.variable(DOUBLE, number(0.0)) for _ in range(3))
    for i in w.each(parts.size):
        for total, a, b in ((moved, stage, y1), (step, y1, y), (size, y1, None)):
            change = load(w.b, a, i) if b is None else w.b.fsub(load(w.b, a, i), load(w.b, b, i))
            w.b.store(w.b.fadd(w.get(total), w.b.fmul(change, change)), total)
    for i in w.each(parts.size):
        store(w.b, load(w.b, stage, i), y, i)
    most = w.b.fadd(w.b.fmul(number(FIXED_ABRUPT), w.get(step)), w.b.fmul(number(FIXED_ROUNDING), w.get(size)))
    near = w.b.fcmp_ordered("<=", w.get(moved), most)
    w.b.ret(w.b.select(near, sure, number(0.0)))
    return w.function


def _move(w: Writer, parts: Parts, y: Any, h: Any, slope: Any, to: Any) -> None:
    """y + h slope."""
    for i in w.each(parts.size):
        moved = w.b.fmul(h, load(w.b, slope, i), flags=("contract",))
        store(w.b, w.b.fadd(load(w.b, y, i), moved, flags=("contract",)), to, i)
