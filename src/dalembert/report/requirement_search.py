# SPDX-License-Identifier: BSD-3-Clause
"""The equations of requirements in symbols, differentiated along the motion until inputs of actuators act on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp

from dalembert.common.array_types import Floats
from dalembert.model.control_form import ControlForm
from dalembert.model.numeric_function import numeric_function
from dalembert.model.ordering import quoted
from dalembert.model.standard_form import gradient, time_derivative
from dalembert.model.symbols import StateSymbols
from dalembert.numerics.linear_algebra import independent_rows
from dalembert.numerics.tolerances import SAME_VALUE, SHARE_TOLERANCE
from dalembert.report.blocks import TooLongError
from dalembert.report.closed_form import OPERATION_LIMIT, SymbolicTerms, schur_solver, tidied
from dalembert.report.decimals import exact

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


def requirement_row(form: ControlForm, i: int) -> RequirementRow:
    """Return the equation of a requirement at its own level."""
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


class NoClosedFormError(Exception):
    """Raised if the inputs have no closed form here; its text says why."""


class RequirementSearch:
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
            raise NoClosedFormError(
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
            raise NoClosedFormError("The effect of inputs is not finite at random states.")
        return effects, off

    def _differentiated(self, row: RequirementRow) -> RequirementRow:
        """Return the equation of the next derivative, along the motion without inputs."""
        if row.rate is None or row.order >= MOST_DERIVATIVES:
            raise NoClosedFormError(
                f"Inputs do not act on `{row.name}` at its own level; its higher derivatives are not written out."
            )
        try:
            off = sp.Add(*(g * a for g, a in zip(row.gradient, self.acceleration, strict=True)), -row.rhs, row.settling)
            psi = tidied(sp.Matrix([exact(off)]), OPERATION_LIMIT)[0]
        except TooLongError:
            raise NoClosedFormError(
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
