# SPDX-License-Identifier: BSD-3-Clause
"""Jumps of the forces with the state along a motion, across which differences of states are no derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dalembert.common.array_types import Floats

ZERO_BISECTIONS = 60
"""Halvings of the interval in which a function passes zero."""

SIDE_DISTANCE = 1e-7
"""Distance from the zero, relative to the state, at which the forces of both sides are compared."""

FARTHER, JUMP_KEPT = 1e3, 0.5
"""The change of the rates at this multiple of the distance, of which this part remains at a jump."""

RATE_ROUNDING = 1e-9
"""Change of the rates, relative to them, that is no jump."""

MOST_PASSAGES = 200
"""Passages of one function that are looked at."""


class ForceJump(NamedTuple):
    """The time of a jump, and the function of the state that vanishes there."""

    t: float
    name: str


Functions = Callable[[Floats, Floats], Floats]
"""Values (k, s) of s functions at k states (k, 2n) and times (k,)."""


def first_jump(
    names: tuple[str, ...], functions: Functions, rate: Callable[[float, Floats], Floats], t: Floats, lines: Floats
) -> ForceJump | None:
    """Return the first jump of ẏ = rate(t, y) on lines between two states each (k, 2, 2n) at two times each (k, 2).

    The candidates are the zeros of the functions; time alone must not move them, since a jump in time is no obstacle.
    """
    if not names or not len(t):
        return None
    ends = np.stack([functions(lines[:, side], t[:, side]) for side in (0, 1)])
    for k, s in np.argwhere(ends[0] * ends[1] < 0)[:MOST_PASSAGES].tolist():
        at, y = _zero(lambda y, at, s=s: functions(y, at)[:, s], t[k], lines[k])
        if _jumps(lambda y, at, s=s: functions(y, at)[:, s], rate, at, y):
            return ForceJump(at, names[s])
    return None


def _zero(function: Callable[[Floats, Floats], Floats], t: Floats, line: Floats) -> tuple[float, Floats]:
    """Return the time and the state on a line at which a function changes its sign."""
    low, high = 0.0, 1.0
    sign = np.sign(function(line[:1], t[:1])[0])

    def at(share: float) -> tuple[Floats, Floats]:
        return line[:1] + share * (line[1:] - line[:1]), t[:1] + share * (t[1:] - t[:1])

    for _ in range(ZERO_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if np.sign(function(*at(middle))[0]) == sign else (low, middle)
    # the far end, at which the sign has changed
    y, times = at(high)
    return float(times[0]), y[0]


def _jumps(
    function: Callable[[Floats, Floats], Floats], rate: Callable[[float, Floats], Floats], t: float, y: Floats
) -> bool:
    """Return whether the rate jumps where a function of the state vanishes."""
    step = SIDE_DISTANCE * max(float(np.abs(y).max()), SIDE_DISTANCE)
    sides = np.stack([y + sign * step * np.eye(len(y)) for sign in (1, -1)])
    slope = (function(sides[0], np.full(len(y), t)) - function(sides[1], np.full(len(y), t))) / (2 * step)
    length = float(np.linalg.norm(slope))
    if length == 0:
        return False
    changes: list[float] = []
    before = after = np.zeros(1)
    for distance in (step, FARTHER * step):
        # along the gradient, by which both sides are nearest
        before, after = (rate(t, y + sign * distance * slope / length) for sign in (-1, 1))
        changes.append(float(np.abs(after - before).max()))
    # the change of a continuous rate is at least proportional to the distance
    rounding = RATE_ROUNDING * max(float(np.abs(before).max()), float(np.abs(after).max()))
    return changes[0] > max(JUMP_KEPT * changes[1], rounding)
