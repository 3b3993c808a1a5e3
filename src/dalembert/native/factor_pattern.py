# SPDX-License-Identifier: BSD-3-Clause
"""The pattern of the factors of a sparse matrix whose pattern is symmetric, found once for all of its values."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import ModelError
from dalembert.native.sparse_loops import sparse_loops

Indices = NDArray[np.int32]


class FactorPattern(NamedTuple):
    """The places of the entries of L below its diagonal.

    starts, rows            by columns
    row_starts, columns     by rows; ``places`` are the numbers of these entries in the order of columns
    """

    starts: Indices
    rows: Indices
    row_starts: Indices
    columns: Indices
    places: Indices


def elimination_tree(starts: Indices, rows: Indices) -> tuple[Indices, Indices]:
    """Return the parent (m,) of each unknown, −1 if it has none, and the number of entries in each row of L.

    Column k of the matrix has the rows ``rows[starts[k]:starts[k + 1]]`` up to the diagonal.
    """
    m = len(starts) - 1
    parents, mark, counts = (np.empty(m, np.int32) for _ in range(3))
    sparse_loops().count_rows(m, *map(address, (starts, rows, parents, mark, counts)), 0)
    return parents, counts


def factor_pattern(starts: Indices, rows: Indices) -> FactorPattern:
    """Return the pattern of L for a matrix given as in ``elimination_tree``."""
    from scipy.sparse import csr_array

    m = len(starts) - 1
    parents, counts = elimination_tree(starts, rows)
    # in 64 bits, so that too many entries for indices of 32 bits are noticed
    row_starts = np.append(0, np.cumsum(counts, dtype=np.int64))
    if row_starts[-1] >= np.iinfo(np.int32).max:
        raise ModelError([f"the factors of the constraints must have fewer than 2³¹ entries; got {row_starts[-1]}."])
    counts[:], columns = row_starts[:-1], np.empty(row_starts[-1], np.int32)
    given = (starts, rows, parents, np.empty(m, np.int32), counts, columns)
    sparse_loops().fill_rows(m, *map(address, given))
    # two transpositions sort the entries of columns and of rows
    by_rows = csr_array((np.ones(len(columns), np.int8), columns, row_starts.astype(np.int32)), shape=(m, m))
    by_columns: Any = by_rows.tocsc()
    numbered = by_columns.copy()
    numbered.data = np.arange(len(columns), dtype=np.int32)
    numbered = numbered.tocsr()
    found = (by_columns.indptr, by_columns.indices, numbered.indptr, numbered.indices, numbered.data)
    return FactorPattern(*map(as_index_array, found))


def address(array: Any) -> int:
    """Return the address of a contiguous array."""
    return array.ctypes.data


def as_index_array(values: Any) -> Indices:
    """Return contiguous 32-bit indices."""
    return np.ascontiguousarray(values, np.int32)


def starts_of(owners: Any, count: int) -> Indices:
    """Return the starts (count + 1,) of the runs of equal numbers in a sorted array."""
    return as_index_array(np.searchsorted(owners, np.arange(count + 1)))
