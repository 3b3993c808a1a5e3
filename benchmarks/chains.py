# SPDX-License-Identifier: BSD-3-Clause
"""The planar chain of point masses on rods, as a system and as a reader of the papers writes it in NumPy."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from helpers import CHAIN_NUMBERS as NUMBERS
from helpers import chain as chain
from helpers import chain_state as chain_state


def numpy_acceleration(q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """q̈ = a + M^(-1/2) B⁺ (b − A a), literally, with NumPy's eigenvalues and pseudo-inverse."""
    m, g = NUMBERS["m"], NUMBERS["g"]
    n = len(q)
    M = m * np.eye(n)
    Q = np.tile([0.0, -m * g], n // 2)
    steps, speeds = np.diff(q.reshape(-1, 2), axis=0, prepend=0.0), np.diff(qd.reshape(-1, 2), axis=0, prepend=0.0)
    A = np.zeros((n // 2, n))
    for k, step in enumerate(steps):
        A[k, 2 * k : 2 * k + 2] = 2 * step
        if k:
            A[k, 2 * k - 2 : 2 * k] = -2 * step
    b = -2 * np.sum(speeds**2, axis=1)
    values, vectors = np.linalg.eigh(M)
    inverse_root = (vectors / np.sqrt(values)) @ vectors.T
    a = np.linalg.solve(M, Q)
    return a + inverse_root @ np.linalg.pinv(A @ inverse_root) @ (b - A @ a)
