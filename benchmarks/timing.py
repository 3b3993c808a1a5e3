# SPDX-License-Identifier: BSD-3-Clause
"""Timing and tables."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any


def best(action: Callable[[], Any], repeats: int = 7) -> float:
    """The shortest of several times of an action, in seconds; the first call, which compiles, is not counted."""
    action()
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        action()
        times.append(time.perf_counter() - began)
    return min(times)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows)]
    return "\n".join(lines)


def short(x: float) -> str:
    """Two digits, or all of a large number."""
    return f"{x:.2g}" if x < 99.5 else f"{x:.0f}"
