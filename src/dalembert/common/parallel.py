# SPDX-License-Identifier: BSD-3-Clause
"""Work on large arrays in several threads; NumPy releases Python's lock while it copies."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

WORTH_DIVIDING = 2**17
"""Numbers above which an array is divided: for smaller ones threads take longer to start than to work."""


def in_parallel(function: Callable[[Any], None], array: Any, unit: int = 1) -> None:
    """Call a function on parts of an array, cut along its first axis at multiples of a unit."""
    workers = min(os.cpu_count() or 1, 16)
    if array.size < WORTH_DIVIDING or workers == 1:
        function(array)
        return
    length = -(-len(array) // (unit * workers)) * unit
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(function, [array[k : k + length] for k in range(0, len(array), length)]))
