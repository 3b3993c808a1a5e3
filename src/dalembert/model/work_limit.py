# SPDX-License-Identifier: BSD-3-Clause
"""A limit on the work of deriving equations, for models that are read from files.

The work is counted in visits of distinct subexpressions; derivatives count as several.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

MATRIX_ENTRY = 5
"""Work of an entry of a matrix other than zero, in visits of subexpressions."""

PRODUCT_WORK, FACTOR_WORK, FUNCTION_WORK = 3, 2, 45
"""Work of the derivative of a product, of each factor in one of its terms, and of the derivative of a power."""


class WorkLimitReached(Exception):  # noqa: N818 (not an error by itself: the reader of a file makes one of it)
    """The work of a block under ``limited_work`` has exceeded its limit."""


_left: ContextVar[list[int] | None] = ContextVar("work left", default=None)


@contextmanager
def limited_work(most: int) -> Generator[None]:
    """Raise ``WorkLimitReached`` in the block as soon as its work exceeds a limit."""
    before = _left.set([most])
    try:
        yield
    finally:
        _left.reset(before)


def count_work(work: int) -> None:
    """Count work that is done, or about to be done, where there is a limit."""
    left = _left.get()
    if left is not None:
        left[0] -= work
        if left[0] < 0:
            raise WorkLimitReached
