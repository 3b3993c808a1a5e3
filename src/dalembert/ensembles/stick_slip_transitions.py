# SPDX-License-Identifier: BSD-3-Clause
"""Transitions of many ensemble members at once: which of the contacts at rest stick, and which slip.

The criteria are those of ``stick_slip.transitions``, for contacts that slide along a line. Members whose transition
needs more than these are marked as odd: each of them is simulated by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.ensembles.modes_of_many import ModeOfMany
from dalembert.integration.default_tolerances import USUAL_ATOL
from dalembert.integration.method import Method
from dalembert.model.expression_values import expression_values
from dalembert.model.friction_contacts import Contact
from dalembert.model.system import System
from dalembert.numerics.linear_algebra import rank, unit_rows
from dalembert.numerics.tolerances import SOLVED_RANK_TOLERANCE, TINY
from dalembert.stick_slip.modes import LOAD_ROUNDING, cached_mode
from dalembert.stick_slip.transitions import REST_SPEED, RESTING_SPEED

GUARD_ROUNDING = 1e-9
"""Distance of a guard from zero, relative to its scale, up to which it may have ended a phase: machine code and NumPy
round differently."""

Flags = NDArray[np.bool_]


@dataclass
class MemberPhases:
    """The phases of N members: which contacts stick (N, contacts), the directions of the others, and states and times.

    odd    (N,) which members must be simulated by themselves
    """

    y: Floats
    t: Floats
    p: Floats
    sticking: Flags
    directions: Floats
    odd: Flags

    def subset(self, selection: NDArray[np.intp]) -> MemberPhases:
        of_contacts = self.sticking[selection], self.directions[selection]
        return MemberPhases(
            self.y[selection], self.t[selection], self.p[:, selection], *of_contacts, self.odd[selection]
        )

    def put(self, selection: NDArray[np.intp], part: MemberPhases) -> None:
        """Replace the phases of some members."""
        self.y[selection], self.t[selection] = part.y, part.t
        self.sticking[selection], self.directions[selection] = part.sticking, part.directions
        self.odd[selection] = part.odd


class Transitions:
    """Decides transitions of members of one system.

    functions, further    guards beside those of friction: see ``ModeOfMany``
    """

    def __init__(
        self,
        system: System,
        contacts: tuple[Contact, ...],
        method: Method,
        functions: tuple[tuple[Any, Any, Any], ...] = (),
        further: tuple[str, ...] = (),
    ):
        self.system, self.contacts, self.method = system, contacts, method
        self._functions = functions, further
        self._modes: dict[tuple[bool, ...], ModeOfMany] = {}

    def mode(self, sticking: Flags, example: MemberPhases) -> ModeOfMany:
        """Return the mode in which some contacts stick; the first of some members is its reference."""
        key = tuple(map(bool, sticking))
        if key not in self._modes:
            held = tuple(c for c, own in zip(self.contacts, key, strict=True) if own)
            reference = example.y[0], float(example.t[0]), example.p[:, 0], example.directions[0]
            mode = cached_mode(self.system, self.contacts, held)
            self._modes[key] = ModeOfMany(mode, self.method, reference, *self._functions)
        return self._modes[key]

    def first(self, members: MemberPhases, scales: Floats, still: Flags | None = None) -> None:
        """Choose the first phases of members, whose velocities have scales (N, n); ``still`` are others at rest."""
        velocities = self._velocities(members)
        resting = self._at_rest(members, velocities)
        ahead = np.zeros_like(velocities)
        n = scales.shape[1]
        for i in range(n):
            moved = members.y.copy()
            moved[:, n + i] += np.minimum(scales[:, i], 1.0)
            ahead += np.abs(self._velocities(members, moved) - velocities)
        holds = self.static_coefficients(members) > 0
        resting |= holds & (np.abs(velocities) <= RESTING_SPEED * ahead)
        if still is not None:
            resting |= still
        members.odd |= self._wrong_coefficients(members)
        self._choose(members, resting, velocities, np.zeros_like(resting))

    def static_coefficients(self, members: MemberPhases) -> Floats:
        """Return the static coefficients (N, contacts)."""
        return self._values(members, [c.mu_static for c in self.contacts])

    def _wrong_coefficients(self, members: MemberPhases) -> Flags:
        """Return which members have a static coefficient less than the kinetic one, or a negative one."""
        laws = [self.system.laws[c.number].law for c in self.contacts]
        moving = self._values(members, [law.friction_coefficient(sp.S.Zero) for law in laws])
        at_rest = self.static_coefficients(members)
        good = (at_rest >= moving * (1 - LOAD_ROUNDING)) & (moving >= 0)
        return np.asarray(~good.all(axis=1))

    def following(self, members: MemberPhases, *, retry: bool = False) -> None:
        """Choose the next phases of members whose guards have ended the last ones.

        With ``retry``, members go on in their phases if rounding hides the guard that has ended them.
        """
        velocities = self._velocities(members)
        along = velocities * members.directions
        stopped, released = ~members.sticking & (along <= 0), np.zeros_like(members.sticking)
        sizes = np.abs(velocities) / np.maximum(self._speeds(members), TINY)[:, None]
        distance = np.where(members.sticking, np.inf, sizes)
        for own, mode in self._by_mode(members, members.sticking):
            part = members.subset(own)
            if not mode.mode.sticking:
                continue
            required, capacity, valid = mode.loads(part.y, part.t, part.p, part.directions)
            for k, contact in enumerate(self.contacts):
                if contact in required:
                    force, limit = np.abs(required[contact]), capacity[contact]
                    released[own, k] = force - (1 + LOAD_ROUNDING) * limit > 0
                    distance[own, k] = np.abs(limit - force) / np.maximum(limit + force, TINY)
            members.odd[own] |= ~valid
        if not retry:
            self._least_distance(members, stopped, released, distance)
        resting = members.sticking | stopped | self._at_rest(members, velocities)
        self._choose(members, resting, velocities, released)

    def _least_distance(self, members: MemberPhases, stopped: Flags, released: Flags, distance: Floats) -> None:
        """Mark the contact nearest to its transition where rounding hides the guard that has ended a phase."""
        for i in np.flatnonzero(~(stopped | released).any(axis=1)):
            k = int(np.argmin(distance[i]))
            members.odd[i] |= not distance[i, k] <= GUARD_ROUNDING
            (released if members.sticking[i, k] else stopped)[i, k] = True

    def _choose(self, members: MemberPhases, resting: Flags, velocities: Floats, released: Flags) -> None:
        """Hold all contacts at rest, then release those whose static limit is exceeded, the largest excess first."""
        members.sticking = resting.copy()
        members.directions = np.where(resting, 0.0, np.sign(velocities))
        for own, mode in self._by_mode(members, resting):
            part = members.subset(own)
            if not mode.compiled:
                members.odd[own] = True
            elif mode.mode.sticking:
                A, residual = mode.rows_and_residuals(part.y, part.t, part.p, part.directions)
                # dependent rows: constraints prescribe the motion of a contact, or contacts share their load otherwise
                with np.errstate(all="ignore"):
                    finite = np.asarray(np.isfinite(A).all(axis=(1, 2)))
                    used = np.where(finite[:, None, None], A, 0.0)[:, mode.rows]
                    full = rank(unit_rows(used)[0], SOLVED_RANK_TOLERANCE)
                members.odd[own] |= (full < len(mode.rows)) | ~finite
                members.odd[own] |= ~mode.shares_loads_as(part.y, part.t, part.p)
                members.y[own] = self._without_residual_slip(part, A, residual)
        undecided = ~members.odd
        while undecided.any():
            undecided = self._release(members, undecided, released)

    def _without_residual_slip(self, part: MemberPhases, A: Floats, residual: Floats) -> Floats:
        """Return the states without the residual sliding velocity of sticking contacts."""
        n, y = part.y.shape[1] // 2, part.y.copy()
        # only the slip of sticking contacts: the drift of the constraints is left to the drift cure
        residual = residual.copy()
        residual[:, : len(self.system.constraints)] = 0.0
        good = ~part.odd & np.isfinite(A).all(axis=(1, 2)) & residual.any(axis=1)
        inverse = np.linalg.pinv(A[good])
        y[good, n:] -= np.einsum("kij,kj->ki", inverse, residual[good])
        return y

    def _release(self, members: MemberPhases, undecided: Flags, released: Flags) -> Flags:
        """Release one contact of each undecided member that exceeds its limit, and return which may have another."""
        again = np.zeros_like(undecided)
        selection = np.flatnonzero(undecided)
        for inside, mode in self._by_mode(members.subset(selection), members.sticking[selection]):
            own = selection[inside]
            if not mode.mode.sticking:
                continue
            if not mode.compiled:
                members.odd[own] = True
                continue
            part = members.subset(own)
            required, capacity, valid = mode.loads(part.y, part.t, part.p, part.directions)
            members.odd[own] |= ~valid
            excess = np.full(part.sticking.shape, -np.inf)
            force = np.zeros(part.sticking.shape)
            for k, contact in enumerate(self.contacts):
                if contact in required:
                    force[:, k] = required[contact]
                    excess[:, k] = np.abs(force[:, k]) - (1 + LOAD_ROUNDING) * capacity[contact]
                    excess[released[own, k], k] = np.inf
            worst = excess.argmax(axis=1)
            places = np.arange(len(own))
            slips = excess[places, worst] > 0
            direction = -np.sign(force[places, worst])
            members.odd[own] |= slips & (direction == 0)
            members.sticking[own[slips], worst[slips]] = False
            members.directions[own[slips], worst[slips]] = direction[slips]
            again[own] = slips & ~members.odd[own]
        return again

    def _by_mode(self, members: MemberPhases, sticking: Flags) -> Iterator[tuple[NDArray[np.intp], ModeOfMany]]:
        """Return the members of each mode."""
        yield from ((own, self.mode(kind, members.subset(own[:1]))) for own, kind in groups(sticking))

    def _at_rest(self, members: MemberPhases, velocities: Floats) -> Flags:
        """Return which sliding velocities are zero up to rounding."""
        return np.abs(velocities) <= REST_SPEED * self._speeds(members)[:, None]

    def _speeds(self, members: MemberPhases) -> Floats:
        return np.abs(members.y[:, members.y.shape[1] // 2 :]).max(axis=1)

    def _velocities(self, members: MemberPhases, y: Floats | None = None) -> Floats:
        return self._values(members, [c.velocity[0] for c in self.contacts], y)

    def _values(self, members: MemberPhases, expressions: list[object], y: Floats | None = None) -> Floats:
        named = dict(zip(self.system.parameter_names, members.p, strict=True))
        values = expression_values(self.system, tuple(expressions))
        return values(members.t, members.y if y is None else y, named)  # pyright: ignore  (parameters may be arrays)


def groups(sticking: Flags) -> Iterator[tuple[NDArray[np.intp], Flags]]:
    """Return the numbers of the members with the same sticking contacts, and these, for each set of them."""
    weights = 1 << np.arange(sticking.shape[1], dtype=object)
    codes = (sticking * weights).sum(axis=1) if sticking.shape[1] > 62 else sticking @ weights.astype(np.int64)
    for code in np.unique(codes):
        own = np.flatnonzero(codes == code)
        yield own, sticking[own[0]]


def usual_scales(method: Method, scales: Floats) -> Floats:
    """Return the absolute tolerances (N, 2n) of members with given scales of their starts."""
    return USUAL_ATOL * scales if method.atol is None else np.broadcast_to(method.atol, scales.shape).astype(float)
