# SPDX-License-Identifier: BSD-3-Clause
"""A single run: integration, outputs at the requested times, and the trajectory or the error that results."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.common.array_types import Floats, all_finite, all_true
from dalembert.common.frozen_instances import instance_of
from dalembert.equation.answer_checks import refuse_trouble, require_fit
from dalembert.equation.array_engine import ArrayProgram
from dalembert.equation.dynamics import Dynamics, Terms
from dalembert.equation.formulation import Formulation
from dalembert.equation.painleve import refuse_paradox, refuse_undetermined
from dalembert.equation.scaling import metric_of
from dalembert.errors import SimulationError, StateError
from dalembert.integration.bifurcations import crossings
from dalembert.integration.default_tolerances import with_tolerances
from dalembert.integration.failure import failure_reason
from dalembert.integration.integral_checks import refuse_changing
from dalembert.integration.integrate import integrate
from dalembert.integration.method import Method
from dalembert.integration.path import Path
from dalembert.integration.path_outputs import outputs_along
from dalembert.integration.progress import Progress
from dalembert.integration.run_notes import run_notes, statistics
from dalembert.integration.saturation import Saturation, saturation_notes, saturations
from dalembert.integration.singularity_crossing import SingularityCrossing, interpolated_crossing
from dalembert.integration.start_states import nearest_state, require_start
from dalembert.integration.state_answer import answer_at
from dalembert.integration.step_check import first_unreached, projects_fixed_steps, unfinished_projection
from dalembert.integration.trajectory import Trajectory
from dalembert.numerics.tolerances import CONSISTENCY_TOLERANCE


def run(
    dynamics: Dynamics,
    method: Method,
    q0: Floats,
    qd0: Floats,
    times: Floats,
    p: tuple[Any, ...],
    *,
    allow_violation: bool,
    progress: bool | None,
) -> Trajectory:
    """Simulate from a start at ``times[0]`` and return the motion at all times."""
    dynamics = suited_to(dynamics, method.formulation)
    require_fit(method.formulation, len(q0), len(dynamics.constraints))
    projected = method.drift.projections > 0
    notes = require_start(dynamics, q0, qd0, times[0], p, allow_violation=allow_violation, projected=projected)
    if not method.formulation.uses_engine:
        refuse_start(dynamics, method, q0, qd0, times[0], p)
    t1 = float(times[-1])
    method = with_tolerances(dynamics, method, q0, qd0, times[0], p)
    with Progress(float(times[0]), t1, progress) as bar:
        corrected = corrected_start(dynamics, method, q0, qd0, times[0], p) if notes else None
        path, found = followed(dynamics, method, np.concatenate([q0, qd0]), times, p, bar, corrected)
    if dynamics.integrals:  # the start and all steps have been examined already
        refuse_changing(
            dynamics, np.concatenate([found["q"], found["qd"]], axis=1)[1:], reached_times(path, times)[1:], p
        )
    trajectory = _trajectory(dynamics, method, path, reached_times(path, times), found, p)
    if dynamics.actuators:
        trajectory = _with_saturation(trajectory, dynamics, method, path, p)
    if notes:
        trajectory = replace(trajectory, notes=(*notes, *trajectory.notes))
    invalid = first_invalid(trajectory, method)
    if invalid is None and projects_fixed_steps(dynamics, method):
        unreached = first_unreached(dynamics, trajectory.q, trajectory.qd, trajectory.t, p)
        if unreached is not None:
            invalid, path.refusal = unreached
        elif unfinished := unfinished_projection(dynamics, method, *_rows_of(trajectory, p)):
            trajectory = replace(trajectory, notes=(*trajectory.notes, unfinished.note(method)))
    if invalid is not None:
        # all steps are valid, but the state at a requested time between them is not
        path = replace(path, t=trajectory.t[: invalid + 1], y=_states(trajectory)[: invalid + 1], finished=False)
        trajectory = trajectory.until(invalid + 1)
    if not path.finished:
        raise SimulationError(failure_reason(dynamics, method, path, p, t1), float(path.t[-1]), trajectory)
    return trajectory


def _rows_of(trajectory: Trajectory, p: Any) -> tuple[Floats, Floats, Floats]:
    """Return the states (T, 2n), times and parameters (T, P) of a trajectory."""
    return _states(trajectory), trajectory.t, np.tile(np.asarray(p, float), (len(trajectory.t), 1))


def _with_saturation(trajectory: Trajectory, dynamics: Dynamics, method: Method, path: Path, p: Any) -> Trajectory:
    """Return the trajectory with the intervals in which inputs were at their limits."""
    found = path_saturation(dynamics, method, path, p, float(path.t[-1]))
    return replace(trajectory, saturation=tuple(found), notes=(*trajectory.notes, *saturation_notes(found)))


def path_saturation(dynamics: Dynamics, method: Method, path: Path, p: Any, end: float) -> list[Saturation]:
    """Return the intervals up to a time in which inputs are at their limits along a path."""
    native = dynamics.machine_code
    if not dynamics.actuators or native is None:
        return []

    def excess(t: Floats) -> Floats:
        at = outputs_along(dynamics, method, path, t, p)
        return native.control(np.concatenate([at["q"], at["qd"]], axis=1), t, p).excess

    times = np.append(path.t[path.t < end], end)
    # the steps first, in one call: most runs never reach a limit
    if not (native.control(path.y, path.t, p).excess > 0).any():
        return []
    return saturations(dynamics.actuators, times, excess)


def reached_times(path: Path, times: Floats) -> Floats:
    """Return the requested times that a path has reached; if it has not reached all, its last time as well."""
    return times if path.finished else np.unique(np.append(times[times <= path.t[-1]], path.t[-1]))


def accepted_start(
    dynamics: Dynamics, method: Method, q0: Floats, qd0: Floats, t0: float, p: Any, *, allow_violation: bool
) -> tuple[Floats, list[str]]:
    """Return the state to start from, on the constraints if the given one misses them by little, and notes on it."""
    projected = method.drift.projections > 0
    notes = require_start(dynamics, q0, qd0, t0, p, allow_violation=allow_violation, projected=projected)
    given = np.concatenate([q0, qd0]).astype(float)
    return corrected_start(dynamics, method, q0, qd0, t0, p) if notes else given, notes


def corrected_start(dynamics: Dynamics, method: Method, q0: Floats, qd0: Floats, t0: Any, p: Any) -> Floats:
    """Return the state on the constraints nearest to a start, in the metric of the method."""
    metric = "mass" if method.formulation.positive_mass else "any mass"
    try:
        return np.concatenate(nearest_state(dynamics, q0, qd0, t0, p, metric))
    except StateError:
        refuse_start(dynamics, method, q0, qd0, t0, p)  # has a better message if the constraints are contradictory
        raise


def followed(
    dynamics: Dynamics,
    method: Method,
    y0: Floats,
    times: Floats,
    p: Any,
    bar: Progress,
    corrected: Floats | None = None,
    *,
    all_steps: bool = False,
) -> tuple[Path, dict[str, Any]]:
    """Return the path from a start at ``times[0]`` and the motion at the times it has reached.

    An inaccurate output shows that its step has missed a change of the forces. Integration is then repeated with a stop
    at that time; if the constraints lose rank there, no step can begin, and the motion is interpolated. For
    ``corrected`` see ``integrate``; ``all_steps`` keeps all steps of a long run.
    """
    t0, t1 = float(times[0]), float(times[-1])
    stops: list[float] = []
    while True:
        outputs = None if all_steps else times
        path = integrate(dynamics, method, y0, t0, t1, p, bar, stops=stops, outputs=outputs, corrected=corrected)
        if not path.valid_start:
            # with the default formulation the integrator checks the start, which saves a check before every run
            q0, qd0 = np.split(y0, 2)
            refuse_start(dynamics, method, q0, qd0, times[0], p)
        reached = reached_times(path, times)
        found = outputs_along(dynamics, method, path, reached, p)
        if all_true(found["accurate"]):
            return path, found
        doubtful = [float(t) for t in reached[~found["accurate"]] if t not in stops]
        interpolated = [_interpolated(dynamics, method, path, p, t) for t in doubtful]
        if any(interpolated):
            path.crossings += filter(None, interpolated)
            found = outputs_along(dynamics, method, path, reached, p)
        doubtful = [t for t, one in zip(doubtful, interpolated, strict=True) if one is None]
        if not doubtful or len(stops) > MOST_STOPS:
            return path, found
        stops = sorted([*stops, doubtful[0]])


def _interpolated(dynamics: Dynamics, method: Method, path: Path, p: Any, t: float) -> SingularityCrossing | None:
    """Return the motion about a time at which the constraints lose rank within a step; None if they do not.

    A step that ends there is inaccurate, but steps to both sides of it need not be: the motion is interpolated.
    """
    k = int(path.t.searchsorted(t, side="right")) - 1
    if k + 1 >= len(path.t):
        return None
    before, after = t - float(path.t[k]), float(path.t[k + 1]) - t
    lost = [abs(found - t) for found in crossings(dynamics, method, path, p)]
    for part in INTERPOLATED_PARTS:
        short = part * min(before, after)
        nodes = t + short * np.array([-1.0, -0.5, 0.4, 0.8])  # t is not in the middle, where many methods have a node
        at = outputs_along(dynamics, method, path, nodes, p)
        if at["accurate"].all() and min(lost, default=np.inf) < short / 10:
            return interpolated_crossing(nodes, at, t)
    return None


INTERPOLATED_PARTS = (1e-2, 1e-1)
"""Distances from an output at which the constraints lose rank to the states between which it is interpolated, in parts
of a step: close enough for an interpolation of order six, and far enough for accelerations to have their digits."""

MOST_STOPS = 100
"""Most outputs at which integration restarts; a motion that needs more has no smooth parts."""


def refuse_start(dynamics: Dynamics, method: Method, q0: Floats, qd0: Floats, t0: Any, p: Any) -> None:
    """Raise an error if there is no valid acceleration at the start."""
    # the default formulation stabilises only the rows in use: a contradiction shows in the unstabilised rows
    gains = None if method.formulation.uses_engine else method.drift.gains()
    answer = answer_at(dynamics, q0, qd0, t0, p, method.formulation, gains)
    refuse_paradox(dynamics, answer, q0, qd0, t0)
    refuse_trouble(answer, method.formulation, dynamics.constraints)
    refuse_undetermined(dynamics, answer)


def suited_to(dynamics: Dynamics, formulation: Formulation) -> Dynamics:
    """Return the dynamics; if M may be singular, with row selection and projection in ``scaling.metric_of``."""
    if formulation.positive_mass:
        return dynamics
    # compiled programs are cached by dynamics: the same object must be returned each time
    if "any mass" not in dynamics.programs:
        dynamics.programs["any mass"] = _for_any_mass(dynamics)
    return dynamics.programs["any mass"]


def _for_any_mass(dynamics: Dynamics) -> Dynamics:
    def terms_with_metric(q: Any, qd: Any, t: Any, p: Any) -> Terms:
        terms = dynamics.terms(q, qd, t, p)
        return terms._replace(M=metric_of(terms.M, terms.A))

    engine = ArrayProgram(terms_with_metric, None, dynamics.levels, law_needs_ideal=False).engine()
    return replace(dynamics, compile=lambda: dynamics.compiled._replace(engine=engine))


def _trajectory(
    dynamics: Dynamics, method: Method, path: Path, times: Floats, found: dict[str, Any], p: Any
) -> Trajectory:
    parameters = zip(dynamics.parameters, p, strict=True)
    fields: dict[str, Any] = {
        **found,
        "t": np.asarray(times),
        "coordinates": dynamics.coordinates,
        "constraints": dynamics.constraints,
        "parameters": {name: float(value) for name, value in parameters if name not in dynamics.unreported},
        "statistics": statistics(method, path),
        "notes": run_notes(dynamics, method, path, found, p),
        "inputs": {},
        "servo_error": {},
    }
    del fields["accurate"]
    return instance_of(Trajectory, fields)


def first_invalid(trajectory: Trajectory, method: Method) -> int | None:
    """Return the index of the first time with forces that are not finite or constraints that are contradictory."""
    inconsistency = trajectory.inconsistency
    # zero everywhere in most runs
    bounded = not np.count_nonzero(inconsistency) or method.formulation.compromises
    bounded = bounded or all_true(inconsistency <= CONSISTENCY_TOLERANCE)
    if bounded and all_finite(trajectory.acceleration):
        return None
    valid = np.isfinite(trajectory.acceleration).all(axis=1)
    if not method.formulation.compromises:
        valid &= trajectory.inconsistency <= CONSISTENCY_TOLERANCE
    return int(np.argmin(valid))


def _states(trajectory: Trajectory) -> Floats:
    return np.concatenate([trajectory.q, trajectory.qd], axis=1)
