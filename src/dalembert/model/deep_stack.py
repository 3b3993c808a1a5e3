# SPDX-License-Identifier: BSD-3-Clause
"""A larger stack for SymPy, which traverses expressions recursively."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import TypeVar

from dalembert.errors import ModelError

T = TypeVar("T")

STACK_BYTES = 1 << 29
"""Stack size of the thread for deeply nested expressions; memory is used only as deep as the recursion goes."""

FRAMES = 100_000
"""Recursion limit in that thread; each Python call takes a few kilobytes of its stack at most."""

_ONE_AT_A_TIME = threading.RLock()  # stack size and recursion limit are settings of the whole process


def with_deep_stack(work: Callable[[], T], what: str) -> T:
    """Return ``work()``, repeated in a thread with a large stack if the default one is too small.

    ``work`` must be free of side effects that a second call would repeat. ``what`` names the nested object in the error
    message.
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
            errors.append(ModelError([f"{what} must not be nested deeper than {FRAMES} recursive calls; it is."]))
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
            thread = threading.Thread(target=copy_context().run, args=(attempt,), daemon=True)
            thread.start()
            threading.stack_size(size)
            thread.join()
        finally:
            threading.stack_size(size)
            sys.setrecursionlimit(limit)
