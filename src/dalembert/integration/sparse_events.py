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
from dalembert.integration.sparse_steps import NoStepError, SparseStep, SparseSteps

SAMPLES_PER_STEP = 16
"""Parts of a step at whose ends the signs of event functions are compared: a step follows the motion, of which a
function may oscillate faster."""

LOCATED = 4 * float(np.finfo(float).eps)
"""Accuracy of the time of an event, relative to the time and to the length of the step."""

END_AT_ZERO = 1e-12
"""Time before a zero, relative to that of the run, at which the run counts as ending there: no step follows in which
the function could change its sign."""

TOUCHING_CHANGE = 1e-3
"""Change of a function over a part of a step at its last rate, relative to the actual change, below which the function
only touches zero."""


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

    def __init__(self, steps: SparseSteps, events: EventFunctions, begin: float, end: float):
        self._steps, self._events, self._begin, self._end = steps, events, begin, end
        self._signs: Floats = np.zeros(len(events.names))
        """The last sign of each function, zeros left out: a function that is zero at the start has no event there."""

    def after(self, step: SparseStep) -> tuple[list[RunEvent], RunEvent | None]:
        """Return the events within the last step in order of time, and the one that ends the motion, if any."""
        times, values = self._sampled(step)
        found: list[tuple[int, RunEvent]] = []
        for number, own in enumerate(values.T):
            for a, b in self._changes(number, times, own):
                event = self._located(number, step, a, b)
                found += [] if event is None else [(number, event)]
            if self._ends_at_zero(number, times, own):
                found.append((number, self._event(number, step, step.t)))
        found.sort(key=lambda pair: pair[1].t)
        stop = next((event for number, event in found if self._events.stops[number]), None)
        self._require_numbers(step, times, values, step.t if stop is None else stop.t)
        if stop is None:
            return [event for _, event in found], None
        # rounding decides which of several events at one instant is found first
        until = stop.t + self._accuracy(step)
        return [e._replace(t=min(e.t, stop.t)) for _, e in found if e.t <= until], stop

    def _require_numbers(self, step: SparseStep, times: Floats, values: Floats, end: float) -> None:
        """Raise an error if a function is not a number at a sample up to a time."""
        for sample, number in np.argwhere(np.isnan(values)):
            # off the motion, the interpolation may leave the domain of a function
            if times[sample] <= end and np.isnan(self._value(int(number), step, float(times[sample]))):
                raise self._undefined(int(number), float(times[sample]))

    def _undefined(self, number: int, t: float) -> NoStepError:
        return NoStepError(
            t,
            f"the expression of the event `{self._events.names[number]}` is not a number there. Look for a division by "
            f"zero, or a root or logarithm of a negative number",
        )

    def _ends_at_zero(self, number: int, times: Floats, values: Floats) -> bool:
        """Return whether the run ends where a function is about to pass through zero in the direction of its event."""
        sign, length = self._signs[number], times[-1] - times[-2]
        if times[-1] < self._end or not sign or self._events.directions[number] not in (0, -sign):
            return False
        # one-sided, of second order: no sample follows the last one
        rate = (3 * values[-1] - 4 * values[-2] + values[-3]) / (2 * length)
        passes = -sign * rate * length > TOUCHING_CHANGE * abs(values[-1] - values[-2])
        return bool(passes and abs(values[-1]) <= abs(rate) * END_AT_ZERO * (self._end - self._begin))

    def _sampled(self, step: SparseStep) -> tuple[Floats, Floats]:
        """Return times within a step, and the values of all functions there on the cubic through both of its ends."""
        n, columns, h = self._steps.code.n, self._events.columns, step.t - step.before
        q0, v0, q1, v1 = (y[k + columns] for y in (step.start, step.state) for k in (0, n))
        s = np.linspace(0, 1, SAMPLES_PER_STEP + 1)[:, None]
        # the cubic with positions and velocities of both ends, and its derivative
        rise, early, late = s**2 * (3 - 2 * s), s * (1 - s) ** 2, -(s**2) * (1 - s)
        q = q0 + rise * (q1 - q0) + h * (early * v0 + late * v1)
        slopes = 6 * s * (1 - s), (1 - s) * (1 - 3 * s), s * (3 * s - 2)
        v = slopes[0] * (q1 - q0) / h + slopes[1] * v0 + slopes[2] * v1
        times = step.before + h * s[:, 0]
        # exactly the end, which the sum may miss by rounding
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
            found = self._value(number, step, t)
            if np.isnan(found):
                raise self._undefined(number, t)
            return found

        first, last = value(a), value(b)
        if first * last > 0:
            # the motion may change its sign just beside a sample at which the interpolation has done so
            part = (step.t - step.before) / SAMPLES_PER_STEP
            a, b = max(a - part, step.before), min(b + part, step.t)
            first, last = value(a), value(b)
        if not first * last <= 0:
            return None
        rounding: Any = LOCATED
        located: Any = a if first == 0 else b if last == 0 else None
        if located is None:
            located = brentq(value, a, b, xtol=self._accuracy(step), rtol=rounding)
        # at a pole the function grows towards the located time
        return None if abs(value(located)) > max(abs(first), abs(last)) else self._event(number, step, located)

    def _accuracy(self, step: SparseStep) -> float:
        """Return the accuracy of the time of an event."""
        return LOCATED * max(abs(step.t), abs(step.before), step.t - step.before)

    def _event(self, number: int, step: SparseStep, t: float) -> RunEvent:
        y = self._state(step, t)
        return run_event(t, self._events.names[number], "event", y, y)

    def _value(self, number: int, step: SparseStep, t: float) -> float:
        n, columns, y = self._steps.code.n, self._events.columns, self._state(step, t)
        return float(self._events.values(np.array([t]), y[None, columns], y[None, n + columns])[0, number])

    def _state(self, step: SparseStep, t: float) -> Floats:
        return step.start if t <= step.before else self._steps.between(step, t)
