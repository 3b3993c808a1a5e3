# SPDX-License-Identifier: BSD-3-Clause
"""CPU times of actions, for the measurements of large systems."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

LEAST_REPEATS, MOST_REPEATS, REPEATED = 3, 1000, 1.0
"""Least and largest number of repetitions of an action, and the seconds for which it is repeated."""


def in_cpu_time(action: Callable[[], Any]) -> tuple[float, Any]:
    """Return the CPU seconds that an action takes, and its result."""
    began = time.process_time()
    found = action()
    return time.process_time() - began, found


def best(action: Callable[[], Any]) -> float:
    """Return the shortest of several CPU times of an action, the first call not counted."""
    action()
    times: list[float] = []
    while len(times) < LEAST_REPEATS or (sum(times) < REPEATED and len(times) < MOST_REPEATS):
        times.append(in_cpu_time(action)[0])
    return min(times)
