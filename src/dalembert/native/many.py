# SPDX-License-Identifier: BSD-3-Clause
"""Many motions one after another without leaving machine code, so that every core can be busy with its own."""

from __future__ import annotations

from llvmlite import ir

from dalembert.native.assembly import DOUBLE, POINTER, element, load, number, store
from dalembert.native.stepper import DECLINED, FINISHED, LONG, Parts, Writer


def write_many(module: ir.Module, parts: Parts, first_step: ir.Function) -> None:
    """many(count, y, p, numbers, times, outputs, rtol, atol, shortest, room, states, endings, buffers, work).

    Members with states y (count, 2n) and ``numbers`` parameters each move from the first of ``times`` to the last;
    their states at all of them go to ``states`` (count, outputs, 2n), how it ended to ``endings`` (count,). ``buffers``
    holds ``room`` steps, times and states, and a little more; who needs more steps, or one that is declined, is left.
    """
    P, D = POINTER, DOUBLE
    w = Writer(module, "many", (LONG, P, P, LONG, P, LONG, D, D, D, LONG, P, P, P, P))
    count, y, p, numbers, times, outputs, rtol, atol, shortest, room, states, endings, buffers, work = w.function.args
    size = ir.Constant(LONG, parts.size)
    taken_at, taken, state = (element(w.b, buffers, place) for place in (0, room, w.b.mul(room, w.b.add(size, one(1)))))
    clock, step, rejected = (element(w.b, state, parts.size + k) for k in range(3))
    begin, end = load(w.b, times, 0), load(w.b, times, w.b.sub(outputs, one(1)))
    with w.each(count) as i:
        start, own = element(w.b, y, w.b.mul(i, size)), element(w.b, p, w.b.mul(i, numbers))
        with w.each(parts.size) as j:
            store(w.b, load(w.b, start, j), state, j)
        store(w.b, begin, clock, 0)
        store(w.b, number(0.0), rejected, 0)
        store(w.b, w.b.call(first_step, [start, begin, end, own, rtol, atol, work]), step, 0)
        given = [state, clock, end, step, own, rtol, atol, shortest, room, taken_at, taken, rejected, work]
        code = w.b.call(module.globals["integrate"], given)
        store(w.b, w.b.sitofp(w.b.srem(code, one(3)), DOUBLE), endings, i)
        with w.b.if_then(w.b.icmp_signed("==", w.b.srem(code, one(3)), one(FINISHED))):
            out = element(w.b, states, w.b.mul(i, w.b.mul(outputs, size)))
            found = [outputs, times, start, w.b.sdiv(code, one(3)), taken_at, taken, own, out, work]
            sure = w.b.call(_write_reach(module, parts), found)
            with w.b.if_then(w.b.fcmp_unordered("<", sure, number(0.5))):
                store(w.b, number(float(DECLINED)), endings, i)
    w.b.ret_void()


def write_each(module: ir.Module, name: str, program: ir.Function, size: int, told: int) -> None:
    """name(count, y, t, p, numbers, out): a program at many states y (count, size), times and parameters."""
    w = Writer(module, name, (LONG, POINTER, POINTER, POINTER, LONG, POINTER))
    count, y, t, p, numbers, out = w.function.args
    with w.each(count) as i:
        places = (y, w.b.mul(i, one(size))), (p, w.b.mul(i, numbers)), (out, w.b.mul(i, one(told)))
        state, own, found = (element(w.b, array, place) for array, place in places)
        w.b.call(program, [state, load(w.b, t, i), own, found])
    w.b.ret_void()


def one(value: int) -> ir.Constant:
    return ir.Constant(LONG, value)


def _write_reach(module: ir.Module, parts: Parts) -> ir.Function:
    """reach(outputs, times, start, steps, taken_at, taken, p, out, work): states at times, each by a step of its own.

    Returns one if all of them are to be trusted.
    """
    P, D = POINTER, DOUBLE
    w = Writer(module, "reach", (LONG, P, P, LONG, P, P, P, P, P), D)
    outputs, times, start, steps, taken_at, taken, p, out, work = w.function.args
    size = ir.Constant(LONG, parts.size)
    before = w.variable(LONG, one(0))
    sure = w.variable(DOUBLE, number(1.0))
    with w.each(outputs) as i:
        time = load(w.b, times, i)
        _advance(w, before, steps, taken_at, time)
        k = w.get(before, LONG)
        none = w.b.icmp_signed("==", k, one(0))
        last = w.b.select(none, one(0), w.b.sub(k, one(1)))
        origin = w.b.select(none, start, element(w.b, taken, w.b.mul(last, size)))
        now = w.b.select(none, load(w.b, times, 0), load(w.b, taken_at, last))
        place = element(w.b, out, w.b.mul(i, size))
        flag = w.b.call(module.globals["reached"], [origin, now, time, p, place, work])
        w.b.store(w.intrinsic("minnum", w.get(sure), flag), sure)
    w.b.ret(w.get(sure))
    return w.function


def _advance(w: Writer, before: ir.Value, steps: ir.Value, taken_at: ir.Value, time: ir.Value) -> None:
    """Count on while the next step ends no later than a time."""
    test, body, after = (w.b.append_basic_block() for _ in range(3))
    w.b.branch(test)
    w.b.position_at_end(test)
    k = w.get(before, LONG)
    # a step there is, and it is not later: read only where there is one
    there = w.b.icmp_signed("<", k, steps)
    safe = w.b.select(there, k, one(0))
    due = w.b.and_(there, w.b.fcmp_ordered("<=", load(w.b, taken_at, safe), time))
    w.b.cbranch(due, body, after)
    w.b.position_at_end(body)
    w.b.store(w.b.add(k, one(1)), before)
    w.b.branch(test)
    w.b.position_at_end(after)
