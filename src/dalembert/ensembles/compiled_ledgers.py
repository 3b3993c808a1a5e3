# SPDX-License-Identifier: BSD-3-Clause
"""Ledgers of many ensemble members with smooth motions, at quadrature nodes that all members share."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.analysis.applied_parts import AppliedParts, with_parts
from dalembert.analysis.energy_terms import compiled_ledger_terms, rows_of_ledger
from dalembert.analysis.quadrature import INTERVALS_AT_ONCE, PLACES, divided
from dalembert.analysis.run_ledger import ledger_notes
from dalembert.common.array_types import Floats
from dalembert.ensembles.ledger_integrals import Intervals, MemberWork, least_atol, member_work, powers_of
from dalembert.ensembles.members import Members
from dalembert.ensembles.native_members import NativeMembers
from dalembert.equation.dynamics import Dynamics
from dalembert.integration.method import Method
from dalembert.integration.native_steps import in_machine_code
from dalembert.model.friction_contacts import contacts
from dalembert.model.system import System


def supports_compiled_ledgers(system: System, dynamics: Dynamics, method: Method) -> bool:
    """Return whether ledgers are computed for many members at once: smooth motions, with adaptive steps."""
    return method.step is None and in_machine_code(dynamics, method) and not contacts(system)


class AppliedEntries:
    """Puts the parts of the applied force of a system in the place of their sum."""

    def __init__(self, system: System):
        self.parts = AppliedParts(system, 0, {}) if system.force_parts else None

    def split(self, values: Floats, t: Floats, y: Floats, p: dict[str, Floats]) -> Floats:
        """Return powers (k, e) with one column for each part, at k states with parameters (k,) by name."""
        if self.parts is None:
            return values
        return with_parts(values, self.parts.powers_of_many(t, y, p), 1, rest=bool(self.parts.rest))


class CompiledLedgers:
    """Computes ledgers of members with smooth motions; see ``supports_compiled_ledgers``.

    Members are integrated once more, with outputs at the nodes of the rule of Gauss and Kronrod. Intervals are so many
    times ``finer`` than those of a single run; where they are not fine enough, a ledger is marked as not accurate.
    """

    def __init__(
        self,
        system: System,
        dynamics: Dynamics,
        method: Method,
        times: Floats,
        reference: Members,
        threads: int | None,
        finer: int,
    ):
        self.dynamics, self.method, self.times, self.reference = dynamics, method, times, reference
        begin, end = divided(times, float(times[-1] - times[0]) / finer)
        self.half, self.output = (end - begin) / 2, np.searchsorted(times, end)
        self.nodes = ((begin + end) / 2)[:, None] + self.half[:, None] * PLACES
        grid = np.unique(np.concatenate([times, self.nodes.ravel()]))
        self.at_nodes, self.at_outputs = np.searchsorted(grid, self.nodes.ravel()), np.searchsorted(grid, times)
        given: dict[str, Any] = {"every": True, "on_gpu": False, "reference": reference, "threads": threads}
        self.native = NativeMembers(dynamics, method, grid, **given)
        self.entries = AppliedEntries(system)

    @cached_property
    def _rows(self) -> tuple[int, ...]:
        return rows_of_ledger(self.dynamics, self.reference.state(0), self.times[0], self.reference.p[:, 0])

    @property
    def members_at_once(self) -> int:
        """The number of members whose nodes are evaluated together, to bound the memory for their forces."""
        return max(INTERVALS_AT_ONCE // len(self.half), 1)

    def __call__(self, members: Members) -> list[tuple[NDArray[np.intp], MemberWork]]:
        """Return the ledgers of the members that the compiled code has integrated, and which these are."""
        together = np.zeros(len(members), bool)
        for selection, times, spans in self.native.grouped(members):
            # between jumps and kinks in time a single run chooses intervals of its own
            together[selection] = len(spans) == 1 and bool((times == self.native.times).all())
        own = np.flatnonzero(together)
        if not own.size:
            return []
        part = members.subset(own)
        found = self.native(part, part.finite)
        own, y = own[found.done], found.y[found.done]
        work = self._work(members.subset(own), y) if own.size else None
        return [] if work is None else [(own, work)]

    def _work(self, members: Members, y: Floats) -> MemberWork | None:
        """Return the ledgers of members at states y (N, grid, 2n); None if their constraints are dependent."""
        N, T, (intervals, nodes) = len(members), len(self.times), self.nodes.shape
        outputs = self._terms(members, self.times, y[:, self.at_outputs])
        between = self._terms(members, self.nodes.ravel(), y[:, self.at_nodes])
        if outputs is None or between is None:
            return None
        (at_outputs, unique), (at_nodes, _) = outputs, between
        numbers = np.repeat(np.arange(N), intervals)
        of_nodes = at_nodes.reshaped(N * intervals, nodes)
        whole = Intervals(numbers, np.tile(self.output, N), np.tile(self.half, N), of_nodes)
        begin, span = float(self.times[0]), float(self.times[-1] - self.times[0])
        atol = least_atol(self.dynamics, self.method, begin, members.y.T, members.p.T)
        notes = ledger_notes(self.dynamics, self.method, unique)
        return member_work(whole, at_outputs.reshaped(N, T), self.method, atol, span, notes)

    def _terms(self, members: Members, times: Floats, y: Floats) -> Any:
        """Return the powers at states y (N, K, 2n), and which multipliers are determined; None if it is not known."""
        N, K = y.shape[:2]
        states, t, p = y.reshape(N * K, -1), np.tile(times, N), np.repeat(members.p.T, K, axis=0)
        terms = compiled_ledger_terms(self.dynamics, self.method, self._rows, states, t, p)
        if terms is None:
            return None
        named = dict(zip(self.dynamics.parameters, p.T, strict=True))
        return powers_of(terms, lambda values: self.entries.split(values, t, states, named)), terms.unique
