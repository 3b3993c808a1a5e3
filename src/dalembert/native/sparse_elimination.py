# SPDX-License-Identifier: BSD-3-Clause
"""Sparse elimination with a fixed pattern: S = A W Aᵀ is ordered and analysed once, and factored at every state."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.array_types import Floats
from dalembert.errors import ModelError
from dalembert.native.elimination_order import minimum_degree, postorder
from dalembert.native.sparse_loops import sparse_loops
from dalembert.tolerances import DEPENDENT_SPARSE_PIVOT

Indices = NDArray[np.int32]

MOST_PRODUCTS = 10**8
"""Most products of entries of A in S; S of a system with more is no longer sparse."""


class SparseElimination:
    """Solves S x = r for S = A W Aᵀ, W diagonal, with a fixed pattern of A.

    Rows that depend on others are left out: their unknown is zero, and ``left_out`` is a mask (m,) of them.

    Parameters
    ----------
    shape         (m, n) of A
    rows, columns, places    of each entry of A; ``places`` are the indices of their values in an array of terms
    """

    def __init__(self, shape: tuple[int, int], rows: Any, columns: Any, places: Any):
        self.m, self.n = shape
        first, second = _pairs(columns, self.n)
        self.order = minimum_degree(self.m, rows[first], rows[second])
        # the tree of the elimination is known only with the pattern in that order, and the pattern is made again
        entries = self._pattern(rows, first, second)[0]
        parents, _ = self._tree(_starts(entries // self.m, self.m), _indices(entries % self.m))
        self.order = self.order[postorder(parents.tolist())]
        entries, starts, first, second = self._pattern(rows, first, second)
        self._products = [
            _indices(np.append(starts, len(first))),
            *(_indices(x) for x in (places[first], places[second], columns[first])),
        ]
        self._starts = _starts(entries // self.m, self.m)
        self._rows = _indices(entries % self.m)
        self._S = np.empty(len(entries))
        self._analyse()
        self.pivots = np.ones(self.m)
        self._inverse, self._work = np.zeros(self.m), np.zeros(self.m)
        self._used = np.ones(self.m, np.int32)
        self._found, self._left = np.empty(self.m), np.empty(self.m)

    def _pattern(self, rows: Any, first: Any, second: Any) -> tuple[Any, Any, Any, Any]:
        """Return the entries of S up to the diagonal in the order of elimination, each with its pairs of entries of A.

        They are m·column + row of each entry, the start of its pairs, and the pairs.
        """
        rank = np.empty(self.m, np.int64)
        rank[self.order] = np.arange(self.m)
        later, earlier = rank[rows[first]], rank[rows[second]]
        below = earlier <= later
        key = (later * self.m + earlier)[below]
        by_entry = np.argsort(key, kind="stable")
        entries, starts = np.unique(key[by_entry], return_index=True)
        return entries, starts, first[below][by_entry], second[below][by_entry]

    def _tree(self, starts: Indices, rows: Indices) -> tuple[Indices, Indices]:
        """Return the elimination tree (m,) of a pattern, and the number of entries in each row of L."""
        parents, mark, counts = (np.empty(self.m, np.int32) for _ in range(3))
        sparse_loops().count_rows(self.m, *map(_address, (starts, rows, parents, mark, counts)), 0)
        return parents, counts

    def _analyse(self) -> None:
        """Find the pattern of L, by columns and by rows."""
        from scipy.sparse import csr_array

        m = self.m
        parents, counts = self._tree(self._starts, self._rows)
        row_starts = np.append(0, np.cumsum(counts, dtype=np.int64))
        if row_starts[-1] >= np.iinfo(np.int32).max:
            raise ModelError(
                [f"the factors of the constraints must have fewer than 2³¹ entries; got {row_starts[-1]}."]
            )
        counts[:], columns = row_starts[:-1], np.empty(row_starts[-1], np.int32)
        given = (self._starts, self._rows, parents, np.empty(m, np.int32), counts, columns)
        sparse_loops().fill_rows(m, *map(_address, given))
        # two transpositions sort the entries of columns and of rows
        by_rows = csr_array((np.ones(len(columns), np.int8), columns, row_starts.astype(np.int32)), shape=(m, m))
        by_columns = by_rows.tocsc()
        self._L_starts, self._L_rows = _indices(by_columns.indptr), _indices(by_columns.indices)
        numbered: Any = by_columns.copy()
        numbered.data = np.arange(len(columns), dtype=np.int32)
        numbered = numbered.tocsr()
        self._row_starts, self._columns, self._places = map(
            _indices, (numbered.indptr, numbered.indices, numbered.data)
        )
        self._L = np.zeros(len(columns))

    @property
    def entries(self) -> int:
        """The number of entries of L."""
        return len(self._L)

    @property
    def used(self) -> NDArray[np.bool_]:
        """Mask (m,) of the rows that the next factorisation may use."""
        return self._in_order(self._used != 0)

    @used.setter
    def used(self, rows: NDArray[np.bool_]) -> None:
        self._used[:] = rows[self.order]

    @property
    def left_out(self) -> NDArray[np.bool_]:
        """Mask (m,) of the rows that the last factorisation left out."""
        return self._in_order(self._inverse == 0)

    @property
    def remaining(self) -> Floats:
        """The part (m,) of each row's squared length that was left after the elimination of the rows before it."""
        return self._in_order(self.pivots)

    def _in_order(self, values: Any) -> Any:
        found = np.empty_like(values)
        found[self.order] = values
        return found

    def factor(self, terms: Floats, weights: Floats) -> None:
        """Factor S for the values of the entries of A in ``terms``, and weights (n,)."""
        loops = sparse_loops()
        loops.assemble(len(self._S), *map(_address, (*self._products, terms, weights, self._S)))
        matrix = (self._starts, self._rows, self._S, self._row_starts, self._columns, self._places)
        factors = (self._L_starts, self._L_rows, self._L, self._inverse, self._work)
        used = (_address(self._used), _address(self.pivots))
        loops.factor(self.m, *map(_address, (*matrix, *factors)), DEPENDENT_SPARSE_PIVOT, *used)

    def solve(self, right: Floats) -> Floats:
        """Return x (m,) with S x = r on the rows in use, and zero on those left out."""
        np.take(right, self.order, out=self._found)
        factors = (self._L_starts, self._L_rows, self._L, self._inverse, self._found, self._left)
        sparse_loops().solve(self.m, *map(_address, factors))
        return self._in_order(self._found)


def _address(array: Any) -> int:
    return array.ctypes.data


def _indices(values: Any) -> Indices:
    return np.ascontiguousarray(values, np.int32)


def _starts(owners: Any, count: int) -> Indices:
    """Return the starts (count + 1,) of the runs of equal numbers in a sorted array."""
    return _indices(np.searchsorted(owners, np.arange(count + 1)))


def _pairs(columns: Any, n: int) -> tuple[Any, Any]:
    """Return all ordered pairs of entries in the same column."""
    by_column = np.argsort(columns, kind="stable")
    sizes = np.bincount(columns, minlength=n)
    total = int((sizes.astype(np.int64) ** 2).sum())
    if total > MOST_PRODUCTS:
        raise ModelError(
            [
                f"the constraints must be sparse: few of them may share a coordinate; one coordinate is in "
                f"{int(sizes.max())} of them. Give parts of the system coordinates of their own, joined by constraints."
            ]
        )
    own = sizes[columns[by_column]]  # the size of the column of each entry
    starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
    first = np.repeat(np.arange(len(columns)), own)
    within = np.arange(total) - np.repeat(np.cumsum(own) - own, own)
    second = starts[first] + within
    return by_column[first], by_column[second]
