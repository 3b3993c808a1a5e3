# SPDX-License-Identifier: BSD-3-Clause
"""The dependencies between constraint rows of a large system, and the shortest multipliers.

Notation: A as in ``docs/notation.md``; W = M⁻¹, S = A W Aᵀ. Rows of A that depend on others are left out; each of them
gives a dependency, a vector v with Aᵀv = 0 that is one in that row and zero in the other rows left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.native.sparse_system import SparseSystem
from dalembert.numerics.linear_algebra import are_determined


def left_out(code: SparseSystem) -> NDArray[np.int64]:
    """Return the rows that the last factorisation left out."""
    return np.zeros(0, np.int64) if code.elimination is None else np.flatnonzero(code.elimination.left_out)


class Dependencies:
    """The dependencies between the rows of A at the last factorisation, one for each of the r rows left out."""

    def __init__(self, code: SparseSystem):
        self.code, self.rows = code, left_out(code)

    def combined(self, shares: Floats) -> Floats:
        """Return the sum (m,) of the dependencies with shares (r,)."""
        v = np.zeros(self.code.m)
        v[self.rows] = shares
        # the rows in use take up what the others contribute to S v, so that Aᵀ of the sum is zero
        return v - self._kept(self._times_s(v))

    def shares_of(self, v: Floats) -> Floats:
        """Return the products (r,) of the dependencies with a vector v (m,)."""
        # the transpose of ``combined``
        return (v - self._times_s(self._kept(v)))[self.rows]

    def _times_s(self, v: Floats) -> Floats:
        return self.code.A @ self.code.mass.solve(self.code.A_transposed @ v)

    def _kept(self, v: Floats) -> Floats:
        """Return x with S x = v on the rows in use, and zero on the others."""
        return self.code.correction(v)[0]

    def part_of(self, v: Floats, lengths: Any = 1.0) -> Floats:
        """Return the part (m,) of v in the space of the dependencies, of rows with ``lengths`` that are made one."""
        if not len(self.rows):
            return np.zeros(self.code.m)
        from scipy.sparse.linalg import LinearOperator, cg

        def normal(shares: Floats) -> Floats:
            return self.shares_of(lengths**2 * self.combined(shares))

        r = len(self.rows)
        operator: Any = LinearOperator((r, r), matvec=normal, dtype=float)  # pyright: ignore[reportCallIssue]
        shares, _ = cg(operator, self.shares_of(v * lengths), rtol=CG_TOLERANCE, atol=0.0, maxiter=MOST_CG_ITERATIONS)
        return lengths * self.combined(shares)

    def unique(self) -> NDArray[np.bool_]:
        """Return a mask (m,) of the multipliers that are determined: no dependency has a part along them."""
        found, lengths = np.ones(self.code.m, bool), self.code.row_lengths
        for seed in range(RANDOM_DEPENDENCIES if len(self.rows) else 0):
            # a random combination is zero only where all dependencies are; it is one of unit rows, so that the scale in
            # which a constraint is written does not matter
            random = np.random.default_rng(seed).normal(size=len(self.rows))
            found &= are_determined(np.abs(lengths * self.combined(random / lengths[self.rows])))
        return found


def shortest(dependencies: Dependencies, multipliers: Floats) -> Floats:
    """Return the shortest λ (m,) with the same force Aᵀλ as some multipliers; these, if all rows are independent.

    The force is exact to rounding; λ is the shortest one as far as the condition of AᵀA allows.
    """
    if not len(dependencies.rows):
        return multipliers
    code = dependencies.code
    force, elimination = code.A_transposed @ multipliers, code.gram_elimination
    elimination.factor(code.terms, np.ones(code.m))
    # λ = A y with AᵀA y = force, refined as long as that helps, because the squares of A have half the digits
    lam, missing = np.zeros(code.m), force
    for _ in range(MOST_REFINEMENTS):
        better = lam + code.A @ elimination.solve(missing)
        left = force - code.A_transposed @ better
        if not np.abs(left).max(initial=0.0) < np.abs(missing).max(initial=0.0) / 2:
            break
        lam, missing = better, left
    # what AᵀA did not resolve is added by S, so that the force is exact to rounding
    return lam + code.correction(code.A @ code.mass.solve(missing))[0]


MOST_REFINEMENTS = 10
"""Most refinements of the shortest multipliers; one or two suffice unless AᵀA is ill conditioned."""

CG_TOLERANCE = 1e-12
"""Tolerance of the conjugate gradients that find the part of a contradiction in each constraint."""

MOST_CG_ITERATIONS = 200
"""Most iterations of these conjugate gradients; a few dozen are usual."""

RANDOM_DEPENDENCIES = 2
"""Random combinations of dependencies that show which multipliers are unique."""
