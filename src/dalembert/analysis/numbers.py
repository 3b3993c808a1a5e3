# SPDX-License-Identifier: BSD-3-Clause
"""The terms of a symbolic model as numbers, and random states that satisfy its constraints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import sympy as sp

from dalembert.model.standard_form import StandardForm
from dalembert.model.values import Floats

TRIES = 24
ENOUGH = 4


class Numbers(NamedTuple):
    """The terms of a model at one state: M (n, n), Q (n,), A (m, n), b (m,), residuals φ and ψ (m,)."""

    M: Floats
    Q: Floats
    A: Floats
    b: Floats
    position: Floats
    velocity: Floats


class Point(NamedTuple):
    """A state and the values of the parameters."""

    q: Floats
    qd: Floats
    t: float
    p: Floats


Terms = Callable[[Point], Numbers]


def terms_of(form: StandardForm, parameter_names: Sequence[str]) -> Terms:
    """The terms as one function of a point."""
    n, m = len(form.applied_force), len(form.constraint_rhs)
    names = [sp.Symbol(name, real=True) for name in parameter_names]
    given = (form.mass_matrix, form.applied_force, form.constraint_matrix, form.constraint_rhs, form.position)
    outputs = tuple(without_spikes(block) for block in (*given, form.velocity))
    arguments = (form.symbols.q, form.symbols.qd, form.symbols.time, names)
    function = sp.lambdify(arguments, outputs, modules=["numpy", "scipy"], cse=True)
    shapes = ((n, n), (n,), (m, n), (m,), (m,), (m,))

    def terms(point: Point) -> Numbers:
        with np.errstate(all="ignore"):
            found = function(*point)
        return Numbers(*(np.asarray(e, float).reshape(s) for e, s in zip(found, shapes, strict=True)))

    return terms


def without_spikes(block: Any) -> Any:
    """|x| has a second derivative that is zero but for a spike at the kink: zero at nearly all states."""
    if isinstance(block, tuple):
        return tuple(map(without_spikes, block))
    return block.replace(sp.DiracDelta, lambda *_: sp.S.Zero)


def finite(numbers: Numbers) -> bool:
    return all(bool(np.isfinite(array).all()) for array in numbers)


def random_points(form: StandardForm, terms: Terms, count: int, p: Floats | None = None) -> list[Point]:
    """Random states that satisfy the constraints, with random positive parameters if none are given."""
    rng = np.random.default_rng(20)
    n = len(form.applied_force)
    found: list[Point] = []
    for _ in range(TRIES):
        values = rng.uniform(0.5, 1.5, count) if p is None else p
        start = Point(rng.normal(size=n), rng.normal(size=n), float(rng.uniform(0.5, 1.5)), values)
        point = settled(terms, start, levels_of(form))
        if point is not None and finite(terms(point)):
            found.append(point)
        if len(found) == ENOUGH:
            break
    return found


def levels_of(form: StandardForm) -> tuple[list[int], list[int]]:
    """The rows that say something about positions, and those that do about velocities."""
    position = [i for i, e in enumerate(form.position) if e != 0]
    velocity = [i for i, e in enumerate(form.velocity) if e != 0]
    return position, velocity


def settled(terms: Terms, start: Point, rows: tuple[list[int], list[int]]) -> Point | None:
    """The start moved onto some rows' constraints, positions first, then velocities; None where that fails."""
    point = _newton(terms, start, rows[0], "q", "position")
    return None if point is None else _newton(terms, point, rows[1], "qd", "velocity")


def _newton(terms: Terms, start: Point, rows: list[int], moved: str, residual: str) -> Point | None:
    """Gauss–Newton steps of bounded length."""
    point = start
    if not rows:
        return point
    for _ in range(60):
        numbers = terms(point)
        gradient, miss = numbers.A[rows], getattr(numbers, residual)[rows]
        if not (np.isfinite(gradient).all() and np.isfinite(miss).all()):
            return None
        length = np.linalg.norm(gradient, axis=1)
        scale = np.where(length > 0, length, 1.0)
        step = np.linalg.lstsq(gradient / scale[:, None], miss / scale, rcond=1e-9)[0]
        value: Any = getattr(point, moved)
        size = 1 + np.abs(value).max()
        point = point._replace(**{moved: value - step / max(1.0, float(np.linalg.norm(step)) / (2 * size))})
        if np.abs(step).max() < 1e-12 * size:
            return point if (np.abs(miss / scale) < 1e-9 * size).all() else None
    return None
