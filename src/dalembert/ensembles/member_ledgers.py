# SPDX-License-Identifier: BSD-3-Clause
"""The ledgers of ensemble members: of many at once where motions are smooth, else by single runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from dalembert.analysis.applied_parts import with_parts
from dalembert.analysis.ledger import Ledger
from dalembert.analysis.ledger_entries import Entry
from dalembert.analysis.run_ledger import ledger_notes
from dalembert.common.array_types import Floats
from dalembert.ensembles.compiled_ledgers import CompiledLedgers, MemberWork, audit_of, supports_compiled_ledgers
from dalembert.ensembles.ledger_outputs import OF_ENERGY, OF_ENTRIES, LedgerFindings
from dalembert.ensembles.members import Members
from dalembert.ensembles.runner import for_ensemble_member
from dalembert.ensembles.single_members import single_member
from dalembert.equation.dynamics import Dynamics
from dalembert.errors import DalembertError
from dalembert.integration.method import Method
from dalembert.model.active_system import all_permanent
from dalembert.model.event import Event
from dalembert.model.system import System


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
        self.entries, self.keep, self._compiled = entries, keep, None
        smooth = not events and all_permanent(system)
        if smooth and supports_compiled_ledgers(system, dynamics, method):
            self._compiled = CompiledLedgers(system, dynamics, method, times, reference, threads)

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
        if self._compiled is not None:
            own, size = np.flatnonzero(left), self._compiled.members_at_once
            for part in (own[k : k + size] for k in range(0, len(own), size)):
                left[part] &= ~self._put_compiled(found, part, members.subset(part), findings)
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
            last[k] = self._put_single(found, int(k), ledger)
            findings.add(_findings_of(first + int(k), ledger))
        if self.keep == "end":
            found = {name: values[np.arange(count), last][:, None] for name, values in found.items()}
        return found, findings

    def _put_compiled(self, found: dict[str, Floats], own: Any, part: Members, findings: LedgerFindings) -> Any:
        """Store the ledgers of members that compiled code has, and return which of them (N,)."""
        done = np.zeros(len(part), bool)
        assert self._compiled is not None
        computed = self._compiled(part)
        if computed is None:
            return done
        work, places = computed
        good = places[work.accurate]
        for name, values in self._variables(work).items():
            if name in found:
                found[name][own[good]] = values[work.accurate]
        findings.add(LedgerFindings([*ledger_notes(self.dynamics, self.method, work.terms.unique)]))
        done[good] = True
        return done

    def _variables(self, found: MemberWork) -> dict[str, Floats]:
        """Return the variables (N, T, …) of ledgers by name."""
        N, T = found.work.shape[1:3]
        terms = found.terms
        energy, kinetic = (np.asarray(values).reshape(N, T) for values in (terms.energy, terms.kinetic))
        values: dict[str, Any] = {
            "power": np.asarray(terms.powers).reshape(N, T, -1),
            "work": found.work[0],
            "split_power": np.asarray(terms.split).reshape(N, T, -1),
            "split_work": found.work[1],
        }
        if found.of_parts is not None:
            assert self._compiled is not None and self._compiled.parts is not None
            rest = bool(self._compiled.parts.rest)
            for name, own in values.items():
                values[name] = with_parts(own, found.of_parts[int(name.endswith("work"))], 2, rest=rest)
        return values | {
            "kinetic": kinetic,
            "potential": energy - kinetic,
            "audit": audit_of(energy, found.work[0]),
        }

    def _put_single(self, found: dict[str, Floats], k: int, ledger: Ledger) -> int:
        """Store the ledger of a single run, and return the index of its last time."""
        # an event that stops a motion lies between two outputs, so that its time is an output of the run only
        reached = self.times <= ledger.t[-1]
        places = np.searchsorted(ledger.t, self.times[reached])
        count = len(ledger.entries)
        for name, values in found.items():
            own = np.asarray(getattr(ledger, name))
            if name in OF_ENTRIES:
                # events that have not occurred are the last entries, and have none in the ledger of a run
                values[k, reached, :count], values[k, reached, count:] = own[places], 0.0
            else:
                values[k, reached] = own[places]
        if self.keep != "end" or reached.all():
            return int(reached.sum()) - 1
        for name, values in found.items():
            own = np.asarray(getattr(ledger, name))[-1]
            values[k, reached.sum()] = np.append(own, np.zeros(values.shape[2] - count)) if own.ndim else own
        return int(reached.sum())


def _findings_of(member: int, ledger: Ledger) -> LedgerFindings:
    """Return the notes on a single ledger: those with numbers are its own, others hold for the system."""
    general = [note for note in ledger.notes if not any(mark in note for mark in OF_ONE_RUN)]
    own = " ".join(note for note in ledger.notes if note not in general)
    return LedgerFindings(general, {member: own} if own else {})


OF_ONE_RUN = ("Energy and work differ", "The works of single entries may be off", "The initial state violates")
"""Beginnings of notes that hold for one run."""
