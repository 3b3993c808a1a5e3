# SPDX-License-Identifier: BSD-3-Clause
"""Projection of a state onto the constraints, and solutions for the parameters that allow one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import sympy as sp

from dalembert.analysis.evaluated_terms import Model, Point
from dalembert.common.array_types import Floats
from dalembert.model import graph
from dalembert.numerics.constraint_solver import Root, by_differences, root
from dalembert.numerics.violation import own_scale

SUFFICIENT_STATES = 4
"""States after which a search ends: a property shared by this many random states is taken as generic."""
MOST_STALLED_STEPS = 6
"""Steps without progress after which a solution for all unknowns together is abandoned: far from a solution, such
iterations often make no progress for a few steps."""


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
    return None if placed is None else project_velocities(model, placed, rows)


def project_velocities(model: Model, placed: ConsistentState, rows: Rows) -> ConsistentState | None:
    """Project the velocities at given positions.

    If no velocities satisfy the constraints there, positions and velocities are projected together, since a
    velocity-level constraint may be satisfiable at other positions only.
    """
    moving = project_onto(model, placed.point, rows.velocity, "qd")
    if moving is None:
        return project_jointly(model, placed.point, rows)
    # before and after the last step of both parts: their difference shows how well the whole state is known
    return ConsistentState(moving.point, moving.before._replace(q=placed.before.q), placed.slow or moving.slow)


def project_onto(model: Model, start: Point, rows: Sequence[int], part: str) -> ConsistentState | None:
    """Project coordinates ``q`` onto position-level constraints, or velocities ``qd`` onto velocity-level ones."""
    level, chosen = {"q": "position", "qd": "velocity"}[part], list(rows)
    if not chosen:
        return ConsistentState(start, start, False)

    def equations(x: Floats) -> tuple[Floats, Floats]:
        terms = model.terms(start._replace(**{part: x}))
        return getattr(terms, level)[chosen], terms.A[chosen]

    # of the start: units that change during the iteration would change the direction of its steps
    units = model.terms(start).units
    return _consistent_state(root(equations, getattr(start, part), units), lambda x: start._replace(**{part: x}))


def project_jointly(model: Model, start: Point, rows: Rows) -> ConsistentState | None:
    """Project coordinates and velocities together, and accelerations if there are constraints on them."""
    residual, unknown, point = _problem(model, start, rows)
    # velocities, and accelerations, have the units of their coordinates
    units = np.resize(model.terms(start).units, len(unknown))
    return _consistent_state(root(by_differences(residual), unknown, units, most_stalled=MOST_STALLED_STEPS), point)


class RelaxedState(NamedTuple):
    """A point at which constraints hold, found with time and parameters as further unknowns.

    general    whether they can be satisfied for neighbouring values as well, or for these special ones only
    """

    point: Point
    general: bool


def relax_parameters(model: Model, start: Point, rows: Rows, fixed: Fixed) -> RelaxedState | None:
    """Solve constraints for the state and for those of time and parameters that are not fixed; None if that fails."""
    residual, unknown, point = _problem(model, start, rows, fixed)
    found = root(by_differences(residual), unknown, most_stalled=MOST_STALLED_STEPS)
    if found is None:
        return None
    # neighbouring values show whether the solution exists in general or for special values only
    place, rng = point(found.x), np.random.default_rng(29)

    def neighbour() -> Point:
        t = place.t + 0.1 * float(own_scale(np.array(start.t))) * rng.normal()
        p = place.p + 0.1 * own_scale(start.p) * rng.normal(size=len(start.p))
        return place._replace(t=place.t if fixed.t is not None else t, p=place.p if fixed.p is not None else p)

    project = project_jointly if rows.acceleration else project_state
    # several trials, since a neighbouring value may fail by chance although most do not
    general = next(
        (state for _ in range(2 * SUFFICIENT_STATES) if (state := project(model, neighbour(), rows)) is not None), None
    )
    return RelaxedState(place, False) if general is None else RelaxedState(general.point, True)


def _problem(
    model: Model, start: Point, rows: Rows, fixed: Fixed | None = None, *, moving: bool = False
) -> tuple[Callable[[Floats], Floats], Floats, Callable[[Floats], Point]]:
    """Return the residual of some constraints as a function of the unknowns, their start, and the map to a point.

    The unknowns are coordinates, velocities and accelerations if there are constraints on them, and the values not
    fixed. With ``moving`` velocities are among them in any case.
    """
    n, chosen = len(start.q), list(rows.acceleration)
    moving = moving or bool(chosen or rows.velocity)
    fixed = Fixed(start.p, start.t) if fixed is None else fixed
    time = [np.array([start.t])] if fixed.t is None else []
    # accelerations enter linearly, so that zero is as good a start as any
    velocities = [start.qd] if moving else []
    unknown = [start.q, *velocities, *([np.zeros(n)] if chosen else []), *time, *([start.p] if fixed.p is None else [])]
    others = (1 + moving + bool(chosen)) * n

    def point(x: Floats) -> Point:
        t = float(x[others]) if time else start.t
        qd = x[n : 2 * n] if moving else start.qd
        return Point(x[:n], qd, t, x[others + len(time) :] if fixed.p is None else start.p)

    def residual(x: Floats) -> Floats:
        place = point(x)
        if not moving:
            # residuals of velocities would take several times as long, in searches of thousands of evaluations
            return model.positions(place)[list(rows.position)]
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
    residual, unknown, _ = _problem(model, point, Rows(model.position, model.velocity), moving=True)
    return by_differences(residual)(unknown)[1] * np.resize(model.terms(point).units, len(unknown))


def _consistent_state(found: Root | None, point: Callable[[Floats], Point]) -> ConsistentState | None:
    return None if found is None else ConsistentState(point(found.x), point(found.before), found.slow)


def free_values(model: Model, rows: Sequence[int], fixed: Fixed) -> list[sp.Symbol]:
    """Return the symbols among time and parameters that occur in some constraints and are not fixed."""
    form = model.form
    free = [*([form.symbols.time] if fixed.t is None else []), *(model.parameters if fixed.p is None else [])]
    expressions = (e for i in rows for e in (form.position[i], form.velocity[i], form.constraint_rhs[i]))
    present: set[Any] = set().union(*(graph.free_symbols(e) for e in expressions))
    # a parameter may occur in the gradients only, if it multiplies a whole constraint
    present.update(*(graph.free_symbols(e) for i in rows for e in form.constraint_matrix[i]))
    return [symbol for symbol in free if symbol in present]
