# SPDX-License-Identifier: BSD-3-Clause
"""The mobility of a contact step: changes of velocities by impulses on equations that hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from dalembert.common.array_types import Floats
from dalembert.native.sparse_system import SparseSystem
from dalembert.numerics.tolerances import RANK_TOLERANCE

LARGEST_DENSE = 200
"""Most coordinates for which arrays of n × n numbers are made; beyond, equations are eliminated sparsely."""


def mobility_of(code: SparseSystem, equations: NDArray[np.int64]) -> Mobility | SparseMobility:
    """Return the mobility at the state of the last evaluation, within some of the rows as equations."""
    # without equations contacts stay coupled through shared bodies only, and their rows sparse
    is_diagonal = not len(equations) and code.mass.is_diagonal
    return Mobility.of(code, equations) if is_diagonal or code.n <= LARGEST_DENSE else SparseMobility(code, equations)


class SparseMobility:
    """The same as ``Mobility`` for large systems, by sparse elimination.

    Of redundant equations some are left out, whose impulses are zero; velocities do not depend on that.
    """

    def __init__(self, code: SparseSystem, equations: NDArray[np.int64]):
        self._code, self._equations = code, equations
        if code.elimination is not None:
            code.elimination.used = np.isin(np.arange(code.m), equations)
            code.factor()

    def met(self, v: Floats, wanted: Floats) -> Floats:
        """Return velocities changed by impulses of the equations, such that A v is as wanted."""
        # refined once, because squares of A have half the digits
        for _ in range(2):
            v = v + self._code.correction(self._missing(v, wanted))[1]
        return v

    def impulses(self, v: Floats, wanted: Floats) -> Floats:
        """Return these impulses."""
        code, missing = self._code, self._missing(v, wanted)
        if not code.m:
            return np.zeros(0)
        first, change = code.correction(missing)
        more = code.correction(self._missing(v + change, wanted))[0]
        return (first + more)[self._equations]

    def rows(self, G: Any) -> Any:
        """Return G M⁻¹ (k, n), with the impulses of the equations that go with those of G."""
        still = np.zeros(len(self._equations))
        found = [self.met(self._code.mass.solve(row), still) for row in G.toarray()]
        return csr_array(np.array(found).reshape(G.shape))

    def _missing(self, v: Floats, wanted: Floats) -> Floats:
        """Return what the velocities lack (m,); zero for rows that are not equations."""
        missing = np.zeros(self._code.m)
        missing[self._equations] = wanted - (self._code.A @ v)[self._equations]
        return missing


@dataclass(frozen=True, eq=False)
class Mobility:
    """The change of velocities by impulses, within equations that hold.

    weights    (n,) of a diagonal M⁻¹; None if equations or entries of M couple the coordinates
    inverse    (n, n) M⁻¹
    A, held    rows (k, n) of the equations, and changes of velocities (n, k) for one unit of theirs
    """

    weights: Floats | None
    inverse: Floats
    A: Floats
    held: Floats
    gram: Floats

    @classmethod
    def of(cls, code: SparseSystem, equations: NDArray[np.int64]) -> Mobility:
        nothing = np.zeros((0, code.n))
        if not len(equations) and code.mass.is_diagonal:
            return cls(code.mass.weights, nothing, nothing, nothing.T, np.zeros((0, 0)))
        inverse = np.linalg.inv(code.mass.matrix().toarray())
        A = code.A[equations].toarray()
        # the pseudo-inverse, since redundant equations are allowed as in all other runs; of rows of equal length, since
        # the units of an equation must not decide whether it counts
        S = A @ inverse @ A.T
        lengths = np.sqrt(S.diagonal())
        lengths[lengths == 0] = 1.0
        units = np.outer(lengths, lengths)
        gram = np.linalg.pinv(S / units, rcond=RANK_TOLERANCE, hermitian=True) / units
        return cls(None, inverse, A, inverse @ A.T @ gram, gram)

    def met(self, v: Floats, wanted: Floats) -> Floats:
        """Return velocities changed by impulses of the equations, such that A v is as wanted."""
        return v + self.held @ (wanted - self.A @ v)

    def impulses(self, v: Floats, wanted: Floats) -> Floats:
        """Return these impulses."""
        return self.gram @ (wanted - self.A @ v)

    def rows(self, G: Any) -> Any:
        """Return G M⁻¹ (k, n), with the impulses of the equations that go with those of G."""
        if self.weights is not None:
            return csr_array((G.data * self.weights[G.indices], G.indices, G.indptr), shape=G.shape)
        free = G @ self.inverse
        return csr_array(free - (free @ self.A.T) @ self.held.T)


def rows_of(A: Any, rows: NDArray[np.int64]) -> Any:
    """Return some rows of a sparse array; SciPy's own indexing takes ten times as long for a few of them."""
    lengths = np.diff(A.indptr)[rows]
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    places = np.repeat(A.indptr[rows] - indptr[:-1], lengths) + np.arange(indptr[-1])
    return csr_array((A.data[places], A.indices[places], indptr), shape=(len(rows), A.shape[1]))
