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
from dalembert.integration.start_states import terms_at
from dalembert.model.expression_values import expression_values
from dalembert.model.friction_contacts import Contact
from dalembert.numerics.linear_algebra import null_spaces, rank, unit_rows
from dalembert.numerics.tolerances import SOLVED_RANK_TOLERANCE, TINY
from dalembert.stick_slip.modes import Mode

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
    """Conditions on a distribution, each linear in the free parameters z (T, d) for one direction of each normal force.

    required, normal      forces (T, c) and components of normal forces (T, k) of each contact at z = 0, and
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
        for i, u in enumerate(directions):
            limit = self.coefficient[i] * np.sum(u * self.normal[i], axis=1)
            limit_by_z = self.coefficient[i][:, None] * np.einsum("tc,tcd->td", u, self.normal_by_z[i])
            for sign in (1, -1):
                values.append(limit + sign * self.required[i])
                slopes.append(limit_by_z + sign * self.required_by_z[i])
        return np.stack(values, axis=1) / self.scale[:, None], np.stack(slopes, axis=1) / self.scale[:, None, None]

    def normal_directions(self, z: Floats) -> list[Floats]:
        """Return the unit vectors (T, k) along the normal forces."""
        found: list[Floats] = []
        for normal, slopes in zip(self.normal, self.normal_by_z, strict=True):
            there = normal + np.einsum("tcd,td->tc", slopes, z)
            length = np.linalg.norm(there, axis=1, keepdims=True)
            first = np.eye(there.shape[1])[:1]
            found.append(np.where(length > 0, there, first) / np.where(length > 0, length, 1.0))
        return found

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
    """Return whether contacts that slide along lines can hold their load, at times (T,) and states (T, 2n).

    ``pressing`` names constraints whose reactions must not be negative; ``parameters`` are those of the system by name,
    and of the mode in its order; ``reactions`` (T, rows) is one distribution.

    A limit μₛ|N| is linear for a given sign of N, or direction of a vector N. Signs are enumerated, so that the answer
    is exact for scalar normal forces; for vectors, the search starts in several directions and follows the best ones.
    """
    free = _free_parameters(mode, at, parameters[1])
    conditions = _conditions(mode, contacts, pressing, at, parameters[0], reactions, free)
    margin, z, directions = _search(conditions, conditions.normal_directions(np.zeros(free.shape[::2])))
    for start in _starts(conditions):
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
    a, slopes = conditions.lines(directions)
    shift = _share_of_shift(a, np.einsum("tkd,td->tk", slopes, z), margin)
    return Holding(margin, reactions + shift[:, None] * np.einsum("trd,td->tr", free, z))


def _free_parameters(mode: Mode, at: tuple[Floats, Floats], values: Any) -> Floats:
    """Return a basis (T, rows, d) of the changes of reactions that have no effect on the motion."""
    times, states = at
    n = states.shape[1] // 2
    rows = np.stack(
        [np.asarray(terms_at(mode.dynamics, y[:n], y[n:], t, values).A) for t, y in zip(times, states, strict=True)]
    )
    unit, scales = unit_rows(rows, np.ones(rows.shape[:2]))
    # of the first time: in one phase the rank does not change, and arrays need one shape
    deficit = rows.shape[1] - int(rank(unit[0], SOLVED_RANK_TOLERANCE))
    return null_spaces(unit.swapaxes(1, 2), deficit) * scales[:, :, None]


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
    held = [mode.rows(c).start for c in contacts]
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
    required = [reactions[:, row] for row in held]
    pushed = [system.constraint_names.index(name) for name in pressing if name in system.constraint_names]
    forces = [*(np.abs(f) for f in required), *(np.linalg.norm(N, axis=1) for N in normal)]
    # relative to the largest force, so that the margin has no unit
    scale = np.maximum(np.max(forces, axis=0), TINY)
    slopes = [free[:, row] for row in held]
    mu = list(coefficients.T)
    return _Conditions(required, slopes, normal, normal_by_z, mu, reactions[:, pushed], free[:, pushed], scale)


def _starts(conditions: _Conditions) -> Iterator[tuple[Floats, ...]]:
    """Return directions of the normal forces, one for each contact, from which to search."""
    choices: list[list[Floats]] = []
    for normal in conditions.normal:
        size = normal.shape[1]
        axes = [sign * axis for axis in np.eye(size) for sign in (1, -1)]
        if size == 2:
            angles = 2 * np.pi * np.arange(NORMAL_DIRECTIONS) / NORMAL_DIRECTIONS
            axes = [np.array([np.cos(angle), np.sin(angle)]) for angle in angles]
        choices.append(axes)
    return islice(product(*choices), MAX_STARTS)


def _search(conditions: _Conditions, directions: list[Floats]) -> tuple[Floats, Floats, list[Floats]]:
    """Return the largest margins (T,), the z (T, d) at which they are, and the directions of the normal forces there.

    A linear program for given directions; then the directions become those of the normal forces found, with which the
    margin is not smaller, until it is positive or does not grow any more.
    """
    vectors = any(normal.shape[1] > 1 for normal in conditions.normal)
    margin, z = _largest_margin(*conditions.lines(directions))
    for _ in range(MAX_ITERATIONS if vectors else 0):
        if (margin > SETTLED_MARGIN).all():  # one distribution within the limits is enough
            break
        turned = conditions.normal_directions(z)
        turned = [u if u.shape[1] > 1 else old for u, old in zip(turned, directions, strict=True)]
        larger, z = _largest_margin(*conditions.lines(turned))
        settled = bool((larger <= margin + SETTLED_MARGIN).all())
        margin, directions = larger, turned
        if settled:
            break
    return margin, z, [np.array(u) for u in directions]


def _largest_margin(a: Floats, slopes: Floats) -> tuple[Floats, Floats]:
    """Return the largest m (T,) ≤ 1 with a + slopes·z ≥ m in all of the conditions (T, k), and its z (T, d)."""
    if slopes.shape[2] == 1:
        return _largest_margin_on_a_line(a, slopes[:, :, 0])
    from scipy.optimize import linprog

    count, (k, d) = len(a), slopes.shape[1:]
    margin, z = np.empty(count), np.empty((count, d))
    for i in range(count):
        rows = np.concatenate([-slopes[i], np.ones((k, 1))], axis=1)
        limits = [(None, None)] * d + [(None, 1.0)]
        found = linprog(np.append(np.zeros(d), -1.0), A_ub=rows, b_ub=a[i], bounds=limits)
        assert found.x is not None  # z = 0 with a small m satisfies every condition, and m is bounded
        z[i], margin[i] = found.x[:-1], found.x[-1]
    return margin, z


def _largest_margin_on_a_line(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return the same for one z: the least of several lines is largest where two of them meet."""
    # one more line, m = 1, bounds the margin
    a, b = (np.append(x, np.full((len(x), 1), end), axis=1) for x, end in ((a, 1.0), (b, 0.0)))
    first, second = np.triu_indices(a.shape[1], 1)
    slope = b[:, first] - b[:, second]
    meet = np.where(slope != 0, a[:, second] - a[:, first], 0.0) / np.where(slope != 0, slope, 1.0)
    # also z = 0, for conditions that are all parallel
    meet = np.append(meet, np.zeros((len(a), 1)), axis=1)
    least = np.min(a[:, None] + b[:, None] * meet[:, :, None], axis=2)
    best = np.argmax(least, axis=1)
    here = np.arange(len(a))
    return least[here, best], meet[here, best][:, None]


def _share_of_shift(a: Floats, change: Floats, margin: Floats) -> Floats:
    """Return the least share (T,) of a shift that leaves a part of its margin: none if no limit is exceeded before."""
    kept = MARGIN_KEPT * np.maximum(margin, 0.0)[:, None]
    rises = change > 0
    needed = np.where((a < kept) & rises, (kept - a) / np.where(rises, change, 1.0), 0.0).max(axis=1, initial=0.0)
    return np.where(margin > 0, np.minimum(needed, 1.0), 1.0)
