# SPDX-License-Identifier: BSD-3-Clause
"""The ledger of a simulated run, integrated over the segments of its motion."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.analysis.applied_parts import AppliedParts
from dalembert.analysis.ledger import Ledger
from dalembert.analysis.quadrature import IntegratedSegment
from dalembert.analysis.run_ledger import entry_count, ledger_of
from dalembert.common.array_types import Floats
from dalembert.control.held_plants import SmoothPlant
from dalembert.integration.trajectory import Trajectory
from dalembert.runs.simulated_run import SimulatedRun
from dalembert.stick_slip.joined_trajectory import ledger_entries


def simulated_ledger(source: SimulatedRun, run: Trajectory) -> Ledger:
    """Return the work and energy of all forces along a run, whose times are those of its computed motion."""
    system = source.system
    parts = None if system is None or not system.force_parts else AppliedParts(system, len(run), run.parameters)
    segments, further = _integrated_segments(source, run), _impulses(source, run)
    return ledger_of(source.dynamics, source.method, source.p, run, segments, parts=parts, **further)


def _impulses(source: SimulatedRun, run: Trajectory) -> dict[str, Any]:
    """Return the events that have entries in the ledger, and the work of impulses by entries."""
    stick_slip = source.stick_slip
    if stick_slip is None or not stick_slip.impulses:
        return {}
    events, count = stick_slip.changing_events, entry_count(source.dynamics)
    found: list[tuple[float, Floats]] = []
    began = stick_slip.segments[0].path.t[0]
    for impulse in stick_slip.impulses:
        if impulse.t < run.t[0] or impulse.t == began:
            continue  # before the first output, which at the start is the state after an impact
        work = np.zeros((2, count + len(events)))
        if impulse.work is not None:
            work[:, : impulse.work.shape[1]] = impulse.work
        if impulse.event:
            work[:, count + events.index(impulse.event)] = impulse.event_work
        found.append((impulse.t, work))
    return {"events": events, "impulses": found}


def _integrated_segments(source: SimulatedRun, run: Trajectory) -> list[IntegratedSegment]:
    """Return the parts of a run that were integrated one by one; none if it was integrated as a whole."""
    segments: list[IntegratedSegment] = []
    start, last = float(run.t[0]), float(run.t[-1])
    plant = None if source.sampled is None else source.sampled.plant
    for path, values in plant.segments if isinstance(plant, SmoothPlant) else []:
        end = min(float(path.t[-1]), last)
        if end > start:
            entries = np.arange(entry_count(source.dynamics))
            segments.append(IntegratedSegment(source.dynamics, values, path, start, end, entries))
            start = end
    if source.stick_slip is None:
        return segments
    for segment in source.stick_slip.segments:
        phase, end = segment.phase, min(segment.end, last)
        if end > start:
            entries = ledger_entries(phase.mode, source.stick_slip.system)
            segments.append(IntegratedSegment(phase.mode.dynamics, phase.values, segment.path, start, end, entries))
            start = end
    return segments
