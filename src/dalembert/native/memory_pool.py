# SPDX-License-Identifier: BSD-3-Clause
"""Blocks of memory that take long to allocate, kept for further use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from dalembert.errors import DeviceError


class MemoryBlock(Protocol):
    """A block of memory; two blocks are equal only if they are the same."""

    @property
    def size(self) -> int: ...  # bytes


B = TypeVar("B", bound=MemoryBlock)


class MemoryPool(Generic[B]):
    """Hands out blocks of at least a given size, and keeps those that are returned, up to a number of bytes in all.

    Blocks may be returned at any time and in any thread, for example when an array is deleted: there is no lock, which
    the interrupted thread might hold. Each operation on the list of free blocks is one that Python does not interrupt.
    """

    def __init__(self, allocate: Callable[[int], B], release: Callable[[B], None], limit: int):
        self._allocate, self._release, self.limit = allocate, release, limit
        self._free: list[B] = []

    def take(self, size: int) -> B:
        """Return a free block of this size, or up to twice as large, or a new one."""
        fitting = [block for block in tuple(self._free) if size <= block.size <= 2 * size]
        for block in sorted(fitting, key=lambda block: block.size):
            try:
                self._free.remove(block)
            except ValueError:  # another thread has taken it
                continue
            return block
        try:
            return self._allocate(size)
        except (DeviceError, MemoryError):
            # free blocks of other sizes may take the memory that is missing
            if not self._release_oldest():
                raise
        while self._release_oldest():
            pass
        return self._allocate(size)

    def give(self, block: B) -> None:
        """Return a block to the pool; the blocks that were returned first are released if there are too many."""
        self._free.append(block)
        while sum(block.size for block in tuple(self._free)) > self.limit and self._release_oldest():
            pass

    def _release_oldest(self) -> bool:
        """Release the free block that was returned first; return whether there was one."""
        try:
            oldest = self._free.pop(0)
        except IndexError:  # perhaps because other threads have taken all of them
            return False
        self._release(oldest)
        return True
