# SPDX-License-Identifier: BSD-3-Clause
"""Equations of a written derivation, as the printers of all formats receive them."""

from __future__ import annotations

from collections.abc import Iterator
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


def sides(block: Any) -> list[Any]:
    """Return the sides of the equations of a display; none for a paragraph."""
    return [side for equation in block for side in equation[:2]] if isinstance(block, list) else []


def entries(side: Any) -> Iterator[Any]:
    """Yield the scalar expressions in a side of an equation; matrix symbols have none."""
    if isinstance(side, sp.MatrixBase):
        yield from side.flat()
    elif isinstance(side, sp.MatMul):  # a column with its common factor
        for factor in side.args:
            yield from entries(factor)
    elif not isinstance(side, sp.MatrixExpr):
        yield side


def changed(equation: Equation, change: Any) -> Equation:
    """Return an equation with a function applied to its scalar expressions."""
    return Equation(with_entries(equation.left, change), with_entries(equation.right, change), equation.label)


def with_entries(side: Any, change: Any) -> Any:
    """Return a side of an equation with a function applied to its scalar expressions."""
    if isinstance(side, sp.MatrixBase):
        return sp.ImmutableMatrix(side.rows, side.cols, [change(e) for e in side])
    if isinstance(side, sp.MatMul):
        return sp.MatMul(*(with_entries(factor, change) for factor in side.args))
    return side if isinstance(side, sp.MatrixExpr) else change(side)
