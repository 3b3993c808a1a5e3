# SPDX-License-Identifier: BSD-3-Clause
"""The work of ensemble members from their powers at quadrature nodes, and whether it is accurate."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dalembert.analysis.ledger import CLOSURE_LIMIT
from dalembert.analysis.quadrature import KRONROD, ROUNDING_OF_ENERGY, SHARE_OF_ANY_INTERVAL, integral_errors
from dalembert.common.array_types import Floats
from dalembert.equation.dynamics import Dynamics, native_of
from dalembert.integration.default_tolerances import USUAL_ATOL
from dalembert.integration.method import Method


class MemberPowers(NamedTuple):
    """MemberPowers at k states: (k, e) of all entries as they act, and by the split of Udwadia and Kalaba.

    kinetic, energy    (k,)
    force              (k,) the sum of the absolute values of all forces
    """

    actual: Floats
    split: Floats
    kinetic: Floats
    energy: Floats
    force: Floats

    def reshaped(self, *shape: int) -> MemberPowers:
        """Return the powers with k = product of ``shape``."""
        return MemberPowers(*(values.reshape(*shape, *values.shape[1:]) for values in self))


class Intervals(NamedTuple):
    """I intervals of members, in the order of members and of time, with the powers (I, 15, …) at their nodes.

    member    (I,) its index
    output    (I,) the index of the output at its end, or of the next one
    half      (I,) half its length
    """

    member: NDArray[np.int64]
    output: NDArray[np.int64]
    half: Floats
    powers: MemberPowers


class MemberWork(NamedTuple):
    """Ledgers of N members at T times.

    powers      (N, T, …) at the outputs
    work        (2, N, T, e) of entries, and by the split of Udwadia and Kalaba
    notes       on the entries
    accurate    (N,) which ledgers are accurate and close
    """

    powers: MemberPowers
    work: Floats
    notes: tuple[str, ...]
    accurate: NDArray[np.bool_]

    @property
    def audit(self) -> Floats:
        """The change of energy (N, T) less all work."""
        energy = self.powers.energy
        return energy - energy[:, :1] - self.work[0].sum(axis=2)

    @property
    def variables(self) -> dict[str, Floats]:
        """The variables of the ledgers (N, T, …) by name."""
        return {
            "power": self.powers.actual,
            "work": self.work[0],
            "split_power": self.powers.split,
            "split_work": self.work[1],
            "kinetic": self.powers.kinetic,
            "potential": self.powers.energy - self.powers.kinetic,
            "audit": self.audit,
        }


def least_atol(dynamics: Dynamics, method: Method, t0: float, y: Floats, p: Floats) -> Floats:
    """Return the smallest absolute tolerance (N,) of members at starts y (N, 2n) with parameters p (N, k)."""
    if method.atol is not None:
        return np.full(len(y), method.least_atol)
    scales = native_of(dynamics).starts_of_many(y, np.full(len(y), t0), p)[2]
    return USUAL_ATOL * scales.min(axis=1)


def member_work(
    between: Intervals, outputs: MemberPowers, method: Method, atol: Floats, span: float, notes: tuple[str, ...]
) -> MemberWork:
    """Integrate the powers of N members, with absolute tolerances ``atol`` (N,), which have outputs at T times."""
    N, T, e = outputs.actual.shape
    increments = np.zeros((N, T, 2 * e))
    values = np.concatenate([between.powers.actual, between.powers.split], axis=2)
    integrals = between.half[:, None] * np.einsum("j,ijv->iv", KRONROD, values)
    np.add.at(increments, (between.member, between.output), integrals)
    work = np.stack(np.split(np.cumsum(increments, axis=1), 2, axis=2))
    accurate = _are_accurate(between, values, outputs, method, atol, span)
    found = MemberWork(outputs, work, notes, accurate)
    tolerance = method.rtol * _turnover(between, N) + atol
    return found._replace(accurate=accurate & (np.abs(found.audit).max(axis=1) <= CLOSURE_LIMIT * tolerance))


def _are_accurate(
    between: Intervals, values: Floats, outputs: MemberPowers, method: Method, atol: Floats, span: float
) -> NDArray[np.bool_]:
    """Return which members satisfy the criterion of ``analysis.quadrature`` in all intervals."""
    count, member = len(outputs.kinetic), between.member
    error, size = integral_errors(values, 2 * between.half)
    scale = np.bincount(member, size, count)
    scale = np.where(scale > 0, scale, outputs.force.max(axis=1) * atol * span)
    energy = outputs.kinetic.max(axis=1)
    np.maximum.at(energy, member, between.powers.kinetic.max(axis=1))
    share = 2 * between.half / span + SHARE_OF_ANY_INTERVAL
    bound = method.rtol * (size + scale[member] * share) + ROUNDING_OF_ENERGY * energy[member] * share
    return np.bincount(member, ~(error <= bound), count) == 0


def _turnover(between: Intervals, count: int) -> Floats:
    """Return the energy (N,) that each member exchanges: see ``Ledger.turnover``."""
    exchanged = np.einsum("j,ij->i", KRONROD, np.abs(between.powers.actual).sum(axis=2))
    found = np.bincount(between.member, between.half * exchanged, count)
    kinetic, nodes = between.powers.kinetic.ravel(), len(KRONROD)
    member = np.repeat(between.member, nodes)
    first = np.diff(member, prepend=-1) > 0
    changes = np.where(first, kinetic, np.diff(kinetic, prepend=0.0))
    return np.asarray(found + np.bincount(member, np.abs(changes), count), float)


def powers_of(terms: Any, replaced: Any = None) -> MemberPowers:
    """Return the powers of ``LedgerTerms`` at k states; ``replaced`` makes the columns of entries from others."""
    columns = (lambda values: values) if replaced is None else replaced
    force = np.abs(terms.forces).sum(axis=(1, 2))
    return MemberPowers(columns(terms.powers), columns(terms.split), terms.kinetic, terms.energy, force)
