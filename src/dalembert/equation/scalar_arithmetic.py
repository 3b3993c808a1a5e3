# SPDX-License-Identifier: BSD-3-Clause
"""Scalar arithmetic on entries of which some are known numbers: zeros and ones cost nothing.

An entry is a Python number, known before the program runs, or a recorded value (``native.tape.Value``). The sparsity of
M and A is thus used without being declared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Vector = Sequence[Any]
Matrix = Sequence[Sequence[Any]]


def is_number(a: Any, value: int) -> bool:
    """Return whether an entry is a known number with this value."""
    return isinstance(a, (int, float)) and a == value


def mul(a: Any, b: Any) -> Any:
    # an integer zero, so that sums and products with it are left out as well
    if is_number(a, 0) or is_number(b, 0):
        return 0
    if is_number(a, 1):
        return b
    if is_number(b, 1):
        return a
    return a * b


def add(a: Any, b: Any) -> Any:
    if is_number(a, 0):
        return b
    return a if is_number(b, 0) else a + b


def sub(a: Any, b: Any) -> Any:
    if is_number(b, 0):
        return a
    return -b if is_number(a, 0) else a - b


def dot(u: Vector, v: Vector) -> Any:
    total: Any = 0
    for a, b in zip(u, v, strict=True):
        total = add(total, mul(a, b))
    return total


def times(u: Vector, v: Vector) -> Vector:
    return [mul(a, b) for a, b in zip(u, v, strict=True)]


def plus(u: Vector, v: Vector, factor: Any = 1) -> Vector:
    return [add(a, mul(factor, b)) for a, b in zip(u, v, strict=True)]


def minus(u: Vector, v: Vector, factor: Any = 1) -> Vector:
    return [sub(a, mul(factor, b)) for a, b in zip(u, v, strict=True)]


def reciprocal(pivot: Any) -> Any:
    """Return one over a pivot."""
    if is_number(pivot, 0):
        return float("inf")  # M is singular by its form; the check of the pivots reports it
    return 1 if is_number(pivot, 1) else 1 / pivot
