# SPDX-License-Identifier: BSD-3-Clause
"""Impulses of contacts: Newton's and Poisson's laws with Coulomb friction, one contact or several at once.

One contact with friction is solved exactly by Routh's method, which follows the velocity at the contact while the
normal impulse grows. Several contacts form a linear complementarity problem in their impulses; it is solved by
enumeration of the states of all contacts, each of which makes it a linear system. All friction is along a line; for
slips that turn see ``turning_slip`` and ``impulses_in_space``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.common.names import quoted
from dalembert.errors import ConstraintError
from dalembert.impacts.impulse_shares import ALLOWED, ImpulseContact, Shares, at_rest, in_phases, shares
from dalembert.numerics.tolerances import RANK_TOLERANCE

MOST_STATES = 20_000
"""Largest number of combinations of states of contacts that are enumerated."""


class Impulses(NamedTuple):
    """Normal and tangential impulses (k,) of k contacts."""

    normal: Floats
    tangential: Floats


def impact_impulses(contacts: Sequence[ImpulseContact], W: Floats) -> Impulses:
    """Return the impulses of contacts.

    W (2k, 2k) has the changes of the velocities, first of all gaps, then of all slips, per unit of each impulse.

    Raises
    ------
    ConstraintError    if friction jams an impact, no impulses satisfy the laws, or there are too many contacts
    """
    if not contacts:
        return Impulses(np.zeros(0), np.zeros(0))
    k = len(contacts)
    # velocities and impulses in units in which each contact has the mass one, so that tolerances apply to all of them
    mobility = np.diag(W)
    unit = np.sqrt(np.where(mobility > 0, mobility, 1.0))
    found = _scaled_impulses(
        [
            replace(
                contact,
                approach=contact.approach / unit[i],
                slip=None if contact.slip is None else contact.slip / unit[k + i],
                friction=contact.friction * unit[k + i] / unit[i],
            )
            for i, contact in enumerate(contacts)
        ],
        W / np.outer(unit, unit),
    )
    return Impulses(found.normal / unit[:k], found.tangential / unit[k:])


def _scaled_impulses(contacts: Sequence[ImpulseContact], W: Floats) -> Impulses:
    """Return the impulses of contacts whose own mobilities, the diagonal of W, are one."""
    if len(contacts) == 1 and contacts[0].follows_slip:
        return _routh(contacts[0], W)
    velocities = np.array([*(c.approach for c in contacts), *(c.slip or 0.0 for c in contacts)])
    found = in_phases(contacts, W, lambda e, least: _solution(contacts, W, velocities, e, least))
    return Impulses(found[: len(contacts)], found[len(contacts) :])


def _solution(
    contacts: Sequence[ImpulseContact], W: Floats, velocities: Floats, restitution: Floats, least: Floats
) -> Shares:
    """Return impulses (2k,), the normal ones at least as given, by enumeration of the states of all contacts."""
    k = len(contacts)
    scale = np.abs(velocities).max(initial=0.0)
    impulse_scale = scale + np.abs(least).max(initial=0.0)
    # impacts at once are few, and enumeration finds a solution wherever there is one; pivoting need not with friction
    for normal, tangential in _states(contacts):
        G, h = np.zeros((2 * k, 2 * k)), np.zeros(2 * k)
        for i, (state, slide, contact) in enumerate(zip(normal, tangential, contacts, strict=True)):
            if state == 0:  # separates: no impulse beyond the least one
                G[i, i], h[i] = 1.0, least[i]
            else:
                G[i], h[i] = W[i], -(1 + restitution[i]) * velocities[i]
            if contact.slip is None:
                G[k + i, k + i] = 1.0
            elif slide == 0:  # sticks
                G[k + i], h[k + i] = W[k + i], -velocities[k + i]
            else:
                G[k + i, k + i], G[k + i, i] = 1.0, slide * abs(contact.friction) * (state or 1)
        # least squares, since states with redundant contacts have a singular but consistent matrix
        found = np.asarray(np.linalg.lstsq(G, h)[0], float)
        if np.abs(G @ found - h).max() > ALLOWED * max(scale, impulse_scale):
            continue
        after = W @ found + velocities
        if _is_valid(
            contacts, normal, tangential, found, after, restitution * velocities[:k], least, scale, impulse_scale
        ):
            touching = at_rest(contacts, found, after[:k] + restitution * velocities[:k], least, scale)
            G[:k][touching] = W[:k][touching]
            return shares(contacts, G, W, found, least)
    raise ConstraintError(no_impulses(contacts))


def no_impulses(contacts: Sequence[ImpulseContact]) -> str:
    """Return the message on an impact for which no impulses are found that satisfy its laws."""
    return (
        f"the impact of {quoted(contact.name for contact in contacts)} must have impulses that satisfy its laws; none "
        f"are found: friction is too strong (Painlevé's paradox), or constraints drive the bodies together. Lower the "
        f"coefficients of friction, or end the motion before by an event."
    )


def _states(contacts: Sequence[ImpulseContact]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return all combinations of normal states, 1 presses, −1 pulls, 0 separates, and of slips, 0 sticks, ±1 slides."""
    normal = [(1, -1) if contact.two_sided else (1, 0) for contact in contacts]
    tangential = [(0,) if contact.slip is None else (0, 1, -1) for contact in contacts]
    if np.prod([float(len(options)) for options in (*normal, *tangential)]) > MOST_STATES:
        raise ConstraintError(
            f"impacts at once must have fewer contacts; {quoted(contact.name for contact in contacts)} have "
            f"more than {MOST_STATES} combinations of separating, sticking and sliding. Leave out friction, or some."
        )
    return product(product(*normal), product(*tangential))  # pyright: ignore[reportReturnType]


def _is_valid(
    contacts: Sequence[ImpulseContact],
    normal: Sequence[int],
    tangential: Sequence[int],
    found: Floats,
    after: Floats,
    rebound: Floats,
    least: Floats,
    scale: float,
    impulse_scale: float,
) -> bool:
    """Return whether a solution of the linear system satisfies the inequalities of its state."""
    k = len(contacts)
    for i, contact in enumerate(contacts):
        if normal[i] == 0 and after[i] + rebound[i] < -ALLOWED * scale:
            return False
        if normal[i] != 0 and normal[i] * found[i] < least[i] - ALLOWED * impulse_scale:
            return False
        limit = contact.friction * abs(found[i])
        if contact.slip is not None and tangential[i] == 0 and abs(found[k + i]) > limit + ALLOWED * impulse_scale:
            return False
        if tangential[i] * after[k + i] < -ALLOWED * scale:
            return False
    return True


def _routh(contact: ImpulseContact, W: Floats) -> Impulses:
    """Return the impulses of one contact with friction by Routh's method.

    While the normal impulse P grows, gap velocity v and slip w change linearly: friction is −μ P along the slip until
    the slip vanishes, then it holds the contact, or the contact slips back if friction is too small for that.
    """
    v, w, P, F = contact.approach, float(contact.slip or 0.0), 0.0, 0.0
    if v >= 0:
        return Impulses(np.zeros(1), np.zeros(1))
    compression, target = np.inf, -contact.restitution * v
    for _ in range(3):  # slip, then sticking or reversed slip
        friction = _friction_rate(contact.friction, w, W)
        dv, dw = W[0] @ (1.0, friction), W[1] @ (1.0, friction)
        until_rest = -w / dw if w * dw < 0 else np.inf
        until_turn = -v / dv if v < 0 < dv else np.inf
        if until_turn <= until_rest and until_turn < np.inf:
            # the end of compression, which Poisson's law refers to
            compression = P + until_turn
        end = (1 + contact.restitution) * compression - P if contact.law == "poisson" else (target - v) / dv
        end = np.inf if contact.law == "newton" and dv <= 0 else end
        length = min(until_rest, end)
        if not np.isfinite(length):
            break
        v, w, P, F = v + length * dv, w + length * dw, P + length, F + length * friction
        if length == end:
            return Impulses(np.array([P]), np.array([F]))
        # exactly: rounding would decide in which direction the contact slips on
        w = 0.0
    raise ConstraintError(endless_impact(contact.name))


def endless_impact(name: str) -> str:
    """Return the message on an impact in which friction presses the bodies together."""
    return (
        f"the impact at `{name}` must end; friction presses the bodies together faster than they rebound, "
        f"as in Painlevé's paradox. Lower its coefficient of friction."
    )


def _friction_rate(mu: float, w: float, W: Floats) -> float:
    """Return the tangential impulse per unit of normal impulse at a slip w."""
    if w != 0:
        return -mu * float(np.sign(w))
    holding = -float(W[1, 0] / W[1, 1])
    return holding if abs(holding) <= mu else float(np.sign(holding)) * mu


def response(A: Floats, inverse: Floats) -> Floats:
    """Return the matrix (…, n, m) from changes of A q̇ to the smallest changes of q̇ in the mass metric, for M⁻¹.

    Rows are scaled to one length, since the rank is not to depend on their units.
    """
    transposed = np.swapaxes(A, -2, -1)
    S = A @ inverse @ transposed
    lengths = np.sqrt(np.diagonal(S, axis1=-2, axis2=-1))
    unit = np.where(lengths > 0, lengths, 1.0)
    units = unit[..., :, None] * unit[..., None, :]
    return inverse @ transposed @ (np.linalg.pinv(S / units, RANK_TOLERANCE, hermitian=True) / units)


def sizes_with_rounding(sizes: Floats, A: Floats, inverse: Floats, offsets: Floats | None = None) -> Floats:
    """Return sizes (…, n) of velocities or accelerations, to which their rounding is in proportion, for M⁻¹.

    Equations A x = b couple slow coordinates to fast ones: a slider at rest across its guide hangs on a connecting rod
    that moves. The terms of these equations, ``sizes`` of x and ``offsets`` of b, are rounded, and x is with them.
    """
    terms = (np.abs(A) @ sizes[..., None])[..., 0] + (0.0 if offsets is None else np.abs(offsets))
    return sizes + (np.abs(response(A, inverse)) @ terms[..., None])[..., 0]
