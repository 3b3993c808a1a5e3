# SPDX-License-Identifier: BSD-3-Clause
"""Runs with events, or with contacts that open and close: their arguments, and the run with its source."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.analysis.redundancy import redundancies, refuse_fragile_rows
from dalembert.common.array_types import Floats
from dalembert.errors import InputError, ModelError, PainleveError, SimulationError
from dalembert.hybrid.hybrid_simulation import HybridSimulation
from dalembert.integration.default_tolerances import USUAL_ATOL, usual_atol, with_tolerances
from dalembert.integration.drift import drift_notes
from dalembert.integration.method import Method
from dalembert.integration.time_segments import settled_run
from dalembert.integration.trajectory import Trajectory
from dalembert.lowering.build import build
from dalembert.model.active_system import active_system, all_permanent, refuse_distant_laws
from dalembert.model.coefficients import refuse_negative_coefficients
from dalembert.model.event import Event, event_problems, further_parameters
from dalembert.model.function_values import end_of_function_values, require_function_values
from dalembert.model.input_values import parameter_values, state_values
from dalembert.model.signal_ranges import end_of_range, require_in_range, require_state_in_range
from dalembert.model.system import System
from dalembert.runs.simulated_run import SimulatedRun


def simulate_with_events(
    system: Any,
    q0: Any,
    qd0: Any,
    times: Floats,
    parameters: Any,
    method: Method,
    *,
    events: Any,
    control: Any,
    allow_violation: bool,
    progress: bool | None,
) -> Trajectory:
    """Simulate a system with events, or with contacts that open and close; see ``da.simulate``."""
    system, events = checked_events(system, events, method, control)
    whole = active_system(system)
    q0, qd0 = (state_values(system.coordinate_names, x, name) for x, name in ((q0, "q0"), (qd0, "qd0")))
    names = (*system.parameter_names, *further_parameters(system, events))
    p = dict(zip(names, parameter_values(names, parameters), strict=True))
    refuse_negative_coefficients(whole, tuple(p[name] for name in whole.parameter_names))
    require_in_range(whole, times)
    dynamics = build(whole)
    values = tuple(np.asarray(p[name]) for name in dynamics.parameters)
    require_state_in_range(whole, q0, qd0, times[0], values)
    require_function_values(whole, q0, qd0, times[0], values)
    equations = [str(c.name) for c in system.constraints if c.active and not c.one_sided]
    asked, times = times, settled_run(dynamics, values, times, q0, qd0, equations)
    method = with_tolerances(dynamics, method, q0, qd0, times[0], values)
    permanent = all_permanent(system)
    if permanent:
        refuse_fragile_rows(dynamics, method.drift, q0, qd0, times[0], values)
    scales = usual_atol(dynamics, q0, qd0, times[0], values) / USUAL_ATOL
    simulation = HybridSimulation(system, events, method, p, scales)
    begin = float(asked[0]), float(times[0])
    record = simulation.record
    source = SimulatedRun(dynamics, method, values, system.symbols, None, record, None, _no_page, system, begin)
    try:
        found = simulation.run(q0, qd0, times, allow_violation=allow_violation, progress=progress)
    except PainleveError as paradox:
        if record.segments:
            paradox.trajectory = source.complete(record.partial_trajectory(times), asked, times)
        raise
    except SimulationError as end:
        end.trajectory = source.complete(end.trajectory, asked, times)
        last = (whole, end.trajectory.q[-1], end.trajectory.qd[-1], end.time, values)
        hint = end_of_range(*last) + end_of_function_values(*last, end.time - end.trajectory.t[0])
        raise SimulationError(f"{end}{hint}", end.time, end.trajectory) if hint else end from None
    redundant = redundancies(dynamics, found, values) if permanent else []
    return source.complete(found, asked, times, (*drift_notes(method.drift), *redundant))


def checked_events(system: Any, events: Any, method: Method, control: Any) -> tuple[System, tuple[Event, ...]]:
    """Return the system and its events, or raise an error for what they do not go together with."""
    several = tuple(events) if isinstance(events, (tuple, list)) else (events,)
    if not isinstance(system, System):
        raise InputError("`events` need a `da.System`, whose expressions are known; got a `da.FunctionSystem`.")
    if system.statement is not None:
        raise InputError(
            "`events` need a system that is stated term by term; got one stated by arrays of coordinates. Write its "
            "constraints one by one, without `da.Constraint.over`."
        )
    problems = event_problems(several, system)
    if problems:
        raise ModelError(problems)
    if control is not None or system.servos:
        raise InputError(
            "events, and contacts that open and close, must belong to a system without controller and servos; got one "
            "with them. Write the input as a force, or leave out the events."
        )
    if method.drift.integrals:
        raise InputError(
            "first integrals that are conserved must hold for the whole motion; events and impacts change them. Leave "
            "out `conserve`."
        )
    refuse_distant_laws(active_system(system), _switched(system, several))
    return system, several


def _switched(system: System, events: Sequence[Event]) -> set[str]:
    """Return the names of the constraints that do not hold all the time."""
    found = {str(constraint.name) for constraint in system.constraints if not constraint.is_permanent}
    for event in events:
        if event.then is not None:
            found |= {*event.then.on, *event.then.off}
    return found


def _no_page(*_: Any, **__: Any) -> Path:
    raise InputError(
        "a live page must be of a system whose constraints hold all the time; this run has events, or contacts that "
        "open and close. `run.animate` shows the motion as it was computed."
    )
