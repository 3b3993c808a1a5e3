# SPDX-License-Identifier: BSD-3-Clause
"""The end of a motion at the instant at which a coefficient of a law becomes negative."""

from __future__ import annotations

from collections.abc import Callable
from math import nextafter
from typing import Any, NamedTuple

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.integration.method import StepBatch

StepsTo = Callable[[Floats, float, float], StepBatch | None]
"""A function of a state (2n,), its time and a later time that takes the steps between them."""


class Steps(NamedTuple):
    """Times (k,) and states (k, 2n) of steps."""

    t: Floats
    y: Floats


def up_to_negative(found: Any, times: Floats, states: Floats, steps_to: StepsTo) -> tuple[Steps, str]:
    """Return the steps up to the instant at which a coefficient becomes negative, and a sentence that names it.

    Parameters
    ----------
    found       a ``NegativeCoefficient`` of the states
    times       (T,) those of the states
    states      (T, 2n) of a motion
    """
    last = found.before
    if last < 0 or not found.value(times[last], states[last]) >= 0:  # up to rounding it has been negative from there on
        return Steps(times[: found.place + 1], states[: found.place + 1]), found.sentence
    t, y = float(times[last]), states[last]
    kept = Steps(times[: last + 1], states[: last + 1])

    def is_negative(end: float) -> bool:
        state = y
        # a coefficient of time and parameters alone needs no integration
        if found.of_state:
            reached = steps_to(y, t, end)
            # where steps fail there is no motion: the instant is before
            if reached is None or not reached.finished:
                return True
            state = reached.y[-1]
        return found.value(end, state) < 0

    instant = _last_before(is_negative, t, found.after)
    tail = steps_to(y, t, instant) if instant > t else None
    if tail is None or not tail.finished:
        return kept, found.becomes(instant)
    return Steps(np.append(kept.t, tail.t), np.vstack([kept.y, tail.y])), found.becomes(instant)


def _last_before(is_negative: Callable[[float], bool], low: float, high: float) -> float:
    """Return the last number before a change from false to true, by bisection to neighbouring numbers."""
    while nextafter(low, high) < high:
        middle = low + (high - low) / 2
        low, high = (low, middle) if is_negative(middle) else (middle, high)
    return low
