# SPDX-License-Identifier: BSD-3-Clause
"""Jumps and onsets of functions of time, found from samples; nothing here knows of a system.

Exactly at a jump, a function may have a value that it has on neither side, as ``Heaviside(0)`` = 1/2. No motion has the
state that belongs to it, so that such times are replaced by ones just before or after them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dalembert.common.array_types import Floats

LEAST_JUMP = 1e-4
"""Least change between neighbouring samples, relative to the range of the function, that may be a jump."""

LEAST_STEEPNESS = 8.0
"""Least ratio of such a change to the smaller one of its neighbours."""

REMAINING_FRACTION = 1e-2
"""The fraction of the change that must remain between two adjacent floating-point numbers for it to be a jump."""

LEAST_TIME = 1e-290
"""The first time after a jump at zero: JAX flushes smaller numbers to zero."""

JUMP_WIDTHS = (1, 4, 16, 64, 256)
"""Distances from a jump, in units in the last place of time, at which the values of its two sides are looked for:
rounding in the argument of a function may hold its value at the jump for several numbers."""

LEAST_ISOLATED_CHANGE = 1e-6
"""Change over such a distance, relative to the values, that a continuous function does not show."""

LEAST_CHANGE = 1e-270
"""Change that is not one of a jump: that of a continuous function, which is zero at time zero, over ``LEAST_TIME``."""

LINEAR_ROUNDING = 1e-8
"""Largest second difference, relative to the range, of a function that is constant or linear in time."""

STRAIGHT_FRACTION = 1e-4
"""Largest second difference of such a function relative to that of the whole function, if this is less."""

STRAIGHT_CELLS = 8
"""Intervals for which a function must have been constant or linear for its onset to be an event."""

MOST_EVENTS = 1000
"""Events beyond which the functions change everywhere, so that the error estimate sees them without help."""


def settled(functions: Callable[[Floats], Floats], t: Floats, side: int) -> Floats:
    """Return times (k,), moved to a side (−1 or 1) where a function has a value that differs from those beside it."""
    unit = np.maximum(np.spacing(np.abs(t)), LEAST_TIME)
    here, found = np.nan_to_num(functions(t)), t.astype(float)
    for distance in JUMP_WIDTHS:
        given = [functions(t + sign * distance * unit) for sign in (-1, 1)]
        defined = np.isfinite(given).all(axis=0)  # where a function ends, there is no other side
        sides = [np.nan_to_num(value) for value in given]
        least = LEAST_ISOLATED_CHANGE * np.maximum(np.abs(here), np.maximum(*map(np.abs, sides))) + LEAST_CHANGE
        isolated = (defined & np.all([np.abs(value - here) > least for value in sides], axis=0)).any(axis=1)
        found = np.where(isolated & (found == t), t + side * distance * unit, found)
    return found


def without_jumps(
    functions: Callable[[Floats], Floats], t: Floats, values: Floats, jumps: list[tuple[float, float]]
) -> Floats:
    """Return the values at samples, less all jumps before them."""
    if not jumps:
        return values
    before, after = np.array(jumps).T
    change = np.nan_to_num(functions(after)) - np.nan_to_num(functions(before))
    total = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(change, axis=0)])
    return values - total[np.searchsorted(after, t, side="right")]


def located_jumps(
    functions: Callable[[Floats], Floats], t: Floats, values: Floats, decisions: int
) -> list[tuple[float, float]]:
    """Return pairs of neighbouring times between which a function jumps, in order.

    They are adjacent floating-point numbers or, if the function has a value of neither side in between, enclose it.
    """
    change = np.abs(np.diff(values, axis=0, prepend=values[:1], append=values[-1:]))
    beside = np.minimum(change[:-2], change[2:])
    steep = change[1:-1] > np.maximum(LEAST_JUMP, LEAST_STEEPNESS * beside)
    values_only = steep[:, : values.shape[1] - decisions]
    if values_only.sum() > MOST_EVENTS:  # functions that oscillate from sample to sample seem to jump everywhere
        values_only[:] = False
    cells, columns = np.nonzero(steep)
    if not len(cells):
        return []
    each = np.arange(len(cells))
    left, right = t[cells], t[cells + 1]
    low, high = values[cells, columns], values[cells + 1, columns]
    # bisection of all intervals at once, always towards the larger change
    while True:
        middle = left + (right - left) / 2
        inside = (middle > left) & (middle < right)
        if not inside.any():
            break
        found = np.nan_to_num(functions(middle))[each, columns]
        later = np.abs(high - found) > np.abs(found - low)
        left, low = np.where(inside & later, middle, left), np.where(inside & later, found, low)
        right, high = np.where(inside & ~later, middle, right), np.where(inside & ~later, found, high)
    right = np.where((left == 0) & (right < LEAST_TIME), LEAST_TIME, right)
    sudden = np.abs(high - low) > REMAINING_FRACTION * change[cells + 1, columns]
    before, after = settled(functions, left[sudden], -1), settled(functions, right[sudden], 1)
    return sorted({(float(a), float(b)) for a, b in zip(before, after, strict=True)})


def onsets_of(t: Floats, values: Floats) -> list[float]:
    """Return the times at which a function begins to change after having been constant or linear."""
    second = np.abs(np.diff(values, n=2, axis=0))
    # samples of a slowly varying function bend little everywhere: its inflections are not straight intervals
    rounding = 16 * np.spacing(np.abs(values).max(axis=0))
    curved = second > np.minimum(LINEAR_ROUNDING, STRAIGHT_FRACTION * second.max(axis=0)) + rounding
    times: set[float] = set()
    for column in curved.T:
        places = np.flatnonzero(column)
        gaps = np.diff(places, prepend=-1)
        times |= {float(t[k]) for k in places[gaps > STRAIGHT_CELLS]}
    return sorted(times) if len(times) <= MOST_EVENTS else []


def merged_jumps(jumps: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return pairs of times without overlap: rounding may locate one jump of several functions at several pairs."""
    found: list[tuple[float, float]] = []
    for before, after in sorted(jumps):
        if found and before < found[-1][1]:
            found[-1] = found[-1][0], max(after, found[-1][1])
        else:
            found.append((before, after))
    return found
