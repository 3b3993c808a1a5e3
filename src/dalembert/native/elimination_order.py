# SPDX-License-Identifier: BSD-3-Clause
"""A minimum-degree order of elimination for a large sparse symmetric matrix.

The algorithm is that of Amestoy, Davis and Duff, An approximate minimum degree ordering algorithm, 1996: eliminated
unknowns become elements of a quotient graph, whose sizes bound the degrees, and unknowns with the same neighbours are
merged. SciPy offers the older multiple minimum degree of SuperLU; for nets its factors take two to four times as many
operations.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray


def minimum_degree(m: int, rows: Any, others: Any) -> NDArray[np.int64]:
    """Return the order (m,) in which to eliminate unknowns, from the places of the entries of a symmetric matrix."""
    from scipy.sparse import coo_array

    off = rows != others
    graph: Any = coo_array((np.ones(int(off.sum()), np.int8), (rows[off], others[off])), shape=(m, m)).tocsr()
    starts, ends = graph.indptr.tolist(), graph.indices.tolist()
    return np.array(QuotientGraph([set(ends[i:j]) for i, j in pairwise(starts)]).order(), np.int64)


def postorder(parents: list[int]) -> list[int]:
    """Return the nodes of a forest, each one after its children: neighbours in the tree are then neighbours in memory.

    A node without a parent has −1; the parents of a node have larger numbers.
    """
    children: list[list[int]] = [[] for _ in parents]
    roots: list[int] = []
    for i, parent in enumerate(parents):
        (roots if parent < 0 else children[parent]).append(i)
    found: list[int] = []
    waiting = roots
    while waiting:  # from the roots downwards, and reversed at the end
        node = waiting.pop()
        found.append(node)
        waiting += children[node]
    return found[::-1]


class QuotientGraph:
    """The unknowns that are not eliminated yet, and the elements that eliminated ones have left.

    neighbours    for each unknown the others that it shares an entry with, and no element
    elements      for each unknown the elements that it belongs to
    unknowns      for each element its unknowns; ``sizes`` are their number
    weights       the number of unknowns that each one stands for; zero once it is eliminated or merged
    """

    def __init__(self, neighbours: list[set[int]]):
        m = len(neighbours)
        self.neighbours = neighbours
        self.elements: list[set[int]] = [set() for _ in range(m)]
        self.unknowns: dict[int, set[int]] = {}
        self.sizes: dict[int, int] = {}
        self.weights = [1] * m
        self.members: list[list[int]] = [[i] for i in range(m)]
        self.degrees = [len(own) for own in neighbours]
        self.left = m

    def order(self) -> list[int]:
        """Eliminate all unknowns, one of least degree after the other, and return their order."""
        # among equal degrees the one that has waited longest: otherwise a net is eliminated from one end to the other
        queue = [(degree, i, i) for i, degree in enumerate(self.degrees)]
        heapify(queue)
        found: list[int] = []
        turn = len(queue)
        while queue:
            degree, _, p = heappop(queue)
            if not self.weights[p] or degree != self.degrees[p]:
                continue  # outdated
            found += self.members[p]
            around = self._eliminate(p)
            if self.sizes[p] == self.left:  # all others are coupled: any order is as good
                return [*found, *(member for i in around for member in self.members[i])]
            for i in around:
                heappush(queue, (self.degrees[i], turn, i))
                turn += 1
        return found

    def _eliminate(self, p: int) -> set[int]:
        """Turn an unknown into an element; return its unknowns, with new degrees."""
        weights, absorbed = self.weights, self.elements[p]
        around = set(self.neighbours[p])
        for e in absorbed:
            around |= self.unknowns.pop(e)
            del self.sizes[e]
        around = {i for i in around if weights[i] and i != p}
        self.left -= weights[p]
        weights[p] = 0
        self.neighbours[p] = set()
        self.unknowns[p], self.sizes[p] = around, sum(weights[i] for i in around)
        outside = self._sizes_outside(around, absorbed)
        for i in around:
            self._update(i, p, around, outside)
        merged = self._merge(around)
        around -= merged
        return around

    def _sizes_outside(self, around: Iterable[int], absorbed: set[int]) -> dict[int, int]:
        """Return, for each element that touches the new one, the number of its unknowns outside the new one."""
        outside: dict[int, int] = {}
        for i in around:
            own = self.elements[i]
            own -= absorbed
            for e in own:
                outside[e] = outside.get(e, self.sizes[e]) - self.weights[i]
        return outside

    def _update(self, i: int, p: int, around: set[int], outside: dict[int, int]) -> None:
        """Add unknown i to the new element p, and bound its degree."""
        own, neighbours, weights = self.elements[i], self.neighbours[i], self.weights
        covered = {e for e in own if not outside[e]}
        for e in covered & self.unknowns.keys():  # elements within the new one are absorbed by it
            del self.unknowns[e], self.sizes[e]
        own -= covered
        if neighbours:
            neighbours -= around
            neighbours.discard(p)
        degree = self.sizes[p] - weights[i] + sum(outside[e] for e in own) + sum(weights[j] for j in neighbours)
        self.degrees[i] = min(degree, self.left - weights[i])
        own.add(p)

    def _merge(self, around: set[int]) -> set[int]:
        """Merge unknowns with the same neighbours and elements; return those that are no longer by themselves."""
        alike: dict[tuple[int, int], list[int]] = defaultdict(list)
        merged: set[int] = set()
        for i in around:
            own, neighbours = self.elements[i], self.neighbours[i]
            group = alike[sum(own), sum(neighbours)]
            same = next((j for j in group if self.elements[j] == own and self.neighbours[j] == neighbours), None)
            if same is None:
                group.append(i)
                continue
            self.members[same] += self.members[i]
            self.weights[same] += self.weights[i]
            self.degrees[same] -= self.weights[i]
            self.weights[i] = 0
            self.elements[i], self.neighbours[i] = set(), set()
            merged.add(i)
        return merged
