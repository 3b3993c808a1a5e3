# SPDX-License-Identifier: BSD-3-Clause
"""The matrices of the papers' proofs in symbols."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy as sp

from dalembert.common.paper_letters import ScaledMatrices
from dalembert.errors import ModelError
from dalembert.report.blocks import TooLongError, block_inverse, block_root
from dalembert.report.closed_form import OPERATION_LIMIT, tidied


def scaled_symbols(M: Any, Q: Any, A: Any, b: Any, C: Any, names: Sequence[str]) -> ScaledMatrices:
    """Return the matrices for independent rows A; raise ``ModelError`` if they are too long to be read."""
    try:
        root = block_inverse(block_root(M, names))
        B = _tidy(A * root)
        B_plus = _tidy(B.T * block_inverse(_tidy(B * B.T)))
        T = _tidy(B_plus * B)
        V = _tidy(_null_basis(B))
        D, E = _tidy(B.T * B), _tidy(V * V.T)
        J = block_inverse(_tidy(D + E))
        e, a_s, c_s = _tidy(b - A * block_inverse(M) * Q), _tidy(root * Q), _tidy(root * C)
        return ScaledMatrices(B, B_plus, e, a_s, c_s, T, _tidy(sp.eye(M.rows) - T), V, D, E, J)
    except TooLongError:
        raise ModelError(
            [
                "the matrices of scaled accelerations must be short to be written out; these are too long. "
                "Use those of `da.motion`, which are numbers."
            ]
        ) from None


def _null_basis(B: Any) -> Any:
    # multiplied by their denominators: any basis serves, and this one is the shortest
    vectors = [v * sp.lcm_list([sp.fraction(sp.together(e))[1] for e in v]) for v in B.nullspace()]
    return sp.Matrix.hstack(*vectors) if vectors else sp.zeros(B.cols, 0)


def _tidy(matrix: Any) -> Any:
    return tidied(matrix, OPERATION_LIMIT)
