# SPDX-License-Identifier: BSD-3-Clause
"""Smallest sets of equations that cannot be met together."""

from __future__ import annotations

from collections.abc import Callable


def minimal_conflicts(count: int, feasible: Callable[[list[int]], bool]) -> list[tuple[int, ...]]:
    """Smallest sets of equations that cannot be met together, no two of them sharing all members.

    ``feasible`` tells whether some of ``count`` equations can be met together. Each set is found by leaving equations
    out one by one as long as the rest stays infeasible; its last member is then removed and the search goes on.
    """
    left = list(range(count))
    found: list[tuple[int, ...]] = []
    while not feasible(left):
        core = list(left)
        for i in reversed(left):  # of equal culprits the one stated first is named
            without = [k for k in core if k != i]
            if not feasible(without):
                core = without
        found.append(tuple(core))
        left = [k for k in left if k != core[-1]]
    return found
