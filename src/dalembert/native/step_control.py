# SPDX-License-Identifier: BSD-3-Clause
"""Compiled step control: the estimated error of a step, and the distance by which projection moves the state."""

from __future__ import annotations

from math import ulp
from typing import Any

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from dalembert.native.assembly import DOUBLE, POINTER, library_function, load, number
from dalembert.native.collocation import Collocation
from dalembert.native.elementary import per_lane
from dalembert.native.integrator_parts import Memory, Parts
from dalembert.native.tableau import Factors
from dalembert.native.writer import LONG, Writer

SAFETY_FACTOR = 0.9
"""The safety factor of the predicted step."""

ABRUPT_DISTANCE = 1e3
"""A step is rejected if its projection moves the state by more than this multiple of the tolerance. Truncation errors
leave the state within a few tolerances of the constraints; a larger distance shows a jump of a constraint."""

FIXED_ABRUPT, FIXED_ROUNDING = 0.25, 1e-12
"""A fixed step is refused if the squared distance of its projection exceeds these fractions of the squared step and of
the squared state: half of the step, and the rounding of a state that does not move."""

INACCURACY_FACTOR = 10.0
"""An output is not accepted if its error estimate exceeds the tolerance by this factor. It is reached by a part of an
accepted step, so that in a smooth motion its error is below that of the step."""

UNRELIABLE_OUTPUT = 0.25
"""The validity that ``reached`` returns for such an output, instead of one."""

SHORTEST_SPAN = 1e-18
"""Shortest step relative to the span: starting at t = 0, where the spacing of time is no bound, this one is."""

RTOL, LEAST_STEP, MOST_STEP, ATOL = range(4)
"""Indices in the settings of an adaptive integration; from the last one on, the absolute tolerances follow."""


def least_step(t: float, end: float) -> float:
    """Return the length of the shortest step from t, which the rounding of time must still resolve."""
    return max(4 * ulp(t), SHORTEST_SPAN * (end - t))


def settings_of(t: float, end: float, rtol: float, atol: Any, max_step: float, size: int) -> NDArray[np.float64]:
    """Return the settings of an integration from t to ``end``; ``atol`` is one number, or one for each component."""
    found = np.empty(ATOL + size)
    found[:ATOL] = rtol, least_step(t, end), max_step
    found[ATOL:] = atol
    return found


def blend(w: Writer, parts: Parts, k: Any, i: Any, factors: Factors) -> Any:
    """Return component i of a linear combination of stages."""
    total: Any = number(0.0)
    for stage, factor in factors.items():
        slope = load(w.b, k, w.b.add(i, ir.Constant(LONG, stage * parts.stride)))
        total = w.b.fadd(total, w.b.fmul(number(factor), slope, flags=("contract",)), flags=("contract",))
    return total


def allowed(w: Writer, settings: Any, i: Any, size: Any) -> Any:
    """Return the tolerance of component i, whose absolute value is ``size``."""
    atol = load(w.b, settings, w.b.add(i, ir.Constant(LONG, ATOL)))
    return w.b.fadd(atol, w.b.fmul(load(w.b, settings, RTOL), size))


def write_error(module: ir.Module, parts: Parts) -> ir.Function:
    """Write error(y, y1, h, k, settings): the error of a step relative to the tolerance, or NaN for an invalid stage.

    The estimate is taken in the root-mean-square norm; two estimates, of orders 5 and 3, are combined as in DOP853 of
    Hairer, Nørsett and Wanner.
    """
    w = Writer(module, "error", (POINTER, POINTER, DOUBLE, POINTER, POINTER), DOUBLE)
    y, y1, h, k, settings = w.function.args
    with w.b.if_then(w.b.not_(all_valid(w, parts, k)), likely=False):
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
        found = w.b.fmul(w.intrinsic("fabs", h), mean)
        if isinstance(parts.tableau, Collocation):  # slow convergence of the stages limits the next step as well
            slowness = load(w.b, Memory(w, parts, k).slowness, 0)
            # not "maxnum", which would drop a NaN
            found = w.b.select(w.b.fcmp_ordered("<", found, slowness), slowness, found)
        w.b.ret(found)
        return w.function
    # combined, the two estimates behave like h⁸, the order of the method
    fifth, third = map(w.get, sums)
    both = w.b.fadd(fifth, w.b.fmul(number(0.01), third))
    size = w.intrinsic("sqrt", w.b.fmul(both, number(parts.size)))
    quotient = w.b.fdiv(w.b.fmul(w.intrinsic("fabs", h), fifth), size)
    w.b.ret(w.b.select(w.b.fcmp_ordered("==", fifth, number(0.0)), number(0.0), quotient))
    return w.function


def root_of_order(w: Writer, parts: Parts, x: Any) -> Any:
    """Return the root of x whose degree is the order of the method: errors grow with that power of the step."""
    order = parts.tableau.order
    if order & (order - 1):
        return per_lane(w.b, library_function(w.module, "pow", 2), [x, w.number(1 / order)])
    for _ in range(order.bit_length() - 1):  # square roots are instructions of the processor
        x = w.intrinsic("sqrt", x)
    return x


def write_moved(module: ir.Module, parts: Parts) -> ir.Function | None:
    """Write moved(y1, y, settings): the largest distance by which a projection moved a component, in tolerances."""
    if parts.project is None:
        return None
    w = Writer(module, "moved", (POINTER, POINTER, POINTER), DOUBLE)
    y1, y, settings = w.function.args
    most = w.variable(DOUBLE, number(0.0))
    for i in w.each(parts.size):
        before, after = load(w.b, y1, i), load(w.b, y, i)
        size = w.intrinsic("maxnum", *(w.intrinsic("fabs", x) for x in (before, after)))
        share = w.b.fdiv(w.intrinsic("fabs", w.b.fsub(after, before)), allowed(w, settings, i, size))
        # not "maxnum", which would drop a NaN
        w.b.store(w.b.select(w.b.fcmp_ordered("<=", share, w.get(most)), w.get(most), share), most)
    w.b.ret(w.get(most))
    return w.function


def all_valid(w: Writer, parts: Parts, k: Any) -> Any:
    """Return whether every stage of a step is well conditioned."""
    least: Any = number(1.0)
    for stage in range(parts.stages):
        least = w.intrinsic("minnum", least, load(w.b, k, stage * parts.stride + parts.size))
    return w.b.fcmp_ordered(">", least, number(0.5))
