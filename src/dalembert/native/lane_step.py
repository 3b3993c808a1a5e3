# SPDX-License-Identifier: BSD-3-Clause
"""One Runge–Kutta step of q̈ = f(q, q̇, t) for ensemble members side by side, and the estimate of its error.

Only the accelerations of the stages are kept: the velocity of a stage is a combination of earlier accelerations, and so
the positions are too, with the coefficients A A instead of A. This halves the memory of a step, which on a GPU should
fit in registers.
"""

from __future__ import annotations

from functools import reduce
from typing import Any, NamedTuple

from llvmlite import ir

from dalembert.native.assembly import element, load, store
from dalembert.native.elementary import quotient
from dalembert.native.integrator_parts import Parts, resolves
from dalembert.native.step_control import ABRUPT_DISTANCE, FIXED_ABRUPT, FIXED_ROUNDING, allowed
from dalembert.native.tableau import Factors
from dalembert.native.writer import LONG, Writer

FUSED = ("contract",)


class StepStart(NamedTuple):
    """The state (2n), time and length of a step, and the parameters."""

    y: Any
    t: Any
    h: Any
    p: Any


class StepMemory(NamedTuple):
    """Arrays of a step: accelerations and validities of the stages, and states: of a stage, new, and projected."""

    k: Any
    stage: Any
    y1: Any
    arrived: Any


class LaneStep:
    """Writes steps of members side by side."""

    def __init__(self, w: Writer, parts: Parts):
        self.w, self.parts, self.n = w, parts, parts.n
        self.stride = parts.n + 1
        sizes = parts.stages * self.stride, parts.size, parts.size, parts.size
        self.memory = StepMemory(*(w.array(size) for size in sizes))

    def write(self, start: StepStart) -> tuple[Any, Any]:
        """Compute the new state without projection; return the validity of the first stage and of all stages."""
        w, tableau, memory = self.w, self.parts.explicit, self.memory
        flags: list[Any] = []
        for s, node in enumerate(tableau.nodes):
            at = start.y
            if s:
                at = memory.stage
                self._combine(start, tableau.stages[s], node, at)
            time = w.b.fadd(start.t, w.b.fmul(w.number(node), start.h))
            own = element(w.b, memory.k, s * self.stride)
            w.b.call(self.parts.accelerate, [at, time, start.p, own])
            # each stage returns its validity behind the accelerations
            flags.append(w.b.fcmp_ordered(">", load(w.b, own, self.n), w.number(0.5)))
        self._combine(start, tableau.result, 1.0, memory.y1)
        return flags[0], reduce(w.b.and_, flags)

    def _combine(self, start: StepStart, factors: Factors, node: float, to: Any) -> None:
        """Store the state that follows from a combination of stages at a node."""
        w, n, (y, _, h, _) = self.w, self.n, start
        of_positions = self.parts.explicit.through_stages(factors)
        # the step is the same for all members then, and products with it need not be computed for each component
        if not self.parts.explicit.is_adaptive:
            self._combine_fixed(start, factors, of_positions, node, to)
            return
        for i in w.each(n):
            later = w.b.add(i, ir.Constant(LONG, n))
            q, v = load(w.b, y, i), load(w.b, y, later)
            turn, move = self._blend(i, factors), self._blend(i, of_positions)
            store(w.b, self._sum(v, h, turn), to, later)
            store(w.b, self._sum(q, h, self._sum(w.b.fmul(w.number(node), v), h, move)), to, i)

    def _combine_fixed(self, start: StepStart, factors: Factors, of_positions: Factors, node: float, to: Any) -> None:
        """Do the same with products of the coefficients and the step, which are computed once for all fixed steps."""
        w, n, (y, _, h, _) = self.w, self.n, start
        square = w.b.fmul(h, h)
        along = w.b.fmul(w.number(node), h)
        by_stage = [
            {stage: w.b.fmul(w.number(factor), power) for stage, factor in own.items()}
            for own, power in ((of_positions, square), (factors, h))
        ]
        for i in w.each(n):
            later = w.b.add(i, ir.Constant(LONG, n))
            v = load(w.b, y, later)
            for total, place, own in ((self._sum(load(w.b, y, i), along, v), i, by_stage[0]), (v, later, by_stage[1])):
                value = total
                for stage, factor in own.items():
                    slope = load(w.b, self.memory.k, w.b.add(i, ir.Constant(LONG, stage * self.stride)))
                    value = self._sum(value, factor, slope)
                store(w.b, value, to, place)

    def _sum(self, a: Any, h: Any, b: Any) -> Any:
        """Return a + h b."""
        return self.w.b.fadd(a, self.w.b.fmul(h, b, flags=FUSED), flags=FUSED)

    def _blend(self, i: Any, factors: Factors) -> Any:
        """Return component i of a linear combination of accelerations."""
        w = self.w
        total: Any = w.number(0.0)
        for stage, factor in factors.items():
            slope = load(w.b, self.memory.k, w.b.add(i, ir.Constant(LONG, stage * self.stride)))
            total = self._sum(total, w.number(factor), slope)
        return total

    def error(self, start: StepStart, settings: Any) -> Any:
        """Return the error of the step relative to the tolerance, as ``step_control.write_error`` does."""
        w, n, errors = self.w, self.n, self.parts.explicit.errors
        sums = [w.variable(w.real, w.number(0.0)) for _ in errors]
        for i in w.each(n):
            later = w.b.add(i, ir.Constant(LONG, n))
            shares = [
                # one division for each component, and products for each of the estimates
                quotient(w.b, w.number(1.0), self._allowed(start.y, self.memory.y1, j, settings))
                for j in (i, later)
            ]
            for total, factors in zip(sums, errors, strict=True):
                of_position = w.b.fmul(start.h, self._blend(i, self.parts.explicit.through_stages(factors)))
                for part, share in zip((of_position, self._blend(i, factors)), shares, strict=True):
                    own = w.b.fmul(part, share)
                    w.b.store(self._sum(w.get(total), own, own), total)
        size, length = w.number(self.parts.size), w.intrinsic("fabs", start.h)
        if len(sums) == 1:
            return w.b.fmul(length, w.intrinsic("sqrt", quotient(w.b, w.get(sums[0]), size)))
        # two estimates as in DOP853 of Hairer, Nørsett and Wanner; see ``step_control.write_error``
        fifth, third = map(w.get, sums)
        both = w.intrinsic("sqrt", w.b.fmul(self._sum(fifth, w.number(0.01), third), size))
        relative = quotient(w.b, w.b.fmul(length, fifth), both)
        return w.b.select(w.b.fcmp_ordered("==", fifth, w.number(0.0)), w.number(0.0), relative)

    def _allowed(self, a: Any, b: Any, i: Any, settings: Any) -> Any:
        """Return the tolerance of component i of two states."""
        w = self.w
        return allowed(w, settings, i, w.intrinsic("maxnum", *(w.intrinsic("fabs", load(w.b, x, i)) for x in (a, b))))

    def project(self, time: Any, p: Any) -> None:
        """Store the projection of the new state onto the constraints, or the new state if there is no projection."""
        w, memory = self.w, self.memory
        if self.parts.project is not None:
            w.b.call(self.parts.project, [memory.y1, time, p, memory.arrived])
            return
        for i in w.each(self.parts.size):
            store(w.b, load(w.b, memory.y1, i), memory.arrived, i)

    def moved_little(self, settings: Any) -> Any:
        """Return whether the projection moved each component by few tolerances only."""
        w, memory = self.w, self.memory
        if self.parts.project is None:
            return w.number(True)
        near = w.variable(w.number(True).type, w.number(True))
        for i in w.each(self.parts.size):
            distance = w.intrinsic("fabs", w.b.fsub(load(w.b, memory.arrived, i), load(w.b, memory.y1, i)))
            most = w.b.fmul(w.number(ABRUPT_DISTANCE), self._allowed(memory.y1, memory.arrived, i, settings))
            # ordered: a distance of NaN is not short
            short = w.b.fcmp_ordered("<=", distance, most)
            w.b.store(w.b.and_(w.get(near, near.type.pointee), short), near)
        return w.get(near, near.type.pointee)

    def resolves(self, start: StepStart, time: Any) -> Any:
        """Return whether the step, which ends at a time, resolves friction near rest."""
        return resolves(self.w, self.parts, start.y, start.t, self.memory.arrived, time, start.p)

    def moved_less_than_step(self, start: StepStart) -> Any:
        """Return whether the projection is short, compared with the step and with the rounding of the state.

        This is the test of ``fixed_stepper``: fixed steps have no tolerances. Without a projection, a state that is not
        finite remains so until the next output, where it is noticed.
        """
        w, memory = self.w, self.memory
        if self.parts.project is None:
            return w.number(True)
        moved, step, size = (w.variable(w.real, w.number(0.0)) for _ in range(3))
        for i in w.each(self.parts.size):
            y, y1, arrived = (load(w.b, x, i) for x in (start.y, memory.y1, memory.arrived))
            # squares of lengths, which need no roots to be compared
            for total, change in ((moved, w.b.fsub(arrived, y1)), (step, w.b.fsub(y1, y)), (size, y1)):
                w.b.store(self._sum(w.get(total), change, change), total)
        most = self._sum(w.b.fmul(w.number(FIXED_ABRUPT), w.get(step)), w.number(FIXED_ROUNDING), w.get(size))
        return w.b.fcmp_ordered("<=", w.get(moved), most)
