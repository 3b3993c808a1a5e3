# SPDX-License-Identifier: BSD-3-Clause
"""Equations of a written derivation, as the printers of all formats receive them."""

from __future__ import annotations

from typing import Any, NamedTuple

import sympy as sp


class Equation(NamedTuple):
    """An equation left = right with an optional label, in plain symbols and matrix symbols."""

    left: Any
    right: Any
    label: str = ""


def scalar(matrix: Any) -> Any:
    """Return the entry of a matrix that has only one, otherwise the matrix."""
    return matrix[0, 0] if matrix.shape == (1, 1) else sp.ImmutableMatrix(matrix)
