# SPDX-License-Identifier: BSD-3-Clause
"""Changes of a file, found by looking at it again and again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

PAUSE = 0.3
"""Seconds between two looks at a file."""


def changes(path: Path, pause: float = PAUSE) -> Iterator[None]:
    """Yield once at first, and again whenever the file has changed; without end."""
    known: tuple[int, int] | None = None
    while True:
        seen = _state(path)
        if seen is not None and seen != known:
            known = seen
            yield
        else:
            time.sleep(pause)


def _state(path: Path) -> tuple[int, int] | None:
    """Return time of change and size; None while there is no file, as some editors replace it."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
