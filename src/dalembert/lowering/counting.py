# SPDX-License-Identifier: BSD-3-Clause
"""How much arithmetic the written-out elimination of a system takes, found by running it on counters."""

from __future__ import annotations

from typing import Any

import sympy as sp

from dalembert.equation import straight_line as sl


class _Tally:
    """An unknown number that counts the operations done with it and its like."""

    def __init__(self, book: list[int]):
        self.book = book

    def _count(self, other: Any = None) -> _Tally:
        self.book[0] += 1
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _count

    def __neg__(self) -> _Tally:
        return self._count()


def count_elimination(mass_matrix: Any, constraint_matrix: Any) -> int:
    """Operations to factor M, orthogonalise the rows of A and solve, known zeros and ones being free."""
    book = [0]

    def entry(expression: Any) -> Any:
        return float(expression) if isinstance(expression, sp.Number) else _Tally(book)

    M = [[entry(e) for e in row] for row in mass_matrix]
    A = [[entry(e) for e in row] for row in constraint_matrix]
    mass = sl.factor(M)
    rows = sl.orthonormal_rows(mass, A, lambda k, size, whole: size)
    unknown = [_Tally(book) for _ in M]
    mass.backward(rows.meet(mass.forward(unknown), [_Tally(book) for _ in A]))
    return book[0]
