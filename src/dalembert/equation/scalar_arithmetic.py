# SPDX-License-Identifier: BSD-3-Clause
"""Scalar arithmetic on entries of which some are known numbers: zeros and ones cost nothing.

An entry is a Python number, known before anything runs, or a recorded value (``native.tape.Value``). So the sparsity of
M and A is used without anybody declaring it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Vector = Sequence[Any]
Matrix = Sequence[Sequence[Any]]


def is_number(a: Any, value: int) -> bool:
    """Whether an entry is a number known beforehand, and this one."""
    return isinstance(a, (int, float)) and a == value


def mul(a: Any, b: Any) -> Any:
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
    """One over a pivot."""
    if is_number(pivot, 0):
        return float("inf")  # a mass matrix that is singular by its form; found out when the pivots are checked
    return 1 if is_number(pivot, 1) else 1 / pivot
