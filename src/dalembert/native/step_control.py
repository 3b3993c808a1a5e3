# SPDX-License-Identifier: BSD-3-Clause
"""Step control as machine code: the estimated error of a step, and the distance that a projection moved the state."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from dalembert.native.assembly import DOUBLE, POINTER, call, load, number
from dalembert.native.integrator_parts import Parts
from dalembert.native.tableau import Factors
from dalembert.native.writer import LONG, Writer

ABRUPT = 1e3
"""A step is rejected if its projection moves the state by more than this multiple of the tolerance. Truncation errors
leave the state within a few tolerances of the constraints; what moves it farther is a jump of a constraint."""

FIXED_ABRUPT, FIXED_ROUNDING = 0.25, 1e-12
"""A fixed step is refused if its projection moves the state, in squares, by more than these parts of what the step
changed and of the state itself."""

INACCURATE = 10.0
"""An output is not accepted if its error estimate exceeds the tolerance by this factor. It is reached by a part of an
accepted step, so that in a smooth motion its error is below that of the step."""

UNRELIABLE = 0.25
"""Returned by ``reached`` for such an output, instead of one."""


RTOL, LEAST_STEP, MOST_STEP, ATOL = range(4)
"""Places in the settings of an adaptive integration; the absolute tolerances of all components are the last."""


def settings_of(t: float, end: float, rtol: float, atol: Any, max_step: float, size: int) -> NDArray[np.float64]:
    """The settings of an integration from t to ``end``; ``atol`` is a number, or one for each component."""
    found = np.empty(ATOL + size)
    # time itself must still resolve a step
    found[:ATOL] = rtol, max(4 * np.spacing(abs(t)), 1e-18 * (end - t)), max_step
    found[ATOL:] = atol
    return found


def blend(w: Writer, parts: Parts, k: Any, i: Any, factors: Factors) -> Any:
    """Component i of a combination of stages."""
    total: Any = number(0.0)
    for stage, factor in factors.items():
        slope = load(w.b, k, w.b.add(i, ir.Constant(LONG, stage * parts.stride)))
        total = w.b.fadd(total, w.b.fmul(number(factor), slope, flags=("contract",)), flags=("contract",))
    return total


def allowed(w: Writer, settings: Any, i: Any, size: Any) -> Any:
    """The tolerance of component i, whose absolute value is ``size``."""
    atol = load(w.b, settings, w.b.add(i, ir.Constant(LONG, ATOL)))
    return w.b.fadd(atol, w.b.fmul(load(w.b, settings, RTOL), size))


def write_error(module: ir.Module, parts: Parts) -> ir.Function:
    """error(y, y1, h, k, settings): the estimated error of a step over the tolerance, NaN if a stage is not valid.

    The estimate is taken in the norm of the mean square; two are combined as by Hairer, Nørsett and Wanner.
    """
    w = Writer(module, "error", (POINTER, POINTER, DOUBLE, POINTER, POINTER), DOUBLE)
    y, y1, h, k, settings = w.function.args
    with w.b.if_then(w.b.not_(all_trusted(w, parts, k)), likely=False):
        w.b.ret(number(float("nan")))
    sums = [w.variable(DOUBLE, number(0.0)) for _ in parts.tableau.errors]
    for i in w.each(parts.size):
        largest = w.intrinsic("maxnum", *(w.intrinsic("fabs", load(w.b, x, i)) for x in (y, y1)))
        tolerance = allowed(w, settings, i, largest)
        for total, factors in zip(sums, parts.tableau.errors, strict=True):
            share = w.b.fdiv(blend(w, parts, k, i, factors), tolerance)
            w.b.store(w.b.fadd(w.get(total), w.b.fmul(share, share)), total)
    if len(sums) == 1:
        mean = w.intrinsic("sqrt", w.b.fdiv(w.get(sums[0]), number(parts.size)))
        w.b.ret(w.b.fmul(w.intrinsic("fabs", h), mean))
        return w.function
    fifth, third = map(w.get, sums)
    both = w.b.fadd(fifth, w.b.fmul(number(0.01), third))
    size = w.intrinsic("sqrt", w.b.fmul(both, number(parts.size)))
    quotient = w.b.fdiv(w.b.fmul(w.intrinsic("fabs", h), fifth), size)
    w.b.ret(w.b.select(w.b.fcmp_ordered("==", fifth, number(0.0)), number(0.0), quotient))
    return w.function


def root_of_order(w: Writer, parts: Parts, x: Any) -> Any:
    """The root of x whose degree is the order of the method: errors grow with that power of the step."""
    order = parts.tableau.order
    if order & (order - 1):
        return call(w.module, w.b, "pow", [x, number(1 / order)])
    for _ in range(order.bit_length() - 1):  # square roots are instructions of the processor
        x = w.intrinsic("sqrt", x)
    return x


def write_moved(module: ir.Module, parts: Parts) -> ir.Function | None:
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


def all_trusted(w: Writer, parts: Parts, k: Any) -> Any:
    """Whether every stage of a step is to be trusted."""
    least: Any = number(1.0)
    for stage in range(parts.stages):
        least = w.intrinsic("minnum", least, load(w.b, k, stage * parts.stride + parts.size))
    return w.b.fcmp_ordered(">", least, number(0.5))
