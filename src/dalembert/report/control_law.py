# SPDX-License-Identifier: BSD-3-Clause
"""The inputs of actuators in closed form: G u = e with the least cost uᵀN u."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sympy as sp

from dalembert.model.control_form import ControlForm
from dalembert.model.ordering import quoted
from dalembert.model.symbols import StateSymbols
from dalembert.report.blocks import TooLongError, block_inverse
from dalembert.report.closed_form import OPERATION_LIMIT, ClosedForm, SymbolicTerms, closed_form, tidied
from dalembert.report.control_symbols import ControlSymbols, LawKind, control_symbols, inputs_formula
from dalembert.report.decimals import exact
from dalembert.report.formula_symbols import formulas, matrix_symbols
from dalembert.report.requirement_search import (
    NoClosedFormError,
    RequirementRow,
    RequirementSearch,
    requirement_row,
)
from dalembert.report.tidy import tidy_matrix


@dataclass(frozen=True)
class ControlLaw:
    """A control law in the symbols of the model, for n coordinates, r inputs and k independent rows of requirements.

    names            of the inputs
    rows             the equations of the requirements: A q̈ = b − s
    directions       B (n, r)
    cost             N (r, r); None if it is M⁻¹
    matrix, rhs, settling    A (k, n), b (k, 1) and s (k, 1)
    effect, missing  G (k, r) and e (k, 1); None if they are too long
    inputs           u (r, 1): expressions, a formula in matrix symbols, or None if there is no closed form
    formula          u in matrix symbols, or None
    kind             what that formula looks like
    notes            sentences
    """

    names: tuple[str, ...]
    rows: tuple[RequirementRow, ...]
    directions: Any
    cost: Any
    matrix: Any
    rhs: Any
    settling: Any
    effect: Any
    missing: Any
    inputs: Any
    formula: Any
    kind: LawKind
    notes: tuple[str, ...]

    @property
    def expanded(self) -> bool:
        """Whether the inputs are given as expressions."""
        return isinstance(self.inputs, sp.MatrixBase)

    @property
    def symbols(self) -> ControlSymbols:
        """The matrix symbols of the formula."""
        return control_symbols(self.directions.rows, len(self.names), len(self.rows))

    @property
    def meaning(self) -> dict[Any, Any]:
        """Explicit matrices for the matrix symbols of the formula."""
        sym = self.symbols
        cost = {} if self.cost is None else {sym.N: self.cost}
        return {sym.B: self.directions, sym.A: self.matrix, sym.b: self.rhs, sym.s: self.settling, **cost}

    def restored(self, restore: Callable[[Any], Any]) -> ControlLaw:
        """Return the law with its matrices in the symbols of the user."""
        parts = ("directions", "cost", "matrix", "rhs", "settling", "effect", "missing", "inputs")
        return replace(self, **{part: restore(getattr(self, part)) for part in parts})


def controlled_form(law: ControlLaw, terms: SymbolicTerms) -> ClosedForm:
    """Return forces and acceleration under the inputs of a control law."""
    if law.expanded:
        found = closed_form(replace(terms, Q=tidy_matrix(terms.Q + law.directions * law.inputs)))
        if found.expanded:
            return found
    sym, own = matrix_symbols(terms.M.rows, terms.A.rows), law.symbols
    u = own.u if law.formula is None else law.formula
    force = sp.MatAdd(sym.Q, u if law.kind.everywhere else sp.MatMul(own.B, u))
    results = formulas(sym._replace(Q=force), saddle=False, ideal=law.kind.ideal)
    return ClosedForm(*results, expanded=False)


def control_law(
    form: ControlForm, terms: SymbolicTerms, symbols: StateSymbols, parameters: Sequence[Any]
) -> ControlLaw:
    """Return the control law of servo constraints; the terms are those without inputs, in plain symbols."""
    n, r = terms.M.rows, len(form.actuators)
    B = _exact(sp.Matrix(r, n, [e for direction in form.directions for e in direction])).T
    only_mass = form.by_mass and r == n
    N = None if only_mass else _total_cost(form, terms.M)
    rows, notes = [requirement_row(form, i) for i in range(len(form.requirements))], list[str]()
    search: RequirementSearch | None = RequirementSearch(terms, symbols, parameters, B)
    try:
        rows, dropped = search.independent(rows)
        if dropped:
            notes.append(f"Requirements that follow from others are left out: {quoted(dropped)}.")
    except NoClosedFormError as reason:
        notes.append(str(reason))
        search = None
    if any(limit is not None for limit in form.limits):
        notes.append("Limits of inputs are not part of the closed form.")
    A = _exact(sp.Matrix(len(rows), n, [e for row in rows for e in row.gradient]))
    b, s = (_exact(sp.Matrix([getattr(row, part) for row in rows])) for part in ("rhs", "settling"))
    kind = LawKind(
        constrained=terms.A.rows > 0,
        ideal=terms.C.is_zero_matrix,
        everywhere=sp.eye(n) == B,
        by_mass=only_mass,
        unit_cost=N is not None and sp.eye(r) == N,
        euclidean=form.euclidean,
        settled=not s.is_zero_matrix,
    )
    own = control_symbols(n, r, len(rows))
    formula = None if search is None else inputs_formula(matrix_symbols(n, terms.A.rows), own, kind)
    law = ControlLaw(form.actuators, tuple(rows), B, N, A, b, s, None, None, formula, formula, kind, tuple(notes))
    try:
        return law if search is None else _expanded(law, search)
    except TooLongError:
        return law


def _exact(matrix: Any) -> Any:
    return tidy_matrix(exact(matrix))


def _total_cost(form: ControlForm, M: Any) -> Any:
    """Return N of all inputs; that of a force on every coordinate is M⁻¹, if no other one is given."""
    size = len(form.cost)
    own = _exact(sp.Matrix(size, size, [e for row in form.cost for e in row]))
    if not form.by_mass:
        return own
    try:
        return sp.diag(block_inverse(M), own)
    except TooLongError:
        return sp.diag(M.inv(), own)


def _expanded(law: ControlLaw, search: RequirementSearch) -> ControlLaw:
    """Return the law with its inputs as expressions; raise ``TooLongError`` if they are too long."""
    terms, limit, kind, B = search.terms, OPERATION_LIMIT, law.kind, law.directions
    none = sp.zeros(terms.A.rows, 1)
    columns = [search.solve(B[:, j], none)[0] for j in range(B.cols)]
    G = tidied(law.matrix * sp.Matrix.hstack(*columns), limit)
    weight = terms.M if law.cost is None else block_inverse(law.cost)
    settled = sp.zeros(len(law.rows), 1) if kind.euclidean else law.settling
    e = tidied(law.rhs - settled - law.matrix * search.acceleration, limit)
    u = _least(G, weight, e, limit)
    if kind.euclidean:
        u = tidied(u - _least(G, terms.M * _allowed(terms.A) * terms.M, law.settling, limit), limit)
    return replace(law, effect=G, missing=e, inputs=u)


def _least(G: Any, weight: Any, target: Any, limit: int) -> Any:
    weighted = tidied(weight * G.T, limit)
    inverse = block_inverse(tidied(G * weighted, limit))
    return tidied(weighted * tidied(inverse * target, limit), limit)


def _allowed(A: Any) -> Any:
    """Return the Euclidean projection onto the accelerations that constraints allow."""
    unit = sp.eye(A.cols)
    return unit - A.T * block_inverse(A * A.T) * A if A.rows else unit
