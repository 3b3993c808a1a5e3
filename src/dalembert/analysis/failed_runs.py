# SPDX-License-Identifier: BSD-3-Clause
"""Explanations of runs that could not begin or continue: paradoxes of friction, and hidden constraints."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.common.array_types import vector_of
from dalembert.equation.dynamics import Dynamics
from dalembert.equation.formulation import Formulation
from dalembert.equation.painleve import refuse_paradox
from dalembert.errors import ConstraintError, MassMatrixError, SimulationError
from dalembert.integration.start_states import terms_at
from dalembert.integration.state_answer import answer_at
from dalembert.integration.trajectory import Trajectory
from dalembert.model.function_values import end_of_function_values
from dalembert.model.signal_ranges import end_of_range
from dalembert.model.system import System
from dalembert.numerics.mass import mass_kind

NEARLY_CRITICAL = 1e-6
"""Relative distance of a coefficient of friction from its critical value at which integration stalls before it."""


def _refuse_paradox_at_end(dynamics: Dynamics, end: SimulationError, formulation: Formulation, p: Any) -> None:
    """Raise a ``PainleveError`` in place of a run's own error if the paradox is the cause."""
    if dynamics.contacts:
        so_far = end.trajectory
        # the last state before the paradox: integration stalls there and does not reach it
        last = (so_far.q[-1], so_far.qd[-1], so_far.t[-1])
        answer = answer_at(dynamics, *last, p, formulation)
        refuse_paradox(dynamics, answer, *last, margin=NEARLY_CRITICAL, trajectory=so_far)


def explained(refusal: MassMatrixError | ConstraintError, system: Any, p: Any) -> Exception:
    """Return the error for a start, extended by the hidden constraints that cause it, if any."""
    hint = hidden_behind(system, p)
    return type(refusal)(f"{refusal}{hint}") if hint else refusal


def explained_end(
    end: SimulationError, system: Any, dynamics: Dynamics, formulation: Formulation, p: Any
) -> SimulationError:
    """Return the error of a run that could not be continued, extended by its cause if that is found.

    Raises
    ------
    PainleveError    in its place, if friction has no reaction, or several
    """
    _refuse_paradox_at_end(dynamics, end, formulation, p)
    so_far = end.trajectory
    hint = hidden_behind(system, p) if _may_be_hidden(dynamics, so_far, p) else ""
    last = (system, so_far.q[-1], so_far.qd[-1], end.time, p)
    hint += end_of_range(*last) + end_of_function_values(*last, end.time - so_far.t[0])
    return SimulationError(f"{end}{hint}", end.time, so_far) if hint else end


def _may_be_hidden(dynamics: Dynamics, so_far: Trajectory, p: Any) -> bool:
    """Return whether hidden constraints may have ended a run: there are none if M and the rows have full rank."""
    M = np.asarray(terms_at(dynamics, so_far.q[-1], so_far.qd[-1], so_far.t[-1], p).M)
    full = int(so_far.rank[-1]) == len(dynamics.constraints)
    return not full or not np.isfinite(M).all() or mass_kind(M).kind != "positive definite"


def hidden_behind(system: Any, p: Any) -> str:
    """Return a sentence on the hidden constraints of a system, for an error message; empty if there are none."""
    if not isinstance(system, System):
        return ""
    # imported here, because only failed runs need the search for hidden constraints
    from dalembert.analysis.constraint_states import Fixed
    from dalembert.analysis.hidden_constraints import hidden_constraints

    found = hidden_constraints(system, Fixed(vector_of(p)))
    if not found.constraints or found.impossible is not None:
        return ""
    listed = ", ".join(f"`{system.symbols.readable(constraint.expression)} = 0`" for constraint in found.constraints)
    # conditions that hold for special values only are found again only with these values
    reduced = "da.reduce(system, parameters=...)" if found.special else "da.reduce(system)"
    return (
        f" The motion must also satisfy {listed}, hidden in the equations: simulate `{reduced}`, from an initial state "
        f"that does."
    )
