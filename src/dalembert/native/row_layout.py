# SPDX-License-Identifier: BSD-3-Clause
"""Places of the rows of constraints among the outputs of the programs that compute them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
        found[:, own] = offset + (np.arange(term.copies) + 1) * term.outputs + np.array([[-3], [-2], [-1]])
    return found
