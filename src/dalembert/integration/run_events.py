# SPDX-License-Identifier: BSD-3-Clause
"""Events of a run: what happened, when, and the states before and after it."""

from __future__ import annotations

from typing import Any, NamedTuple


class RunEvent(NamedTuple):
    """Something that happened at time t, to a contact or an event of that name.

    kind             "sticks" or "slips" under friction; "impact", "closes", "opens", "rests" after infinitely many
                     impacts, or "releases" of a constraint; "on" or "off" of a switched one; "event" for a ``da.Event``
    before, after    coordinates and velocities (2n,) before and after it
    """

    t: float
    name: str
    kind: str
    before: tuple[float, ...] = ()
    after: tuple[float, ...] = ()

    @classmethod
    def from_values(cls, values: Any) -> RunEvent:
        """Return the event of values in its order, as a file holds them."""
        t, name, kind, *states = values
        return cls(t, name, kind, *(tuple(state) for state in states))


def run_event(t: float, name: str, kind: str, before: Any, after: Any) -> RunEvent:
    """Return an event, with states (2n,) from arrays."""
    return RunEvent(float(t), name, kind, *(tuple(float(value) for value in state) for state in (before, after)))
