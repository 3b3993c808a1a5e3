# SPDX-License-Identifier: BSD-3-Clause
"""The events of ensemble members: what happened to each of them, and when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.errors import InputError
from dalembert.integration.run_events import RunEvent
from dalembert.model.event import Event
from dalembert.model.ordering import quoted


@dataclass(frozen=True)
class EventTable:
    """The events of N members in the order of time; rows of members with fewer than K of them are filled up.

    count         (N,) the number of events of each member
    time          (N, K), NaN after the last one
    name, kind    (N, K), as in ``RunEvent``; empty after the last one
    end           (N,) the time at which the motion ends
    """

    count: Any
    time: Floats
    name: Any
    kind: Any
    end: Floats

    @classmethod
    def of(cls, events: Sequence[Sequence[tuple[float, str, str]]], end: Floats) -> EventTable:
        """Return the table of the events of each member: time, name and kind."""
        most = max(map(len, events), default=0)
        time, name, kind = (np.full((len(events), most), fill, object) for fill in (np.nan, "", ""))
        for k, own in enumerate(events):
            for i, entry in enumerate(own):
                time[k, i], name[k, i], kind[k, i] = entry
        count = np.array([len(own) for own in events], np.int64)
        return cls(count, time.astype(float), name.astype(str), kind.astype(str), end)

    @classmethod
    def joined(cls, parts: Sequence[EventTable]) -> EventTable:
        """Return the tables of several blocks as one."""
        most = max(part.time.shape[1] for part in parts)

        def filled(values: Any, fill: Any) -> Any:
            return np.pad(values, ((0, 0), (0, most - values.shape[1])), constant_values=fill)

        return cls(
            np.concatenate([part.count for part in parts]),
            np.concatenate([filled(part.time, np.nan) for part in parts]),
            np.concatenate([filled(part.name, "") for part in parts]),
            np.concatenate([filled(part.kind, "") for part in parts]),
            np.concatenate([part.end for part in parts]),
        )


@dataclass
class EventRecord:
    """Collects events of N members as they occur, for many of them at once."""

    members: int
    _parts: list[tuple[Any, Floats, str, str]] = field(default_factory=list[tuple[Any, Floats, str, str]])

    def add(self, numbers: Any, t: Floats, name: str, kind: str) -> None:
        """Add an event of some members at their times."""
        if len(numbers):
            self._parts.append((numbers, np.array(t, float), name, kind))

    def lists(self) -> list[list[tuple[float, str, str]]]:
        """Return the events of each member in the order of time."""
        found: list[list[tuple[float, str, str]]] = [[] for _ in range(self.members)]
        for numbers, times, name, kind in self._parts:
            for number, t in zip(numbers.tolist(), times.tolist(), strict=True):
                found[number].append((t, name, kind))
        return [sorted(own, key=lambda entry: entry[0]) for own in found]


def events_of_run(events: Sequence[RunEvent]) -> list[tuple[float, str, str]]:
    """Return the events of a single run as those of a member."""
    return [(event.t, event.name, event.kind) for event in events]


def refuse_stopping_events(events: Sequence[Event]) -> None:
    """Raise an error for events that stop members, whose outputs have no summary."""
    stopping = [str(event.name) for event in events if event.stop]
    if stopping:
        raise InputError(
            f'`keep="summary"` needs motions that last until the end; {quoted(stopping)} stops them earlier. Use '
            f'`keep="times"` or `keep="end"`.'
        )
