# SPDX-License-Identifier: BSD-3-Clause
"""Room for the recursion of SymPy, which walks expressions by calling itself."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TypeVar

from dalembert.errors import ModelError

T = TypeVar("T")

STACK_BYTES = 1 << 29
"""Stack of the thread that works on deep expressions: reserved, and used only as far as the recursion goes."""

FRAMES = 100_000
"""Python calls within one another in that thread; each takes a few kilobytes of its stack at most."""

_ONE_AT_A_TIME = threading.RLock()  # the size of stacks and the limit of recursion belong to the whole process


def with_deep_stack(work: Callable[[], T], what: str) -> T:
    """Return ``work()``; where Python's stack is too small for it, begin again in a thread with a large one.

    ``work`` must be free of side effects that a second call would repeat. ``what`` says in the error what is nested too
    deeply even for that.
    """
    try:
        return work()
    except RecursionError:
        pass
    results: list[T] = []
    errors: list[BaseException] = []

    def attempt() -> None:
        try:
            results.append(work())
        except RecursionError:
            errors.append(ModelError([f"{what} must not be nested deeper than {FRAMES} calls can follow; it is."]))
        except BaseException as error:
            errors.append(error)

    _run(attempt)
    if errors:
        raise errors[0]
    return results[0]


def _run(attempt: Callable[[], None]) -> None:
    with _ONE_AT_A_TIME:
        limit, size = sys.getrecursionlimit(), threading.stack_size(STACK_BYTES)
        sys.setrecursionlimit(max(limit, FRAMES))
        try:
            thread = threading.Thread(target=attempt, daemon=True)
            thread.start()
            threading.stack_size(size)
            thread.join()
        finally:
            threading.stack_size(size)
            sys.setrecursionlimit(limit)
