# SPDX-License-Identifier: BSD-3-Clause
"""A progress bar for long runs."""

from __future__ import annotations

import sys
import time
from importlib.util import find_spec
from types import TracebackType
from typing import Any

from dalembert.common.names import counted

SHOWN_AFTER = 2.0
"""Seconds before a bar appears."""


class Progress:
    """A progress bar on the terminal, which appears once a run has taken longer than ``SHOWN_AFTER``.

    If ``wanted`` is True it appears at once, as plain lines without a terminal; if it is False it never appears.
    """

    def __init__(self, start: float, end: float, wanted: bool | None, what: str = "t"):
        self.start, self.end, self.what = start, end, what
        self.wanted = wanted
        self.shown_after = 0.0 if wanted else SHOWN_AFTER
        self.began = time.perf_counter()
        self.bar: Any = None
        self.task: Any = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.bar is not None:
            self.bar.stop()

    def show(self, t: float, steps: int | None = None) -> None:
        """Report that time t was reached, after a number of steps if these are counted."""
        if self.wanted is False or time.perf_counter() - self.began < self.shown_after:
            return
        on_terminal = sys.stderr.isatty()  # asked only now: most runs are over before
        if self.wanted is None and not on_terminal:
            return
        # rich is an optional dependency, and a bar in a log file would be noise
        if not on_terminal or find_spec("rich") is None:
            sys.stderr.write(f"{self._text(t, steps)} of {self.end:.6g}\n")
            return
        if self.bar is None:
            self.bar, self.task = self._open()
        self.bar.update(self.task, completed=t - self.start, description=self._text(t, steps))

    def _text(self, t: float, steps: int | None) -> str:
        return f"{self.what} = {t:.6g}" + ("" if steps is None else f" ({counted(steps, 'step')})")

    def _open(self) -> tuple[Any, Any]:
        # imported here: most runs end before a bar appears
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
        bar = Bar(*columns, console=Console(stderr=True), transient=True)
        bar.start()
        return bar, bar.add_task("", total=self.end - self.start)
