# SPDX-License-Identifier: BSD-3-Clause
"""Gauss–Newton iterations for states that satisfy constraints.

``root`` searches from a distant start, with each unknown scaled by its own size; ``retract`` returns to equations that
nearly hold; ``nearest_root`` continues along the solutions to the one nearest to the start. Redundant equations are
allowed in all three, since only the row space of the Jacobian is used.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.numerics.linear_algebra import null_space
from dalembert.numerics.tolerances import EXACT, ROUNDING, SOLVED_RANK_TOLERANCE
from dalembert.numerics.violation import computable, own_scale, own_size

Equations = Callable[[Floats], tuple[Floats, Floats]]
"""A function of x (n,) that returns residuals (k,) and their Jacobian (k, n)."""

MOST_ROOT_ITERATIONS = 120
"""Largest number of iterations of ``root``. At a vanishing gradient each step halves the distance, and 50 of them reach
rounding."""

LONGEST_STEP = 2.0
"""Longest step relative to the size of the unknowns."""

DIVERGENCE_FACTOR = 1e10
"""Factor by which an unknown may exceed its initial size, or the first step, before the search ends: equations such as
exp(x) = 0 hold to rounding far away without having a solution."""

STEP_ROUNDING = 1e-13
"""Steps and residuals below this, relative to the unknowns, are rounding."""

ROUNDED_RESIDUAL = 1e-15
"""A residual below this fraction of its terms cannot be improved: a few units in the last place."""

LEAST_RESIDUAL = 1e-11
"""Allowed residual relative to the gradient times the unknowns, for equations whose own terms are small: ten
times ``EXACT``."""

CENTRAL_DIFFERENCE = 6e-6
"""Step of central differences relative to the unknowns: the cube root of the rounding, where truncation and rounding
errors are equal."""

CURVATURE_DIFFERENCE = 1e-5
"""The same for the curvature, which determines only the length of steps."""

LEAST_SQUARES_TOLERANCE = 1e-15
"""Tolerance of the damped least squares: it continues until rounding stops it."""

RESOLVED_SLOPE = 1e-6
"""A step against a smaller slope shortens y by less than 1e-12 of it, which rounding may hide."""

ON_SOLUTION = 1e-10
"""Largest residual, relative to the unknowns, of a state on the solutions: ``retract`` reaches far less, except near a
singular position."""


class Root(NamedTuple):
    """A solution and the iterate before it.

    slow    whether convergence was only linear, as at a vanishing gradient
    """

    x: Floats
    before: Floats
    slow: bool


def root(equations: Equations, start: Floats, units: Any = None, *, most_stalled: int = 20) -> Root | None:
    """Find a solution by Gauss–Newton steps of bounded length from the start; return None if there is none.

    The steps are the shortest in the coordinates' ``units`` (n,). The search ends after ``most_stalled`` steps without
    progress. Towards a solution with a vanishing gradient each step halves the distance, which is slow but progress.
    """
    first = own_scale(start)
    units = np.ones_like(first) if units is None else units
    x = before = start
    lengths = [np.inf]
    miss, slope = equations(x)
    best, stalled, farthest = np.inf, 0, None
    for _ in range(MOST_ROOT_ITERATIONS):
        if not _computable(miss, slope):
            return None
        # at least the scale of the start: an unknown that passes through zero must not bound the step
        scale = np.maximum(first, own_scale(x))
        off = _off(miss, slope, x, scale)
        reach = np.maximum(scale, units)
        step = _step(miss, slope * reach) * reach / scale
        longest = np.abs(step).max(initial=0.0)
        if farthest is None:  # x = 1.5e11 needs a first step of that length; exp(x) = 0 and 1/x = 0 do not
            farthest = DIVERGENCE_FACTOR * np.maximum(first * np.maximum(1.0, units), np.abs(step * scale))
        if (off < ROUNDED_RESIDUAL or longest < STEP_ROUNDING) and _holds(miss, slope, x):
            break
        if np.abs(step * scale / own_scale(x)).max(initial=0.0) < STEP_ROUNDING:
            break  # a stationary point that is no solution
        # steps cut to the longest length approach a distant solution without a smaller residual
        travelling = np.linalg.norm(step) > LONGEST_STEP
        stalled = 0 if travelling or off < 0.95 * best else stalled + 1
        best = min(best, off)
        step = step / max(1.0, float(np.linalg.norm(step)) / LONGEST_STEP)
        if stalled > most_stalled or (np.abs(x) > farthest).any():
            break
        before, (x, miss, slope) = x, _next(equations, x, scale * step)
        lengths.append(float(np.linalg.norm(step)))
    return Root(x, before, _slow(lengths)) if _computable(miss, slope) and _holds(miss, slope, x) else None


def _slow(lengths: list[float]) -> bool:
    """Return whether convergence was linear: in two of the last three steps, since rounding may spoil one of them."""
    ratios = [after / before for before, after in pairwise(lengths[-4:])]
    return sum(ratio > 0.1 for ratio in ratios) >= 2


def _computable(miss: Floats, slope: Floats) -> bool:
    return bool(computable(miss).all() and computable(slope).all())


def _step(miss: Floats, slope: Floats) -> Floats:
    """Return the shortest Gauss–Newton step."""
    length = _lengths(slope)
    step: Any = np.linalg.lstsq(slope / length[:, None], miss / length, rcond=SOLVED_RANK_TOLERANCE)[0]
    return step


def _lengths(slope: Floats) -> Floats:
    length = np.linalg.norm(slope, axis=1)
    return np.where(length > 0, length, 1.0)


def _off(miss: Floats, slope: Floats, x: Floats, scale: Floats) -> float:
    """Return the largest residual relative to its terms."""
    return float((np.abs(miss) / (own_size(miss, slope, x) + _lengths(slope * scale))).max(initial=0.0))


def _holds(miss: Floats, slope: Floats, x: Floats) -> bool:
    limit = EXACT * own_size(miss, slope, x) + LEAST_RESIDUAL * np.linalg.norm(slope * own_scale(x), axis=1)
    return bool((np.abs(miss) <= limit).all())


def _next(equations: Equations, x: Floats, step: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the next iterate with its equations; the step is halved if it leaves their domain."""
    miss, slope = equations(x - step)
    for _ in range(8):
        if _computable(miss, slope):
            break
        step = step / 2
        miss, slope = equations(x - step)
    return x - step, miss, slope


def by_differences(residual: Callable[[Floats], Floats]) -> Equations:
    """Return residuals with their Jacobian by central differences."""

    def equations(x: Floats) -> tuple[Floats, Floats]:
        steps = np.diag(CENTRAL_DIFFERENCE * own_scale(x))
        slopes = [(residual(x + h) - residual(x - h)) / (2 * h.max()) for h in steps]
        return residual(x), np.stack(slopes, axis=1)

    return equations


def retract(equations: Equations, x: Floats) -> Floats:
    """Return to the solutions from nearby, by the shortest Gauss–Newton steps as long as they reduce the residual."""
    f, J = equations(x)
    for _ in range(20):
        if not _computable(f, J):
            break
        new, f_new, J_new = _next(equations, x, np.linalg.pinv(J, rcond=SOLVED_RANK_TOLERANCE) @ f)
        if not (_computable(f_new, J_new) and np.linalg.norm(f_new) < np.linalg.norm(f)):
            break
        x, f, J = new, f_new, J_new
    return x


def nearest_root(equations: Equations, x0: Floats, steps: Floats) -> Floats:
    """Return the solution x0 + steps·y with the shortest y, or the best approximation that was found.

    Any nearby solution is found first. Newton's method then minimises |y| along the solutions, with the curvature of
    the equations, and each of its steps is retracted onto them.
    """
    miss, slope_at_start = equations(x0)
    scale = np.maximum(np.linalg.norm(slope_at_start @ steps, axis=1), LEAST_SCALE)
    size = _distance(
        miss / scale, slope_at_start @ steps / scale[:, None], np.asarray(np.linalg.solve(steps, x0), float)
    )
    steps = size * steps

    def at(y: Floats) -> tuple[Floats, Floats]:
        f, J = equations(x0 + steps @ y)
        with np.errstate(invalid="ignore"):  # an infinite slope times zero, which callers check for
            return f / (size * scale), J @ steps / (size * scale)[:, None]

    y, before = _some_root(at, np.zeros(steps.shape[1])), np.inf
    for _ in range(100):
        f, J = at(y)
        if not _computable(f, J):
            break
        tangent, J_plus = null_space(J, SOLVED_RANK_TOLERANCE).T, np.linalg.pinv(J, rcond=SOLVED_RANK_TOLERANCE)
        slope = tangent.T @ y
        relative = float(np.linalg.norm(slope) / (1 + np.linalg.norm(y)))
        if relative <= STEP_ROUNDING:
            break
        hessian = np.eye(len(slope)) - _curvature(at, y, J_plus.T @ y, tangent)
        values, vectors = np.linalg.eigh(hessian)
        # away from the minimum the Hessian may be indefinite: absolute values make the step a descent direction
        step = -tangent @ (vectors @ ((vectors.T @ slope) / np.maximum(np.abs(values), LEAST_CURVATURE)))
        # the last steps shorten y by less than its rounding, but still reduce the slope
        found = _shorter(at, y, step) if relative > RESOLVED_SLOPE else _flatter(at, y, step, relative, before)
        if found is None:
            break
        y, before = found, relative
    return x0 + steps @ y


def solves(equations: Equations, x: Floats, steps: Floats) -> Any:
    """Return a mask (k,) of the residuals that the shortest step to zero changes as their gradients say.

    At the border of a domain, as of asin(x) at 1, a gradient grows without bound: every residual is then small beside
    it, although no solution need be near.
    """
    f, J = equations(x)
    if not _computable(f, J):
        return np.isfinite(f) & np.isfinite(J).all(axis=1)
    step = steps @ np.linalg.pinv(J @ steps, rcond=SOLVED_RANK_TOLERANCE) @ f
    unexplained = np.abs(equations(x - step)[0] - (f - J @ step))
    rounding = ROUNDING * (own_size(f, J, x) + np.abs(J).sum(axis=1))
    # not greater would be true of NaN, outside of the domain
    return unexplained <= np.abs(f) / 2 + rounding


def _distance(miss: Floats, slope: Floats, start: Floats) -> float:
    """Return a distance in which that of the solutions is of the order of one, for numbers that are all small."""
    shortest = np.linalg.norm(np.linalg.pinv(slope, rcond=SOLVED_RANK_TOLERANCE) @ miss)
    # of a start that nearly is a solution only rounding is left to find
    found = max(float(shortest), LEAST_FOUND_DISTANCE * float(np.linalg.norm(start)))
    return min(found, 1.0) if found > 0 and np.isfinite(found) else 1.0


LEAST_FOUND_DISTANCE = 1e-3
"""Least distance of a solution from the start, relative to it, that is found to ``STEP_ROUNDING`` despite rounding."""

LEAST_SCALE = 1e-12
"""Rows of the Jacobian shorter than this are not scaled up: they are rounding."""

LEAST_CURVATURE = 1e-3
"""Least curvature for Newton steps along the solutions, which limits their length."""


def _some_root(at: Equations, y: Floats) -> Floats:
    """Return any solution near y, or the nearest approximation."""
    near = retract(at, y)
    if np.linalg.norm(at(near)[0]) <= STEP_ROUNDING * (1 + np.linalg.norm(near)):
        return near
    import scipy.optimize  # imported here: it is slow to import, and needed only for distant starts

    def miss(y: Floats) -> Floats:
        f, J = at(y)
        # steps to residuals of NaN are shortened, and those to an infinite slope, as of √x at zero, must be as well
        return f if _computable(f, J) else np.full_like(f, np.nan)

    if np.isnan(miss(y)).any():
        return y
    # damped least squares converges from distant starts and past singular points
    least_squares: Any = scipy.optimize.least_squares  # its stubs take only strings for the Jacobian
    options = dict.fromkeys(("xtol", "ftol", "gtol"), LEAST_SQUARES_TOLERANCE)
    found = least_squares(miss, y, lambda y: at(y)[1], max_nfev=500, **options)
    return retract(at, found.x)


def _curvature(at: Equations, y: Floats, weights: Floats, tangent: Floats) -> Floats:
    """Return the Hessian of the residuals' weighted sum along tangent directions.

    Differences are accurate enough: they determine only the length of the steps towards the nearest point.
    """
    h = CURVATURE_DIFFERENCE * (1 + np.linalg.norm(y))
    differences = [weights @ (at(y + h * d)[1] - at(y - h * d)[1]) / (2 * h) for d in tangent.T]
    hessian = np.array(differences) @ tangent
    # next to the border of the equations' domain there are no differences
    return (hessian + hessian.T) / 2 if np.isfinite(hessian).all() else np.zeros_like(hessian)


def _shorter(at: Equations, y: Floats, step: Floats) -> Floats | None:
    """Return a solution along a step with a shorter y, or None if rounding prevents it."""
    for _ in range(40):
        new = retract(at, y + step)
        if _on_solutions(at, new) and new @ new < y @ y:
            return new
        step = step / 2
    return None


def _flatter(at: Equations, y: Floats, step: Floats, slope: float, before: float) -> Floats | None:
    """Return the solution after a step, as long as steps reduce the slope; None if there is none."""
    if slope > before / 2:
        return None
    new = retract(at, y + step)
    return new if _on_solutions(at, new) else None


def _on_solutions(at: Equations, y: Floats) -> bool:
    return bool(np.linalg.norm(at(y)[0]) <= ON_SOLUTION * (1 + np.linalg.norm(y)))
