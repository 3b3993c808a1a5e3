# SPDX-License-Identifier: BSD-3-Clause
"""Closed contacts that share their load in a way that the motion does not determine, as the four feet of a table do.

They stay closed while some distribution of the load presses in all of them. With friction they slide as long as its
force on the motion is the same for all distributions; then independent ones among them carry the load in the equations
of motion, and their reactions are distributed afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.integration.start_states import terms_of_states
from dalembert.lowering.build import build
from dalembert.model.expression_values import expression_values
from dalembert.model.friction_contacts import Contact, contacts, velocity_jacobian
from dalembert.model.sliding_expressions import squared
from dalembert.model.system import System
from dalembert.numerics.linear_algebra import are_determined, null_spaces, rank, unit_rows
from dalembert.numerics.tolerances import SOLVED_RANK_TOLERANCE, TINY
from dalembert.stick_slip.largest_margin import largest_margin, least_norm
from dalembert.stick_slip.modes import Mode

PRESSING_ROUNDING = 1e-14
"""Reaction that pulls, relative to the largest one, that is rounding."""

SAME_FRICTION = 1e-9
"""Part of friction by which distributions of the load may differ that is rounding."""

STOPPING = 1e-12
"""Sliding speed, relative to the largest one before, that is rounding: its direction is uncertain by the ratio."""

LEAST_SLIDING_DIFFERENCE = 1e-9
"""Difference of sliding velocities, relative to all velocities and at least to one, that is none: contacts that have
just begun to slide have no accurate direction."""


@dataclass(frozen=True, eq=False)
class SharedContacts:
    """Closed contacts of which some share their load.

    whole       the system in which all closed contacts are equations
    p           values of its parameters by name
    closed      names of the closed contacts
    shared      names of those whose reactions are not determined
    """

    whole: System
    p: dict[str, float]
    closed: tuple[str, ...]
    shared: tuple[str, ...]
    _known: dict[Any, tuple[Floats, Floats]] = field(default_factory=dict[Any, tuple[Floats, Floats]], repr=False)

    @cached_property
    def places(self) -> list[int]:
        """The rows of the closed contacts among the constraints of the whole system."""
        return [self.whole.constraint_names.index(name) for name in self.closed]

    @cached_property
    def rough(self) -> tuple[Contact, ...]:
        """The contacts with dry friction among those that share their load."""
        return tuple(c for c in contacts(self.whole) if c.name in self.shared)

    def are_carried(self, mode: Mode) -> bool:
        """Return whether a mode has all of the contacts; otherwise some that slide with friction are left out."""
        return set(self.closed) <= set(mode.system.constraint_names)

    def least_reactions(self, mode: Mode, values: Any, t: Floats, y: Floats, reactions: Floats) -> Floats:
        """Return the reactions (T, closed) of the distribution whose least one, as a force, is largest.

        All of them press if any distribution does.
        """
        rows, free = self._free(mode, values, t, y)
        base, slopes = self._all(mode, reactions)[:, self.places], free[:, self.places]
        slopes = _effective(slopes)[0]
        # the force of a reaction is in proportion to the size of its row
        units = np.abs(rows[:, self.places]).max(axis=2)
        scale = np.maximum(np.abs(units * base).max(axis=1), TINY)[:, None]
        z = largest_margin(units * base / scale, units[:, :, None] * slopes)[1]
        return base + scale * np.einsum("tkd,td->tk", slopes, z)

    def distributed(self, mode: Mode, values: Any, t: Floats, y: Floats, reactions: Floats) -> Floats:
        """Return the reactions (T, rows) of the whole system in the shortest distribution that presses.

        Where none does, the shortest one is returned. Those of sticking contacts come last, as in the mode.
        """
        _, free = self._free(mode, values, t, y)
        found, (basis, back) = self._all(mode, reactions), _effective(free[:, self.places])
        base = found[:, self.places]
        w = -np.einsum("tkd,tk->td", basis, base)
        least = base + np.einsum("tkd,td->tk", basis, w)
        pulls = least.min(axis=1, initial=0.0) < -PRESSING_ROUNDING * np.abs(least).max(axis=1, initial=0.0)
        for i in np.flatnonzero(pulls):
            further = least_norm(least[i], basis[i])
            w[i] += 0.0 if further is None else further
        return found + np.einsum("trd,tdw,tw->tr", free, back, w)

    def in_mode(self, mode: Mode, found: Floats) -> Floats:
        """Return the reactions of the constraints of a mode, from those of the whole system."""
        names = self.whole.constraint_names
        kept = [names.index(name) for name in mode.system.constraint_names]
        return np.concatenate([found[:, kept], found[:, len(names) :]], axis=1)

    def friction_differs(self, mode: Mode, values: Any, t: Floats, y: Floats, fastest: float) -> Any:
        """Return at which times (T,) the friction of sliding contacts depends on the distribution of the load.

        ``fastest`` is the largest sliding speed before, relative to which speeds are rounding.
        """
        if self.are_carried(mode):
            return np.zeros(len(t), bool)
        rows, free = self._free(mode, values, t, y)
        F, speed, n = *self._friction_of_unit_loads(t, y), y.shape[1] // 2
        change = np.abs(np.einsum("tnk,tkd->tnd", F, free[:, self.places])).max(axis=2)
        size = np.einsum("tnk,tkd->tnd", np.abs(F), np.abs(free[:, self.places])).max(axis=2)
        with np.errstate(divide="ignore", invalid="ignore"):
            allowed = (
                SAME_FRICTION
                + (STOPPING * fastest + LEAST_SLIDING_DIFFERENCE * (1 + np.abs(y[:, n:]).max(axis=1))) / speed
            )
            differs = (change > allowed[:, None] * size.max(axis=1, keepdims=True)).any(axis=1)
        # contacts that are left out of the equations must follow from them
        rate = np.einsum("trn,tn->tr", rows[:, self.places], y[:, n:])
        size = np.abs(rows[:, self.places]).sum(axis=2) * (1 + np.abs(y[:, n:]).max(axis=1, keepdims=True))
        return differs | (np.abs(rate) > LEAST_SLIDING_DIFFERENCE * (size + fastest)).any(axis=1)

    def _friction_of_unit_loads(self, t: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Return the generalized friction (T, n, closed) for unit reactions, and the largest sliding speed (T,)."""
        n = y.shape[1] // 2
        F, largest = np.zeros((len(t), n, len(self.closed))), np.zeros(len(t))
        for contact in self.rough:
            size = self.whole.laws[contact.number].law.friction_coefficient(squared(contact.velocity))
            jacobian = [entry for row in velocity_jacobian(contact, self.whole) for entry in row]
            count = len(contact.velocity)
            values = expression_values(self.whole, (*contact.velocity, *jacobian, size * contact.normal_size))
            for k, place in enumerate(self.places):
                unit = np.zeros((len(t), len(self.whole.constraints)))
                unit[:, place] = 1.0
                found = values(t, y, self.p, unit)
                v, J = found[:, :count], found[:, count:-1].reshape(len(t), count, n)
                speed = np.linalg.norm(v, axis=1)
                along = v / np.where(speed > 0, speed, 1.0)[:, None]
                F[:, :, k] -= found[:, -1:] * np.einsum("tc,tcn->tn", along, J)
                largest = np.maximum(largest, speed)
        return F, largest

    def _all(self, mode: Mode, reactions: Floats) -> Floats:
        """Return the reactions (T, rows) of a mode with a column for each contact that it leaves out."""
        names, own = self.whole.constraint_names, mode.system.constraint_names
        found = np.zeros((len(reactions), len(names)))
        found[:, [names.index(name) for name in own]] = reactions[:, : len(own)]
        return np.concatenate([found, reactions[:, len(own) :]], axis=1)

    def _free(self, mode: Mode, values: Any, t: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Return the rows (T, rows, n), and a basis (T, rows, d) of the reactions that have no effect on the motion."""
        # the same states are asked for several times: for guards, for friction and for outputs
        key = (mode, t.tobytes(), y.tobytes())
        if key in self._known:
            return self._known[key]
        dynamics = build(self.whole)
        own = np.array([self.p[name] for name in dynamics.parameters], float)
        A = terms_of_states(dynamics, y, t, np.broadcast_to(own, (len(t), len(own)))).A
        if mode.sticking:
            own = np.array(values, float)
            held = terms_of_states(mode.dynamics, y, t, np.broadcast_to(own, (len(t), len(own)))).A
            A = np.concatenate([A, held[:, len(mode.system.constraints) :]], axis=1)
        self._known.clear()
        self._known[key] = A, free_reactions(A)
        return self._known[key]


def free_reactions(rows: Floats) -> Floats:
    """Return a basis (T, rows, d) of the reactions that have no effect on the motion, for rows (T, rows, n)."""
    unit, scales = unit_rows(rows, np.ones(rows.shape[:2]))
    # of the first time: in one phase the rank does not change, and arrays need one shape
    deficit = rows.shape[1] - int(rank(unit[0], SOLVED_RANK_TOLERANCE))
    # multipliers of unit rows, as those of the given ones
    return null_spaces(unit.swapaxes(1, 2), deficit) * scales[:, :, None]


def shared_names(rows: Floats, names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of rows (m, n), the last ones, whose multipliers are not determined."""
    free = free_reactions(unit_rows(rows)[0][None])[0]
    off = ~np.asarray(are_determined(np.linalg.norm(free, axis=1)))
    return tuple(name for name, free in zip(names, off[len(rows) - len(names) :], strict=True) if free)


def _effective(slopes: Floats) -> tuple[Floats, Floats]:
    """Return an orthonormal basis (T, k, r) of changes of reactions (T, k, d), and its combinations (T, d, r)."""
    U, sizes, Vt = np.linalg.svd(slopes, full_matrices=False)
    # free parameters of equations alone change no contact
    kept = int((sizes[0] > SOLVED_RANK_TOLERANCE * sizes[0].max(initial=0.0)).sum())
    return U[:, :, :kept], Vt[:, :kept].swapaxes(1, 2) / sizes[:, None, :kept]
