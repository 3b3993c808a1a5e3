# SPDX-License-Identifier: BSD-3-Clause
"""Constraints that lose their hold: gradients that vanish where the constraints hold, and degenerate places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import sympy as sp

from dalembert.analysis.constraint_states import Fixed, Settled, moved
from dalembert.analysis.evaluated_terms import Model, Point, state_orders
from dalembert.analysis.rational import exact
from dalembert.analysis.zero_test import ZeroTest
from dalembert.linear_algebra import dependence_shares, null_space, own_parts, unit_rows
from dalembert.mass import own_units
from dalembert.model import graph
from dalembert.terms import Terms
from dalembert.tolerances import DEGENERATE_RANK_TOLERANCE, NAMED_SHARE
from dalembert.violation import violated


def zero_gradient(model: Model, states: Sequence[Settled]) -> Any:
    """Which rows (m,) have no gradient of their own at any of some states on the constraints."""
    found = [_without_gradient(model, state) for state in states]
    return np.all(found, axis=0) if found else np.zeros(len(model.form.constraint_rhs), bool)


def _without_gradient(model: Model, state: Settled) -> Any:
    """Which rows (m,) of A have nothing of their own where the constraints hold: that of (x − 1)² = 0, or of x = y².

    The way to such a place is slow, and what the row has beside earlier rows changes by a good part with the last step;
    or other rows led there at once, and a touch gives the row a gradient out of all proportion to that which it has.
    """
    here = model.terms(state.point)
    places = (state.point, state.before, _touched(here, state.point))
    units = own_units(here.M)  # those of one place, for all three
    A, A_before, A_touched = (model.terms(place).A / units for place in places)
    own, own_before = own_parts(A), own_parts(A_before)
    size, length = np.linalg.norm(own, axis=1), np.linalg.norm(A, axis=1)
    changed = np.linalg.norm(own - own_before, axis=1) >= 0.1 * size
    # what is less than that is rounding, left of a row that depends on others as it should
    changing = changed & (size > 1e-13 * length)
    return (length <= 1e-3 * np.linalg.norm(A_touched, axis=1)) | ~A.any(axis=1) | (changing if state.slow else False)


def _touched(numbers: Terms, point: Point) -> Point:
    """A point moved by next to nothing."""
    rng = np.random.default_rng(27)
    orders = zip((point.q, point.qd), state_orders(numbers, point), strict=True)
    q, qd = (x + 1e-8 * order * rng.uniform(0.5, 1.0, len(x)) for x, order in orders)
    return point._replace(q=q, qd=qd)


def void_rows(model: Model, fixed: Fixed) -> list[int]:
    """Constraints that are met by every state, as 0 = 0, or k (x − 1) = 0 where k is zero."""
    form, is_zero = model.form, ZeroTest()
    values = () if fixed.p is None else zip(model.parameters, fixed.p, strict=True)
    given = {symbol: sp.Rational(str(value)) for symbol, value in values}
    said = zip(form.constraint_matrix, form.constraint_rhs, form.position, form.velocity, strict=True)
    return [i for i, (A, *rest) in enumerate(said) if all(is_zero(graph.replace(exact(e), given)) for e in (*A, *rest))]


def without_rounding(model: Model, numbers: Terms, around: Sequence[Settled]) -> Terms:
    """The terms at a point, rows of A that are zero but for rounding made zero, as the states around it show."""
    if not around:
        return numbers
    usual = np.max([np.linalg.norm(model.terms(state.point).scaled_rows, axis=1) for state in around], axis=0)
    idle: Any = zero_gradient(model, around) | (np.linalg.norm(numbers.scaled_rows, axis=1) <= 1e-10 * usual)
    return numbers._replace(A=np.where(idle[:, None], 0.0, numbers.A))


def degenerate_rows(model: Model, places: Sequence[Point]) -> list[int]:
    """Constraints that leave less freedom than their gradients do at all of some places: those of a taut chain."""
    for part, rows in (("q", model.position), ("qd", model.velocity)):
        if places and all(_bound(model, point, rows, part) for point in places):
            shares = dependence_shares(model.terms(places[0]).scaled_rows[list(rows)], DEGENERATE_RANK_TOLERANCE)
            return [rows[i] for i in np.flatnonzero(shares > NAMED_SHARE)]
    return []


def _bound(model: Model, point: Point, rows: Sequence[int], part: str) -> bool:
    """Whether steps that the gradients allow are undone, and slowly, when the constraints are enforced.

    From a regular place they hardly are: the constraints bend away from their tangents little by little.
    """
    x, numbers = getattr(point, part), model.terms(point)
    residual = numbers.position if part == "q" else numbers.velocity
    if violated(residual, numbers.A, x, point.q, numbers.M).any():
        return False
    # a coordinate that is zero at a degenerate place is so to half the digits only
    scale = state_orders(numbers, point, DEGENERATE_RANK_TOLERANCE)[("q", "qd").index(part)]
    rng = np.random.default_rng(28)
    tangent = null_space(unit_rows(numbers.A[list(rows)] * scale)[0], DEGENERATE_RANK_TOLERANCE)
    if not len(tangent):
        return False
    slowly = False
    for reach in (1e-2, 1e-2, 1e-4, 1e-4):
        weights = rng.normal(size=len(tangent))
        step = reach * weights / np.linalg.norm(weights)
        found = moved(model, point._replace(**{part: x + scale * (step @ tangent)}), rows, part)
        if found is None:
            continue
        went = tangent @ ((getattr(found.point, part) - x) / scale)
        if np.linalg.norm(went - step) <= 0.05 * reach:
            return False
        slowly |= found.slow
    return slowly
