# SPDX-License-Identifier: BSD-3-Clause
"""Chain, net and truss as written by hand: NumPy for the terms, Thomas or QDLDL for the multipliers, SciPy's DOP853.

With the difference d of the ends of each rod, A has the entries ±d, b is the negative square of the relative velocity,
and S = A M⁻¹ Aᵀ couples rods with a common particle. Nothing corrects the drift, and rods that are known to be
redundant are left out.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.large_systems import GRAVITY, Particles


class ByHand:
    """The motion of some particles; ``solve`` returns the multipliers for the values of the last evaluation."""

    def __init__(self, particles: Particles):
        self.shape, self.ground = particles.positions.shape, particles.ground
        self.start, self.end = particles.start[~particles.redundant], particles.end[~particles.redundant]
        self.weights = np.where(particles.fixed, 0.0, 1.0)
        self.gravity = np.zeros(self.shape)
        self.gravity[:, -1] = -GRAVITY * self.weights
        self.y0 = np.concatenate([particles.positions.ravel(), particles.velocities.ravel()])
        self.difference = particles.positions[self.start] - particles.positions[self.end]
        self.squares = (self.difference**2).sum(axis=1)
        self.right = np.ones(len(self.start))
        self.solve: Callable[[], np.ndarray] = self.thomas() if particles.ground else self._qdldl()

    def rates(self, _: float, y: np.ndarray) -> np.ndarray:
        """Return ẏ at a state y, of all positions and then all velocities."""
        P, V = y.reshape(2, *self.shape)
        i, j = self.start, self.end
        self.difference = d = P[i] - P[j]
        self.right = -((V[i] - V[j]) ** 2).sum(axis=1) - (d * (self.gravity[i] - self.gravity[j])).sum(axis=1)
        force = self.solve()[:, None] * d
        acceleration = self.gravity.copy()
        for k, total in enumerate(acceleration.T):
            total += self.weights * (np.bincount(i, force[:, k], len(P)) - np.bincount(j, force[:, k], len(P)))
        return np.concatenate([y[y.size // 2 :], acceleration.ravel()])

    def run(self, rtol: float, span: float) -> tuple[np.ndarray, float]:
        """Return the positions (N, d) at the end, and the largest violation of a squared length."""
        from scipy.integrate import solve_ivp

        found = solve_ivp(self.rates, (0, span), self.y0, method="DOP853", t_eval=[span], rtol=rtol, atol=rtol)
        end = found.y[:, -1].reshape(2, *self.shape)[0]
        violation = np.abs(((end[self.start] - end[self.end]) ** 2).sum(axis=1) - self.squares).max()
        return end[self.ground :], float(violation)

    def _diagonal(self) -> np.ndarray:
        return (self.difference**2).sum(axis=1) * (self.weights[self.start] + self.weights[self.end])

    def thomas(self) -> Callable[[], np.ndarray]:
        """Return the solution of a tridiagonal S by LAPACK."""
        from scipy.linalg.lapack import dptsv

        def solve() -> np.ndarray:
            d = self.difference
            beside = -(d[:-1] * d[1:]).sum(axis=1) * self.weights[self.end[:-1]]
            return dptsv(self._diagonal(), beside, self.right)[2]

        return solve

    def _qdldl(self) -> Callable[[], np.ndarray]:
        """Return the solution of a sparse S by QDLDL, whose entries are computed at fixed places."""
        import qdldl
        from scipy.sparse import csc_matrix, diags

        count, ones = len(self.start), np.ones(len(self.start))
        rods = np.arange(count)
        places = np.append(rods, rods), np.append(self.start, self.end)
        ends = csc_matrix((np.append(ones, -ones), places), shape=(count, len(self.weights)))
        S = csc_matrix(ends @ diags(self.weights) @ ends.T)
        S.sort_indices()
        rows, columns, signs = S.indices, np.repeat(rods, np.diff(S.indptr)), S.data.copy()

        def fill() -> None:
            S.data[:] = signs * np.einsum("ek,ek->e", self.difference[rows], self.difference[columns])

        # no entry may be zero when the pattern is analysed
        S.data += 1e3 * (rows == columns)
        solver = qdldl.Solver(S)

        def solve() -> np.ndarray:
            fill()
            solver.update(S)
            return solver.solve(self.right)

        return solve
