# SPDX-License-Identifier: BSD-3-Clause
"""Inverses and square roots of symbolic block-diagonal matrices, one block at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy as sp

from dalembert.errors import ModelError
from dalembert.model import graph
from dalembert.model.ordering import quoted
from dalembert.report.length import is_long
from dalembert.report.tidy import monomials, tidy

EXPANSION_LIMIT = 400
"""Products of monomials in a determinant above which a block is not inverted symbolically."""

_LARGEST_BLOCK = 7
"""Rows above which a block is not inverted: the number of products grows with the factorial."""


class TooLongError(Exception):
    """The closed form exists but is too long to be written out."""


def block_inverse(matrix: Any) -> Any:
    """Return the inverse; raise ``TooLongError`` if that of a block is too long."""
    inverse = sp.zeros(matrix.rows, matrix.cols)
    for block in coupled_blocks(matrix):
        _fill(inverse, block, _inverse(matrix.extract(block, block)))
    return inverse


def block_root(matrix: Any, names: Sequence[str]) -> Any:
    """Return the symmetric square root M^(1/2) of a positive definite matrix whose blocks have one or two rows."""
    root = sp.zeros(matrix.rows, matrix.cols)
    for block in coupled_blocks(matrix):
        if len(block) > 2:
            raise ModelError(
                [
                    f"a law given as z = M^(-1/2) C needs the square root of the mass matrix, which has no short "
                    f"closed form when {quoted(names[i] for i in block)} are coupled. Give the law as C, without "
                    f"`scaled=True`, or compute numbers with `da.motion`."
                ]
            )
        _fill(root, block, _root(matrix.extract(block, block)))
    return root


def coupled_blocks(matrix: Any) -> list[list[int]]:
    """Return the index sets of the diagonal blocks, which are the connected components of the nonzero entries."""
    remaining, blocks = set(range(matrix.rows)), []
    while remaining:
        block, fresh = set[int](), {min(remaining)}
        while fresh:
            block |= fresh
            neighbours = {j for i in fresh for j in remaining if matrix[i, j] != 0 or matrix[j, i] != 0}
            fresh = neighbours - block
        blocks.append(sorted(block))
        remaining -= block
    return blocks


def _fill(whole: Any, block: list[int], part: Any) -> None:
    for i, row in enumerate(block):
        for j, column in enumerate(block):
            whole[row, column] = part[i, j]


def _inverse(block: Any) -> Any:
    """Return the inverse by Cramer's rule, which keeps the determinant as a common denominator."""
    if not graph.free_symbols(*block):
        return block.inv()
    if (
        block.rows > _LARGEST_BLOCK
        or any(map(is_long, block))
        or determinant(block.applyfunc(monomials)) > EXPANSION_LIMIT
    ):
        raise TooLongError
    whole = tidy(determinant(block, signed=True))
    return cofactors(block).applyfunc(lambda cofactor: tidy(cofactor / whole))


def cofactors(block: Any) -> Any:
    """Return the transposed matrix of cofactors, which is the inverse times the determinant."""
    return sp.Matrix(
        block.rows, block.rows, lambda i, j: (-1) ** (i + j) * determinant(block.minor_submatrix(j, i), signed=True)
    )


def determinant(block: Any, *, signed: bool = False) -> Any:
    """Expand the determinant along the first row; without signs it is the permanent, which counts the products."""
    if block.rows == 0:
        return sp.S.One
    terms = [
        (-1 if signed and j % 2 else 1) * block[0, j] * determinant(block.minor_submatrix(0, j), signed=signed)
        for j in range(block.cols)
        if block[0, j] != 0
    ]
    return sp.Add(*terms)


def _root(block: Any) -> Any:
    """Return √m, or for two rows (M + √det·1)/√(tr + 2√det), which follows from the Cayley–Hamilton theorem."""
    if block.rows == 1:
        return block.applyfunc(sp.sqrt)
    root_det = sp.sqrt(tidy(block.det()))
    return ((block + root_det * sp.eye(2)) / sp.sqrt(tidy(block.trace() + 2 * root_det))).applyfunc(tidy)
