# SPDX-License-Identifier: BSD-3-Clause
"""Steps by diffrax: any of its solvers, any formulation, any system."""

from __future__ import annotations

from typing import Any

import diffrax
import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import Array

from dalembert.equation.dynamics import Dynamics, Watch
from dalembert.integration.guarded_solver import GuardedSolver, Record, vector_field
from dalembert.integration.method import Floats, Method, Numbers, Stretch, divided, halves, reunited
from dalembert.later import refuse_forked_process

STRETCH = 512
"""Steps in one stretch; a longer run goes on with the next one, showing progress in between."""


def solver_of(method: Method) -> diffrax.AbstractSolver[Any]:
    """The solver asked for, or diffrax's own method of order 8."""
    return diffrax.Dopri8() if method.solver is None else _with_tolerances(method.solver, method)


def _with_tolerances(solver: Any, method: Method) -> Any:
    """The solver with its root finder's tolerances filled in, which ``diffeqsolve`` does only for adaptive steps."""
    if isinstance(solver, diffrax.AbstractWrappedSolver):
        return eqx.tree_at(lambda s: s.solver, solver, _with_tolerances(solver.solver, method))
    if not isinstance(solver, diffrax.AbstractImplicitSolver):
        return solver
    controller = diffrax.PIDController(rtol=method.rtol, atol=method.atol)
    for attribute in ("rtol", "atol", "norm"):
        value = getattr(solver.root_finder, attribute)
        if not isinstance(value, (int, float)) and not callable(value):

            def place(s: Any, attribute: str = attribute) -> Any:
                return getattr(s.root_finder, attribute)

            solver = eqx.tree_at(place, solver, getattr(controller, attribute))
    return solver


def general_stretch(dynamics: Dynamics, method: Method, y: Floats, t: float, t1: float, p: Any) -> Stretch:
    """Up to ``STRETCH`` steps from a state."""
    refuse_forked_process()
    watch, solution = _solve(dynamics, *divided(method, STRETCH), jnp.asarray(y), jnp.asarray(t), jnp.asarray(t1), p)
    record: Record = solution.solver_state[1]
    accepted = int(solution.stats["num_accepted_steps"])
    changed_at = float(record.changed_at)
    return Stretch(
        t=np.asarray(solution.ts)[:accepted],
        y=np.asarray(solution.ys)[:accepted],
        rejected=int(solution.stats["num_rejected_steps"]),
        finished=bool(solution.result == diffrax.RESULTS.successful),
        to_be_continued=bool(solution.result == diffrax.RESULTS.max_steps_reached),
        sound=bool(watch.sound),
        ranks=[int(record.lowest), int(record.highest), int(record.rank)],
        rank_changes=[changed_at] if np.isfinite(changed_at) else [],
    )


@eqx.filter_jit
def _solve(
    dynamics: Dynamics, shape: Method, numbers: Numbers, y0: Array, t0: Any, t1: Any, p: Any
) -> tuple[Watch, Any]:
    method = reunited(shape, numbers)
    watch = dynamics.engine.watch(*halves(y0), t0, p)
    solution = diffrax.diffeqsolve(
        vector_field(dynamics, method.formulation, method.drift),
        GuardedSolver(solver_of(method), dynamics, method.drift, not method.formulation.compromises),
        t0=t0,
        t1=t1,
        dt0=method.step,
        y0=y0,
        args=(p, watch),
        stepsize_controller=_controller(method, t1 - t0),
        saveat=diffrax.SaveAt(steps=True, solver_state=True),
        max_steps=method.max_steps,
        throw=False,
    )
    return watch, solution


def _controller(method: Method, span: Any) -> diffrax.AbstractStepSizeController[Any, Any]:
    if method.step is not None:
        return diffrax.ConstantStepSize()
    # Below this step time itself no longer resolves the motion: better to stop and say so.
    return diffrax.PIDController(rtol=method.rtol, atol=method.atol, dtmin=1e-14 * span, force_dtmin=False)
