# SPDX-License-Identifier: BSD-3-Clause
"""Timing and tables."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple


class Cost(NamedTuple):
    """Seconds that something takes, seconds before it first runs, which compiles, and its achieved error."""

    seconds: float
    first: float
    error: float


LONG = 3.0
"""Seconds after which an action is not repeated any more."""

SHORT = 0.3
"""Seconds for which it is repeated at least: the shortest of few short times is often not the shortest there is."""


def best(action: Callable[[], Any], repeats: int = 7) -> float:
    """The shortest of several times of an action, in seconds; the first call, which compiles, is not counted.

    What takes seconds is repeated less often, what takes milliseconds more often.
    """
    action()
    times: list[float] = []
    while sum(times) < (LONG if len(times) < repeats else SHORT):
        times.append(timed(action)[0])
    return min(times)


def timed(action: Callable[[], Any]) -> tuple[float, Any]:
    """Return the time of an action in seconds, and its result."""
    began = time.perf_counter()
    found = action()
    return time.perf_counter() - began, found


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows)]
    return "\n".join(lines)


def short(x: float) -> str:
    """Two digits, or all of a large number."""
    return f"{x:.2g}" if x < 99.5 else f"{x:.0f}"
