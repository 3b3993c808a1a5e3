# SPDX-License-Identifier: BSD-3-Clause
"""Single runs of ensemble members, with everything that a run can compute afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.integration.default_tolerances import with_tolerances
from dalembert.integration.method import Method
from dalembert.integration.run import run
from dalembert.integration.time_segments import settled_run
from dalembert.integration.trajectory import Trajectory
from dalembert.live.run_page import page_source
from dalembert.lowering.build import build
from dalembert.model.active_system import all_permanent
from dalembert.model.event import Event, further_parameters
from dalembert.model.friction_contacts import contacts
from dalembert.model.system import System
from dalembert.runs.event_run import simulate_with_events
from dalembert.runs.simulated_run import SimulatedRun
from dalembert.stick_slip.simulation import StickSlipSimulation


def single_member(
    system: System, events: Sequence[Event], method: Method, times: Floats, y: Floats, p: Floats
) -> Trajectory:
    """Return the run of a member with start y (2n,) and parameters p, as ``da.simulate`` does.

    ``system`` is that of an ensemble: its controller and its first integrals are part of it.
    """
    q, qd = np.split(y, 2)
    start: dict[str, Any] = {"allow_violation": False, "progress": False}
    if events or not all_permanent(system):
        names = (*system.parameter_names, *further_parameters(system, events))
        values = dict(zip(names, map(float, p), strict=True))
        return simulate_with_events(system, q, qd, times, values, method, events=events, control=None, **start)
    dynamics, values = build(system), tuple(map(np.asarray, p))  # arrays: new Python numbers would be compiled again
    span = float(times[0]), float(times[-1])
    page = page_source(system, method, (q, qd), span, values, allow_violation=False, control=None)
    settled = settled_run(dynamics, values, times, q, qd)
    method, touching = with_tolerances(dynamics, method, q, qd, settled[0], values), contacts(system)
    named = dict(zip(dynamics.parameters, map(float, p), strict=True))
    stick_slip = StickSlipSimulation(system, touching, method, named) if touching else None
    begin = span[0], float(settled[0])
    source = SimulatedRun(dynamics, method, values, system.symbols, None, stick_slip, None, page, system, begin)
    if stick_slip is None:
        found = run(dynamics, method, q, qd, settled, values, **start)
    else:
        found = stick_slip.run(q, qd, settled, **start)
    return source.complete(found, times, settled)
