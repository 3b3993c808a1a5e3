# SPDX-License-Identifier: BSD-3-Clause
"""Equations solved by the method of Gauss and Newton, each unknown measured by its own size."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from dalembert.analysis.numbers import computable, own_scale
from dalembert.model.values import Floats
from dalembert.violation import own_size

Equations = Callable[[Floats], tuple[Floats, Floats]]
"""Residuals (k,) and their slopes (k, n) at a place (n,)."""

RANK = 1e-8
MOST = 120
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


def root(equations: Equations, start: Floats, units: Floats | None = None, *, patience: int = 20) -> Root | None:
    """A solution near the start; None where the steps, of bounded length, do not lead to one.

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
    step: Any = np.linalg.lstsq(slope / length[:, None], miss / length, rcond=RANK)[0]
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
