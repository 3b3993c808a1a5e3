# SPDX-License-Identifier: BSD-3-Clause
"""Extraction of the common factor of a column."""

from __future__ import annotations

from functools import reduce
from typing import Any

import sympy as sp


def with_common_factor(column: Any) -> Any:
    """Return the column as an unevaluated product of its common factor and a column; itself if there is none.

    >>> x, y = sp.symbols("x y")
    >>> with_common_factor(sp.Matrix([2 * x * y, 4 * x]))
    (2*x)*Matrix([
    [y],
    [2]])
    """
    present = [entry for entry in column if entry != 0]
    if column.shape == (1, 1):
        return column[0, 0]
    if len(present) < 2:
        return sp.ImmutableMatrix(column)
    factor = _shared_number(present) * _shared_powers(present)
    if factor in (1, -1):
        return sp.ImmutableMatrix(column)
    return sp.MatMul(factor, sp.ImmutableMatrix(column / factor))


def _shared_number(entries: list[Any]) -> Any:
    """Return the common rational factor of the entries, negative if all are."""
    numbers = [entry.as_coeff_Mul()[0] for entry in entries]
    if not all(number.is_Rational for number in numbers):
        return sp.S.One
    size = reduce(sp.gcd, numbers)
    return -size if all(number < 0 for number in numbers) else size


def _shared_powers(entries: list[Any]) -> Any:
    """Return the product of the powers that divide every entry, in numerators or denominators."""
    powers = [entry.as_coeff_Mul()[1].as_powers_dict() for entry in entries]
    shared = sp.S.One
    for base in powers[0]:
        exponents = [power.get(base, sp.S.Zero) for power in powers]
        if all(e.is_Rational for e in exponents):
            if all(e > 0 for e in exponents):
                shared *= base ** min(exponents)
            elif all(e < 0 for e in exponents):
                shared *= base ** max(exponents)
    return shared
