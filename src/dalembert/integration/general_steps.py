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

from dalembert.common.lazy_jax import refuse_forked_process
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
from dalembert.native.collocation import Collocation
from dalembert.native.dormand_prince import DORMAND_PRINCE
from dalembert.numerics.tolerances import ROUNDING

BATCH_STEPS = 512
"""Steps in one batch; a longer run continues with the next batch and updates the progress bar in between."""

CONTROLLED_END = -np.inf
"""End of the first step that leaves its length to the step-size controller."""

FALLBACK_STEP = 0.01
"""First step, relative to the span, where the step-size controller finds none."""

END_MARGIN = 100
"""Steps that would end this close before the end, in units in the last place of time, end there."""

SUCCESS: Any = diffrax.RESULTS.successful
STEP_TOO_SHORT: Any = diffrax.RESULTS.dt_min_reached

LEAST_GENERAL_STEP = ROUNDING
"""Shortest step, relative to the span: below it, rounding of the time itself dominates the step."""


def solver_of(method: Method) -> diffrax.AbstractSolver[Any]:
    """Return the requested solver, by default the method of the compiled integrator for adaptive or fixed steps."""
    tableau = method.tableau
    if isinstance(tableau, Collocation):  # where the compiled integrator hands over: diffrax has no Collocation methods
        return _with_tolerances(diffrax.Kvaerno5(), method)
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
    start = (y, t, segment.end, CONTROLLED_END, BATCH_STEPS)
    found: Solved = solve(dynamics, *strip_tolerances(method, BATCH_STEPS), *map(np.asarray, start), p)
    end, record = found.progress, found.record
    # the step at which the integration stops is recorded, however large its error
    accepted = max(int(end.accepted) - int(end.shrunk | record.moved_far), 0)
    changed_at, ended = float(record.changed_at), bool(end.failed | end.shrunk)
    return StepBatch(
        t=np.asarray(end.ts)[:accepted],
        y=np.asarray(end.ys)[:accepted],
        rejected=int(end.steps) - int(end.accepted),
        finished=not ended and float(end.t) >= segment.end,
        to_be_continued=not ended and float(end.t) < segment.end,
        valid=bool(found.valid),
        ranks=[int(record.lowest), int(record.highest), int(record.rank)],
        rank_changes=[changed_at] if np.isfinite(changed_at) else [],
        moved_far=bool(record.moved_far),
    )


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


class _Stepping(NamedTuple):
    """The state of an integration between two steps, in the loop of ``_solve``.

    t, y, next_t     the present state, and the time at which the next step ends
    inner            states of the solver and of the step-size controller
    steps            number of steps so far, rejected ones included
    accepted         number of accepted steps; their times and states are the first entries of ``ts`` and ``ys``
    error            the error estimate of the last step
    failed, shrunk   whether the solver, or the shortest step, ended the integration
    """

    t: Any
    y: Any
    next_t: Any
    inner: tuple[Any, Any]
    steps: Any
    accepted: Any
    ts: Any
    ys: Any
    error: Any
    failed: Any
    shrunk: Any


class Solved(NamedTuple):
    """The end of an integration, and whether its start was valid."""

    progress: _Stepping
    valid: Any

    @property
    def record(self) -> Record:
        """The record of the solver."""
        return self.progress.inner[0][1]


@kept_by_dynamics()
def solve(
    dynamics: Dynamics, shape: Method, numbers: Tolerances, y0: Array, t0: Any, t1: Any, first: Any, most: Any, p: Any
) -> Solved:
    """Take up to ``most`` steps from a state towards the time t1, the first one to the time ``first`` if it is finite.

    This is the loop of ``diffrax.diffeqsolve`` without what a simulation does not need. That function traces the step
    three times, and adds several hundred operations to each program.
    """
    method = restore_tolerances(shape, numbers)
    selection: RowSelection = dynamics.engine.select_rows(*split_state(y0), t0, p)
    terms, solver = vector_field(dynamics, method.formulation, method.drift), guarded(dynamics, method)
    controller, args, order = _controller(method, t1 - t0), (p, selection), solver.error_order(None)
    chosen, controls = controller.init(terms, t0, t1, y0, None, args, solver.func, order)
    # the choice tries a step of its own, which may leave the domain of the forces; too long a step is rejected later
    chosen = jnp.where(chosen > t0, chosen, t0 + FALLBACK_STEP * (t1 - t0))
    next_t = jnp.where(first > t0, first, jnp.minimum(chosen, t1))
    inner = (solver.init(terms, t0, next_t, y0, args), jax.tree.map(jnp.asarray, controls))
    floor = t1 - END_MARGIN * (t1 - jnp.nextafter(t1, -jnp.inf))
    ts, ys = jnp.zeros(BATCH_STEPS), jnp.zeros((BATCH_STEPS, len(y0)))
    zero, no = jnp.asarray(0), jnp.asarray(False)

    def goes_on(at: _Stepping) -> Array:
        return (at.t < t1) & (at.steps < most) & ~at.failed & ~at.shrunk

    def step(at: _Stepping) -> _Stepping:
        state, controls = at.inner
        y, error, _, state, result = solver.step(terms, at.t, at.next_t, at.y, args, state, made_jump=False)
        error = None if error is None else jnp.where(jnp.isnan(error), jnp.inf, error)
        keep, t, next_t, _, controls, control = controller.adapt_step_size(
            at.t, at.next_t, at.y, y, args, error, order, controls
        )
        t = jnp.minimum(t, t1)
        # a step that would end just before the end goes on to it, so that no step of rounding size is left
        next_t = jnp.where(next_t > floor, jnp.where(keep, t1, t + 0.5 * (t1 - t)), next_t)
        failed = keep & (result != SUCCESS)
        return _Stepping(
            t,
            jnp.where(keep, y, at.y),
            next_t,
            (jax.tree.map(lambda new, old: jnp.where(keep, new, old), state, at.inner[0]), controls),
            at.steps + 1,
            at.accepted + jnp.where(keep, 1, 0),
            # a rejected step is overwritten by the next one
            at.ts.at[at.accepted].set(t),
            at.ys.at[at.accepted].set(y),
            at.error if error is None else error,
            failed,
            ~failed & (control == STEP_TOO_SHORT),
        )

    start = _Stepping(t0, y0, next_t, inner, zero, zero, ts, ys, jnp.zeros_like(y0), no, no)
    return Solved(jax.lax.while_loop(goes_on, step, start), selection.valid)


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
