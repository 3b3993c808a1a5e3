# SPDX-License-Identifier: BSD-3-Clause
"""The compiled test that constraint rows keep their orientation from step to step.

det(A A'ᵀ) is positive wherever A A'ᵀ + A'Aᵀ is positive definite. With S = A + A' and D = A − A', twice that sum is
S Sᵀ − D Dᵀ: what is left of the motion of 2n coordinates with masses 1 and −1 under the rows (S, D) when the
coordinates are eliminated. So the pivots of a sparse elimination show it, in much less arithmetic than a determinant.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.equation import scalar_arithmetic as sl
from dalembert.lowering.programs import Programs
from dalembert.lowering.recorded_terms import RecordedTerms
from dalembert.native.addresses import address_of
from dalembert.native.assembly import (
    POINTER,
    UNOPTIMISED,
    MachineCode,
    element,
    load,
    number,
    processor_width,
    store,
    write_program,
)
from dalembert.native.elimination import eliminate, sparse_order
from dalembert.native.lanes import DOUBLE, LaneModule, spread, width_of
from dalembert.native.tape import Program
from dalembert.native.writer import LONG, Writer, whole


class OrientationTest:
    """Finds the steps of a batch in which the rows in use may change their orientation, in one call."""

    def __init__(self, programs: Programs):
        # steps are independent of one another: with one of them in each lane, eight take little longer than one
        module, n = LaneModule(processor_width()), programs.n
        kept = write_program(module, "kept", kept_orientation(programs), hot=False)
        write_uncertain_steps(module, kept, 2 * n, len(programs.source.parameters))
        self._code = MachineCode(module, selection=UNOPTIMISED)  # must be kept as long as its function
        kinds = ctypes.c_int64, *[ctypes.c_void_p] * 3, ctypes.c_double, ctypes.c_int64, ctypes.c_void_p
        self._uncertain = ctypes.CFUNCTYPE(ctypes.c_int64, *kinds)(self._code.address("uncertain"))

    def __call__(self, y: Floats, t: Floats, p: Floats, longest: float = np.inf, parts: int = 1) -> NDArray[np.int64]:
        """Return the steps between states y (k, 2n) at times (k,), by index, in which the orientation may change.

        Steps longer than ``longest`` are also examined inside, at the ends of so many parts, between which the motion
        is interpolated by cubics.
        """
        y, t = np.ascontiguousarray(y, float), np.ascontiguousarray(t, float)
        found = np.empty(len(t) - 1)
        arrays = address_of(y), address_of(t), address_of(p)
        count = self._uncertain(len(found), *arrays, longest, parts, address_of(found))
        return found[:count].astype(np.int64)


def write_uncertain_steps(module: LaneModule, kept: ir.Function, size: int, parameters: int) -> None:
    """Write uncertain(count, y, t, p, longest, parts, found) -> number: the indices of the uncertain steps."""
    w = Writer(module, "uncertain", (LONG, *[POINTER] * 3, DOUBLE, LONG, POINTER), LONG)
    # the loops are a small part of the time of a call, and optimising them takes as long as compiling all the rest
    w.function.attributes.add("optnone")
    w.function.attributes.add("noinline")
    count, y, t, p, longest, parts, found = w.function.args
    ends, times, pair = w.array(2 * size), w.array(2), w.array(2 * size)
    own, flag = w.array(parameters + 1), w.array(1)
    uncertain, lost = w.variable(LONG, whole(0)), w.variable(w.real, w.number(0.0))
    for j in w.each(parameters):
        store(w.b, spread(w.b, _number(w, p, j)), own, j)

    def compare(states: Any, before: Any, after: Any, examined: Any) -> None:
        store(w.b, after, own, parameters)
        w.b.call(kept, [states, before, own, flag])
        less = w.b.select(examined, w.b.fsub(w.number(1.0), load(w.b, flag, 0)), w.number(0.0))
        w.b.store(w.b.fadd(w.get(lost), less), lost)

    for group in w.each(w.b.sdiv(w.b.add(count, whole(module.width - 1)), whole(module.width))):
        first = w.b.mul(group, whole(module.width))
        for k in w.each(module.width):
            # lanes beyond the last step repeat it
            step = _smaller(w, w.b.add(first, k), w.b.sub(count, whole(1)))
            _gather(w, y, w.b.mul(step, whole(size)), ends, k, 2 * size)
            _gather(w, t, step, times, k, 2)
        start, end = load(w.b, times, 0), load(w.b, times, 1)
        w.b.store(w.number(0.0), lost)
        compare(ends, start, end, w.number(True))
        length = w.b.fsub(end, start)
        long = w.b.fcmp_ordered(">", length, spread(w.b, longest))
        # a row may turn by half a circle and back within a long step, and its ends would not show it
        with w.b.if_then(w.any(long), likely=False):
            part = w.b.fdiv(number(1.0), w.b.sitofp(parts, DOUBLE))
            _copy(w, ends, pair, size)
            following = element(w.b, pair, size)
            for i in w.each(parts):
                places = [spread(w.b, w.b.fmul(w.b.sitofp(k, DOUBLE), part)) for k in (i, w.b.add(i, whole(1)))]
                before, after = (w.b.fadd(start, w.b.fmul(length, place)) for place in places)
                _interpolate(w, ends, length, places[1], following, size)
                compare(pair, before, after, long)
                _copy(w, following, pair, size)
        with w.b.if_then(w.any(w.b.fcmp_unordered(">", w.get(lost), w.number(0.0))), likely=False):
            store(w.b, w.get(lost), flag, 0)
            for k in w.each(_smaller(w, whole(module.width), w.b.sub(count, first))):
                with w.b.if_then(w.b.fcmp_unordered(">", _number(w, flag, k), number(0.0))):
                    place = w.get(uncertain, LONG)
                    w.b.store(w.b.sitofp(w.b.add(first, k), DOUBLE), _address(w, found, place))
                    w.b.store(w.b.add(place, whole(1)), uncertain)
    w.b.ret(w.get(uncertain, LONG))


def _smaller(w: Writer, i: Any, j: Any) -> Any:
    return w.b.select(w.b.icmp_signed("<", i, j), i, j)


def _address(w: Writer, array: Any, place: Any) -> Any:
    """Return the address of one double, in an array of doubles or of numbers of several lanes."""
    return w.b.gep(array, [place], source_etype=DOUBLE)


def _number(w: Writer, array: Any, place: Any) -> Any:
    return w.b.load(_address(w, array, place), typ=DOUBLE)


def _gather(w: Writer, source: Any, first: Any, to: Any, k: Any, count: int) -> None:
    """Copy doubles, from the first one on, to lane k of numbers."""
    for j in w.each(count):
        place = w.b.add(w.b.mul(j, whole(width_of(w.module))), k)
        w.b.store(_number(w, source, w.b.add(first, j)), _address(w, to, place))


def _copy(w: Writer, source: Any, target: Any, count: int) -> None:
    for i in w.each(count):
        store(w.b, load(w.b, source, i), target, i)


def _interpolate(w: Writer, states: Any, h: Any, s: Any, to: Any, size: int) -> None:
    """Store the state at a place s in a step of length h, by the cubics through the states at its ends."""
    b, n = w.b, size // 2
    r = b.fsub(w.number(1.0), s)
    both = b.fmul(r, s)
    # h₀₀ and h₀₁ of Hermite, and for the velocities their slopes, which differ by the sign only
    rising = b.fmul(b.fmul(s, s), b.fsub(w.number(3.0), b.fmul(w.number(2.0), s)))
    slope = b.fdiv(b.fmul(w.number(6.0), both), h)
    slopes = b.fsub(r, b.fmul(w.number(2.0), s)), b.fsub(s, b.fmul(w.number(2.0), r))
    for i in w.each(n):
        at = [b.add(i, whole(k * n)) for k in range(4)]
        q0, v0, q1, v1 = (load(b, states, place) for place in at)
        moved = b.fsub(q1, q0)
        bent = b.fmul(b.fmul(h, both), b.fsub(b.fmul(r, v0), b.fmul(s, v1)))
        store(b, b.fadd(b.fadd(q0, b.fmul(rising, moved)), bent), to, i)
        turned = b.fadd(b.fmul(b.fmul(r, slopes[0]), v0), b.fmul(b.fmul(s, slopes[1]), v1))
        store(b, b.fadd(b.fmul(slope, moved), turned), to, at[1])


def kept_orientation(programs: Programs) -> Program:
    """Record one if the rows in use clearly have the same orientation at two states, else zero.

    In y the first state is followed by the second one, whose time is one more parameter.
    """
    first = RecordedTerms(programs)
    n, tape = programs.n, first.tape
    following = [tape.input("y", 2 * n + i) for i in range(2 * n)]
    second = first.at(following[:n], following[n:], tape.input("p", len(programs.source.parameters)))
    pairs = [(first.row(k), second.row(k)) for k in programs.rows]
    rows = [[*sl.plus(before, after), *sl.minus(before, after)] for before, after in pairs]
    # their negative half makes the Gram matrix of the rows S Sᵀ − D Dᵀ
    masses = [[(1 if i < n else -1) if i == j else 0 for j in range(2 * n)] for i in range(2 * n)]
    touched = [{i for i, entry in enumerate(row) if not sl.is_number(entry, 0)} for row in rows]
    order = sparse_order([set[int]() for _ in masses], touched, [0] * len(rows))
    found = eliminate(masses, rows, order)
    kept: Any = True
    for unknown, pivot, least in zip(found.order, found.pivots, found.smallest, strict=True):
        if unknown >= 2 * n:  # the pivots of multipliers are negative
            kept = tape.record("and", kept, tape.record("<", least, sl.sub(0, pivot)))
    return Program(tape, [tape.record("select", kept, 1.0, 0.0)])
