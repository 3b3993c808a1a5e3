# SPDX-License-Identifier: BSD-3-Clause
"""Kinds of runs that only some systems need: with events, switched constraints, many coordinates or dry friction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dalembert.equation.dynamics import Dynamics
from dalembert.integration.method import Method
from dalembert.integration.trajectory import Trajectory
from dalembert.model.active_system import all_permanent
from dalembert.model.friction_contacts import contacts
from dalembert.model.input_values import time_values
from dalembert.model.large_statement import LargeStatement
from dalembert.model.system import System
from dalembert.runs.large_support import stated_large, supports_method
from dalembert.settings import AnySystem, require_system

if TYPE_CHECKING:
    from dalembert.stick_slip.simulation import StickSlipSimulation


def run_of_other_kind(
    system: AnySystem, motion: tuple[Any, Any, Any, Any], method: Method, *, control: Any, events: Any, **start: Any
) -> Trajectory | None:
    """Return the run of a system with events, with constraints that open or close, or of a large one; else None.

    ``motion`` are the initial state, the times and the parameters of ``simulate``.
    """
    q0, qd0, times, parameters = motion
    has_events = events not in ((), [])
    grouped = _large_with_events(system, events) if has_events else None
    if (has_events and grouped is None) or not all_permanent(system):
        from dalembert.runs.event_run import simulate_with_events

        times = time_values(times, "times", increasing=True)
        return simulate_with_events(system, q0, qd0, times, parameters, method, events=events, control=control, **start)
    require_system(system)
    stated = stated_large(system, supports_method, method, control) if grouped is None else grouped
    if stated is None:
        return None
    from dalembert.runs.large_runs import large_simulation

    start |= {"control": control, "events": events}
    return large_simulation(stated, method, q0, qd0, times, parameters=parameters, **start)


def _large_with_events(system: AnySystem, events: Any) -> LargeStatement | None:
    """Return the groups of terms by which a run with events is simulated; None if it is not."""
    from dalembert.runs.large_events import statement_with_events

    return statement_with_events(system, events)


def stick_slip_of(system: AnySystem, dynamics: Dynamics, method: Method, p: Any) -> StickSlipSimulation | None:
    """Return the simulation of a system with contacts that can stick, None if it has no such contacts."""
    touching = contacts(system) if isinstance(system, System) else ()
    if not isinstance(system, System) or not touching:
        return None
    from dalembert.stick_slip.simulation import StickSlipSimulation

    return StickSlipSimulation(system, touching, method, dict(zip(dynamics.parameters, map(float, p), strict=True)))
