# SPDX-License-Identifier: BSD-3-Clause
"""The closed form of systems with many coupled constraints: multipliers by elimination, with names for all steps.

Cofactors of more than three rows have too many terms to be read. Elimination needs a few short formulas for each row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp

from dalembert.report.blocks import TooLongError
from dalembert.report.equations import Equation
from dalembert.report.formula_symbols import MatrixSymbols, formulas, misfit, schur
from dalembert.report.part_names import SHORT_ENTRY, PartNames
from dalembert.report.staged_form import NamedTerms, combined, named_inverse
from dalembert.report.tidy import tidy, tidy_matrix

MOST_ELIMINATED_ROWS = 24
"""Constraints up to which they are eliminated one by one."""

MOST_PRINTED_RESULTS = 160
"""Names of intermediate results up to which they are printed: about four pages."""


@dataclass(frozen=True)
class EliminatedForm:
    """The solution by elimination: S = L D Lᵀ, L y = e, Lᵀ λ = D⁻¹ y, q̈ = M⁻¹ (Q + Aᵀ λ).

    schur, misfit    S = A M⁻¹ Aᵀ and e = b − A M⁻¹ Q, with independent rows
    factors          the entries of D and of L below the diagonal, row by row in the order of elimination
    reduced          y, in the order of elimination
    multipliers      λ, in the order of the rows
    """

    terms: NamedTerms
    schur: Any
    misfit: Any
    factors: list[Any]
    reduced: list[Any]
    multipliers: Any
    acceleration: Any


def eliminated_form(terms: NamedTerms, kept: Sequence[int]) -> EliminatedForm:
    """Return the solution by elimination with some rows; raise ``TooLongError`` if it would be too long."""
    names = terms.names
    A, b = terms.A.extract(kept, range(terms.A.cols)), terms.b.extract(kept, [0])
    if not kept or A.rows > MOST_ELIMINATED_ROWS:
        raise TooLongError
    inverse = named_inverse(terms.M, names, "W Y", "Δ D")
    S = names.entries(tidy_matrix(A * inverse * A.T), "S H", width=SHORT_ENTRY)
    e = names.entries(tidy_matrix(b - A * inverse * terms.Q), "e ε", width=SHORT_ENTRY)
    order = _elimination_order(S)
    D, L, factors = _factored(S, order, names)
    y: dict[int, Any] = {}
    for position, k in enumerate(order):
        before = [L[k, j] * y[j] for j in order[:position]]
        y[k] = _named(e[k] - sp.Add(*before), "y z", names, k)
    multipliers = sp.zeros(A.rows, 1)
    for position, k in reversed([*enumerate(order)]):
        after = [L[i, k] * multipliers[i] for i in order[position + 1 :]]
        multipliers[k] = names.name(tidy(y[k] / D[k]) - sp.Add(*after), "λ μ", k + 1)
    if len(names.all_names) > MOST_PRINTED_RESULTS:
        raise TooLongError
    acceleration = tidy_matrix(inverse * (terms.Q + combined(A.T, multipliers)))
    return EliminatedForm(terms, S, e, factors, [y[k] for k in order], multipliers, acceleration)


def _elimination_order(S: Any) -> list[int]:
    """Return the order in which each row has the fewest couplings with those that are left."""
    near = {i: {j for j in range(S.rows) if j != i and S[i, j] != 0} for i in range(S.rows)}
    order: list[int] = []
    while near:
        chosen = min(near, key=lambda i: (len(near[i]), i))
        others = near.pop(chosen)
        order.append(chosen)
        for i in others:
            near[i] = (near[i] | others) - {i, chosen}
    return order


def _factored(S: Any, order: Sequence[int], names: PartNames) -> tuple[dict[int, Any], Any, list[Any]]:
    """Return D, L with zeros on its diagonal, and all their entries in the order in which they are computed."""
    D: dict[int, Any] = {}
    L, found = sp.zeros(S.rows, S.rows), []
    for position, k in enumerate(order):
        before = order[:position]
        D[k] = _named(S[k, k] - sp.Add(*(L[k, j] ** 2 * D[j] for j in before)), "D d", names, k)
        found.append(D[k])
        for i in order[position + 1 :]:
            rest = S[i, k] - sp.Add(*(L[i, j] * L[k, j] * D[j] for j in before))
            L[i, k] = _named(rest / D[k], "L P", names, i, k)
            found.append(L[i, k])
    return D, L, found


def _named(part: Any, letters: str, names: PartNames, *rows: int) -> Any:
    """Return a name for a part, which is short itself if it is a number or a name."""
    if part.is_Atom or (-part).is_Atom:
        return part
    return names.name(part, letters, *(row + 1 for row in rows))


def eliminated_forces(form: EliminatedForm, sym: MatrixSymbols) -> list[Any]:
    """Return the paragraphs on the constraint force, from its formula on."""
    terms = form.terms
    blocks: list[Any] = [[Equation(sym.ideal, formulas(sym, saddle=False, ideal=True)[0])]]
    stages: tuple[tuple[tuple[Any, ...], Any], ...] = (
        (("With these entries of ", schur(sym), " (those that are zero or short have no names),"), form.schur),
        (("and these of ", misfit(sym), ","), form.misfit),
        (("the multipliers are eliminated one after the other:",), sp.Matrix(form.factors)),
        (("The right side becomes",), sp.Matrix(form.reduced)),
        (("From the last multiplier to the first,",), form.multipliers),
    )
    for text, matrix in stages:
        definitions = terms.definitions(matrix)
        blocks += [text, definitions] if definitions else []
    return [*blocks, ("so that",), [Equation(sym.ideal, sp.MatMul(sym.A.T, sym.multipliers))]]
