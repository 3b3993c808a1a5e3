# SPDX-License-Identifier: BSD-3-Clause
"""Distributions of a load that rest does not determine: whether one exists that every sticking contact can carry.

Forces that hold contacts at rest, and the normal forces that limit them, may be determined only up to the null space of
the rows that carry them, as those of a ladder on a rough floor and a rough wall. The contacts hold if any distribution
exists in which none exceeds its limit: then the motion is rest, although the distribution is not known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, product
from typing import Any, NamedTuple

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.integration.start_states import terms_of_states
from dalembert.model.expression_values import expression_values
from dalembert.model.friction_contacts import Contact
from dalembert.numerics.tolerances import TINY
from dalembert.stick_slip.cone_margin import Cones, largest_cone_margin
from dalembert.stick_slip.largest_margin import has_few_vertices, largest_margin
from dalembert.stick_slip.modes import Mode
from dalembert.stick_slip.shared_contacts import free_reactions

NORMAL_DIRECTIONS = 8
"""Directions of a normal force in a plane from which the search for a distribution starts."""

MAX_STARTS = 64
"""Largest number of starts of the search."""

MAX_ITERATIONS = 50
"""Iterations from one start; the directions of normal forces that are vectors are corrected in each."""

SETTLED_MARGIN = 1e-14
"""Change of the margin in one iteration that is rounding."""

MARGIN_KEPT = 0.5
"""Part of the largest margin that the reported distribution keeps, so that no reaction in it is zero."""


class Holding(NamedTuple):
    """The margin (T,) of the best distribution of a load, at most one, and the reactions (T, rows) of one.

    The margin is the least distance of a contact from its limit, relative to the largest force; negative if every
    distribution exceeds a limit. The reactions are the given ones if these keep half of the margin.
    """

    margin: Floats
    reactions: Floats


class _Conditions(NamedTuple):
    """Conditions on a distribution with free parameters z (T, d), for given directions of the normal forces: linear in
    z, and cones where friction forces are vectors.

    required, normal      friction forces (T, c) and components of normal forces (T, k) of each contact at z = 0, and
    by_z                  their slopes (T, …, d)
    coefficient           μₛ (T,) of each contact
    pressing              reactions (T, i) that must not pull, with their slopes
    scale                 (T,) the largest force
    """

    required: list[Floats]
    required_by_z: list[Floats]
    normal: list[Floats]
    normal_by_z: list[Floats]
    coefficient: list[Floats]
    pressing: Floats
    pressing_by_z: Floats
    scale: Floats

    def lines(self, directions: Sequence[Floats]) -> tuple[Floats, Floats]:
        """Return the distances a (T, k) from the limits at z = 0, relative to the largest force, and their slopes."""
        values, slopes = [*self.pressing.T], [*np.moveaxis(self.pressing_by_z, 1, 0)]
        for i, (limit, limit_by_z) in enumerate(self._limits(directions)):
            # along a line |friction| ≤ limit is two linear conditions
            for sign in (1, -1):
                values.append(limit + sign * self.required[i][:, 0])
                slopes.append(limit_by_z + sign * self.required_by_z[i][:, 0])
        return np.stack(values, axis=1) / self.scale[:, None], np.stack(slopes, axis=1) / self.scale[:, None, None]

    def cones(self, directions: Sequence[Floats]) -> Cones:
        """Return the same conditions where friction forces are vectors; those along a line have a component zero."""
        limits = self._limits(directions)
        parts = (
            self.pressing,
            self.pressing_by_z,
            np.stack([limit for limit, _ in limits], axis=1),
            np.stack([slope for _, slope in limits], axis=1),
            _stacked(self.required),
            _stacked(self.required_by_z),
        )
        return Cones(*(x / self.scale.reshape(-1, *(1 for _ in x.shape[1:])) for x in parts))

    def _limits(self, directions: Sequence[Floats]) -> list[tuple[Floats, Floats]]:
        """Return the limits (T,) of friction forces at z = 0 for directions of the normal forces, and their slopes."""
        return [
            (
                mu * np.sum(u * normal, axis=1),
                mu[:, None] * np.einsum("tc,tcd->td", u, slopes),
            )
            for mu, u, normal, slopes in zip(self.coefficient, directions, self.normal, self.normal_by_z, strict=True)
        ]

    def normal_directions(self, z: Floats) -> list[Floats]:
        """Return the unit vectors (T, k) along the normal forces."""
        pairs = zip(self.normal, self.normal_by_z, strict=True)
        return [_unit(normal + np.einsum("tcd,td->tc", slopes, z)) for normal, slopes in pairs]

    def in_proportion(self) -> Floats:
        """Return z (T, d) with friction forces in proportion to their limits as far as possible, at the same loads."""
        # least squares with weights 1/limit have this minimum wherever the load allows it
        weights = [
            np.maximum(mu * np.linalg.norm(N, axis=1), TINY)
            for mu, N in zip(self.coefficient, self.normal, strict=True)
        ]
        roots = [np.sqrt(weight / self.scale)[:, None] for weight in weights]
        forces = [force / root for force, root in zip(self.required, roots, strict=True)]
        values = np.concatenate([*forces, *(0 * N for N in self.normal)], axis=1)
        by_z = zip((*self.required_by_z, *self.normal_by_z), (*roots, *roots), strict=True)
        slopes = np.concatenate([slope / root[:, :, None] for slope, root in by_z], axis=1)
        return -np.einsum("tdk,tk->td", np.linalg.pinv(slopes), values)

    def some(self, places: Any) -> _Conditions:
        """Return the conditions at some of the times."""
        fields: Any = ([x[places] for x in v] if isinstance(v, list) else v[places] for v in self)
        return _Conditions(*fields)


def holding(
    mode: Mode,
    contacts: Sequence[Contact],
    pressing: Sequence[str],
    at: tuple[Floats, Floats],
    parameters: tuple[dict[str, float], Any],
    reactions: Floats,
) -> Holding:
    """Return whether contacts can hold their load, at times (T,) and states (T, 2n).

    ``pressing`` names constraints whose reactions must not be negative; ``parameters`` are those of the system by name,
    and of the mode in its order; ``reactions`` (T, rows) is one distribution.

    A limit μₛ|N| is linear for a given sign of N, or direction of a vector N. Signs are enumerated, so that the answer
    is exact for scalar normal forces; for vectors, the search starts in several directions and follows the best ones.
    """
    free = _free_parameters(mode, at, parameters[1])
    conditions = _conditions(mode, contacts, pressing, at, parameters[0], reactions, free)
    presses = [c.name in pressing and N.shape[1] == 1 for c, N in zip(contacts, conditions.normal, strict=True)]
    first = conditions.normal_directions(np.zeros(free.shape[::2]))
    # the sign of a normal force that presses is known
    first = [np.ones_like(u) if positive else u for u, positive in zip(first, presses, strict=True)]
    margin, z, directions = _search(conditions, first)
    for start in () if all(presses) else _starts(conditions, presses):
        # other directions are tried only where the first one finds no distribution
        worse = np.flatnonzero(margin < 0)
        if not len(worse):
            break
        own = [np.broadcast_to(u, (len(worse), len(u))) for u in start]
        other, z_there, u_there = _search(conditions.some(worse), own)
        better = other > margin[worse]
        margin[worse[better]], z[worse[better]] = other[better], z_there[better]
        for mine, theirs in zip(directions, u_there, strict=True):
            mine[worse[better]] = theirs[better]
    if any(required.shape[1] > 1 for required in conditions.required):
        given = conditions.cones(directions).margin(np.zeros_like(z))
        # cones are not linear in the shift, which is taken as a whole or left out
        shift = np.where((margin > 0) & (given >= MARGIN_KEPT * margin), 0.0, 1.0)
    else:
        # all conditions are linear in the shift, so that its least share is known
        a, slopes = conditions.lines(directions)
        shift = _share_of_shift(a, np.einsum("tkd,td->tk", slopes, z), margin)
    return Holding(margin, reactions + shift[:, None] * np.einsum("trd,td->tr", free, z))


def _free_parameters(mode: Mode, at: tuple[Floats, Floats], values: Any) -> Floats:
    """Return a basis (T, rows, d) of the changes of reactions that have no effect on the motion."""
    times, states = at
    own = np.array(values, float)
    return free_reactions(terms_of_states(mode.dynamics, states, times, np.broadcast_to(own, (len(times), len(own)))).A)


def _conditions(
    mode: Mode,
    contacts: Sequence[Contact],
    pressing: Sequence[str],
    at: tuple[Floats, Floats],
    p: dict[str, float],
    reactions: Floats,
    free: Floats,
) -> _Conditions:
    t, y = at
    system = mode.system
    held = [mode.rows(c) for c in contacts]
    laws = [system.laws[c.number].law for c in contacts]
    normal, normal_by_z = list[Floats](), list[Floats]()
    for law in laws:
        values = expression_values(system, law.normal_components)
        here = values(t, y, p, reactions)
        normal.append(here)
        # the components are linear in the reactions
        changes = [values(t, y, p, reactions + free[:, :, j]) - here for j in range(free.shape[2])]
        normal_by_z.append(np.stack(changes, axis=2))
    coefficients = expression_values(system, tuple(c.mu_static for c in contacts))(t, y, p)
    required = [reactions[:, rows] for rows in held]
    pushed = [system.constraint_names.index(name) for name in pressing if name in system.constraint_names]
    forces = [np.linalg.norm(force, axis=1) for force in (*required, *normal)]
    # relative to the largest force, so that the margin has no unit
    scale = np.maximum(np.max(forces, axis=0), TINY)
    slopes = [free[:, rows] for rows in held]
    mu = list(coefficients.T)
    return _Conditions(required, slopes, normal, normal_by_z, mu, reactions[:, pushed], free[:, pushed], scale)


def _starts(conditions: _Conditions, presses: Sequence[bool]) -> Iterator[tuple[Floats, ...]]:
    """Return directions of the normal forces, one for each contact, from which to search."""
    choices: list[list[Floats]] = []
    for normal, positive in zip(conditions.normal, presses, strict=True):
        size = normal.shape[1]
        axes = [sign * axis for axis in np.eye(size) for sign in (1, -1)]
        if size == 2:
            angles = 2 * np.pi * np.arange(NORMAL_DIRECTIONS) / NORMAL_DIRECTIONS
            axes = [np.array([np.cos(angle), np.sin(angle)]) for angle in angles]
        choices.append(axes[:1] if positive else axes)
    return islice(product(*choices), MAX_STARTS)


def _search(conditions: _Conditions, directions: list[Floats]) -> tuple[Floats, Floats, list[Floats]]:
    """Return the largest margins (T,), the z (T, d) at which they are, and the directions of the normal forces there.

    A linear program for given directions; then the directions become those of the normal forces found, with which the
    margin is not smaller, until it is positive or does not grow any more.
    """
    vectors = any(normal.shape[1] > 1 for normal in conditions.normal)
    margin, z = _largest_margin(conditions, directions)
    for _ in range(MAX_ITERATIONS if vectors else 0):
        if (margin > SETTLED_MARGIN).all():  # one distribution within the limits is enough
            break
        turned = conditions.normal_directions(z)
        turned = [u if u.shape[1] > 1 else old for u, old in zip(turned, directions, strict=True)]
        larger, z = _largest_margin(conditions, turned)
        settled = bool((larger <= margin + SETTLED_MARGIN).all())
        margin, directions = larger, turned
        if settled:
            break
    return margin, z, [np.array(u) for u in directions]


def _largest_margin(conditions: _Conditions, directions: list[Floats]) -> tuple[Floats, Floats]:
    """Return the largest margins (T,) and their z (T, d) for directions of the normal forces."""
    count = conditions.pressing.shape[1] + 2 * len(conditions.required)
    lines = all(required.shape[1] == 1 for required in conditions.required)
    if lines and has_few_vertices(count, conditions.pressing_by_z.shape[2]):
        return largest_margin(*conditions.lines(directions))
    return largest_cone_margin(conditions.cones(directions), conditions.in_proportion())


def _stacked(parts: Sequence[Floats]) -> Floats:
    """Return vectors (T, c, …) of several contacts as one array, with further components zero where c is less."""
    size = max(x.shape[1] for x in parts)
    return np.stack([np.pad(x, [(0, 0), (0, size - x.shape[1]), *[(0, 0)] * (x.ndim - 2)]) for x in parts], axis=1)


def _unit(v: Floats) -> Floats:
    """Return vectors (T, c) divided by their lengths; the first unit vector for those that vanish."""
    length = np.linalg.norm(v, axis=1, keepdims=True)
    return np.where(length > 0, v, np.eye(v.shape[1])[:1]) / np.where(length > 0, length, 1.0)


def _share_of_shift(a: Floats, change: Floats, margin: Floats) -> Floats:
    """Return the least share (T,) of a shift that leaves a part of its margin: none if no limit is exceeded before."""
    kept = MARGIN_KEPT * np.maximum(margin, 0.0)[:, None]
    rises = change > 0
    needed = np.where((a < kept) & rises, (kept - a) / np.where(rises, change, 1.0), 0.0).max(axis=1, initial=0.0)
    return np.where(margin > 0, np.minimum(needed, 1.0), 1.0)
