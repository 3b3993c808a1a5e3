# SPDX-License-Identifier: BSD-3-Clause
"""Events of a run of a large system: zeros of functions of the state, looked for in each step and located by shorter
steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.integration.run_events import RunEvent, run_event
from dalembert.integration.sparse_steps import SparseStep, SparseSteps

SAMPLES = 16
"""Parts of a step at whose ends the signs of event functions are compared: a step follows the motion, of which a
function may oscillate faster."""

LOCATED = 4 * float(np.finfo(float).eps)
"""Accuracy of the time of an event, relative to the time and to the length of the step."""


@dataclass(frozen=True, eq=False)
class EventFunctions:
    """The events of a run.

    columns       the coordinates that occur in them
    values        (k,) times, (k, c) coordinates and (k, c) velocities to values (k, e)
    directions    1, −1 or 0 for zeros at which values increase, decrease, or both
    stops         whether the motion ends there
    """

    names: Sequence[str]
    columns: NDArray[np.int64]
    values: Callable[[Floats, Floats, Floats], Floats]
    directions: Sequence[int]
    stops: Sequence[bool]


class EventWatch:
    """Follows the events of a run from step to step."""

    def __init__(self, steps: SparseSteps, events: EventFunctions):
        self._steps, self._events = steps, events
        self._signs: Floats = np.zeros(len(events.names))
        """The last sign of each function, zeros left out: a function that is zero at the start has no event there."""

    def after(self, step: SparseStep) -> tuple[list[RunEvent], bool]:
        """Return the events within the last step in order of time, and whether the last of them ends the motion."""
        times, values = self._sampled(step)
        found: list[tuple[int, RunEvent]] = []
        for number, own in enumerate(values.T):
            for a, b in self._changes(number, times, own):
                event = self._located(number, step, a, b)
                found += [] if event is None else [(number, event)]
        found.sort(key=lambda pair: pair[1].t)
        ends = [place for place, (number, _) in enumerate(found) if self._events.stops[number]]
        return [event for _, event in (found[: ends[0] + 1] if ends else found)], bool(ends)

    def _sampled(self, step: SparseStep) -> tuple[Floats, Floats]:
        """Return times within a step, and the values of all functions there on the cubic through both of its ends."""
        n, columns, h = self._steps.code.n, self._events.columns, step.t - step.before
        q0, v0, q1, v1 = (y[k + columns] for y in (step.start, step.state) for k in (0, n))
        s = np.linspace(0, 1, SAMPLES + 1)[:, None]
        rise, early, late = s**2 * (3 - 2 * s), s * (1 - s) ** 2, -(s**2) * (1 - s)
        q = q0 + rise * (q1 - q0) + h * (early * v0 + late * v1)
        slopes = 6 * s * (1 - s), (1 - s) * (1 - 3 * s), s * (3 * s - 2)
        v = slopes[0] * (q1 - q0) / h + slopes[1] * v0 + slopes[2] * v1
        times = step.before + h * s[:, 0]
        times[-1] = step.t
        return times, self._events.values(times, q, v)

    def _changes(self, number: int, times: Floats, values: Floats) -> list[tuple[float, float]]:
        """Return the intervals in which a function changes its sign in the direction of its event."""
        found: list[tuple[float, float]] = []
        before, at = self._signs[number], float(times[0])
        for t, sign in zip(times.tolist(), np.sign(values), strict=True):
            if sign == 0 or not np.isfinite(sign):
                continue
            if before and sign != before and self._events.directions[number] in (0, sign):
                found.append((at, t))
            before, at = sign, t
        self._signs[number] = before
        return found

    def _located(self, number: int, step: SparseStep, a: float, b: float) -> RunEvent | None:
        """Return the event within an interval, None at a pole and where only the interpolation changes its sign."""
        from scipy.optimize import brentq

        def value(t: float) -> float:
            return self._value(number, step, t)

        first, last = value(a), value(b)
        if first * last > 0:
            # the motion may change its sign just beside a sample at which the interpolation has done so
            part = (step.t - step.before) / SAMPLES
            a, b = max(a - part, step.before), min(b + part, step.t)
            first, last = value(a), value(b)
        if not first * last <= 0:
            return None
        accuracy = LOCATED * max(abs(step.t), abs(step.before), step.t - step.before)
        rounding: Any = LOCATED
        root: Any = a if first == 0 else b if last == 0 else brentq(value, a, b, xtol=accuracy, rtol=rounding)
        if abs(value(root)) > max(abs(first), abs(last)):
            return None
        y = self._state(step, root)
        return run_event(root, self._events.names[number], "event", y, y)

    def _value(self, number: int, step: SparseStep, t: float) -> float:
        n, columns, y = self._steps.code.n, self._events.columns, self._state(step, t)
        return float(self._events.values(np.array([t]), y[None, columns], y[None, n + columns])[0, number])

    def _state(self, step: SparseStep, t: float) -> Floats:
        return step.start if t <= step.before else self._steps.between(step, t)
