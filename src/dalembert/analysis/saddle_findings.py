# SPDX-License-Identifier: BSD-3-Clause
"""What mass matrix and constraints say together: is every acceleration determined, and what is demanded besides?"""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from dalembert.analysis.bounded import GivenUpError, bounded, short
from dalembert.analysis.direction_text import spoken
from dalembert.analysis.evaluated_terms import Model, Point
from dalembert.analysis.hidden_constraints import Hidden
from dalembert.analysis.verdict import Finding
from dalembert.linear_algebra import independent_rows, sparse_null_space, unit_rows
from dalembert.mass import own_units
from dalembert.model import graph
from dalembert.model.standard_form import StandardForm
from dalembert.model.symbols import StateSymbols
from dalembert.terms import Terms
from dalembert.violation import violated

LONGEST_DETERMINANT, LONGEST_TO_SIMPLIFY = 200, 150
"""Operations in the matrices above which their determinant is left alone, and in it, above which it is not tidied."""


def open_directions(numbers: Terms, forces: int, names: tuple[str, ...]) -> list[Finding]:
    """The directions of accelerations that are not determined; the first rows of A, so many, have forces."""
    scale = own_units(numbers.M)
    M, A = numbers.M / np.outer(scale, scale), unit_rows(numbers.scaled_rows)[0]
    loose = sparse_null_space(np.vstack([M, A]))
    if len(loose):
        said = ", ".join(spoken(direction / scale, names) for direction in loose)
        message = f"The acceleration along {said} is not determined: it has neither mass nor constraint."
        return [Finding("acceleration", message, True)]
    held = A[[i for i in independent_rows(A) if i < forces]]
    K = np.block([[M, -held.T], [A, np.zeros((len(A), len(held)))]])
    directions = [direction[: len(M)] for direction in sparse_null_space(K)]
    said = ", ".join(spoken(direction / scale, names) for direction in directions if np.linalg.norm(direction) > 1e-6)
    if not said:
        return []
    message = f"The saddle matrix is singular: the acceleration along {said} is not determined."
    return [Finding("acceleration", message, True)]


def hidden_findings(hidden: Hidden, symbols: StateSymbols, whole: Model, given: Point | None) -> list[Finding]:
    """What must hold although nobody said so, and how far a given state misses it: its rows are the last of all."""
    found: list[Finding] = []
    first = len(hidden.system.constraints) - len(hidden.constraints)
    said = [f"`{symbols.readable(constraint.expression)} = 0`" for constraint in hidden.constraints]
    special = " for these parameters" if hidden.special else ""
    if hidden.impossible is not None:
        last = f"`{symbols.readable(hidden.impossible)} = 0`"
        together = ", ".join(dict.fromkeys([*said, last]))
        message = f"The equations imply {together}, which no motion can meet{special}."
        return [Finding("hidden constraint", message, True)]
    reduced = "da.reduce(system, parameters=...)" if hidden.special else "da.reduce(system)"
    for k, equation in enumerate(said):
        message = f"{equation} must hold as well{special}; `{reduced}` adds it."
        found.append(Finding("hidden constraint", message + _miss(whole, first + k, given), True))
    if hidden.given_up and hidden.data_before is not None:
        message = f"Terms show that the equations demand more of a state than was stated; {hidden.given_up}."
        found.append(Finding("hidden constraint", message, True))
    if hidden.constraints and hidden.data_before is not None and hidden.data_after is not None:
        message = f"{hidden.data_before} initial data may be chosen as stated, {hidden.data_after} in fact."
        found.append(Finding("initial data", message))
    return found


def _miss(whole: Model, row: int, given: Point | None) -> str:
    if given is None:
        return ""
    numbers = whole.terms(given)
    off = {
        part: getattr(numbers, level)[row]
        for level, part in (("position", "q"), ("velocity", "qd"))
        if violated(getattr(numbers, level), numbers.A, getattr(given, part), given.q, numbers.M)[row]
    }
    return "".join(f" The state misses it by {miss:.1e} at `{part}`." for part, miss in off.items())


def determinant(form: StandardForm, kept: tuple[int, ...]) -> Any:
    """det [[0, A], [Aᵀ, M]] with the independent rows, where symbols stay small and take little time."""
    M, n = sp.Matrix(form.mass_matrix), len(form.applied_force)
    A = sp.Matrix(len(kept), n, [e for i in kept for e in form.constraint_matrix[i]])
    if n + len(kept) > 5 or graph.operations(M) + graph.operations(A) > LONGEST_DETERMINANT:
        return None
    K = sp.zeros(len(kept)).row_join(A).col_join(A.T.row_join(M))
    try:
        return form.symbols.restore(_tidied(bounded(lambda: K.det(method="berkowitz"))))
    except GivenUpError:
        return None


def _tidied(expression: Any) -> Any:
    try:
        short(LONGEST_TO_SIMPLIFY, expression)
        return bounded(lambda: sp.factor(sp.trigsimp(expression)), seconds=1.0)
    except GivenUpError:
        return expression
