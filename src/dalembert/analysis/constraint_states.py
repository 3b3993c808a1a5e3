# SPDX-License-Identifier: BSD-3-Clause
"""States that satisfy the constraints: reached from a given start, or from random ones."""

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
ENOUGH = 4
SPREADS = np.repeat((1.0, 3.0, 10.0, 30.0, 100.0), 60)
"""How far random numbers reach, one try after the other, where the model is defined at none of the nearer ones."""


class Rows(NamedTuple):
    """Which constraints are to hold: at position, velocity and acceleration level."""

    position: Sequence[int]
    velocity: Sequence[int] = ()
    acceleration: Sequence[int] = ()


class Fixed(NamedTuple):
    """What is given of parameters and time; what is not may be chosen."""

    p: Floats | None = None
    t: float | None = None


class Settled(NamedTuple):
    """A state on the constraints, the last one before it on the way there, and whether that way was a slow one."""

    point: Point
    before: Point
    slow: bool


def settled(model: Model, start: Point, rows: Rows | None = None) -> Settled | None:
    """The start moved onto constraints, all of those on state unless ``rows`` says which; None where that fails."""
    rows = Rows(model.position, model.velocity) if rows is None else rows
    placed = moved(model, start, rows.position, "q")
    return None if placed is None else _set_in_motion(model, placed, rows)


def _set_in_motion(model: Model, placed: Settled, rows: Rows) -> Settled | None:
    """Velocities for given positions. Where none fit, both are moved together: velocities may ask for positions."""
    moving = moved(model, placed.point, rows.velocity, "qd")
    if moving is None:
        return jointly(model, placed.point, rows)
    return Settled(moving.point, moving.before._replace(q=placed.before.q), placed.slow or moving.slow)


def moved(model: Model, start: Point, rows: Sequence[int], part: str) -> Settled | None:
    """Coordinates ``q`` moved onto position-level constraints, or velocities ``qd`` onto velocity-level ones."""
    level, chosen = {"q": "position", "qd": "velocity"}[part], list(rows)
    if not chosen:
        return Settled(start, start, False)

    def equations(x: Floats) -> tuple[Floats, Floats]:
        numbers = model.terms(start._replace(**{part: x}))
        return getattr(numbers, level)[chosen], numbers.A[chosen]

    units = model.terms(start).units
    return _state(root(equations, getattr(start, part), units), lambda x: start._replace(**{part: x}))


def jointly(model: Model, start: Point, rows: Rows) -> Settled | None:
    """Coordinates and velocities moved together, with accelerations where constraints on them are to be met, too."""
    residual, unknown, point = _problem(model, start, rows)
    units = np.resize(model.terms(start).units, len(unknown))
    return _state(root(by_differences(residual), unknown, units, patience=6), point)


class Yielding(NamedTuple):
    """A point at which constraints hold, found by moving time and parameters as well.

    general    whether they can be met at others close by, too; if not, it is a special one
    """

    point: Point
    general: bool


def yielding(model: Model, start: Point, rows: Rows, fixed: Fixed) -> Yielding | None:
    """Some constraints met with the help of what is not fixed of time and parameters; None where even that fails."""
    residual, unknown, point = _problem(model, start, rows, fixed)
    found = root(by_differences(residual), unknown, patience=6)
    if found is None:
        return None
    place, rng = point(found.x), np.random.default_rng(29)

    def beside() -> Point:
        t = place.t + 0.1 * float(own_scale(np.array(start.t))) * rng.normal()
        p = place.p + 0.1 * own_scale(start.p) * rng.normal(size=len(start.p))
        return place._replace(t=place.t if fixed.t is not None else t, p=place.p if fixed.p is not None else p)

    meet = jointly if rows.acceleration else settled
    general = next((state for _ in range(2 * ENOUGH) if (state := meet(model, beside(), rows)) is not None), None)
    return Yielding(place, False) if general is None else Yielding(general.point, True)


def _problem(
    model: Model, start: Point, rows: Rows, fixed: Fixed | None = None
) -> tuple[Callable[[Floats], Floats], Floats, Callable[[Floats], Point]]:
    """What some constraints miss as a function of the unknowns, where these start, and what point they stand for.

    Unknown are coordinates, velocities, accelerations where constraints on them are meant, and what is not fixed.
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
            numbers = model.terms(place)
            found.append(numbers.A[chosen] @ x[2 * n : 3 * n] - numbers.b[chosen])
        return np.concatenate(found)

    return residual, np.concatenate(unknown), point


def state_slopes(model: Model, point: Point) -> Floats:
    """The derivatives (k, 2n) of all that the constraints say about (q, q̇), by differences, in the masses' units."""
    residual, unknown, _ = _problem(model, point, Rows(model.position, model.velocity))
    return by_differences(residual)(unknown)[1] * np.resize(model.terms(point).units, len(unknown))


def _state(found: Root | None, point: Callable[[Floats], Point]) -> Settled | None:
    return None if found is None else Settled(point(found.x), point(found.before), found.slow)


def random_starts(model: Model, fixed: Fixed = Fixed(), seed: int = 20) -> Iterator[Point]:
    """Random states at which the model is defined, with random positive parameters if none are given; a few at most."""
    rng = np.random.default_rng(seed)
    for _ in range(TRIES):
        found = _defined(model, fixed, rng)
        if found is None:
            return
        yield found


def _defined(model: Model, fixed: Fixed, rng: np.random.Generator) -> Point | None:
    """A random point; as long as terms are undefined there some of its numbers are drawn again, from farther off."""
    point = _random(model, fixed, 1.0, rng)
    for spread in SPREADS:
        left = _undefined(model, point)
        if not left:
            return point
        other = _random(model, fixed, spread, rng)
        parts: Any = (np.where(rng.random(np.shape(a)) < 0.5, a, b) for a, b in zip(point, other, strict=True))
        mixed = Point(*parts)
        point = mixed if _undefined(model, mixed) <= left else point
    return None


def _undefined(model: Model, point: Point) -> int:
    return sum(int((~computable(array)).sum()) for array in model.terms(point))


def _random(model: Model, fixed: Fixed, spread: float, rng: np.random.Generator) -> Point:
    def positive(count: int) -> Any:
        return rng.uniform(0.3, 1.7, count) * spread ** rng.uniform(0, 1, count)

    n = len(model.form.applied_force)
    q, qd = (positive(n) * rng.choice((-1.0, 1.0), n) for _ in range(2))
    t = float(positive(1)[0])
    p = positive(len(model.parameters))
    return Point(q, qd, t if fixed.t is None else fixed.t, p if fixed.p is None else fixed.p)


def random_states(model: Model, fixed: Fixed = Fixed()) -> list[Settled]:
    """A few random states that satisfy the constraints, with random positive parameters if none are given.

    Where there is none for the parameters and times tried, they give way, unless only special ones would do.
    """
    return typical_states(model, random_starts(model, fixed)) or yielded_states(model, fixed)


def random_places(model: Model, fixed: Fixed = Fixed()) -> list[Point]:
    """A few random positions that the constraints allow, whether or not they allow velocities there."""
    placed = (moved(model, start, model.position, "q") for start in random_starts(model, fixed))
    return [state.point for state in islice(filter(None, placed), ENOUGH)]


def yielded_states(model: Model, fixed: Fixed) -> list[Settled]:
    """Some states on the constraints for which parameters and times that are not fixed gave way."""
    if not free_values(model, range(len(model.form.position)), fixed):
        return []
    # positions first: together with velocities the way leads to where nothing can move, more often than not
    for rows in (Rows(model.position), Rows(model.position, model.velocity)):
        found = (yielding(model, start, rows, fixed) for start in islice(random_starts(model, fixed), ENOUGH))
        states = typical_states(model, (state.point for state in found if state is not None and state.general))
        if states:
            return states
    return []


def free_values(model: Model, rows: Sequence[int], fixed: Fixed) -> list[sp.Symbol]:
    """Which of time and parameters occur in some constraints and are not fixed."""
    form = model.form
    free = [*([form.symbols.time] if fixed.t is None else []), *(model.parameters if fixed.p is None else [])]
    said = (e for i in rows for e in (form.position[i], form.velocity[i], form.constraint_rhs[i]))
    present: set[Any] = set().union(*(graph.free_symbols(e) for e in said))
    present.update(*(graph.free_symbols(e) for i in rows for e in form.constraint_matrix[i]))
    return [symbol for symbol in free if symbol in present]


def typical_states(model: Model, starts: Iterator[Point]) -> list[Settled]:
    """A few states on the constraints, reached from some starts."""
    rows = Rows(model.position, model.velocity)
    found: list[Settled] = []
    motionless = 0
    placed = (moved(model, start, model.position, "q") for start in starts)
    for place in filter(None, placed):
        state = _set_in_motion(model, place, rows)
        if state is not None and model.terms(state.point).is_finite:
            found.append(state)
        # positions that random parameters do not allow may be allowed by others; velocities hardly ever are
        motionless += state is None
        if ENOUGH in (len(found), motionless):
            break
    return found


class Generic(NamedTuple):
    """A random point, and whether the position-level constraints hold there, and the velocity-level ones as well."""

    point: Point
    on_positions: bool
    on_velocities: bool


def generic_points(model: Model, count: int) -> list[Generic]:
    """Random points moved onto the constraints as far as that goes; none where the model is defined nowhere.

    Where no positions fit the random parameters (bars too short to close a loop), the parameters give way as well.
    Positions are not moved to make room for velocities: they stay general ones.
    """
    found: list[Generic] = []
    for start in random_starts(model, seed=1996):
        found.append(_generic(model, start))
        if sum(point.on_velocities for point in found) == count:
            break
    fullest = max(((point.on_positions, point.on_velocities) for point in found), default=None)
    return [point for point in found if point[1:] == fullest][:count]


def _generic(model: Model, start: Point) -> Generic:
    placed = moved(model, start, model.position, "q")
    at = placed or yielding(model, start, Rows(model.position), Fixed())
    if at is None or not model.terms(at.point).is_finite:
        return Generic(start, False, False)
    moving = moved(model, at.point, model.velocity, "qd")
    if moving is None or not model.terms(moving.point).is_finite:
        return Generic(at.point, True, False)
    return Generic(moving.point, True, True)


def states_near(model: Model, point: Point) -> list[Settled]:
    """A few states on the constraints not far from a point."""
    rng = np.random.default_rng(22)
    numbers = model.terms(point)
    if not numbers.is_finite:
        return []
    q, qd = state_orders(numbers, point)
    found: list[Settled] = []
    for _ in range(6):
        steps = rng.normal(size=(2, len(q)))
        near = point._replace(q=point.q + 0.03 * q * steps[0], qd=point.qd + 0.03 * qd * steps[1])
        state = settled(model, near)
        if state is None or not model.terms(state.point).is_finite:
            continue
        if (np.abs(state.point.q - point.q) < q).all():
            found.append(state)
    return found
