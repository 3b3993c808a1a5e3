# SPDX-License-Identifier: BSD-3-Clause
"""A time limit for symbolic work that makes an answer more readable, but must not delay it.

Limits on the size of expressions come first, each at its own place; the time limit is for what sizes do not predict,
such as the factors of a polynomial. SymPy offers no way to stop it, so a second thread raises an exception in the
working one. This needs no signals and works in every thread and on every operating system. Python code is interrupted
between two of its instructions, as by Ctrl-C. SymPy's caches are written at once or not at all; the precision of
mpmath, which it changes globally, is restored here. Seconds are those of the processor, so that a busy machine gives
the same answers.
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

SECONDS = 2.0
"""For one piece of work."""
BUDGET = 6.0
"""For all such work in one call of `da.check`, `da.classify` or `da.reduce`."""
_AGAIN = 0.1
"""How soon an exception that had no effect is raised again: it may come during the removal of an object."""

_deadline: ContextVar[float] = ContextVar("deadline", default=float("inf"))


class GivenUpError(Exception):
    """Symbolic work was not done; the message says why, as the end of a sentence."""


class _TimeIsUp(BaseException):
    """Not an ``Exception``: SymPy catches those."""


_LATE: Any = object()


def bounded(compute: Callable[[], T], seconds: float | None = None) -> T:
    """The result of symbolic work, if it comes in time, by default ``SECONDS``, and without an error.

    Raises
    ------
    GivenUpError    if it does not
    """
    start, end = process_time(), _deadline.get()
    if start >= end:
        raise GivenUpError("the time for symbolic work is used up")
    deadline = min(start + (SECONDS if seconds is None else seconds), end)
    precision, collecting = mpmath.mp.prec, gc.isenabled()
    token = _deadline.set(deadline)
    gc.disable()  # an exception raised in a callback of the garbage collector is only printed
    try:
        found = _before(deadline, compute) if deadline > start else _LATE
    finally:
        if collecting:
            gc.enable()
        _deadline.reset(token)
        mpmath.mp.prec = precision
    if found is _LATE:
        raise GivenUpError(f"it would take longer than {deadline - start:.2g} s")
    if isinstance(found, Exception):
        raise GivenUpError(str(found) if isinstance(found, GivenUpError) else f"SymPy fails ({type(found).__name__})")
    return found


def _before(deadline: float, compute: Callable[[], Any]) -> Any:
    """What is computed before a deadline, or the exception that it ends with, or ``_LATE``.

    The exception for the deadline may come anywhere in the loop, even after the work: the loop then ends at last.
    """
    finished, target, frame = threading.Event(), threading.get_ident(), sys._getframe()
    watch = threading.Thread(target=_watch, args=(deadline, finished, target, frame), daemon=True)
    found: Any = None
    begun = False
    while True:
        try:
            if not begun:
                begun = True
                watch.start()
                try:
                    found = compute()
                except Exception as trouble:  # whatever SymPy fails with
                    found = trouble
            finished.set()
            watch.join()
            _raise_in(target, None)
            return found
        except _TimeIsUp:
            found = _LATE


@contextmanager
def budget(seconds: float | None = None) -> Generator[None]:
    """All bounded work within takes no longer than this, by default ``BUDGET``; what comes later is not begun."""
    token = _deadline.set(min(process_time() + (BUDGET if seconds is None else seconds), _deadline.get()))
    try:
        yield
    finally:
        _deadline.reset(token)


def short(most: int, *expressions: Any) -> None:
    """Raise ``GivenUpError`` if expressions have more than so many operations."""
    if graph.operations(*expressions) > most:
        raise GivenUpError(f"the expressions have more than {most} operations")


def _watch(deadline: float, finished: threading.Event, target: int, frame: Any) -> None:
    """Raise ``_TimeIsUp`` in a thread at a time, again and again as long as a frame is on its stack."""
    pause = 0.001
    while not finished.wait(max(deadline - process_time(), pause)):
        stack = list(_stack(target))
        if frame not in stack:
            return
        pause = _AGAIN
        # a module must not be left half imported
        if process_time() >= deadline and not any("importlib" in f.f_code.co_filename for f in stack):
            _raise_in(target, _TimeIsUp)


def _stack(thread: int) -> Generator[Any]:
    frame = sys._current_frames().get(thread)
    while frame is not None:
        yield frame
        frame = frame.f_back


def _raise_in(thread: int, exception: type[BaseException] | None) -> None:
    """Raise an exception in another thread; none takes back one that was not raised yet."""
    what = None if exception is None else ctypes.py_object(exception)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), what)
