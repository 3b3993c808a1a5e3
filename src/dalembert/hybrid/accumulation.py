# SPDX-License-Identifier: BSD-3-Clause
"""Accumulation of impacts: infinitely many rebounds of a contact, ever shorter, that end in finite time."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

FLIGHTS = 3
"""Flights between impacts of one contact that must have become shorter before their accumulation is predicted."""

LARGEST_RATIO = 1 - 1e-6
"""Largest ratio of a flight to the one before it that leads to rest within a reasonable number of impacts."""


LEAST_IMPACTS = 200
"""Impacts before which a run is not judged by their rate."""

LATEST_IMPACTS = 50
"""The last impacts, by which their rate and the change of their speed are judged."""


class Rest(NamedTuple):
    """The time at which the impacts of a contact come to an end, and the speed of the motion that is not followed."""

    time: float
    speed: float


@dataclass
class ImpactHistory:
    """The times of the last impacts of each contact, and times and speeds of all impacts."""

    times: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    impacts: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])

    def is_endless(self, end: float, most: int) -> bool:
        """Return whether impacts follow one another too fast for a run to reach its end, and do not slow down.

        At the rate of the last impacts, there would be more than ``most`` of them.
        """
        if len(self.impacts) < LEAST_IMPACTS:
            return False
        latest = self.impacts[-LATEST_IMPACTS:]
        span, half = latest[-1][0] - latest[0][0], LATEST_IMPACTS // 2
        earlier, later = (max(speed for _, speed in part) for part in (latest[:half], latest[half:]))
        return 0 < span * most < (end - latest[-1][0]) * LATEST_IMPACTS and later >= earlier

    def record(self, name: str, t: float) -> None:
        self.times[name] = [*self.times.get(name, [])[-FLIGHTS:], t]

    def rest(self, name: str, speed: float, resolution: float, restitution: float, rounding: float) -> Rest | None:
        """Return when the impacts of a contact come to an end, if its rebounds are not followed any more.

        ``speed`` is that of the last impact; a flight of length T then has a height of about speed · T/4. The flights
        form a geometric series; None if they do not become shorter, or are still high enough to be followed. The next
        flight cannot be followed at all if it is lower than the rounding of the gap, as after a small restitution.
        """
        times = self.times.get(name, [])
        flights = [later - earlier for earlier, later in pairwise(times)]
        # without restitution there is no rebound, and nothing that is not followed
        if flights and 0 < restitution < LARGEST_RATIO and restitution**2 * speed * flights[-1] / 4 <= rounding:
            # the flights to come are T e, T e², …, whose sum is T e / (1 − e)
            return Rest(times[-1] + flights[-1] * restitution / (1 - restitution), restitution * speed)
        # a ratio of two flights may be accidental, as for a ball on a moving table
        if len(flights) < FLIGHTS or not all(a > b > 0 for a, b in pairwise(flights)):
            return None
        ratio = flights[-1] / flights[-2]
        if ratio > LARGEST_RATIO or speed * flights[-1] / 4 > resolution:
            return None
        return Rest(times[-1] + flights[-1] * ratio / (1 - ratio), speed)
