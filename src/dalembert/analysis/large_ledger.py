# SPDX-License-Identifier: BSD-3-Clause
"""The energy ledger of a large system: its entries, their powers at the outputs, and work, energy and audit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dalembert.analysis.large_work import Powers, WorkIntegral, powers_at
from dalembert.analysis.ledger import Ledger, inaccurate_work
from dalembert.analysis.ledger_entries import entries_of
from dalembert.common.array_types import Floats
from dalembert.common.names import LISTED_NAMES, quoted
from dalembert.integration.method import Method
from dalembert.integration.sparse_steps import SparseSteps
from dalembert.integration.trajectory import Trajectory
from dalembert.native.sparse_system import LargeDynamics

LEAST_LEDGER_STEPS = 8
"""Steps into which a run is divided at least; those whose powers vary faster than the motion are divided further."""


def large_ledger(dynamics: LargeDynamics, method: Method, numbers: Floats, run: Trajectory) -> Ledger:
    """Compute the ledger of a run, which is integrated once more."""
    # a smooth motion has few steps, between which powers could vary unseen
    longest = float(run.t[-1] - run.t[0]) / LEAST_LEDGER_STEPS
    steps = SparseSteps(dynamics, replace(method, max_step=min(method.max_step, longest)), numbers)
    done = WorkIntegral(steps, run)
    work = done.work
    at = [_at_output(steps, y, float(t)) for y, t in zip(np.concatenate([run.q, run.qd], axis=1), run.t, strict=True)]
    power = np.stack([one.values for one in at], axis=1)
    kinetic, energy = (np.array([getattr(one, name) for one in at]) for name in ("kinetic", "energy"))
    unique = np.all([one.unique for one in at], axis=0)
    ledger = Ledger(
        t=run.t,
        entries=tuple(entries_of(dynamics.constraints, dynamics.laws, _actuators(dynamics))),
        coordinates=dynamics.coordinates,
        force=tuple(one.force for one in at),
        power=power[0],
        work=work[0],
        split_power=power[1],
        split_work=work[1],
        kinetic=kinetic,
        potential=energy - kinetic if dynamics.code.knows_energy else None,
        audit=energy - energy[0] - work[0].sum(axis=1),
        turnover=done.turnover,
        rtol=method.rtol,
        atol=method.least_atol,
        notes=_notes(dynamics, method, unique),
    )
    return replace(ledger, notes=(*ledger.notes, *inaccurate_work(ledger, done.error)))


def _actuators(dynamics: LargeDynamics) -> tuple[str, ...]:
    servos = dynamics.code.servos
    return () if servos is None else servos.layout.actuators


def _at_output(steps: SparseSteps, y: Floats, t: float) -> Powers:
    steps.choose_rows(y, t)
    return powers_at(steps, y, t, details=True)


def _notes(dynamics: LargeDynamics, method: Method, unique: NDArray[np.bool_]) -> tuple[str, ...]:
    notes: list[str] = []
    shared = [dynamics.constraints[i] for i in np.flatnonzero(~unique)]
    if shared:
        more = f" and {len(shared) - LISTED_NAMES} more" if len(shared) > LISTED_NAMES else ""
        notes.append(
            f"The split between {quoted(shared[:LISTED_NAMES])}{more} is not unique, since they are redundant; it is "
            f"the one of the shortest λ."
        )
    if method.drift.gains() is not None:
        notes.append("The work of the stabilising terms is counted as work of the constraints.")
    return tuple(notes)
