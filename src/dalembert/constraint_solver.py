# SPDX-License-Identifier: BSD-3-Clause
"""States that satisfy constraints: Gauss–Newton iterations onto the solutions of equations, and along them.

``root`` searches from afar, each unknown measured by its own size; ``retract`` returns to equations that hold nearly;
``nearest_root`` goes on along the solutions to the one nearest to the start. Redundant equations are fine in all three:
only the spaces that the Jacobian spans are used.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from dalembert.array_types import Floats
from dalembert.linear_algebra import null_space
from dalembert.tolerances import SOLVED_RANK_TOLERANCE
from dalembert.violation import computable, own_scale, own_size

Equations = Callable[[Floats], tuple[Floats, Floats]]
"""Residuals (k,) and their Jacobian (k, n) at a place (n,)."""

MOST = 120
"""Iterations of ``root``: at half the distance each, as where a slope vanishes, 50 reach rounding."""

LONGEST = 2.0
"""Steps, relative to the size of the unknowns, are cut to this length."""

FARTHEST = 1e10
"""How many times its own size, or the step that the equations ask for at the start, an unknown may grow: beyond, they
only seem to hold."""


class Root(NamedTuple):
    """A place where equations hold, and the last place before it on the way there.

    slow    whether the last steps became shorter by a constant factor only, as they do where a slope vanishes
    """

    x: Floats
    before: Floats
    slow: bool


def root(equations: Equations, start: Floats, units: Any = None, *, patience: int = 20) -> Root | None:
    """A solution reached from the start; None where the steps, of bounded length, do not lead to one.

    Of all steps the shortest in the coordinates' ``units`` (n,) is taken. The search ends when nothing has got better
    for a while (``patience``). Towards a place where a slope vanishes the steps only halve, which is slow but gets
    better all the time.
    """
    first = own_scale(start)
    units = np.ones_like(first) if units is None else units
    x = before = start
    lengths = [np.inf]
    miss, slope = equations(x)
    best, waiting, farthest = np.inf, 0, None
    for _ in range(MOST):
        if not _computable(miss, slope):
            return None
        scale = np.maximum(first, own_scale(x))
        off = _off(miss, slope, x, scale)
        reach = np.maximum(scale, units)
        step = _step(miss, slope * reach) * reach / scale
        longest = np.abs(step).max(initial=0.0)
        if farthest is None:  # x = 1.5e11 asks for a step of that length at once, exp(x) = 0 and 1/x = 0 never do
            farthest = FARTHEST * np.maximum(first * np.maximum(1.0, units), np.abs(step * scale))
        if (off < 1e-15 or longest < 1e-13) and _holds(miss, slope, x):
            break
        if np.abs(step * scale / own_scale(x)).max(initial=0.0) < 1e-13:
            break  # at rest, without a solution
        travelling = np.linalg.norm(step) > LONGEST
        waiting = 0 if travelling or off < 0.95 * best else waiting + 1
        best = min(best, off)
        step = step / max(1.0, float(np.linalg.norm(step)) / LONGEST)
        if waiting > patience or (np.abs(x) > farthest).any():
            break
        before, (x, miss, slope) = x, _next(equations, x, scale * step)
        lengths.append(float(np.linalg.norm(step)))
    return Root(x, before, _slow(lengths)) if _computable(miss, slope) and _holds(miss, slope, x) else None


def _slow(lengths: list[float]) -> bool:
    """Two of the last three steps: rounding may make any one of them very short, or as long as the one before."""
    ratios = [after / before for before, after in pairwise(lengths[-4:])]
    return sum(ratio > 0.1 for ratio in ratios) >= 2


def _computable(miss: Floats, slope: Floats) -> bool:
    return bool(computable(miss).all() and computable(slope).all())


def _step(miss: Floats, slope: Floats) -> Floats:
    length = _lengths(slope)
    step: Any = np.linalg.lstsq(slope / length[:, None], miss / length, rcond=SOLVED_RANK_TOLERANCE)[0]
    return step


def _lengths(slope: Floats) -> Floats:
    length = np.linalg.norm(slope, axis=1)
    return np.where(length > 0, length, 1.0)


def _off(miss: Floats, slope: Floats, x: Floats, scale: Floats) -> float:
    return float((np.abs(miss) / (own_size(miss, slope, x) + _lengths(slope * scale))).max(initial=0.0))


def _holds(miss: Floats, slope: Floats, x: Floats) -> bool:
    limit = 1e-12 * own_size(miss, slope, x) + 1e-11 * np.linalg.norm(slope * own_scale(x), axis=1)
    return bool((np.abs(miss) <= limit).all())


def _next(equations: Equations, x: Floats, step: Floats) -> tuple[Floats, Floats, Floats]:
    """The next place with its equations, on this side of the border of their domain."""
    miss, slope = equations(x - step)
    for _ in range(8):
        if _computable(miss, slope):
            break
        step = step / 2
        miss, slope = equations(x - step)
    return x - step, miss, slope


def by_differences(residual: Callable[[Floats], Floats]) -> Equations:
    """The slopes of residuals by central differences."""

    def equations(x: Floats) -> tuple[Floats, Floats]:
        steps = np.diag(6e-6 * own_scale(x))
        slopes = [(residual(x + h) - residual(x - h)) / (2 * h.max()) for h in steps]
        return residual(x), np.stack(slopes, axis=1)

    return equations


def retract(equations: Equations, x: Floats) -> Floats:
    """Return to the equations from near by: the shortest Gauss–Newton steps, as long as they help."""
    f, J = equations(x)
    for _ in range(20):
        new = x - np.linalg.pinv(J, rcond=SOLVED_RANK_TOLERANCE) @ f
        f_new, J_new = equations(new)
        if not np.linalg.norm(f_new) < np.linalg.norm(f):
            break
        x, f, J = new, f_new, J_new
    return x


def nearest_root(equations: Equations, x0: Floats, steps: Floats) -> Floats:
    """The point x0 + steps·y with the shortest y that solves the equations, or the nearest that was found to one.

    First any solution near by; then along the solutions towards x0, by Newton's method for the shortest y with the
    curvature of the equations, each step brought back onto them.
    """
    scale = np.maximum(np.linalg.norm(equations(x0)[1] @ steps, axis=1), LEAST_SCALE)

    def at(y: Floats) -> tuple[Floats, Floats]:
        f, J = equations(x0 + steps @ y)
        return f / scale, J @ steps / scale[:, None]

    y = _some_root(at, np.zeros(steps.shape[1]))
    for _ in range(100):
        J = at(y)[1]
        tangent, J_plus = null_space(J, SOLVED_RANK_TOLERANCE).T, np.linalg.pinv(J, rcond=SOLVED_RANK_TOLERANCE)
        slope = tangent.T @ y
        if np.linalg.norm(slope) <= SETTLED * (1 + np.linalg.norm(y)):
            break
        bend = np.eye(len(slope)) - _curvature(at, y, J_plus.T @ y, tangent)
        values, vectors = np.linalg.eigh(bend)
        # away from the minimum the bend may have any sign: go downhill all the same
        step = -tangent @ (vectors @ ((vectors.T @ slope) / np.maximum(np.abs(values), LEAST_BEND)))
        shorter = _shorter(at, y, step)
        if shorter is None:
            break
        y = shorter
    return x0 + steps @ y


LEAST_SCALE = 1e-12
"""Rows of the Jacobian shorter than this are not scaled up: they are rounding."""

SETTLED = 1e-13
"""Steps and residuals below this, relative to the unknowns, are rounding."""

LEAST_BEND = 1e-3
"""Least curvature for Newton steps along the solutions, which limits their length."""


def _some_root(at: Equations, y: Floats) -> Floats:
    near = retract(at, y)
    if np.linalg.norm(at(near)[0]) <= SETTLED * (1 + np.linalg.norm(near)):
        return near
    import scipy.optimize  # takes long to import, and is needed only from afar

    # damped least squares gets there from afar and past singular places
    least_squares: Any = scipy.optimize.least_squares  # its stubs take only strings for the Jacobian
    found = least_squares(lambda y: at(y)[0], y, lambda y: at(y)[1], xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=500)
    return retract(at, found.x)


def _curvature(at: Equations, y: Floats, weights: Floats, tangent: Floats) -> Floats:
    """The Hessian of the residuals' weighted sum along tangent directions.

    Differences are good enough: they tell only how long the steps towards the nearest point should be.
    """
    h = 1e-5 * (1 + np.linalg.norm(y))
    across = [weights @ (at(y + h * d)[1] - at(y - h * d)[1]) / (2 * h) for d in tangent.T]
    bend = np.array(across) @ tangent
    return (bend + bend.T) / 2


def _shorter(at: Equations, y: Floats, step: Floats) -> Floats | None:
    """A solution along a step that is nearer than y, or None when rounding allows no more."""
    for _ in range(40):
        new = retract(at, y + step)
        if np.linalg.norm(at(new)[0]) <= 1e-10 * (1 + np.linalg.norm(new)) and new @ new < y @ y:
            return new
        step = step / 2
    return None
