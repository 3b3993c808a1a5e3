# SPDX-License-Identifier: BSD-3-Clause
"""Which constraints cannot be met together: at position, velocity and acceleration level, each by itself.

A conflict is claimed where the method of Gauss and Newton fails from the state and from several others. At each level
the levels below it are part of the question: a velocity-level constraint may be met at other positions than those at
hand, an acceleration-level one at other states. What was found in conflict at one level is left out at the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from dalembert.analysis.constraint_states import Fixed, Rows, Yielding, free_values, jointly, moved, settled, yielding
from dalembert.analysis.evaluated_terms import Model, Point, sizes
from dalembert.analysis.minimal_conflicts import minimal_conflicts
from dalembert.analysis.verdict import Level
from dalembert.levels import LEVELS
from dalembert.linear_algebra import contradictions
from dalembert.violation import own_scale, violated

STARTS = 12
FEW = 4
"""Starts of the longer search for all unknowns together."""


def conflicts(
    model: Model, point: Point, whole: Model, *, random: bool, given: bool, levels: Sequence[Level] = LEVELS
) -> list[tuple[Level, tuple[int, ...]]]:
    """Smallest sets of rows in conflict, by level.

    whole     the model with what was found hidden in it as further rows: accelerations are judged where that holds
    random    whether the parameters are random and may change
    levels    those that are asked about, from the first on
    given     whether the point is the user's: where it satisfies all, accelerations are asked for there alone
    """
    starts = [point, *_moved_starts(point, random=random)]
    found: list[tuple[Level, tuple[int, ...]]] = []

    def agreeing(level: Level, rows: Sequence[int], feasible: Callable[[list[int]], bool]) -> list[int]:
        """The rows of a level, less one of each set in conflict."""
        cores = [_of(rows, core) for core in minimal_conflicts(len(rows), lambda some: feasible(_of(rows, some)))]
        found.extend((level, tuple(core)) for core in cores)
        return [i for i in rows if i not in {core[-1] for core in cores}]

    def positions(rows: list[int]) -> bool:
        return any(moved(model, start, rows, "q") is not None for start in starts)

    position = agreeing("position", model.position, positions)
    if "velocity" not in levels:
        return found
    placed = (moved(model, start, position, "q") for start in starts)
    places = [state.point for state in islice(filter(None, placed), FEW)] or [point]

    def velocities(rows: list[int]) -> bool:
        chosen = Rows(_both(position, rows), rows)
        return velocities_exist(model, places[0], rows) or any(jointly(model, q, chosen) is not None for q in places)

    velocity = agreeing("velocity", model.velocity, velocities)
    position = _both(position, velocity)
    there = settled(whole, places[0]) or settled(model, places[0], Rows(position, velocity))
    fixed = given and _satisfied(whole, point)

    def accelerations(rows: list[int]) -> bool:
        if fixed:
            return _consistent(model, point, rows)
        if there is not None and _consistent(model, there.point, rows):
            return True
        chosen = Rows(_both(position, rows), _both(velocity, rows), rows)
        return any(jointly(model, start, chosen) is not None for start in places)

    agreeing("acceleration", range(len(model.form.constraint_rhs)), accelerations)
    return found


def exception_to(model: Model, point: Point, level: Level, rows: Sequence[int], fixed: Fixed) -> Yielding | None:
    """A point with other parameters or at another time at which constraints in conflict agree, if one is found."""
    position, velocity = _both(model.position, rows), _both(model.velocity, rows)
    chosen = {
        "position": Rows(position),
        "velocity": Rows(position, velocity),
        "acceleration": Rows(position, velocity, rows),
    }[level]
    starts = (point, *islice(_moved_starts(point, random=fixed.p is None), FEW))
    found = (yielding(model, start, chosen, fixed) for start in starts)
    return next(filter(None, found), None)


SOON = (0.01, 0.1)
"""When it is looked again whether constraints agree, in units of the time or its order of magnitude."""


def later_conflicts(model: Model, point: Point, levels: Sequence[Level]) -> list[tuple[Level, tuple[int, ...]]]:
    """Sets of rows that agree about a state, perhaps, but not soon after, whichever state one looks for then.

    x = t and x = sin t share position, velocity and acceleration at t = 0, and nothing later.
    """
    if not free_values(model, range(len(model.form.position)), Fixed(point.p)):
        return []
    times = [point.t + delay * float(own_scale(np.array(point.t))) for delay in SOON]
    settings: dict[str, Any] = {"random": False, "given": False, "levels": levels}
    first, second = (conflicts(model, point._replace(t=t), model, **settings) for t in times)
    lasting = {rows for _, rows in second}
    once: dict[tuple[int, ...], Level] = {
        rows: level for level, rows in reversed(first) if rows in lasting
    }  # the lowest level tells most
    return [(level, rows) for rows, level in once.items()]


def _satisfied(model: Model, point: Point) -> bool:
    numbers = model.terms(point)
    if not numbers.is_finite:
        return False
    off = violated(numbers.position, numbers.A, point.q, point.q, numbers.M)
    return not (off.any() or violated(numbers.velocity, numbers.A, point.qd, point.q, numbers.M).any())


def velocities_exist(model: Model, point: Point, rows: Sequence[int]) -> bool:
    """Whether some velocities meet some rows at the position of a point."""
    starts = (point, *(point._replace(qd=other.qd) for other in _moved_starts(point, random=False)))
    return any(moved(model, start, rows, "qd") is not None for start in starts)


def _consistent(model: Model, point: Point, rows: Sequence[int]) -> bool:
    numbers, chosen = model.terms(point), list(rows)
    if not numbers.is_finite:
        return False
    own = sizes(lambda point: model.terms(point).b, point)
    return not contradictions(numbers.A[chosen], numbers.b[chosen], own[chosen], 1 / numbers.units)


def _of(rows: Sequence[int], chosen: Sequence[int]) -> list[int]:
    return [rows[i] for i in chosen]


def _both(rows: Sequence[int], others: Sequence[int]) -> list[int]:
    return [i for i in rows if i in others]


def _moved_starts(point: Point, *, random: bool) -> Iterator[Point]:
    """The point with its coordinates and velocities moved a little or a lot."""
    rng = np.random.default_rng(23)
    for k in range(STARTS):
        reach = 0.1 if k % 2 else 1.0
        q, qd = (x + reach * own_scale(x) * rng.normal(size=len(x)) for x in (point.q, point.qd))
        p = rng.uniform(0.5, 1.5, len(point.p)) if random else point.p
        yield point._replace(q=q, qd=qd, p=p)
