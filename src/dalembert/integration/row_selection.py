# SPDX-License-Identifier: BSD-3-Clause
"""Selection of the independent constraint rows for the compiled integrator."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.common.levels import level_numbers
from dalembert.equation.dynamics import Dynamics, native_of
from dalembert.native.elimination import needs_refinement
from dalembert.numerics.linear_algebra import independent_rows, independent_rows_of_many
from dalembert.numerics.mass import has_only_masses
from dalembert.numerics.tolerances import CLEARLY_INDEPENDENT, RANK_TOLERANCE, TINY


def is_refined(dynamics: Dynamics, rows: tuple[int, ...], y: Floats, t: float, p: Floats) -> bool:
    """Return whether the compiled solution for these rows needs refinement, judged by the masses at a state."""
    native = native_of(dynamics)
    if not rows or not native.masses_differ:
        return False
    n = len(y) // 2
    M, _, A, *_ = native.terms(y[:n], y[n:], t, p)
    return needs_refinement(M.diagonal(), A if len(rows) == len(A) else A[list(rows)])


def rows_for(
    dynamics: Dynamics, y: Floats, t: float, p: Floats, otherwise: tuple[int, ...] | None = None
) -> tuple[int, ...]:
    """Return the rows to use at a state: independent ones, or all rows if a law needs their multipliers.

    If M or A admit no selection, the result is ``otherwise``, by default all rows.
    """
    native = native_of(dynamics)
    rows = tuple(range(len(dynamics.levels))) if otherwise is None else otherwise
    # leaving out a row would change the other multipliers, and with them the laws
    if native.needs_multipliers:
        return rows
    n = len(y) // 2
    M, _, A, *_ = native.terms(y[:n], y[n:], t, p)
    try:
        B = in_mass_metric(M, A)
    except np.linalg.LinAlgError:
        return rows
    return independent_rows(B, level_numbers(dynamics.levels), RANK_TOLERANCE) if np.isfinite(B).all() else rows


def rows_for_many(dynamics: Dynamics, y: Floats, t: float, p: Floats) -> NDArray[np.bool_]:
    """Return which rows ``rows_for`` selects at k states y (k, 2n) with parameters p (k, …), up to rounding.

    The result is an array (k, m); where M or A admit no selection, it holds no rows.
    """
    B, usable = _in_mass_metric_of_many(dynamics, y, t, p)
    found = np.zeros((len(y), len(dynamics.levels)), bool)
    found[usable] = independent_rows_of_many(B, level_numbers(dynamics.levels), RANK_TOLERANCE)
    return found


def are_independent_rows(
    dynamics: Dynamics, rows: tuple[int, ...], y: Floats, t: float, p: Floats
) -> NDArray[np.bool_]:
    """Return at which of k states y (k, 2n) some rows may be used: others than ``rows_for`` selects may be as good.

    They must be clearly independent, and each of the other rows must depend on those of its own level and of lower
    ones. Rounding decides which of two equal rows is selected; either may be used.
    """
    B, usable = _in_mass_metric_of_many(dynamics, y, t, p)
    levels, left_out = np.asarray(level_numbers(dynamics.levels)), np.setdiff1d(np.arange(B.shape[1]), rows)
    B = B / np.maximum(np.linalg.norm(B, axis=2, keepdims=True), TINY)
    used = np.array(sorted(rows, key=lambda row: levels[row]), int)  # the rows of a level and of lower ones come first
    Q, R = np.linalg.qr(np.swapaxes(B[:, used], 1, 2))
    fit = (np.abs(np.einsum("kii->ki", R)) > CLEARLY_INDEPENDENT).all(axis=1)
    for row in left_out:
        basis = Q[:, :, : np.count_nonzero(levels[used] <= levels[row])]
        rest = B[:, row] - np.einsum("knr,kr->kn", basis, np.einsum("knr,kn->kr", basis, B[:, row]))
        fit &= np.linalg.norm(rest, axis=1) <= RANK_TOLERANCE
    found = np.zeros(len(y), bool)
    found[usable] = fit
    return found


def _in_mass_metric_of_many(dynamics: Dynamics, y: Floats, t: float, p: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Return A L⁻ᵀ at the states at which M = LLᵀ and A are usable, and which these are (k,)."""
    M, _, A, *_ = native_of(dynamics).terms_of_many(y, np.full(len(y), t), p)
    masses = np.einsum("kii->ki", M)
    usable = np.isfinite(M).all(axis=(1, 2)) & np.isfinite(A).all(axis=(1, 2)) & (masses > 0).all(axis=1)
    M, A, masses = M[usable], A[usable], masses[usable]
    # only masses: scaling by their roots is cheaper than a factorisation
    if np.count_nonzero(M) == masses.size:
        return A / np.sqrt(masses)[:, None], usable
    try:
        B = np.linalg.solve(np.linalg.cholesky(M), np.swapaxes(A, 1, 2))
        return np.asarray(np.swapaxes(B, 1, 2), float), usable
    except np.linalg.LinAlgError:
        return A[:0], np.zeros(len(y), bool)


def in_mass_metric(M: Floats, A: Floats) -> Floats:
    """Return A L⁻ᵀ with M = LLᵀ.

    A diagonal M is not factored: from a hundred coordinates on, the multithreaded factorisation waits for all cores,
    which takes long when they are busy.
    """
    if has_only_masses(M):
        return A / np.sqrt(M.diagonal())
    return np.asarray(np.linalg.solve(np.linalg.cholesky(M), A.T).T, float)
