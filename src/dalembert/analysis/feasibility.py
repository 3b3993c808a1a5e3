# SPDX-License-Identifier: BSD-3-Clause
"""Which constraints cannot be met together: at position, velocity and acceleration level, each by itself.

At acceleration level the equations are linear and linear algebra decides. At the other levels a conflict is claimed
where the method of Gauss and Newton fails from the state and from several others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dalembert.analysis.linear_facts import consistent, independent_rows, minimal_conflicts
from dalembert.analysis.numbers import Point, Terms, finite, levels_of, settled
from dalembert.analysis.verdict import Level
from dalembert.model.standard_form import StandardForm

STARTS = 12


def conflicts(form: StandardForm, terms: Terms, point: Point, *, random: bool) -> list[tuple[Level, tuple[int, ...]]]:
    """Smallest sets of rows in conflict, by level; ``random`` says that the parameters are random and may change."""
    position, velocity = levels_of(form)
    starts = _starts(point, "q", random=random)

    def positions(rows: list[int]) -> bool:
        return any(settled(terms, start, (_of(position, rows), [])) is not None for start in starts)

    on = next(filter(None, (settled(terms, start, (position, [])) for start in starts)), point)
    speeds = _starts(on, "qd", random=False)

    def velocities(rows: list[int]) -> bool:
        return any(settled(terms, start, ([], _of(velocity, rows))) is not None for start in speeds)

    # accelerations are judged where the constraints hold, as far as they can
    there = next(filter(None, (settled(terms, start, ([], velocity)) for start in speeds)), on)
    numbers, size = terms(there), _size(there)

    def accelerations(rows: list[int]) -> bool:
        return consistent(numbers.A[rows], numbers.b[rows], size)

    levels: tuple[tuple[Level, list[int], Callable[[list[int]], bool]], ...] = (
        ("position", position, positions),
        ("velocity", velocity, velocities),
        ("acceleration", list(range(len(numbers.b))), accelerations),
    )
    return [
        (level, tuple(_of(rows, core)))
        for level, rows, feasible in levels
        for core in minimal_conflicts(len(rows), feasible)
    ]


def _of(rows: list[int], chosen: Sequence[int]) -> list[int]:
    return [rows[i] for i in chosen]


def nearby_rows(form: StandardForm, terms: Terms, point: Point) -> tuple[int, ...] | None:
    """The independent rows at admissible states near by, where they are most; None if there are no such states."""
    rng = np.random.default_rng(22)
    size = 1 + np.abs(point.q).max()
    best: tuple[int, ...] | None = None
    for _ in range(6):
        near = point._replace(q=point.q + 0.03 * size * rng.normal(size=len(point.q)))
        found = settled(terms, near, levels_of(form))
        if found is not None and finite(terms(found)) and np.linalg.norm(found.q - point.q) < size:
            rows = independent_rows(terms(found).A)
            best = rows if best is None or len(rows) > len(best) else best
    return best


def _starts(point: Point, moved: str, *, random: bool) -> list[Point]:
    """The point itself, and others whose coordinates or velocities are moved a little or a lot."""
    rng = np.random.default_rng(23)
    value = getattr(point, moved)
    size = 1 + np.abs(value).max()
    starts = [point]
    for k in range(STARTS):
        step = size * rng.normal(size=len(value)) * (0.1 if k % 2 else 1.0)
        p = rng.uniform(0.5, 1.5, len(point.p)) if random else point.p
        starts.append(point._replace(p=p, **{moved: value + step}))
    return starts


def _size(point: Point) -> float:
    """The size of the numbers that b is made of: products of velocities, and whatever time brings in."""
    return float(np.linalg.norm(point.qd) ** 2 + np.linalg.norm(point.qd)) + 1e-6
