# SPDX-License-Identifier: BSD-3-Clause
"""One compiled step of a Runge–Kutta method, explicit or implicit, before its projection."""

from __future__ import annotations

from typing import Any, NamedTuple

from llvmlite import ir

from dalembert.native.assembly import DOUBLE, POINTER, element, load, number, store, write_program
from dalembert.native.collocation import Collocation
from dalembert.native.collocation_step import write_collocation_step, write_linearise
from dalembert.native.integrator_parts import Parts, evaluate
from dalembert.native.step_control import blend
from dalembert.native.tableau import Factors
from dalembert.native.tape import Program
from dalembert.native.writer import Writer


class StepFunctions(NamedTuple):
    """The functions of a step, and what they need to know about its start.

    step         step(y, t, h, p, k, stage, y1, settings): y1 is the state after one step from y
    linearise    linearise(y, t, p, k): the derivatives of the acceleration at the start; None for explicit methods
    """

    step: ir.Function
    linearise: ir.Function | None

    def begin(self, w: Writer, parts: Parts, y: Any, t: Any, p: Any, k: Any) -> None:
        """Store in k what steps of any length from a state have in common."""
        evaluate(w, parts, y, t, p, k)
        # a rejected step is tried again from the same state, with the same Jacobian
        if self.linearise is not None:
            w.b.call(self.linearise, [y, t, p, k])


def write_step_functions(module: ir.Module, parts: Parts, tangent: Program | None) -> StepFunctions:
    """Add the functions of a step to a module; ``tangent`` is the program of directional derivatives, if needed."""
    if not isinstance(parts.tableau, Collocation):
        return StepFunctions(_write_explicit_step(module, parts), None)
    assert tangent is not None
    written = write_program(module, "tangent", tangent, hot=True)
    return StepFunctions(write_collocation_step(module, parts), write_linearise(module, parts, written))


def _write_explicit_step(module: ir.Module, parts: Parts) -> ir.Function:
    """Write ``step`` of an explicit method; k already holds the first stage."""
    w = Writer(module, "step", (POINTER, DOUBLE, DOUBLE, *[POINTER] * 5))
    y, t, h, p, k, stage, y1, _ = w.function.args

    def combine(factors: Factors, to: Any) -> None:
        for i in w.each(parts.size):
            # h multiplies the sum, not each weight: fewer roundings, and weights stay constants of the code
            moved = w.b.fmul(h, blend(w, parts, k, i, factors), flags=("contract",))
            store(w.b, w.b.fadd(load(w.b, y, i), moved, flags=("contract",)), to, i)

    tableau = parts.explicit
    for s in range(1, parts.stages):
        combine(tableau.stages[s], stage)
        time = w.b.fadd(t, w.b.fmul(number(tableau.nodes[s]), h))
        evaluate(w, parts, stage, time, p, element(w.b, k, s * parts.stride))
    combine(tableau.result, y1)
    w.b.ret_void()
    return w.function
