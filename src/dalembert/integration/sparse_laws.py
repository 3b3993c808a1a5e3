# SPDX-License-Identifier: BSD-3-Clause
"""Nonideal laws of a large system at one state: their sum C, and the motion that it causes.

Notation: M, A, C as in ``docs/notation.md``; λ are multipliers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.errors import ConstraintError, InputError
from dalembert.integration.constrained_solution import constrained
from dalembert.integration.sparse_dependencies import Dependencies, shortest
from dalembert.native.sparse_system import LargeDynamics, SparseSystem
from dalembert.numerics.tolerances import ROUNDING

NO_FORCES = np.zeros(0)


def caused_by(code: SparseSystem, C: Floats) -> tuple[Floats, Floats]:
    """Return the acceleration (n,) that C causes, and the multipliers (m,) that it adds."""
    return constrained(code, C, np.zeros(code.m))[:2]


def nonideal_sum(code: SparseSystem, multipliers: Floats) -> Floats:
    """Return C (n,), the sum of all laws, for multipliers of the ideal problem with zeros for the rows left out.

    Laws that depend on the reactions which they change are found by iteration: the reactions without laws are inserted,
    then those with the laws at these reactions, and so on. This converges while friction is not too strong. C is NaN if
    it does not.
    """
    laws = code.laws
    assert laws is not None
    # multipliers are not even needed: the shortest ones cost a factorisation of their own
    if not laws.needs_forces:
        return code.evaluate_laws(NO_FORCES, NO_FORCES, NO_FORCES)
    dependencies = Dependencies(code)
    force, ideal = code.A_transposed @ multipliers, shortest(dependencies, multipliers)
    reactions = ideal
    C = code.evaluate_laws(ideal, force, reactions)
    # the reactions of the ideal problem do not change with the laws
    if laws.depends == "ideal":
        return C
    for _ in range(MOST_LAW_ITERATIONS):
        new = shortest(dependencies, multipliers + caused_by(code, C)[1])
        change, size = np.abs(new - reactions).max(initial=0.0), np.abs(new).max(initial=0.0)
        reactions, C = new, code.evaluate_laws(ideal, force, new)
        # to rounding, since the integrator takes the error for one of the step
        if change <= ROUNDING * size:
            return C
        if not np.isfinite(change):
            break
    return np.full(code.n, np.nan)


MOST_LAW_ITERATIONS = 500
"""Most iterations for laws of the actual reactions; each one reduces the error by a factor below one, such as the
coefficient of friction."""


MOST_LAW_NUMBERS = 10**7
"""Most numbers of the nonideal forces of single laws that are returned as an array."""


def law_forces(dynamics: LargeDynamics) -> tuple[Any, Any]:
    """Return C (l, n) of each law, sparse, and the nonideal constraint force of each; None if these are too many."""
    code = dynamics.code
    if code.laws is None:
        return np.zeros((0, code.n)), np.zeros((0, code.n))
    # a copy, since the next evaluation overwrites the entries
    C = code.laws.C.copy()
    # the nonideal force of a law acts on all coordinates that constraints couple, so that it is not sparse
    if C.shape[0] * code.n > MOST_LAW_NUMBERS:
        return C, None
    found = [
        row + code.A_transposed @ caused_by(code, row)[1] for row in (C[[i]].toarray()[0] for i in range(C.shape[0]))
    ]
    return C, np.array(found).reshape(C.shape)


def refuse_negative_laws(dynamics: LargeDynamics) -> None:
    """Raise an error if a coefficient of a law is negative; laws must have been evaluated."""
    for what, value in dynamics.code.laws.negative_coefficients() if dynamics.code.laws is not None else ():
        raise InputError(f"coefficients of {what} must not be negative, or the law adds energy; got {value:g}.")


def refuse_lost_reaction(dynamics: LargeDynamics, C: Floats, t: float) -> None:
    """Raise an error if no reactions were found together with laws that change them."""
    if not np.isfinite(C).all() and dynamics.code.laws is not None and dynamics.code.laws.depends == "actual":
        raise ConstraintError(
            f"the laws must determine the reactions on which they depend; at t = {t:.6g} an iteration for them does "
            f'not converge. Friction may be too strong: compare with a smaller coefficient, or pass `normal="ideal"`.'
        )
