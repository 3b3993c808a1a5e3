# SPDX-License-Identifier: BSD-3-Clause
"""Places of the rows of constraints among the outputs of the programs that compute them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.native.nonideal_terms import fixed_pattern
from dalembert.native.term_loops import CopiedTerm


def row_layout(
    constraints: Sequence[CopiedTerm], numbers: Sequence[Any], offsets: Sequence[int]
) -> tuple[Any, Any, Any]:
    """Return row, column and place among the terms of each entry of A, row by row."""
    rows: list[Any] = [np.zeros(0, np.int64)]
    columns: list[Any] = [np.zeros(0, np.int64)]
    places: list[Any] = [np.zeros(0, np.int64)]
    for term, own, offset in zip(constraints, numbers, offsets, strict=False):
        copies, k = term.coordinates.shape
        rows.append(np.repeat(own, k))
        columns.append(term.coordinates.ravel().astype(np.int64))
        places.append((offset + np.arange(copies)[:, None] * term.outputs + np.arange(k)).ravel())
    found = [np.concatenate(x) for x in (rows, columns, places)]
    # the order that compressed rows of SciPy need
    by_row = np.lexsort((found[1], found[0]))
    return found[0][by_row], found[1][by_row], found[2][by_row]


def last_outputs(
    constraints: Sequence[CopiedTerm], numbers: Sequence[Any], offsets: Sequence[int], m: int
) -> NDArray[np.int64]:
    """Return the places (3, m) of b and of the residuals at position and velocity level."""
    found = np.zeros((3, m), np.int64)
    for term, own, offset in zip(constraints, numbers, offsets, strict=False):
        # each copy ends with b and both residuals
        found[:, own] = offset + (np.arange(term.copies) + 1) * term.outputs + np.array([[-3], [-2], [-1]])
    return found


class RowLayout:
    """The places of the rows of some groups of constraints in the concatenated outputs of their programs.

    Parameters
    ----------
    terms      one for each group
    numbers    the number of each row, for every group
    shape      number of rows and of coordinates
    """

    def __init__(self, terms: Sequence[CopiedTerm], numbers: Sequence[NDArray[np.int64]], shape: tuple[int, int]):
        sizes = [term.copies * term.outputs for term in terms]
        offsets = [0, *np.cumsum(sizes, dtype=np.int64).tolist()]
        self._rows, self._columns, self._places = row_layout(terms, numbers, offsets)
        self._last, self._shape = last_outputs(terms, numbers, offsets, shape[0]), shape

    def of(self, outputs: Sequence[Floats]) -> tuple[Any, Floats]:
        """Return A (m, n) as a new sparse matrix, and (3, m) b and the residuals at position and velocity level."""
        flat = np.concatenate([np.zeros(0), *(own.ravel() for own in outputs)])
        A, _ = fixed_pattern(self._shape, self._rows, self._columns)
        A.data[:] = flat[self._places]
        return A, flat[self._last]
