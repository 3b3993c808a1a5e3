# SPDX-License-Identifier: BSD-3-Clause
"""The parts of a written derivation that are about the constraint force."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sympy as sp

from dalembert.report.blocks import block_inverse
from dalembert.report.common_factor import with_common_factor
from dalembert.report.decimals import decimals_like, exact
from dalembert.report.derivation_notes import PRODUCTS
from dalembert.report.equations import Equation, scalar
from dalembert.report.formula_symbols import MatrixSymbols, formulas, misfit, saddle_matrix, schur
from dalembert.report.staged_elimination import EliminatedForm, eliminated_forces
from dalembert.report.staged_form import StagedForm
from dalembert.report.staged_steps import WIDEST_MATRIX, inverse_mass, staged_forces, staged_nonideal
from dalembert.report.tidy import tidy_matrix

if TYPE_CHECKING:
    from dalembert.report.derivation import Derivation

NO_FORCE = ("There is no constraint, hence no ideal constraint force.",)
IDEAL = ("The constraints are ideal: the constraint force has no other part.",)


def force_blocks(derivation: Derivation, sym: MatrixSymbols) -> tuple[Any, ...]:
    """Return the paragraphs on the constraint force, in full or as products of matrices."""
    remarks = tuple((note,) for note in derivation.notes)
    if not derivation.system.constraints:
        return *remarks, NO_FORCE, *(nonideal_blocks(derivation, sym) if derivation.system.laws else ())
    return *remarks, *ideal_blocks(derivation, sym), *nonideal_blocks(derivation, sym)


def staged_force_blocks(derivation: Derivation, form: StagedForm, sym: MatrixSymbols) -> tuple[Any, ...]:
    """Return the paragraphs on the constraint force in stages."""
    remarks = tuple((note,) for note in derivation.notes if note != PRODUCTS)
    constraints, laws = derivation.system.constraints, derivation.system.laws
    if constraints:
        ideal = (_ideal_text(derivation, sym), *staged_forces(form, sym))
    else:
        ideal = (NO_FORCE, *inverse_mass(form.inverse, form.terms, sym))
    if not laws:
        return *remarks, *ideal, *((IDEAL,) if constraints else ())
    return *remarks, *ideal, *staged_nonideal(form, sym)


def eliminated_force_blocks(derivation: Derivation, form: EliminatedForm, sym: MatrixSymbols) -> tuple[Any, ...]:
    """Return the paragraphs on the constraint force by elimination of the multipliers."""
    remarks = tuple((note,) for note in derivation.notes if note != PRODUCTS)
    return *remarks, _ideal_text(derivation, sym), *eliminated_forces(form, sym), IDEAL


def _ideal_text(derivation: Derivation, sym: MatrixSymbols) -> tuple[Any, ...]:
    text = "The ideal part of the constraint force does no work in virtual displacements. It is given by"
    if len(derivation.independent) == len(derivation.system.constraints):
        return (text,)
    return text + " (", sym.A, " and ", sym.b, " with the rows of the constraints used)"


def ideal_blocks(derivation: Derivation, sym: MatrixSymbols) -> tuple[Any, ...]:
    """Return the paragraphs on its ideal part."""
    ideal, text = sym.ideal, _ideal_text(derivation, sym)
    formula = (
        _saddle_formula(sym) if derivation.saddle else [Equation(ideal, formulas(sym, saddle=False, ideal=True)[0])]
    )
    if not derivation.expanded:
        return text, formula
    direct = derivation.saddle or derivation.control is not None
    steps = [] if direct else _intermediate_results(derivation, sym)
    column = with_common_factor(derivation.system.symbols.plain(derivation.ideal_force))
    return text, formula, ("which comes to",), [*steps, Equation(ideal, column)]


def _saddle_formula(sym: MatrixSymbols) -> list[Equation]:
    unknowns = sp.BlockMatrix([[sym.qdd], [sym.multipliers]])
    return [
        Equation(sp.MatMul(saddle_matrix(sym.M, sym.A), unknowns), sp.BlockMatrix([[sym.Q], [sym.b]])),
        Equation(sym.ideal, sp.MatMul(sym.A.T, sym.multipliers)),
    ]


def _intermediate_results(derivation: Derivation, sym: MatrixSymbols) -> list[Equation]:
    """Return the values of A M⁻¹ Aᵀ and b − A M⁻¹ Q with the rows that were used."""
    if max(sym.A.shape) > WIDEST_MATRIX:
        return []
    given = [derivation.system.symbols.plain(derivation.meaning[letter]) for letter in (sym.M, sym.Q, sym.A, sym.b)]
    to_decimals = decimals_like(given)
    # exact arithmetic, so that terms cancel; decimals are restored afterwards
    M, Q, A, b = map(exact, given)
    W = A * block_inverse(M)
    return [
        Equation(schur(sym), scalar(to_decimals(tidy_matrix(W * A.T)))),
        Equation(misfit(sym), scalar(to_decimals(tidy_matrix(b - W * Q)))),
    ]


def nonideal_blocks(derivation: Derivation, sym: MatrixSymbols) -> tuple[Any, ...]:
    """Return the paragraphs on its nonideal part."""
    C, nonideal = sym.C, sym.nonideal
    if not derivation.system.laws:
        return (IDEAL,)
    law = [Equation(C, with_common_factor(derivation.system.symbols.plain(derivation.nonideal)))]
    shown = _nonideal_formula(derivation, sym)
    if derivation.expanded:
        shown.append(Equation(nonideal, with_common_factor(derivation.system.symbols.plain(derivation.nonideal_force))))
    work = ("The constraint force also does, in every virtual displacement, the work of",)
    return work, law, ("Hence the nonideal part, from",) if len(shown) > 2 else ("Hence the nonideal part",), shown


def _nonideal_formula(derivation: Derivation, sym: MatrixSymbols) -> list[Equation]:
    if not (derivation.saddle and derivation.independent):
        return [Equation(sym.nonideal, formulas(sym, saddle=False, ideal=False)[1])]
    unknowns = sp.BlockMatrix([[sym.nonideal_qdd], [sym.nonideal_multipliers]])
    right = sp.BlockMatrix([[sym.C], [sp.ZeroMatrix(sym.A.rows, 1)]])
    return [
        Equation(sp.MatMul(saddle_matrix(sym.M, sym.A), unknowns), right),
        Equation(sym.nonideal, sp.MatAdd(sym.C, sp.MatMul(sym.A.T, sym.nonideal_multipliers))),
    ]
