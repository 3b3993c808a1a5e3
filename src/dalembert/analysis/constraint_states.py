# SPDX-License-Identifier: BSD-3-Clause
"""Consistent states, which satisfy the constraints: computed from a given start or from random ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import sympy as sp

from dalembert.analysis.evaluated_terms import Model, Point, state_orders
from dalembert.array_types import Floats
from dalembert.constraint_solver import Root, by_differences, root
from dalembert.model import graph
from dalembert.violation import computable, own_scale

TRIES = 24
"""Random starts of a search."""
ENOUGH = 4
"""States after which a search ends: a property shared by this many random states is taken as generic."""
SPREADS = np.repeat((1.0, 3.0, 10.0, 30.0, 100.0), 60)
"""Ranges of the random numbers, one per attempt. They grow because some models are defined only far from the origin."""
NEWTON_PATIENCE = 6
"""Steps without progress after which a solution for all unknowns together is abandoned: far from a solution, such
iterations often make no progress for a few steps."""
NEARBY = 0.03
"""Relative distance at which states near a given one are sampled: far enough to leave a singular position, near enough
to stay on the same branch of the constraints."""


class Rows(NamedTuple):
    """Indices of the constraints to satisfy at position, velocity and acceleration level."""

    position: Sequence[int]
    velocity: Sequence[int] = ()
    acceleration: Sequence[int] = ()


class Fixed(NamedTuple):
    """The given values of parameters and time; None stands for values that may be chosen."""

    p: Floats | None = None
    t: float | None = None


class ConsistentState(NamedTuple):
    """A state that satisfies the constraints.

    before    the iterate before the last one
    slow      whether the iteration converged only linearly, as it does towards singular positions
    """

    point: Point
    before: Point
    slow: bool


def project_state(model: Model, start: Point, rows: Rows | None = None) -> ConsistentState | None:
    """Project a state onto the constraints, by default all at position and velocity level; None if that fails."""
    rows = Rows(model.position, model.velocity) if rows is None else rows
    placed = project_onto(model, start, rows.position, "q")
    return None if placed is None else _project_velocities(model, placed, rows)


def _project_velocities(model: Model, placed: ConsistentState, rows: Rows) -> ConsistentState | None:
    """Project the velocities at given positions.

    If no velocities satisfy the constraints there, positions and velocities are projected together, since a
    velocity-level constraint may be satisfiable at other positions only.
    """
    moving = project_onto(model, placed.point, rows.velocity, "qd")
    if moving is None:
        return project_jointly(model, placed.point, rows)
    return ConsistentState(moving.point, moving.before._replace(q=placed.before.q), placed.slow or moving.slow)


def project_onto(model: Model, start: Point, rows: Sequence[int], part: str) -> ConsistentState | None:
    """Project coordinates ``q`` onto position-level constraints, or velocities ``qd`` onto velocity-level ones."""
    level, chosen = {"q": "position", "qd": "velocity"}[part], list(rows)
    if not chosen:
        return ConsistentState(start, start, False)

    def equations(x: Floats) -> tuple[Floats, Floats]:
        terms = model.terms(start._replace(**{part: x}))
        return getattr(terms, level)[chosen], terms.A[chosen]

    units = model.terms(start).units
    return _consistent_state(root(equations, getattr(start, part), units), lambda x: start._replace(**{part: x}))


def project_jointly(model: Model, start: Point, rows: Rows) -> ConsistentState | None:
    """Project coordinates and velocities together, and accelerations if there are constraints on them."""
    residual, unknown, point = _problem(model, start, rows)
    # velocities, and accelerations, have the units of their coordinates
    units = np.resize(model.terms(start).units, len(unknown))
    return _consistent_state(root(by_differences(residual), unknown, units, patience=NEWTON_PATIENCE), point)


class RelaxedState(NamedTuple):
    """A point at which constraints hold, found with time and parameters as further unknowns.

    general    whether they can be satisfied for neighbouring values as well, or for these special ones only
    """

    point: Point
    general: bool


def relax_parameters(model: Model, start: Point, rows: Rows, fixed: Fixed) -> RelaxedState | None:
    """Solve constraints for the state and for those of time and parameters that are not fixed; None if that fails."""
    residual, unknown, point = _problem(model, start, rows, fixed)
    found = root(by_differences(residual), unknown, patience=NEWTON_PATIENCE)
    if found is None:
        return None
    # neighbouring values show whether the solution exists in general or for special values only
    place, rng = point(found.x), np.random.default_rng(29)

    def neighbour() -> Point:
        t = place.t + 0.1 * float(own_scale(np.array(start.t))) * rng.normal()
        p = place.p + 0.1 * own_scale(start.p) * rng.normal(size=len(start.p))
        return place._replace(t=place.t if fixed.t is not None else t, p=place.p if fixed.p is not None else p)

    project = project_jointly if rows.acceleration else project_state
    general = next((state for _ in range(2 * ENOUGH) if (state := project(model, neighbour(), rows)) is not None), None)
    return RelaxedState(place, False) if general is None else RelaxedState(general.point, True)


def _problem(
    model: Model, start: Point, rows: Rows, fixed: Fixed | None = None
) -> tuple[Callable[[Floats], Floats], Floats, Callable[[Floats], Point]]:
    """Return the residual of some constraints as a function of the unknowns, their start, and the map to a point.

    The unknowns are coordinates, velocities, accelerations if there are constraints on them, and the values not fixed.
    """
    n, chosen = len(start.q), list(rows.acceleration)
    fixed = Fixed(start.p, start.t) if fixed is None else fixed
    time = [np.array([start.t])] if fixed.t is None else []
    unknown = [start.q, start.qd, *([np.zeros(n)] if chosen else []), *time, *([start.p] if fixed.p is None else [])]
    others = (3 if chosen else 2) * n

    def point(x: Floats) -> Point:
        t = float(x[others]) if time else start.t
        return Point(x[:n], x[n : 2 * n], t, x[others + len(time) :] if fixed.p is None else start.p)

    def residual(x: Floats) -> Floats:
        place = point(x)
        position, velocity = model.residuals(place)
        found = [position[list(rows.position)], velocity[list(rows.velocity)]]
        if chosen:
            terms = model.terms(place)
            found.append(terms.A[chosen] @ x[2 * n : 3 * n] - terms.b[chosen])
        return np.concatenate(found)

    return residual, np.concatenate(unknown), point


def state_slopes(model: Model, point: Point) -> Floats:
    """Return the Jacobian (k, 2n) of the position- and velocity-level constraints with respect to (q, q̇).

    It is computed by differences, and scaled with the masses so that it does not depend on the units of coordinates.
    """
    residual, unknown, _ = _problem(model, point, Rows(model.position, model.velocity))
    return by_differences(residual)(unknown)[1] * np.resize(model.terms(point).units, len(unknown))


def _consistent_state(found: Root | None, point: Callable[[Floats], Point]) -> ConsistentState | None:
    return None if found is None else ConsistentState(point(found.x), point(found.before), found.slow)


def random_starts(model: Model, fixed: Fixed = Fixed(), seed: int = 20) -> Iterator[Point]:
    """Yield up to ``TRIES`` random states at which the model is defined, with positive parameters if not fixed."""
    rng = np.random.default_rng(seed)
    for _ in range(TRIES):
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
    return [state.point for state in islice(filter(None, placed), ENOUGH)]


def relaxed_states(model: Model, fixed: Fixed) -> list[ConsistentState]:
    """Return consistent states found by solving for the parameters and the time that are not fixed, too."""
    if not free_values(model, range(len(model.form.position)), fixed):
        return []
    # positions first: solved together with velocities, they often converge to a position without admissible motion
    for rows in (Rows(model.position), Rows(model.position, model.velocity)):
        found = (relax_parameters(model, start, rows, fixed) for start in islice(random_starts(model, fixed), ENOUGH))
        states = typical_states(model, (state.point for state in found if state is not None and state.general))
        if states:
            return states
    return []


def free_values(model: Model, rows: Sequence[int], fixed: Fixed) -> list[sp.Symbol]:
    """Return the symbols among time and parameters that occur in some constraints and are not fixed."""
    form = model.form
    free = [*([form.symbols.time] if fixed.t is None else []), *(model.parameters if fixed.p is None else [])]
    expressions = (e for i in rows for e in (form.position[i], form.velocity[i], form.constraint_rhs[i]))
    present: set[Any] = set().union(*(graph.free_symbols(e) for e in expressions))
    present.update(*(graph.free_symbols(e) for i in rows for e in form.constraint_matrix[i]))
    return [symbol for symbol in free if symbol in present]


def typical_states(model: Model, starts: Iterator[Point]) -> list[ConsistentState]:
    """Project starts onto the constraints until ``ENOUGH`` consistent states are found."""
    rows = Rows(model.position, model.velocity)
    found: list[ConsistentState] = []
    motionless = 0
    placed = (project_onto(model, start, model.position, "q") for start in starts)
    for place in filter(None, placed):
        state = _project_velocities(model, place, rows)
        if state is not None and model.terms(state.point).is_finite:
            found.append(state)
        # position-level failures may be due to the sampled parameters; velocity-level ones rarely are, so stop early
        motionless += state is None
        if ENOUGH in (len(found), motionless):
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
        near = point._replace(q=point.q + NEARBY * q * steps[0], qd=point.qd + NEARBY * qd * steps[1])
        state = project_state(model, near)
        if state is None or not model.terms(state.point).is_finite:
            continue
        # projection may end on another branch of the constraints, far from the point
        if (np.abs(state.point.q - point.q) < q).all():
            found.append(state)
    return found
