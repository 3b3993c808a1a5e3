# SPDX-License-Identifier: BSD-3-Clause
"""The ledgers of ensemble members: of many at once where motions are smooth, else by single runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dalembert.analysis.ledger import Ledger
from dalembert.analysis.ledger_entries import Entry
from dalembert.common.array_types import Floats
from dalembert.ensembles.compiled_ledgers import CompiledLedgers, supports_compiled_ledgers
from dalembert.ensembles.ledger_integrals import MemberWork
from dalembert.ensembles.ledger_outputs import OF_ENERGY, OF_ENTRIES, LedgerFindings
from dalembert.ensembles.members import Members
from dalembert.ensembles.phase_ledgers import PhaseLedgers, supports_phase_ledgers
from dalembert.ensembles.runner import for_ensemble_member
from dalembert.ensembles.single_members import single_member
from dalembert.equation.dynamics import Dynamics
from dalembert.errors import DalembertError
from dalembert.integration.method import Method
from dalembert.model.active_system import all_permanent
from dalembert.model.event import Event
from dalembert.model.system import System

DIVISIONS = (1, 8)
"""Factors by which the intervals of all members are finer than those with which a single run begins: at first, and for
the members for which this is not enough. What is left needs intervals of its own, which a single run finds."""


class MemberLedgers:
    """Computes the ledgers of members of one system.

    entries    of the ledgers of all members
    """

    def __init__(
        self,
        system: System,
        dynamics: Dynamics,
        events: Sequence[Event],
        method: Method,
        times: Floats,
        entries: Sequence[Entry],
        *,
        keep: Literal["times", "end", "summary"],
        reference: Members,
        threads: int | None,
    ):
        self.system, self.dynamics, self.events, self.method, self.times = system, dynamics, events, method, times
        self.entries, self.keep = entries, keep
        self._compiled: list[CompiledLedgers | PhaseLedgers] = []
        stated = system, dynamics, method, times, reference, threads
        if events or not all_permanent(system):
            return
        if supports_compiled_ledgers(system, dynamics, method):
            self._compiled = [CompiledLedgers(*stated, finer) for finer in DIVISIONS]
        elif supports_phase_ledgers(system, method):
            self._compiled = [PhaseLedgers(*stated, finer) for finer in DIVISIONS]

    def __call__(self, first: int, members: Members, failed: Any) -> tuple[dict[str, Floats], LedgerFindings]:
        """Return the variables of the ledgers (N, T, …), NaN of members that failed, and findings.

        Members are numbered from ``first``.
        """
        count, findings = len(members), LedgerFindings()
        found = {name: np.full((count, len(self.times), len(self.entries)), np.nan) for name in OF_ENTRIES}
        found |= {name: np.full((count, len(self.times)), np.nan) for name in OF_ENERGY}
        if not self.dynamics.knows_energy:
            del found["potential"]
        left = ~np.asarray(failed)
        for compiled in self._compiled:
            own, size = np.flatnonzero(left), compiled.members_at_once
            for part in (own[k : k + size] for k in range(0, len(own), size)):
                for places, work in compiled(members.subset(part)):
                    _put_work(found, part[places], work, findings)
                    left[part[places[work.accurate]]] = False
        last = np.full(count, len(self.times) - 1)
        for k in np.flatnonzero(left):
            try:
                run = single_member(
                    self.system, self.events, self.method, self.times, members.state(k), members.p[:, k]
                )
                ledger = run.ledger()
            except DalembertError as error:
                findings.open[first + int(k)] = for_ensemble_member(str(error))
                continue
            last[k] = put_ledger(found, int(k), ledger, self.times, at_end=self.keep == "end")
            findings.add(findings_of(first + int(k), ledger))
        if self.keep == "end":
            found = {name: values[np.arange(count), last][:, None] for name, values in found.items()}
        return found, findings


def _put_work(found: dict[str, Floats], own: NDArray[np.intp], work: MemberWork, findings: LedgerFindings) -> None:
    """Store the accurate ones of the ledgers of some members."""
    for name, values in work.variables.items():
        if name in found:
            found[name][own[work.accurate]] = values[work.accurate]
    findings.add(LedgerFindings([*work.notes]))


def put_ledger(found: dict[str, Floats], k: int, ledger: Ledger, times: Floats, *, at_end: bool) -> int:
    """Store the ledger of the run of member k at the times of outputs, and return the index of its last time.

    With ``at_end``, the last row of a run that an event stops between two outputs follows those that it reached.
    """
    # an event that stops a motion lies between two outputs, so that its time is an output of the run only
    reached = times <= ledger.t[-1]
    places = np.searchsorted(ledger.t, times[reached])
    count = len(ledger.entries)
    for name, values in found.items():
        own = np.asarray(getattr(ledger, name))
        if name in OF_ENTRIES:
            # events that have not occurred are the last entries, and have none in the ledger of a run
            values[k, reached, :count], values[k, reached, count:] = own[places], 0.0
        else:
            values[k, reached] = own[places]
    if not at_end or reached.all():
        return int(reached.sum()) - 1
    for name, values in found.items():
        own = np.asarray(getattr(ledger, name))[-1]
        values[k, reached.sum()] = np.append(own, np.zeros(values.shape[2] - count)) if own.ndim else own
    return int(reached.sum())


def findings_of(member: int, ledger: Ledger) -> LedgerFindings:
    """Return the notes on a single ledger: those with numbers are its own, others hold for the system."""
    general = [note for note in ledger.notes if not any(mark in note for mark in OF_ONE_RUN)]
    own = " ".join(note for note in ledger.notes if note not in general)
    return LedgerFindings(general, {member: own} if own else {})


OF_ONE_RUN = ("Energy and work differ", "The works of single entries may be off", "The initial state violates")
"""Beginnings of notes that hold for one run."""
