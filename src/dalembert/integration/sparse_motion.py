# SPDX-License-Identifier: BSD-3-Clause
"""Acceleration, forces and multipliers of a large system at one state, and its redundant constraints.

Notation: M, Q, A, b as in ``docs/notation.md``; W = M⁻¹, S = A W Aᵀ. Rows of A that depend on others are left out; each
of them gives a dependency, a vector v with Aᵀv = 0 that is one in that row and zero in the other rows left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dalembert.array_types import Floats
from dalembert.equation.answer import ConstrainedMotion
from dalembert.errors import ConstraintError, InputError, MassMatrixError
from dalembert.levels import LEVELS
from dalembert.names import LISTED_NAMES, quoted
from dalembert.native.sparse_system import LargeDynamics, SparseSystem
from dalembert.stabilisation import Gains, damping
from dalembert.tolerances import CONSISTENCY_TOLERANCE, NAMED_SHARE, TINY, UNIQUE_SHARE


class SparseSolution(NamedTuple):
    """q̈ (n,), a = W Q (n,), λ (m,) with zeros for the rows left out, Aᵀλ (n,), and b − A q̈ (m,)."""

    acceleration: Floats
    free_acceleration: Floats
    multipliers: Floats
    ideal_force: Floats
    left: Floats


def evaluated_rhs(dynamics: LargeDynamics, gains: Gains | None) -> Floats:
    """Return b of the last evaluation, with the stabilising terms of a drift cure."""
    code = dynamics.code
    b = code.rhs
    if gains is None:
        return b
    position, velocity = code.residuals
    factors = np.array([damping(level, gains) for level in LEVELS], float)[dynamics.levels]
    return b - factors[:, 0] * velocity - factors[:, 1] * position


def acceleration(dynamics: LargeDynamics, gains: Gains | None) -> Floats:
    """Return q̈ (n,) at the state of the last evaluation, whose S is factored."""
    code = dynamics.code
    a = code.weights * code.force
    return a + code.correction(evaluated_rhs(dynamics, gains) - code.A @ a)[1]


def solution(dynamics: LargeDynamics, gains: Gains | None = None) -> SparseSolution:
    """Return the solution at the state of the last evaluation, whose S is factored, refined once."""
    code = dynamics.code
    a = code.weights * code.force
    b = evaluated_rhs(dynamics, gains)
    lam, x = code.correction(b - code.A @ a)
    more, change = code.correction(b - code.A @ (a + x))
    lam, qdd = lam + more, a + x + change
    return SparseSolution(qdd, a, lam, code.A_transposed @ lam, b - code.A @ qdd)


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
        return v - self._kept(self._times_s(v))

    def shares_of(self, v: Floats) -> Floats:
        """Return the products (r,) of the dependencies with a vector v (m,)."""
        return (v - self._times_s(self._kept(v)))[self.rows]

    def _times_s(self, v: Floats) -> Floats:
        return self.code.A @ (self.code.weights * (self.code.A_transposed @ v))

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
        found = np.ones(self.code.m, bool)
        for seed in range(RANDOM_DEPENDENCIES if len(self.rows) else 0):
            # a random combination is zero only where all dependencies are
            v = self.combined(np.random.default_rng(seed).normal(size=len(self.rows)))
            found &= np.abs(v) <= UNIQUE_SHARE
        return found


CG_TOLERANCE = 1e-14
"""Tolerance of the conjugate gradients for the shortest multipliers: rounding."""

MOST_CG_ITERATIONS = 1000
"""Most iterations of these conjugate gradients; a few dozen are usual."""

RANDOM_DEPENDENCIES = 2
"""Random combinations of dependencies that show which multipliers are unique."""


def row_lengths(code: SparseSystem) -> Floats:
    """Return the lengths √Sᵢᵢ (m,) of the rows of A in the metric of W; one for a row of zeros."""
    squares = code.A.copy()
    squares.data = squares.data**2
    lengths = np.sqrt(squares @ code.weights)
    return np.where(lengths > 0, lengths, 1.0)


def inconsistency(code: SparseSystem, found: SparseSolution) -> float:
    """Return the part of b − A a that no acceleration can meet, relative to all of it, rows scaled to equal length."""
    rows = left_out(code)
    if not len(rows):
        return 0.0
    lengths = row_lengths(code)
    left = np.zeros(code.m)
    left[rows] = found.left[rows]
    whole = (found.left + code.A @ (found.acceleration - found.free_acceleration)) / lengths
    size = max(float(np.linalg.norm(whole)), TINY)
    bound = float(np.linalg.norm(left / lengths)) / size
    if bound <= CONSISTENCY_TOLERANCE:
        return bound  # its projection on the dependencies is not larger
    return float(np.linalg.norm(Dependencies(code).part_of(left / lengths, lengths))) / size


def sparse_answer(dynamics: LargeDynamics, q: Floats, qd: Floats, t: float, numbers: Floats) -> ConstrainedMotion:
    """Return accelerations and forces of a large system at one state; M and A are sparse matrices."""
    from scipy.sparse import diags_array

    code = dynamics.code
    code.evaluate(q, qd, t, numbers)
    require_valid_terms(dynamics)
    code.factor()
    found = solution(dynamics)
    dependencies = Dependencies(code)
    lam = found.multipliers - dependencies.part_of(found.multipliers)
    change = found.acceleration - found.free_acceleration
    n, m, nothing = code.n, code.m, np.zeros((0, code.n))
    answer: dict[str, Any] = {
        "acceleration": found.acceleration,
        "free_acceleration": found.free_acceleration,
        "ideal_force": found.ideal_force,
        "nonideal_force": np.zeros(n),
        "multipliers": lam,
        "reactions": lam,
        "unique_multipliers": dependencies.unique(),
        "rank": np.asarray(m - len(dependencies.rows)),
        "rank_gap": np.asarray(rank_gap_of(code)),
        "inconsistency": np.asarray(inconsistency(code, found)),
        "residual": np.asarray(_residual(code, found, dependencies.rows)),
        "gauss": np.asarray(change @ (code.mass * change)),
        "mass_matrix": diags_array(code.mass.copy()),
        "applied_force": code.force.copy(),
        "constraint_matrix": code.A.copy(),
        "constraint_rhs": code.rhs,
        "nonideal": np.zeros(n),
        "law_nonideal": nothing,
        "law_forces": nothing,
    }
    return ConstrainedMotion(**answer)


def rank_gap_of(code: SparseSystem) -> float:
    """Return the size of the last row kept over that of the largest one left out; infinite if none was."""
    if code.elimination is None or not code.elimination.left_out.any():
        return np.inf
    remaining, out = np.abs(code.elimination.remaining), code.elimination.left_out
    return float(np.sqrt(remaining[~out].min(initial=np.inf) / max(remaining[out].max(), TINY)))


def _residual(code: SparseSystem, found: SparseSolution, rows: Any) -> float:
    """Return the residual of M q̈ = Q + Aᵀλ and A q̈ = b relative to their terms, without the rows left out."""
    inertia = code.mass * found.acceleration
    motion = np.abs(inertia - code.force - found.ideal_force).max(initial=0.0)
    size = max(np.abs(x).max(initial=0.0) for x in (inertia, code.force, found.ideal_force))
    left = found.left / row_lengths(code)
    left[rows] = 0.0
    root = np.sqrt(code.mass)
    rows_size = max(float(np.abs(root * found.acceleration).max(initial=0.0)), TINY)
    return max(float(motion) / max(float(size), TINY), float(np.abs(left).max(initial=0.0)) / rows_size)


def require_valid_terms(dynamics: LargeDynamics) -> None:
    """Raise an error unless the terms of the last evaluation are finite and all masses are positive."""
    code = dynamics.code
    parts = {"mass_matrix": code.mass, "applied_force": code.force}
    for name, values in parts.items():
        off = np.flatnonzero(~np.isfinite(values))
        if len(off):
            raise InputError(_not_finite(name, [dynamics.coordinates[i] for i in off[:LISTED_NAMES]]))
    if not np.isfinite(code.terms).all():
        off = np.flatnonzero(~np.isfinite(code.A @ np.ones(code.n)) | ~np.isfinite(code.rhs))
        raise InputError(_not_finite("constraint_matrix", [dynamics.constraints[i] for i in off[:LISTED_NAMES]]))
    light = np.flatnonzero(~(code.mass > 0))
    if len(light):
        raise MassMatrixError(
            f"`mass_matrix` of a large system must be positive definite; the mass of "
            f"`{dynamics.coordinates[light[0]]}` is {code.mass[light[0]]:.3g}."
        )


def _not_finite(name: str, owners: Sequence[str]) -> str:
    return (
        f"`{name}` must be finite at this state; that of {quoted(owners)} is not. Look for a division by zero or a "
        f"root of a negative number."
    )


def refuse_contradiction(dynamics: LargeDynamics, found: SparseSolution) -> None:
    """Raise an error that names constraints which contradict one another at the last factorisation."""
    code = dynamics.code
    worst = inconsistency(code, found)
    if worst <= CONSISTENCY_TOLERANCE:
        return
    rows, lengths = left_out(code), row_lengths(code)
    left = np.zeros(code.m)
    left[rows] = found.left[rows]
    outside = np.abs(Dependencies(code).part_of(left / lengths, lengths))
    involved = np.argsort(-outside)[:LISTED_NAMES]
    names = quoted(dynamics.constraints[i] for i in sorted(involved[outside[involved] > NAMED_SHARE * outside.max()]))
    raise ConstraintError(
        f"the constraints must admit an acceleration, A q̈ = b; {names} contradict one another (inconsistency "
        f"{worst:.1e}). Remove or correct one of them."
    )
