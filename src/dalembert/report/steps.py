# SPDX-License-Identifier: BSD-3-Clause
"""The way from a mechanical problem to its equation of motion in the seven steps of Zhao et al. 2018, section 7.

One list of steps feeds every format, so that nothing is written twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import sympy as sp

from dalembert.report.blocks import block_inverse
from dalembert.report.common_factor import with_common_factor
from dalembert.report.tidy import tidy_matrix

if TYPE_CHECKING:
    from dalembert.report.derivation import Derivation

_WIDEST = 6
"""Coordinates or rows up to which M and A are shown as matrices; beyond, as equations, row by row."""

Prose = tuple[Any, ...]
"""Text with formulas in it: strings and SymPy expressions. A name between backticks is set as code."""


class Equation(NamedTuple):
    """left = right, perhaps named; coordinates as plain symbols, matrices of the theory as matrix symbols."""

    left: Any
    right: Any
    label: str = ""


@dataclass(frozen=True)
class Step:
    """Paragraphs (tuples) and displays (lists of equations, aligned) in reading order."""

    title: str
    blocks: tuple[Prose | list[Equation], ...]


class _Letters(NamedTuple):
    M: Any
    A: Any
    b: Any
    Q: Any
    C: Any
    q: Any
    qdd: Any
    multipliers: Any
    ideal: Any
    nonideal: Any


def seven_steps(derivation: Derivation) -> list[Step]:
    """The written derivation."""
    letters = _letters(len(derivation.system.coordinates), max(1, len(derivation.independent)))
    return [
        Step("The problem", ((derivation.about,),)),
        Step("Coordinates and parameters", _coordinates(derivation, letters)),
        Step("The unconstrained equation of motion", _unconstrained(derivation, letters)),
        Step("The constraints", _constraints(derivation)),
        Step("The constraints in standard form", _standard_form(derivation, letters)),
        Step("The constraint force in closed form", _forces(derivation, letters)),
        Step("The constrained equation of motion", _motion(derivation, letters)),
    ]


def _letters(n: int, m: int) -> _Letters:
    shapes = {"M": (n, n), "A": (m, n), "b": (m, 1)}
    names = ("M", "A", "b", "Q", "C", "q", "qdd.q", "lambda", "Q^c_i", "Q^c_ni")
    return _Letters(*(sp.MatrixSymbol(name, *shapes.get(name, (m if name == "lambda" else n, 1))) for name in names))


def _coordinates(derivation: Derivation, letters: _Letters) -> tuple[Any, ...]:
    system = derivation.system
    parameters = [sp.Symbol(name, real=True) for name in system.parameter_names]
    constants = ("The parameters are ", *_listed(parameters), ".") if parameters else ("There are no parameters.",)
    if len(system.coordinates) > _WIDEST:
        return ("The configuration is given by ", *_listed(system.symbols.q), "."), constants
    column = sp.Transpose(sp.ImmutableMatrix([system.symbols.q]))
    return ("The configuration is given by",), [Equation(letters.q, column)], constants


def _unconstrained(derivation: Derivation, letters: _Letters) -> tuple[Any, ...]:
    M, Q = _plain(derivation, derivation.mass_matrix), _plain(derivation, derivation.applied_force)
    law = [Equation(sp.MatMul(letters.M, letters.qdd), letters.Q)]
    if M.rows <= _WIDEST:
        shown = [Equation(letters.M, _scalar(M)), Equation(letters.Q, _scalar(Q))]
    else:
        shown = _rows(derivation, M, Q, [""] * M.rows)
    return ("Left to itself, the system would obey",), law, (_with(M),), shown


def _constraints(derivation: Derivation) -> tuple[Any, ...]:
    system = derivation.system
    if not system.constraints:
        return (("There are none.",),)
    shown = [Equation(_plain(derivation, c.expression), sp.S.Zero, _label(derivation, c)) for c in system.constraints]
    return ("The motion must satisfy",), shown


def _standard_form(derivation: Derivation, letters: _Letters) -> tuple[Any, ...]:
    system = derivation.system
    if not system.constraints:
        return (("There is nothing to differentiate.",),)
    A, b = _plain(derivation, derivation.constraint_matrix), _plain(derivation, derivation.constraint_rhs)
    law = [Equation(sp.MatMul(letters.A, letters.qdd), letters.b)]
    if max(A.shape) <= _WIDEST:
        shown = [Equation(letters.A, _scalar(A)), Equation(letters.b, _scalar(b))]
    else:
        shown = _rows(derivation, A, b, [_label(derivation, c) for c in system.constraints])
    return (_differentiated([c.level for c in system.constraints]),), law, (_with(A),), shown


def _forces(derivation: Derivation, letters: _Letters) -> tuple[Any, ...]:
    remarks = tuple((note,) for note in derivation.notes)
    if not derivation.system.constraints:
        ideal: tuple[Any, ...] = (("There is no constraint, hence no ideal constraint force.",),)
        return *remarks, *ideal, *(_nonideal(derivation, letters) if derivation.system.nonideal else ())
    return *remarks, *_ideal(derivation, letters), *_nonideal(derivation, letters)


def _ideal(derivation: Derivation, letters: _Letters) -> tuple[Any, ...]:
    A, b, ideal = letters.A, letters.b, letters.ideal
    text: Prose = ("The ideal part of the constraint force does no work in virtual displacements. It is given by",)
    if len(derivation.independent) < len(derivation.system.constraints):
        text = (*text[:-1], text[-1] + " (", A, " and ", b, " with the rows of the constraints used)")
    formula = _saddle_formula(letters) if derivation.saddle else [Equation(ideal, _schur_formula(letters))]
    if not derivation.expanded:
        return text, formula
    steps = [] if derivation.saddle else _on_the_way(derivation, letters)
    column = with_common_factor(_plain(derivation, derivation.ideal_force))
    return text, formula, ("which comes to",), [*steps, Equation(ideal, column)]


def _schur_formula(letters: _Letters) -> Any:
    M, A, b, Q = letters.M, letters.A, letters.b, letters.Q
    return sp.MatMul(A.T, sp.Inverse(_schur(letters)), sp.MatAdd(b, sp.MatMul(-1, A, sp.Inverse(M), Q)))


def _schur(letters: _Letters) -> Any:
    return sp.MatMul(letters.A, sp.Inverse(letters.M), letters.A.T)


def _saddle_formula(letters: _Letters) -> list[Equation]:
    M, A, b, Q, multipliers = letters.M, letters.A, letters.b, letters.Q, letters.multipliers
    matrix = sp.BlockMatrix([[M, -A.T], [A, sp.ZeroMatrix(A.rows, A.rows)]])
    unknowns = sp.BlockMatrix([[letters.qdd], [multipliers]])
    return [
        Equation(sp.MatMul(matrix, unknowns), sp.BlockMatrix([[Q], [b]])),
        Equation(letters.ideal, sp.MatMul(A.T, multipliers)),
    ]


def _on_the_way(derivation: Derivation, letters: _Letters) -> list[Equation]:
    """A M⁻¹ Aᵀ and b − A M⁻¹ Q with the rows that were used."""
    kept = [derivation.system.constraint_names.index(name) for name in derivation.independent]
    M, Q = _plain(derivation, derivation.mass_matrix), _plain(derivation, derivation.applied_force)
    A = _plain(derivation, derivation.constraint_matrix).extract(kept, range(M.rows))
    b = _plain(derivation, derivation.constraint_rhs).extract(kept, [0])
    if max(A.shape) > _WIDEST:
        return []
    W = A * block_inverse(M)
    misfit = sp.MatAdd(letters.b, sp.MatMul(-1, letters.A, sp.Inverse(letters.M), letters.Q))
    return [
        Equation(_schur(letters), _scalar(tidy_matrix(W * A.T))),
        Equation(misfit, _scalar(tidy_matrix(b - W * Q))),
    ]


def _nonideal(derivation: Derivation, letters: _Letters) -> tuple[Any, ...]:
    C, nonideal = letters.C, letters.nonideal
    if not derivation.system.nonideal:
        return (("The constraints are ideal: the constraint force has no other part.",),)
    law = [Equation(C, with_common_factor(_plain(derivation, derivation.nature)))]
    shown = [Equation(nonideal, _nonideal_formula(derivation, letters))]
    if derivation.expanded:
        shown.append(Equation(nonideal, with_common_factor(_plain(derivation, derivation.nonideal_force))))
    work: Prose = ("The constraint force also does, in every virtual displacement, the work of",)
    return work, law, ("Hence the nonideal part",), shown


def _nonideal_formula(derivation: Derivation, letters: _Letters) -> Any:
    A, C = letters.A, letters.C
    if not derivation.independent:
        return C
    if derivation.saddle:
        return sp.MatAdd(C, sp.MatMul(A.T, sp.MatrixSymbol("lambda_C", A.rows, 1)))
    return sp.MatAdd(C, sp.MatMul(-1, A.T, sp.Inverse(_schur(letters)), A, sp.Inverse(letters.M), C))


def _motion(derivation: Derivation, letters: _Letters) -> tuple[Any, ...]:
    forces = [letters.Q]
    if derivation.system.constraints:
        forces.append(letters.ideal)
    if derivation.system.nonideal:
        forces.append(letters.nonideal)
    law = [Equation(sp.MatMul(letters.M, letters.qdd), sp.MatAdd(*forces) if len(forces) > 1 else forces[0])]
    if not derivation.expanded:
        return ("With these forces the system moves by",), law
    column = _plain(derivation, derivation.acceleration)
    shown = [Equation(qdd, entry) for qdd, entry in zip(derivation.system.symbols.qdd, column, strict=True)]
    return ("With these forces the system moves by",), law, ("that is,",), shown


def _plain(derivation: Derivation, expression: Any) -> Any:
    return derivation.system.symbols.plain(expression)


def _rows(derivation: Derivation, matrix: Any, column: Any, labels: Sequence[str]) -> list[Equation]:
    """matrix · q̈ = column, one equation a row."""
    qdd = derivation.system.symbols.qdd
    sums = [sp.Add(*(matrix[i, j] * qdd[j] for j in range(matrix.cols))) for i in range(matrix.rows)]
    return [Equation(*row) for row in zip(sums, column, labels, strict=True)]


def _scalar(matrix: Any) -> Any:
    """A matrix with one entry is that entry."""
    return matrix[0, 0] if matrix.shape == (1, 1) else sp.ImmutableMatrix(matrix)


def _with(matrix: Any) -> str:
    return "with" if max(matrix.shape) <= _WIDEST else "that is,"


def _label(derivation: Derivation, constraint: Any) -> str:
    """The constraint's name, unless that is the equation itself."""
    made_up = derivation.system.symbols.readable(constraint.expression)
    return "" if str(constraint.name).startswith(made_up) else str(constraint.name)


def _differentiated(levels: Sequence[str]) -> str:
    how = {"position": "twice", "velocity": "once", "acceleration": "not at all"}
    present = [level for level in how if level in levels]
    parts = ", ".join(f"those on the {level} {how[level]}" for level in present)
    times = how[present[0]] if len(present) == 1 else f"as often as needed ({parts})"
    noun = "the constraint is" if len(levels) == 1 else "the constraints are"
    return f"Differentiated {times} with respect to time, {noun} linear in the accelerations:"


def _listed(symbols: Sequence[Any]) -> Prose:
    pieces: list[Any] = []
    for i, symbol in enumerate(symbols):
        pieces += [symbol] if i == 0 else [" and " if i == len(symbols) - 1 else ", ", symbol]
    return tuple(pieces)
