# SPDX-License-Identifier: BSD-3-Clause
"""Findings from the saddle matrix of masses and constraints: undetermined accelerations and hidden constraints."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from dalembert.analysis.bounded import SymbolicLimitError, bounded, short
from dalembert.analysis.direction_text import format_direction
from dalembert.analysis.evaluated_terms import Model, Point
from dalembert.analysis.hidden_constraints import Hidden
from dalembert.analysis.verdict import Finding
from dalembert.common.names import counted
from dalembert.model import graph
from dalembert.model.standard_form import StandardForm
from dalembert.model.symbols import StateSymbols
from dalembert.numerics.linear_algebra import independent_rows, sparse_null_space, unit_rows
from dalembert.numerics.mass import mass_kind, own_units
from dalembert.numerics.terms import Terms
from dalembert.numerics.tolerances import UNIQUE_SHARE
from dalembert.numerics.violation import violated

LONGEST_DETERMINANT, LONGEST_TO_SIMPLIFY = 200, 150
"""Operations in the matrices above which the determinant is not computed, and in it, above which it is not factored."""

LARGEST_SADDLE = 5
"""Rows of the saddle matrix above which its determinant is too long to be read."""


def undetermined_accelerations(terms: Terms, forces: int, names: tuple[str, ...]) -> list[Finding]:
    """Return findings about accelerations that are not determined; the first ``forces`` rows of A have forces."""
    if forces == len(terms.A) and mass_kind(terms.M).kind == "positive definite":
        return []
    scale = own_units(terms.M)
    M, A = terms.M / np.outer(scale, scale), unit_rows(terms.scaled_rows)[0]
    # a direction without mass and constraint is reported on its own, since its remedy is different
    massless = sparse_null_space(np.vstack([M, A]))
    if len(massless):
        text = ", ".join(format_direction(direction / scale, names) for direction in massless)
        message = f"The acceleration along {text} is not determined: it has neither mass nor constraint."
        return [Finding("acceleration", message, True)]
    # redundant rows would make the saddle matrix singular although every acceleration is determined
    independent = A[[i for i in independent_rows(A) if i < forces]]
    K = np.block([[M, -independent.T], [A, np.zeros((len(A), len(independent)))]])
    directions = [direction[: len(M)] for direction in sparse_null_space(K)]
    text = ", ".join(
        format_direction(direction / scale, names)
        for direction in directions
        if np.linalg.norm(direction) > UNIQUE_SHARE
    )
    if not text:
        return []
    message = f"The saddle matrix is singular: the acceleration along {text} is not determined."
    return [Finding("acceleration", message, True)]


def hidden_findings(hidden: Hidden, symbols: StateSymbols, whole: Model, given: Point | None) -> list[Finding]:
    """Return findings about hidden constraints, and by how much a given state violates them.

    The hidden constraints are the last rows of the model ``whole``.
    """
    found: list[Finding] = []
    first = len(hidden.system.constraints) - len(hidden.constraints)
    equations = [f"`{symbols.readable(constraint.expression)} = 0`" for constraint in hidden.constraints]
    special = " for these parameters" if hidden.special else ""
    if hidden.impossible is not None:
        last = f"`{symbols.readable(hidden.impossible)} = 0`"
        together = ", ".join(dict.fromkeys([*equations, last]))
        message = f"The equations imply {together}, which no motion can satisfy{special}."
        return [Finding("hidden constraint", message, True)]
    reduced = "da.reduce(system, parameters=...)" if hidden.special else "da.reduce(system)"
    for k, equation in enumerate(equations):
        message = f"{equation} must hold as well{special}; `{reduced}` adds it."
        found.append(Finding("hidden constraint", message + _violation_text(whole, first + k, given), True))
    if hidden.failure and hidden.data_before is not None:
        message = f"The equations imply a further condition on the state; {hidden.failure}."
        found.append(Finding("hidden constraint", message, True))
    if hidden.constraints and hidden.data_before is not None and hidden.data_after is not None:
        message = _free_values(hidden.data_before, hidden.data_after)
        found.append(Finding("initial data", message))
    return found


def _free_values(stated: int, left: int) -> str:
    """Return a sentence about the numbers of initial values that may be chosen."""
    verb = "is" if stated == 1 else "are"
    return f"As stated, {counted(stated, 'initial value')} {verb} free; in fact {f'only {left}' if left else 'none'}."


def _violation_text(whole: Model, row: int, given: Point | None) -> str:
    if given is None:
        return ""
    terms = whole.terms(given)
    off = {
        part: getattr(terms, level)[row]
        for level, part in (("position", "q"), ("velocity", "qd"))
        if violated(getattr(terms, level), terms.A, getattr(given, part), given.q, terms.M)[row]
    }
    return "".join(f" The state violates it by {amount:.1e} at `{part}`." for part, amount in off.items())


def determinant(form: StandardForm, kept: tuple[int, ...]) -> Any:
    """Return det [[0, A], [Aᵀ, M]] with the independent rows of A; None if it is too large or takes too long."""
    M, n = sp.Matrix(form.mass_matrix), len(form.applied_force)
    A = sp.Matrix(len(kept), n, [e for i in kept for e in form.constraint_matrix[i]])
    # the determinant of a larger or longer matrix could not be read
    if n + len(kept) > LARGEST_SADDLE or graph.operations(M) + graph.operations(A) > LONGEST_DETERMINANT:
        return None
    K = sp.zeros(len(kept)).row_join(A).col_join(A.T.row_join(M))
    try:
        return form.symbols.restore(_factored(bounded(lambda: K.det(method="berkowitz"))))
    except SymbolicLimitError:
        return None


def _factored(expression: Any) -> Any:
    try:
        short(LONGEST_TO_SIMPLIFY, expression)
        return bounded(lambda: sp.factor(sp.trigsimp(expression)), seconds=1.0)
    except SymbolicLimitError:
        return expression
