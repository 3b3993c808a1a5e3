# SPDX-License-Identifier: BSD-3-Clause
"""The derivation of an equation of motion in the seven steps of Zhao et al. 2018, section 7.

All output formats are written from the same list of steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sympy as sp

from dalembert.model import graph
from dalembert.report.blocks import block_inverse
from dalembert.report.common_factor import with_common_factor
from dalembert.report.control_steps import (
    LONGEST_LAW,
    actuators,
    input_force,
    law_steps,
    printed_symbols,
    requirement_form,
    requirements,
)
from dalembert.report.decimals import decimals_like, exact
from dalembert.report.derivation_notes import PRODUCTS
from dalembert.report.equations import Equation, scalar
from dalembert.report.formula_symbols import MatrixSymbols, formulas, matrix_symbols, misfit, saddle_matrix, schur
from dalembert.report.name_typesetting import split_symbol
from dalembert.report.staged_control import StagedControl, staged_control
from dalembert.report.staged_form import NamedTerms, StagedForm
from dalembert.report.staged_steps import (
    WIDEST_MATRIX,
    defined,
    inverse_mass,
    plain_terms,
    shown,
    staged,
    staged_forces,
    staged_nonideal,
)
from dalembert.report.tidy import tidy_matrix
from dalembert.stabilisation import Gains

if TYPE_CHECKING:
    from dalembert.report.control_law import ControlLaw
    from dalembert.report.derivation import Derivation

Prose = tuple[Any, ...]
"""Text with formulas in it: strings and SymPy expressions. A name between backticks is set as code."""

NO_FORCE: Prose = ("There is no constraint, hence no ideal constraint force.",)
IDEAL: Prose = ("The constraints are ideal: the constraint force has no other part.",)


@dataclass(frozen=True)
class Step:
    """Paragraphs (tuples) and displays (lists of equations, aligned) in reading order."""

    title: str
    blocks: tuple[Prose | list[Equation], ...]


def seven_titles(derivation: Derivation) -> tuple[str, ...]:
    """Return the titles of the steps."""
    first = ("The problem", "Coordinates and parameters", "The unconstrained equation of motion")
    if derivation.control is None:
        rest = ("The constraints", "The constraints in standard form", "The constraint force in closed form")
        return *first, *rest, "The constrained equation of motion"
    constrained = bool(derivation.system.constraints)
    names = "The constraints and the requirements" if constrained else "The requirements"
    force = "The control law and the constraint force" if constrained else "The control law in closed form"
    return *first, names, f"{names} in standard form", force, "The controlled equation of motion"


def seven_steps(derivation: Derivation) -> list[Step]:
    """Return the written derivation of the equation of motion."""
    sym = matrix_symbols(len(derivation.system.coordinates), len(derivation.independent))
    law = derivation.control
    # a generator, because names are defined where they are first used
    contents = _contents(derivation, sym) if law is None else _controlled(derivation, law, sym)
    blocks = ((derivation.about,),), _coordinates(derivation, sym), *contents
    return [Step(*step) for step in zip(seven_titles(derivation), blocks, strict=True)]


def _contents(derivation: Derivation, sym: MatrixSymbols) -> Iterator[tuple[Any, ...]]:
    """Yield the blocks of the steps from the third on."""
    form = staged(derivation)
    terms = plain_terms(derivation) if form is None else form.terms
    yield _unconstrained(derivation, terms, sym)
    yield _constraints(derivation)
    yield _standard_form(derivation, terms, sym)
    yield _forces(derivation, sym) if form is None else _staged_forces(derivation, form, sym)
    yield _motion(derivation, form, sym)


def _controlled(derivation: Derivation, law: ControlLaw, sym: MatrixSymbols) -> Iterator[tuple[Any, ...]]:
    """Yield the blocks of the steps from the third on for a system with servo constraints."""
    constrained = bool(derivation.system.constraints)
    form = staged_control(derivation, law)
    terms = plain_terms(derivation) if form is None else form.terms
    # the constraints see the force of the actuators as part of the applied force
    total = sym._replace(Q=sp.MatAdd(sym.Q, input_force(printed_symbols(derivation, law), law)))
    yield *_unconstrained(derivation, terms, sym), *actuators(derivation, law, sym)
    yield *(_constraints(derivation) if constrained else ()), *requirements(derivation)
    standard = _standard_form(derivation, terms, sym) if constrained else ()
    yield *standard, *requirement_form(derivation, law, form, sym)
    remarks = tuple((note,) for note in derivation.notes if form is None or note != PRODUCTS)
    forces = _ideal(derivation, total) if constrained else ()
    forces += _nonideal(derivation, total) if constrained or derivation.system.laws else ()
    yield *remarks, *law_steps(derivation, law, form, sym), *forces
    yield _motion(derivation, form, sym)


def names_in(steps: Sequence[Step]) -> set[str]:
    """Return the names of all scalars in the formulas, without their dots."""
    shown: list[Any] = []
    for block in (block for step in steps for block in step.blocks):
        sides = [side for e in block for side in (e.left, e.right)] if isinstance(block, list) else block
        shown += [side for side in sides if not isinstance(side, str)]
    return {split_symbol(s)[0] for e in shown for s in graph.free_symbols(e) if isinstance(s, sp.Symbol)}


def _coordinates(derivation: Derivation, sym: MatrixSymbols) -> tuple[Any, ...]:
    system = derivation.system
    parameters = [sp.Symbol(name, real=True) for name in system.parameter_names]
    constants = ("The parameters are ", *_listed(parameters), ".") if parameters else ("There are no parameters.",)
    if len(system.coordinates) > WIDEST_MATRIX:
        return ("The configuration is given by ", *_listed(system.symbols.q), "."), constants
    column = sp.Transpose(sp.ImmutableMatrix([system.symbols.q]))
    return ("The configuration is given by",), [Equation(sym.q, column)], constants


def _unconstrained(derivation: Derivation, terms: NamedTerms, sym: MatrixSymbols) -> tuple[Any, ...]:
    M, Q = terms.M, terms.Q
    law = [Equation(sp.MatMul(sym.M, sym.qdd), sym.Q)]
    if M.rows <= WIDEST_MATRIX:
        display = [Equation(sym.M, shown(M, terms)), Equation(sym.Q, shown(Q, terms))]
    else:
        display = _rows(derivation, M, Q, [""] * M.rows)
    return ("Left to itself, the system would obey",), law, (_with(M),), *defined(terms, display, M, Q)


def _constraints(derivation: Derivation) -> tuple[Any, ...]:
    system = derivation.system
    if not system.constraints:
        return (("There are none.",),)
    shown = [Equation(_plain(derivation, c.expression), sp.S.Zero, _label(derivation, c)) for c in system.constraints]
    return ("The motion must satisfy",), shown


def _standard_form(derivation: Derivation, terms: NamedTerms, sym: MatrixSymbols) -> tuple[Any, ...]:
    system = derivation.system
    if not system.constraints:
        return (("There is nothing to differentiate.",),)
    A, b = terms.A, terms.b
    law = [Equation(sp.MatMul(sym.A, sym.qdd), sym.b)]
    if max(A.shape) <= WIDEST_MATRIX:
        display = [Equation(sym.A, shown(A, terms)), Equation(sym.b, shown(b, terms))]
    else:
        display = _rows(derivation, A, b, [_label(derivation, c) for c in system.constraints])
    levels = [c.level for c in system.constraints]
    between = ((_with(A),),) if derivation.gains is None else _stabilisation(derivation.gains, levels)
    return (_differentiated(levels),), law, *between, *defined(terms, display, A, b)


def _stabilisation(gains: Gains, levels: Sequence[str]) -> tuple[Any, ...]:
    """Return the paragraphs on Baumgarte's stabilising terms and their rates."""
    alpha, beta = sp.symbols("alpha beta")
    phi, phid, phidd = (_constraint("phi", dots) for dots in range(3))
    psi, psid = (_constraint("psi", dots) for dots in range(2))
    terms = {
        "position": Equation(phidd + 2 * alpha * phid + beta**2 * phi, sp.S.Zero, "position"),
        "velocity": Equation(psid + alpha * psi, sp.S.Zero, "velocity"),
    }
    text = "Baumgarte's stabilising terms make violations decay. They replace the derivatives of the constraints by"
    rates = (alpha, " = ", gains.alpha)
    if "position" in levels:
        rates = (*rates, " and ", beta, " = ", gains.beta)
    return (text,), [terms[level] for level in terms if level in levels], ("with ", *rates, ". In all,")


def _constraint(letter: str, dots: int) -> Any:
    """Return a symbol for the left side of a constraint, or for a time derivative of it."""
    return sp.Symbol(f"{('q', 'qd', 'qdd')[dots]}.{letter}")


def _forces(derivation: Derivation, sym: MatrixSymbols) -> tuple[Any, ...]:
    remarks = tuple((note,) for note in derivation.notes)
    if not derivation.system.constraints:
        return *remarks, NO_FORCE, *(_nonideal(derivation, sym) if derivation.system.laws else ())
    return *remarks, *_ideal(derivation, sym), *_nonideal(derivation, sym)


def _staged_forces(derivation: Derivation, form: StagedForm, sym: MatrixSymbols) -> tuple[Any, ...]:
    remarks = tuple((note,) for note in derivation.notes if note != PRODUCTS)
    constraints, laws = derivation.system.constraints, derivation.system.laws
    if constraints:
        ideal = (_ideal_text(derivation, sym), *staged_forces(form, sym))
    else:
        ideal = (NO_FORCE, *inverse_mass(form.inverse, form.terms, sym))
    if not laws:
        return *remarks, *ideal, *((IDEAL,) if constraints else ())
    return *remarks, *ideal, *staged_nonideal(form, sym)


def _ideal_text(derivation: Derivation, sym: MatrixSymbols) -> Prose:
    text = "The ideal part of the constraint force does no work in virtual displacements. It is given by"
    if len(derivation.independent) == len(derivation.system.constraints):
        return (text,)
    return text + " (", sym.A, " and ", sym.b, " with the rows of the constraints used)"


def _ideal(derivation: Derivation, sym: MatrixSymbols) -> tuple[Any, ...]:
    ideal, text = sym.ideal, _ideal_text(derivation, sym)
    formula = (
        _saddle_formula(sym) if derivation.saddle else [Equation(ideal, formulas(sym, saddle=False, ideal=True)[0])]
    )
    if not derivation.expanded:
        return text, formula
    direct = derivation.saddle or derivation.control is not None
    steps = [] if direct else _intermediate_results(derivation, sym)
    column = with_common_factor(_plain(derivation, derivation.ideal_force))
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
    given = [_plain(derivation, derivation.meaning[letter]) for letter in (sym.M, sym.Q, sym.A, sym.b)]
    to_decimals = decimals_like(given)
    # exact arithmetic, so that terms cancel; decimals are restored afterwards
    M, Q, A, b = map(exact, given)
    W = A * block_inverse(M)
    return [
        Equation(schur(sym), scalar(to_decimals(tidy_matrix(W * A.T)))),
        Equation(misfit(sym), scalar(to_decimals(tidy_matrix(b - W * Q)))),
    ]


def _nonideal(derivation: Derivation, sym: MatrixSymbols) -> tuple[Any, ...]:
    C, nonideal = sym.C, sym.nonideal
    if not derivation.system.laws:
        return (IDEAL,)
    law = [Equation(C, with_common_factor(_plain(derivation, derivation.nonideal)))]
    shown = _nonideal_formula(derivation, sym)
    if derivation.expanded:
        shown.append(Equation(nonideal, with_common_factor(_plain(derivation, derivation.nonideal_force))))
    work: Prose = ("The constraint force also does, in every virtual displacement, the work of",)
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


def _motion(derivation: Derivation, form: StagedForm | StagedControl | None, sym: MatrixSymbols) -> tuple[Any, ...]:
    forces = [sym.Q]
    if derivation.control is not None:
        forces.append(input_force(printed_symbols(derivation, derivation.control), derivation.control))
    if derivation.system.constraints:
        forces.append(sym.ideal)
    if derivation.system.laws:
        forces.append(sym.nonideal)
    law = [Equation(sp.MatMul(sym.M, sym.qdd), sp.MatAdd(*forces) if len(forces) > 1 else forces[0])]
    if form is None and not derivation.expanded:
        return ("With these forces the system moves by",), law
    if form is None and derivation.control is not None and graph.operations(*derivation.acceleration) > LONGEST_LAW:
        return ("With these forces the system moves by",), law
    if form is None:
        column, definitions = _plain(derivation, derivation.acceleration), []
    else:
        column = form.terms.to_decimals(form.acceleration)
        definitions = form.terms.definitions(form.acceleration)
    display = [Equation(qdd, entry) for qdd, entry in zip(derivation.system.symbols.qdd, column, strict=True)]
    rest = (("where",), definitions) if definitions else ()
    return ("With these forces the system moves by",), law, ("that is,",), display, *rest


def _plain(derivation: Derivation, expression: Any) -> Any:
    return derivation.system.symbols.plain(expression)


def _rows(derivation: Derivation, matrix: Any, column: Any, labels: Sequence[str]) -> list[Equation]:
    """Return matrix · q̈ = column as one equation per row."""
    qdd = derivation.system.symbols.qdd
    sums = [sp.Add(*(matrix[i, j] * qdd[j] for j in range(matrix.cols))) for i in range(matrix.rows)]
    return [Equation(*row) for row in zip(sums, column, labels, strict=True)]


def _with(matrix: Any) -> str:
    return "with" if max(matrix.shape) <= WIDEST_MATRIX else "that is,"


def _label(derivation: Derivation, constraint: Any) -> str:
    """Return the name of a constraint, unless it was generated from its equation."""
    generated = derivation.system.symbols.readable(constraint.expression)
    return "" if str(constraint.name).startswith(generated) else str(constraint.name)


def _differentiated(levels: Sequence[str]) -> str:
    times_by_level = {"position": "twice", "velocity": "once", "acceleration": "not at all"}
    present = [level for level in times_by_level if level in levels]
    parts = ", ".join(f"those on the {level} {times_by_level[level]}" for level in present)
    times = times_by_level[present[0]] if len(present) == 1 else f"as often as needed ({parts})"
    noun = "the constraint is" if len(levels) == 1 else "the constraints are"
    return f"Differentiated {times} with respect to time, {noun} linear in the accelerations:"


def _listed(symbols: Sequence[Any]) -> Prose:
    pieces: list[Any] = []
    for i, symbol in enumerate(symbols):
        pieces += [symbol] if i == 0 else [" and " if i == len(symbols) - 1 else ", ", symbol]
    return tuple(pieces)
