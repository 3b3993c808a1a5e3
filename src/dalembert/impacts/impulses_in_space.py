# SPDX-License-Identifier: BSD-3-Clause
"""Impulses of contacts in space whose slips turn: several at once, or one by Moreau's law.

As for several contacts with friction along lines, the impulses of the whole impact satisfy the laws with the velocities
after it. The tangential impulse F of a contact is then the point of the disc |F| ≤ μ|P| that is nearest to F − u: it
opposes the slip u after the impact, and is as large as it may be unless u vanishes. The normal impulse P is the number
that is nearest to P − v and not too small. These equations are smooth by parts. Newton's method solves them, from
where Gauss–Seidel sweeps with projections have come if it does not converge from no impulses at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.errors import ConstraintError
from dalembert.impacts.impulse_shares import ALLOWED, ImpulseContact, Shares, at_rest, in_phases, shares
from dalembert.impacts.impulses import no_impulses
from dalembert.numerics.tolerances import RANK_TOLERANCE, ROUNDING

SWEEPS = (0, 5, 20, 100, 400, 1600, 6400)
"""Numbers of sweeps after which Newton's method is tried."""

MOST_IMPULSE_ITERATIONS = 30
"""Steps of Newton's method after which it counts as failed; where it converges, it takes about five."""


def impulses_in_space(
    contacts: Sequence[ImpulseContact], slips: Floats, tangents: Sequence[slice], W: Floats
) -> Floats:
    """Return the impulses (k + l,) of k contacts, the normal ones first, then the tangential ones along l slips.

    Parameters
    ----------
    slips       (l,) components of the slips before the impact
    tangents    which of them are those of each contact
    W           (k + l, k + l) changes of the velocities, of gaps and then of slips, per unit of each impulse

    Raises
    ------
    ConstraintError    if no impulses satisfy the laws, or the velocities depend on how contacts share them
    """
    k, mobility = len(contacts), np.diag(W)
    unit = np.sqrt(np.where(mobility > 0, mobility, 1.0))
    for own in tangents:
        # one unit for the tangents of a contact: its friction is the same in all directions
        unit[k:][own] = np.sqrt(np.mean(mobility[k:][own])) or 1.0
    velocities = np.concatenate([[contact.approach for contact in contacts], slips]) / unit
    scaled = W / np.outer(unit, unit)
    places = tuple(slice(k + own.start, k + own.stop) for own in tangents)
    friction = [
        abs(contact.friction) * unit[own.start] / unit[i]
        for i, (contact, own) in enumerate(zip(contacts, places, strict=True))
    ]
    two_sided = tuple(contact.two_sided for contact in contacts)

    def solution(restitution: Floats, least: Floats) -> Shares:
        aim = velocities.copy()
        aim[:k] *= 1 + restitution
        laws = _Laws(scaled, aim, np.array(friction), least, places, two_sided)
        found = laws.solution()
        if found is None:
            raise ConstraintError(no_impulses(contacts))
        after, size = scaled @ found + aim, float(np.abs(velocities).max())
        touching = at_rest(contacts, found, after[:k], least, size)
        holding, inward = laws.at_limit(found, after, size)
        return shares(contacts, laws.derivative(found, touching | holding, holding), scaled, found, least, inward)

    return in_phases(contacts, scaled, solution) / unit


@dataclass(frozen=True, eq=False)
class _Laws:
    """The laws of one phase of an impact, in units in which the mobilities of contacts are one.

    W            (r, r) changes of the velocities per unit of impulse
    before       (r,) velocities without impulses; those of gaps include the rebound
    friction     (k,) μ
    least        (k,) smallest normal impulses
    tangents     the slips of each contact
    two_sided    whether its normal impulse may have any sign
    """

    W: Floats
    before: Floats
    friction: Floats
    least: Floats
    tangents: tuple[slice, ...]
    two_sided: tuple[bool, ...]

    def solution(self) -> Floats | None:
        """Return impulses (r,), None if none are found."""
        k = len(self.least)
        impulses, swept = np.concatenate([self.least, np.zeros(len(self.before) - k)]), 0
        for count in SWEEPS:
            for _ in range(count - swept):
                self._sweep(impulses)
            swept = count
            found = self._newton(impulses)
            if found is not None:
                return found
        return None

    def _newton(self, impulses: Floats) -> Floats | None:
        least = np.inf
        for _ in range(MOST_IMPULSE_ITERATIONS):
            nearest = self._nearest(impulses)
            residual = impulses - nearest
            size = max((np.abs(self.W) @ np.abs(impulses) + np.abs(impulses)).max(), np.abs(self.before).max())
            missed, last = np.abs(residual).max() / size, least
            # contacts that touch within rounding stick as if they were level: their velocities differ by that angle,
            # and least squares leave this residual, while friction may still pass from one to the other
            if missed <= ROUNDING or last / 2 < missed <= RANK_TOLERANCE:
                return nearest  # which is admissible without rounding
            least = min(missed, last)
            # least squares, since contacts that share their impulse make the matrix singular, but consistent
            change = np.linalg.lstsq(self.derivative(impulses), residual, rcond=RANK_TOLERANCE)[0]
            impulses = impulses - change
        return None

    def _limit(self, i: int, P: float) -> float:
        """Return the largest tangential impulse of a contact."""
        return float(self.friction[i]) * (abs(P) if self.two_sided[i] else max(P, 0.0))

    def _nearest(self, impulses: Floats) -> Floats:
        """Return the admissible impulses that are nearest to the impulses minus the velocities after them."""
        wanted = impulses - self.W @ impulses - self.before
        for i, own in enumerate(self.tangents):
            wanted[own] = _within(wanted[own], self._limit(i, impulses[i]))
            if not self.two_sided[i]:
                wanted[i] = max(wanted[i], self.least[i])
        return wanted

    def at_limit(self, impulses: Floats, after: Floats, size: float) -> tuple[NDArray[np.bool_], list[Floats]]:
        """Return which contacts (k,) stick at the limit of their friction, and the gradients of what is left of it."""
        holding, inward = np.zeros(len(self.least), bool), list[Floats]()
        for i, own in enumerate(self.tangents):
            F, limit = float(np.linalg.norm(impulses[own])), self._limit(i, impulses[i])
            still = np.linalg.norm(after[own]) <= ALLOWED * size
            if still and F > 0 and limit - ALLOWED * np.abs(impulses).max() <= F:
                holding[i] = True
                gradient = np.zeros(len(impulses))
                gradient[i], gradient[own] = self.friction[i] * np.sign(impulses[i]), -impulses[own] / F
                inward.append(gradient)
        return holding, inward

    def derivative(self, impulses: Floats, presses: Any = None, sticks: Any = None) -> Floats:
        """Return the derivative (r, r) of the impulses minus the nearest admissible ones.

        ``presses`` and ``sticks`` (k,) are contacts that do so although they are at the limit of separating or sliding.
        """
        none = np.zeros(len(self.least), bool)
        presses, sticks = (none if given is None else given for given in (presses, sticks))
        wanted = impulses - self.W @ impulses - self.before
        identity = np.eye(len(impulses))
        found = self.W.copy()
        for i, own in enumerate(self.tangents):
            P, length = impulses[i], float(np.linalg.norm(wanted[own]))
            if not self.two_sided[i] and wanted[i] <= self.least[i] and not presses[i]:  # separates
                found[i] = identity[i]
            limit = self._limit(i, P)
            if length > limit and not sticks[i]:  # slides
                along = wanted[own] / length
                turning = limit / length * (np.eye(len(along)) - np.outer(along, along))
                found[own] = identity[own] - turning @ (identity - self.W)[own]
                found[own, i] -= self.friction[i] * along * (np.sign(P) if self.two_sided[i] else presses[i] or P > 0)
        return found

    def _sweep(self, impulses: Floats) -> None:
        """Change the impulses of one contact after the other towards its own laws."""
        for i, own in enumerate(self.tangents):
            wanted = impulses[i] - self.W[i] @ impulses - self.before[i]
            impulses[i] = wanted if self.two_sided[i] else max(wanted, self.least[i])
            # the trace bounds the largest mobility, so that the step is not too long
            step = (self.W[own] @ impulses + self.before[own]) / max(np.trace(self.W[own, own]), 1.0)
            impulses[own] = _within(impulses[own] - step, self._limit(i, impulses[i]))


def _within(vector: Floats, limit: float) -> Floats:
    """Return the vector, shortened to a limit."""
    length = float(np.linalg.norm(vector))
    return vector if length <= limit else vector * (limit / length)
