# SPDX-License-Identifier: BSD-3-Clause
"""Integrate compiled dynamics in time, in stretches, so that nothing is lost when a run fails or is interrupted."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import diffrax
import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from dalembert.equation.dynamics import Dynamics
from dalembert.equation.formulation import Formulation
from dalembert.integration.drift import Drift
from dalembert.integration.guarded_solver import GuardedSolver, Record, halves, vector_field
from dalembert.integration.progress import Progress

STRETCH = 4096
"""Steps in one compiled stretch; a longer run goes on with the next one, showing progress in between."""


@dataclass(frozen=True)
class Method:
    """How to integrate: everything but the system and the numbers.

    step    a fixed step size, or None for an adaptive one
    """

    formulation: Formulation
    drift: Drift
    solver: diffrax.AbstractSolver[Any]
    rtol: float
    atol: float
    step: float | None
    max_steps: int

    def controller(self, span: Any) -> diffrax.AbstractStepSizeController[Any, Any]:
        if self.step is not None:
            return diffrax.ConstantStepSize()
        # Below this step time itself no longer resolves the motion: better to stop and say so.
        return diffrax.PIDController(rtol=self.rtol, atol=self.atol, dtmin=1e-14 * span, force_dtmin=False)

    def guarded(self, dynamics: Dynamics) -> GuardedSolver:
        return GuardedSolver(self.solver, dynamics, self.drift, not self.formulation.compromises)


@dataclass
class Path:
    """The accepted steps of a run: times (k,) and states (k, 2n), from the start to where it ended."""

    t: Any
    y: Any
    finished: bool
    steps: int = 0
    rejected: int = 0
    seconds: float = 0.0
    ranks: tuple[int, int] = (0, 0)
    rank_changes: list[float] = field(default_factory=list[float])


def integrate(dynamics: Dynamics, method: Method, y0: Array, t0: float, t1: float, p: Any, progress: Progress) -> Path:
    """Step from t0 to t1, or as far as it goes."""
    began = time.perf_counter()
    ts, ys = [np.array([t0])], [np.asarray(y0)[None]]
    path = Path(ts[0], ys[0], finished=False)
    seen: list[int] = []
    while path.steps < method.max_steps:
        stretch = _stretch(dynamics, method, jnp.asarray(ys[-1][-1]), ts[-1][-1], t1, p)
        accepted = int(stretch.accepted)
        ts.append(np.asarray(stretch.t[:accepted]))
        ys.append(np.asarray(stretch.y[:accepted]))
        path.steps += accepted
        path.rejected += int(stretch.rejected)
        seen += [int(stretch.record.lowest), int(stretch.record.highest)]
        if np.isfinite(stretch.record.changed_at):
            path.rank_changes.append(float(stretch.record.changed_at))
        path.finished = bool(stretch.finished)
        if accepted:
            progress.show(float(ts[-1][-1]), path.steps)
        if path.finished or not bool(stretch.to_be_continued) or not accepted:
            break
        if not np.isfinite(ys[-1][-1]).all():
            break
    ts, ys = [t for t in ts if len(t)], [y for y in ys if len(y)]
    path.t, path.y = np.concatenate(ts), np.concatenate(ys)
    path.ranks = (min(seen), max(seen)) if seen else (0, 0)
    path.seconds = time.perf_counter() - began
    return path


class Stretch(NamedTuple):
    """Up to ``STRETCH`` steps: padded times and states, how many are real, and how it ended."""

    t: Array
    y: Array
    accepted: Array
    rejected: Array
    finished: Array
    to_be_continued: Array
    record: Record


@eqx.filter_jit
def _stretch(dynamics: Dynamics, method: Method, y0: Array, t0: Any, t1: Any, p: Any) -> Stretch:
    rows = dynamics.engine.watch(*halves(y0), t0, p).rows
    solution = diffrax.diffeqsolve(
        vector_field(dynamics, method.formulation, method.drift),
        method.guarded(dynamics),
        t0=t0,
        t1=t1,
        dt0=method.step,
        y0=y0,
        args=(p, rows),
        stepsize_controller=method.controller(t1 - t0),
        saveat=diffrax.SaveAt(steps=True, solver_state=True),
        max_steps=STRETCH,
        throw=False,
    )
    assert solution.ts is not None and solution.ys is not None and solution.solver_state is not None
    return Stretch(
        t=solution.ts,
        y=solution.ys,
        accepted=solution.stats["num_accepted_steps"],
        rejected=solution.stats["num_rejected_steps"],
        finished=solution.result == diffrax.RESULTS.successful,
        to_be_continued=solution.result == diffrax.RESULTS.max_steps_reached,
        record=solution.solver_state[1],
    )


@eqx.filter_jit
def states_at(dynamics: Dynamics, method: Method, path_t: Array, path_y: Array, times: Array, p: Any) -> Array:
    """The states (T, 2n) at given times on a path, each by one step from the accepted step before it.

    Interpolating would lose several orders: the polynomials that come with a high-order method are of lower order than
    its steps. Outputs do not shorten the steps, and being independent of one another they are computed side by side.
    """
    term = vector_field(dynamics, method.formulation, method.drift)
    solver = eqx.tree_at(lambda s: s.solver, method.guarded(dynamics), _with_tolerances(method))

    def at(t: Array) -> Array:
        before = jnp.maximum(jnp.searchsorted(path_t, t, side="left") - 1, 0)
        t0, y0 = path_t[before], path_y[before]
        # at the start itself there is no step to take; any length will do for the branch that is thrown away
        t1 = jnp.where(t > t0, t, t0 + 1e-3)
        rows = dynamics.engine.watch(*halves(y0), t0, p).rows
        state = solver.init(term, t0, t1, y0, (p, rows))
        y1, *_ = solver.step(term, t0, t1, y0, (p, rows), state, made_jump=False)
        return jnp.where(t > t0, y1, y0)

    return lax.map(at, times, batch_size=256)


def _with_tolerances(method: Method) -> diffrax.AbstractSolver[Any]:
    """The solver with its root finder's tolerances filled in, as ``diffeqsolve`` does for its own copy."""
    solver = method.solver
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


@eqx.filter_jit
def histories(dynamics: Dynamics, formulation: Formulation, times: Array, y: Any, p: Any) -> dict[str, Array]:
    """What a trajectory records beside the state, at each of its times."""

    def at(point: tuple[Array, Array]) -> dict[str, Array]:
        t, state = point
        q, qd = halves(state)
        answer = dynamics.answer(q, qd, t, p, formulation)
        terms = dynamics.terms(q, qd, t, p)
        own = {"position": terms.position, "velocity": terms.velocity}
        residual = terms.A @ answer.acceleration - terms.b
        return {
            "acceleration": answer.acceleration,
            "ideal_force": answer.ideal_force,
            "nonideal_force": answer.nonideal_force,
            "multipliers": answer.multipliers,
            "rank": answer.rank,
            "inconsistency": answer.inconsistency,
            "violation": jnp.stack([own.get(v, residual)[i] for i, v in enumerate(dynamics.levels)])
            if dynamics.levels
            else residual,
            "velocity_violation": terms.velocity,
        } | ({} if dynamics.energy is None else {"energy": jnp.asarray(dynamics.energy(q, qd, t, p))})

    return lax.map(at, (times, y), batch_size=256)
