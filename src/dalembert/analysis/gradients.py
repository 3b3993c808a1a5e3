# SPDX-License-Identifier: BSD-3-Clause
"""Constraints whose gradients vanish or degenerate on the constraint manifold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import sympy as sp

from dalembert.analysis.constraint_states import ConsistentState, Fixed, project_onto
from dalembert.analysis.evaluated_terms import Model, Point, state_orders
from dalembert.analysis.rational import exact
from dalembert.analysis.zero_test import ZeroTest
from dalembert.model import graph
from dalembert.numerics.linear_algebra import dependence_shares, null_space, own_parts, unit_rows
from dalembert.numerics.mass import own_units
from dalembert.numerics.terms import Terms
from dalembert.numerics.tolerances import DEGENERATE_RANK_TOLERANCE, NAMED_SHARE, RANK_TOLERANCE, ROUNDING
from dalembert.numerics.violation import unresolved, violated

CONSIDERABLE_CHANGE = 0.1
"""Relative change of a gradient in the last step of an iteration. Towards a zero of the gradient, it halves with every
step; towards a regular state, the last step changes it by rounding."""

ROUNDING_PART = 1e-13
"""A row has a part of its own if that is a larger fraction of it: orthogonalization leaves about 1e-14."""

PERTURBATION = 1e-8
"""Relative displacement that makes a vanishing gradient visible: the square root of rounding, so that the error of the
state and the displacement contribute separately."""

VANISHING_RATIO = 1e-3
"""A gradient that a displacement by ``PERTURBATION`` increases a thousandfold is zero at the point itself."""

TINY_COORDINATES = 100 * ROUNDING
"""Largest coordinates of an iteration that ended where numbers count as zero, which it approaches by halves."""

TANGENT_STEPS = (1e-2, 1e-2, 1e-4, 1e-4)
"""Relative lengths of the tangent steps, two of each in random directions: large enough for the projection to be
measured accurately, and of two sizes, since the effect of curvature decreases with the length."""


def zero_gradient(model: Model, states: Sequence[ConsistentState]) -> Any:
    """Return a mask (m,) of the rows that have no gradient of their own at any of the given consistent states."""
    found = [_without_gradient(model, state) for state in states]
    return np.all(found, axis=0) if found else np.zeros(len(model.form.constraint_rhs), bool)


def _without_gradient(model: Model, state: ConsistentState) -> Any:
    """Return a mask (m,) of the rows of A without a part of their own at a consistent state, as that of (x − 1)² = 0.

    Either the iteration towards such a state converges slowly, and the part of the row that is orthogonal to the
    earlier rows changes considerably with the last step. Or other rows determined the state at once, and a tiny
    perturbation makes the gradient of the row larger by orders of magnitude.
    """
    here = model.terms(state.point)
    others = (model.terms(place) for place in (state.before, _perturbed(here, state.point)))
    units = own_units(here.M)  # the same units for all three points
    A, A_before, A_perturbed = (terms.A / units for terms in (here, *others))
    own, own_before = own_parts(A), own_parts(A_before)
    size, length = np.linalg.norm(own, axis=1), np.linalg.norm(A, axis=1)
    changed = np.linalg.norm(own - own_before, axis=1) >= CONSIDERABLE_CHANGE * size
    # a smaller part is the rounding error of a row that depends on the others
    changing = changed & (size > ROUNDING_PART * length)
    return (
        (length <= VANISHING_RATIO * np.linalg.norm(A_perturbed, axis=1))
        | ~A.any(axis=1)
        | (changing if state.slow else False)
    )


def _perturbed(terms: Terms, point: Point) -> Point:
    """Displace a point by ``PERTURBATION`` relative to its orders of magnitude."""
    rng = np.random.default_rng(27)
    orders = zip((point.q, point.qd), state_orders(terms, point), strict=True)
    q, qd = (x + PERTURBATION * order * rng.uniform(0.5, 1.0, len(x)) for x, order in orders)
    return point._replace(q=q, qd=qd)


def tiny_rows(model: Model, point: Point, found: Sequence[ConsistentState]) -> list[int]:
    """Return the constraints whose own lengths count as zero, as that of x² + y² = 1e-40.

    ``found`` are the states of a search, if the point is one of them. An iteration from states of the order of one ends
    where all coordinates count as zero, and the gradients with them. Other constraints without a gradient, as x² = 0,
    hold at zero itself.
    """
    terms = model.terms(point)
    tiny: Any = unresolved(terms.position, terms.A, lambda x: model.terms(point._replace(q=x)).A, point.q)
    if found and 0 < np.abs(point.q).max(initial=0.0) <= TINY_COORDINATES:
        at_zero = model.terms(point._replace(q=np.zeros_like(point.q))).position
        tiny |= zero_gradient(model, found) & (at_zero != 0)
    return [int(k) for k in np.flatnonzero(tiny)]


def void_rows(model: Model, fixed: Fixed) -> list[int]:
    """Return the constraints that every state satisfies, as 0 = 0, or k (x − 1) = 0 if k is zero."""
    form, is_zero = model.form, ZeroTest()
    values = () if fixed.p is None else zip(model.parameters, fixed.p, strict=True)
    given = {symbol: sp.Rational(str(value)) for symbol, value in values}
    expressions = zip(form.constraint_matrix, form.constraint_rhs, form.position, form.velocity, strict=True)
    return [
        i
        for i, (A, *rest) in enumerate(expressions)
        if all(is_zero(graph.replace(exact(e), given)) for e in (*A, *rest))
    ]


def without_rounding(model: Model, terms: Terms, around: Sequence[ConsistentState]) -> Terms:
    """Set the rows of A to zero that are zero up to rounding compared with the states around the point."""
    return all_without_rounding(model, [terms], around)[0]


def all_without_rounding(model: Model, many: list[Terms], around: Sequence[ConsistentState]) -> list[Terms]:
    """Do the same with the terms of many points around which there are the same states."""
    if not around:
        return many
    usual = np.max([np.linalg.norm(model.terms(state.point).scaled_rows, axis=1) for state in around], axis=0)
    anywhere: Any = zero_gradient(model, around)
    vanishing = [anywhere | (np.linalg.norm(own.scaled_rows, axis=1) <= RANK_TOLERANCE * usual) for own in many]
    return [own._replace(A=np.where(rows[:, None], 0.0, own.A)) for own, rows in zip(many, vanishing, strict=True)]


def degenerate_rows(model: Model, points: Sequence[Point]) -> list[int]:
    """Return the constraints that leave less freedom than their gradients at all given points, as for a taut chain."""
    for part, rows in (("q", model.position), ("qd", model.velocity)):
        if points and all(_is_rigid(model, point, rows, part) for point in points):
            shares = dependence_shares(model.terms(points[0]).scaled_rows[list(rows)], DEGENERATE_RANK_TOLERANCE)
            return [rows[i] for i in np.flatnonzero(shares > NAMED_SHARE)]
    return []


def _is_rigid(model: Model, point: Point, rows: Sequence[int], part: str) -> bool:
    """Return True if projection onto the constraints undoes tangent steps, and converges slowly.

    At a regular point projection hardly changes a tangent step, since the constraints are flat to first order.
    """
    x, terms = getattr(point, part), model.terms(point)
    residual = terms.position if part == "q" else terms.velocity
    if violated(residual, terms.A, x, point.q, terms.M).any():
        return False
    # at a degenerate point, a coordinate that is zero is known to half of the digits only
    scale = state_orders(terms, point, DEGENERATE_RANK_TOLERANCE)[("q", "qd").index(part)]
    rng = np.random.default_rng(28)
    tangent = null_space(unit_rows(terms.A[list(rows)] * scale)[0], DEGENERATE_RANK_TOLERANCE)
    if not len(tangent):
        return False
    slow = False
    for reach in TANGENT_STEPS:
        weights = rng.normal(size=len(tangent))
        step = reach * weights / np.linalg.norm(weights)
        found = project_onto(model, point._replace(**{part: x + scale * (step @ tangent)}), rows, part)
        if found is None:
            continue
        moved = tangent @ ((getattr(found.point, part) - x) / scale)
        if np.linalg.norm(moved - step) <= 0.05 * reach:
            return False
        slow |= found.slow
    return slow
