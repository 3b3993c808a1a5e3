# SPDX-License-Identifier: BSD-3-Clause
"""Time limits for symbolic computations whose results are useful but not essential.

Callers first limit the size of their expressions; the time limit covers computations whose cost the size does not
predict, such as the factorization of a polynomial. SymPy cannot be interrupted from outside, so a second thread raises
an exception in the working thread. This needs no signals and works in every thread and on every operating system.
Python code is interrupted between two bytecode instructions, as by Ctrl-C. SymPy's caches are written atomically; the
precision of mpmath, which SymPy changes globally, is restored here. Limits are in CPU seconds, so that the results do
not depend on the load of the machine.
"""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from time import process_time
from typing import Any, TypeVar

import mpmath

from dalembert.model import graph

T = TypeVar("T")

DEFAULT_SECONDS = 2.0
"""CPU seconds allowed for one computation."""
BUDGET = 6.0
"""CPU seconds allowed for all such computations in one call of `da.check`, `da.classify` or `da.reduce`."""
_RETRY_INTERVAL = 0.1
"""Seconds after which an exception that had no effect is raised again: Python swallows exceptions in finalizers."""

_deadline: ContextVar[float] = ContextVar("deadline", default=float("inf"))


class SymbolicLimitError(Exception):
    """A symbolic computation was not completed; the message gives the reason, as the end of a sentence."""


class _DeadlineExceeded(BaseException):
    """Raised in the working thread at the deadline. It is not an ``Exception``, because SymPy catches those."""


_TIMED_OUT: Any = object()


def bounded(compute: Callable[[], T], seconds: float | None = None) -> T:
    """Return the result of ``compute``, which may take the given CPU seconds, by default ``DEFAULT_SECONDS``.

    Raises
    ------
    SymbolicLimitError    if the time limit is exceeded or the computation fails
    """
    start, end = process_time(), _deadline.get()
    if start >= end:
        raise SymbolicLimitError("the time for symbolic work is used up")
    deadline = min(start + (DEFAULT_SECONDS if seconds is None else seconds), end)
    precision, collecting = mpmath.mp.prec, gc.isenabled()
    token = _deadline.set(deadline)
    gc.disable()  # an exception raised in a callback of the garbage collector is only printed
    try:
        result = _run_until(deadline, compute) if deadline > start else _TIMED_OUT
    finally:
        if collecting:
            gc.enable()
        _deadline.reset(token)
        mpmath.mp.prec = precision
    if result is _TIMED_OUT:
        raise SymbolicLimitError(f"it would take longer than {deadline - start:.2g} s")
    if isinstance(result, SymbolicLimitError):
        raise SymbolicLimitError(str(result))
    if isinstance(result, Exception):
        raise SymbolicLimitError(f"SymPy fails ({type(result).__name__})")
    return result


def _run_until(deadline: float, compute: Callable[[], Any]) -> Any:
    """Return the result of ``compute``, the exception that it raised, or ``_TIMED_OUT``.

    The deadline's exception may arrive anywhere in the loop, even after ``compute`` has returned. The loop then runs
    once more and returns. An exception that is still pending is awaited rather than cancelled: cancelling it leaves
    CPython 3.11 with a flag that it never resets, and a debugger, a profiler or a coverage tool then waits forever.
    """
    finished, target, frame = threading.Event(), threading.get_ident(), sys._getframe()
    watchdog = threading.Thread(target=_enforce_deadline, args=(deadline, finished, target, frame), daemon=True)
    result: Any = None
    started = False
    while True:
        try:
            if not started:
                started = True
                watchdog.start()
                try:
                    result = compute()
                except Exception as error:  # SymPy raises many kinds
                    result = error
            finished.set()
            watchdog.join()
            for _ in range(2):  # CPython delivers a pending exception at the end of a loop's body
                pass
            return result
        except _DeadlineExceeded:
            result = _TIMED_OUT


@contextmanager
def budget(seconds: float | None = None) -> Generator[None]:
    """Limit the total CPU time of all `bounded` calls in this context, by default to ``BUDGET`` seconds."""
    token = _deadline.set(min(process_time() + (BUDGET if seconds is None else seconds), _deadline.get()))
    try:
        yield
    finally:
        _deadline.reset(token)


def short(most: int, *expressions: Any) -> None:
    """Raise ``SymbolicLimitError`` if the expressions have more than ``most`` operations."""
    if graph.operations(*expressions) > most:
        raise SymbolicLimitError(f"the expressions have more than {most} operations")


def _enforce_deadline(deadline: float, finished: threading.Event, target: int, frame: Any) -> None:
    """Raise ``_DeadlineExceeded`` in a thread at the deadline, repeatedly while ``frame`` is on its stack."""
    pause = 0.001
    while not finished.wait(max(deadline - process_time(), pause)):
        stack = list(_stack(target))
        if frame not in stack:
            return
        pause = _RETRY_INTERVAL
        # an interrupted import would leave a partially initialized module in sys.modules
        if process_time() >= deadline and not any("importlib" in f.f_code.co_filename for f in stack):
            _raise_in(target, _DeadlineExceeded)


def _stack(thread: int) -> Generator[Any]:
    """Yield the frames of a thread, innermost first."""
    frame = sys._current_frames().get(thread)
    while frame is not None:
        yield frame
        frame = frame.f_back


def _raise_in(thread: int, exception: type[BaseException]) -> None:
    """Schedule an exception in another thread."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(exception))
