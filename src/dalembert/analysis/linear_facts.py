# SPDX-License-Identifier: BSD-3-Clause
"""What linear algebra says about constraint rows A q̈ = b: which depend on which, and which cannot be met together.

Rows are scaled to unit length first, so that the scale in which a constraint was written cannot matter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dalembert.model.values import Floats

TOLERANCE = 1e-8
"""What is left of a row of unit length when others are taken off, below which it depends on them."""


def unit_rows(A: Floats, b: Floats | None = None) -> tuple[Floats, Floats]:
    """A with rows of unit length, and b scaled with them; rows without a gradient stay as they are."""
    length = np.linalg.norm(A, axis=1)
    scale = np.where(length > 0, length, 1.0)
    return A / scale[:, None], (np.zeros(len(A)) if b is None else b) / scale


def independent_rows(A: Floats) -> tuple[int, ...]:
    """The earliest rows that span all of them."""
    unit, _ = unit_rows(A)
    basis = np.zeros((0, A.shape[1]))
    kept: list[int] = []
    for i, row in enumerate(unit):
        for _ in range(2):  # once more against rounding
            row = row - basis.T @ (basis @ row)
        left = np.linalg.norm(row)
        if left > TOLERANCE:
            basis = np.vstack([basis, row / left])
            kept.append(i)
    return tuple(kept)


def combination(A: Floats, kept: Sequence[int], row: int) -> dict[int, float]:
    """The coefficients with which a dependent row is made up of independent ones; vanishing ones left out."""
    coefficients = np.linalg.lstsq(A[list(kept)].T, A[row], rcond=None)[0]
    sizes = np.abs(coefficients) * np.linalg.norm(A[list(kept)], axis=1)
    limit = 1e-6 * np.linalg.norm(A[row])
    return {k: float(c) for k, c, size in zip(kept, coefficients, sizes, strict=True) if size > limit}


def rank_gap(A: Floats) -> float:
    """The smallest singular value of the unit rows that counts over the largest that does not; inf if none is left."""
    values = np.linalg.svd(unit_rows(A)[0], compute_uv=False)
    rank = len(independent_rows(A))
    left = values[rank] if rank < len(values) else 0.0
    return float(values[rank - 1] / left) if rank and left > 0 else np.inf


def determined(A: Floats) -> tuple[bool, ...]:
    """Which multipliers are unique: those of rows that no other row can take the load of."""
    unit, _ = unit_rows(A)
    left, values, _ = np.linalg.svd(unit)
    idle = left[:, int((values > TOLERANCE).sum()) :]
    return tuple(bool(part < TOLERANCE) for part in np.linalg.norm(idle, axis=1))


def consistent(A: Floats, b: Floats, size: float = 1.0) -> bool:
    """Whether some x meets A x = b; ``size`` is that of the numbers that b was computed from."""
    if not len(A):
        return True
    unit, right = unit_rows(A, b)
    x = np.linalg.lstsq(unit, right, rcond=TOLERANCE)[0]
    scale = np.abs(right) + np.abs(unit) @ np.abs(x) + size
    return bool((np.abs(unit @ x - right) <= 1e-7 * scale).all())


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
