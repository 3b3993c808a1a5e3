# SPDX-License-Identifier: BSD-3-Clause
"""One run: integrate, sample at the requested times, and hand over a trajectory or say why there is none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from dalembert.equation.array_engine import array_engine
from dalembert.equation.dynamics import Dynamics, Terms
from dalembert.equation.formulation import Formulation
from dalembert.equation.tolerance import CONSISTENCY_TOLERANCE
from dalembert.equation.verdict import refuse_trouble
from dalembert.errors import SimulationError
from dalembert.integration.failure import answer_at, why
from dalembert.integration.guarded_solver import halves
from dalembert.integration.integrate import Method, Path, histories, integrate, states_at
from dalembert.integration.progress import Progress
from dalembert.integration.start import require_consistent
from dalembert.integration.trajectory import Trajectory

Floats = NDArray[np.float64]


def run(
    dynamics: Dynamics,
    method: Method,
    q0: Floats,
    qd0: Floats,
    times: Floats,
    p: tuple[float, ...],
    *,
    allow_violation: bool,
    progress: bool | None,
) -> Trajectory:
    """Simulate from a start at ``times[0]`` and give the motion at all times."""
    dynamics = suited_to(dynamics, method.formulation)
    t0, t1 = float(times[0]), float(times[-1])
    if not allow_violation:
        require_consistent(dynamics, q0, qd0, t0, p)
    refuse_trouble(answer_at(dynamics, q0, qd0, t0, p, method.formulation), method.formulation, dynamics.constraints)
    y0 = jnp.concatenate([jnp.asarray(q0), jnp.asarray(qd0)])
    with Progress(t0, t1, progress) as bar:
        path = integrate(dynamics, method, y0, t0, t1, p, bar)
    reached = times if path.finished else np.unique(np.append(times[times <= path.t[-1]], path.t[-1]))
    trajectory = _sampled(dynamics, method, path, reached, p)
    contradictory = np.flatnonzero(trajectory.inconsistency > CONSISTENCY_TOLERANCE)
    if not method.formulation.compromises and len(contradictory):
        # The steps found nothing, but one of the requested times did: report the first.
        path = replace(path, t=trajectory.t[: contradictory[0] + 1], y=_states(trajectory)[: contradictory[0] + 1])
        trajectory = trajectory.until(int(contradictory[0]) + 1)
        path.finished = False
    if not path.finished:
        raise SimulationError(why(dynamics, method, path, p, t1), float(path.t[-1]), trajectory)
    return trajectory


def suited_to(dynamics: Dynamics, formulation: Formulation) -> Dynamics:
    """The dynamics with rows chosen and drift cured in the Euclidean metric where M is no metric."""
    if formulation.positive_mass:
        return dynamics

    def euclidean(q: Any, qd: Any, t: Any, p: Any) -> Terms:
        return dynamics.terms(q, qd, t, p)._replace(M=jnp.eye(len(dynamics.coordinates)))

    return replace(dynamics, engine=array_engine(euclidean, None, dynamics.levels, law_needs_ideal=False))


def _sampled(dynamics: Dynamics, method: Method, path: Path, times: Floats, p: Any) -> Trajectory:
    y = np.asarray(states_at(dynamics, method, jnp.asarray(path.t), jnp.asarray(path.y), jnp.asarray(times), p))
    recorded = {k: np.asarray(v) for k, v in histories(dynamics, method.formulation, jnp.asarray(times), y, p).items()}
    q, qd = halves(y)
    recorded.setdefault("energy", None)  # pyright: ignore[reportArgumentType, reportCallIssue]
    statistics = {
        "steps": path.steps,
        "rejected": path.rejected,
        "seconds": path.seconds,
        "solver": type(method.solver).__name__,
        "formulation": type(method.formulation).__name__,
        "drift": type(method.drift).__name__,
        "program": dynamics.style,
        "rtol": method.rtol,
        "atol": method.atol,
    }
    return Trajectory(
        t=np.asarray(times),
        q=q,
        qd=qd,
        **recorded,
        coordinates=dynamics.coordinates,
        constraints=dynamics.constraints,
        parameters=dict(zip(dynamics.parameters, map(float, p), strict=True)),
        statistics=statistics,
        notes=_notes(path),
    )


def _notes(path: Path) -> tuple[str, ...]:
    lowest, highest = path.ranks
    if lowest == highest:
        return ()
    last = f", last at t = {path.rank_changes[-1]:.6g}" if path.rank_changes else ""
    return (f"The rank of the constraints changed on the way, between {lowest} and {highest}{last}.",)


def _states(trajectory: Trajectory) -> Floats:
    return np.concatenate([trajectory.q, trajectory.qd], axis=1)
