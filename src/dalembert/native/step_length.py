# SPDX-License-Identifier: BSD-3-Clause
"""The lengths of adaptive steps of ensemble members side by side."""

from __future__ import annotations

from typing import Any

from dalembert.native.assembly import load
from dalembert.native.integrator_parts import Parts
from dalembert.native.step_control import LEAST_STEP, MOST_STEP, SAFETY_FACTOR, root_of_order
from dalembert.native.stepper import LAST_STEP_SLACK, LEAST_RATIO, MOST_RATIO, MOST_RATIO_AT_REST
from dalembert.native.writer import Writer


class StepLength:
    """The length of the next step of each member, and the largest ratio by which it may grow after that."""

    def __init__(self, w: Writer, parts: Parts, settings: Any, guess: Any):
        self.w, self.parts, self.settings = w, parts, settings
        self.h, self.growth = w.variable(guess.type, guess), w.variable(guess.type, w.number(MOST_RATIO))

    def next(self, time: Any, end: Any) -> tuple[Any, Any, Any]:
        """Return the length of the next step, whether it is the last one, and whether it has become too short."""
        w, b = self.w, self.w.b
        planned = w.intrinsic("minnum", w.get(self.h), load(b, self.settings, MOST_STEP))
        left = b.fsub(end, time)
        is_last = b.fcmp_ordered(">=", b.fmul(planned, w.number(1 + LAST_STEP_SLACK)), left)
        # the planned step is tested, since the last one may be as short as the time that is left
        short = b.fcmp_unordered("<", planned, load(b, self.settings, LEAST_STEP))
        return b.select(is_last, left, planned), is_last, short

    def control(self, moving: Any, accepted: Any, error: Any, near: Any, size: Any) -> None:
        """Choose the length of the next step of the members that have tried one of a size."""
        w, b = self.w, self.w.b
        ratio = b.fdiv(w.number(SAFETY_FACTOR), root_of_order(w, self.parts, error))
        # a constraint jumps within the step: it is shortened as much as possible, whatever its error is
        ratio = b.select(near, ratio, w.number(0.0))
        at_rest = b.fcmp_ordered("==", error, w.number(0.0))
        bound = b.select(at_rest, w.number(MOST_RATIO_AT_REST), w.get(self.growth))
        grown = w.intrinsic("minnum", ratio, bound)
        shorter = w.intrinsic("maxnum", ratio, w.number(LEAST_RATIO))  # `maxnum` ignores a ratio of NaN
        following = b.fmul(size, b.select(accepted, grown, shorter))
        b.store(b.select(moving, following, w.get(self.h)), self.h)
        # the step after a rejected one must not grow
        growth = b.select(accepted, w.number(MOST_RATIO), w.number(1.0))
        b.store(b.select(moving, growth, w.get(self.growth)), self.growth)
