# SPDX-License-Identifier: BSD-3-Clause
"""States that satisfy the constraints: reached from a given start, or from random ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from dalembert.analysis.linear_facts import own_parts
from dalembert.analysis.newton import Root, by_differences, root
from dalembert.analysis.numbers import Model, Numbers, Point, finite, own_scale
from dalembert.model.values import Floats

TRIES = 24
ENOUGH = 4
SPREADS = np.repeat((1.0, 3.0, 10.0, 30.0, 100.0), 60)
"""How far random numbers reach, one try after the other, where the model is defined at none of the nearer ones."""


class Rows(NamedTuple):
    """Which constraints are to hold: at position, velocity and acceleration level."""

    position: Sequence[int]
    velocity: Sequence[int] = ()
    acceleration: Sequence[int] = ()


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

    return _state(root(equations, getattr(start, part)), lambda x: start._replace(**{part: x}))


def jointly(model: Model, start: Point, rows: Rows) -> Settled | None:
    """Coordinates and velocities moved together, with accelerations where constraints on them are to be met, too."""
    n = len(start.q)
    unknown = [start.q, start.qd, *([np.zeros(n)] if rows.acceleration else [])]
    found = root(by_differences(_residual(model, start, rows)), np.concatenate(unknown), patience=6)
    return _state(found, lambda x: start._replace(q=x[:n], qd=x[n : 2 * n]))


def _residual(model: Model, start: Point, rows: Rows) -> Callable[[Floats], Floats]:
    """What some constraints miss, as a function of coordinates, velocities and perhaps accelerations."""
    n, chosen = len(start.q), list(rows.acceleration)

    def residual(x: Floats) -> Floats:
        numbers = model.terms(start._replace(q=x[:n], qd=x[n : 2 * n]))
        more = numbers.A[chosen] @ x[2 * n :] - numbers.b[chosen] if chosen else []
        return np.concatenate([numbers.position[list(rows.position)], numbers.velocity[list(rows.velocity)], more])

    return residual


def state_slopes(model: Model, point: Point) -> Floats:
    """The derivatives (k, 2n) of all that the constraints say about (q, q̇), by differences."""
    residual = _residual(model, point, Rows(model.position, model.velocity))
    return by_differences(residual)(np.concatenate([point.q, point.qd]))[1]


def _state(found: Root | None, point: Callable[[Floats], Point]) -> Settled | None:
    return None if found is None else Settled(point(found.x), point(found.before), found.slow)


def with_parameters(model: Model, start: Point) -> Point | None:
    """The start moved onto the position-level constraints, time and parameters giving way as well."""
    n = len(start.q)

    def point(x: Floats) -> Point:
        return start._replace(q=x[:n], t=x[n], p=x[n + 1 :])

    def residual(x: Floats) -> Floats:
        return model.terms(point(x)).position[list(model.position)]

    found = root(by_differences(residual), np.concatenate([start.q, [start.t], start.p]))
    return None if found is None else point(found.x)


def random_starts(model: Model, p: Floats | None = None, seed: int = 20) -> Iterator[Point]:
    """Random states at which the model is defined, with random positive parameters if none are given; a few at most."""
    rng = np.random.default_rng(seed)
    for _ in range(TRIES):
        found = _defined(model, p, rng)
        if found is None:
            return
        yield found


def _defined(model: Model, p: Floats | None, rng: np.random.Generator) -> Point | None:
    """A random point; as long as terms are undefined there some of its numbers are drawn again, from farther off."""
    point = _random(model, p, 1.0, rng)
    for spread in SPREADS:
        left = _undefined(model, point)
        if not left:
            return point
        other = _random(model, p, spread, rng)
        parts: Any = (np.where(rng.random(np.shape(a)) < 0.5, a, b) for a, b in zip(point, other, strict=True))
        mixed = Point(*parts)
        point = mixed if _undefined(model, mixed) <= left else point
    return None


def _undefined(model: Model, point: Point) -> int:
    return sum(int((~np.isfinite(array)).sum()) for array in model.terms(point))


def _random(model: Model, p: Floats | None, spread: float, rng: np.random.Generator) -> Point:
    def positive(count: int) -> Any:
        return rng.uniform(0.3, 1.7, count) * spread ** rng.uniform(0, 1, count)

    n = len(model.form.applied_force)
    q, qd = (positive(n) * rng.choice((-1.0, 1.0), n) for _ in range(2))
    return Point(q, qd, float(positive(1)[0]), positive(len(model.parameters)) if p is None else p)


def random_states(model: Model, p: Floats | None = None) -> list[Settled]:
    """A few random states that satisfy the constraints, with random positive parameters if none are given."""
    rows = Rows(model.position, model.velocity)
    found: list[Settled] = []
    motionless = 0
    placed = (moved(model, start, model.position, "q") for start in random_starts(model, p))
    for place in filter(None, placed):
        state = _set_in_motion(model, place, rows)
        if state is not None and finite(model.terms(state.point)):
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
    at = placed.point if placed is not None else with_parameters(model, start)
    if at is None or not finite(model.terms(at)):
        return Generic(start, False, False)
    moving = moved(model, at, model.velocity, "qd")
    if moving is None or not finite(model.terms(moving.point)):
        return Generic(at, True, False)
    return Generic(moving.point, True, True)


def states_near(model: Model, point: Point) -> list[Settled]:
    """A few states on the constraints not far from a point."""
    rng = np.random.default_rng(22)
    q, qd = own_scale(point.q), own_scale(point.qd)
    found: list[Settled] = []
    for _ in range(6):
        steps = rng.normal(size=(2, len(q)))
        near = point._replace(q=point.q + 0.03 * q * steps[0], qd=point.qd + 0.03 * qd * steps[1])
        state = settled(model, near)
        if state is None or not finite(model.terms(state.point)):
            continue
        if (np.abs(state.point.q - point.q) < q).all():
            found.append(state)
    return found


def without_gradient(model: Model, state: Settled) -> Any:
    """Which rows (m,) of A have nothing of their own where the constraints hold: that of (x − 1)² = 0, or of x = y².

    The way to such a place is slow, and what the row has beside earlier rows changes by a good part with the last step.
    """
    A, A_before = (model.terms(point).A for point in (state.point, state.before))
    here, before = own_parts(A), own_parts(A_before)
    size = np.linalg.norm(here, axis=1)
    changed = np.linalg.norm(here - before, axis=1) >= 0.1 * size
    # what is less than that is rounding, left of a row that depends on others as it should
    changing = changed & (size > 1e-13 * np.linalg.norm(A, axis=1))
    return ~A.any(axis=1) | (changing if state.slow else False)


def powerless(model: Model, states: Sequence[Settled]) -> Any:
    """Which rows (m,) have no gradient of their own at any of some states on the constraints."""
    found = [without_gradient(model, state) for state in states]
    return np.all(found, axis=0) if found else np.zeros(len(model.form.constraint_rhs), bool)


def gradients(model: Model, numbers: Numbers, around: Sequence[Settled]) -> Floats:
    """A at a point, rows that are zero but for rounding made zero, as the states around it show."""
    A = numbers.A.copy()
    if around:
        usual = np.max([np.linalg.norm(model.terms(state.point).A, axis=1) for state in around], axis=0)
        A[powerless(model, around) | (np.linalg.norm(A, axis=1) <= 1e-10 * usual)] = 0.0
    return A
