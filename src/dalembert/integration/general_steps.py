# SPDX-License-Identifier: BSD-3-Clause
"""Steps by diffrax: any of its solvers, any formulation, any system."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dalembert.equation.dynamics import Dynamics, RowSelection
from dalembert.integration.compiled import kept_by_dynamics
from dalembert.integration.diffrax_tableau import solver_by
from dalembert.integration.guarded_solver import GuardedSolver, Record, vector_field
from dalembert.integration.method import (
    Floats,
    Method,
    StepBatch,
    Tolerances,
    restore_tolerances,
    split_state,
    strip_tolerances,
)
from dalembert.integration.time_segments import TimeSegment
from dalembert.lazy_jax import refuse_forked_process
from dalembert.native.dormand_prince import DORMAND_PRINCE
from dalembert.tolerances import ROUNDING

BATCH_STEPS = 512
"""Steps in one batch; a longer run continues with the next batch and updates the progress bar in between."""

LEAST_GENERAL_STEP = ROUNDING
"""Shortest step, relative to the span: below it, rounding of the time itself dominates the step."""


def solver_of(method: Method) -> diffrax.AbstractSolver[Any]:
    """Return the requested solver, by default the method of the compiled integrator for adaptive or fixed steps."""
    tableau = method.tableau
    if tableau is None:
        return _with_tolerances(method.solver, method)
    return diffrax.Dopri8() if tableau is DORMAND_PRINCE else solver_by(tableau)


def _with_tolerances(solver: Any, method: Method) -> Any:
    """Return the solver with its root finder's tolerances set, which ``diffeqsolve`` does only for adaptive steps."""
    if isinstance(solver, diffrax.AbstractWrappedSolver):
        return eqx.tree_at(lambda s: s.solver, solver, _with_tolerances(solver.solver, method))
    if not isinstance(solver, diffrax.AbstractImplicitSolver):
        return solver
    # root finders accept only one tolerance for all components
    controller = diffrax.PIDController(rtol=method.rtol, atol=jnp.min(jnp.asarray(method.atol)))
    for attribute in ("rtol", "atol", "norm"):
        value = getattr(solver.root_finder, attribute)
        if not isinstance(value, (int, float)) and not callable(value):

            def place(s: Any, attribute: str = attribute) -> Any:
                return getattr(s.root_finder, attribute)

            solver = eqx.tree_at(place, solver, getattr(controller, attribute))
    return solver


def general_batch(dynamics: Dynamics, method: Method, y: Floats, t: float, segment: TimeSegment, p: Any) -> StepBatch:
    """Take up to ``BATCH_STEPS`` steps from a state towards the end of a segment."""
    refuse_forked_process()
    method = replace(method, max_step=min(method.max_step, segment.max_step))
    numbers = (jnp.asarray(x) for x in (y, t, segment.end))
    found = jax.tree.map(np.asarray, _solve(dynamics, *strip_tolerances(method, BATCH_STEPS), *numbers, p))
    # diffrax records the step at which it stops, however large its error
    accepted = max(int(found.accepted) - int(found.shrunk | found.record.moved_far), 0)
    record, changed_at = found.record, float(found.record.changed_at)
    return StepBatch(
        t=found.t[:accepted],
        y=found.y[:accepted],
        rejected=int(found.rejected),
        finished=bool(found.finished),
        to_be_continued=bool(found.to_be_continued),
        valid=bool(found.valid),
        ranks=[int(record.lowest), int(record.highest), int(record.rank)],
        rank_changes=[changed_at] if np.isfinite(changed_at) else [],
        moved_far=bool(record.moved_far),
    )


class _Solved(NamedTuple):
    """The steps of a solution, the number of accepted and rejected ones, its ending, and the record of the solver."""

    t: Any
    y: Any
    accepted: Any
    rejected: Any
    finished: Any
    to_be_continued: Any
    shrunk: Any
    valid: Any
    record: Record


def guarded(dynamics: Dynamics, method: Method, stages: str = "lax") -> GuardedSolver:
    """Return the solver of a method, wrapped to check the constraints at each step.

    ``stages`` is the kind of loop over the stages of a Runge–Kutta method: "lax" is the quickest to trace and to
    compile, "bounded" can also be differentiated in reverse mode.
    """
    tolerances = None if method.step is not None else (jnp.asarray(method.rtol), jnp.asarray(method.atol))
    strict = not method.formulation.compromises
    return GuardedSolver(_with_loop(solver_of(method), stages), tolerances, dynamics, method.drift, strict)


def _with_loop(solver: Any, kind: str) -> Any:
    """Return the solver with a kind of loop over its stages; solvers without stages and own choices are unchanged."""
    if getattr(solver, "scan_kind", kind) is not None:
        return solver
    return eqx.tree_at(lambda s: s.scan_kind, solver, kind, is_leaf=lambda x: x is None)


@kept_by_dynamics()
def _solve(dynamics: Dynamics, shape: Method, numbers: Tolerances, y0: Array, t0: Any, t1: Any, p: Any) -> _Solved:
    method = restore_tolerances(shape, numbers)
    selection: RowSelection = dynamics.engine.select_rows(*split_state(y0), t0, p)
    # the undecorated function: the compiled `diffeqsolve` would keep the system alive until the process ends
    solution = diffrax.diffeqsolve.__wrapped__(  # pyright: ignore
        vector_field(dynamics, method.formulation, method.drift),
        guarded(dynamics, method),
        t0=t0,
        t1=t1,
        dt0=None,
        y0=y0,
        args=(p, selection),
        stepsize_controller=_controller(method, t1 - t0),
        saveat=diffrax.SaveAt(steps=True, solver_state=True),
        max_steps=method.max_steps,
        adjoint=diffrax.ForwardMode(),  # a plain loop: nothing is differentiated here
        throw=False,
    )
    ended: Any = diffrax.RESULTS
    return _Solved(
        solution.ts,
        solution.ys,
        solution.stats["num_accepted_steps"],
        solution.stats["num_rejected_steps"],
        solution.result == ended.successful,
        solution.result == ended.max_steps_reached,
        solution.result == ended.dt_min_reached,
        selection.valid,
        solution.solver_state[1],
    )


class _FixedSteps(diffrax.ConstantStepSize):
    """Steps of a constant length that the controller knows itself.

    As ``dt0`` of ``diffeqsolve`` it would be checked by a callback, and JAX does not keep such programs on disk.
    """

    step: Any

    def init(
        self, terms: Any, t0: Any, t1: Any, y0: Any, dt0: Any, args: Any, func: Any, error_order: Any
    ) -> tuple[Any, Any]:
        return super().init(terms, t0, t1, y0, self.step, args, func, error_order)


def _controller(method: Method, span: Any) -> diffrax.AbstractStepSizeController[Any, Any]:
    if method.step is not None:
        return _FixedSteps(jnp.asarray(method.step))
    # `force_dtmin=False` ends the integration at the shortest step, so that the cause can be reported
    return diffrax.PIDController(
        rtol=method.rtol, atol=method.atol, dtmin=LEAST_GENERAL_STEP * span, dtmax=method.max_step, force_dtmin=False
    )
