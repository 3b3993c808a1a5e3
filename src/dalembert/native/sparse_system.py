# SPDX-License-Identifier: BSD-3-Clause
"""A large system in machine code: M q̈ = Q and A q̈ = b with M diagonal and A sparse.

Notation: M, Q, A, b, q, qd as in ``docs/notation.md``; W = M⁻¹, S = A W Aᵀ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dalembert.array_types import Floats
from dalembert.native.sparse_elimination import SparseElimination
from dalembert.native.term_loops import CopiedTerm, TermLoops, addresses


class Residuals(NamedTuple):
    """The residuals (m,) of all constraints at position and at velocity level; zero where a level has none."""

    position: Floats
    velocity: Floats


class SparseSystem:
    """The terms of a large system at one state at a time, and the elimination of its multipliers.

    Parameters
    ----------
    n              number of coordinates
    constraints    one term for each group of constraints, whose outputs are the k entries of a row of A, b, and the
                   residuals at position and velocity level
    numbers        the number of each constraint, for every group
    masses         terms that are added to the diagonal of M
    forces         terms that are added to Q
    """

    def __init__(
        self,
        n: int,
        constraints: Sequence[CopiedTerm],
        numbers: Sequence[NDArray[np.int64]],
        masses: Sequence[CopiedTerm],
        forces: Sequence[CopiedTerm],
    ):
        from scipy.sparse import csc_array, csr_array

        self.n, self.m = n, sum(term.copies for term in constraints)
        self._loops = TermLoops([*constraints, *masses, *forces])
        self._kinds = len(constraints), len(masses), len(forces)
        sizes = [term.copies * term.outputs for term in constraints]
        self._offsets = [0, *np.cumsum(sizes, dtype=np.int64).tolist()]
        self.terms, self.mass, self.force = np.zeros(max(self._offsets[-1], 1)), np.zeros(n), np.zeros(n)
        self.weights = np.zeros(n)
        rows, columns, self._places = _layout(constraints, numbers, self._offsets)
        self._last = np.zeros((3, self.m), np.int64)
        for term, own, offset in zip(constraints, numbers, self._offsets, strict=False):
            self._last[:, own] = offset + (np.arange(term.copies) + 1) * term.outputs + np.array([[-3], [-2], [-1]])
        self.elimination = SparseElimination((self.m, n), rows, columns, self._places) if self.m else None
        data = np.zeros(len(columns))
        starts = np.searchsorted(rows, np.arange(self.m + 1)).astype(np.int32)
        self.A: Any = csr_array((data, columns.astype(np.int32), starts), shape=(self.m, n))
        self.A_transposed: Any = csc_array((self.A.data, self.A.indices, self.A.indptr), shape=(n, self.m))
        for matrix in (self.A, self.A_transposed):  # SciPy must not rearrange the entries, which have their places
            matrix.has_sorted_indices = matrix.has_canonical_format = True
        self.evaluations = 0

    def evaluate(self, q: Floats, qd: Floats, t: float, numbers: Floats) -> None:
        """Evaluate M, Q, A, b and the residuals at a state; the attributes hold them until the next evaluation."""
        (at_q, at_qd, at_numbers) = addresses(q, qd, numbers)
        inputs = at_q, at_qd, t, at_numbers
        constraints, masses, forces = self._kinds
        terms, mass, force = addresses(self.terms, self.mass, self.force)
        for i in range(constraints):
            self._loops.run(i, *inputs, terms + 8 * self._offsets[i])
        self.mass[:], self.force[:] = 0.0, 0.0
        for i in range(masses):
            self._loops.run(constraints + i, *inputs, mass)
        for i in range(forces):
            self._loops.run(constraints + masses + i, *inputs, force)
        with np.errstate(divide="ignore"):
            np.divide(1.0, self.mass, out=self.weights)
        np.take(self.terms, self._places, out=self.A.data)
        self.evaluations += 1

    @property
    def rhs(self) -> Floats:
        """b (m,)."""
        return self.terms[self._last[0]]

    @property
    def residuals(self) -> Residuals:
        return Residuals(self.terms[self._last[1]], self.terms[self._last[2]])

    def factor(self) -> None:
        """Factor S at the state of the last evaluation."""
        if self.elimination is not None:
            self.elimination.factor(self.terms, self.weights)

    def correction(self, residual: Floats) -> tuple[Floats, Floats]:
        """Return λ (m,) and the shortest x = W Aᵀλ (n,) in the metric of M with A x = residual."""
        if self.elimination is None:
            return np.zeros(0), np.zeros(self.n)
        lam = self.elimination.solve(residual)
        return lam, self.weights * (self.A_transposed @ lam)


@dataclass(frozen=True, eq=False)
class LargeDynamics:
    """A large system, compiled.

    code                        its terms and their elimination
    levels (m,)                 of all constraints, as indices in ``levels.LEVELS``
    coordinates, constraints    names
    constants                   numbers of the terms, which follow the parameters in those that ``code`` takes
    """

    code: SparseSystem
    levels: NDArray[np.int64]
    coordinates: tuple[str, ...]
    constraints: tuple[str, ...]
    constants: Floats

    def numbers(self, parameters: Floats) -> Floats:
        """Return the numbers that the programs take."""
        return np.concatenate([parameters, self.constants])


def _layout(constraints: Sequence[CopiedTerm], numbers: Sequence[Any], offsets: Sequence[int]) -> tuple[Any, Any, Any]:
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
    by_row = np.lexsort((found[1], found[0]))
    return found[0][by_row], found[1][by_row], found[2][by_row]
