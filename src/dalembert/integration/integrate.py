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
from jax import Array

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
    sound_start: bool = True
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
        stretch = _stretch(dynamics, method, jnp.asarray(ys[-1][-1]), jnp.asarray(ts[-1][-1]), jnp.asarray(t1), p)
        accepted = int(stretch.accepted)
        path.sound_start &= path.steps > 0 or bool(stretch.sound)
        ts.append(np.asarray(stretch.t[:accepted]))
        ys.append(np.asarray(stretch.y[:accepted]))
        path.steps += accepted
        path.rejected += int(stretch.rejected)
        seen += [int(stretch.record.lowest), int(stretch.record.highest)]
        if np.isfinite(stretch.record.changed_at):
            path.rank_changes.append(float(stretch.record.changed_at))
        path.finished = bool(stretch.finished) and path.steps <= method.max_steps
        if accepted:
            progress.show(float(ts[-1][-1]), path.steps)
        if path.finished or not bool(stretch.to_be_continued) or not accepted:
            break
        if not np.isfinite(ys[-1][-1]).all():
            break
    ts, ys = [t for t in ts if len(t)], [y for y in ys if len(y)]
    kept = slice(method.max_steps + 1)  # a stretch may have gone beyond the limit
    path.t, path.y = np.concatenate(ts)[kept], np.concatenate(ys)[kept]
    path.steps = min(path.steps, method.max_steps)
    path.ranks = (min(seen), max(seen)) if seen else (0, 0)
    path.seconds = time.perf_counter() - began
    return path


class Stretch(NamedTuple):
    """Up to ``STRETCH`` steps: padded times and states, how many are real, how it ended, if the start was sound."""

    t: Array
    y: Array
    accepted: Array
    rejected: Array
    finished: Array
    to_be_continued: Array
    record: Record
    sound: Array


@eqx.filter_jit
def _stretch(dynamics: Dynamics, method: Method, y0: Array, t0: Any, t1: Any, p: Any) -> Stretch:
    watch = dynamics.engine.watch(*halves(y0), t0, p)
    solution = diffrax.diffeqsolve(
        vector_field(dynamics, method.formulation, method.drift),
        method.guarded(dynamics),
        t0=t0,
        t1=t1,
        dt0=method.step,
        y0=y0,
        args=(p, watch),
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
        sound=watch.sound,
    )
