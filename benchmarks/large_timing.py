# SPDX-License-Identifier: BSD-3-Clause
"""CPU times of actions, for the measurements of large systems."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

BATCH, TURNS = 0.1, 5
"""CPU seconds of a batch of repetitions at least, since the clock of a process may tick every 4 ms; and batches."""


def in_cpu_time(action: Callable[[], Any]) -> tuple[float, Any]:
    """Return the CPU seconds that an action takes, and its result."""
    began = time.process_time()
    found = action()
    return time.process_time() - began, found


def best(action: Callable[[], Any], turns: int = TURNS) -> float:
    """Return the CPU time of an action: the shortest mean of several batches, the first call not counted."""
    return best_in_turns({"": action}, turns)[""]


def best_in_turns(actions: Mapping[str, Callable[[], Any]], turns: int = TURNS) -> dict[str, float]:
    """Return the CPU time of each action as ``best`` does, batches of all of them in turns."""
    counts = {name: _repetitions(action) for name, action in actions.items()}
    times = [{name: _mean(action, counts[name]) for name, action in actions.items()} for _ in range(turns)]
    return {name: min(turn[name] for turn in times) for name in actions}


def _repetitions(action: Callable[[], Any]) -> int:
    """Return how often an action must be repeated to take as long as a batch; it is called before."""
    action()
    count = 1
    while _mean(action, count) * count < BATCH:
        count *= 2
    return count


def _mean(action: Callable[[], Any], count: int) -> float:
    began = time.process_time()
    for _ in range(count):
        action()
    return (time.process_time() - began) / count
