# SPDX-License-Identifier: BSD-3-Clause
"""What mass matrix and constraints say together: is every acceleration determined, and what is demanded besides?"""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from dalembert.analysis.hidden import Hidden
from dalembert.analysis.linear_facts import independent_rows, unit_rows
from dalembert.analysis.mass import own_units, spoken
from dalembert.analysis.numbers import Model, Point
from dalembert.analysis.verdict import Finding
from dalembert.model.standard_form import StandardForm
from dalembert.model.symbols import StateSymbols
from dalembert.model.values import Floats
from dalembert.violation import violated

LONGEST_DETERMINANT = 200


def open_directions(M: Floats, A: Floats, names: tuple[str, ...]) -> list[Finding]:
    """The direction of an acceleration that is not determined, if there is one."""
    scale = own_units(M)
    M, A = M / np.outer(scale, scale), unit_rows(A / scale)[0]
    _, values, right = np.linalg.svd(np.vstack([M, A]))
    if values[-1] <= 1e-9 * values[0] or len(values) < len(M):
        said = spoken(right[-1] / scale, names)
        message = f"The acceleration along {said} is not determined: it has neither mass nor constraint."
        return [Finding("acceleration", message, True)]
    A = A[list(independent_rows(A))]
    K = np.block([[M, -A.T], [A, np.zeros((len(A), len(A)))]])
    _, values, right = np.linalg.svd(K)
    direction = right[-1, : len(M)] / scale
    if values[-1] > 1e-9 * values[0] or np.linalg.norm(direction) <= 1e-6:
        return []
    message = f"The saddle matrix is singular: the acceleration along {spoken(direction, names)} is not determined."
    return [Finding("acceleration", message, True)]


def hidden_findings(hidden: Hidden, symbols: StateSymbols, whole: Model, given: Point | None) -> list[Finding]:
    """What must hold although nobody said so, and how far a given state misses it: its rows are the last of all."""
    found: list[Finding] = []
    first = len(hidden.system.constraints) - len(hidden.constraints)
    for k, constraint in enumerate(hidden.constraints, start=first):
        message = f"`{symbols.readable(constraint.expression)} = 0` must hold as well; `da.reduce(system)` adds it."
        found.append(Finding("hidden constraint", message + _miss(whole, k, given), True))
    if hidden.impossible is not None:
        message = f"The equations imply `{symbols.readable(hidden.impossible)} = 0`, which no motion can meet."
        found.append(Finding("hidden constraint", message, True))
    if not hidden.decided and hidden.data_before is not None:
        message = "Numbers show that the equations demand more of a state than was stated; symbols did not find what."
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
        if violated(getattr(numbers, level), numbers.A, getattr(given, part))[row]
    }
    return "".join(f" The state misses it by {miss:.1e} at `{part}`." for part, miss in off.items())


def determinant(form: StandardForm, kept: tuple[int, ...]) -> Any:
    """det [[0, A], [Aᵀ, M]] with the independent rows, where symbols stay small."""
    M, n = sp.Matrix(form.mass_matrix), len(form.applied_force)
    A = sp.Matrix(len(kept), n, [e for i in kept for e in form.constraint_matrix[i]])
    if n + len(kept) > 5 or sp.count_ops(M) + sp.count_ops(A) > LONGEST_DETERMINANT:
        return None
    K = sp.zeros(len(kept)).row_join(A).col_join(A.T.row_join(M))
    return form.symbols.restore(sp.factor(sp.trigsimp(K.det(method="berkowitz"))))
