# SPDX-License-Identifier: BSD-3-Clause
"""Sampled states that satisfy the constraints: random ones, generic ones, and those near a given one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from dalembert.analysis.constraint_states import (
    SUFFICIENT_STATES,
    ConsistentState,
    Fixed,
    Rows,
    free_values,
    project_onto,
    project_state,
    project_velocities,
    relax_parameters,
)
from dalembert.analysis.evaluated_terms import Model, Point, state_orders
from dalembert.numerics.tolerances import DEGENERATE_RANK_TOLERANCE
from dalembert.numerics.violation import computable

SEARCH_STARTS = 24
"""Random starts of a search."""
SPREADS = np.repeat((1.0, 3.0, 10.0, 30.0, 100.0), 60)
"""Ranges of the random numbers, one per attempt. They grow because some models are defined only far from the origin."""
SAMPLING_DISTANCE = 0.03
"""Relative distance at which states near a given one are sampled: far enough to leave a singular position, near enough
to stay on the same branch of the constraints."""


def random_starts(model: Model, fixed: Fixed = Fixed(), seed: int = 20) -> Iterator[Point]:
    """Yield up to ``SEARCH_STARTS`` random states where the model is defined, with positive parameters if not fixed."""
    rng = np.random.default_rng(seed)
    for _ in range(SEARCH_STARTS):
        found = _defined(model, fixed, rng)
        if found is None:
            return
        yield found


def _defined(model: Model, fixed: Fixed, rng: np.random.Generator) -> Point | None:
    """Return a random point at which all terms are defined, or None.

    While terms are undefined, half of the values are drawn again from a wider range, and kept if no more terms are
    undefined than before.
    """
    point = _random(model, fixed, 1.0, rng)
    for spread in SPREADS:
        count = _undefined(model, point)
        if count == 0:
            return point
        other = _random(model, fixed, spread, rng)
        parts: Any = (np.where(rng.random(np.shape(a)) < 0.5, a, b) for a, b in zip(point, other, strict=True))
        # half of the values are kept, since they may already satisfy a condition such as a positive radicand
        mixed = Point(*parts)
        point = mixed if _undefined(model, mixed) <= count else point
    return None


def _undefined(model: Model, point: Point) -> int:
    """Count the entries of the terms that have no real and finite value at a point."""
    return sum(int((~computable(array)).sum()) for array in model.terms(point))


def _random(model: Model, fixed: Fixed, spread: float, rng: np.random.Generator) -> Point:
    """Draw a random point. Values stay away from zero, where models are often singular."""

    def positive(count: int) -> Any:
        # away from zero and of different sizes, since zeros and equal values are special
        return rng.uniform(0.3, 1.7, count) * spread ** rng.uniform(0, 1, count)

    n = len(model.form.applied_force)
    q, qd = (positive(n) * rng.choice((-1.0, 1.0), n) for _ in range(2))
    t = float(positive(1)[0])
    p = positive(len(model.parameters))
    return Point(q, qd, t if fixed.t is None else fixed.t, p if fixed.p is None else fixed.p)


def random_states(model: Model, fixed: Fixed = Fixed()) -> list[ConsistentState]:
    """Return a few random states that satisfy the constraints, with random positive parameters if none are given.

    If no consistent state exists for the sampled parameters and times, these are solved for as well. Solutions that
    exist only for special values are discarded.
    """
    return typical_states(model, random_starts(model, fixed)) or relaxed_states(model, fixed)


def random_places(model: Model, fixed: Fixed = Fixed()) -> list[Point]:
    """Return a few random positions that satisfy the position-level constraints."""
    placed = (project_onto(model, start, model.position, "q") for start in random_starts(model, fixed))
    return [state.point for state in islice(filter(None, placed), SUFFICIENT_STATES)]


def relaxed_states(model: Model, fixed: Fixed) -> list[ConsistentState]:
    """Return consistent states found by solving for the parameters and the time that are not fixed, too."""
    if not free_values(model, range(len(model.form.position)), fixed):
        return []
    # positions first: solved together with velocities, they often converge to a position without admissible motion
    for rows in (Rows(model.position), Rows(model.position, model.velocity)):
        found = (
            relax_parameters(model, start, rows, fixed)
            for start in islice(random_starts(model, fixed), SUFFICIENT_STATES)
        )
        states = typical_states(model, (state.point for state in found if state is not None and state.general))
        if states:
            return states
    return []


def typical_states(model: Model, starts: Iterator[Point]) -> list[ConsistentState]:
    """Project starts onto the constraints until ``SUFFICIENT_STATES`` consistent states are found."""
    rows = Rows(model.position, model.velocity)
    found: list[ConsistentState] = []
    motionless = 0
    placed = (project_onto(model, start, model.position, "q") for start in starts)
    for place in filter(None, placed):
        state = project_velocities(model, place, rows)
        if state is not None and model.terms(state.point).is_finite:
            found.append(state)
        # position-level failures may be due to the sampled parameters; velocity-level ones rarely are, so stop early
        motionless += state is None
        if SUFFICIENT_STATES in (len(found), motionless):
            break
    return found


class Generic(NamedTuple):
    """A random point, and the levels at which it satisfies the constraints."""

    point: Point
    on_positions: bool
    on_velocities: bool


def generic_points(model: Model, count: int) -> list[Generic]:
    """Return random points projected onto the constraints as far as possible; none if the model is defined nowhere.

    If no positions are admissible for the random parameters (bars too short to close a loop), the parameters are solved
    for as well. Positions are not changed to make velocities admissible, so that they stay generic.
    """
    found: list[Generic] = []
    for start in random_starts(model, seed=1996):
        found.append(_generic(model, start))
        if sum(point.on_velocities for point in found) == count:
            break
    # points that satisfy the constraints at the most levels represent the system best
    fullest = max(((point.on_positions, point.on_velocities) for point in found), default=None)
    return [point for point in found if point[1:] == fullest][:count]


def _generic(model: Model, start: Point) -> Generic:
    placed = project_onto(model, start, model.position, "q")
    at = placed or relax_parameters(model, start, Rows(model.position), Fixed())
    if at is None or not model.terms(at.point).is_finite:
        return Generic(start, False, False)
    moving = project_onto(model, at.point, model.velocity, "qd")
    if moving is None or not model.terms(moving.point).is_finite:
        return Generic(at.point, True, False)
    return Generic(moving.point, True, True)


def states_near(model: Model, point: Point) -> list[ConsistentState]:
    """Return a few consistent states near a point."""
    rng = np.random.default_rng(22)
    terms = model.terms(point)
    if not terms.is_finite:
        return []
    q, qd = state_orders(terms, point)
    found: list[ConsistentState] = []
    for _ in range(6):
        steps = rng.normal(size=(2, len(q)))
        near = point._replace(
            q=point.q + SAMPLING_DISTANCE * q * steps[0], qd=point.qd + SAMPLING_DISTANCE * qd * steps[1]
        )
        state = project_state(model, near)
        if state is None or not model.terms(state.point).is_finite:
            continue
        # projection may end on another branch of the constraints, far from the point
        if (np.abs(state.point.q - point.q) < q).all():
            found.append(state)
    return found


def states_at_other_times(model: Model, point: Point) -> list[ConsistentState]:
    """Return consistent states near a point, at times before and after its own; none unless constraints change in time.

    The steps in time follow from the orders of coordinates and velocities, so that they suit any unit of time.
    """
    if not free_values(model, range(len(model.form.position)), Fixed(point.p)):
        return []
    rng = np.random.default_rng(23)
    q, qd = state_orders(model.terms(point), point, DEGENERATE_RANK_TOLERANCE)
    found: list[ConsistentState | None] = []
    for delay in float(np.median(q / qd)) * np.array([SAMPLING_DISTANCE, -SAMPLING_DISTANCE, 1.0, -1.0]):
        steps = SAMPLING_DISTANCE * rng.normal(size=(2, len(q)))
        near = Point(point.q + q * steps[0], point.qd + qd * steps[1], point.t + float(delay), point.p)
        found.append(project_state(model, near))
    return [state for state in found if state is not None and model.terms(state.point).is_finite]
