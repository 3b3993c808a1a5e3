# SPDX-License-Identifier: BSD-3-Clause
"""The derivation of an equation of motion in the seven steps of Zhao et al. 2018, section 7.

All output formats are written from the same list of steps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sympy as sp

from dalembert.common.stabilisation import Gains
from dalembert.model import graph
from dalembert.report.control_steps import (
    LONGEST_LAW,
    actuators,
    input_force,
    law_steps,
    printed_symbols,
    requirement_form,
    requirements,
)
from dalembert.report.derivation_notes import PRODUCTS
from dalembert.report.equations import Equation
from dalembert.report.force_steps import (
    eliminated_force_blocks,
    force_blocks,
    ideal_blocks,
    nonideal_blocks,
    staged_force_blocks,
)
from dalembert.report.formula_symbols import MatrixSymbols, matrix_symbols
from dalembert.report.name_typesetting import split_symbol
from dalembert.report.staged_control import StagedControl, staged_control
from dalembert.report.staged_elimination import EliminatedForm
from dalembert.report.staged_form import NamedTerms, StagedForm
from dalembert.report.staged_steps import (
    WIDEST_MATRIX,
    defined,
    eliminated,
    plain_terms,
    shown,
    staged,
)

if TYPE_CHECKING:
    from dalembert.report.control_law import ControlLaw
    from dalembert.report.derivation import Derivation

Prose = tuple[Any, ...]
"""Text with formulas in it: strings and SymPy expressions. A name between backticks is set as code."""

MOST_ROWS_TOGETHER, MOST_LABELLED_ROWS = 12, 24
"""Equations in one display, on which a page cannot end; those with labels are aligned with one another, and lower."""


@dataclass(frozen=True)
class Step:
    """Paragraphs (tuples) and displays (lists of equations, aligned) in reading order."""

    title: str
    blocks: tuple[Prose | list[Equation], ...]


def seven_titles(derivation: Derivation) -> tuple[str, ...]:
    """Return the titles of the steps."""
    first = ("The problem", "Coordinates and parameters", "The unconstrained equation of motion")
    closed = " in closed form" if derivation.expanded else ""  # products of matrices are not
    if derivation.control is None:
        rest = ("The constraints", "The constraints in standard form", f"The constraint force{closed}")
        return *first, *rest, "The constrained equation of motion"
    constrained = bool(derivation.system.constraints)
    names = "The constraints and the requirements" if constrained else "The requirements"
    force = "The control law and the constraint force" if constrained else f"The control law{closed}"
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
    long_form = eliminated(derivation) if form is None else None
    terms = plain_terms(derivation) if form is None else form.terms
    yield _unconstrained(derivation, terms, sym)
    yield _constraints(derivation)
    yield _standard_form(derivation, terms, sym)
    if long_form is not None:
        yield eliminated_force_blocks(derivation, long_form, sym)
    else:
        yield force_blocks(derivation, sym) if form is None else staged_force_blocks(derivation, form, sym)
    yield _motion(derivation, form or long_form, sym)


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
    forces = ideal_blocks(derivation, total) if constrained else ()
    forces += nonideal_blocks(derivation, total) if constrained or derivation.system.laws else ()
    yield *remarks, *law_steps(derivation, law, form, sym), *forces
    yield _motion(derivation, form, sym)


def with_short_displays(steps: Sequence[Step]) -> list[Step]:
    """Return the steps with long lists of equations in parts, between which a page can end."""
    return [Step(step.title, tuple(part for block in step.blocks for part in _parts(block))) for step in steps]


def _parts(block: Prose | list[Equation]) -> list[Prose | list[Equation]]:
    most = MOST_LABELLED_ROWS if isinstance(block, list) and any(e.label for e in block) else MOST_ROWS_TOGETHER
    if not isinstance(block, list) or len(block) <= most:
        return [block]
    size = -(-len(block) // -(-len(block) // most))  # parts of nearly equal length
    return [block[k : k + size] for k in range(0, len(block), size)]


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


def _motion(
    derivation: Derivation, form: StagedForm | EliminatedForm | StagedControl | None, sym: MatrixSymbols
) -> tuple[Any, ...]:
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
        column, definitions = _without_mere_names(column, form.terms.definitions(form.acceleration))
    display = [Equation(qdd, entry) for qdd, entry in zip(derivation.system.symbols.qdd, column, strict=True)]
    rest = (("where",), definitions) if definitions else ()
    return ("With these forces the system moves by",), law, ("that is,",), display, *rest


def _without_mere_names(column: Sequence[Any], definitions: list[Equation]) -> tuple[list[Any], list[Equation]]:
    """Return accelerations with what they are instead of names that occur nowhere else, and the other definitions."""
    used = Counter(name for e in (*column, *(d.right for d in definitions)) for name in graph.free_symbols(e))
    meaning = {d.left: d.right for d in definitions if d.left in column and used[d.left] == 1}
    return [meaning.get(e, e) for e in column], [d for d in definitions if d.left not in meaning]


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
