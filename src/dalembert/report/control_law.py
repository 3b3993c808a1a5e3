# SPDX-License-Identifier: BSD-3-Clause
"""The inputs of actuators in closed form: G u = e with the least cost uᵀN u."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp

from dalembert.array_types import Floats
from dalembert.linear_algebra import independent_rows
from dalembert.model.control_form import ControlForm
from dalembert.model.numeric_function import numeric_function
from dalembert.model.ordering import quoted
from dalembert.model.standard_form import gradient, time_derivative
from dalembert.model.symbols import StateSymbols
from dalembert.report.blocks import TooLongError, block_inverse
from dalembert.report.closed_form import OPERATION_LIMIT, ClosedForm, SymbolicTerms, closed_form, schur_solver, tidied
from dalembert.report.control_symbols import ControlSymbols, LawKind, control_symbols, inputs_formula
from dalembert.report.decimals import exact
from dalembert.report.formula_symbols import formulas, matrix_symbols
from dalembert.report.tidy import tidy_matrix
from dalembert.tolerances import SAME_VALUE, SHARE_TOLERANCE

MOST_DERIVATIVES = 8
"""Highest derivative of a requirement in which inputs are looked for, as in ``lowering.relative_degree``."""

INPUT_PROBES = 3
"""Random states at which the effect of inputs is evaluated."""


@dataclass(frozen=True)
class RequirementRow:
    """One equation of a requirement: gradient · q̈ = rhs − settling.

    name       of the requirement
    order      the derivative of the requirement
    errors     β and its derivatives, and then the combinations ψ, all of which must vanish
    rate       ω, or None if the coefficients of β, β̇, … are given
    """

    name: str
    order: int
    gradient: tuple[Any, ...]
    rhs: Any
    settling: Any
    errors: tuple[Any, ...]
    rate: Any


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


class _NoClosedFormError(Exception):
    """Raised if the inputs have no closed form here; its text says why."""


def control_law(
    form: ControlForm, terms: SymbolicTerms, symbols: StateSymbols, parameters: Sequence[Any]
) -> ControlLaw:
    """Return the control law of servo constraints; the terms are those without inputs, in plain symbols."""
    n, r = terms.M.rows, len(form.actuators)
    B = _exact(sp.Matrix(r, n, [e for direction in form.directions for e in direction])).T
    only_mass = form.by_mass and r == n
    N = None if only_mass else _total_cost(form, terms.M)
    rows, notes = [_row(form, i) for i in range(len(form.requirements))], list[str]()
    search: _Search | None = _Search(terms, symbols, parameters, B)
    try:
        rows, dropped = search.independent(rows)
        if dropped:
            notes.append(f"Requirements that follow from others are left out: {quoted(dropped)}.")
    except _NoClosedFormError as reason:
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
        return law if search is None else search.expanded(law)
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


def _row(form: ControlForm, i: int) -> RequirementRow:
    requirement = form.requirements[i]
    own, level = requirement.row, requirement.level
    errors = {"position": (own.position, own.velocity), "velocity": (own.velocity,)}.get(level, ())
    return RequirementRow(
        requirement.name, len(errors), own.gradient, own.rhs, _settling(form, i), errors, requirement.rate
    )


def _settling(form: ControlForm, i: int) -> Any:
    """Return the settling term of a requirement at its own level."""
    requirement = form.requirements[i]
    first = form.rows_of[form.servos[requirement.servo]][0]
    total: Any = sp.S.Zero
    for j, coefficients in requirement.settling:
        other = form.requirements[first + j]
        errors = {"position": (other.row.position, other.row.velocity), "velocity": (other.row.velocity,)}
        known = errors.get(other.level, ())
        # matrices of higher derivatives: inputs do not act at this level, which the search finds
        total += sp.Add(*(c * e for c, e in zip(coefficients, known, strict=False)))
    return total


class _Search:
    """Differentiates requirements along the motion without inputs until inputs act on all of them."""

    def __init__(self, terms: SymbolicTerms, symbols: StateSymbols, parameters: Sequence[Any], B: Any):
        self.terms, self.symbols, self.B = terms, symbols, B
        self.arguments = [*symbols.q, *symbols.qd, symbols.time, *parameters]
        self.states = np.random.default_rng(19).uniform(0.3, 1.2, (INPUT_PROBES, len(self.arguments)))

    @cached_property
    def solve(self) -> Any:
        """The solution of the motion without inputs, in symbols; see ``schur_solver``."""
        return schur_solver(self.terms.M, self.terms.A, OPERATION_LIMIT)

    @cached_property
    def acceleration(self) -> Any:
        """The acceleration without inputs, in symbols."""
        return self.solve(self.terms.Q + self.terms.C, self.terms.b)[0]

    def independent(self, rows: list[RequirementRow]) -> tuple[list[RequirementRow], list[str]]:
        """Return rows on which inputs act independently of one another, and the names of those that are redundant."""
        while True:
            G, alpha = self._evaluated(rows)
            inert = [i for i in range(len(rows)) if all(self._no_effect(g[i], size[i]) for g, size in G)]
            if not inert:
                break
            rows = [self._differentiated(row) if i in inert else row for i, row in enumerate(rows)]
        kept = [independent_rows(g / size.max(axis=1, keepdims=True)) for g, size in G]
        used = max(kept, key=len)
        dropped = [i for i in range(len(rows)) if i not in used]
        if any(not self._redundant(g, a, i, used) for (g, _), a in zip(G, alpha, strict=True) for i in dropped):
            names = quoted(rows[i].name for i in dropped)
            raise _NoClosedFormError(
                f"Inputs act only on combinations of {names} with other requirements. These combinations are "
                f"differentiated along the motion until inputs act on them; the result has no short closed form, and "
                f"`da.motion` gives the inputs as numbers."
            )
        return [rows[i] for i in used], [rows[i].name for i in dropped]

    def _no_effect(self, g: Floats, size: Floats) -> bool:
        return bool((np.abs(g) <= SHARE_TOLERANCE * size).all())

    def _redundant(self, G: Floats, alpha: Floats, i: int, used: Sequence[int]) -> bool:
        chosen = list(used)
        share = np.linalg.lstsq(G[chosen].T, G[i], rcond=None)[0]
        return bool(abs(alpha[i] - share @ alpha[chosen]) <= SAME_VALUE * (1 + np.abs(alpha).max()))

    def _evaluated(self, rows: list[RequirementRow]) -> tuple[list[tuple[Floats, Floats]], list[Floats]]:
        """Return G with the sizes of its terms, and what the requirements are off without inputs, at random states."""
        terms, n, k = self.terms, self.terms.M.rows, len(rows)
        gradients = [e for row in rows for e in row.gradient]
        rest = [row.rhs - row.settling for row in rows]
        parts = (terms.M, terms.Q + terms.C, terms.A, terms.b, self.B, gradients, rest)
        function = numeric_function(self.arguments, tuple(tuple(part) for part in parts), ["numpy", "scipy"])
        effects: list[tuple[Floats, Floats]] = []
        off: list[Floats] = []
        for state in self.states:
            M, Q, A1, b1, B, A2, b2 = (np.asarray(part, float) for part in function(*state))
            M, A1, B, A2 = M.reshape(n, n), A1.reshape(-1, n), B.reshape(n, -1), A2.reshape(k, n)
            K = np.block([[M, -A1.T], [A1, np.zeros((len(A1), len(A1)))]])
            right = np.block([[B, Q[:, None]], [np.zeros((len(A1), B.shape[1])), b1[:, None]]])
            moved: Floats = np.asarray(np.linalg.solve(K, right)[:n], float)
            D, a = moved[:, :-1], moved[:, -1]
            effects.append((A2 @ D, np.abs(A2) @ np.abs(D)))
            off.append(A2 @ a - b2)
        if not all(np.isfinite(g).all() for g, _ in effects):
            raise _NoClosedFormError("The effect of inputs is not finite at random states.")
        return effects, off

    def _differentiated(self, row: RequirementRow) -> RequirementRow:
        """Return the equation of the next derivative, along the motion without inputs."""
        if row.rate is None or row.order >= MOST_DERIVATIVES:
            raise _NoClosedFormError(
                f"Inputs do not act on `{row.name}` at its own level; its higher derivatives are not written out."
            )
        try:
            off = sp.Add(*(g * a for g, a in zip(row.gradient, self.acceleration, strict=True)), -row.rhs, row.settling)
            psi = tidied(sp.Matrix([exact(off)]), OPERATION_LIMIT)[0]
        except TooLongError:
            raise _NoClosedFormError(
                f"Inputs do not act on `{row.name}` at its own level; its higher derivatives are too long to be read."
            ) from None
        return replace(
            row,
            order=row.order + 1,
            gradient=gradient(psi, self.symbols.qd),
            rhs=-time_derivative(psi, self.symbols),
            settling=row.rate * psi,
            errors=(*row.errors, psi),
        )

    def expanded(self, law: ControlLaw) -> ControlLaw:
        """Return the law with its inputs as expressions; raise ``TooLongError`` if they are too long."""
        terms, limit, kind = self.terms, OPERATION_LIMIT, law.kind
        none = sp.zeros(terms.A.rows, 1)
        columns = [self.solve(self.B[:, j], none)[0] for j in range(self.B.cols)]
        G = tidied(law.matrix * sp.Matrix.hstack(*columns), limit)
        weight = terms.M if law.cost is None else block_inverse(law.cost)
        settled = sp.zeros(len(law.rows), 1) if kind.euclidean else law.settling
        e = tidied(law.rhs - settled - law.matrix * self.acceleration, limit)
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
