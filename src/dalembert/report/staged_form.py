# SPDX-License-Identifier: BSD-3-Clause
"""The closed form in stages: long entries of matrices are given names, in terms of which the next stage is short."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp

from dalembert.report.blocks import TooLongError, cofactors, coupled_blocks, determinant
from dalembert.report.equations import Equation
from dalembert.report.length import printed_width
from dalembert.report.part_names import WIDE_ENTRY, PartNames
from dalembert.report.tidy import tidy, tidy_matrix, tidy_symmetric

LARGEST_BLOCK = 3
"""Rows of a block whose inverse is written by its cofactors; those of larger blocks have too many terms."""

PLAIN: Callable[[Any], Any] = lambda matrix: matrix  # noqa: E731


@dataclass(frozen=True)
class NamedTerms:
    """The terms M, Q, A, b (all rows) and C of a system, with names for their long entries, or as they are.

    to_decimals    restores decimal numbers in a matrix, if the model has them
    """

    names: PartNames
    M: Any
    Q: Any
    A: Any
    b: Any
    C: Any
    to_decimals: Callable[[Any], Any] = PLAIN

    def definitions(self, *matrices: Any) -> list[Equation]:
        """Return the definitions of names in some matrices that were not defined before, and of those they need."""
        found = self.names.new_definitions(*matrices)
        return [Equation(name, self.to_decimals(sp.Matrix([part]))[0]) for name, part in found]


@dataclass(frozen=True)
class StagedForm:
    """The solution in stages, each in terms of names that were defined before.

    inverse                 M⁻¹
    free_acceleration       a = M⁻¹ Q
    schur, misfit           S = A M⁻¹ Aᵀ and e = b − A a, with independent rows
    multipliers             λ = S⁻¹ e, which are names
    ideal_force             Aᵀ λ
    nonideal_multipliers    −S⁻¹ A M⁻¹ C, which are names, or None without laws
    nonideal_force          C + Aᵀ times these
    """

    terms: NamedTerms
    inverse: Any
    free_acceleration: Any
    schur: Any
    misfit: Any
    multipliers: Any
    ideal_force: Any
    nonideal_multipliers: Any
    nonideal_force: Any
    acceleration: Any


def named_terms(matrices: Sequence[Any], taken: Iterable[str], to_decimals: Callable[[Any], Any]) -> NamedTerms:
    """Return M, Q, A, b and C with names for their long entries, which differ from names that are taken."""
    names = PartNames(taken)
    M, Q, A, b, C = (names.entries(matrix, letter) for matrix, letter in zip(matrices, "MQAbC", strict=True))
    return NamedTerms(names, M, Q, A, b, C, to_decimals)


def staged_form(terms: NamedTerms, kept: Sequence[int]) -> StagedForm:
    """Return the solution in stages with some rows; raise ``TooLongError`` if M or S has a large block."""
    names = terms.names
    A, b = terms.A.extract(kept, range(terms.A.cols)), terms.b.extract(kept, [0])
    inverse = named_inverse(terms.M, names, "W Y", "Δ D")
    a = names.entries(tidy_matrix(inverse * terms.Q), "a α")
    S = names.entries(tidy_symmetric(A * inverse * A.T), "S H")
    e = names.entries(tidy_matrix(b - A * a), "e ε", width=5.0)
    S_inverse = named_inverse(S, names, "R P", "Δ Γ D")
    multipliers = names.entries(tidy_matrix(S_inverse * e), "λ μ", width=0)
    ideal = combined(A.T, multipliers)
    nonideal, extra = terms.C, None
    if not terms.C.is_zero_matrix:
        extra = names.entries(tidy_matrix(-S_inverse * tidy_matrix(A * inverse * terms.C)), "κ ν", width=0)
        nonideal = terms.C + combined(A.T, extra)
    acceleration = accelerations(inverse, terms.Q, a, ideal + nonideal)
    return StagedForm(terms, inverse, a, S, e, multipliers, ideal, extra, nonideal, acceleration)


def accelerations(inverse: Any, Q: Any, a: Any, forces: Any) -> Any:
    """Return M⁻¹ (Q + forces); if M is not diagonal, in the shorter of three forms that are equal."""
    apart = a + inverse * forces
    if inverse.is_diagonal():
        return apart
    forms = [tidy_matrix(inverse * (Q + forces)), _by_coordinates(inverse, Q + forces), apart]
    return min(forms, key=lambda form: sum(map(printed_width, form)))


def _by_coordinates(inverse: Any, forces: Any) -> Any:
    """Return the product of M⁻¹ and forces with one term for each force, over a common denominator of M⁻¹."""
    parts = inverse.applyfunc(lambda entry: sp.fraction(entry)[0])
    divisors = {sp.fraction(entry)[1] for entry in inverse if entry != 0}
    if len(divisors) > 1:
        parts, divisors = inverse, {sp.S.One}
    below = divisors.pop()
    return sp.Matrix([sp.Add(*(x * f for x, f in zip(row, forces, strict=True))) / below for row in parts.tolist()])


def combined(matrix: Any, names: Any) -> Any:
    """Return the product of a matrix and a column of names, with one term for each name."""
    factored = matrix.applyfunc(sp.factor_terms)
    return sp.Matrix(
        [sp.Add(*(factor * name for factor, name in zip(row, names, strict=True))) for row in factored.tolist()]
    )


def named_inverse(matrix: Any, names: PartNames, letters: str, determinants: str) -> Any:
    """Return the inverse of a matrix, with names for determinants and for its own long entries."""
    inverse = sp.zeros(matrix.rows, matrix.cols)
    blocks = coupled_blocks(matrix)
    for number, block in enumerate(blocks, 1):
        part = matrix.extract(block, block)
        if len(block) > LARGEST_BLOCK:
            raise TooLongError
        if len(block) == 1:
            found = part.applyfunc(lambda entry: 1 / entry)
        elif part.free_symbols:
            whole = sp.expand(determinant(part, signed=True))
            indices = (number,) if len(blocks) > 1 else ()
            divisor = names.name(whole, determinants, *indices) if whole.is_Add else whole
            found = cofactors(part).applyfunc(lambda cofactor, d=divisor: tidy(cofactor) / d)
        else:
            found = part.inv()
        for i, row in enumerate(block):
            for j, column in enumerate(block):
                inverse[row, column] = found[i, j]
    # products of cofactors would be long in later stages
    coupled = max(map(len, blocks), default=0) > 2
    return names.entries(inverse, letters, width=0 if coupled else WIDE_ENTRY)
