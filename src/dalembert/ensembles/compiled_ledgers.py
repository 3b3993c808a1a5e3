# SPDX-License-Identifier: BSD-3-Clause
"""Ledgers of many ensemble members at once: powers in compiled code, at quadrature nodes that all members share."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dalembert.analysis.applied_parts import AppliedParts
from dalembert.analysis.energy_terms import compiled_ledger_terms, rows_of_ledger
from dalembert.analysis.ledger import CLOSURE_LIMIT
from dalembert.analysis.quadrature import (
    INTERVALS_AT_ONCE,
    KRONROD,
    PLACES,
    ROUNDING_OF_ENERGY,
    SHARE_OF_ANY_INTERVAL,
    divided,
    integral_errors,
)
from dalembert.common.array_types import Floats
from dalembert.ensembles.members import Members
from dalembert.ensembles.native_members import NativeMembers
from dalembert.equation.dynamics import Dynamics, native_of
from dalembert.integration.default_tolerances import USUAL_ATOL
from dalembert.integration.method import Method
from dalembert.integration.native_steps import in_machine_code
from dalembert.model.friction_contacts import contacts
from dalembert.model.system import System


def supports_compiled_ledgers(system: System, dynamics: Dynamics, method: Method) -> bool:
    """Return whether ledgers are computed for many members at once: smooth motions, with adaptive steps."""
    return method.step is None and in_machine_code(dynamics, method) and not contacts(system)


class MemberWork(NamedTuple):
    """Ledgers of N members at T times.

    terms      the ``LedgerTerms`` at the outputs (N T, …)
    work       (2, N, T, e) of entries, and by the split of Udwadia and Kalaba; all applied forces are one entry
    of_parts   (2, N, T, parts) powers and work of the parts of the applied force; None without parts
    accurate   (N,) which ledgers are accurate and close
    """

    terms: Any
    work: Floats
    of_parts: Floats | None
    accurate: NDArray[np.bool_]


class CompiledLedgers:
    """Computes ledgers of members with smooth motions; see ``supports_compiled_ledgers``.

    Members are integrated once more, with outputs at the nodes of the rule of Gauss and Kronrod. Where the rule is not
    accurate in all intervals, a single run has to divide them further.
    """

    def __init__(
        self,
        system: System,
        dynamics: Dynamics,
        method: Method,
        times: Floats,
        reference: Members,
        threads: int | None,
    ):
        self.system, self.dynamics, self.method, self.times = system, dynamics, method, times
        self.reference = reference
        self.begin, self.end = divided(times, float(times[-1] - times[0]))
        middle, self.half = (self.begin + self.end) / 2, (self.end - self.begin) / 2
        nodes = middle[:, None] + self.half[:, None] * PLACES
        self.nodes = nodes.ravel()
        grid = np.unique(np.concatenate([times, self.nodes]))
        self.at_nodes, self.at_outputs = np.searchsorted(grid, self.nodes), np.searchsorted(grid, times)
        given: dict[str, Any] = {"every": True, "on_gpu": False, "reference": reference, "threads": threads}
        self.native = NativeMembers(dynamics, method, grid, **given)
        self.parts = AppliedParts(system, len(times), {}) if system.force_parts else None

    @cached_property
    def _rows(self) -> tuple[int, ...]:
        return rows_of_ledger(self.dynamics, self.reference.state(0), self.times[0], self.reference.p[:, 0])

    @property
    def members_at_once(self) -> int:
        """The number of members whose nodes are evaluated together, to bound the memory for their forces."""
        return max(INTERVALS_AT_ONCE // len(self.begin), 1)

    def __call__(self, members: Members) -> tuple[MemberWork, NDArray[np.intp]] | None:
        """Return the ledgers of the members that the compiled code has integrated, and which these are."""
        together = np.zeros(len(members), bool)
        for selection, times, spans in self.native.grouped(members):
            # between jumps and kinks in time a single run chooses intervals of its own
            together[selection] = len(spans) == 1 and bool((times == self.native.times).all())
        own = np.flatnonzero(together)
        if not own.size:
            return None
        part = members.subset(own)
        found = self.native(part, part.finite)
        own, y = own[found.done], found.y[found.done]
        if not own.size:
            return None
        work = self._work(members.subset(own), y)
        return None if work is None else (work, own)

    def _terms(self, y: Floats, t: Floats, p: Floats) -> Any:
        """Return the ``LedgerTerms`` at states, or None."""
        return compiled_ledger_terms(self.dynamics, self.method, self._rows, y, t, p)

    def _work(self, members: Members, y: Floats) -> MemberWork | None:
        """Return the ledgers of members at states y (N, grid, 2n); None if their constraints are dependent."""
        N, T, K = len(members), len(self.times), len(self.nodes)
        states = [y[:, places].reshape(-1, y.shape[2]) for places in (self.at_outputs, self.at_nodes)]
        t = [np.tile(self.times, N), np.tile(self.nodes, N)]
        p = [np.repeat(members.p.T, count, axis=0) for count in (T, K)]
        outputs, between = (self._terms(*at) for at in zip(states, t, p, strict=True))
        if outputs is None or between is None:
            return None
        values = [between.powers, between.split]
        powers_of_parts = None
        if self.parts is not None:
            names = self.dynamics.parameters
            powers_of_parts, at_nodes = (
                self.parts.powers_of_many(own_t, own_y, dict(zip(names, own_p.T, strict=True)))
                for own_y, own_t, own_p in zip(states, t, p, strict=True)
            )
            values.append(at_nodes)
        whole = np.concatenate(values, axis=1).reshape(N, len(self.begin), len(PLACES), -1)
        increments = np.einsum("i,j,nijv->niv", self.half, KRONROD, whole)
        ends = np.searchsorted(self.end, self.times[1:], side="left")
        work = np.zeros((N, T, whole.shape[-1]))
        work[:, 1:] = np.cumsum(increments, axis=1)[:, ends]
        e = between.powers.shape[1]
        own, split, of_parts = np.split(work, [e, 2 * e], axis=2)
        kinetic = between.kinetic.reshape(N, K)
        accurate = self._is_accurate(members, whole, kinetic, outputs)
        accurate &= self._closes(members, own, whole[..., :e], kinetic, outputs)
        parts = None if powers_of_parts is None else np.stack([powers_of_parts.reshape(N, T, -1), of_parts])
        return MemberWork(outputs, np.stack([own, split]), parts, accurate)

    def _least_atol(self, members: Members) -> Floats:
        """Return the smallest absolute tolerance (N,) of each member."""
        if self.method.atol is not None:
            return np.full(len(members), self.method.least_atol)
        starts = native_of(self.dynamics).starts_of_many
        begin = np.full(len(members), self.times[0])
        scales = starts(np.ascontiguousarray(members.y.T), begin, np.ascontiguousarray(members.p.T))[2]
        return USUAL_ATOL * scales.min(axis=1)

    def _is_accurate(self, members: Members, values: Floats, kinetic: Floats, outputs: Any) -> NDArray[np.bool_]:
        """Return which members satisfy the criterion of ``analysis.quadrature`` in all intervals."""
        N, intervals = values.shape[:2]
        flat = values.reshape(N * intervals, *values.shape[2:])
        error, size = (x.reshape(N, intervals) for x in integral_errors(flat, np.tile(2 * self.half, N)))
        span = float(self.times[-1] - self.times[0])
        force = np.abs(outputs.forces).sum(axis=(1, 2)).reshape(N, -1).max(axis=1)
        scale = size.sum(axis=1)
        scale = np.where(scale > 0, scale, force * self._least_atol(members) * span)[:, None]
        energy = np.maximum(kinetic.max(axis=1), outputs.kinetic.reshape(N, -1).max(axis=1))[:, None]
        share = 2 * self.half / span + SHARE_OF_ANY_INTERVAL
        bound = self.method.rtol * (size + scale * share) + ROUNDING_OF_ENERGY * energy * share
        return np.asarray((error <= bound).all(axis=1))

    def _closes(
        self, members: Members, work: Floats, powers: Floats, kinetic: Floats, outputs: Any
    ) -> NDArray[np.bool_]:
        """Return which ledgers close; a single run has the notes on the others."""
        turnover = np.einsum("i,j,nij->n", self.half, KRONROD, np.abs(powers).sum(axis=3))
        turnover += np.abs(np.diff(kinetic, axis=1, prepend=0.0)).sum(axis=1)
        audit = audit_of(outputs.energy.reshape(len(members), -1), work)
        tolerance = self.method.rtol * turnover + self._least_atol(members)
        return np.asarray(np.abs(audit).max(axis=1) <= CLOSURE_LIMIT * tolerance)


def audit_of(energy: Floats, work: Floats) -> Floats:
    """Return the change of energy (N, T) less all work (N, T, e)."""
    return energy - energy[:, :1] - work.sum(axis=2)
