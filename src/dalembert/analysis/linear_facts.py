# SPDX-License-Identifier: BSD-3-Clause
"""What linear algebra says about constraint rows A q̈ = b: which depend on which, and which cannot be met together.

Rows are scaled to unit length first, so that the scale in which a constraint was written cannot matter. Columns are
for the caller: in coordinates of very different units no row looks independent (``Numbers.rows``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dalembert.model.values import Floats
from dalembert.violation import LEAST_DISTANCE

TOLERANCE = 1e-8
"""What is left of a row of unit length when others are taken off, below which it depends on them."""

COEFFICIENT_TOLERANCE = 1e-7
"""Coefficients of unit rows that count as zero."""

CONTRADICTION = 1e-7
"""Right sides of dependent rows must agree to this fraction of their own terms."""


NULL = 1e-9
"""Singular values that count as zero, relative to the largest."""


def unit_rows(A: Floats, b: Floats | None = None) -> tuple[Floats, Floats]:
    """A with rows of unit length, and b scaled with them; rows without a gradient stay as they are."""
    length = np.linalg.norm(A, axis=1)
    scale = np.where(length > 0, length, 1.0)
    return A / scale[:, None], (np.zeros(len(A)) if b is None else b) / scale


def own_parts(A: Floats) -> Floats:
    """What is left of each row when its components along earlier rows are taken off, to rounding error at least."""
    basis = np.zeros((0, A.shape[1]))
    parts = np.zeros_like(A)
    for i, row in enumerate(A):
        parts[i] = row
        for _ in range(2):  # once more against rounding
            parts[i] -= basis.T @ (basis @ parts[i])
        left, length = np.linalg.norm(parts[i]), np.linalg.norm(row)
        if left > TOLERANCE * length:
            basis = np.vstack([basis, parts[i] / left])
    return parts


def dependencies(A: Floats) -> dict[int, dict[int, float]]:
    """For every row that depends on earlier ones: with which coefficients it is made up of independent ones.

    The one place where it is decided what depends on what; vanishing coefficients are left out.
    """
    unit, _ = unit_rows(A)
    free = np.linalg.norm(own_parts(unit), axis=1) > TOLERANCE
    kept = np.flatnonzero(free)
    return {
        int(row): _combination(A, unit, [int(k) for k in kept if k < row], int(row)) for row in np.flatnonzero(~free)
    }


def _combination(A: Floats, unit: Floats, kept: Sequence[int], row: int) -> dict[int, float]:
    coefficients = np.linalg.lstsq(unit[list(kept)].T, unit[row], rcond=None)[0]
    lengths = np.linalg.norm(A, axis=1)
    return {
        k: float(c * lengths[row] / lengths[k])
        for k, c in zip(kept, coefficients, strict=True)
        if abs(c) > COEFFICIENT_TOLERANCE
    }


def independent_rows(A: Floats) -> tuple[int, ...]:
    """The earliest rows that span all of them."""
    dependent = dependencies(A)
    return tuple(i for i in range(len(A)) if i not in dependent)


def rank_gap(A: Floats) -> float:
    """The smallest singular value of the unit rows that counts over the largest that does not; inf if none is left."""
    values = np.linalg.svd(unit_rows(A)[0], compute_uv=False)
    rank = len(independent_rows(A))
    left = values[rank] if rank < len(values) else 0.0
    return float(values[rank - 1] / left) if rank and left > 0 else np.inf


def determined(A: Floats) -> tuple[bool, ...]:
    """Which multipliers are unique: those of rows that no other row can take the load of."""
    found = dependencies(A)
    shared = {*found, *(k for parts in found.values() for k in parts)}
    return tuple(i not in shared for i in range(len(A)))


def contradictions(A: Floats, b: Floats, sizes: Floats, units: Floats | float = 1.0) -> tuple[int, ...]:
    """The dependent rows of A x = b that ask for something else than the rows they depend on.

    ``sizes`` (m,) are those of the numbers that each entry of b was computed from, ``units`` (n,) those of the
    coordinates. Rows that have nothing to do with one another do not meet here, whatever their units.
    """
    length = np.linalg.norm(A, axis=1)

    def contradicts(row: int, parts: dict[int, float]) -> bool:
        off = abs(b[row] - sum(c * b[k] for k, c in parts.items()))
        scale = sizes[row] + sum(abs(c) * sizes[k] for k, c in parts.items())
        return bool(off > CONTRADICTION * scale + LEAST_DISTANCE * length[row])

    return tuple(row for row, parts in dependencies(A / units).items() if contradicts(row, parts))


def null_space(P: Floats) -> Floats:
    """A basis (k, n) of what P annihilates, with as many zeros as elimination gives it."""
    _, values, right = np.linalg.svd(P)
    basis = right[int((values > NULL * values.max(initial=0.0)).sum()) :]
    for i in range(len(basis)):
        row, pivot = divmod(int(np.argmax(np.abs(basis[i:]))), P.shape[1])
        basis[[i, i + row]] = basis[[i + row, i]]
        basis[i] /= basis[i, pivot]
        others = np.arange(len(basis)) != i
        basis[others] -= np.outer(basis[others, pivot], basis[i])
    return basis


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
