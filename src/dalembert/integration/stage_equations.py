# SPDX-License-Identifier: BSD-3-Clause
"""The sparse equations of a stage of an implicit step, with a fixed pattern: (C0 − g C1 − g² C2) (dv, ν) = right side.

    C0 = [M  −Aᵀ]    C1 = [Kv  0]    C2 = [Kq  0]
         [A    0]         [Bv  0]         [Bq  0]

They are ordered once, and factored without an exchange of rows. The zeros on the diagonal would need an order with each
constraint after all of its coordinates, and three times as many operations for a net. They are therefore replaced by a
small part, ``SOFTNESS``, of the diagonal of A C⁻¹ Aᵀ, where C is the block of the coordinates: any order will do then,
and the solution, of which Newton's method asks for a few digits only, changes by that part. SuperLU, which exchanges
rows where a pivot is not the largest of its column, took up to 6 s for a factorisation of a net of 20 × 20 particles,
which takes 1 ms here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.native.elimination_order import minimum_degree
from dalembert.native.sparse_lu import SparseLU
from dalembert.native.sparse_system import SparseSystem

Solve = Callable[[Any], Any]

SOFTNESS = 1e-8
"""The square root of the rounding error: terms of this size are lost in those of its inverse."""


class StageEquations:
    """The equations of a system at one state at a time.

    The derivatives are given constraint group by constraint group, entries of B and then entries of K, and then for
    each term of the applied force: the order of ``derivative_places``.
    """

    def __init__(self, code: SparseSystem, mass: Any):
        self._n, self._m = code.n, code.m
        A = code.A.tocoo()
        rows, columns = derivative_places(code)
        self._counts = len(mass.row), A.nnz, len(rows)
        all_rows = np.concatenate([mass.row, code.n + A.row, A.col, rows])
        all_columns = np.concatenate([mass.col, A.col, code.n + A.row, columns])
        # the factorisation exchanges no rows: rows and columns have one order, found from the symmetric pattern
        order = minimum_degree(code.n + code.m, np.append(all_rows, all_columns), np.append(all_columns, all_rows))
        self._lu = SparseLU(order, all_rows, all_columns)
        slots = self._lu.slots[len(mass.row) :]
        self._of_A, self._of_A_transposed, self._of_derivatives = np.split(slots, [A.nnz, 2 * A.nnz])
        constraints = np.arange(code.n, code.n + code.m)
        self._of_constraints = self._lu.slots_of(constraints, constraints)
        coordinates = np.arange(code.n)
        self._of_coordinates = self._lu.slots_of(coordinates, coordinates)
        self._A_rows, self._A_columns, self._used = A.row, A.col, np.ones(code.m, bool)
        self._squares = np.zeros(A.nnz)
        self._C0 = self._C1 = self._C2 = np.zeros(len(self._lu.row))

    def assemble(
        self, mass: Any, A: Floats, by_positions: Floats, by_velocities: Floats, used: NDArray[np.bool_]
    ) -> bool:
        """Add up the entries, without constraints not ``used``; return False if one of the mass matrix has no place."""
        of_mass = self._lu.slots_of(mass.row, mass.col)
        if of_mass is None:
            return False
        slots = np.concatenate([of_mass, self._of_A, self._of_A_transposed])
        count = len(self._lu.row)
        self._C0 = np.bincount(slots, np.concatenate([mass.data, A, -A]), count)
        self._C1 = np.bincount(self._of_derivatives, by_velocities, count)
        self._C2 = np.bincount(self._of_derivatives, by_positions, count)
        self._squares, self._used = A**2, used
        if not used.all():
            kept = np.append(np.ones(self._n, bool), used)[self._lu.order]
            for C in (self._C0, self._C1, self._C2):
                C *= kept[self._lu.row] & kept[self._lu.column]
            # the multiplier of a constraint that is left out is zero
            self._C0[self._of_constraints[~used]] = 1.0
        return True

    def solver(self, g: Any) -> Solve:
        """Return a function of right sides (2n,) for one g; its results are not finite if there is no solution."""
        from scipy.sparse import csr_array

        lu, n = self._lu, self._n
        # positions are eliminated by dq = g (r + dv): equations of dv and the multipliers remain
        values = self._C0 - g * self._C1 - g**2 * self._C2
        # C by its diagonal alone, since only the order of magnitude of the softness matters
        mobilities = 1 / np.abs(values[self._of_coordinates])
        own = np.bincount(self._A_rows, self._squares * mobilities[self._A_columns], self._m)
        values[self._of_constraints[self._used]] += SOFTNESS * own[self._used]
        factors = lu.factored(values)
        C0, C2 = (csr_array((C, lu.columns, lu.starts), shape=(lu.size, lu.size)) for C in (self._C0, self._C2))
        rest = np.zeros(self._m)

        def solve(right: Any) -> Any:
            r, s = right[:n], right[n:]
            force = g * (C0 @ np.append(s, rest)[lu.order] + g * (C2 @ np.append(r, rest)[lu.order]))
            found = np.empty(lu.size, force.dtype)
            found[lu.order] = factors.solve(force)
            dv = found[:n]
            return np.concatenate([g * (r + dv), dv])

        return solve


def derivative_places(code: SparseSystem) -> tuple[Any, Any]:
    """Return rows and columns of the entries of B and K, in the order in which their values are given."""
    rows, columns = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]

    def add(own: Any, others: Any) -> None:
        for found, places in zip((rows, columns), np.broadcast_arrays(own, others), strict=True):
            found.append(places.ravel().astype(np.int64))

    groups = len(code.constraint_numbers)
    for term, own in zip(code.differentiable_terms, code.constraint_numbers, strict=False):
        add(code.n + own[:, None], term.coordinates)
        add(term.coordinates[:, :, None], term.coordinates[:, None])
    for term in code.differentiable_terms[groups:]:
        assert term.targets is not None
        add(term.targets[:, :, None], term.coordinates[:, None])
    return np.concatenate(rows), np.concatenate(columns)
