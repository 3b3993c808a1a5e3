# SPDX-License-Identifier: BSD-3-Clause
"""The matrices of the papers' proofs as numbers, at one state."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.common.paper_letters import ScaledMatrices
from dalembert.equation.pseudo_inverse import square_roots
from dalembert.errors import InputError, MassMatrixError
from dalembert.numerics.linear_algebra import null_space
from dalembert.numerics.tolerances import RANK_TOLERANCE


def scaled_numbers(M: Any, Q: Any, A: Any, b: Any, C: Any) -> ScaledMatrices:
    """Return the matrices for one state; raise an error for a batch, or if M is not positive definite."""
    M, Q, A, b, C = (np.asarray(array, float) for array in (M, Q, A, b, C))
    if M.ndim > 2:
        raise InputError(
            f"the matrices of scaled accelerations belong to one state; got a batch of shape {M.shape[:-2]}. "
            f"Solve for one state at a time."
        )
    least = float(np.linalg.eigvalsh(M)[0])
    if least <= 0:
        raise MassMatrixError(
            f"the mass matrix must be positive definite, since scaled accelerations need M^(1/2); its smallest "
            f"eigenvalue is {least:.3g}. Use `multipliers` and the forces instead."
        )
    _, inverse_root = square_roots(M)  # pyright: ignore[reportArgumentType]
    scale: Floats = np.asarray(inverse_root, float)
    B = A @ scale
    B_plus = np.linalg.pinv(B, RANK_TOLERANCE)
    T = B_plus @ B
    V = null_space(B).T
    D, E = B.T @ B, V @ V.T
    e, a_s, c_s = b - A @ np.linalg.solve(M, Q), scale @ Q, scale @ C
    return ScaledMatrices(B, B_plus, e, a_s, c_s, T, np.eye(len(M)) - T, V, D, E, np.linalg.inv(D + E))
