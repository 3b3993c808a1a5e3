# SPDX-License-Identifier: BSD-3-Clause
"""The parts of a written derivation that are about actuators, requirements and the control law."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sympy as sp

from dalembert.model import graph
from dalembert.model.ordering import quoted
from dalembert.model.symbols import InternalSymbol
from dalembert.report.common_factor import with_common_factor
from dalembert.report.control_law import ControlLaw
from dalembert.report.control_symbols import ControlSymbols, LawKind, control_symbols, effect, missing, printed_formula
from dalembert.report.decimals import decimals_like
from dalembert.report.equations import Equation, scalar
from dalembert.report.formula_symbols import MatrixSymbols
from dalembert.report.requirement_search import RequirementRow
from dalembert.report.staged_control import StagedControl, staged_law
from dalembert.report.staged_steps import defined, shown

if TYPE_CHECKING:
    from dalembert.report.derivation import Derivation

LONGEST_PSI = 150
"""Operations up to which a combination without inputs is printed; longer ones fill several lines."""

LONGEST_LAW = 400
"""Operations up to which the inputs are printed as expressions; otherwise only their formula is."""

WIDEST_LAW = 6
"""Coordinates, inputs or rows up to which the matrices of a control law are printed."""


def printed_symbols(derivation: Derivation, law: ControlLaw) -> ControlSymbols:
    """Return the matrix symbols of a control law; A and b have no index if there are no other constraints."""
    alone = not derivation.system.constraints
    return control_symbols(law.directions.rows, len(law.names), len(law.rows), alone=alone)


def input_force(own: ControlSymbols, law: ControlLaw) -> Any:
    """Return the force B u, or u if it acts on every coordinate."""
    return own.u if law.kind.everywhere else sp.MatMul(own.B, own.u)


def actuators(derivation: Derivation, law: ControlLaw, sym: MatrixSymbols) -> tuple[Any, ...]:
    """Return the paragraphs on the force of the actuators."""
    own = printed_symbols(derivation, law)
    motion = [Equation(sp.MatMul(sym.M, sym.qdd), sp.MatAdd(sym.Q, input_force(own, law)))]
    if law.kind.everywhere:
        return ("A control force ", own.u, " acts on every coordinate:"), motion
    listed = quoted(law.names)
    text = ("With the input" + "s" * (len(law.names) > 1) + " ", own.u, f" of {listed}, it obeys")
    if max(law.directions.shape) > WIDEST_LAW:
        return text, motion
    return text, motion, ("with",), [Equation(own.B, scalar(_plain(derivation, law.directions)))]


def requirements(derivation: Derivation) -> tuple[Any, ...]:
    """Return the paragraphs on the requirements of the servo constraints."""
    rows = [row for servo in derivation.system.servos for row in servo.requirement]
    to_decimals = decimals_like(row.expression for row in rows)
    given = [to_decimals(sp.Matrix([_plain(derivation, row.expression)]))[0] for row in rows]
    shown = [Equation(e, sp.S.Zero, str(row.name)) for e, row in zip(given, rows, strict=True)]
    return ("The inputs must meet the requirement" + "s" * (len(rows) > 1),), shown


def requirement_form(
    derivation: Derivation, law: ControlLaw, form: StagedControl | None, sym: MatrixSymbols
) -> tuple[Any, ...]:
    """Return the paragraphs on the requirements in standard form, with their settling terms."""
    own, several = printed_symbols(derivation, law), len(law.rows) > 1
    short = max(law.matrix.shape) <= WIDEST_LAW
    higher = _differentiations(derivation, law)
    text = f"Differentiated with respect to time, the requirement{'s are' if several else ' is'} linear in the "
    text = "The derivatives that contain inputs are linear in the " if higher else text
    blocks: list[Any] = [*higher, (text + "accelerations:",)]
    blocks.append([Equation(sp.MatMul(own.A, sym.qdd), own.b)])
    if short:
        parts = (law.matrix, law.rhs) if form is None else (form.terms.A, form.terms.b)
        blocks += [("with",), *_displayed(derivation, form, (own.A, own.b), parts)]
    if not law.kind.settled:
        return *blocks, ("Initial errors remain: nothing makes them settle.",)
    settled = [Equation(sp.MatMul(own.A, sym.qdd), sp.MatAdd(own.b, sp.MatMul(-1, own.s)))]
    blocks += [*_settling(law), ("so that",), settled]
    if not short:
        return tuple(blocks)
    settling = law.settling if form is None else form.settling
    return *blocks, ("with",), *_displayed(derivation, form, (own.s,), (settling,))


def _displayed(derivation: Derivation, form: StagedControl | None, letters: Any, matrices: Any) -> list[Any]:
    """Return the display of some matrices, and the definitions of names in them."""
    if form is None:
        return [[Equation(letter, scalar(_plain(derivation, m))) for letter, m in zip(letters, matrices, strict=True)]]
    display = [Equation(letter, shown(m, form.terms)) for letter, m in zip(letters, matrices, strict=True)]
    return defined(form.terms, display, *matrices)


def _differentiations(derivation: Derivation, law: ControlLaw) -> list[Any]:
    """Return the paragraphs on requirements that are differentiated beyond their own level."""
    blocks: list[Any] = []
    for row in law.rows:
        base = _own_order(derivation, row)
        combinations = row.errors[base:]
        if not combinations:
            continue
        text = (
            f"Inputs do not act on the derivative of order {base} of `{row.name}`. The requirement is therefore "
            f"differentiated along the motion without inputs, up to order {row.order}. The combinations"
        )
        shown = [e for e in combinations if graph.operations(e) <= LONGEST_PSI]
        names = [sp.Symbol(f"psi{number}") for number in range(1, len(combinations) + 1)]
        if len(shown) < len(combinations):
            blocks.append((text.removesuffix(" The combinations") + " The results are too long to be printed.",))
            continue
        blocks += [(text,), [Equation(name, e) for name, e in zip(names, shown, strict=True)]]
        blocks.append(("contain no inputs and must vanish, too. The derivative of the last one contains inputs.",))
    return blocks


def _own_order(derivation: Derivation, row: RequirementRow) -> int:
    level = next(s.level for s in derivation.system.servos for own in s.requirement if str(own.name) == row.name)
    return {"position": 2, "velocity": 1, "acceleration": 0}[level]


def _settling(law: ControlLaw) -> list[Any]:
    """Return the paragraph on the polynomial by which errors settle."""
    kinds = {(row.rate, len(row.errors)) for row in law.rows}
    several = "s" * (len(law.rows) > 1)
    if len(kinds) > 1 or None in {rate for rate, _ in kinds}:
        return [(f"Errors of the requirement{several} settle by given rates or gains,",)]
    rate, order = kinds.pop()
    beta = [InternalSymbol(f"{family}.beta") for family in ("q", "qd", "qdd")]
    omega = sp.Symbol("omega")
    if order > 2:
        return [(f"All {order} poles of the error are placed at ", -omega, ", with ", omega, " = ", rate, ",")]
    terms = (beta[1], omega * beta[0]) if order == 1 else (beta[2], 2 * omega * beta[1], omega**2 * beta[0])
    equation = [Equation(sp.Add(*terms), sp.S.Zero)]
    return [("The error ", beta[0], " settles by"), equation, ("with ", omega, " = ", rate, ",")]


def law_steps(
    derivation: Derivation, law: ControlLaw, form: StagedControl | None, sym: MatrixSymbols
) -> tuple[Any, ...]:
    """Return the paragraphs on the control law."""
    own, kind = printed_symbols(derivation, law), law.kind
    if law.formula is None:
        return (("The inputs ", own.u, " are those of least cost that meet the requirements."),)
    blocks: list[Any] = []
    if kind.by_mass and not kind.constrained:
        blocks.append(_natural(own, sym, kind))
    else:
        blocks += _equations_of_inputs(derivation, law, sym, own)
    blocks.append([Equation(own.u, printed_formula(sym, own, kind))])
    if form is not None:
        return *blocks, *staged_law(form, law, sym, own)
    if law.expanded and graph.operations(*law.inputs) <= LONGEST_LAW:
        column = scalar(_plain(derivation, law.inputs))
        shown = with_common_factor(column) if isinstance(column, sp.MatrixBase) else column
        blocks += [("which comes to",), [Equation(own.u, shown)]]
    return tuple(blocks)


def _natural(own: ControlSymbols, sym: MatrixSymbols, kind: LawKind) -> Any:
    if kind.euclidean and kind.settled:
        return ("The control is the force of the same constraint enforced by nature, and a force that settles errors:",)
    cost = sp.MatMul(own.u.T, sp.Inverse(sym.M), own.u)
    return ("The control with the least ", cost, " is the force of the same constraint enforced by nature:")


def _equations_of_inputs(derivation: Derivation, law: ControlLaw, sym: MatrixSymbols, own: ControlSymbols) -> list[Any]:
    kind = law.kind
    G, e = [Equation(own.G, effect(sym, own, kind))], [Equation(own.e, missing(sym, own, kind, settling=True))]
    if law.expanded and max(law.effect.shape) <= WIDEST_LAW:
        G.append(Equation(own.G, scalar(_plain(derivation, law.effect))))
        e.append(Equation(own.e, scalar(_plain(derivation, law.missing))))
    blocks: list[Any] = [
        ("The inputs meet the requirements if",),
        [Equation(sp.MatMul(own.G, own.u), own.e)],
        ("with",),
    ]
    blocks.append([*G, *e])
    N = sp.Inverse(sym.M) if kind.by_mass else own.N
    cost = sp.MatMul(own.u.T, own.u) if kind.unit_cost else sp.MatMul(own.u.T, N, own.u)
    with_cost = law.cost is not None and not kind.unit_cost and max(law.cost.shape) <= WIDEST_LAW
    if with_cost:
        blocks += [
            ("The cost of the inputs is ", cost, " with"),
            [Equation(own.N, scalar(_plain(derivation, law.cost)))],
        ]
        return [*blocks, ("and the inputs of least cost are",)]
    return [*blocks, ("The inputs with the least ", cost, " are")]


def _plain(derivation: Derivation, expression: Any) -> Any:
    return derivation.system.symbols.plain(expression)
