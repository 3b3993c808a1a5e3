# SPDX-License-Identifier: BSD-3-Clause
"""The lengths of time over which functions of time change, as bounds for the steps of implicit methods.

The steps of an explicit method are about as short as the shortest period of the system, whatever its forces. Those of
an implicit method at rest may be many periods long, and its error estimate leaves out a part of what the method damps:
it accepts a step at whose end a force begins to act, with an error of many tolerances. That is right if the force acts
slowly for the system, so that the state follows it. The estimate cannot tell, because it knows the force at the stages
only. If steps are about as short as the time in which the forces change, the state either follows, or little is damped.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats

LEAST_CELLS = 4
"""Intervals between samples to which the shortest bound is equal."""

EVENNESS_RATIO = 0.5
"""Largest ratio of the deviations from parabolas in half a block and in the whole one, of a function that changes
evenly there. It is 1/8 if the third derivative is constant, 1/2 at a kink in the middle, and one for a short pulse."""

ROUNDING_DIFFERENCES = 6
"""The order of the differences of neighbouring samples that show rounding only, if the samples resolve a function."""

DIFFERENCE_OF_ROUNDING = 30.4
"""The standard deviation of such differences of independent numbers, relative to theirs: the root of Σ C(6, k)²."""

ROUNDING_FACTOR = 8.0
"""Deviations from parabolas up to this multiple of the rounding are none."""

FEW_CELLS, MOST_BOUNDS = 64, 64
"""Intervals over which a bound at least extends, and the largest number of different bounds in sequence."""


def step_bounds(values: Floats) -> list[tuple[int, int, int]]:
    """Return (first, last, longest): from one sample to another, a step must not exceed ``longest`` intervals.

    ``values`` (K + 1, f) are those of f functions at equal intervals, scaled to ranges of one and without their jumps;
    K is a power of two. Where the functions are constant, linear or quadratic in time there are no bounds.
    """
    count = len(values) - 1
    longest = _longest(values)
    if not values.shape[1] or longest.min() >= count:
        return []
    width = FEW_CELLS
    while True:
        least = longest.reshape(-1, width).min(axis=1)
        starts = np.flatnonzero(np.diff(least, prepend=-1))
        if len(starts) <= MOST_BOUNDS:
            break
        width *= 2
    ends = [*(starts[1:] * width).tolist(), count]
    found = zip((starts * width).tolist(), ends, least[starts].tolist(), strict=True)
    return [(first, last, bound) for first, last, bound in found if bound < count]


def _longest(values: Floats) -> NDArray[np.int64]:
    """Return for every interval between samples the length of the largest block around it with even change."""
    count = len(values) - 1
    longest = np.full(count, LEAST_CELLS)
    noise = _rounding(values)
    size, halves = LEAST_CELLS, _deviations(values, LEAST_CELLS)
    is_even = np.ones(len(halves), bool)
    while size < count:
        size *= 2
        whole = _deviations(values, size)
        is_quiet = whole <= noise
        pairs = halves.reshape(len(whole), 2, -1).max(axis=1)
        # an even block has even halves: a large slow change must not hide a small fast one
        is_even = is_even.reshape(-1, 2).all(axis=1) & (is_quiet | (pairs <= EVENNESS_RATIO * whole)).all(axis=1)
        bound = np.where(is_quiet.all(axis=1), count, size)
        longest = np.where(is_even[:, None], bound[:, None], longest.reshape(-1, size)).ravel()
        halves = whole
    return longest


def _deviations(values: Floats, size: int) -> Floats:
    """Return the largest distances (K / size, f) of functions from the parabolas through both ends and the middle."""
    inner = values[:-1].reshape(-1, size, values.shape[1])
    first, middle, last = values[:-1:size, None], values[size // 2 :: size, None], values[size::size, None]
    s = (np.arange(size) / size)[None, :, None]
    # Lagrange's form of the parabola through s = 0, 1/2 and 1
    parabola = first * (1 - s) * (1 - 2 * s) + middle * (4 * s * (1 - s)) + last * (s * (2 * s - 1))
    return np.abs(inner - parabola).max(axis=1)


def _rounding(values: Floats) -> Floats:
    """Return the deviations (f,) that the rounding of the functions explains."""
    size = np.abs(values).max(axis=0)
    differences = np.abs(np.diff(values, n=ROUNDING_DIFFERENCES, axis=0))
    # the median: a function that is not resolved everywhere has no rounding to be read off
    return ROUNDING_FACTOR * (2 * np.spacing(size) + np.median(differences, axis=0) / DIFFERENCE_OF_ROUNDING)
