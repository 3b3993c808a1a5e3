# SPDX-License-Identifier: BSD-3-Clause
"""The variables of the ledgers of ensemble members: their names and entries, and findings about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from dalembert.analysis.ledger_entries import Entry, entries_of
from dalembert.common.names import counted
from dalembert.equation.dynamics import Dynamics
from dalembert.errors import InputError
from dalembert.model.event import Event
from dalembert.model.system import System

LEDGER = "ledger"
"""The name in ``outputs`` that stands for all variables of a ledger."""

OF_ENTRIES = ("power", "work", "split_power", "split_work")
OF_ENERGY = ("kinetic", "potential", "audit")
"""The variables of a ledger, by the names of ``Ledger.to_xarray``."""

LEDGER_LABELS = ("entry", "kind")
"""The labels of the entries: names and kinds."""

LEDGER_NAMES = (*OF_ENTRIES, *OF_ENERGY, *LEDGER_LABELS)


def member_entries(system: System, dynamics: Dynamics, events: Sequence[Event]) -> tuple[Entry, ...]:
    """Return the entries of the ledgers of all members; an event that changes the motion has one."""
    from dalembert.analysis.applied_parts import part_names

    entries = entries_of(dynamics.constraints, dynamics.laws, dynamics.actuators)
    if system.force_parts:
        entries[:1] = [Entry(name, "applied", "") for name in part_names(system.force_parts)]
    changing = [Entry(str(event.name), "event", "") for event in events if event.then is not None]
    return (*entries, *changing)


def refuse_names_of_ledger(names: Sequence[str]) -> None:
    """Raise an error if a swept quantity or an expression has the name of a variable of a ledger."""
    taken = [name for name in names if name in LEDGER_NAMES]
    if taken:
        raise InputError(
            f'with "{LEDGER}" in `outputs` no other quantity can be called `{taken[0]}`, which is a variable of the '
            f"ledger. Rename it, or leave out the ledger."
        )


@dataclass
class LedgerFindings:
    """Findings about the ledgers of members.

    notes     remarks that hold for the system, each once
    open      notes of single members on ledgers that are not accurate, by number
    """

    notes: list[str] = field(default_factory=list[str])
    open: dict[int, str] = field(default_factory=dict[int, str])

    def add(self, other: LedgerFindings) -> None:
        """Add the findings of further members."""
        self.notes = list(dict.fromkeys([*self.notes, *other.notes]))
        self.open |= other.open

    @property
    def note(self) -> str:
        """The notes as one text; of those of single members the first one."""
        if not self.open:
            return " ".join(self.notes)
        first = min(self.open)
        more = f" So have {counted(len(self.open) - 1, 'more member')} such a note." if len(self.open) > 1 else ""
        return " ".join([*self.notes, f"Ledger of member {first}: {self.open[first]}{more}"])
