# SPDX-License-Identifier: BSD-3-Clause
"""Compiled estimate of the first step, from the sizes of two derivatives.

The algorithm and its constants are those of Hairer, Nørsett and Wanner, Solving Ordinary Differential Equations I,
section II.4.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from dalembert.native.assembly import POINTER, element, load, store
from dalembert.native.integrator_parts import Parts, evaluate
from dalembert.native.lanes import real_type
from dalembert.native.step_control import LEAST_STEP, allowed, root_of_order
from dalembert.native.stepper import INTEGRATE, Stepper
from dalembert.native.writer import LONG, Writer

DEFAULT_FIRST_STEP = 1e-6
"""First step if the state or its derivative gives no time scale."""

LEAST_SIZE = 1e-5
"""Least size of the state and of its derivative, in tolerances, whose ratio is a time scale."""

LEAST_DERIVATIVE = 1e-15
"""Derivatives below this size, in tolerances, count as zero: their eighth root would be an arbitrary step."""


def write_first_step(module: ir.Module, parts: Parts) -> ir.Function:
    """Write first_step(y, t, end, p, settings, work), which returns the length of the first step to try."""
    P, R = POINTER, real_type(module)
    w = Writer(module, "first_step", (P, R, R, P, P, P), R)
    y, t, end, p, settings, work = w.function.args
    slope, moved, next_slope = (element(w.b, work, k * parts.stride) for k in range(3))
    left = w.b.fsub(end, t)
    # from nearly nothing any speed gives a short time scale, but no step is shorter than the resolution of time
    least = w.b.fmul(w.number(2), load(w.b, settings, LEAST_STEP))

    def bounded(step: Any) -> Any:
        return w.intrinsic("minnum", w.intrinsic("maxnum", step, least), left)

    evaluate(w, parts, y, t, p, slope)
    size = _rms(w, parts, y, settings, lambda i: load(w.b, y, i))
    speed = _rms(w, parts, y, settings, lambda i: load(w.b, slope, i))
    known = w.b.and_(*(w.b.fcmp_ordered(">", x, w.number(LEAST_SIZE)) for x in (size, speed)))
    rough = w.b.select(known, w.b.fdiv(w.b.fmul(w.number(0.01), size), speed), w.number(DEFAULT_FIRST_STEP))
    # an explicit Euler step estimates the second derivative
    trial = bounded(rough)
    for i in w.each(parts.size):
        store(w.b, w.b.fadd(load(w.b, y, i), w.b.fmul(trial, load(w.b, slope, i))), moved, i)
    evaluate(w, parts, moved, w.b.fadd(t, trial), p, next_slope)
    change = _rms(w, parts, y, settings, lambda i: w.b.fsub(load(w.b, next_slope, i), load(w.b, slope, i)))
    steepest = w.intrinsic("maxnum", speed, w.b.fdiv(change, trial))
    steep = w.b.fcmp_ordered(">", steepest, w.number(LEAST_DERIVATIVE))
    root = root_of_order(w, parts, w.b.fdiv(w.number(0.01), steepest))
    flat = w.intrinsic("maxnum", w.number(DEFAULT_FIRST_STEP), w.b.fmul(w.number(1e-3), trial))
    guess = w.intrinsic("minnum", w.b.select(steep, root, flat), w.b.fmul(w.number(100), trial))
    # the trial step left the domain of the equations: the first step must not be longer
    found = w.b.select(_unknown(w, w.b.fadd(steepest, change)), trial, bounded(guess))
    # the equations are invalid at the start; the integrator finds this out in its first step and hands over
    w.b.ret(w.b.select(_unknown(w, speed), bounded(w.number(DEFAULT_FIRST_STEP)), found))
    return w.function


def write_step_batch(module: ir.Module, parts: Parts, stepper: Stepper) -> None:
    """Write step_batch(…), which is ``integrate`` preceded by an estimate of the first step if h[0] is zero."""
    w = Writer(module, "step_batch", INTEGRATE, LONG)
    y, t, end, h, p, settings, *_, work = w.function.args
    first_step = write_first_step(module, parts)
    with w.b.if_then(w.b.fcmp_ordered("==", load(w.b, h, 0), w.number(0.0))):
        store(w.b, w.b.call(first_step, [y, load(w.b, t, 0), end, p, settings, work]), h, 0)
    w.b.ret(w.b.call(stepper.integrate, w.function.args))


def _unknown(w: Writer, x: Any) -> Any:
    """Return whether x is infinite or NaN."""
    return w.b.fcmp_unordered(">=", w.intrinsic("fabs", x), w.number(float("inf")))


def _rms(w: Writer, parts: Parts, y: Any, settings: Any, of: Any) -> Any:
    """Return the root mean square of components relative to their tolerances."""
    total = w.variable(w.real, w.number(0.0))
    for i in w.each(parts.size):
        share = w.b.fdiv(of(i), allowed(w, settings, i, w.intrinsic("fabs", load(w.b, y, i))))
        w.b.store(w.b.fadd(w.get(total), w.b.fmul(share, share)), total)
    return w.intrinsic("sqrt", w.b.fdiv(w.get(total), w.number(parts.size)))
