# SPDX-License-Identifier: BSD-3-Clause
"""Impulses of contacts in many impacts at once: the laws of ``impulses``, for arrays of impacts with the same contacts.

One contact with friction is solved by Routh's method in all impacts together. Several contacts are solved by
enumeration of their states, as a stack of the linear systems of all states of all impacts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.errors import ConstraintError
from dalembert.impacts.impulse_shares import ALLOWED, SAME_VELOCITY, ImpulseContact
from dalembert.impacts.impulses import MOST_STATES, impact_impulses

SYSTEMS_AT_ONCE = 2**15
"""Linear systems that are solved at once, to bound their memory."""

SINGULAR_CONTACTS = 1e-9
"""Determinant, relative to the product of the lengths of its rows, below which a matrix may be singular."""

Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ImpulsesOfMany:
    """N impacts with k contacts, each of which is of the same kind in all of them: see ``ImpulseContact``.

    approach, restitution, slip, friction    (N, k)
    rough, two_sided                         for each contact whether it has friction, and whether it may pull
    laws                                     for each contact its law of impact
    """

    approach: Floats
    restitution: Floats
    slip: Floats
    friction: Floats
    rough: tuple[bool, ...]
    two_sided: tuple[bool, ...]
    laws: tuple[str, ...]

    def subset(self, own: Any) -> ImpulsesOfMany:
        """Return some of the impacts."""
        return replace(
            self,
            approach=self.approach[own],
            restitution=self.restitution[own],
            slip=self.slip[own],
            friction=self.friction[own],
        )

    def impulses(self, W: Floats) -> tuple[Floats, Flags]:
        """Return the impulses (N, 2k), normal ones first, and which impacts have a solution (N,).

        W (N, 2k, 2k) has the changes of the velocities, first of all gaps, then of all slips, per unit of each impulse.
        """
        k = len(self.rough)
        if not k:
            return np.zeros((len(W), 0)), np.ones(len(W), bool)
        mobility = np.diagonal(W, axis1=1, axis2=2)
        # in units in which each contact has the mass one, so that tolerances apply to all of them
        unit = np.sqrt(np.where(mobility > 0, mobility, 1.0))
        normal, tangential = unit[:, :k], unit[:, k:]
        scaled = replace(
            self,
            approach=self.approach / normal,
            slip=self.slip / tangential,
            friction=self.friction * tangential / normal,
        )
        found, solved = scaled._scaled(W / (unit[:, :, None] * unit[:, None, :]))
        return found / unit, solved

    def _scaled(self, W: Floats) -> tuple[Floats, Flags]:
        if len(self.rough) == 1 and self.rough[0] and not self.two_sided[0] and self.laws[0] != "moreau":
            return routh(self, W)
        expanding = [law == "poisson" and not held for law, held in zip(self.laws, self.two_sided, strict=True)]
        k, poisson = len(self.rough), np.array(expanding, bool)
        newton = np.where(poisson, 0.0, self.restitution)
        found, solved = self._solutions(W, newton, np.zeros_like(newton))
        expands = solved & (poisson & (self.restitution > 0)).any(axis=1)
        if expands.any():
            # expansion: a contact returns at least e of the impulse of its compression
            part, pressed = self.subset(expands), found[expands, :k]
            returned = np.where(poisson, part.restitution, 0.0) * np.maximum(pressed, 0.0)
            least = returned + np.where(poisson, pressed, 0.0)
            found[expands], solved[expands] = part._solutions(W[expands], newton[expands], least)
        for i in np.flatnonzero(solved & self._may_share(W)):
            solved[i] = self._is_determined(int(i), W[i])
        return found, solved

    def _may_share(self, W: Floats) -> Flags:
        """Return in which impacts some contacts depend on others, so that their impulses are not unique."""
        k = len(self.rough)
        sizes = np.linalg.svd(W[:, :k, :k], compute_uv=False)
        return np.asarray(sizes[:, -1] <= SAME_VELOCITY * sizes[:, 0])

    def _is_determined(self, i: int, W: Floats) -> bool:
        """Return whether the velocities after one impact do not depend on how contacts share the impulse."""
        given = zip(self.approach[i], self.restitution[i], self.slip[i], self.friction[i], strict=True)
        kinds = zip(self.rough, self.two_sided, self.laws, strict=True)
        contacts = [
            ImpulseContact(str(j), float(v), float(e), float(w) if rough else None, float(mu), held, law)
            for j, ((v, e, w, mu), (rough, held, law)) in enumerate(zip(given, kinds, strict=True))
        ]
        try:
            impact_impulses(contacts, W)
        except ConstraintError:
            return False
        return True

    def _solutions(self, W: Floats, restitution: Floats, least: Floats) -> tuple[Floats, Flags]:
        """Return impulses (N, 2k), the normal ones at least as given, and which impacts have a solution."""
        k = len(self.rough)
        found, solved = np.zeros((len(W), 2 * k)), np.zeros(len(W), bool)
        normal = [(1, -1) if own else (1, 0) for own in self.two_sided]
        tangential = [(0, 1, -1) if own else (0,) for own in self.rough]
        count = prod(map(len, (*normal, *tangential)))
        if count > MOST_STATES:
            return found, solved
        states = np.array([*product(product(*normal), product(*tangential))]).reshape(count, 2, k)
        step = max(SYSTEMS_AT_ONCE // count, 1)
        for first in range(0, len(W), step):
            own = slice(first, first + step)
            trials = self.subset(own)._trials(W[own], restitution[own], least[own], states[:, 0], states[:, 1])
            found[own], solved[own] = trials
        return found, solved

    def _trials(
        self, W: Floats, restitution: Floats, least: Floats, normal: Any, tangential: Any
    ) -> tuple[Floats, Flags]:
        """Return the impulses (N, 2k) in the first of all states (S, k) whose inequalities they satisfy, if any."""
        k, velocities = len(self.rough), np.concatenate([self.approach, np.where(self.rough, self.slip, 0.0)], axis=1)
        G, h = self._systems(W, restitution, least, velocities, normal, tangential)
        used = [*range(k), *(k + i for i in range(k) if self.rough[i])]
        found = np.zeros_like(h)
        found[..., used] = _solved(G[..., used, :][..., used], h[..., used])
        scale = np.abs(velocities).max(axis=1)[:, None]
        impulse_scale = scale + np.abs(least).max(axis=1)[:, None]
        valid = np.abs(_times(G, found) - h).max(axis=2) <= ALLOWED * impulse_scale
        after = _times(W[:, None], found) + velocities[:, None]
        after[..., :k] += (restitution * velocities[:, :k])[:, None]
        valid &= self._are_valid(normal, tangential, found, after, least, (scale, impulse_scale))
        first = valid.argmax(axis=1)
        return found[np.arange(len(W)), first], valid.any(axis=1)

    def _systems(
        self, W: Floats, restitution: Floats, least: Floats, velocities: Floats, normal: Any, tangential: Any
    ) -> tuple[Floats, Floats]:
        """Return the matrices (N, S, 2k, 2k) and right sides (N, S, 2k) of the linear systems of all states."""
        k, unit = len(self.rough), np.eye(W.shape[1])
        G, h = np.zeros((len(W), len(normal), *W.shape[1:])), np.zeros((len(W), len(normal), W.shape[1]))
        for i in range(k):
            # one that separates has no impulse beyond the least one
            apart, sticks = (normal[:, i] == 0)[:, None], (tangential[:, i] == 0)[:, None]
            G[:, :, i] = np.where(apart, unit[i], W[:, None, i])
            pressed = -(1 + restitution[:, i]) * velocities[:, i]
            h[:, :, i] = np.where(apart[:, 0], least[:, i, None], pressed[:, None])
            if not self.rough[i]:
                G[:, :, k + i] = unit[k + i]
                continue
            share = tangential[:, i] * np.where(normal[:, i] == 0, 1, normal[:, i]) * np.abs(self.friction[:, i, None])
            G[:, :, k + i] = np.where(sticks, W[:, None, k + i], unit[k + i] + share[..., None] * unit[i])
            h[:, :, k + i] = np.where(sticks[:, 0], -velocities[:, k + i, None], 0.0)
        return G, h

    def _are_valid(
        self, normal: Any, tangential: Any, found: Floats, after: Floats, least: Floats, scales: tuple[Floats, Floats]
    ) -> Flags:
        """Return where solutions (N, S) satisfy the inequalities of a state; ``after`` has rebounds added to gaps."""
        k = len(self.rough)
        speed, impulse = (ALLOWED * scale[..., None] for scale in scales)
        limit = self.friction[:, None] * np.abs(found[..., :k])
        wrong = (normal == 0) & (after[..., :k] < -speed)
        wrong |= (normal != 0) & (normal * found[..., :k] < least[:, None] - impulse)
        wrong |= np.array(self.rough) & (tangential == 0) & (np.abs(found[..., k:]) > limit + impulse)
        wrong |= tangential * after[..., k:] < -speed
        return ~wrong.any(axis=2)


def _times(A: Floats, x: Floats) -> Floats:
    return (A @ x[..., None])[..., 0]


def _solved(G: Floats, h: Floats) -> Floats:
    """Return the solutions of linear systems, the shortest ones where redundant contacts make a matrix singular."""
    lengths = np.linalg.norm(G, axis=-1).prod(axis=-1)
    singular = ~(np.abs(np.linalg.det(G)) > SINGULAR_CONTACTS * lengths)
    found = np.empty_like(h)
    found[~singular] = np.linalg.solve(G[~singular], h[~singular][..., None])[..., 0]
    inverse: Any = np.linalg.pinv(G[singular], rcond=np.finfo(float).eps * G.shape[-1])
    found[singular] = _times(inverse, h[singular])
    return found


def routh(given: ImpulsesOfMany, W: Floats) -> tuple[Floats, Flags]:
    """Return the impulses (N, 2) of one contact with friction by Routh's method, and which impacts end."""
    v, w, mu, e = given.approach[:, 0].copy(), given.slip[:, 0].copy(), given.friction[:, 0], given.restitution[:, 0]
    P, F, compression = np.zeros_like(v), np.zeros_like(v), np.full_like(v, np.inf)
    target, done, lost = -e * v, v >= 0, np.zeros(len(v), bool)
    with np.errstate(all="ignore"):  # quotients that do not exist are not used
        for _ in range(3):  # slip, then sticking or reversed slip
            friction = _friction_rates(mu, w, W)
            dv, dw = W[:, 0, 0] + W[:, 0, 1] * friction, W[:, 1, 0] + W[:, 1, 1] * friction
            until_rest = np.where(w * dw < 0, -w / dw, np.inf)
            until_turn = np.where((v < 0) & (dv > 0), -v / dv, np.inf)
            # the end of compression, which Poisson's law refers to
            turns = (until_turn <= until_rest) & (until_turn < np.inf)
            compression = np.where(turns & ~done, P + until_turn, compression)
            by_compression = (1 + e) * compression - P
            by_velocity = np.where(dv <= 0, np.inf, (target - v) / dv) if given.laws[0] == "newton" else np.inf
            end = by_compression if given.laws[0] == "poisson" else by_velocity
            length = np.minimum(until_rest, end)
            lost |= ~done & ~np.isfinite(length)
            moves = ~(done | lost)
            v, w = np.where(moves, v + length * dv, v), np.where(moves, w + length * dw, w)
            P, F = np.where(moves, P + length, P), np.where(moves, F + length * friction, F)
            done |= moves & (length == end)
            # exactly: rounding would decide in which direction the contact slips on
            w = np.where(moves & ~done, 0.0, w)
    return np.stack([P, F], axis=1), done & ~lost


def _friction_rates(mu: Floats, w: Floats, W: Floats) -> Floats:
    """Return the tangential impulse per unit of normal impulse at slips w."""
    holding = -W[:, 1, 0] / W[:, 1, 1]
    held = np.where(np.abs(holding) <= mu, holding, np.sign(holding) * mu)
    return np.where(w != 0, -mu * np.sign(w), held)
