# SPDX-License-Identifier: BSD-3-Clause
"""The energy ledger of a run: the work of every force, integrated along its steps, and notes on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.analysis.applied_parts import AppliedParts
from dalembert.analysis.energy_terms import ledger_terms
from dalembert.analysis.ledger import CLOSURE_LIMIT, Ledger, inaccurate_work
from dalembert.analysis.ledger_entries import Entry, entries_of
from dalembert.analysis.quadrature import IntegratedSegment, Nodes, RunMagnitudes, quadrature, whole_run
from dalembert.common.array_types import Floats
from dalembert.equation.dynamics import Dynamics
from dalembert.integration.abrupt_changes import impulse_work
from dalembert.integration.method import Method
from dalembert.integration.start_states import terms_at
from dalembert.integration.trajectory import Trajectory
from dalembert.numerics.violation import violated


def ledger_of(
    dynamics: Dynamics,
    method: Method,
    p: Any,
    run: Trajectory,
    segments: Sequence[IntegratedSegment] = (),
    *,
    events: Sequence[str] = (),
    impulses: Sequence[tuple[float, Floats]] = (),
    parts: AppliedParts | None = None,
) -> Ledger:
    """Compute the ledger of a run, which may consist of several ``segments``.

    ``events`` are the names of further entries, the last ones; ``impulses`` are works (2, e) at times between
    segments, of the entries and by the split of Udwadia and Kalaba. ``parts`` splits the entry of the applied forces.
    """
    entries = (*_entries(dynamics, method), *(Entry(name, "event", "") for name in events))
    segments = segments or [whole_run(dynamics, method, p, run, len(entries))]
    at_outputs = _at_all_outputs(segments, method, run, (len(entries), len(dynamics.constraints)), parts)
    forces, powers, split, kinetic, energy, unique = at_outputs
    magnitudes = RunMagnitudes(_largest(kinetic), _largest(np.abs(forces).sum(axis=(1, 2))) * method.least_atol)
    done = _Work(method, run, len(entries), parts, magnitudes)
    for t, work in impulses:
        done.add_impulse(t, work)
    for segment in segments:
        done.add_segment(segment)
    work, split_work = np.cumsum(done.increments, axis=1)
    ledger = Ledger(
        t=run.t,
        entries=entries,
        coordinates=dynamics.coordinates,
        force=forces,
        power=powers,
        work=work,
        split_power=split,
        split_work=split_work,
        kinetic=kinetic,
        potential=energy - kinetic if dynamics.knows_energy else None,
        audit=energy - energy[0] - work.sum(axis=1),
        turnover=done.turnover,
        rtol=method.rtol,
        atol=method.least_atol,
        notes=ledger_notes(dynamics, method, unique),
    )
    projected = method.drift.projections and not segments[0].path.jumps
    further = (_start_notes(dynamics, run, p) if projected else []) or _end_notes(ledger)
    ledger = replace(ledger, notes=(*ledger.notes, *further, *inaccurate_work(ledger, done.error)))
    return ledger if parts is None else parts.split(ledger)


class _Work:
    """The work of all entries of a run, and of the parts of the applied force.

    increments    (2, T, e) from each output to the next, of the entries, and by the split of Udwadia and Kalaba
    turnover      the energy that changes hands, by which the audit is judged: the net sum may be zero
    error         of all works, as the quadrature estimates it
    """

    def __init__(
        self, method: Method, run: Trajectory, entries: int, parts: AppliedParts | None, magnitudes: RunMagnitudes
    ):
        self.method, self.times, self.parts, self.magnitudes = method, run.t, parts, magnitudes
        self.increments, self.turnover, self.error = np.zeros((2, len(run.t), entries)), 0.0, 0.0
        self._kinetic = 0.0  # at the end of the last segment

    def add_impulse(self, t: float, work: Floats) -> None:
        """Add the work (2, e) of impulses at a time between segments."""
        # an output at the time of an impulse is the state before it
        self.increments[:, np.searchsorted(self.times, t, side="right") :][:, :1] += work[:, None]
        self.turnover += float(np.abs(work[0]).sum())

    def add_segment(self, segment: IntegratedSegment) -> None:
        """Add the work of forces along a segment, and of the impulses within it."""
        entries = self.increments.shape[2]
        # between two outputs at rest there may have been a motion
        of_run = self.magnitudes._replace(energy=max(self.magnitudes.energy, self.turnover))
        found = quadrature(segment, self.method, self.times, self._powers_of(segment), -1, of_run)
        own, split, of_parts, kinetic = np.split(found.values, [entries, 2 * entries, -1], axis=1)
        for total, powers in zip(self.increments, (own, split), strict=True):
            found.add(total, powers)
        if self.parts is not None:
            self.parts.add_powers(found, of_parts)
        self.error += found.error
        self.turnover += float(found.weight @ np.abs(own).sum(axis=1))
        self.turnover += float(np.abs(np.diff(kinetic[:, 0], prepend=self._kinetic)).sum())
        self._kinetic = float(kinetic[-1, 0])
        for jump in segment.path.jumps:
            place = segment.places[1 : 1 + len(segment.dynamics.constraints)]
            for total in self.increments:  # impulses of the constraints are ideal, so both splits agree
                np.add.at(
                    total[np.searchsorted(self.times, jump.t)], place, impulse_work(segment.dynamics, jump, segment.p)
                )

    def _powers_of(self, segment: IntegratedSegment) -> Callable[[Nodes], Floats]:
        """Return a function of nodes: the powers of entries, by the split, of parts, and last the kinetic energy."""

        def powers(nodes: Nodes) -> Floats:
            terms = ledger_terms(segment.dynamics, self.method, nodes.q, nodes.qd, nodes.t, segment.p)
            between = _gathered(terms, segment, self.increments.shape[2])
            of_parts = [] if self.parts is None else [self.parts.powers(segment, nodes)]
            return np.concatenate([between.powers, between.split, *of_parts, between.kinetic[:, None]], axis=1)

        return powers


def _largest(values: Floats) -> float:
    """Return the largest magnitude of the finite values, or 0."""
    return float(np.abs(values[np.isfinite(values)]).max(initial=0.0))


def _at_all_outputs(
    segments: Sequence[IntegratedSegment],
    method: Method,
    run: Trajectory,
    counts: tuple[int, int],
    parts: AppliedParts | None,
) -> tuple[Any, ...]:
    """Return the terms at all outputs of a run, and add those of the parts of the applied force."""
    at: list[Any] = []
    for segment in segments:
        # an output at the border of two segments belongs to the one that ends there, whose forces led to it
        in_leg = (run.t > segment.start) & (run.t <= segment.end) | (run.t == segment.start) & (segment is segments[0])
        if in_leg.any():
            at.append(_at_outputs(segment, method, run, in_leg, counts))
            if parts is not None:
                parts.add_outputs(segment, run.t[in_leg], run.q[in_leg], run.qd[in_leg])
    return tuple(np.concatenate(terms) for terms in zip(*at, strict=True))


def _at_outputs(
    segment: IntegratedSegment, method: Method, run: Trajectory, chosen: Any, counts: tuple[int, int]
) -> Any:
    """Return the terms at some outputs of a segment, for the given numbers of entries and constraints of the run."""
    entries, constraints = counts
    here = ledger_terms(segment.dynamics, method, run.q[chosen], run.qd[chosen], run.t[chosen], segment.p)
    return _gathered(here, segment, entries)._replace(unique=_unique_of_run(here.unique, segment, constraints))


def _unique_of_run(own: Any, segment: IntegratedSegment, constraints: int) -> Any:
    """Return which multipliers (T, m) of the constraints of a run are determined, from those of a segment."""
    found = np.ones((len(own), constraints), bool)
    for k, place in enumerate(segment.places[1 : 1 + own.shape[1]]):
        if place <= constraints:  # others are those that hold a sticking contact
            found[:, place - 1] = own[:, k]
    return found


def _gathered(ledger_source: Any, segment: IntegratedSegment, entries: int) -> Any:
    """Sum the terms of a segment's entries into the entries of the whole run."""

    def by_entry(values: Any) -> Any:
        total = np.zeros((len(values), entries, *values.shape[2:]))
        for own, place in enumerate(segment.places):
            total[:, place] += values[:, own]
        return total

    of_entries = ("forces", "powers", "split")
    return ledger_source._replace(**{name: by_entry(getattr(ledger_source, name)) for name in of_entries})


def entry_count(dynamics: Dynamics) -> int:
    """Return the number of entries of a ledger without a compromise."""
    return 1 + len(dynamics.constraints) + len(dynamics.laws) + len(dynamics.actuators)


def _entries(dynamics: Dynamics, method: Method) -> tuple[Entry, ...]:
    entries = entries_of(dynamics.constraints, dynamics.laws, dynamics.actuators)
    if method.formulation.compromises:
        entries.append(Entry("compromise", "compromise", ""))
    return tuple(entries)


def _end_notes(ledger: Ledger) -> list[str]:
    """Return a note if energy and work differ by more than ``CLOSURE_LIMIT`` tolerances."""
    if ledger.closure <= CLOSURE_LIMIT:
        return []
    return [
        f"Energy and work differ by {ledger.closure:.1e} tolerances: the integration is inaccurate, as for "
        f"motions that grow without bound or forces that jump."
    ]


def _start_notes(dynamics: Dynamics, run: Trajectory, p: Any) -> list[str]:
    """Return a note if the initial state does not satisfy the constraints."""
    q, qd = run.q[0], run.qd[0]
    A = np.asarray(terms_at(dynamics, q, qd, run.t[0], p).A)
    off = violated(run.violation[0], A, q) | violated(run.velocity_violation[0], A, qd, q)
    if not off.any():
        return []
    names = ", ".join(f"`{name}`" for name, is_off in zip(dynamics.constraints, off, strict=True) if is_off)
    return [
        f"The initial state violates {names}. The projection onto the constraints is not the work of any force, so the "
        f"audit need not vanish."
    ]


def ledger_notes(dynamics: Dynamics, method: Method, unique: Any) -> tuple[str, ...]:
    """Return the notes on the entries of a ledger, given which multipliers (T, m) are determined."""
    notes = list(dynamics.law_remarks)
    shared = [name for name, column in zip(dynamics.constraints, unique.T, strict=True) if not column.all()]
    if shared:
        names = ", ".join(f"`{name}`" for name in shared)
        notes.append(
            f"The split between {names} is not unique, since they are redundant; it is the one of the shortest λ."
        )
    if method.drift.gains() is not None:
        notes.append("The work of the stabilising terms is counted as work of the constraints.")
    if method.formulation.compromises:
        notes.append(
            "The equations of motion hold in the least-squares sense; their residual is the entry `compromise`."
        )
    return tuple(notes)
