# SPDX-License-Identifier: BSD-3-Clause
"""Minimal sets of constraints that cannot be satisfied together, at position, velocity and acceleration level.

A conflict is reported if the Gauss–Newton method fails from the given state and from several others. Each level
includes the levels below it: a velocity-level constraint may be satisfiable at other positions than the given ones, an
acceleration-level one at other states. Constraints in conflict at one level are left out at the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from dalembert.analysis.constraint_states import (
    Fixed,
    RelaxedState,
    Rows,
    free_values,
    project_jointly,
    project_onto,
    project_state,
    relax_parameters,
)
from dalembert.analysis.evaluated_terms import Model, Point, sizes
from dalembert.analysis.minimal_conflicts import minimal_conflicts
from dalembert.analysis.verdict import Level
from dalembert.common.levels import LEVELS
from dalembert.numerics.linear_algebra import contradictions
from dalembert.numerics.violation import own_scale, violated

DISPLACED_STARTS = 12
"""Starts of the search for positions or velocities."""
JOINT_STARTS = 4
"""Starts of the longer search for all unknowns together."""


def conflicts(
    model: Model, point: Point, whole: Model, *, random: bool, given: bool, levels: Sequence[Level] = LEVELS
) -> list[tuple[Level, tuple[int, ...]]]:
    """Return the minimal sets of rows in conflict, by level.

    whole     the model with its hidden constraints as further rows: accelerations are tested where these hold
    random    whether the parameters are random and may change
    levels    the levels to examine, from the first on
    given     whether the user gave the point: if it satisfies all constraints, accelerations are tested there only
    """
    starts = [point, *_displaced_starts(point, random=random)]
    found: list[tuple[Level, tuple[int, ...]]] = []

    def consistent_rows(level: Level, rows: Sequence[int], feasible: Callable[[list[int]], bool]) -> list[int]:
        """Record the conflicts of a level, and return its rows without one row of each conflict."""
        cores = [
            _select(rows, core) for core in minimal_conflicts(len(rows), lambda some: feasible(_select(rows, some)))
        ]
        found.extend((level, tuple(core)) for core in cores)
        return [i for i in rows if i not in {core[-1] for core in cores}]

    def positions(rows: list[int]) -> bool:
        return any(project_onto(model, start, rows, "q") is not None for start in starts)

    position = consistent_rows("position", model.position, positions)
    if "velocity" not in levels:
        return found
    placed = (project_onto(model, start, position, "q") for start in starts)
    places = [state.point for state in islice(filter(None, placed), JOINT_STARTS)] or [point]

    def velocities(rows: list[int]) -> bool:
        chosen = Rows(_intersection(position, rows), rows)
        return velocities_exist(model, places[0], rows) or any(
            project_jointly(model, q, chosen) is not None for q in places
        )

    velocity = consistent_rows("velocity", model.velocity, velocities)
    position = _intersection(position, velocity)
    # accelerations are tested where the hidden constraints hold; elsewhere no motion exists anyway
    there = project_state(whole, places[0]) or project_state(model, places[0], Rows(position, velocity))
    fixed = given and _satisfied(whole, point)

    def accelerations(rows: list[int]) -> bool:
        if fixed:
            return _consistent(model, point, rows)
        if there is not None and _consistent(model, there.point, rows):
            return True
        chosen = Rows(_intersection(position, rows), _intersection(velocity, rows), rows)
        return any(project_jointly(model, start, chosen) is not None for start in places)

    consistent_rows("acceleration", range(len(model.form.constraint_rhs)), accelerations)
    return found


def exception_to(model: Model, point: Point, level: Level, rows: Sequence[int], fixed: Fixed) -> RelaxedState | None:
    """Return a point with other parameters or at another time at which conflicting constraints agree, or None."""
    position, velocity = _intersection(model.position, rows), _intersection(model.velocity, rows)
    chosen = {
        "position": Rows(position),
        "velocity": Rows(position, velocity),
        "acceleration": Rows(position, velocity, rows),
    }[level]
    starts = (point, *islice(_displaced_starts(point, random=fixed.p is None), JOINT_STARTS))
    found = (relax_parameters(model, start, chosen, fixed) for start in starts)
    return next(filter(None, found), None)


TESTED_DELAYS = (0.01, 0.1)
"""Delays after which the constraints are tested again, relative to the order of magnitude of the time."""


def later_conflicts(model: Model, point: Point, levels: Sequence[Level]) -> list[tuple[Level, tuple[int, ...]]]:
    """Return sets of rows that may be consistent at the given time, but at no state soon after.

    x = t and x = sin t agree in position, velocity and acceleration at t = 0, but not later.
    """
    if not free_values(model, range(len(model.form.position)), Fixed(point.p)):
        return []
    times = [point.t + delay * float(own_scale(np.array(point.t))) for delay in TESTED_DELAYS]
    settings: dict[str, Any] = {"random": False, "given": False, "levels": levels}
    first, second = (conflicts(model, point._replace(t=t), model, **settings) for t in times)
    # a conflict at one later time only may be a singular moment; at two it is a conflict
    lasting = {rows for _, rows in second}
    once: dict[tuple[int, ...], Level] = {
        rows: level for level, rows in reversed(first) if rows in lasting
    }  # the lowest level is the most informative
    return [(level, rows) for rows, level in once.items()]


def _satisfied(model: Model, point: Point) -> bool:
    terms = model.terms(point)
    if not terms.is_finite:
        return False
    off = violated(terms.position, terms.A, point.q, point.q, terms.M)
    return not (off.any() or violated(terms.velocity, terms.A, point.qd, point.q, terms.M).any())


def velocities_exist(model: Model, point: Point, rows: Sequence[int]) -> bool:
    """Return True if some velocities satisfy the given rows at the position of a point."""
    starts = (point, *(point._replace(qd=other.qd) for other in _displaced_starts(point, random=False)))
    return any(project_onto(model, start, rows, "qd") is not None for start in starts)


def _consistent(model: Model, point: Point, rows: Sequence[int]) -> bool:
    terms, chosen = model.terms(point), list(rows)
    if not terms.is_finite:
        return False
    # relative to the terms of b: they may cancel, and their rounding errors must not count as contradictions
    own = sizes(lambda point: model.terms(point).b, point)
    return not contradictions(terms.A[chosen], terms.b[chosen], own[chosen], 1 / terms.units)


def _select(rows: Sequence[int], chosen: Sequence[int]) -> list[int]:
    return [rows[i] for i in chosen]


def _intersection(rows: Sequence[int], others: Sequence[int]) -> list[int]:
    return [i for i in rows if i in others]


def _displaced_starts(point: Point, *, random: bool) -> Iterator[Point]:
    """Yield the point with its coordinates and velocities displaced, alternately a lot and a little."""
    rng = np.random.default_rng(23)
    for k in range(DISPLACED_STARTS):
        # near starts find solutions on the same branch, far ones on others
        reach = 0.1 if k % 2 else 1.0
        q, qd = (x + reach * own_scale(x) * rng.normal(size=len(x)) for x in (point.q, point.qd))
        p = rng.uniform(0.5, 1.5, len(point.p)) if random else point.p
        yield point._replace(q=q, qd=qd, p=p)
