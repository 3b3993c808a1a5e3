# SPDX-License-Identifier: BSD-3-Clause
"""Shares of contacts in the impulse of an impact, and the phases of Poisson's law.

Rigid bodies do not always determine the shares. The velocities after the impact must not depend on them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.common.names import quoted
from dalembert.errors import ConstraintError
from dalembert.numerics.linear_algebra import null_space

ALLOWED = 1e-11
"""Rounding, relative to the velocities and impulses of the problem, that a solution may miss an inequality by."""

SAME_VELOCITY = 1e-9
"""Velocity per unit of impulse, of contacts whose mobility is one, that is rounding."""


SAME_RETURN = 1e-6
"""Change of velocities by another share of an impulse, relative to that share, that is rounding of two solutions."""

TRIAL_SHARE = 1e-3
"""Change of the shares of compression, relative to its impulse, with which expansion must lead to equal velocities."""


@dataclass(frozen=True)
class ImpulseContact:
    """A contact that takes part in an impact.

    approach       velocity of its gap before the impact, negative if it closes
    restitution    e
    slip           sliding velocity before the impact; None without friction
    friction       largest tangential impulse for one unit of normal impulse
    two_sided      whether its normal impulse may have any sign, as that of an equation
    """

    name: str
    approach: float
    restitution: float = 0.0
    slip: float | None = None
    friction: float = 0.0
    two_sided: bool = False
    law: str = "newton"

    @property
    def follows_slip(self) -> bool:
        """Whether its slip is followed through the impact; Moreau's law uses the slip after it alone."""
        return self.slip is not None and not self.two_sided and self.law != "moreau"


class Shares(NamedTuple):
    """Impulses (r,) that satisfy the laws, and how they may change.

    shifts    (d, r) independent changes of the impulses that satisfy the laws as well
    inward    (g, r) products with a change that must not be negative, where the impulses are at a limit
    """

    impulses: Floats
    shifts: Floats
    inward: Floats


Solution = Callable[[Floats, Floats], Shares]
"""Returns impulses for coefficients (k,) of restitution as ratios of velocities, and for least normal impulses (k,)."""


def in_phases(contacts: Sequence[ImpulseContact], W: Floats, solution: Solution) -> Floats:
    """Return the impulses (r,) of the whole impact, normal ones first; Poisson's law has a phase of compression.

    W (r, r) has the changes of velocities per unit of impulse, for contacts whose mobilities are one.
    """
    k = len(contacts)
    # a contact that is held like an equation does not expand: its impulse is what the others need
    poisson = np.array([c.law == "poisson" and not c.two_sided for c in contacts])
    e = np.array([c.restitution for c in contacts])
    ratios = np.where(poisson, 0.0, e)
    found, shifts, inward = solution(ratios, np.zeros(k))
    if not (poisson & (e > 0)).any():
        return found

    def expanded(compression: Floats) -> Floats:
        """Return the impulses after a contact has returned at least e of the impulse of its compression."""
        pushed = np.maximum(compression[:k], 0.0)
        return solution(ratios, np.where(poisson, e * pushed + compression[:k], 0.0)).impulses

    final, size = expanded(found), float(np.abs(found).max())
    one_sided = np.array([not contact.two_sided for contact in contacts])
    for shift in (sign * part for part in shifts for sign in (1, -1) if np.abs(part[:k]).max() > SAME_VELOCITY):
        trial = found + TRIAL_SHARE * size * shift
        if (inward @ shift < -SAME_VELOCITY).any() or (trial[:k][one_sided] < -ALLOWED * size).any():
            continue
        # contacts that share their impulse in compression must return the same part of it
        if np.abs(W @ (expanded(trial) - final)).max() > TRIAL_SHARE * SAME_RETURN * size:
            moved = [contact for contact, part in zip(contacts, shift, strict=False) if abs(part) > SAME_VELOCITY]
            equal = len({contact.restitution for contact in moved}) == 1
            reason = "friction changes what they return" if equal else "their coefficients of restitution differ"
            raise ConstraintError(_shared_impulse([contact.name for contact in moved], reason))
    return final


def at_rest(
    contacts: Sequence[ImpulseContact], found: Floats, after: Floats, least: Floats, scale: float
) -> NDArray[np.bool_]:
    """Return which contacts (k,) have their least impulse, and do not separate: they might have a larger one.

    ``after`` (k,) are the velocities of gaps after the impact, less those of the rebound.
    """
    k = len(contacts)
    lowest = found[:k] - least <= ALLOWED * np.abs(found).max()
    one_sided = np.array([not contact.two_sided for contact in contacts])
    return one_sided & lowest & (np.abs(after) <= ALLOWED * scale)


def shares(
    contacts: Sequence[ImpulseContact], G: Floats, W: Floats, found: Floats, least: Floats, inward: Any = ()
) -> Shares:
    """Return impulses with changes that satisfy the laws as well: the null space of G.

    Contacts that are at rest must press in G; their impulses can only grow. ``inward`` are limits of friction.

    Raises
    ------
    ConstraintError    if contacts can share an impulse in ways that lead to different velocities, due to friction
    """
    k, shifts = len(contacts), null_space(G)
    lowest = found[:k] - least <= ALLOWED * np.abs(found).max()
    growing = [i for i in range(k) if lowest[i] and not contacts[i].two_sided]
    limits = np.array([*np.eye(len(found))[growing], *inward]).reshape(-1, len(found))
    moved = [contacts[i].name for i in range(k) if np.abs(shifts[:, i]).max(initial=0.0) > SAME_VELOCITY]
    if moved and _some_change(W @ shifts.T, limits @ shifts.T):
        raise ConstraintError(_shared_impulse(moved, "their friction differs"))
    return Shares(found, shifts, limits)


def _some_change(effects: Floats, inward: Floats) -> bool:
    """Return whether effects (r, d) @ c differ from zero for a c (d,) with ``inward`` (g, d) @ c ≥ 0."""
    from scipy.optimize import linprog

    if not np.abs(effects).max() > SAME_VELOCITY:
        return False
    if not len(inward):
        return True
    found = (
        linprog(-sign * row, A_ub=-inward, b_ub=np.zeros(len(inward)), bounds=(-1, 1))
        for row in effects
        for sign in (1, -1)
    )
    # the programs are solved to eight digits or so
    return any(-each.fun > SAME_RETURN * np.abs(effects).max() for each in found)


def _shared_impulse(names: Sequence[str], reason: str) -> str:
    return (
        f"the velocities after an impact must not depend on how contacts share its impulse; those of {quoted(names)} "
        f"do, since {reason}, and rigid bodies do not determine the shares. Give them equal coefficients, leave out "
        f"some of them, or pass `solver=da.MoreauJean(step)`."
    )
