# SPDX-License-Identifier: BSD-3-Clause
"""The control law in stages, if the inputs in full do not fit on lines; for systems without other constraints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sympy as sp

from dalembert.model import graph
from dalembert.report.blocks import TooLongError
from dalembert.report.closed_form import OPERATION_LIMIT
from dalembert.report.control_law import ControlLaw
from dalembert.report.control_symbols import ControlSymbols, effect, missing
from dalembert.report.decimals import decimals_like, exact
from dalembert.report.equations import Equation
from dalembert.report.formula_symbols import MatrixSymbols
from dalembert.report.length import LINE, is_long, printed_width
from dalembert.report.staged_form import NamedTerms, accelerations, combined, named_inverse, named_terms
from dalembert.report.staged_steps import WIDEST_MATRIX, defined, inverse_mass, matrices_of, shown, taken_names
from dalembert.report.tidy import tidy_matrix

if TYPE_CHECKING:
    from dalembert.report.derivation import Derivation


@dataclass(frozen=True)
class StagedControl:
    """The inputs in stages, each in terms of names that were defined before.

    terms                   M, Q and C of the system; A and b are those of the requirements
    settling                s
    inverse                 M⁻¹
    effect, missing         G and e of G u = e; e without the settling term if errors settle in the Euclidean metric
    weighted                H = G N⁻¹ Gᵀ, which is A M⁻¹ Aᵀ if N = M⁻¹
    multipliers             H⁻¹ e, which are names
    settling_multipliers    (A Aᵀ)⁻¹ s in the Euclidean metric, else None
    inputs                  u, which are names
    """

    terms: NamedTerms
    settling: Any
    inverse: Any
    effect: Any
    missing: Any
    weighted: Any
    multipliers: Any
    settling_multipliers: Any
    inputs: Any
    acceleration: Any


def staged_control(derivation: Derivation, law: ControlLaw) -> StagedControl | None:
    """Return the control law in stages; None if the inputs fit on lines, or if stages would be too long."""
    if law.kind.constrained or law.formula is None or _fits(derivation, law):
        return None
    M, Q, _, _, C = matrices_of(derivation)
    own = [derivation.system.symbols.plain(part) for part in (law.matrix, law.rhs, law.settling, law.directions)]
    N = None if law.cost is None else derivation.system.symbols.plain(law.cost)
    given = [M, Q, *own, C, *([] if N is None else [N])]
    if max(max(matrix.shape) for matrix in given) > WIDEST_MATRIX or any(is_long(e) for m in given for e in m):
        return None
    if graph.operations(*(e for matrix in given for e in matrix)) > OPERATION_LIMIT:
        return None
    A, b, s, B = map(exact, own)
    terms = named_terms([exact(M), exact(Q), A, b, exact(C)], taken_names(derivation), decimals_like(given))
    try:
        return _staged(law, terms, s, B, None if N is None else exact(N))
    except TooLongError:
        return None


def _staged(law: ControlLaw, terms: NamedTerms, s: Any, B: Any, N: Any) -> StagedControl:
    names, A = terms.names, terms.A
    s = names.entries(s, "s w")
    inverse = named_inverse(terms.M, names, "W Y", "Δ D")
    force = inverse * (terms.Q + terms.C)
    a = names.entries(tidy_matrix(force), "a α")
    euclidean = law.kind.euclidean and law.kind.settled
    e = names.entries(tidy_matrix(terms.b - (sp.zeros(*s.shape) if euclidean else s) - A * a), "e ε", width=5.0)
    G = names.entries(tidy_matrix(A * inverse * B), "G F")
    # with N = M⁻¹ and B = I, N⁻¹Gᵀ is Aᵀ
    back = A.T if N is None else tidy_matrix(named_inverse(N, names, "n ν", "Γ D") * G.T)
    H = names.entries(tidy_matrix(A * inverse * A.T if N is None else G * back), "S H")
    multipliers = names.entries(tidy_matrix(named_inverse(H, names, "R P", "Δ Γ D") * e), "λ μ", width=0)
    u = combined(back, multipliers)
    settling = None
    if euclidean:
        settling = names.entries(tidy_matrix(named_inverse(A * A.T, names, "R P", "Δ Γ D") * s), "σ τ", width=0)
        u = u - combined(terms.M * A.T, settling)
    inputs = names.entries(u, "u υ", width=0)
    acceleration = accelerations(inverse, terms.Q + terms.C, a, combined(B, inputs))
    return StagedControl(terms, s, inverse, G, e, H, multipliers, settling, inputs, acceleration)


def staged_law(form: StagedControl, law: ControlLaw, sym: MatrixSymbols, own: ControlSymbols) -> list[Any]:
    """Return the paragraphs on the inputs, after their formula."""
    terms, kind = form.terms, law.kind
    blocks: list[Any] = [("In stages:",), *inverse_mass(form.inverse, terms, sym)]
    by_mass = law.cost is None
    M_inverse = sp.Inverse(sym.M)
    G = effect(sym, own, kind)
    back = own.A.T if by_mass else sp.MatMul(*(() if kind.unit_cost else (sp.Inverse(own.N),)), own.G.T)
    H = sp.MatMul(own.A, M_inverse, own.A.T) if by_mass else sp.MatMul(own.G, *sp.MatMul(back).args)
    e = missing(sym, own, kind, settling=not kind.euclidean)
    if not by_mass:
        G_shown = [Equation(own.G, G), Equation(own.G, shown(form.effect, terms))]
        blocks += defined(terms, G_shown, form.effect)
    column = [] if len(form.missing) == 1 else [Equation(own.e, shown(form.missing, terms))]
    stage = [Equation(H, shown(form.weighted, terms)), Equation(own.e, e), *column]
    blocks += defined(terms, stage, form.weighted, form.missing)
    multipliers = sp.MatrixSymbol("lambda", form.multipliers.rows, 1)
    blocks += defined(terms, [Equation(multipliers, sp.MatMul(sp.Inverse(H), own.e))], form.multipliers)
    result = sp.MatMul(back, multipliers)
    if form.settling_multipliers is not None:
        sigma = sp.MatrixSymbol("sigma", form.settling.rows, 1)
        settled = sp.MatMul(sp.Inverse(sp.MatMul(own.A, own.A.T)), own.s)
        blocks += defined(terms, [Equation(sigma, settled)], form.settling_multipliers)
        result = sp.MatAdd(result, sp.MatMul(-1, sym.M, own.A.T, sigma))
    return [*blocks, ("so that",), *defined(terms, [Equation(own.u, result)], form.inputs)]


def _fits(derivation: Derivation, law: ControlLaw) -> bool:
    if not (law.expanded and derivation.expanded):
        return False
    plain = [derivation.system.symbols.plain(column) for column in (law.inputs, derivation.acceleration)]
    return all(not is_long(e) and printed_width(e) <= LINE for column in plain for e in column)
