# SPDX-License-Identifier: BSD-3-Clause
"""Intervals in which inputs of actuators are at their limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from dalembert.common.array_types import Floats

LIMIT_BISECTIONS = 50
"""Bisections between two steps: the end of an interval is located to the last digits of time."""

MOST_NAMED = 5
"""Intervals that a note names."""


class Saturation(NamedTuple):
    """The input of an actuator is at its limit from ``start`` to ``end``."""

    actuator: str
    start: float
    end: float


def saturations(actuators: Sequence[str], times: Floats, excess: Callable[[Floats], Floats]) -> list[Saturation]:
    """Return the intervals in which the excess (k, r) of inputs over their limits is positive, in order of time.

    ``excess`` is a function of times (k,), evaluated at the given ones; changes of its sign between two of these are
    located by bisection.
    """
    above = excess(times) > 0
    found: list[Saturation] = []
    for j in map(int, np.flatnonzero(above.any(axis=0))):
        # it may have been at its limit from the beginning
        start = float(times[0]) if above[0, j] else None
        for k in np.flatnonzero(above[1:, j] != above[:-1, j]):
            at = _crossing(excess, j, times[k], times[k + 1], bool(above[k, j]))
            if start is None:
                start = at
            else:
                found.append(Saturation(actuators[j], start, at))
                start = None
        if start is not None:
            found.append(Saturation(actuators[j], start, float(times[-1])))
    return sorted(found, key=lambda one: one.start)


def joined(found: Sequence[Saturation]) -> list[Saturation]:
    """Return the intervals in order of time, those of one actuator that touch joined."""
    whole: list[Saturation] = []
    for one in sorted(found):
        if whole and whole[-1].actuator == one.actuator and whole[-1].end >= one.start:
            whole[-1] = whole[-1]._replace(end=one.end)
        else:
            whole.append(one)
    return sorted(whole, key=lambda one: one.start)


def _crossing(excess: Callable[[Floats], Floats], j: int, early: float, late: float, above: bool) -> float:
    # bisection, since the excess has a kink where the input reaches its limit
    for _ in range(LIMIT_BISECTIONS):
        middle = (early + late) / 2
        if not early < middle < late:
            break
        if bool(excess(np.array([middle]))[0, j] > 0) == above:
            early = middle
        else:
            late = middle
    # the late end: there the input has changed over for certain
    return float(late)


def saturation_notes(found: Sequence[Saturation]) -> list[str]:
    """Return one sentence for each actuator that was at its limit."""
    notes: list[str] = []
    for name in dict.fromkeys(one.actuator for one in found):
        own = [f"{one.start:.6g} to {one.end:.6g}" for one in found if one.actuator == name]
        more = f" and {len(own) - MOST_NAMED} more times" if len(own) > MOST_NAMED else ""
        notes.append(
            f"The input of `{name}` was at its limit from t = {', '.join(own[:MOST_NAMED])}{more}: the requirement was "
            f"not met there."
        )
    return notes
