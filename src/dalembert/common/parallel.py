# SPDX-License-Identifier: BSD-3-Clause
"""Work on large arrays in several threads; NumPy releases Python's lock while it copies."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from typing import Any

WORTH_DIVIDING = 2**17
"""Numbers above which an array is divided: for smaller ones threads take longer to start than to work."""

WORKERS = min(os.cpu_count() or 1, 16)
"""Threads that work on an array."""


def in_parallel(function: Callable[[Any], None], array: Any, unit: int = 1) -> None:
    """Call a function on parts of an array, cut along its first axis at multiples of a unit."""
    if array.size < WORTH_DIVIDING or WORKERS == 1:
        function(array)
        return
    length = -(-len(array) // (unit * WORKERS)) * unit
    list(_threads().map(function, [array[k : k + length] for k in range(0, len(array), length)]))


def submit(function: Callable[..., Any], *arguments: Any) -> Future[Any]:
    """Begin a call in another thread."""
    return _threads().submit(function, *arguments)


@lru_cache
def _threads() -> ThreadPoolExecutor:
    """Return threads that wait for work: to start them takes longer than to copy some arrays."""
    return ThreadPoolExecutor(WORKERS, "dalembert")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_threads.cache_clear)  # a child process has none of these threads
