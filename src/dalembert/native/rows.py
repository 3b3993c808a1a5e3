# SPDX-License-Identifier: BSD-3-Clause
"""Which constraint rows are independent, at one state, in numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def independent_rows(B: Floats, classes: Sequence[int], tolerance: float) -> tuple[int, ...]:
    """A largest set of independent rows, low classes first, within one class those that stand out most.

    A row is dependent once less than ``tolerance`` of its length is left.
    """
    lengths = np.linalg.norm(B, axis=1)
    left = B / np.where(lengths > 0, lengths, 1.0)[:, None]
    found: list[int] = []
    for level in sorted(set(classes)):
        candidates = [k for k, own in enumerate(classes) if own == level]
        while candidates and len(found) < B.shape[1]:
            sizes = np.linalg.norm(left[candidates], axis=1)
            if not sizes.max() > tolerance:
                break
            k = candidates.pop(int(np.argmax(sizes)))
            found.append(k)
            direction = left[k] / np.linalg.norm(left[k])
            for _ in range(2):  # twice is enough for orthogonality to rounding
                left = left - np.outer(left @ direction, direction)
    return tuple(sorted(found))
