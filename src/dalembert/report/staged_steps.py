# SPDX-License-Identifier: BSD-3-Clause
"""The parts of a written derivation that solve the equations in stages, if the results in full do not fit on lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sympy as sp

from dalembert.report.blocks import TooLongError
from dalembert.report.common_factor import with_common_factor
from dalembert.report.decimals import decimals_like, exact
from dalembert.report.equations import Equation, scalar
from dalembert.report.formula_symbols import MatrixSymbols, formulas, misfit, schur
from dalembert.report.length import LINE, is_long, printed_width
from dalembert.report.part_names import PartNames
from dalembert.report.staged_elimination import EliminatedForm, eliminated_form
from dalembert.report.staged_form import NamedTerms, StagedForm, named_terms, staged_form

if TYPE_CHECKING:
    from dalembert.report.derivation import Derivation

WIDEST_MATRIX = 6
"""Coordinates or rows up to which matrices are shown; larger ones are shown as equations, row by row."""


def plain_terms(derivation: Derivation) -> NamedTerms:
    """Return the terms of the model as they are."""
    return NamedTerms(PartNames(()), *map(sp.ImmutableMatrix, matrices_of(derivation)))


def staged(derivation: Derivation) -> StagedForm | None:
    """Return the solution in stages; None if the results in full fit on lines, or if stages would be too long."""
    matrices = matrices_of(derivation)
    if derivation.saddle or derivation.control is not None or _fits(derivation):
        return None
    if max(max(matrix.shape) for matrix in matrices) > WIDEST_MATRIX or any(is_long(e) for m in matrices for e in m):
        return None
    names = derivation.system.constraint_names
    # exact arithmetic, so that terms cancel; decimals are restored afterwards
    terms = named_terms([*map(exact, matrices)], taken_names(derivation), decimals_like(matrices))
    try:
        return staged_form(terms, [names.index(name) for name in derivation.independent])
    except TooLongError:
        return None


def eliminated(derivation: Derivation) -> EliminatedForm | None:
    """Return the solution by elimination if the results are not explicit; None if that does not apply, or is long."""
    matrices = matrices_of(derivation)
    if derivation.expanded or derivation.saddle or derivation.control is not None or derivation.system.laws:
        return None
    if any(is_long(e) for m in matrices for e in m):
        return None
    names = derivation.system.constraint_names
    M, Q, A, b, C = map(exact, matrices)
    terms = NamedTerms(PartNames(taken_names(derivation)), M, Q, A, b, C, decimals_like(matrices))
    try:
        return eliminated_form(terms, [names.index(name) for name in derivation.independent])
    except TooLongError:
        return None


def taken_names(derivation: Derivation) -> tuple[str, ...]:
    """Return the names of coordinates and parameters, from which those of parts must differ."""
    return *derivation.system.coordinate_names, *derivation.system.parameter_names


def defined(terms: NamedTerms, shown: list[Equation], *matrices: Any) -> list[Any]:
    """Return a display, and the definitions of the names in some matrices that were not defined before."""
    definitions = terms.definitions(*matrices)
    return [shown, ("where",), definitions] if definitions else [shown]


def staged_forces(form: StagedForm, sym: MatrixSymbols) -> list[Any]:
    """Return the paragraphs on the constraint force, from its formula on."""
    terms = form.terms
    blocks: list[Any] = [[Equation(sym.ideal, formulas(sym, saddle=False, ideal=True)[0])]]
    blocks += [("In stages:",), *inverse_mass(form.inverse, terms, sym)]
    if form.free_acceleration.free_symbols & set(terms.names.all_names):
        a = Equation(sp.MatMul(sp.Inverse(sym.M), sym.Q), shown(form.free_acceleration, terms))
        blocks += defined(terms, [a], form.free_acceleration)
    stage = [Equation(schur(sym), shown(form.schur, terms)), Equation(misfit(sym), shown(form.misfit, terms))]
    blocks += defined(terms, stage, form.schur, form.misfit)
    multipliers = Equation(sym.multipliers, sp.MatMul(sp.Inverse(schur(sym)), misfit(sym)))
    blocks += [*defined(terms, [multipliers], form.multipliers), ("so that",)]
    column = with_common_factor(terms.to_decimals(form.ideal_force))
    return [*blocks, [Equation(sym.ideal, sp.MatMul(sym.A.T, sym.multipliers)), Equation(sym.ideal, column)]]


def staged_nonideal(form: StagedForm, sym: MatrixSymbols) -> list[Any]:
    """Return the paragraphs on the nonideal part of the constraint force."""
    terms = form.terms
    blocks: list[Any] = [("The constraint force also does, in every virtual displacement, the work of",)]
    blocks += defined(terms, [Equation(sym.C, shown(terms.C, terms))], terms.C)
    multipliers = sp.MatMul(-1, sp.Inverse(schur(sym)), sym.A, sp.Inverse(sym.M), sym.C)
    stage = [
        Equation(sym.nonideal, sp.MatAdd(sym.C, sp.MatMul(sym.A.T, sym.nonideal_multipliers))),
        Equation(sym.nonideal_multipliers, multipliers),
    ]
    blocks += [("Hence the nonideal part",), *defined(terms, stage, form.nonideal_multipliers), ("so that",)]
    return [*blocks, [Equation(sym.nonideal, with_common_factor(terms.to_decimals(form.nonideal_force)))]]


def inverse_mass(inverse: Any, terms: NamedTerms, sym: MatrixSymbols) -> list[Any]:
    """Return the display of M⁻¹, unless M is diagonal."""
    if inverse.is_diagonal():
        return []
    return defined(terms, [Equation(sp.Inverse(sym.M), shown(inverse, terms))], inverse)


def shown(matrix: Any, terms: NamedTerms) -> Any:
    """Return a matrix as it is printed."""
    return scalar(terms.to_decimals(sp.ImmutableMatrix(matrix)))


def matrices_of(derivation: Derivation) -> list[Any]:
    """Return M, Q, A, b (all rows) and C in plain symbols."""
    names = ("mass_matrix", "applied_force", "constraint_matrix", "constraint_rhs", "nonideal")
    return [derivation.system.symbols.plain(getattr(derivation, name)) for name in names]


def _fits(derivation: Derivation) -> bool:
    """Return whether the results are explicit, and each fits on a line."""
    results = (derivation.ideal_force, derivation.nonideal_force, derivation.acceleration)
    if not derivation.expanded or any(is_long(e) for column in results for e in column):
        return False
    plain = [derivation.system.symbols.plain(column) for column in results]
    return all(printed_width(e) <= LINE for column in plain for e in column)
