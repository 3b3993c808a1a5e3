# SPDX-License-Identifier: BSD-3-Clause
"""Lines that show curves and surfaces given by equations φ(x) = 0, near the points that a motion visits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import sympy as sp

from dalembert.common.array_types import Floats
from dalembert.model import graph
from dalembert.model.symbols import real_symbol
from dalembert.model.symbols import t as time

CURVE_STEPS = 48
"""Number of steps along a curve for the longest side of its region."""

MOST_CURVE_STEPS = 8 * CURVE_STEPS
"""Largest number of steps in each direction along a curve."""

PATCH_POINTS = 9
"""Number of points along each side of a patch of a surface."""

SHAPE_NEWTON_STEPS = 12
"""Largest number of Newton steps that place a point on a curve or a surface."""

NEWTON_STEPS_WRITTEN = 2
"""Number of Newton steps in the expression of a point whose curve has parameters that a reader can change."""

CLOSE_ENOUGH = 1e-9
"""Distance from a curve or surface, relative to the size of its region, at which a point is on it."""


@dataclass(frozen=True)
class Region:
    """A box in the axes of a body, counted from a point of it, in which a joint draws a curve or a surface.

    inside        a point of the box that the motion visits
    parameters    values by name
    t             the time at which the motion is there
    symbolic      whether the lines are expressions of the parameters, as on a page on which these can be changed
    """

    low: Floats
    high: Floats
    inside: Floats
    parameters: Mapping[str, float]
    t: float
    symbolic: bool

    @property
    def size(self) -> float:
        return float((self.high - self.low).max())

    def holds(self, point: Floats) -> bool:
        return bool((point >= self.low).all() and (point <= self.high).all())


@dataclass(frozen=True)
class ShapeEquations:
    """The equations φ = 0 of a curve or a surface, one or two, in symbols ``own`` for the d components of a point.

    parameters    values of other symbols; the time among them
    """

    residuals: tuple[Any, ...]
    own: tuple[Any, ...]
    parameters: Mapping[Any, float]

    @property
    def jacobian(self) -> Any:
        return sp.Matrix(self.residuals).jacobian(self.own)

    @property
    def others(self) -> list[Any]:
        """Symbols besides the components of a point: parameters, and the time."""
        return sorted(graph.free_symbols(*self.residuals) - set(self.own), key=str)

    def numeric(self) -> Callable[[Floats], tuple[Floats, Floats]]:
        """Return the function of a point (d,) whose values are φ (k,) and its derivatives (k, d)."""
        values = {symbol: self.parameters[symbol] for symbol in self.others}
        both = sp.Matrix.hstack(sp.Matrix(self.residuals), self.jacobian).subs(values)
        compiled = sp.lambdify(self.own, both, "numpy")

        def at(point: Floats) -> tuple[Floats, Floats]:
            found = np.asarray(compiled(*point), float)
            return found[:, 0], found[:, 1:]

        return at

    @cached_property
    def solution(self) -> list[Any] | None:
        """A point whose components solve the equations, if these are linear in some of them with constant factors."""
        slopes, residuals, own = self.jacobian, sp.Matrix(self.residuals), sp.Matrix(self.own)
        for chosen in reversed([*combinations(range(len(own)), len(residuals))]):
            block = slopes[:, list(chosen)]
            if not block.free_symbols and block.det() != 0:
                solved = block.inv() * residuals
                return [x - solved[chosen.index(k)] if k in chosen else x for k, x in enumerate(self.own)]
        return None

    @cached_property
    def newton_step(self) -> list[Any]:
        """The next point of Newton's method, x − Jᵀ(JJᵀ)⁻¹φ."""
        slopes = self.jacobian
        return list(sp.Matrix(self.own) - slopes.T * (slopes * slopes.T).inv() * sp.Matrix(self.residuals))

    def written(self, point: Floats) -> tuple[Any, ...]:
        """Return a point as expressions of the other symbols: the numbers, moved onto the curve or surface.

        A point of a curve without other symbols consists of its numbers.
        """
        place: list[Any] = [sp.Float(x) for x in point]
        if not self.others:
            return tuple(place)
        if self.solution is not None:
            return tuple(self._at(self.solution, place))
        if (nearest := self._along_gradient(place)) is not None:
            return tuple(nearest)
        for _ in range(NEWTON_STEPS_WRITTEN):
            place = self._at(self.newton_step, place)
        return tuple(place)

    def _at(self, expressions: Sequence[Any], place: Sequence[Any]) -> list[Any]:
        at = dict(zip(self.own, place, strict=True))
        return [graph.replace(e, at) for e in expressions]

    def _along_gradient(self, place: list[Any]) -> list[Any] | None:
        """Return the point on a line along the gradient, if the equation is one of second degree along it."""
        if len(self.residuals) > 1:
            return None
        values = {symbol: sp.Float(self.parameters[symbol]) for symbol in self.others}
        gradient = [sp.Float(graph.replace(e, values)) for e in self._at(self.jacobian, place)]
        s = sp.Dummy("s", real=True)
        line = [x + s * g for x, g in zip(place, gradient, strict=True)]
        polynomial = sp.expand(self._at(self.residuals, line)[0]).as_poly(s)
        if polynomial is None or polynomial.degree() > 2:
            return None
        c, b, a = (polynomial.coeff_monomial(s**k) for k in range(3))
        # the root near zero; b is positive, as the line goes along the gradient
        return [graph.replace(x, {s: -2 * c / (b + sp.sqrt(b**2 - 4 * a * c))}) for x in line]


def equations_of(function: Callable[..., Any], region: Region) -> ShapeEquations:
    """Return the equations of a function of d components that returns one residual, or two of them."""
    own = sp.symbols(f"own_:{len(region.low)}", cls=sp.Dummy, real=True)
    found = function(*own)
    residuals = [sp.sympify(e, strict=True) for e in (found if isinstance(found, (tuple, list)) else [found])]
    others = graph.free_symbols(*residuals) - {*own, time}
    # in plain symbols already, so that long expressions are not rebuilt
    known = {s: real_symbol(s) if region.symbolic else sp.Float(region.parameters[str(s)]) for s in others}
    residuals = [graph.replace(e, known) for e in residuals]
    values = {real_symbol(s): region.parameters[str(s)] for s in others}
    return ShapeEquations(tuple(residuals), own, values | {time: region.t})


def curve_within(equations: ShapeEquations, region: Region) -> list[Floats]:
    """Return points along a curve, from one end of the region to the other, or around a closed curve."""
    at, step = equations.numeric(), region.size / CURVE_STEPS
    start = _on_shape(at, region.inside, region.size)
    if start is None:
        return []
    forwards, closed = _follow(at, start, step, region)
    if closed:
        return [start, *forwards, start]
    backwards, _ = _follow(at, start, -step, region)
    return [*reversed(backwards), start, *forwards]


def _follow(at: Any, start: Floats, step: float, region: Region) -> tuple[list[Floats], bool]:
    """Return the points along a curve in one direction, without the first, and whether it returns to the start."""
    points: list[Floats] = []
    point, before = start, _tangent(at(start)[1]) * np.sign(step)
    for count in range(MOST_CURVE_STEPS):
        along = _tangent(at(point)[1])
        along = along if along @ before >= 0 else -along
        found = _on_shape(at, point + abs(step) * along, region.size)
        # a point that Newton's method moved far away is on another branch
        if found is None or not region.holds(found) or np.linalg.norm(found - point) > 2 * abs(step):
            return points, False
        if count > 1 and np.linalg.norm(found - start) < abs(step):
            return points, True
        points.append(found)
        point, before = found, along
    return points, False


def _tangent(slopes: Floats) -> Floats:
    """Return the unit vector along a curve: perpendicular to the rows (k, k + 1) of the derivatives of φ."""
    along = np.array([-slopes[0, 1], slopes[0, 0]]) if slopes.shape[1] == 2 else np.cross(slopes[0], slopes[1])
    length = float(np.linalg.norm(along))
    return along / length if length else along


def _on_shape(at: Any, point: Floats, size: float) -> Floats | None:
    """Return a point of the curve or surface near another point by Newton's method; None if there is none."""
    for _ in range(SHAPE_NEWTON_STEPS):
        residuals, slopes = at(point)
        if not (np.isfinite(residuals).all() and np.isfinite(slopes).all()):
            return None
        move = np.linalg.lstsq(slopes, residuals, rcond=None)[0]
        point = point - move
        if np.linalg.norm(move) < CLOSE_ENOUGH * size:
            return point
    return None


def patch_within(equations: ShapeEquations, region: Region) -> list[list[Floats | None]]:
    """Return a grid of points of a surface around the middle of a region; None where the surface does not reach."""
    at = equations.numeric()
    middle = _on_shape(at, (region.low + region.high) / 2, region.size)
    middle = _on_shape(at, region.inside, region.size) if middle is None else middle
    if middle is None:
        return []
    normal = at(middle)[1][0]
    u, v = np.linalg.svd(normal[None, :])[2][1:]
    ticks = np.linspace(-0.5, 0.5, PATCH_POINTS) * region.size
    return [[_on_shape(at, middle + a * u + b * v, region.size) for b in ticks] for a in ticks]


def lines_within(function: Callable[..., Any], region: Region) -> list[list[tuple[Any, ...]]]:
    """Return the lines that show a curve or a surface in a region: numbers, or expressions of parameters and time."""
    equations = equations_of(function, region)
    if len(equations.residuals) == len(region.low) - 1:
        lines = [curve_within(equations, region)]
    else:
        lines = _lines_of_patch(patch_within(equations, region))
    return [[equations.written(point) for point in line] for line in lines if line]


def _lines_of_patch(grid: Sequence[Sequence[Floats | None]]) -> list[list[Floats]]:
    """Return the lines of a grid along both of its directions, interrupted where it has no points."""
    lines: list[list[Floats]] = []
    for row in (*grid, *zip(*grid, strict=True)):
        line: list[Floats] = []
        for point in (*row, None):
            if point is not None:
                line.append(point)
            else:
                lines += [line] if len(line) > 1 else []
                line = []
    return lines
