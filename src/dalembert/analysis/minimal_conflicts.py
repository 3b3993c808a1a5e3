# SPDX-License-Identifier: BSD-3-Clause
"""Minimal sets of equations that cannot be satisfied together."""

from __future__ import annotations

from collections.abc import Callable


def minimal_conflicts(count: int, feasible: Callable[[list[int]], bool]) -> list[tuple[int, ...]]:
    """Return minimal sets of equations that cannot be satisfied together, no two of them equal.

    ``feasible`` returns whether some of the ``count`` equations can be satisfied together. Each set is found by
    removing equations one by one as long as the rest is infeasible. Its last member is then removed, and the search
    continues.
    """
    left = list(range(count))
    found: list[tuple[int, ...]] = []
    while not feasible(left):
        core = list(left)
        for i in reversed(left):  # among equivalent sets, keep the equations stated first
            without = [k for k in core if k != i]
            if not feasible(without):
                core = without
        found.append(tuple(core))
        left = [k for k in left if k != core[-1]]
    return found
